//! What a change does to a margin at least, whichever one other change is made with it, unless both share an end
//! (docs/math.md §24.6). In plain floats, with one bound of all rounding errors.

use crate::edges::changes::menu::EdgeFlip;
use crate::edges::changes::sets::Head;
use crate::edges::changes::trial::{Floats, Flow, Trial, share, work};
use crate::problem::pace::Pace;

/// All numbers between two.
#[derive(Clone, Copy, Debug, Default)]
struct Range {
    lo: f64,
    hi: f64,
}

impl Range {
    fn of(x: f64) -> Range {
        Range { lo: x, hi: x }
    }

    fn plus(self, other: Range) -> Range {
        Range { lo: self.lo + other.lo, hi: self.hi + other.hi }
    }

    fn scaled(self, a: f64) -> Range {
        let (x, y) = (a * self.lo, a * self.hi);
        if a >= 0.0 { Range { lo: x, hi: y } } else { Range { lo: y, hi: x } }
    }

    fn hull(self, other: Range) -> Range {
        Range { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    fn include(&mut self, x: f64) {
        *self = self.hull(Range::of(x));
    }

    /// What a unit rises by if its pre-activation does by one of these numbers, from `z` or from there by one of
    /// `moved`.
    fn activated(self, z: f64, moved: Range) -> Range {
        let rise = |from: f64, by: f64| (z + from + by).max(0.0) - (z + from).max(0.0);
        let least = rise(if self.lo > 0.0 { moved.lo } else { moved.hi }, self.lo);
        let most = rise(if self.hi > 0.0 { moved.hi } else { moved.lo }, self.hi);
        Range { lo: least, hi: most }
    }
}

/// What single changes do, by layer, node and unit.
struct UnitRanges {
    /// How far they move a pre-activation.
    moved: Vec<Vec<Range>>,
    /// What the term along edges gives a row that they do not change.
    received: Vec<Vec<Range>>,
    /// What a node sends along edges.
    sent: Vec<Vec<Range>>,
    /// The largest message of each layer.
    largest: Vec<f64>,
}

impl UnitRanges {
    fn new(floats: &Floats, flips: &[EdgeFlip], pace: &Pace) -> Option<UnitRanges> {
        let nodes = floats.rows.len();
        let layers = floats.terms.len();
        let moved = (0..layers).map(|layer| vec![Range::default(); nodes * floats.width(layer)]).collect();
        let sent_along = |layer: usize| {
            let (width, along) = (floats.width(layer), floats.along(layer));
            let of = move |node: usize| floats.message(layer, node)[along * width..][..width].iter();
            (0..nodes).flat_map(of).map(|&m| Range::of(m)).collect::<Vec<Range>>()
        };
        let sent: Vec<Vec<Range>> = (0..layers).map(sent_along).collect();
        let received_along = |layer: usize| {
            let (width, along) = (floats.width(layer), floats.along(layer));
            let flow = floats.terms[layer][along].flow;
            let of = |at: usize| {
                let row = &floats.rows[at / width];
                let sum: f64 = row.iter().map(|&u| sent[layer][u * width + at % width].lo).sum();
                Range::of(sum * share(flow, row.len()))
            };
            (0..nodes * width).map(of).collect::<Vec<Range>>()
        };
        let received = (0..layers).map(received_along).collect();
        let most = |of: &Vec<f64>| of.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let largest = floats.sent.iter().map(most).collect();
        let mut ranges = UnitRanges { moved, received, sent, largest };
        for &flip in flips {
            if pace.is_late_for(work(floats)) {
                return None;
            }
            ranges.include(floats, flip, &floats.trial(flip));
        }
        Some(ranges)
    }

    fn include(&mut self, floats: &Floats, flip: EdgeFlip, trial: &Trial) {
        let ends = floats.ends(flip);
        for (layer, level) in trial.levels.iter().enumerate() {
            let width = floats.width(layer);
            for (place, &node) in level.nodes.iter().enumerate() {
                for unit in 0..width {
                    let at = node * width + unit;
                    self.moved[layer][at].include(level.sums[place * width + unit] - floats.sums[layer][at]);
                    if !ends.contains(&node) {
                        self.received[layer][at].include(level.received[place * width + unit]);
                    }
                }
            }
            let Some(largest) = self.largest.get_mut(layer + 1) else { continue };
            *largest = level.sent.iter().fold(*largest, |most, x| most.max(x.abs()));
            let (above, along) = (floats.width(layer + 1), floats.along(layer + 1));
            let messages = level.sent.chunks_exact(floats.terms[layer + 1].len() * above);
            for (&node, message) in level.nodes.iter().zip(messages) {
                let slots = &mut self.sent[layer + 1][node * above..][..above];
                slots.iter_mut().zip(&message[along * above..]).for_each(|(slot, &m)| slot.include(m));
            }
        }
    }
}

/// What is known of changes beside others.
pub(crate) struct SetBounds {
    /// For each class and every open change: not above what the change does to the margin beside any one other that
    /// shares no end with it, nor above what it does alone.
    pub(crate) least: Vec<Vec<f64>>,
    /// The largest message of each layer after single changes.
    pub(crate) largest: Vec<f64>,
}

/// `None` where sums may overflow, or it is late.
pub(crate) fn beside(floats: &Floats, flips: &[EdgeFlip], heads: &[Head], pace: &Pace) -> Option<SetBounds> {
    let ranges = UnitRanges::new(floats, flips, pace)?;
    let size = heads.iter().map(|head| head.size).fold(0.0, f64::max);
    let slack = floats.slack(&ranges.largest, size, 2);
    // Where a sum may overflow, ranges are not what they seem.
    if !slack.is_finite() {
        return None;
    }
    let mut least = vec![Vec::with_capacity(flips.len()); heads.len()];
    for &flip in flips {
        if pace.is_late_for(4 * work(floats)) {
            return None;
        }
        let found = Beside { floats, ranges: &ranges, flip, ends: floats.ends(flip) }.least(heads);
        least.iter_mut().zip(found).for_each(|(list, x)| list.push(x - slack));
    }
    Some(SetBounds { least, largest: ranges.largest })
}

/// One change beside others.
struct Beside<'a> {
    floats: &'a Floats<'a>,
    ranges: &'a UnitRanges,
    flip: EdgeFlip,
    ends: [usize; 2],
}

impl Beside<'_> {
    /// What it does to margins at least.
    fn least(&self, heads: &[Head]) -> Vec<f64> {
        let (floats, trial) = (self.floats, self.floats.trial(self.flip));
        let mut totals = vec![0.0; heads.len()];
        let mut below: Vec<(usize, Vec<Range>)> = Vec::new();
        for (layer, level) in trial.levels.iter().enumerate() {
            let sent: Vec<(usize, Vec<Range>)> = match layer {
                0 => Vec::new(),
                _ => below.iter().map(|(node, units)| (*node, self.image(layer, units))).collect(),
            };
            let linked = if layer == 0 { [Vec::new(), Vec::new()] } else { self.linked(layer, &trial) };
            let width = floats.width(layer);
            let of = &floats.stack.network.layers()[layer];
            let mut units: Vec<(usize, Vec<Range>)> = Vec::new();
            for (place, &node) in level.nodes.iter().enumerate() {
                let sums = &floats.sums[layer][node * width..][..width];
                let mut change: Vec<Range> = match layer {
                    // Nothing else reaches the ends here.
                    0 => level.sums[place * width..].iter().zip(sums).map(|(x, z)| Range::of(x - z)).collect(),
                    _ => self.sum(layer, node, &sent, &linked),
                };
                for (unit, change) in change.iter_mut().enumerate().filter(|(unit, _)| !of.is_linear(*unit)) {
                    let moved =
                        if layer == 0 { Range::default() } else { self.ranges.moved[layer][node * width + unit] };
                    *change = change.activated(sums[unit], moved);
                }
                units.push((node, change));
            }
            if layer + 1 == floats.terms.len() {
                for (head, total) in heads.iter().zip(&mut totals) {
                    for (_, change) in &units {
                        *total += head.weights.iter().zip(change).map(|(&w, x)| x.scaled(w).lo).sum::<f64>();
                    }
                    *total += self.carried_on(head, layer, &sent);
                }
            }
            below = units;
        }
        totals
    }

