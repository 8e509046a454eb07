//! Branch and bound for one class pair: lines are improved by ascent, and what stays open is split.

use std::collections::BTreeMap;

use gcnproof_check::format::RangeStep;

use crate::number::span::Span;
use crate::problem::pace::Pace;
use crate::ranges::attack::{RangeAttack, RangePair};
use crate::ranges::backward::{Entry, RangeBranch};
use crate::ranges::forward::Shift;
use crate::ranges::lines::{HiddenUnit, UnitLines};
use crate::ranges::proof::{number, stated};

/// Steps of ascent at the root, and in a branch.
const ROOT_STEPS: usize = 40;
const BRANCH_STEPS: usize = 16;

/// Ascents of a branch that cannot be split, at most.
const INSISTENCE: usize = 8;

/// Splits beside each other, at most.
const DEEPEST: usize = 400;

/// Why a search is over.
pub(crate) enum RangeHalt {
    Attack(RangeAttack),
    Limit,
}

/// The search for one class pair.
pub(crate) struct RangeSearch<'a> {
    pub(crate) pair: &'a RangePair<'a>,
    pub(crate) pace: &'a Pace,
    /// Branches that may be visited.
    pub(crate) nodes: usize,
    pub(crate) visited: usize,
    /// The smallest bound of all branches that are done.
    pub(crate) lower: f64,
    /// The smallest margin seen, in floats.
    pub(crate) upper: f64,
    /// Are trees kept for a proof? Otherwise they are empty.
    pub(crate) proofs: bool,
}

/// A tree in preorder, as a proof has it.
pub(crate) type Tree = Vec<RangeStep>;

/// What an ascent has found.
struct Ascent {
    lower: f64,
    lines: UnitLines,
    /// Pre-activations on the average.
    units: Vec<Vec<f64>>,
    coefficients: Vec<Vec<f64>>,
    /// How often each entry was selected, and where to on the average.
    selected: BTreeMap<Entry, Chosen>,
    steps: usize,
}

#[derive(Clone, Copy)]
struct Chosen {
    count: usize,
    old: f64,
    sum: f64,
}

/// The two parts of a branch, in the order in which they are searched.
struct Halves {
    step: RangeStep,
    one: RangeBranch,
    two: RangeBranch,
    /// Does a proof have them the other way round?
    turned: bool,
}

/// How to go on.
enum RangeSplit {
    Unit(HiddenUnit),
    Entry(Entry),
    /// A changed entry lies in the one half of its range or in the other.
    Value(Entry),
}

