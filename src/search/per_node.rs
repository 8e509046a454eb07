//! Networks in which every node is computed from its own attributes before one last step of message passing (APPNP and the like):
//! the worst case of each node by itself, and a knapsack over the nodes (docs/math.md §16.4).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::bound::prepared::Prepared;
use crate::bound::relaxed::Relaxation;
use crate::bound::workspace::Workspace;
use crate::number::dyadic::Dyadic;
use crate::problem::Problem;
use crate::problem::flip::Flip;
use crate::problem::matrix::MatrixRows;
use crate::problem::network::{Layer, Network, Operator};

use super::limits::{Clock, Limits};
use super::pair::{Pairs, difference};
use super::pair_search::{Cost, Quest, search_pair};
use super::tree::Goal;

/// Choices of a node and a number of flips that a knapsack may have; beyond, the ordinary search goes on alone.
const MOST_CHOICES: usize = 1 << 14;

/// A node, and the classes whose difference is made small.
type Key = (u32, u32, u32);

/// How well the worst change of a node under some number of flips is known.
#[derive(Clone, Debug)]
enum Known {
    /// As that of the largest number of flips.
    Inherited,
    /// A bound, and the flips that attain it in the relaxation.
    Bound(f64, Vec<Flip>),
    /// Exactly, with the flips that do it.
    Exact(Dyadic, Vec<Flip>),
}

/// What is known of a node and a class pair, by the number of flips from 1.
type Row = Vec<Known>;

/// What was computed once, and what that cost.
type Remembered = HashMap<(Key, usize), (Known, Cost)>;

/// The network before its last step, node by node, and what was computed of the nodes: shared by all targets and threads. A target
/// starts from nothing all the same and asks for what it needs, so that its result does not depend on who came before.
#[derive(Debug)]
pub(crate) struct PerNode {
    /// The network with the identity as its last operator and without its last bias.
    alone: Prepared,
    by_flips: Mutex<HashMap<usize, Arc<Prepared>>>,
    bounds: Mutex<Remembered>,
    minima: Mutex<Remembered>,
}

/// The network of the nodes by themselves, if only the last layer passes messages and has one term.
fn alone(problem: &Problem) -> Option<Network> {
    let (last, others) = problem.network().layers().split_last()?;
    let is_identity = |layer: &Layer| layer.operators.iter().all(|rule| matches!(rule, Operator::Identity));
    if others.is_empty() || !others.iter().all(is_identity) || last.operators.len() != 1 || is_identity(last) {
        return None;
    }
    let without_bias = vec![0.0; last.outputs()];
    let step = Layer::new(&Operator::Identity, problem.graph(), &last.weight.matrix(), &without_bias);
    Network::new(others.iter().cloned().chain([step]).collect()).ok()
}

/// A choice of the knapsack: so many flips in that node change the margin by no less than this.
struct Choice {
    /// The place of the node among those that the target reads.
    place: usize,
    flips: usize,
    change: Dyadic,
}

/// A target's view of the table: the nodes that it reads, with the entries of its operator.
struct View {
    entries: Vec<(u32, f64)>,
    rows: Vec<Row>,
}

impl PerNode {
    /// If the network has that form.
    pub(crate) fn new(problem: &Problem) -> Option<PerNode> {
        let problem = Problem::new(problem.graph().clone(), alone(problem)?, problem.budget().clone()).ok()?;
        let alone = Prepared::new(problem.at_global(0));
        Some(PerNode { alone, by_flips: Mutex::default(), bounds: Mutex::default(), minima: Mutex::default() })
    }

    fn at(&self, flips: usize) -> Arc<Prepared> {
        let mut known = self.by_flips.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(flips).or_insert_with(|| Arc::new(self.alone.at_global(flips))).clone()
    }

    /// The difference of two classes of a node without flips, from above.
    fn unperturbed(&self, (node, class, other): Key) -> f64 {
        let logits = &self.alone.unperturbed()[self.alone.network().depth() - 2];
        let [x, y] = [class, other].map(|class| logits.entry(node as usize, class as usize));
        difference(x, y).upper()
    }

    /// A bound of the worst change by so many flips.
    fn bound(&self, key: Key, flips: usize, workspace: &mut Workspace) -> Known {
        if let Some((known, _)) = recall(&self.bounds, key, flips) {
            return known;
        }
        let prepared = self.at(flips);
        prepared.aim(key.0 as usize, workspace);
        let objective = [(key.1 as usize, 1.0), (key.2 as usize, -1.0)];
        workspace.backward.run(prepared.network(), &workspace.slice, prepared.activation_bounds(), &objective);
        let paper = prepared.evaluate(workspace, Relaxation::Paper).lower();
        let lower = paper.max(prepared.evaluate(workspace, Relaxation::Anchored).lower());
        let selected = workspace.selection.flips().iter().map(|loss| loss.flip).collect();
        let known = Known::Bound(not_positive((lower - self.unperturbed(key)).next_down()), selected);
        remember(&self.bounds, key, flips, &known, Cost::default());
        known
    }

