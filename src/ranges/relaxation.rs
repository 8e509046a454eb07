//! The best lines of a branch: multipliers of the linear relaxation that they are the dual of (docs/math.md (25.7)).
//!
//! An ascent comes near them in a few evaluations of the network, but where signs have been chosen it may stay far
//! away. On small neighbourhoods a simplex method finds them, and with them the point of the relaxation at which the
//! next split is chosen.

use std::collections::BTreeMap;

use crate::problem::simplex::Simplex;
use crate::ranges::attack::RangePair;
use crate::ranges::backward::{Entry, RangeBranch, UnitPart};
use crate::ranges::lines::{HiddenUnit, UnitLines, chord};
use crate::ranges::number::Arithmetic;
use crate::ranges::search::{Ascent, Chosen};

/// Numbers of a tableau, at most.
const LARGEST: usize = 1 << 16;

/// Ways in which entries may move, at most.
const MOST_MOVES: usize = 512;

/// Steps of the simplex method, at most.
const STEPS: usize = 2_000;

/// Shares of a whole change are counted in parts of it.
const WHOLE: usize = 1 << 20;

/// What violating an inequality costs, relative to the largest coefficient of a unit; more where it was not enough.
const PENALTIES: [f64; 2] = [1e3, 1e7];

/// A linear function of the variables.
#[derive(Clone)]
struct AffineValue {
    constant: f64,
    coefficients: BTreeMap<usize, f64>,
}

impl Arithmetic for AffineValue {
    fn of(x: f64) -> AffineValue {
        AffineValue { constant: x, coefficients: BTreeMap::new() }
    }

    fn add(&mut self, x: &AffineValue, a: f64) {
        if a != 0.0 {
            self.constant += a * x.constant;
            x.coefficients.iter().for_each(|(&at, c)| *self.coefficients.entry(at).or_default() += a * c);
        }
    }

    fn relu(&mut self) {}
}

impl AffineValue {
    fn at(&self, point: &[f64]) -> f64 {
        self.constant + self.coefficients.iter().map(|(&at, c)| c * point[at]).sum::<f64>()
    }
}

/// How an entry moves with a variable between 0 and 1.
struct RangeMove {
    entry: Entry,
    old: f64,
    /// Its values where the variable is 0 and 1.
    from: f64,
    to: f64,
    /// Does the budget count it? Not where the branch has decided that the entry is changed.
    counted: bool,
}

/// Which multipliers of a bound an inequality has.
#[derive(Clone, Copy)]
enum Bounds {
    /// `z ≤ h` of a unit and the variable `h`: its slope.
    Slope(HiddenUnit, usize),
    /// A sign that the branch has chosen: its price.
    Price(HiddenUnit),
    Other,
}

/// `function ≤ 0`.
struct Inequality {
    function: AffineValue,
    bounds: Bounds,
}

/// The relaxation of a branch.
struct RangeRelaxation {
    moves: Vec<RangeMove>,
    /// Variables: moves, then units that may be on either side of 0.
    variables: usize,
    inequalities: Vec<Inequality>,
    /// Pre-activations of all representations.
    z: Vec<Vec<AffineValue>>,
}