impl RangeSearch<'_> {
    /// Decides a branch: all of its perturbations leave the margin above 0, as its tree shows, or something stops the search.
    pub(crate) fn explore(&mut self, lines: UnitLines, branch: &RangeBranch, depth: usize) -> Result<Tree, RangeHalt> {
        self.visited += 1;
        let steps = if depth == 0 { ROOT_STEPS } else { BRANCH_STEPS };
        let ascent = self.ascend(lines, branch, steps)?;
        if ascent.lower > 0.0 {
            self.lower = self.lower.min(ascent.lower);
            return Ok(self.leaf(&ascent.lines, branch));
        }
        self.try_average(&ascent, branch)?;
        if depth == 0 {
            self.lower = ascent.lower;
        }
        if self.visited >= self.nodes || depth >= DEEPEST || self.pace.is_late() {
            return Err(RangeHalt::Limit);
        }
        if depth == 0 {
            self.lower = f64::INFINITY;
        }
        let Some(parts) = self.split(&ascent, branch) else { return self.insist(ascent.lines, branch) };
        let one = self.explore(ascent.lines.clone(), &parts.one, depth + 1)?;
        let two = self.explore(ascent.lines, &parts.two, depth + 1)?;
        Ok(match (self.proofs, parts.turned) {
            (false, _) => Tree::new(),
            (true, false) => [vec![parts.step], one, two].concat(),
            (true, true) => [vec![parts.step], two, one].concat(),
        })
    }

    /// The leaf of a branch that its lines close: with numbers as short as its bound allows.
    pub(crate) fn leaf(&self, lines: &UnitLines, branch: &RangeBranch) -> Tree {
        if !self.proofs {
            return Tree::new();
        }
        let (scene, top) = (self.pair.scene, self.pair.top());
        let positive = |lines: &UnitLines| scene.bound(lines, branch, &top).lower > 0.0;
        let shorter = [8, 16, 28].into_iter().map(|bits| lines.rounded(bits)).find(positive);
        let lines = shorter.as_ref().unwrap_or(lines);
        let coefficients = scene.bound(lines, branch, &top).coefficients;
        vec![RangeStep::Lines(Box::new(stated(scene, branch, lines, &coefficients)))]
    }

    /// Closes a branch in which nothing is left to split: its signs contradict each other, or the ascent was too short.
    fn insist(&mut self, mut lines: UnitLines, branch: &RangeBranch) -> Result<Tree, RangeHalt> {
        let top = self.pair.top();
        for _ in 0..INSISTENCE {
            for id in branch.signs.keys() {
                let at = id.place * self.pair.scene.width(id.l) + id.unit;
                let lower = self.best_price(&mut lines, branch, [id.l - 2, at], &top);
                if lower > 0.0 {
                    self.lower = self.lower.min(lower);
                    return Ok(self.leaf(&lines, branch));
                }
                if self.pace.is_late() {
                    return Err(RangeHalt::Limit);
                }
            }
            let ascent = self.ascend(lines, branch, 4 * BRANCH_STEPS)?;
            if ascent.lower > 0.0 {
                self.lower = self.lower.min(ascent.lower);
                return Ok(self.leaf(&ascent.lines, branch));
            }
            lines = ascent.lines;
        }
        Err(RangeHalt::Limit)
    }

    /// Sets one price where the bound, which is concave in it, is largest: the bound there.
    fn best_price(&self, lines: &mut UnitLines, branch: &RangeBranch, [l, at]: [usize; 2], top: &[Span]) -> f64 {
        let mut bound = |price: f64| {
            lines.prices[l][at] = price;
            self.pair.scene.bound(lines, branch, top).lower
        };
        let mut step = 1e-3;
        let (mut low, mut high) = (0.0, step);
        let (mut best, mut value) = (0.0, bound(0.0));
        // Until it falls: the bound grows without end where no perturbation has this sign.
        while step < 1e9 {
            let next = bound(high);
            if next <= value {
                break;
            }
            (low, best, value, step) = (best, high, next, 4.0 * step);
            high += step;
            if value > 0.0 {
                return value;
            }
        }
        for _ in 0..40 {
            let (one, two) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
            let (at_one, at_two) = (bound(one), bound(two));
            if at_one.max(at_two) > value {
                (best, value) = if at_one > at_two { (one, at_one) } else { (two, at_two) };
            }
            if at_one > at_two { high = two } else { low = one }
        }
        bound(best)
    }

    /// Improves the lines of a branch (docs/math.md (25.4)).
    fn ascend(&mut self, mut lines: UnitLines, branch: &RangeBranch, steps: usize) -> Result<Ascent, RangeHalt> {
        let (scene, top) = (self.pair.scene, self.pair.top());
        let mut best: Option<Ascent> = None;
        let (mut selected, mut average): (BTreeMap<Entry, Chosen>, Vec<Vec<f64>>) = (BTreeMap::new(), Vec::new());
        let mut done = 0;
        for step in 0..steps {
            if self.pace.is_late() && best.is_some() {
                break;
            }
            let bound = scene.bound(&lines, branch, &top);
            done += 1;
            if best.as_ref().is_none_or(|best| bound.lower > best.lower) {
                best = Some(Ascent {
                    lower: bound.lower,
                    lines: lines.clone(),
                    units: Vec::new(),
                    coefficients: bound.coefficients.clone(),
                    selected: BTreeMap::new(),
                    steps: 0,
                });
            }
            if bound.lower > 0.0 {
                break;
            }
            let z = self.pair.forward(&bound.moves);
            self.look(&bound.moves, &z)?;
            for of in &bound.moves {
                let chosen =
                    selected.entry((of.place, of.attribute)).or_insert(Chosen { count: 0, old: of.old, sum: 0.0 });
                (chosen.count, chosen.sum) = (chosen.count + 1, chosen.sum + of.new);
            }
            if average.is_empty() {
                average = z[..z.len() - 1].to_vec();
            } else {
                for (sum, z) in average.iter_mut().flatten().zip(z[..z.len() - 1].iter().flatten()) {
                    *sum += z;
                }
            }
            self.follow(&mut lines, branch, &bound.coefficients, &z, 0.7 / (1.0 + step as f64).sqrt());
        }
        let mut best = best.ok_or(RangeHalt::Limit)?;
        average.iter_mut().flatten().for_each(|sum| *sum /= done as f64);
        (best.units, best.selected, best.steps) = (average, selected, done);
        Ok(best)
    }

    /// A step along the supergradient of the bound.
    fn follow(
        &self,
        lines: &mut UnitLines,
        branch: &RangeBranch,
        coefficients: &[Vec<f64>],
        z: &[Vec<f64>],
        step: f64,
    ) {
        for l in 2..self.pair.scene.slice.top() {
            let width = self.pair.scene.width(l);
            let sizes = coefficients[l - 2].iter().map(|v| v.abs());
            let usual = sizes.sum::<f64>() / (coefficients[l - 2].len().max(1) as f64);
            for (at, (&z, &v)) in z[l - 2].iter().zip(&coefficients[l - 2]).enumerate() {
                let bounds = lines.bounds[l - 2][at];
                let scale = bounds.hi.max(-bounds.lo).max(f64::MIN_POSITIVE);
                let share = (z / scale).clamp(-1.0, 1.0);
                match branch.signs.get(&HiddenUnit { l, place: at / width, unit: at % width }) {
                    None => {
                        let slope = &mut lines.slopes[l - 2][at];
                        if v > 0.0 {
                            *slope = (*slope + step * share).clamp(0.0, 1.0);
                        }
                    }
                    Some(active) => {
                        let price = &mut lines.prices[l - 2][at];
                        let violated = if *active { -share } else { share };
                        *price = (*price + step * violated * v.abs().max(usual)).max(0.0);
                    }
                }
            }
        }
    }

    /// Is this an attack?
    fn look(&mut self, moves: &[Shift], z: &[Vec<f64>]) -> Result<(), RangeHalt> {
        let margin = self.pair.margin(z);
        self.upper = self.upper.min(margin);
        let size: f64 = z[z.len() - 1].iter().map(|x| x.abs()).sum();
        if margin <= 1e-9 * size {
            self.pair.attack(moves).map_or(Ok(()), |attack| Err(RangeHalt::Attack(attack)))
        } else {
            Ok(())
        }
    }

    /// Tries what was selected on the average, where no other entries can be changed.
    fn try_average(&mut self, ascent: &Ascent, branch: &RangeBranch) -> Result<(), RangeHalt> {
        let entry = |(&(place, attribute), of): (&Entry, &Chosen)| {
            let missing = (ascent.steps - of.count.min(ascent.steps)) as f64;
            let new = (of.sum + missing * of.old) / ascent.steps.max(1) as f64;
            Shift { place, attribute, old: of.old, new }
        };
        let few = branch.changed.len() >= self.pair.scene.problem.budget().global();
        let only = |of: &Shift| !few || branch.changed.contains_key(&(of.place, of.attribute));
        let moves: Vec<Shift> = ascent.selected.iter().map(entry).filter(only).collect();
        let z = self.pair.forward(&moves);
        self.look(&moves, &z)?;
        let (moves, _) = self.pair.descend(&ascent.lines, &moves);
        let z = self.pair.forward(&moves);
        self.look(&moves, &z)
    }

    /// The two parts of a branch: by the unit whose line is farthest from it, or by an entry that was selected now and then.
    fn split(&self, ascent: &Ascent, branch: &RangeBranch) -> Option<Halves> {
        let unit = self.widest(ascent, branch).map(RangeSplit::Unit);
        let entry = || self.doubtful(ascent, branch).map(RangeSplit::Entry);
        let found = unit.or_else(entry).or_else(|| self.longest(branch).map(RangeSplit::Value))?;
        // First where the average is: an attack is more likely there.
        let (mut one, mut two) = (branch.clone(), branch.clone());
        let node = |l: usize, place: usize| self.pair.scene.slice.nodes(l)[place];
        let (step, turned) = match found {
            RangeSplit::Unit(id) => {
                let at = id.place * self.pair.scene.width(id.l) + id.unit;
                let active = ascent.units.get(id.l - 2).is_none_or(|units| units[at] >= 0.0);
                one.signs.insert(id, active);
                two.signs.insert(id, !active);
                (RangeStep::Unit(id.l as u32, node(id.l, id.place), id.unit as u32), !active)
            }
            RangeSplit::Entry(entry @ (place, attribute)) => {
                let scene = self.pair.scene;
                // All real values of the range, and not only the floats in it.
                let ends = scene.problem.ranges().limits(attribute as usize, scene.value(place, attribute));
                one.changed.insert(entry, ends);
                two.kept.push(entry);
                (RangeStep::Entry(node(1, place), attribute), true)
            }
            RangeSplit::Value(entry) => {
                let [low, high] = branch.changed[&entry];
                let middle = low / 2.0 + high / 2.0;
                let chosen = ascent.selected.get(&entry).map_or(low, |of| of.sum / of.count.max(1) as f64);
                let halves = [[low, middle], [middle, high]];
                let first = usize::from(chosen > middle);
                one.changed.insert(entry, halves[first]);
                two.changed.insert(entry, halves[1 - first]);
                (RangeStep::Value(node(1, entry.0), entry.1, number(middle)), first == 1)
            }
        };
        Some(Halves { step, one, two, turned })
    }

    fn widest(&self, ascent: &Ascent, branch: &RangeBranch) -> Option<HiddenUnit> {
        let scene = self.pair.scene;
        let mut best: Option<(f64, HiddenUnit)> = None;
        for l in 2..scene.slice.top() {
            let width = scene.width(l);
            for (at, &v) in ascent.coefficients[l - 2].iter().enumerate() {
                let id = HiddenUnit { l, place: at / width, unit: at % width };
                let z = ascent.units.get(l - 2).map_or(0.0, |units| units[at]);
                let gap = scene.gap(&ascent.lines, branch, id, v, z);
                if gap > best.map_or(0.0, |best| best.0) {
                    best = Some((gap, id));
                }
            }
        }
        best.filter(|best| best.0 > 1e-12).map(|best| best.1)
    }

    /// The changed entry with the longest range, as long as there are floats inside.
    fn longest(&self, branch: &RangeBranch) -> Option<Entry> {
        let length = |[low, high]: [f64; 2]| high - low;
        let inside = |&[low, high]: &[f64; 2]| low < low / 2.0 + high / 2.0 && low / 2.0 + high / 2.0 < high;
        let entries = branch.changed.iter().filter(|(_, range)| inside(range));
        entries.max_by(|x, y| length(*x.1).total_cmp(&length(*y.1))).map(|(&entry, _)| entry)
    }

    fn doubtful(&self, ascent: &Ascent, branch: &RangeBranch) -> Option<Entry> {
        let open = ascent.selected.iter().filter(|(entry, _)| !branch.changed.contains_key(entry));
        let doubt = |of: &Chosen| of.count.min(ascent.steps - of.count.min(ascent.steps));
        open.max_by_key(|(_, of)| (doubt(of), of.count)).map(|(&entry, _)| entry)
    }
}