    /// The worst change by so many flips, exactly; `None` at a limit.
    fn minimum(
        &self,
        key: Key,
        flips: usize,
        clock: &Clock,
        cost: &mut Cost,
        workspace: &mut Workspace,
    ) -> Option<Known> {
        if let Some((known, spent)) = recall(&self.minima, key, flips) {
            cost.add(spent);
            return Some(known);
        }
        let mut spent = Cost::default();
        let mut exactly = |flips: usize| {
            let prepared = self.at(flips);
            prepared.aim(key.0 as usize, workspace);
            let mut pairs = Pairs::new(&prepared, key.0 as usize, key.1 as usize, &[key.2 as usize], true, workspace);
            let goal = Goal::Minimize { gap: 0.0 };
            let quest = Quest { goal, limits: Limits::default(), clock: clock.clone(), proofs: false };
            spent.add(search_pair(&prepared, 0, quest, &mut pairs, workspace));
            let attack = &pairs[0].attack;
            attack.exact.clone().filter(|_| pairs[0].minimized).map(|margin| (margin, attack.flips.clone()))
        };
        let ((least, made), (before, _)) = (exactly(flips)?, exactly(0)?);
        let known = Known::Exact(&least - &before, made);
        remember(&self.minima, key, flips, &known, spent);
        cost.add(spent);
        Some(known)
    }

    /// The row of a node, with a bound for the largest number of flips.
    fn row(&self, key: Key, most: usize, workspace: &mut Workspace) -> Row {
        let mut row = vec![Known::Inherited; most];
        if let Some(last) = row.last_mut() {
            *last = self.bound(key, most, workspace);
        }
        row
    }

    /// Settles a pair of the workspace's target, or finds its exact minimum; in the end it may have hit a limit. The ordinary
    /// search goes on with what is left.
    pub(crate) fn search(
        &self,
        prepared: &Prepared,
        (target, at): (usize, usize),
        (goal, clock): (Goal, &Clock),
        pairs: &mut Pairs,
        workspace: &mut Workspace,
    ) -> Cost {
        let mut cost = Cost { nodes: 1, split: true, ..Cost::default() };
        let (reference, class) = (pairs.reference as u32, pairs[at].class as u32);
        let key = |node: u32, entry: f64| if entry > 0.0 { (node, reference, class) } else { (node, class, reference) };
        let budget = prepared.budget();
        let mut own = Workspace::default();
        let operator = prepared.network().layers()[prepared.network().layers().len() - 1].passing.operator(0);
        let (columns, values) = operator.row(target);
        let entries = columns.iter().zip(values).filter(|entry| *entry.1 != 0.0);
        let entries: Vec<(u32, f64)> = entries.map(|(&node, &entry)| (node, entry)).collect();
        let most = |node: u32| budget.local(node as usize).min(budget.global());
        let largest = entries.iter().map(|&(node, _)| most(node)).max().unwrap_or(0);
        // A budget may allow more flips than there are.
        let all = entries.iter().fold(0usize, |sum, &(node, _)| sum.saturating_add(most(node)));
        let global = budget.global().min(all);
        if global.saturating_mul(largest) > MOST_CHOICES {
            return Cost { gave_up: true, ..cost };
        }
        let rows = entries.iter().map(|&(node, entry)| self.row(key(node, entry), most(node), &mut own)).collect();
        let mut view = View { entries, rows };
        let start = {
            let objective = pairs.objective(at);
            prepared.exact(&workspace.slice, &mut workspace.exact).objective(&objective, &[])
        };
        loop {
            if clock.is_late() {
                return Cost { gave_up: true, ..cost };
            }
            let Some((change, taken)) = view.worst(global) else { return Cost { gave_up: true, ..cost } };
            let lower = &start + &change;
            pairs[at].searched = pairs[at].searched.max(lower.floor_f64().min(pairs[at].attack.margin.upper()));
            let flips: Vec<Flip> = taken.iter().flat_map(|&(place, flips)| view.flips(place, flips)).collect();
            pairs.attack(flips, workspace);
            if goal == Goal::Decide && (lower.sign().is_gt() || pairs[at].attack.succeeds()) {
                pairs[at].proved |= lower.sign().is_gt();
                return cost;
            }
            let mut refined = false;
            for (place, flips) in taken {
                let (node, entry) = view.entries[place];
                let key = key(node, entry);
                let better = match &view.rows[place][flips - 1] {
                    Known::Inherited => self.bound(key, flips, &mut own),
                    Known::Bound(..) => match self.minimum(key, flips, clock, &mut cost, &mut own) {
                        Some(exact) => exact,
                        None => return Cost { gave_up: true, ..cost },
                    },
                    Known::Exact(..) => continue,
                };
                view.rows[place][flips - 1] = better;
                refined = true;
            }
            if !refined {
                // Everything that was taken is exact: so is the sum, and the perturbation has been replayed.
                pairs.settle(at, workspace);
                let pair = &mut pairs[at];
                pair.minimized = pair.attack.exact.as_ref().is_some_and(|margin| *margin <= lower);
                pair.proved |= lower.sign().is_gt() && !pair.attack.succeeds();
                return cost;
            }
        }
    }
}

