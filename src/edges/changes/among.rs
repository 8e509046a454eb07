//! What a change does to margins at least among several others, no two of all of which share an end (docs/math.md
//! §24.8). In plain floats, with one bound of all rounding errors.

use crate::edges::changes::ends::Ends;
use crate::edges::changes::menu::EdgeFlip;
use crate::edges::changes::sets::Head;
use crate::edges::changes::tops::Tops;
use crate::edges::changes::trial::{Floats, Flow, TINY, share, work};
use crate::problem::pace::Pace;

/// How far other changes move the numbers of a layer, by node.
struct MostMoved {
    /// Pre-activations, by changes of which none is at the node.
    away: Vec<Ends>,
    /// By any.
    any: Vec<Ends>,
    /// What the term along edges receives, by changes away.
    received: Vec<Ends>,
}

/// What single changes do to the numbers of a layer, each among so many others.
struct Done {
    away: Tops,
    received: Tops,
    /// What a change at the node does.
    at: Vec<Ends>,
}

/// A change, with the pre-activations of its ends after it alone, by layer.
struct BoundedChange {
    flip: EdgeFlip,
    ends: [usize; 2],
    after: Vec<[Vec<f64>; 2]>,
}

/// Buffers of one change: nodes that it reaches, with what they send more, what units do, and losses by class.
struct Scratch {
    nodes: Vec<usize>,
    place: Vec<usize>,
    sent: Ends,
    units: Vec<Ends>,
    losses: Vec<Vec<f64>>,
    /// By layer: the most that pre-activations were found to move.
    moved: Vec<f64>,
    by: Raised,
    /// A pre-activation if another change is at the node, what units do then, and what the row gives.
    touched: Ends,
    behind: Ends,
    shares: Ends,
}

/// Not below the absolute values of some numbers.
fn largest(numbers: &[f64]) -> f64 {
    numbers.iter().fold(0.0, |most, x| most.max(x.abs()))
}

/// The least that a margin rises by if units do so.
fn least(head: &Head, units: &Ends) -> f64 {
    let sides = units.lo.iter().zip(&units.hi);
    head.weights.iter().zip(sides).map(|(&w, (lo, hi))| w * if w >= 0.0 { lo } else { hi }).sum()
}

/// The same if some units rise by a part of these numbers, and if they fall by it.
fn linked(head: &Head, sent: &Ends, first: usize) -> [f64; 2] {
    let (mut inserted, mut removed) = (0.0, 0.0);
    for (j, &w) in head.weights.iter().enumerate() {
        let (x, y) = (w * sent.lo[first + j], w * sent.hi[first + j]);
        inserted += x.min(y).min(0.0);
        removed -= x.max(y).max(0.0);
    }
    [inserted, removed]
}

impl BoundedChange {
    /// What it does to pre-activations of an end behind the first layer, from where that is; `along` is what others of
    /// the row send more.
    fn at_end(&self, floats: &Floats, totals: &[f64], layer: usize, end: usize, moved: &[MostMoved], by: &mut Raised) {
        let (node, other) = (self.ends[end], self.ends[1 - end]);
        let (below, width) = (layer - 1, floats.width(layer));
        let flow = floats.terms[layer][floats.along(layer)].flow;
        let size = floats.rows[node].len();
        let after = if self.flip.inserts { size + 1 } else { size - 1 };
        let entry = share(flow, after);
        by.units.add(&by.along, 0, entry);
        // What the other end sends along the edge: of an insertion after all changes, of a removal after the others,
        // which are not at it.
        let (of_below, inputs) = (&floats.stack.network.layers()[below], floats.width(below));
        let before = floats.rows[other].len();
        let (sums, ratio) = match self.flip.inserts {
            false => (&floats.sums[below][other * inputs..][..inputs], 1.0),
            // The others reach it along the edges that it had.
            true => match floats.terms[below][floats.along(below)].flow {
                Flow::Mean => (self.after[below][1 - end].as_slice(), before as f64 / (before + 1) as f64),
                _ => (self.after[below][1 - end].as_slice(), 1.0),
            },
        };
        let mut units = Ends::of(sums);
        units.add(&moved[below].away[other], 0, ratio);
        for unit in (0..inputs).filter(|&unit| !of_below.is_linear(unit)) {
            (units.lo[unit], units.hi[unit]) = (units.lo[unit].max(0.0), units.hi[unit].max(0.0));
        }
        let mut message = Ends::default();
        units.image(&floats.stack.network.layers()[layer], floats.terms[layer].len(), &mut message);
        let sign = if self.flip.inserts { entry } else { -entry };
        by.units.add(&message, floats.along(layer) * width, sign);
        // What is left of a mean changes with the size of the row.
        let shift = match flow {
            Flow::Mean if after == 0 => -1.0,
            Flow::Mean if size > 0 => size as f64 / after as f64 - 1.0,
            _ => 0.0,
        };
        if shift != 0.0 {
            by.units.shift(&totals[node * width..][..width], share(flow, size) * shift);
            by.units.add(&moved[layer].received[node], 0, shift);
        }
    }
}

