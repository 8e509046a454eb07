//! Hints made up for a claim and improved step by step on the bound that the rules give: true claims get proofs this
//! way, and false ones must never.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use num_bigint::BigInt;
use serde_json::{Value, json};

use crate::evaluate::{Details, Whole, Worth};
use crate::exact::Exact;
use crate::hints::Hints;
use crate::random::Random;
use crate::rules::{Path, Rules};

/// A number as the format writes it.
pub fn spell(x: &Exact) -> Value {
    let mut integer = x.integer.clone();
    let mut exponent = x.exponent;
    if integer == BigInt::ZERO {
        return json!(0);
    }
    if let Some(zeros) = integer.trailing_zeros() {
        integer >>= zeros;
        exponent += zeros as i32;
    }
    json!(format!("{integer}p{exponent}"))
}

/// The same number with only so many leading bits, nearer to zero.
fn short(x: &Exact, bits: u64) -> Exact {
    let drop = x.integer.bits().saturating_sub(bits);
    Exact { integer: (&x.integer >> drop) << drop, exponent: x.exponent }
}

/// About `x · y / z`, with few bits; 0 where `z` is 0.
fn share(x: &Exact, y: &Exact, z: &Exact) -> Exact {
    if z.sign() == Ordering::Equal {
        return Exact::zero();
    }
    let top = x.times(y);
    let shift = z.integer.bits() + 40;
    Exact { integer: (&top.integer << shift) / &z.integer, exponent: top.exponent - shift as i32 - z.exponent }
}

/// What is made up for one leaf.
pub struct Climb<'a> {
    /// The rules of the case.
    pub rules: &'a Rules<'a>,
    /// Representation and node that the objective is about.
    pub target: (usize, usize),
    /// Units with their coefficients.
    pub objective: Vec<(usize, i64)>,
    pub path: Path,
    /// Whole bounds that may be used.
    pub known: &'a Whole,
}