impl RangePair<'_> {
    /// The best lines of a branch and the point of its relaxation, in floats: `None` where the tableau would be large.
    pub(super) fn relaxed(&self, lines: &UnitLines, branch: &RangeBranch) -> Option<Ascent> {
        let relaxation = self.relaxation(lines, branch)?;
        let mut best: Option<Ascent> = None;
        for penalty in PENALTIES {
            let found = self.solved(&relaxation, lines, branch, penalty)?;
            if best.as_ref().is_none_or(|best| found.lower > best.lower) {
                best = Some(found);
            }
            if best.as_ref().is_some_and(|best| best.lower > 0.0) {
                break;
            }
        }
        best
    }

    fn relaxation(&self, lines: &UnitLines, branch: &RangeBranch) -> Option<RangeRelaxation> {
        let scene = self.scene;
        let moves = self.moves(branch)?;
        let mut variables = moves.len();
        let layer = scene.problem.layer(1);
        let (inputs, outputs) = (layer.inputs(), layer.outputs());
        let sent = |&node: &u32| scene.problem.sent(node as usize).iter().map(|&x| AffineValue::of(x)).collect();
        let mut sums: Vec<Vec<AffineValue>> = scene.slice.nodes(1).iter().map(sent).collect();
        for (at, of) in moves.iter().enumerate() {
            for (place, sum) in sums[of.entry.0].iter_mut().enumerate() {
                let (term, unit) = (place / outputs, place % outputs);
                let w = layer.weight.get(term * inputs + of.entry.1 as usize, unit);
                sum.constant += w * (of.from - of.old);
                sum.coefficients.insert(at, w * (of.to - of.from));
            }
        }
        let (mut inequalities, mut large) = (self.budgets(branch, &moves), false);
        let z = scene.raise(sums, |id, z| {
            let at = id.place * scene.width(id.l) + id.unit;
            let span = &lines.bounds[id.l - 2][at];
            let part = match scene.side(lines, branch, id) {
                UnitPart::Open if UnitLines::is_one_sided(span) && span.lo + span.hi > 0.0 => UnitPart::Active,
                UnitPart::Open if UnitLines::is_one_sided(span) => UnitPart::Inactive,
                part => part,
            };
            let signed = branch.signs.contains_key(&id);
            let mut bound = |function: AffineValue, bounds| inequalities.push(Inequality { function, bounds });
            match part {
                UnitPart::Linear => z,
                UnitPart::Active | UnitPart::Inactive => {
                    let (zero, active) = (AffineValue::of(0.0), matches!(part, UnitPart::Active));
                    if signed {
                        let mut function = zero.clone();
                        function.add(&z, if active { -1.0 } else { 1.0 });
                        bound(function, Bounds::Price(id));
                    }
                    if active { z } else { zero }
                }
                UnitPart::Open => {
                    let h = AffineValue { constant: 0.0, coefficients: BTreeMap::from([(variables, 1.0)]) };
                    let mut under = z.clone();
                    under.add(&h, -1.0);
                    bound(under, Bounds::Slope(id, variables));
                    let [slope, intercept] = chord(*span);
                    let mut over = AffineValue { constant: -intercept, ..h.clone() };
                    over.add(&z, -slope);
                    bound(over, Bounds::Other);
                    variables += 1;
                    large |= variables.saturating_mul(inequalities.len()) > LARGEST;
                    // What does not fit need not be computed on.
                    if large { AffineValue::of(0.0) } else { h }
                }
            }
        });
        let numbers = (variables + inequalities.len()).saturating_mul(inequalities.len());
        (!large && numbers <= LARGEST).then_some(RangeRelaxation { moves, variables, inequalities, z })
    }

    /// All ways in which an entry may still move.
    fn moves(&self, branch: &RangeBranch) -> Option<Vec<RangeMove>> {
        let (scene, mut moves) = (self.scene, Vec::new());
        let (budget, ranges) = (scene.problem.budget(), scene.problem.ranges());
        let left = budget.global().checked_sub(branch.changed.len())?;
        for (place, &node) in scene.slice.nodes(1).iter().enumerate() {
            let own = branch.changed.range((place, 0)..(place + 1, 0));
            let local = budget.local(node as usize).checked_sub(own.clone().count())?;
            for (&entry, &[from, to]) in own {
                moves.push(RangeMove { entry, old: scene.value(place, entry.1), from, to, counted: false });
            }
            let attributes = if local.min(left) == 0 { 0 } else { scene.problem.layer(1).inputs() };
            for attribute in (0..attributes).filter(|&attribute| !budget.is_frozen(attribute)) {
                let entry = (place, attribute as u32);
                if branch.changed.contains_key(&entry) || branch.kept.contains(&entry) {
                    continue;
                }
                let old = scene.value(place, entry.1);
                for to in ranges.ends(attribute, old).into_iter().filter(|&to| to != old) {
                    moves.push(RangeMove { entry, old, from: old, to, counted: true });
                }
            }
            if moves.len() > MOST_MOVES {
                return None;
            }
        }
        Some(moves)
    }

    /// At most so many changes of a row, and in all.
    fn budgets(&self, branch: &RangeBranch, moves: &[RangeMove]) -> Vec<Inequality> {
        let budget = self.scene.problem.budget();
        let counted = |place: Option<usize>| {
            let own = move |entry: &(usize, &RangeMove)| entry.1.counted && place.is_none_or(|p| entry.1.entry.0 == p);
            moves.iter().enumerate().filter(own).map(|(at, _)| (at, 1.0)).collect::<BTreeMap<_, _>>()
        };
        let sum = |most: usize, coefficients: BTreeMap<usize, f64>| {
            let function = AffineValue { constant: -(most as f64), coefficients };
            (function.coefficients.len() > most).then_some(Inequality { function, bounds: Bounds::Other })
        };
        let rows = self.scene.slice.nodes(1).iter().enumerate().filter_map(|(place, &node)| {
            let own = branch.changed.range((place, 0)..(place + 1, 0)).count();
            sum(budget.local(node as usize).saturating_sub(own), counted(Some(place)))
        });
        rows.chain(sum(budget.global().saturating_sub(branch.changed.len()), counted(None))).collect()
    }

    fn solved(
        &self,
        relaxation: &RangeRelaxation,
        lines: &UnitLines,
        branch: &RangeBranch,
        penalty: f64,
    ) -> Option<Ascent> {
        let RangeRelaxation { moves, variables, inequalities, z } = relaxation;
        let logits = z.last()?;
        let mut margin = logits[self.reference].clone();
        margin.add(&logits[self.other], -1.0);
        let largest = margin.coefficients.values().fold(1.0, |most: f64, c| most.max(c.abs()));
        let mut simplex = Simplex::weighted();
        for at in 0..*variables {
            let upper = if at < moves.len() { 1.0 } else { f64::INFINITY };
            simplex.add_variable(-margin.coefficients.get(&at).copied().unwrap_or(0.0), upper);
        }
        let mut slacks = Vec::with_capacity(inequalities.len());
        for Inequality { function, .. } in inequalities {
            let slack = simplex.add_variable(0.0, f64::INFINITY);
            let violation = simplex.add_opposite(slack, -penalty * largest);
            let entries: Vec<(usize, f64)> = function.coefficients.iter().map(|(&at, &c)| (at, c)).collect();
            simplex.add_row(&entries, -function.constant, slack, violation);
            slacks.push(slack);
        }
        simplex.maximise(STEPS);
        // Of a variable that rests at 0, the reduced cost is minus the multiplier of `≥ 0`.
        let multiplier = |at: usize| (-simplex.reduced(at)).max(0.0);
        let mut lines = lines.clone();
        lines.prices.iter_mut().flatten().for_each(|price| *price = 0.0);
        for (Inequality { bounds, .. }, &slack) in inequalities.iter().zip(&slacks) {
            let place = |id: &HiddenUnit| (id.l - 2, id.place * self.scene.width(id.l) + id.unit);
            match bounds {
                Bounds::Slope(id, h) => {
                    let (under, zero) = (multiplier(slack), multiplier(*h));
                    let (l, at) = place(id);
                    if under + zero > 0.0 {
                        lines.slopes[l][at] = under / (under + zero);
                    }
                }
                Bounds::Price(id) => {
                    let (l, at) = place(id);
                    lines.prices[l][at] = multiplier(slack);
                }
                Bounds::Other => {}
            }
        }
        let numbers = lines.slopes.iter().chain(&lines.prices).flatten();
        if !numbers.fold(0.0, |sum, x| sum + x).is_finite() {
            return None;
        }
        let bound = self.bound(&lines, branch);
        let point: Vec<f64> = (0..*variables).map(|at| simplex.value(at)).collect();
        let units: Vec<Vec<f64>> =
            z[..z.len() - 1].iter().map(|units| units.iter().map(|z| z.at(&point)).collect()).collect();
        // Its multipliers may all be 0, so that the bound does not show it.
        let off = |of: &Inequality| match of.bounds {
            Bounds::Slope(id, h) => {
                let z = units[id.l - 2][id.place * self.scene.width(id.l) + id.unit];
                Some(((point[h] - z.max(0.0)).abs(), id))
            }
            _ => None,
        };
        let farthest =
            inequalities.iter().filter_map(off).filter(|off| off.0 > 1e-9).max_by(|x, y| x.0.total_cmp(&y.0));
        let mut selected: BTreeMap<Entry, Chosen> = BTreeMap::new();
        for (of, &share) in moves.iter().zip(&point).filter(|entry| !entry.0.counted || *entry.1 > 0.0) {
            let chosen = selected.entry(of.entry).or_insert(Chosen { count: 0, old: of.old, sum: 0.0 });
            if of.counted {
                let count = (share.min(1.0) * WHOLE as f64).round() as usize;
                (chosen.count, chosen.sum) = (chosen.count + count, chosen.sum + count as f64 * of.to);
            } else {
                let value = (of.from + share * (of.to - of.from)).clamp(of.from, of.to);
                (chosen.count, chosen.sum) = (WHOLE, WHOLE as f64 * value);
            }
        }
        Some(Ascent {
            lower: bound.lower,
            lines,
            units,
            coefficients: bound.coefficients,
            farthest: farthest.map(|off| off.1),
            selected,
            steps: WHOLE,
        })
    }
}