    /// What units of a node send if they change so: by term and output.
    fn image(&self, layer: usize, units: &[Range]) -> Vec<Range> {
        let of = &self.floats.stack.network.layers()[layer];
        let (inputs, outputs) = (of.inputs(), of.outputs());
        let width = self.floats.terms[layer].len() * outputs;
        let (mut middle, mut radius) = (vec![0.0; width], vec![0.0; width]);
        for (unit, range) in units.iter().enumerate().filter(|(_, range)| range.lo != 0.0 || range.hi != 0.0) {
            let (x, r) = ((range.lo + range.hi) / 2.0, (range.hi - range.lo) / 2.0);
            for (k, (middle, radius)) in
                middle.chunks_exact_mut(outputs).zip(radius.chunks_exact_mut(outputs)).enumerate()
            {
                let row = of.weight.row(k * inputs + unit);
                middle.iter_mut().zip(row).for_each(|(slot, w)| *slot += x * w);
                if r != 0.0 {
                    radius.iter_mut().zip(row).for_each(|(slot, w)| *slot += r * w.abs());
                }
            }
        }
        middle.into_iter().zip(radius).map(|(x, r)| Range { lo: x - r, hi: x + r }).collect()
    }

    /// What the other end sends along the edge: of an insertion after both changes, of a removal after the other one.
    fn linked(&self, layer: usize, trial: &Trial) -> [Vec<Range>; 2] {
        let (floats, outputs) = (self.floats, self.floats.width(layer));
        let (terms, along) = (floats.terms[layer].len(), floats.along(layer));
        let part = |message: &[f64]| message[along * outputs..][..outputs].iter().map(|&m| Range::of(m)).collect();
        [self.ends[1], self.ends[0]].map(|end| {
            let level = &trial.levels[layer - 1];
            let Some(place) = level.place(end) else { return Vec::new() };
            if layer == 1 {
                // No other change reaches the units below.
                let message =
                    if self.flip.inserts { &level.sent[place * terms * outputs..] } else { floats.message(1, end) };
                return part(message);
            }
            if !self.flip.inserts {
                return self.ranges.sent[layer][end * outputs..][..outputs].to_vec();
            }
            let width = floats.width(layer - 1);
            let before = floats.rows[end].len();
            let flow = floats.terms[layer - 1][floats.along(layer - 1)].flow;
            // The other change reaches the end along the edges that it had.
            let ratio = match flow {
                Flow::Mean if before == 0 => 0.0,
                Flow::Mean => before as f64 / (before + 1) as f64,
                _ => 1.0,
            };
            let of = &floats.stack.network.layers()[layer - 1];
            let unit = |unit: usize| {
                let moved = self.ranges.moved[layer - 1][end * width + unit].scaled(ratio);
                let z = Range::of(level.sums[place * width + unit]).plus(moved);
                if of.is_linear(unit) { z } else { Range { lo: z.lo.max(0.0), hi: z.hi.max(0.0) } }
            };
            let units: Vec<Range> = (0..width).map(unit).collect();
            self.image(layer, &units)[along * outputs..][..outputs].to_vec()
        })
    }