impl Climb<'_> {
    fn worth(&self, hints: &Value) -> Option<(Option<Exact>, Box<Details>)> {
        let read = Hints::read(hints).ok()?;
        match self.rules.worth(self.target.0, self.target.1, &self.objective, &self.path, &read, self.known).ok()? {
            Worth::Empty => Some((None, Box::default())),
            Worth::Bound(bound, details) => Some((Some(bound), details)),
        }
    }

    /// The best hints found in so many rounds, and their bound (`None`: no perturbation takes the path).
    pub fn climb(&self, rounds: usize, random: &mut Random) -> (Value, Option<Exact>) {
        let mut best = json!({});
        let Some((Some(mut bound), mut details)) = self.worth(&best) else { return (best, None) };
        for round in 0..rounds {
            let mut hints = best.clone();
            if round == 0 && self.target.0 > 2 {
                self.reach(&mut hints, &details);
                self.all(&mut hints, &details, random);
            } else {
                match random.below(if self.target.0 > 3 { 10 } else { 8 }) {
                    8 | 9 => self.nested(&mut hints, &details, random),
                    0 => self.reach(&mut hints, &details),
                    1 => self.all(&mut hints, &details, random),
                    2 => hints["price"] = self.tight(&details.losses),
                    3 => hints["grid"] = json!(random.between(-60, 2)),
                    4 | 5 => self.bend(&mut hints, &details, random),
                    _ => crate::mutate::change(&mut hints, random),
                }
            }
            // The price that fits these losses, after the others are chosen.
            if let Some((Some(_), details)) = self.worth(&hints)
                && random.percent(70)
            {
                hints["price"] = self.tight(&details.losses);
            }
            match self.worth(&hints) {
                Some((None, _)) => return (hints, None),
                Some((Some(reached), now)) if reached.compare(&bound) != Ordering::Less => {
                    (best, bound, details) = (hints, reached, now);
                }
                _ => {}
            }
        }
        (best, Some(bound))
    }

    /// Prices as tight as they can be with what the path leaves of the budget.
    fn tight(&self, amounts: &[((usize, usize), Exact)]) -> Value {
        tight(amounts, self.flips_left(), &self.rules.case.budget.local)
    }

    /// Flips of the budget that the path leaves.
    fn flips_left(&self) -> usize {
        let global = self.rules.case.budget.global.min(1 << 20) as usize;
        global.saturating_sub(self.path.made.len())
    }

    /// Prices for reach as tight as they can be without a path.
    fn reach(&self, hints: &mut Value, details: &Details) {
        let mut list = Vec::new();
        for &(node, unit) in details.values.keys() {
            let mut up = Vec::new();
            let mut down = Vec::new();
            for &(n, a) in &self.rules.operators[0][node] {
                for attribute in 0..self.rules.case.attributes() {
                    let flip = (n, attribute);
                    if !self.rules.permits(flip.0, flip.1)
                        || self.path.made.contains(&flip)
                        || self.path.spared.contains(&flip)
                    {
                        continue;
                    }
                    let weight = self.rules.case.layers()[0].weight.get(attribute, unit);
                    let sign = if self.rules.case.graph.attributes.contains(n, attribute as u32) { -1.0 } else { 1.0 };
                    let change = Exact::from_f64(a).times(&Exact::from_f64(sign * weight));
                    let side = if change.sign() == Ordering::Greater { &mut up } else { &mut down };
                    side.push((flip, if change.sign() == Ordering::Less { change.negated() } else { change }));
                }
            }
            list.push(json!([node, unit, self.tight(&up), self.tight(&down)]));
        }
        hints["reach"] = json!(list);
    }

    /// Slopes and lines for all units, from their coefficients and bounds.
    fn all(&self, hints: &mut Value, details: &Details, random: &mut Random) {
        let (mut slopes, mut lines) = (Vec::new(), Vec::new());
        let bits = random.pick(&[4, 12, 30, 60]);
        for (&(layer, node, unit), k) in &details.coefficients {
            let Some((lower, upper)) = details.bounds.get(&(layer, node, unit)) else { continue };
            let width = upper.plus(&lower.negated());
            let chord = share(k, upper, &width);
            let slope = match (lower.sign(), upper.sign()) {
                (Ordering::Greater | Ordering::Equal, _) => k.clone(),
                (_, Ordering::Less | Ordering::Equal) => Exact::zero(),
                _ => match random.below(4) {
                    0 => k.clone(),
                    1 => Exact::zero(),
                    _ => short(&chord, bits),
                },
            };
            if layer > 2 {
                slopes.push(json!([layer, node, unit, spell(&slope)]));
                continue;
            }
            let z = &details.values[&(node, unit)];
            let (rise, fall) =
                if random.percent(60) && k.sign() == Ordering::Less && lower.sign().is_lt() && upper.sign().is_gt() {
                    if z.sign().is_ge() {
                        (k.clone(), short(&share(k, z, &z.plus(&lower.negated())), bits))
                    } else {
                        (short(&share(k, upper, &upper.plus(&z.negated())), bits), Exact::zero())
                    }
                } else {
                    (slope.clone(), slope)
                };
            lines.push(json!([node, unit, spell(&rise), spell(&fall)]));
        }
        // Slopes above change the coefficients below: the next round follows.
        if !slopes.is_empty() {
            hints["slopes"] = json!(slopes);
        }
        if !lines.is_empty() {
            hints["lines"] = json!(lines);
        }
    }

    /// A level or an envelope for some units with a negative coefficient (or for any).
    fn bend(&self, hints: &mut Value, details: &Details, random: &mut Random) {
        let envelopes = random.percent(65);
        let mut list = Vec::new();
        let slice = self.rules.slice(self.target.0, self.target.1);
        for (&(layer, node, unit), k) in &details.coefficients {
            if layer != 2 || random.percent(30) {
                continue;
            }
            let weight = if k.sign() == Ordering::Less { k.negated() } else { Exact::from_f64(0.5) };
            let weight = if random.percent(70) { weight } else { weight.times(&Exact::from_f64(0.5)) };
            let z = &details.values[&(node, unit)];
            let size = if z.sign() == Ordering::Less { z.negated() } else { z.clone() };
            let price = |random: &mut Random| {
                let count = Exact::from_f64(1.0 / (1 << random.below(4)) as f64);
                let value = short(&size.times(&count), 12);
                if z.sign() == Ordering::Less { value } else { value.negated() }
            };
            if !envelopes {
                let level = price(random);
                let level = if level.sign() == Ordering::Less { level.negated() } else { level };
                let prices = json!([spell(&level), []]);
                list.push(json!([
                    node,
                    unit,
                    spell(&weight),
                    spell(&level),
                    if random.percent(50) { prices } else { json!([0, []]) }
                ]));
                continue;
            }
            let every = if random.percent(70) { spell(&price(random)) } else { json!(0) };
            let mut nodes = Vec::new();
            let mut flips = Vec::new();
            for &n in &slice[1] {
                if random.percent(30) {
                    nodes.push(json!([n, spell(&price(random))]));
                }
                for attribute in 0..self.rules.case.attributes() {
                    if self.rules.permits(n, attribute) && random.percent(20) {
                        flips.push(json!([n, attribute, spell(&price(random))]));
                    }
                }
            }
            list.push(json!([node, unit, spell(&weight), every, nodes, flips]));
        }
        if !list.is_empty() {
            // What bends carry is taken from the lines.
            if let Some(lines) = hints.get_mut("lines").and_then(Value::as_array_mut) {
                lines.retain(|line| !list.iter().any(|bent: &Value| bent[0] == line[0] && bent[1] == line[1]));
            }
            hints[if envelopes { "envelopes" } else { "levels" }] = json!(list);
        }
    }

    /// Bends of layer 3 for some units with a negative coefficient (or for any), over lines that are about exact
    /// without flips.
    fn nested(&self, hints: &mut Value, details: &Details, random: &mut Random) {
        let one = Exact::from_f64(1.0);
        // With such a level no admissible set pays more than the way to zero.
        let count = Exact::from_f64(self.flips_left().max(1) as f64);
        let way = |z: &Exact| if z.sign() == Ordering::Less { z.negated() } else { z.clone() };
        let level = |z: &Exact, random: &mut Random| match random.below(4) {
            0 => Exact::zero(),
            1 => short(&way(z), 12),
            _ => share(&way(z), &one, &count),
        };
        let prices = |level: &Exact, random: &mut Random| {
            if random.percent(80) { json!([spell(level), []]) } else { json!([0, []]) }
        };
        let mut supports = Vec::new();
        for (&(node, unit), z) in &details.values {
            if random.percent(15) {
                continue;
            }
            let level = level(z, random);
            let omega = match random.below(8) {
                0 => Exact::from_f64(0.5),
                1 => Exact::from_f64(random.below(2) as f64),
                _ if z.sign() == Ordering::Less => Exact::zero(),
                _ => one.clone(),
            };
            supports.push(json!([node, unit, spell(&omega), spell(&level), prices(&level, random)]));
        }
        let mut list = Vec::new();
        for (&(layer, node, unit), k) in &details.coefficients {
            if layer != 3 || random.percent(20) {
                continue;
            }
            let weight = if k.sign() == Ordering::Less { k.negated() } else { Exact::from_f64(0.5) };
            let weight = if random.percent(75) { weight } else { weight.times(&Exact::from_f64(0.5)) };
            let mut z = self.rules.biases[1][unit].clone();
            for &(n, a) in &self.rules.operators[1][node] {
                for i in 0..self.rules.width(2) {
                    let active = details.values.get(&(n, i)).filter(|z| z.sign() == Ordering::Greater);
                    let w = Exact::from_f64(a).times(self.rules.weight(2, i, unit));
                    z = active.map_or_else(|| z.clone(), |active| z.plus(&w.times(active)));
                }
            }
            let level = level(&z, random);
            list.push(json!([node, unit, spell(&weight), spell(&level), prices(&level, random)]));
        }
        // What bends carry is taken from the slopes.
        if let Some(slopes) = hints.get_mut("slopes").and_then(Value::as_array_mut) {
            slopes.retain(|slope| slope[0] != 3 || !list.iter().any(|bent| bent[0] == slope[1] && bent[1] == slope[2]));
        }
        hints["supports"] = json!(supports);
        hints["nested"] = json!(list);
    }
}

