//! The slice: the part of the graph that the logits of one target depend on.
//!
//! Representation `l` of the slice holds the nodes from which `t` is reached along the non-zeros of
//! `A(top−1) … A(l)`: `{t}` for `l = top`, and going down, the columns used by the rows above. With one matrix for all
//! layers this is `N_{top−l}(t)` of the paper.

use crate::number::rounding::FLOOR;
use crate::problem::flip::Flip;
use crate::problem::network::Network;
use crate::problem::places::Numbering;

/// The message passing of one layer inside a slice, in CSR form over local node numbers.
#[derive(Clone, Debug, Default)]
pub struct LocalMatrix {
    /// Row `m` owns the entries `offsets[m] .. offsets[m + 1]`.
    pub offsets: Vec<u32>,
    /// Local column numbers.
    pub columns: Vec<u32>,
    /// Entries of the operators, those of all terms side by side.
    pub values: Vec<f64>,
    /// Terms of the layer.
    pub terms: usize,
}

impl LocalMatrix {
    /// The entries of a row.
    #[inline]
    pub fn row(&self, m: usize) -> impl Iterator<Item = (usize, &[f64])> + '_ {
        let range = self.offsets[m] as usize..self.offsets[m + 1] as usize;
        let values = self.values[range.start * self.terms..range.end * self.terms].chunks_exact(self.terms.max(1));
        self.columns[range].iter().map(|&n| n as usize).zip(values)
    }

    /// The entries of a row of a layer with one term.
    #[inline]
    pub fn single_row(&self, m: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.row(m).map(|(n, entries)| (n, entries[0]))
    }

    /// Becomes the transpose of a matrix with `columns` columns; rows keep their order.
    pub(crate) fn transpose(&mut self, matrix: &LocalMatrix, columns: usize) {
        self.offsets.clear();
        self.offsets.resize(columns + 1, 0);
        for &n in &matrix.columns {
            self.offsets[n as usize + 1] += 1;
        }
        for n in 0..columns {
            self.offsets[n + 1] += self.offsets[n];
        }
        self.columns.clear();
        self.columns.resize(matrix.columns.len(), 0);
        self.terms = matrix.terms;
        self.values.clear();
        self.values.resize(matrix.values.len(), 0.0);
        // Filling moves each offset to the start of the next row; afterwards they are moved back.
        for m in 0..matrix.rows() {
            for (n, a) in matrix.row(m) {
                let slot = self.offsets[n] as usize;
                self.columns[slot] = m as u32;
                self.values[slot * self.terms..][..self.terms].copy_from_slice(a);
                self.offsets[n] += 1;
            }
        }
        self.offsets.rotate_right(1);
        self.offsets[0] = 0;
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }
}

/// The problem of one target. Its buffers are meant to be reused from target to target.
#[derive(Clone, Debug, Default)]
pub struct Slice {
    top: usize,
    nodes: Vec<Vec<u32>>,
    passing: Vec<LocalMatrix>,
    /// `A(1)` by columns.
    reaching: LocalMatrix,
    /// Local numbers of the nodes of the level that was cut last.
    numbers: Numbering,
}

impl Slice {
    /// Cuts out what representation `top` (`2 … L`) of `target` depends on (docs/math.md (1.4)).
    pub fn cut(&mut self, network: &Network, top: usize, target: usize) {
        let n = network.node_count();
        self.top = top;
        self.nodes.resize_with(top.max(self.nodes.len()), Vec::new);
        self.passing.resize_with((top - 1).max(self.passing.len()), LocalMatrix::default);
        self.nodes[top - 1].clear();
        self.nodes[top - 1].push(target as u32);
        for l in (1..top).rev() {
            self.numbers.begin(n);
            let matrix = &network.layers()[l - 1].passing;
            let (below, above) = self.nodes.split_at_mut(l);
            let (columns, rows) = (&mut below[l - 1], &above[0]);
            columns.clear();
            let local = &mut self.passing[l - 1];
            local.offsets.clear();
            local.offsets.push(0);
            local.columns.clear();
            local.values.clear();
            local.terms = matrix.terms();
            for &m in rows {
                for (slot, values) in matrix.row(m as usize) {
                    let (number, is_new) = self.numbers.number(slot as u32);
                    if is_new {
                        columns.push(slot as u32);
                    }
                    local.columns.push(number);
                    local.values.extend_from_slice(values);
                }
                local.offsets.push(local.columns.len() as u32);
            }
        }
        self.reaching.transpose(&self.passing[0], self.nodes[0].len());
    }

    /// The nodes of the slice of a target's logits without the operators between them, in the same order. With what
    /// weight each node of representation 1 reaches the target: the sum over all paths of the sizes of the entries.
    /// Every layer has one term.
    pub(crate) fn cut_paths(&mut self, network: &Network, target: usize, weights: &mut Vec<f64>, above: &mut Vec<f64>) {
        let (n, top) = (network.node_count(), network.depth());
        self.top = top;
        self.nodes.resize_with(top.max(self.nodes.len()), Vec::new);
        // Whoever asks for operators all the same is not to get those of another target.
        self.passing.iter_mut().chain([&mut self.reaching]).for_each(|matrix| matrix.offsets.clear());
        self.nodes[top - 1].clear();
        self.nodes[top - 1].push(target as u32);
        weights.clear();
        weights.push(1.0);
        for l in (1..top).rev() {
            self.numbers.begin(n);
            std::mem::swap(weights, above);
            weights.clear();
            let (below, rows) = self.nodes.split_at_mut(l);
            let (columns, rows) = (&mut below[l - 1], &rows[0]);
            columns.clear();
            for (&m, &weight) in rows.iter().zip(above.iter()) {
                let (senders, entries) = network.layers()[l - 1].passing.single_row(m as usize);
                for (&sender, &entry) in senders.iter().zip(entries) {
                    let (number, is_new) = self.numbers.number(sender);
                    if is_new {
                        columns.push(sender);
                        weights.push(FLOOR);
                    }
                    weights[number as usize] += weight * entry.abs();
                }
            }
        }
    }

    /// The representation that the target is looked at in: `L` for logits.
    pub fn top(&self) -> usize {
        self.top
    }

    /// The nodes of representation `l`, by local number.
    pub fn nodes(&self, l: usize) -> &[u32] {
        &self.nodes[l - 1]
    }

    /// The operators of layer `l`: rows are the nodes of representation `l + 1`, columns those of representation `l`.
    pub fn passing(&self, l: usize) -> &LocalMatrix {
        &self.passing[l - 1]
    }

    /// The rows of `A(1)` that have an entry in column `n`: its place among all entries, column by column, the row, the
    /// values of the terms.
    #[inline]
    pub fn reaching(&self, n: usize) -> impl Iterator<Item = (usize, usize, &[f64])> + '_ {
        (self.reaching.offsets[n] as usize..).zip(self.reaching.row(n)).map(|(place, (m, a))| (place, m, a))
    }

    /// Number of entries of `A(1)`.
    pub fn entry_count(&self) -> usize {
        self.reaching.columns.len()
    }

    /// The local number of a node in representation 1, if it is there.
    pub fn position(&self, node: u32) -> Option<usize> {
        // The last level that was cut is representation 1.
        self.numbers.get(node).map(|number| number as usize)
    }

    /// The rows of `A(1)` that a flip changes, as in [`reaching`](Self::reaching): none if its node is not in the
    /// slice.
    #[inline]
    pub fn rows_of(&self, flip: Flip) -> impl Iterator<Item = (usize, usize, &[f64])> + '_ {
        self.position(flip.node).into_iter().flat_map(|n| self.reaching(n))
    }
}