    /// What happens to pre-activations of a node behind the first layer.
    fn sum(&self, layer: usize, node: usize, sent: &[(usize, Vec<Range>)], linked: &[Vec<Range>; 2]) -> Vec<Range> {
        let (floats, outputs, along) = (self.floats, self.floats.width(layer), self.floats.along(layer));
        let flow = floats.terms[layer][along].flow;
        let row = &floats.rows[node];
        let end = self.ends.iter().position(|&end| end == node);
        let mut change = vec![Range::default(); outputs];
        for (other, message) in sent {
            if *other == node {
                for (k, term) in floats.terms[layer].iter().enumerate().filter(|(_, term)| term.own != 0.0) {
                    let part = message[k * outputs..].iter();
                    change.iter_mut().zip(part).for_each(|(slot, m)| *slot = slot.plus(m.scaled(term.own)));
                }
            }
        }
        let mut received = vec![Range::default(); outputs];
        for (other, message) in sent {
            let cut = end.is_some() && self.ends.contains(other);
            if !cut && row.contains(other) {
                let part = message[along * outputs..].iter();
                received.iter_mut().zip(part).for_each(|(slot, m)| *slot = slot.plus(*m));
            }
        }
        let size = row.len();
        let Some(end) = end else {
            // The other change may be one of this row, which leaves at least who sends here.
            let shares = match flow {
                Flow::Mean => [1.0 / (size + 1) as f64, 1.0 / (size.max(2) - 1) as f64],
                _ => [1.0; 2],
            };
            for (slot, m) in change.iter_mut().zip(received) {
                *slot = slot.plus(m.scaled(shares[0]).hull(m.scaled(shares[1])));
            }
            return change;
        };
        let after = if self.flip.inserts { size + 1 } else { size - 1 };
        let entry = share(flow, after);
        let sign = if self.flip.inserts { entry } else { -entry };
        // What is left of a mean changes with the size of the row.
        let shift = match flow {
            Flow::Mean if after == 0 => -1.0,
            Flow::Mean if size > 0 => size as f64 / after as f64 - 1.0,
            _ => 0.0,
        };
        for (unit, slot) in change.iter_mut().enumerate() {
            let mean = self.ranges.received[layer][node * outputs + unit].scaled(shift);
            *slot = slot.plus(received[unit].scaled(entry)).plus(linked[end][unit].scaled(sign)).plus(mean);
        }
        change
    }