/// Prices of rule 1 that are as tight as they can be for these amounts.
fn tight(amounts: &[((usize, usize), Exact)], global: usize, local: &[u64]) -> Value {
    let mut rows: BTreeMap<usize, Vec<&Exact>> = BTreeMap::new();
    for (flip, amount) in amounts {
        if amount.sign() == Ordering::Greater {
            rows.entry(flip.0).or_default().push(amount);
        }
    }
    let mut kept: Vec<&Exact> = Vec::new();
    for (&node, row) in &mut rows {
        row.sort_by(|x, y| y.compare(x));
        kept.extend(row.iter().take(local[node].min(1 << 20) as usize));
    }
    kept.sort_by(|x, y| y.compare(x));
    let every = if global == 0 { kept.first() } else { kept.get(global - 1).filter(|_| kept.len() > global) };
    let every = every.map_or_else(Exact::zero, |x| (*x).clone());
    let mut nodes = Vec::new();
    for (&node, row) in &rows {
        let own = local[node].min(1 << 20) as usize;
        if own > 0 && row.len() > own {
            let over = row[own - 1].plus(&every.negated());
            if over.sign() == Ordering::Greater {
                nodes.push(json!([node, spell(&over)]));
            }
        }
    }
    json!([spell(&every), nodes])
}
