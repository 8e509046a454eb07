//! Whole lines by the rules of `check/FORMAT.md`: trees of splits with hints at their leaves, and bounds of units.

use std::cmp::Ordering;

use serde_json::Value;

use crate::evaluate::{Whole, Worth};
use crate::exact::Exact;
use crate::hints::{Hints, Refusal, index, reach};
use crate::rules::{Path, Rules};

/// Splits on a path, at most.
const LONGEST_PATH: usize = 1024;

/// Nodes of a tree, at most.
const LARGEST_TREE: usize = 1 << 20;

impl Rules<'_> {
    /// Is the proof of robustness of a line (`{"node":…}`) accepted? Short leaves must have been expanded. The
    /// reference class by label is checked, that by prediction follows from what is proved.
    ///
    /// # Errors
    /// Why it is not.
    pub fn robust(&self, line: &Value, known: &Whole) -> Result<(), Refusal> {
        let node = line.get("node").ok_or("not the line of a node")?;
        let id = index(&node["id"])?;
        let reference = index(&node["class"])?;
        if id >= self.case.nodes() || reference >= self.case.classes() {
            return Err("no such node or class".into());
        }
        if self.case.labels {
            let label = self.case.graph.labels.as_ref().and_then(|labels| labels[id]);
            if label.map(|label| label as usize) != Some(reference) {
                return Err("the reference class is not the label".into());
            }
        }
        let trees = node["claim"]["robust"].as_array().ok_or("no claim of robustness")?;
        let others: Vec<usize> = (0..self.case.classes()).filter(|&class| class != reference).collect();
        if others.len() != trees.len() {
            return Err("not one tree for every other class".into());
        }
        for (tree, &class) in trees.iter().zip(&others) {
            if index(&tree["class"])? != class {
                return Err("classes out of order".into());
            }
            let steps = tree["tree"].as_array().ok_or("no tree")?;
            self.tree(id, reference, class, steps, known).map_err(|refusal| format!("class {class}: {refusal}"))?;
        }
        Ok(())
    }

    /// Is a tree accepted?
    ///
    /// # Errors
    /// Why it is not.
    pub fn tree(
        &self,
        target: usize,
        reference: usize,
        class: usize,
        steps: &[Value],
        known: &Whole,
    ) -> Result<(), Refusal> {
        if steps.len() > LARGEST_TREE {
            return Err("a tree that is too large".into());
        }
        let slice = self.slice(self.depth(), target);
        let mut open = vec![Path::default()];
        for step in steps {
            let Some(path) = open.pop() else { return Err("something after the tree".into()) };
            let object = step.as_object().filter(|object| object.len() == 1).ok_or("not a step of a tree")?;
            let (key, value) = object.iter().next().ok_or("not a step of a tree")?;
            let (mut first, mut second) = (path.clone(), path.clone());
            match key.as_str() {
                "unit" => {
                    let ids = value.as_array().filter(|ids| ids.len() == 3).ok_or("not a unit")?;
                    let unit = (index(&ids[0])?, index(&ids[1])?, index(&ids[2])?);
                    let hidden = (2..self.depth()).contains(&unit.0)
                        && slice[unit.0].contains(&unit.1)
                        && unit.2 < self.width(unit.0);
                    if !hidden || first.units.insert(unit, true).is_some() {
                        return Err(format!("a split on {unit:?}"));
                    }
                    second.units.insert(unit, false);
                }
                "flip" => {
                    let ids = value.as_array().filter(|ids| ids.len() == 2).ok_or("not a flip")?;
                    let flip = (index(&ids[0])?, index(&ids[1])?);
                    let fresh = !path.made.contains(&flip) && !path.spared.contains(&flip);
                    if !fresh || !self.permits(flip.0, flip.1) || !slice[1].contains(&flip.0) {
                        return Err(format!("a split on the flip {flip:?}"));
                    }
                    first.spared.insert(flip);
                    second.made.insert(flip);
                }
                "hints" => {
                    let hints = Hints::read(value)?;
                    let objective = [(reference, 1), (class, -1)];
                    match self.worth(self.depth(), target, &objective, &path, &hints, known)? {
                        Worth::Bound(bound, _) if bound.sign() != Ordering::Greater => {
                            return Err(format!("a bound of {:e}", bound.approximate()));
                        }
                        _ => continue,
                    }
                }
                other => return Err(format!("a step {other}")),
            }
            if path.units.len() + path.made.len() + path.spared.len() >= LONGEST_PATH {
                return Err("a path that is too long".into());
            }
            open.push(second);
            open.push(first);
        }
        if open.is_empty() { Ok(()) } else { Err("a tree that ends too soon".into()) }
    }

    /// Reads a line of bounds (`{"bounds":…}`) and adds what it states to what is known.
    ///
    /// # Errors
    /// If it is not accepted.
    pub fn bounds(&self, line: &Value, known: &mut Whole) -> Result<(), Refusal> {
        let line = line.get("bounds").and_then(Value::as_object).ok_or("not a line of bounds")?;
        if line.keys().any(|key| !["layer", "node", "reach", "units"].contains(&key.as_str())) {
            return Err("an unknown key".into());
        }
        let (layer, node) = (index(&line["layer"])?, index(&line["node"])?);
        if !(3..self.depth()).contains(&layer) || node >= self.case.nodes() || known.contains_key(&(layer, node)) {
            return Err("bounds of a unit that has none, or has them already".into());
        }
        let prices = line.get("reach").map(reach).transpose()?.unwrap_or_default();
        let slice = self.slice(layer, node);
        if layer > 3 && !prices.is_empty() {
            return Err("reach above layer 3".into());
        }
        for (&(n, unit), pair) in &prices {
            let named = slice[2].contains(&n) && unit < self.width(2);
            let priced =
                [&pair.0, &pair.1].into_iter().flat_map(|prices| prices.nodes.keys()).all(|n| slice[1].contains(n));
            if !named || !priced {
                return Err("reach of something else".into());
            }
        }
        if layer > 3 && slice[layer - 1].iter().any(|&n| !known.contains_key(&(layer - 1, n))) {
            return Err("bounds of the layer below are missing".into());
        }
        let below = |n: usize, i: usize| -> (Exact, Exact) {
            if layer == 3 {
                let none = Path::default();
                self.first_bounds(n, i, prices.get(&(n, i)), &none).unwrap_or_else(|| (Exact::zero(), Exact::zero()))
            } else {
                known[&(layer - 1, n)][i].clone()
            }
        };
        let mut bounds: Vec<(Exact, Exact)> =
            (0..self.width(layer)).map(|unit| self.propagate(layer - 1, node, unit, &below)).collect();
        let mut last = None;
        for entry in line.get("units").and_then(Value::as_array).into_iter().flatten() {
            let parts = entry.as_array().filter(|parts| parts.len() == 3).ok_or("not the bounds of a unit")?;
            let unit = index(&parts[0])?;
            if unit >= bounds.len() || last.is_some_and(|last| last >= unit) {
                return Err("units that do not ascend".into());
            }
            last = Some(unit);
            for (side, sign) in [(1, 1), (2, -1)] {
                for hints in parts[side].as_array().ok_or("no list of hints")? {
                    let hints = Hints::read(hints)?;
                    let worth = self.worth(layer, node, &[(unit, sign)], &Path::default(), &hints, known)?;
                    let Worth::Bound(bound, _) = worth else { continue };
                    let (lower, upper) = &mut bounds[unit];
                    if sign > 0 && bound.compare(lower) == Ordering::Greater {
                        *lower = bound;
                    } else if sign < 0 && bound.negated().compare(upper) == Ordering::Less {
                        *upper = bound.negated();
                    }
                }
            }
        }
        known.insert((layer, node), bounds);
        Ok(())
    }
}