    /// What the other change does to it at least, where it inserts or removes an edge at a node that this one reaches:
    /// messages of two nodes, at most, arrive once more or once less in the last layer.
    fn carried_on(&self, head: &Head, layer: usize, sent: &[(usize, Vec<Range>)]) -> f64 {
        let (rows, outputs, along) = (&self.floats.rows, self.floats.width(layer), self.floats.along(layer));
        let flow = self.floats.terms[layer][along].flow;
        // The largest entry of a row that has been inserted, and of one that has lost an edge.
        let inserted = share(flow, 1 + rows.iter().map(Vec::len).min().unwrap_or(0));
        let mut worst = [0.0f64; 2];
        for (node, message) in sent.iter().filter(|(node, _)| !self.ends.contains(node)) {
            let part = &message[along * outputs..][..outputs];
            let loss = |sign: f64| {
                let losses = head.weights.iter().zip(part).map(|(&w, x)| x.scaled(sign * w).lo.min(0.0));
                losses.sum::<f64>()
            };
            let removed = rows[*node].iter().map(|&u| share(flow, rows[u].len().max(2) - 1)).fold(0.0, f64::max);
            let loss = loss(inserted).min(loss(-removed));
            if loss < worst[1] {
                worst = if loss < worst[0] { [loss, worst[0]] } else { [worst[0], loss] };
            }
        }
        worst[0] + worst[1]
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{SetBounds, beside};
    use crate::edges::budget::{Edge, EdgeBudget, EdgeKind};
    use crate::edges::changes::menu::{ChangeMenu, ChangePath, Setting};
    use crate::edges::changes::sets::{Head, Sets};
    use crate::edges::changes::trial::Floats;
    use crate::edges::problem::EdgeProblem;
    use crate::problem::graph::Graph;
    use crate::problem::layer::{Layer, Term};
    use crate::problem::network::{Network, Operator};
    use crate::problem::pace::Pace;
    use gcnproof_verify::random::Stream;
    use nalgebra::DMatrix;

    fn matrix(random: &mut Stream, rows: usize, columns: usize) -> DMatrix<f64> {
        DMatrix::from_fn(rows, columns, |_, _| (random.below(41) as f64 - 20.0) / 16.0)
    }

    /// Two graphs, the second with seven to nine nodes, and a network with one to three hidden layers.
    pub(crate) fn problem(random: &mut Stream, global: usize, local: usize) -> EdgeProblem {
        let nodes = 9 + random.below(3);
        let dense = 10 + random.below(50);
        let mut edges = vec![(0, 1)];
        for (i, j) in (2..nodes).flat_map(|i| (i + 1..nodes).map(move |j| (i, j))) {
            if random.below(100) < dense {
                edges.push((i, j));
            }
        }
        let attributes: Vec<Vec<usize>> =
            (0..nodes).map(|_| (0..3).filter(|_| random.below(2) == 0).collect()).collect();
        let batch = (0..nodes).map(|node| u32::from(node >= 2)).collect();
        let graph = Graph::from_lists(&edges, &attributes, 3).unwrap().with_batch(batch).unwrap();
        let (mut layers, mut inputs) = (Vec::new(), 3);
        let flows = [Operator::Sum, Operator::Mean, Operator::SumWithSelf];
        let flow = random.below(4);
        for _ in 0..1 + random.below(3) {
            let outputs = 1 + random.below(4);
            let along = flows[if flow == 3 { random.below(3) } else { flow }].clone();
            let mut terms = vec![Term { operator: along, weight: matrix(random, inputs, outputs) }];
            for _ in 0..random.below(3) {
                terms.insert(0, Term { operator: Operator::Identity, weight: matrix(random, inputs, outputs) });
            }
            let bias: Vec<f64> = matrix(random, 1, outputs).iter().copied().collect();
            let linear = (0..outputs).map(|_| random.below(6) == 0).collect();
            layers.push(Layer::of_terms(&graph, &terms, &bias, linear).unwrap());
            inputs = outputs;
        }
        let readout = [Operator::PoolSum, Operator::PoolMean][random.below(2)].clone();
        let terms = [Term { operator: readout, weight: matrix(random, inputs, 3) }];
        layers.push(Layer::of_terms(&graph, &terms, &[0.0; 3], Vec::new()).unwrap());
        let kind = [EdgeKind::Change, EdgeKind::Insert, EdgeKind::Remove][random.below(3)];
        let budget = EdgeBudget::uniform(&graph, global, local).kind(kind).keep_one(random.below(2) == 0);
        EdgeProblem::new(graph, Network::new(layers).unwrap(), budget).unwrap()
    }

    #[test]
    fn no_change_does_more_beside_another_than_the_bound_says() {
        let (mut pairs, mut tight, mut quickly) = (0, 0, 0);
        for seed in 0..400 {
            let random = &mut Stream::new(seed);
            let local = 1 + random.below(2);
            let problem = problem(random, 2, local);
            let Some(stack) = problem.stack() else { continue };
            let (path, pace) = (ChangePath::default(), Pace::endless());
            let menu = ChangeMenu::new(Setting::new(stack, problem.budget(), 1), 1, &path, &pace).unwrap();
            let floats = Floats::new(&menu).expect("a network of this kind");
            let heads = [1, 2].map(|class| Head::new(&menu, 0, class));
            let SetBounds { least, largest } = beside(&floats, &menu.flips, &heads, &pace).expect("small numbers");
            let mut sets = Sets::new(&floats, &heads, &largest, 2).expect("small numbers");
            let margins = |changes: &[Edge]| {
                let logits = stack.spans(1, changes);
                [1, 2].map(|class| logits[0].minus(logits[class]))
            };
            let base = margins(&[]);
            let singles: Vec<_> = menu.flips.iter().map(|flip| margins(&[flip.edge])).collect();
            for (x, one) in menu.flips.iter().enumerate() {
                for (y, other) in menu.flips.iter().enumerate() {
                    let shared = [one.edge.0, one.edge.1].iter().any(|&end| end == other.edge.0 || end == other.edge.1);
                    if shared || !menu.admits(&[*one, *other]) {
                        continue;
                    }
                    let both = margins(&menu.with(&[*one, *other]));
                    let quick = sets.least(&[*one, *other]).map(<[f64]>::to_vec);
                    for class in 0..2 {
                        let done = both[class].minus(singles[y][class]);
                        assert!(done.hi >= least[class][x], "seed {seed}: {done:?} below {}", least[class][x]);
                        tight += usize::from(done.lo - least[class][x] < 1e-6);
                        pairs += 1;
                        // Sets in plain floats: not above the truth, and close to it.
                        let Some(quick) = &quick else { continue };
                        let change = both[class].minus(base[class]);
                        assert!(quick[class] <= change.hi && quick[class] > change.lo - 1e-3, "{quick:?} {change:?}");
                        quickly += 1;
                    }
                }
            }
        }
        assert!(pairs > 50_000 && tight > 5_000, "{tight} of {pairs} bounds are tight");
        assert!(2 * quickly > pairs, "{quickly} of {pairs}");
    }
}
