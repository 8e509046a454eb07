//! Margins of a whole graph after sets of changes in plain floats, one bound for all their rounding errors: many times
//! faster than an interval for every number (docs/math.md §24.6).

use crate::edges::changes::menu::{ChangeMenu, EdgeFlip};
use crate::edges::changes::trial::{Floats, share};

/// Weights of the margin of a class pair, by unit of the last hidden layer, and the sum of what they are made of.
pub(crate) struct Head {
    pub(crate) weights: Vec<f64>,
    pub(crate) size: f64,
}

impl Head {
    /// Of the class that is kept over another.
    pub(crate) fn new(menu: &ChangeMenu, reference: usize, other: usize) -> Head {
        let stack = menu.setting.stack;
        let last = stack.rules.len() - 1;
        let of = &stack.network.layers()[last];
        let (mut weights, mut size) = (vec![0.0; of.inputs()], 0.0);
        for (k, &rule) in stack.rules[last].iter().enumerate() {
            let entry = stack.pooled(rule, menu.target).1;
            for (unit, weight) in weights.iter_mut().enumerate() {
                let row = of.weight.row(k * of.inputs() + unit);
                *weight += entry * (row[reference] - row[other]);
                size += entry * (row[reference].abs() + row[other].abs());
            }
        }
        Head { weights, size }
    }
}

/// Messages may be so much larger than those after single changes before nothing is said of a set.
const GROWTH: f64 = 8.0;

/// Evaluates one set after the other.
pub(crate) struct Sets<'a> {
    floats: &'a Floats<'a>,
    heads: &'a [Head],
    /// Not below the rounding error of a margin's change.
    slack: f64,
    /// Messages of each layer for which that holds.
    largest: Vec<f64>,
    /// What a margin changes by, by class.
    change: Vec<f64>,
    /// Weights by layer: of every unit below, what it sends by term and output.
    weights: Vec<Vec<f64>>,
    work: SetBuffers,
}

/// Buffers; what belongs to an earlier set has an older stamp.
struct SetBuffers {
    now: u64,
    /// By node: the place of its changed row.
    row_of: Vec<(u64, usize)>,
    rows: Vec<Vec<usize>>,
    /// By layer and node: when its message was computed.
    stamps: Vec<Vec<u64>>,
    sent: Vec<Vec<f64>>,
    dirty: Vec<Vec<usize>>,
    sums: Vec<f64>,
    received: Vec<f64>,
    pooled: Vec<f64>,
}

