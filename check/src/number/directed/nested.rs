//! Changes of the affine bounds of layer 3 by a flip (`FORMAT.md` §4, rule 5′), with a bound of their error.

use super::{BendSum, DirectedBend, Down, Interval, Stored, Up};

/// The lines of a unit of layer 2 that the bounds of layer 3 rest on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SupportLine {
    /// The unit itself.
    Linear,
    /// From above a bend by a level, from below `ω·z`.
    Level {
        /// Is `ω` 1, and not 0?
        follows: bool,
        /// `T`.
        level: Stored,
        /// Is `z' < 0`?
        below: bool,
    },
}

impl SupportLine {
    /// `p` and `ω g`, each off by at most a rounding; neither is larger in size than `g`.
    #[inline]
    fn changes(self, g: f64) -> (f64, f64) {
        match self {
            SupportLine::Linear => (g, g),
            SupportLine::Level { follows, level, below } => {
                let up = if below { (g - level.0).max(0.0) } else { g.max(-level.0) };
                (up, if follows { g } else { 0.0 })
            }
        }
    }
}

/// A pair of nodes of layers 3 and 2.
#[derive(Clone, Debug)]
struct NodePair {
    /// Place in `V(3)`.
    above: usize,
    /// Terms and their entries.
    entries: Vec<(usize, f64)>,
}

/// How changes of layer 2 change the affine bounds of layer 3 in a slice.
#[derive(Clone, Debug)]
pub(crate) struct NestedSums {
    /// By place in `V(2)`, and unit.
    lines: Vec<SupportLine>,
    /// Units of layers 2 and 3.
    widths: [usize; 2],
    /// By place in `V(2)`.
    pairs: Vec<Vec<NodePair>>,
    /// Units of layer 3.
    count: usize,
    /// The weights of layer 2, term by term: positive and negative parts.
    parts: [Vec<f64>; 2],
    /// Not below the size of any weight between two units.
    largest: f64,
    /// The largest size of an entry.
    entry: f64,
}

impl NestedSums {
    /// `weights[i]` has those of a unit of layer 2, of all terms; `passing` has for every place in `V(3)` places in
    /// `V(2)`, terms and entries.
    pub(crate) fn new(
        lines: Vec<SupportLine>,
        widths: [usize; 2],
        weights: &[&[Stored]],
        passing: &[Vec<(usize, usize, Stored)>],
    ) -> NestedSums {
        let [inputs, outputs] = widths;
        let terms = weights.first().map_or(0, |row| row.len() / outputs.max(1));
        let mut flat = vec![0.0; terms * inputs * outputs];
        let mut largest_weight: f64 = 0.0;
        for (i, row) in weights.iter().enumerate() {
            for (at, w) in row.iter().enumerate() {
                flat[(at / outputs * inputs + i) * outputs + at % outputs] = w.0;
                largest_weight = largest_weight.max(w.0.abs());
            }
        }
        let parts = [flat.iter().map(|w| w.max(0.0)).collect(), flat.iter().map(|w| w.min(0.0)).collect()];
        let mut pairs: Vec<Vec<NodePair>> = vec![Vec::new(); lines.len() / inputs.max(1)];
        let mut largest_entry: f64 = 0.0;
        for (above, row) in passing.iter().enumerate() {
            for &(below, term, entry) in row {
                largest_entry = largest_entry.max(entry.0.abs());
                match pairs[below].last_mut().filter(|pair| pair.above == above) {
                    Some(pair) => pair.entries.push((term, entry.0)),
                    None => pairs[below].push(NodePair { above, entries: vec![(term, entry.0)] }),
                }
            }
        }
        // Three roundings at most.
        let largest = (terms.max(1) as f64 * largest_weight * largest_entry * (1.0 + 1e-9)).next_up();
        NestedSums { lines, widths, pairs, count: passing.len() * outputs, parts, largest, entry: largest_entry }
    }