/// A lower bound of a change that is not positive, because no flip at all is admissible. Of what is not a number nothing is known.
fn not_positive(change: f64) -> f64 {
    match change {
        _ if change.is_nan() => f64::NEG_INFINITY,
        _ if change > 0.0 => 0.0,
        _ => change,
    }
}

fn recall(memory: &Mutex<Remembered>, key: Key, flips: usize) -> Option<(Known, Cost)> {
    memory.lock().unwrap_or_else(PoisonError::into_inner).get(&(key, flips)).cloned()
}

fn remember(memory: &Mutex<Remembered>, key: Key, flips: usize, known: &Known, cost: Cost) {
    memory.lock().unwrap_or_else(PoisonError::into_inner).insert((key, flips), (known.clone(), cost));
}

impl View {
    /// The flips that are known for a choice.
    fn flips(&self, place: usize, flips: usize) -> Vec<Flip> {
        match &self.rows[place][flips - 1] {
            Known::Inherited => Vec::new(),
            Known::Bound(_, flips) | Known::Exact(_, flips) => flips.clone(),
        }
    }

    /// From below, what `flips` flips in a node change; bounds as floats, so that comparing them is exact.
    fn change(&self, place: usize, flips: usize) -> (f64, Option<Dyadic>) {
        let row = &self.rows[place];
        let entry = self.entries[place].1.abs();
        let below = |change: f64| not_positive((entry * change).next_down());
        match &row[flips - 1] {
            Known::Exact(change, _) => (f64::NEG_INFINITY, Some(&Dyadic::from(entry) * change)),
            Known::Bound(change, _) => (below(*change), None),
            Known::Inherited => match &row[row.len() - 1] {
                Known::Exact(change, _) => (below(change.floor_f64()), None),
                Known::Bound(change, _) => (below(*change), None),
                Known::Inherited => (f64::NEG_INFINITY, None),
            },
        }
    }

    /// The choices among which the worst sum is: for each number of flips, the exact ones and as many of the others as there are
    /// flips in all. Whatever is left out can be exchanged for one of these in a node that is not used otherwise.
    fn choices(&self, global: usize) -> Option<Vec<Choice>> {
        let most = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut choices = Vec::new();
        for flips in 1..=most {
            let mut bounds: Vec<(f64, usize)> = Vec::new();
            for place in (0..self.rows.len()).filter(|&place| self.rows[place].len() >= flips) {
                match self.change(place, flips) {
                    (_, Some(change)) => choices.push(Choice { place, flips, change }),
                    (bound, None) if bound.is_finite() => bounds.push((bound, place)),
                    _ => return None,
                }
            }
            bounds.sort_by(|x, y| x.0.total_cmp(&y.0).then(x.1.cmp(&y.1)));
            let kept = bounds.into_iter().take(global).filter(|bound| bound.0 < 0.0);
            choices.extend(kept.map(|(bound, place)| Choice { place, flips, change: Dyadic::from(bound) }));
        }
        choices.sort_by_key(|choice| (choice.place, choice.flips));
        Some(choices)
    }

    /// The smallest sum of changes with at most `global` flips, and which choices make it; none if a bound is not finite.
    fn worst(&self, global: usize) -> Option<(Dyadic, Vec<(usize, usize)>)> {
        let choices = self.choices(global)?;
        // By the number of flips: the smallest sum so far, and the last choice in it with the state before it.
        let mut best: Vec<(Dyadic, Option<usize>)> = vec![(Dyadic::ZERO, None); global + 1];
        let mut trail: Vec<((usize, usize), Option<usize>)> = Vec::new();
        for node in choices.chunk_by(|x, y| x.place == y.place) {
            let before = best.clone();
            for choice in node {
                for used in choice.flips..=global {
                    let (sum, last) = &before[used - choice.flips];
                    let sum = sum + &choice.change;
                    if sum < best[used].0 {
                        trail.push(((choice.place, choice.flips), *last));
                        best[used] = (sum, Some(trail.len() - 1));
                    }
                }
            }
        }
        let (change, mut last) = best.into_iter().min_by(|x, y| x.0.cmp(&y.0))?;
        let mut taken = Vec::new();
        while let Some(at) = last {
            taken.push(trail[at].0);
            last = trail[at].1;
        }
        Some((change, taken))
    }
}
