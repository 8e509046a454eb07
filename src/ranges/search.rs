//! Branch and bound for one class pair: lines are improved by ascent, and what stays open is split.

use std::collections::BTreeMap;

use gcnproof_check::format::RangeStep;

use crate::problem::pace::Pace;
use crate::ranges::attack::{RangeAttack, RangePair};
use crate::ranges::backward::{Entry, RangeBranch};
use crate::ranges::forward::Shift;
use crate::ranges::lines::{HiddenUnit, UnitLines};
use crate::ranges::proof::{number, stated};

/// Steps of ascent at the root, and in a branch.
pub(super) const ROOT_STEPS: usize = 40;
pub(super) const BRANCH_STEPS: usize = 16;

/// What share of the margin without changes a bound has to be for any checker to see that it is above 0.
const HARDLY: f64 = 1e-6;

/// Branches that are bounded by ascents alone.
const PATIENCE: usize = 12;

/// Ascents of a branch that cannot be split, at most.
const INSISTENCE: usize = 8;

/// What a unit is worth of what a bound lacks, so that it is split before entries are.
const WORTHWHILE: f64 = 0.1;

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
    /// Not below the margin of the best changes found.
    pub(crate) upper: f64,
    /// Are trees kept for a proof? Otherwise they are empty.
    pub(crate) proofs: bool,
    pub(crate) goal: RangeGoal,
}

/// What is asked of a class pair.
pub(crate) enum RangeGoal {
    /// Is the margin always above what it has to be above ([`RangePair::beyond`])?
    Sign,
    /// What is its minimum, up to a width relative to the larger of it and the margin without changes?
    Minimum {
        gap: f64,
        clean: f64,
        /// The size of the logits, for what roundings may take.
        size: f64,
        attack: Option<RangeAttack>,
    },
}

/// A tree in preorder, as a proof has it.
pub(crate) type RangeTree = Vec<RangeStep>;

/// What an ascent has found.
pub(super) struct Ascent {
    pub(super) lower: f64,
    pub(super) lines: UnitLines,
    /// Pre-activations on the average.
    pub(super) units: Vec<Vec<f64>>,
    pub(super) coefficients: Vec<Vec<f64>>,
    /// At the point of a relaxation, the unit that is farthest from what its pre-activation gives.
    pub(super) farthest: Option<HiddenUnit>,
    /// How often each entry was selected, and where to on the average.
    pub(super) selected: BTreeMap<Entry, Chosen>,
    pub(super) steps: usize,
}

#[derive(Clone, Copy)]
pub(super) struct Chosen {
    pub(super) count: usize,
    pub(super) old: f64,
    /// Of the values that it was moved to.
    pub(super) sum: f64,
}

/// The two parts of a branch, in the order in which they are searched.
pub(super) struct Halves {
    step: RangeStep,
    pub(super) one: RangeBranch,
    pub(super) two: RangeBranch,
    /// Does a proof have them the other way round?
    turned: bool,
}

/// How far a step goes: so far, or as far as gains so much where the bound is linear.
enum StepLength {
    Share(f64),
    Gain(f64),
}

/// A number of the lines that a step changes, and how fast the bound rises with it.
struct Rise {
    l: usize,
    at: usize,
    price: bool,
    direction: f64,
    rate: f64,
}

/// How to go on.
enum RangeSplit {
    Unit(HiddenUnit),
    Entry(Entry),
    /// A changed entry lies in the one half of its range or in the other.
    Value(Entry),
}