    /// Units of layer 3.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// What a flip changes, given its changes of the units of some nodes of `V(2)`.
    pub(crate) fn changes(&self, reached: impl Iterator<Item = (usize, Vec<Interval>)>) -> NestedChanges {
        let [inputs, outputs] = self.widths;
        let (mut sums, mut size, mut open, mut nodes) = (vec![0.0; self.count], 0.0, 0.0, 0.0);
        for (node, changes) in reached {
            nodes += 1.0;
            let lines: Vec<(f64, f64)> = changes
                .iter()
                .enumerate()
                .map(|(i, g)| {
                    let (Down(lower), Up(upper)) = (g.lower, g.upper);
                    size += upper.abs().max(lower.abs());
                    open += upper - lower;
                    self.lines[node * inputs + i].changes(upper)
                })
                .collect();
            let mut sent = [Vec::new(), Vec::new()];
            for NodePair { above, entries } in &self.pairs[node] {
                let sums = &mut sums[above * outputs..][..outputs];
                if let &[(term, entry)] = &entries[..] {
                    // Through a negative entry positive weights count as negative ones. Sums are kept per term only
                    // where there is one.
                    let [positive, negative] = if entry >= 0.0 { [0, 1] } else { [1, 0] };
                    let mut own = Vec::new();
                    let sent = if self.parts[0].len() == inputs * outputs { &mut sent[positive] } else { &mut own };
                    if sent.is_empty() {
                        sent.resize(outputs, 0.0);
                        for (i, &(up, low)) in lines.iter().enumerate().filter(|(_, line)| **line != (0.0, 0.0)) {
                            let row = (term * inputs + i) * outputs..(term * inputs + i + 1) * outputs;
                            let parts = self.parts[positive][row.clone()].iter().zip(&self.parts[negative][row]);
                            sent.iter_mut().zip(parts).for_each(|(sum, (p, n))| *sum += p * up + n * low);
                        }
                    }
                    sums.iter_mut().zip(&*sent).for_each(|(sum, sent)| *sum += entry * sent);
                    continue;
                }
                for (i, &(up, low)) in lines.iter().enumerate() {
                    for (j, sum) in sums.iter_mut().enumerate() {
                        let at = |term: usize| (term * inputs + i) * outputs + j;
                        let along = |&(term, a): &(usize, f64)| a * (self.parts[0][at(term)] + self.parts[1][at(term)]);
                        let w: f64 = entries.iter().map(along).sum();
                        *sum += w * if w > 0.0 { up } else { low };
                    }
                }
            }
        }
        // Every term passes the rounding of `p`, of its weight, of two sums over units and terms and of one over
        // nodes; where the sign of a weight of several terms is lost, the weight is no more than its own rounding.
        // Twice the unit roundoff for each covers the rounding of what is computed here.
        let terms = self.parts[0].len() as f64 / (outputs.max(1) * inputs.max(1)) as f64;
        let roundings = 2.0 * inputs as f64 + 4.0 * terms + nodes + 32.0;
        let error = self.largest * (open * (1.0 + 1e-9) + roundings * f64::EPSILON * size)
            + (1.0 + self.largest + self.entry) * (roundings * (size + 1.0) * f64::MIN_POSITIVE) * inputs as f64;
        NestedChanges { sums, error: (error * (1.0 + 1e-9)).next_up() }
    }
}

/// Changes of the affine bounds of layer 3.
pub(crate) struct NestedChanges {
    pub(super) sums: Vec<f64>,
    pub(super) error: f64,
}

impl NestedChanges {
    /// The change of one unit.
    pub(crate) fn of(&self, at: usize) -> Interval {
        let (lower, upper) = ((self.sums[at] - self.error).next_down(), (self.sums[at] + self.error).next_up());
        if lower.is_finite() && upper.is_finite() {
            Interval { lower: Down(lower), upper: Up(upper) }
        } else {
            Interval::ANY
        }
    }

    /// Not below what bends take, `Σ c·max(G − T, 0)` and `Σ c·max(G, −T)`: a bend of the unit at each place.
    pub(crate) fn taken(&self, bends: &[(usize, DirectedBend)]) -> Up {
        let mut sum = BendSum::default();
        bends.iter().for_each(|(at, bend)| sum.add(bend, self.sums[*at]));
        sum.upper_within(self.error)
    }
}