impl<'a> Sets<'a> {
    /// `seen` are the largest messages of each layer after single changes. `None` if sums may overflow.
    pub(crate) fn new(floats: &'a Floats<'a>, heads: &'a [Head], seen: &[f64], budget: usize) -> Option<Sets<'a>> {
        let largest: Vec<f64> = seen.iter().map(|most| GROWTH * most).collect();
        let size = heads.iter().map(|head| head.size).fold(0.0, f64::max);
        let slack = floats.slack(&largest, size, budget);
        let (nodes, layers) = (floats.rows.len(), floats.terms.len());
        let sent = (0..layers).map(|layer| vec![0.0; floats.sent[layer].len()]).collect();
        let work = SetBuffers {
            now: 0,
            row_of: vec![(0, 0); nodes],
            rows: Vec::new(),
            stamps: vec![vec![0; nodes]; layers],
            sent,
            dirty: vec![Vec::new(); layers],
            sums: Vec::new(),
            received: Vec::new(),
            pooled: Vec::new(),
        };
        let change = vec![0.0; heads.len()];
        let sent_by = |layer: usize| {
            let of = &floats.stack.network.layers()[layer];
            let terms = floats.terms[layer].len();
            let unit = move |unit: usize| (0..terms).flat_map(move |k| of.weight.row(k * of.inputs() + unit));
            (0..of.inputs()).flat_map(unit).copied().collect()
        };
        // Nothing in the first layer is sent anew.
        let weights = (0..layers).map(|layer| if layer == 0 { Vec::new() } else { sent_by(layer) }).collect();
        slack.is_finite().then_some(Sets { floats, heads, slack, largest, change, weights, work })
    }

    /// Not above what the margin of each class changes by; `None` where that is not known.
    pub(crate) fn least(&mut self, set: &[EdgeFlip]) -> Option<&[f64]> {
        let floats = self.floats;
        self.begin(set);
        let last = floats.terms.len() - 1;
        self.work.pooled.clear();
        self.work.pooled.resize(floats.width(last), 0.0);
        for layer in 0..=last {
            self.reach(layer, set);
            let width = floats.width(layer);
            let of = &floats.stack.network.layers()[layer];
            for at in 0..self.work.dirty[layer].len() {
                let node = self.work.dirty[layer][at];
                self.sum(layer, node);
                if layer < last {
                    if !self.send(layer, node) {
                        return None;
                    }
                    continue;
                }
                let before = &floats.sums[layer][node * width..][..width];
                for (unit, slot) in self.work.pooled.iter_mut().enumerate() {
                    let (z, was) = (self.work.sums[unit], before[unit]);
                    *slot += if of.is_linear(unit) { z - was } else { z.max(0.0) - was.max(0.0) };
                }
            }
        }
        for (slot, head) in self.change.iter_mut().zip(self.heads) {
            *slot = head.weights.iter().zip(&self.work.pooled).map(|(w, x)| w * x).sum::<f64>() - self.slack;
        }
        Some(&self.change)
    }

    /// The rows that a set changes.
    fn begin(&mut self, set: &[EdgeFlip]) {
        let SetBuffers { now, row_of, rows, .. } = &mut self.work;
        *now += 1;
        let mut used = 0;
        for flip in set {
            let ends = self.floats.ends(*flip);
            for (end, other) in [(ends[0], ends[1]), (ends[1], ends[0])] {
                if row_of[end].0 != *now {
                    row_of[end] = (*now, used);
                    if rows.len() == used {
                        rows.push(Vec::new());
                    }
                    rows[used].clone_from(&self.floats.rows[end]);
                    used += 1;
                }
                let row = &mut rows[row_of[end].1];
                if flip.inserts {
                    row.push(other);
                } else {
                    row.retain(|&u| u != other);
                }
            }
        }
    }

    /// The nodes whose pre-activations a set reaches in a layer; their stamps say that what they send above is new.
    fn reach(&mut self, layer: usize, set: &[EdgeFlip]) {
        let SetBuffers { now, row_of, rows, stamps, dirty, .. } = &mut self.work;
        let (below, here) = dirty.split_at_mut(layer);
        let (dirty, stamps) = (&mut here[0], &mut stamps[layer]);
        dirty.clear();
        let mut add = |node: usize| {
            if stamps[node] != *now {
                stamps[node] = *now;
                dirty.push(node);
            }
        };
        let Some(below) = below.last() else {
            set.iter().flat_map(|flip| self.floats.ends(*flip)).for_each(add);
            return;
        };
        for &node in below {
            let row = match row_of[node] {
                (stamp, place) if stamp == *now => &rows[place],
                _ => &self.floats.rows[node],
            };
            add(node);
            row.iter().copied().for_each(&mut add);
        }
    }

    /// The pre-activations of a node.
    fn sum(&mut self, layer: usize, node: usize) {
        let floats = self.floats;
        let (outputs, along) = (floats.width(layer), floats.along(layer));
        let width = floats.terms[layer].len() * outputs;
        let SetBuffers { now, row_of, rows, stamps, sent, sums, received, .. } = &mut self.work;
        let row = match row_of[node] {
            (stamp, place) if stamp == *now => &rows[place],
            _ => &floats.rows[node],
        };
        let message = |u: usize| match layer > 0 && stamps[layer - 1][u] == *now {
            true => &sent[layer][u * width..][..width],
            false => floats.message(layer, u),
        };
        received.clear();
        received.resize(outputs, 0.0);
        for &u in row {
            received.iter_mut().zip(&message(u)[along * outputs..][..outputs]).for_each(|(sum, m)| *sum += m);
        }
        let entry = share(floats.terms[layer][along].flow, row.len());
        let bias = floats.stack.network.layers()[layer].bias.row(node + floats.first as usize);
        sums.clear();
        sums.extend(bias.iter().zip(received.iter()).map(|(b, m)| b + entry * m));
        for (k, term) in floats.terms[layer].iter().enumerate().filter(|(_, term)| term.own != 0.0) {
            sums.iter_mut().zip(&message(node)[k * outputs..][..outputs]).for_each(|(sum, m)| *sum += term.own * m);
        }
    }

    /// What the node sends in the layer above; `false` if that is larger than errors are bounded for.
    fn send(&mut self, layer: usize, node: usize) -> bool {
        let floats = self.floats;
        let (before, of) = (&floats.stack.network.layers()[layer], &floats.stack.network.layers()[layer + 1]);
        let width = floats.terms[layer + 1].len() * of.outputs();
        let sent = &mut self.work.sent[layer + 1][node * width..][..width];
        sent.fill(0.0);
        let rows = self.weights[layer + 1].chunks_exact(width.max(1));
        for ((unit, &z), row) in self.work.sums.iter().enumerate().zip(rows) {
            let h = if before.is_linear(unit) { z } else { z.max(0.0) };
            if h != 0.0 {
                sent.iter_mut().zip(row).for_each(|(slot, w)| *slot += h * w);
            }
        }
        let most = self.largest[layer + 1];
        // A number that is none is not below anything.
        sent.iter().fold(true, |all, m| all & (m.abs() <= most))
    }
}