/// By how much pre-activations of a node rise, and what others of its row send more.
#[derive(Default)]
struct Raised {
    units: Ends,
    along: Ends,
}

/// The changes of a path.
pub(crate) struct Among<'a> {
    floats: &'a Floats<'a>,
    heads: &'a [&'a Head],
    changes: Vec<BoundedChange>,
    /// By layer and pair of nodes: is one so few edges away from the other?
    near: Vec<Vec<bool>>,
    /// By layer: what rows as they are sum up to.
    totals: Vec<Vec<f64>>,
    /// The largest entry of a row that has been inserted; by node, of one that has lost an edge with it.
    inserted: f64,
    removed: Vec<f64>,
    /// By layer: the largest pre-activation on the path and after a change.
    sums: Vec<f64>,
}

/// By change and class: not above what the change does on the average of the orders in which so many are made.
pub(crate) type Averages = Vec<Vec<f64>>;

impl<'a> Among<'a> {
    /// `None` if it is late.
    pub(crate) fn new(
        floats: &'a Floats<'a>,
        flips: &[EdgeFlip],
        heads: &'a [&'a Head],
        pace: &Pace,
    ) -> Option<Among<'a>> {
        let (nodes, layers) = (floats.rows.len(), floats.terms.len());
        let mut sums: Vec<f64> = floats.sums.iter().map(|z| largest(z)).collect();
        let mut changes = Vec::with_capacity(flips.len());
        for &flip in flips {
            if pace.is_late_for(work(floats)) {
                return None;
            }
            let ends = floats.ends(flip);
            let levels = floats.trial(flip).levels;
            for (size, level) in sums.iter_mut().zip(&levels) {
                *size = size.max(largest(&level.sums));
            }
            let of = |layer: usize, end: usize| {
                let width = floats.width(layer);
                let place = levels[layer].place(end).unwrap_or(0);
                levels[layer].sums[place * width..][..width].to_vec()
            };
            let after = (0..layers).map(|layer| ends.map(|end| of(layer, end))).collect();
            changes.push(BoundedChange { flip, ends, after });
        }
        let mut near = vec![vec![false; nodes * nodes]; layers];
        (0..nodes).for_each(|node| near[0][node * nodes + node] = true);
        for layer in 1..layers {
            let (below, above) = near.split_at_mut(layer);
            for v in 0..nodes {
                for u in (0..nodes).filter(|u| below[layer - 1][v * nodes + u]) {
                    above[0][v * nodes + u] = true;
                    floats.rows[u].iter().for_each(|n| above[0][v * nodes + n] = true);
                }
            }
        }
        let total = |layer: usize| {
            let (width, along) = (floats.width(layer), floats.along(layer));
            let mut sums = vec![0.0; nodes * width];
            for (slots, row) in sums.chunks_exact_mut(width).zip(&floats.rows) {
                for &u in row {
                    let part = &floats.message(layer, u)[along * width..][..width];
                    slots.iter_mut().zip(part).for_each(|(slot, m)| *slot += m);
                }
            }
            sums
        };
        let flow = floats.terms[layers - 1][floats.along(layers - 1)].flow;
        let inserted = share(flow, 1 + floats.rows.iter().map(Vec::len).min().unwrap_or(0));
        let lost =
            |row: &Vec<usize>| row.iter().map(|&u| share(flow, floats.rows[u].len().max(2) - 1)).fold(0.0, f64::max);
        let removed = floats.rows.iter().map(lost).collect();
        let totals = (0..layers).map(total).collect();
        Some(Among { floats, heads, changes, near, totals, inserted, removed, sums })
    }

    /// What each change does on the average of the orders in which `budget` are made; `None` if it is late or sums may
    /// overflow.
    pub(crate) fn averages(&self, budget: usize, pace: &Pace) -> Option<Averages> {
        let (floats, classes) = (self.floats, self.heads.len());
        let (nodes, layers) = (floats.rows.len(), floats.terms.len());
        let none = |layer: usize| vec![Ends::zeros(floats.width(layer)); nodes];
        let mut moved: Vec<MostMoved> =
            (0..layers).map(|layer| MostMoved { away: none(layer), any: none(layer), received: none(layer) }).collect();
        let mut least = vec![vec![f64::INFINITY; classes]; self.changes.len()];
        let mut averages = vec![vec![0.0; classes]; self.changes.len()];
        let mut scratch = Scratch {
            nodes: Vec::new(),
            place: vec![usize::MAX; nodes],
            sent: Ends::default(),
            units: Vec::new(),
            losses: vec![Vec::new(); classes],
            moved: vec![0.0; layers],
            by: Raised::default(),
            touched: Ends::default(),
            behind: Ends::default(),
            shares: Ends::default(),
        };
        let tops = |layer: usize| Tops::new(if layer == 0 { 0 } else { nodes }, floats.width(layer));
        let mut done: Vec<Done> =
            (0..layers).map(|layer| Done { away: tops(layer), received: tops(layer), at: none(layer) }).collect();
        for others in 0..budget {
            for (layer, done) in done.iter_mut().enumerate() {
                // What the second layer receives does not depend on the number of others.
                if layer > 1 {
                    done.away.clear();
                    done.received.clear();
                }
                done.at.iter_mut().for_each(|at| at.clear(floats.width(layer)));
            }
            for at in 0..self.changes.len() {
                if pace.is_late_for(4 * work(floats)) {
                    return None;
                }
                let found = self.among(at, others, &moved, &mut done, &mut scratch);
                for ((least, sum), found) in least[at].iter_mut().zip(&mut averages[at]).zip(found) {
                    // What holds among more others holds among fewer.
                    *least = least.min(found);
                    *sum += *least;
                }
            }
            // Another change more: of all that move a node one may be at it, and counts as the last.
            for layer in 1..if others + 1 < budget { layers } else { 0 } {
                for node in 0..nodes {
                    let (done, of) = (&done[layer], &mut moved[layer]);
                    let mut any = done.away.sum(node, others);
                    any.add(&done.at[node], 0, 1.0);
                    of.away[node] = done.away.sum(node, others + 1);
                    of.received[node] = done.received.sum(node, others + 1);
                    any.include(&of.away[node]);
                    of.any[node] = any;
                    let size = &mut scratch.moved[layer];
                    *size = size.max(of.any[node].largest()).max(of.received[node].largest());
                }
            }
        }
        let slack = self.slack(budget, &scratch.moved);
        averages.iter_mut().flatten().for_each(|sum| *sum = *sum / budget as f64 - slack);
        // Where a sum may overflow, nothing is what it seems.
        let finite = slack.is_finite() && averages.iter().flatten().all(|sum| sum.is_finite());
        finite.then_some(averages)
    }

    /// One change among so many others: what it does to margins at least, by class.
    fn among(
        &self,
        at: usize,
        others: usize,
        moved: &[MostMoved],
        done: &mut [Done],
        scratch: &mut Scratch,
    ) -> Vec<f64> {
        let floats = self.floats;
        let BoundedChange { ends, after, .. } = &self.changes[at];
        let Scratch { nodes, place, sent, units, losses, moved: most, by, touched, behind, shares } = scratch;
        let last = floats.terms.len() - 1;
        losses.iter_mut().for_each(Vec::clear);
        nodes.clear();
        nodes.extend(ends);
        units.resize(nodes.len(), Ends::default());
        for (unit, (&node, after)) in units.iter_mut().zip(nodes.iter().zip(&after[0])) {
            // Nothing else reaches the ends in the first layer.
            let (of, width) = (&floats.stack.network.layers()[0], floats.width(0));
            let sums = &floats.sums[0][node * width..][..width];
            let mut from = Ends::of(after);
            from.shift(sums, -1.0);
            most[0] = most[0].max(from.largest());
            from.activated(sums, &moved[0].away[node], |unit| of.is_linear(unit), unit);
        }
        for layer in 1..=last {
            let of = &floats.stack.network.layers()[layer];
            let (terms, width) = (floats.terms[layer].len(), floats.width(layer));
            let linear = |unit: usize| of.is_linear(unit);
            sent.clear(0);
            units.iter().for_each(|units| units.image(of, terms, sent));
            let below = nodes.len();
            nodes.iter().enumerate().for_each(|(at, &node)| place[node] = at);
            for at in 0..below {
                for &u in &floats.rows[nodes[at]] {
                    if place[u] == usize::MAX {
                        place[u] = nodes.len();
                        nodes.push(u);
                    }
                }
            }
            units.resize(nodes.len(), Ends::default());
            let reached = |u: usize| (place[u] < below).then(|| place[u] * terms * width);
            let along = floats.along(layer);
            let flow = floats.terms[layer][along].flow;
            for (&node, unit) in nodes.iter().zip(units.iter_mut()) {
                let sums = &floats.sums[layer][node * width..][..width];
                let end = ends.iter().position(|&end| end == node);
                by.units.clear(width);
                if let Some(first) = reached(node) {
                    for (k, term) in floats.terms[layer].iter().enumerate().filter(|(_, term)| term.own != 0.0) {
                        by.units.add(sent, first + k * width, term.own);
                    }
                }
                by.along.clear(width);
                for &u in floats.rows[node].iter().filter(|u| end.is_none() || !ends.contains(u)) {
                    if let Some(first) = reached(u) {
                        by.along.add(sent, first + along * width, 1.0);
                    }
                }
                if let Some(end) = end {
                    self.changes[at].at_end(floats, &self.totals[layer], layer, end, moved, by);
                    done[layer].at[node].include(&by.units);
                    most[layer] = most[layer].max(by.units.largest());
                    by.units.activated(sums, &moved[layer].away[node], linear, unit);
                    continue;
                }
                let size = floats.rows[node].len();
                touched.clone_from(&by.units);
                // Another change may be one of this row, which leaves at least who sends here.
                shares.clear(width);
                shares.add(&by.along, 0, share(flow, size));
                by.units.add(shares, 0, 1.0);
                if layer > 1 || others == 0 {
                    let near = ends.map(|end| self.near[layer][node * floats.rows.len() + end]);
                    done[layer].away.put(node, *ends, near, &by.units);
                    if flow == Flow::Mean {
                        done[layer].received.put(node, *ends, near, shares);
                    }
                }
                for size in [size + 1, size.max(2) - 1].into_iter().filter(|_| flow == Flow::Mean) {
                    behind.clear(width);
                    behind.add(&by.along, 0, share(flow, size));
                    shares.include(behind);
                }
                touched.add(shares, 0, 1.0);
                most[layer] = most[layer].max(touched.largest());
                if others > 0 {
                    touched.activated(sums, &moved[layer].any[node], linear, behind);
                }
                if others > 0 && layer < last {
                    unit.clone_from(behind);
                    continue;
                }
                by.units.activated(sums, &moved[layer].away[node], linear, unit);
                for (losses, head) in losses.iter_mut().zip(self.heads).filter(|_| others > 0) {
                    let mut loss = (least(head, behind) - least(head, unit)).min(0.0);
                    if let Some(first) = reached(node) {
                        let [inserted, removed] = linked(head, sent, first + along * width);
                        loss += (inserted * self.inserted).min(removed * self.removed[node]);
                    }
                    losses.push(loss);
                }
            }
            nodes.iter().for_each(|&node| place[node] = usize::MAX);
        }
        let total = |(head, losses): (&&Head, &mut Vec<f64>)| {
            // Each of the others has two ends.
            let count = (2 * others).min(losses.len());
            if count > 0 && count < losses.len() {
                losses.select_nth_unstable_by(count - 1, f64::total_cmp);
            }
            units.iter().map(|units| least(head, units)).sum::<f64>() + losses[..count].iter().sum::<f64>()
        };
        self.heads.iter().zip(losses).map(total).collect()
    }

    /// Not below the rounding error of an average. `moved` is the most that pre-activations of each layer were found to
    /// move.
    ///
    /// Every number is a sum of products of numbers of the layer below, at most so often and so large as is counted. A
    /// range adds up as many of what single changes do as there are changes, and what a unit rises by changes by no
    /// more than where it rises from, and than what its pre-activation rises by. The result is doubled, for what is
    /// rounded here.
    fn slack(&self, budget: usize, moved: &[f64]) -> f64 {
        let floats = self.floats;
        let (nodes, many) = (floats.rows.len() as f64, budget as f64);
        let most = floats.rows.iter().map(Vec::len).max().unwrap_or(0) as f64 + many + 1.0;
        // Messages: how far they are off on the path, how far what changes do to them is, and how large both are.
        let (mut sent_off, mut change_off, mut sent) = (floats.off + TINY, 0.0, largest(&floats.sent[0]));
        let mut off = 0.0;
        for (layer, terms) in floats.terms.iter().enumerate() {
            // A row of a mean that loses an edge has entries up to twice as large.
            let entry = |flow: Flow| match flow {
                Flow::Own => 0.0,
                Flow::Sum => most,
                Flow::Mean => 2.0,
            };
            let entries: f64 = terms.iter().map(|term| term.own.abs() + entry(term.flow)).sum();
            let count = f64::EPSILON * (terms.len() as f64 * (most + 4.0) + 2.0 * many + 16.0);
            let size = self.sums[layer] + 2.0 * moved[layer] + floats.largest_bias(layer);
            let base_off = entries * sent_off + count * (entries * sent + size) + TINY;
            // Behind the first layer: what nodes of the row send, what the other end does, and of a mean what others
            // send, by the other changes.
            let (sums_off, ranges) = match layer {
                0 => (2.0 * base_off + count * size, 0.0),
                _ => {
                    let times = entries + 2.0 + many;
                    (times * change_off + base_off + count * (2.0 * times * sent + 2.0 * size), many + 1.0)
                }
            };
            let units_off = (1.0 + ranges) * sums_off + base_off + 4.0 * count * size;
            let summed = f64::EPSILON * (nodes * floats.width(layer) as f64 + 64.0) * (size + sent);
            off = units_off + change_off + count * sent + summed;
            if layer + 1 < floats.terms.len() {
                let norm = floats.norm(layer + 1);
                let inputs = f64::EPSILON * (floats.width(layer) as f64 + 8.0) * size;
                sent_off = norm * (base_off + inputs) + TINY;
                change_off = norm * (units_off + inputs) + TINY;
                sent = norm * size;
            }
        }
        let head = self.heads.iter().map(|head| head.size).fold(0.0, f64::max);
        2.0 * head * (nodes + 4.0 * many) * off + TINY
    }
}