impl RangeSearch<'_> {
    /// Decides a branch: all of its perturbations leave the margin above what it has to be above, as its tree shows, or
    /// something stops the search.
    pub(crate) fn explore(
        &mut self,
        lines: UnitLines,
        branch: &RangeBranch,
        depth: usize,
    ) -> Result<RangeTree, RangeHalt> {
        self.visited += 1;
        let steps = if depth == 0 { ROOT_STEPS } else { BRANCH_STEPS };
        let ascent = self.close(lines, branch, steps)?;
        if ascent.lower > 0.0 {
            let ascent = self.clearer(ascent, branch);
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
        let Some(parts) = self.split(&ascent, branch) else {
            let (lower, lines) = self.insist(ascent.lines, branch)?;
            if lower > 0.0 {
                self.lower = self.lower.min(lower);
                return Ok(self.leaf(&lines, branch));
            }
            return Err(RangeHalt::Limit);
        };
        let one = self.explore(ascent.lines.clone(), &parts.one, depth + 1)?;
        let two = self.explore(ascent.lines, &parts.two, depth + 1)?;
        Ok(match (self.proofs, parts.turned) {
            (false, _) => RangeTree::new(),
            (true, false) => [vec![parts.step], one, two].concat(),
            (true, true) => [vec![parts.step], two, one].concat(),
        })
    }

    /// The leaf of a branch that its lines close: with numbers as short as its bound allows.
    pub(crate) fn leaf(&self, lines: &UnitLines, branch: &RangeBranch) -> RangeTree {
        if !self.proofs {
            return RangeTree::new();
        }
        // A checker that rounds in another way may miss a bound that is hardly above 0.
        let enough = self.pair.bound(lines, branch).lower / 2.0;
        let clear = |lines: &UnitLines| self.pair.bound(lines, branch).lower > enough;
        let shorter = [8, 16, 28].into_iter().map(|bits| lines.rounded(bits)).find(clear);
        let lines = shorter.as_ref().unwrap_or(lines);
        let coefficients = self.pair.bound(lines, branch).coefficients;
        vec![RangeStep::Lines(Box::new(stated(self.pair.scene, branch, lines, &coefficients)))]
    }

    /// Bounds a branch in which nothing is left to split: its signs contradict each other, or the ascent was too short.
    pub(super) fn insist(&mut self, mut lines: UnitLines, branch: &RangeBranch) -> Result<(f64, UnitLines), RangeHalt> {
        let mut lower = f64::NEG_INFINITY;
        for _ in 0..INSISTENCE {
            for id in branch.signs.keys() {
                let at = id.place * self.pair.scene.width(id.l) + id.unit;
                lower = self.best_price(&mut lines, branch, [id.l - 2, at]);
                if self.is_enough(lower) {
                    return Ok((lower, lines));
                }
                if self.pace.is_late() {
                    return Err(RangeHalt::Limit);
                }
            }
            let ascent = self.ascend(lines, branch, 4 * BRANCH_STEPS)?;
            (lower, lines) = (ascent.lower, ascent.lines);
            if self.is_enough(lower) {
                break;
            }
        }
        Ok((lower, lines))
    }

    /// Sets one price where the bound, which is concave in it, is largest: the bound there.
    fn best_price(&self, lines: &mut UnitLines, branch: &RangeBranch, [l, at]: [usize; 2]) -> f64 {
        let mut bound = |price: f64| {
            lines.prices[l][at] = price;
            self.pair.bound(lines, branch).lower
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
            if self.is_enough(value) {
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

    /// Bounds a branch by an ascent, and by the relaxation where some branches have been visited or nothing is left to
    /// split.
    pub(super) fn close(&mut self, lines: UnitLines, branch: &RangeBranch, steps: usize) -> Result<Ascent, RangeHalt> {
        let ascent = self.ascend(lines, branch, steps)?;
        let early = self.visited < PATIENCE && self.split(&ascent, branch).is_some();
        if early || self.is_enough(ascent.lower) || self.pace.is_late() {
            return Ok(ascent);
        }
        let Some(relaxed) = self.pair.relaxed(&ascent.lines, branch) else { return Ok(ascent) };
        Ok(match relaxed.lower > ascent.lower {
            true => relaxed,
            false => Ascent { lower: ascent.lower, lines: ascent.lines, ..relaxed },
        })
    }

    /// Better lines for a bound that is hardly above 0, where it is to be proved: another checker's roundings are
    /// others.
    fn clearer(&self, ascent: Ascent, branch: &RangeBranch) -> Ascent {
        if !self.proofs || ascent.lower > HARDLY * self.upper.abs() {
            return ascent;
        }
        let better = self.pair.relaxed(&ascent.lines, branch).filter(|relaxed| relaxed.lower > ascent.lower);
        better.unwrap_or(ascent)
    }

    /// Improves the lines of a branch (docs/math.md (25.4)).
    pub(super) fn ascend(
        &mut self,
        mut lines: UnitLines,
        branch: &RangeBranch,
        steps: usize,
    ) -> Result<Ascent, RangeHalt> {
        let mut best: Option<Ascent> = None;
        let (mut selected, mut average): (BTreeMap<Entry, Chosen>, Vec<Vec<f64>>) = (BTreeMap::new(), Vec::new());
        let mut done = 0;
        for step in 0..steps {
            if self.pace.is_late() && best.is_some() {
                break;
            }
            let bound = self.pair.bound(&lines, branch);
            done += 1;
            if best.as_ref().is_none_or(|best| bound.lower > best.lower) {
                best = Some(Ascent {
                    lower: bound.lower,
                    lines: lines.clone(),
                    units: Vec::new(),
                    coefficients: bound.coefficients.clone(),
                    farthest: None,
                    selected: BTreeMap::new(),
                    steps: 0,
                });
            }
            if self.is_enough(bound.lower) {
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
            let length = match self.goal {
                RangeGoal::Sign => StepLength::Share(0.7 / (1.0 + step as f64).sqrt()),
                RangeGoal::Minimum { .. } => StepLength::Gain(self.upper - bound.lower),
            };
            self.follow(&mut lines, branch, &bound.coefficients, &z, length);
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
        length: StepLength,
    ) {
        let mut rises = Vec::new();
        for l in 2..self.pair.scene.slice.top() {
            let width = self.pair.scene.width(l);
            let sizes = coefficients[l - 2].iter().map(|v| v.abs());
            let usual = sizes.sum::<f64>() / (coefficients[l - 2].len().max(1) as f64);
            for (at, (&z, &v)) in z[l - 2].iter().zip(&coefficients[l - 2]).enumerate() {
                let bounds = lines.bounds[l - 2][at];
                let scale = bounds.hi.max(-bounds.lo).max(f64::MIN_POSITIVE);
                let share = (z / scale).clamp(-1.0, 1.0);
                match branch.signs.get(&HiddenUnit { l, place: at / width, unit: at % width }) {
                    None if v > 0.0 => {
                        rises.push(Rise { l, at, price: false, direction: share, rate: v * z * share });
                    }
                    None => {}
                    Some(active) => {
                        let violated = if *active { -share } else { share };
                        let direction = violated * v.abs().max(usual);
                        rises.push(Rise { l, at, price: true, direction, rate: (z * direction).abs() });
                    }
                }
            }
        }
        let step = match length {
            StepLength::Share(step) => step,
            StepLength::Gain(missing) => {
                // What stays where it is gains nothing.
                let moves = |of: &&Rise| match of.price {
                    true => of.direction > 0.0 || lines.prices[of.l - 2][of.at] > 0.0,
                    false if of.direction > 0.0 => lines.slopes[of.l - 2][of.at] < 1.0,
                    false => lines.slopes[of.l - 2][of.at] > 0.0,
                };
                let rate: f64 = rises.iter().filter(moves).map(|of| of.rate).sum();
                if rate > 0.0 { missing / rate } else { 0.0 }
            }
        };
        for Rise { l, at, price, direction, .. } in rises {
            if price {
                let price = &mut lines.prices[l - 2][at];
                *price = (*price + step * direction).max(0.0);
            } else {
                let slope = &mut lines.slopes[l - 2][at];
                *slope = (*slope + step * direction).clamp(0.0, 1.0);
            }
        }
    }

    /// Does a bound close a branch? Whatever the gap, the sign is decided.
    pub(super) fn is_enough(&self, lower: f64) -> bool {
        match self.goal {
            RangeGoal::Sign => lower > 0.0,
            RangeGoal::Minimum { gap, clean, size, .. } => {
                // Bounds are rounded outward: of a tie they never decide the sign.
                let rounding = (1e-9 * size).max(1e-290);
                let width = (gap * clean.max(self.upper.abs())).max(rounding);
                let missing = self.upper - lower;
                missing <= width && (lower > 0.0 || self.upper <= 0.0 || missing <= rounding)
            }
        }
    }

    /// Is this an attack, or better than what is known?
    fn look(&mut self, moves: &[Shift], z: &[Vec<f64>]) -> Result<(), RangeHalt> {
        let margin = self.pair.margin(z);
        let size: f64 = z[z.len() - 1].iter().map(|x| x.abs()).sum();
        match &mut self.goal {
            RangeGoal::Sign if margin <= 1e-9 * size => {
                return self.pair.attack(moves).map_or(Ok(()), |attack| Err(RangeHalt::Attack(attack)));
            }
            RangeGoal::Minimum { attack, .. } if margin < self.upper => {
                self.upper = self.upper.min(self.pair.upper(moves));
                if margin <= 1e-9 * size && attack.as_ref().is_none_or(|attack| attack.tie) {
                    *attack = self.pair.attack(moves).or(attack.take());
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Tries what was selected on the average, where no other entries can be changed.
    pub(super) fn try_average(&mut self, ascent: &Ascent, branch: &RangeBranch) -> Result<(), RangeHalt> {
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
        let (mut moves, margin) = self.pair.descend(&ascent.lines, &moves);
        if matches!(self.goal, RangeGoal::Minimum { .. }) && margin < self.upper {
            self.pair.polish(&mut moves);
        }
        let z = self.pair.forward(&moves);
        self.look(&moves, &z)
    }

    /// The two parts of a branch: by the unit whose line is farthest from it, or by an entry that was selected now and
    /// then.
    pub(super) fn split(&self, ascent: &Ascent, branch: &RangeBranch) -> Option<Halves> {
        // Where a minimum is looked for, units that are all but tight do not come first: values that attain it are
        // found by halving.
        let least = match self.goal {
            RangeGoal::Sign => 0.0,
            RangeGoal::Minimum { .. } => WORTHWHILE * (self.upper - ascent.lower),
        };
        let widest = self.widest(ascent, branch);
        let unit = widest.filter(|of| of.0 > least).map(|of| of.1).or(ascent.farthest).map(RangeSplit::Unit);
        let entry = || self.doubtful(ascent, branch).map(RangeSplit::Entry);
        let value = || self.longest(branch).map(RangeSplit::Value);
        let found = unit.or_else(entry).or_else(value).or_else(|| widest.map(|of| RangeSplit::Unit(of.1)))?;
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

    /// The unit whose line is farthest from it, and how far.
    fn widest(&self, ascent: &Ascent, branch: &RangeBranch) -> Option<(f64, HiddenUnit)> {
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
        best.filter(|best| best.0 > 1e-12)
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