#[cfg(test)]
mod tests {
    use super::Among;
    use crate::edges::changes::beside::tests::problem;
    use crate::edges::changes::menu::{ChangeMenu, ChangePath, EdgeFlip, Setting};
    use crate::edges::changes::search::each_set;
    use crate::edges::changes::sets::Head;
    use crate::edges::changes::trial::Floats;
    use crate::problem::pace::Pace;
    use gcnproof_verify::random::Stream;

    #[test]
    fn no_set_takes_more_than_its_changes_do_on_the_average() {
        let (mut sets, mut close) = (0, 0);
        for seed in 0..150 {
            let random = &mut Stream::new(seed);
            let budget = 2 + random.below(2);
            let problem = problem(random, budget, 1);
            let Some(stack) = problem.stack() else { continue };
            let (path, pace) = (ChangePath::default(), Pace::endless());
            let menu = ChangeMenu::new(Setting::new(stack, problem.budget(), 1), 1, &path, &pace).unwrap();
            let floats = Floats::new(&menu).expect("a network of this kind");
            let heads = [1, 2].map(|class| Head::new(&menu, 0, class));
            let heads: Vec<&Head> = heads.iter().collect();
            // Of some changes, as a search leaves them.
            let flips: Vec<EdgeFlip> = menu.flips.iter().copied().filter(|_| random.below(3) > 0).collect();
            let among = Among::new(&floats, &flips, &heads, &pace).expect("no limit of time");
            let averages = among.averages(budget, &pace).expect("small numbers");
            let margins = |set: &[EdgeFlip]| {
                let logits = stack.spans(1, &menu.with(set));
                [1, 2].map(|class| logits[0].minus(logits[class]))
            };
            let base = margins(&[]);
            let mut some = ChangeMenu::bare(menu.setting, 1, &path);
            some.flips.clone_from(&flips);
            let looked = each_set(&some, |set| {
                let found = margins(set);
                for class in 0..2 {
                    let place = |flip: &EdgeFlip| flips.iter().position(|other| other == flip).unwrap();
                    let sum: f64 = set.iter().map(|flip| averages[place(flip)][class]).sum();
                    let least = base[class].lo + sum;
                    assert!(found[class].hi >= least, "seed {seed}: {set:?} {:?} below {least}", found[class]);
                    close += usize::from(found[class].lo - least < 1e-6);
                    sets += 1;
                }
                Ok(())
            });
            assert!(looked.is_ok());
        }
        assert!(sets > 25_000 && close > 1_000, "{close} of {sets} bounds are tight");
    }
}
