//! Benchmark: one iteration of robust training against a direct dense implementation of the same iteration, in the same
//! run.
//!
//! The direct form: dense attributes; per node, unit and side a selection among all `D` gains; per target and class a
//! dense product `Δ = u Wᵀ`, a full selection, and in reverse two dense products. Its loss and gradient are compared
//! with ours before anything is timed. `GCNPROOF_DATA=folder` measures Cora-ML; without it, Cora is measured.
#![allow(missing_docs)]

use std::path::PathBuf;
use std::time::Instant;

use gcnproof::internals::problem::matrix::PatternRows;
use gcnproof::internals::problem::passing::Passing;
use gcnproof::internals::problem::slice::Slice;
use gcnproof::{Budget, Graph, Network, Operator};
use gcnproof_train::losses::{Loss, cross_entropy, hinge};
use gcnproof_train::objective::Objective;
use gcnproof_train::random::SeededRandom;
use gcnproof_train::receptive_field::ReceptiveField;
use gcnproof_train::settings::Settings;
use gcnproof_train::split::{Share, Split};
use gcnproof_train::trainer::Trainer;
use nalgebra::DMatrix;
use rayon::prelude::*;

/// A selected flip of an activation bound: attribute and change of the unit per weight.
type Picks = Vec<(usize, f64)>;

/// The gradient of a network with one hidden layer: `W(1)`, `b(1)`, `W(2)`, `b(2)`.
struct Gradient {
    first: DMatrix<f64>,
    first_bias: DMatrix<f64>,
    second: DMatrix<f64>,
    second_bias: DMatrix<f64>,
}

/// Everything that does not change from iteration to iteration.
struct Direct<'a> {
    graph: &'a Graph,
    budget: &'a Budget,
    split: &'a Split,
    settings: &'a Settings,
    attributes: DMatrix<f64>,
}

fn pass(matrix: &Passing, rows: &DMatrix<f64>, transposed: bool) -> DMatrix<f64> {
    let mut result = DMatrix::zeros(rows.nrows(), rows.ncols());
    for m in 0..matrix.nodes() {
        let (columns, entries) = matrix.single_row(m);
        for (&n, &a) in columns.iter().zip(entries) {
            let (from, into) = if transposed { (m, n as usize) } else { (n as usize, m) };
            for j in 0..rows.ncols() {
                result[(into, j)] += a * rows[(from, j)];
            }
        }
    }
    result
}

fn top(mut values: Vec<(f64, usize, f64)>, count: usize) -> Vec<(f64, usize, f64)> {
    if values.len() > count && count > 0 {
        values.select_nth_unstable_by(count - 1, |x, y| y.0.total_cmp(&x.0));
    }
    values.truncate(count);
    values
}

/// What all targets of an iteration share.
struct Iteration<'a> {
    w1: &'a DMatrix<f64>,
    w2: &'a DMatrix<f64>,
    /// Pre-activations of the hidden layer, nodes × units.
    z: &'a DMatrix<f64>,
    logits: &'a DMatrix<f64>,
    /// `R` and `S` with the flips that make them, by place of a node times units.
    bounds: &'a [[(f64, Picks); 2]],
    /// The place of a node among those that the batch needs.
    place: &'a (dyn Fn(u32) -> usize + Sync),
}

impl Direct<'_> {
    /// The best flips of one node for one unit, among all attributes.
    fn best(&self, gcn: &Network, n: usize, j: usize, side: f64) -> Vec<(f64, usize, f64)> {
        let weight = &gcn.layers()[0].weight;
        let gain = |d: usize| {
            let sign = 1.0 - 2.0 * self.attributes[(n, d)];
            ((side * sign * weight.get(d, j)).max(0.0), d, sign)
        };
        top((0..weight.rows()).map(gain).collect(), self.budget.local(n))
    }

    /// `R` or `S` of one unit of one node, and the flips that make it. Entries of `A` are positive.
    fn bound<'b>(
        &self,
        gcn: &Network,
        z: f64,
        m: usize,
        side: f64,
        best: impl Fn(u32) -> &'b [(f64, usize, f64)],
    ) -> (f64, Picks) {
        let (columns, entries) = gcn.layers()[0].passing.single_row(m);
        let mut pool = Vec::new();
        for (&n, &a) in columns.iter().zip(entries) {
            pool.extend(best(n).iter().map(|&(gain, d, sign)| (a * gain, d, a * sign)));
        }
        let kept = top(pool, self.budget.global());
        let moved: f64 = kept.iter().map(|k| k.0).sum();
        (z + side * moved, kept.into_iter().filter(|k| k.0 > 0.0).map(|k| (k.1, k.2)).collect())
    }

    fn iteration(&self, gcn: &Network, batch: &[u32]) -> (f64, Gradient) {
        let (one, two) = (&gcn.layers()[0], &gcn.layers()[1]);
        let (h, classes) = (one.weight.columns(), two.weight.columns());
        let (w1, w2) = (one.weight.matrix(), two.weight.matrix());
        let bias = |mut x: DMatrix<f64>, b: &[f64]| {
            x.row_iter_mut().for_each(|mut row| row.iter_mut().zip(b).for_each(|(v, b)| *v += b));
            x
        };
        let z = bias(pass(&one.passing, &(&self.attributes * &w1), false), one.bias.values());
        let hidden = z.map(|v| v.max(0.0));
        let logits = bias(pass(&two.passing, &(&hidden * &w2), false), two.bias.values());
        let mut by_logits = DMatrix::zeros(logits.nrows(), classes);
        let mut loss = 0.0;
        let share = 1.0 / self.split.labelled.len() as f64;
        for &n in &self.split.labelled {
            let row: Vec<f64> = logits.row(n as usize).iter().copied().collect();
            let (value, by) = cross_entropy(&row, self.graph.label(n as usize).unwrap() as usize);
            loss += share * value;
            by.iter().enumerate().for_each(|(k, d)| by_logits[(n as usize, k)] += share * d);
        }
        let sent = pass(&two.passing, &by_logits, true);
        let mut by_z = (&sent * w2.transpose()).zip_map(&z, |by, z| if z > 0.0 { by } else { 0.0 });
        let mut gradient = Gradient {
            first: DMatrix::zeros(w1.nrows(), h),
            first_bias: DMatrix::zeros(1, h),
            second: hidden.transpose() * &sent,
            second_bias: DMatrix::from_fn(1, classes, |_, k| by_logits.column(k).sum()),
        };
        // Activation bounds of the batch's neighbourhoods.
        let reach = ReceptiveField::of(gcn, batch);
        let (nodes, outer) = (reach.nodes(2), reach.nodes(1));
        let best: Vec<[Vec<(f64, usize, f64)>; 2]> = (0..outer.len() * h)
            .into_par_iter()
            .map(|at| [-1.0, 1.0].map(|side| self.best(gcn, outer[at / h] as usize, at % h, side)))
            .collect();
        let bounds: Vec<[(f64, Picks); 2]> = (0..nodes.len() * h)
            .into_par_iter()
            .map(|at| {
                let (m, j) = (nodes[at / h] as usize, at % h);
                [0, 1].map(|side| {
                    let list = |n: u32| best[outer.binary_search(&n).unwrap() * h + j][side].as_slice();
                    self.bound(gcn, z[(m, j)], m, [-1.0, 1.0][side], list)
                })
            })
            .collect();
        let place = |n: u32| nodes.binary_search(&n).unwrap();
        let iteration = Iteration { w1: &w1, w2: &w2, z: &z, logits: &logits, bounds: &bounds, place: &place };
        let parts: Vec<_> =
            batch.par_iter().map(|&t| self.target(gcn, &iteration, t, 1.0 / batch.len() as f64)).collect();
        let mut by_bounds = vec![[0.0; 2]; bounds.len()];
        for (value, part) in parts {
            loss += value;
            let Some((rows, target)) = part else { continue };
            gradient.first += target.first;
            gradient.second += target.second;
            gradient.second_bias += target.second_bias;
            for (at, [r, s, v]) in rows {
                by_bounds[at][0] += r;
                by_bounds[at][1] += s;
                by_z[(nodes[at / h] as usize, at % h)] += v;
            }
        }
        for (at, by) in by_bounds.iter().enumerate() {
            for side in 0..2 {
                by_z[(nodes[at / h] as usize, at % h)] += by[side];
                bounds[at][side].1.iter().for_each(|&(d, change)| gradient.first[(d, at % h)] += by[side] * change);
            }
        }
        gradient.first_bias = DMatrix::from_fn(1, h, |_, j| by_z.column(j).sum());
        gradient.first += self.attributes.tr_mul(&pass(&one.passing, &by_z, true));
        for (weight, by) in [(&w1, &mut gradient.first), (&w2, &mut gradient.second)] {
            loss += 0.5 * self.settings.weight_decay * weight.norm_squared();
            *by += weight * self.settings.weight_decay;
        }
        (loss, gradient)
    }

    /// One target: its part of the loss, and the gradient by the bounds and by `z` (rows of the batch) and by the
    /// weights.
    #[allow(clippy::type_complexity)]
    fn target(
        &self,
        gcn: &Network,
        iteration: &Iteration,
        target: u32,
        share: f64,
    ) -> (f64, Option<(Vec<(usize, [f64; 3])>, Gradient)>) {
        let Iteration { w1, w2, z, logits, bounds, place } = *iteration;
        let (h, classes) = (w1.ncols(), w2.ncols());
        let mut slice = Slice::default();
        slice.cut(gcn, 3, target as usize);
        let labelled = self.split.labelled.binary_search(&target).is_ok();
        let class = if labelled {
            self.graph.label(target as usize).unwrap() as usize
        } else {
            let row = logits.row(target as usize);
            (1..classes).fold(0, |best, k| if row[k] > row[best] { k } else { best })
        };
        let (v2, v1) = (slice.nodes(2), slice.nodes(1));
        let reached: Vec<(usize, f64)> = slice.passing(2).single_row(0).collect();
        let mut a1 = DMatrix::zeros(v2.len(), v1.len());
        (0..v2.len()).for_each(|m| slice.passing(1).single_row(m).for_each(|(n, a)| a1[(m, n)] = a));
        let x = DMatrix::from_fn(v1.len(), w1.nrows(), |n, d| self.attributes[(v1[n] as usize, d)]);
        let signs = x.map(|x| 1.0 - 2.0 * x);
        let coefficient = |m: usize, a: f64, j: usize, k: usize| (m, a * (w2[(j, class)] - w2[(j, k)]));
        let mut tapes = Vec::new();
        let mut margins = vec![f64::INFINITY; classes];
        for k in (0..classes).filter(|&k| k != class) {
            let mut g = {
                let bias = gcn.layers()[1].bias.values();
                bias[class] - bias[k]
            };
            let mut slopes = DMatrix::zeros(v2.len(), h);
            for &(m, a) in &reached {
                for j in 0..h {
                    let at = place(v2[m]) * h + j;
                    let (r, s) = (bounds[at][0].0, bounds[at][1].0);
                    let (_, c) = coefficient(m, a, j, k);
                    let slope = if s <= 0.0 {
                        0.0
                    } else if r >= 0.0 {
                        c
                    } else {
                        c * s / (s - r)
                    };
                    if s > 0.0 && r < 0.0 {
                        g -= c.min(0.0) * r * s / (s - r);
                    }
                    slopes[(m, j)] = slope;
                    g += slope * z[(v2[m] as usize, j)];
                }
            }
            let u = a1.tr_mul(&slopes);
            let delta = -(&u * w1.transpose()).component_mul(&signs);
            let mut pool = Vec::new();
            for n in 0..v1.len() {
                let row = (0..w1.nrows()).map(|d| (delta[(n, d)].max(0.0), d, n as f64)).collect();
                pool.extend(top(row, self.budget.local(v1[n] as usize)));
            }
            let kept = top(pool, self.budget.global());
            g -= kept.iter().map(|k| k.0).sum::<f64>();
            margins[k] = g;
            tapes.push((k, slopes, u, kept));
        }
        let margin = if labelled { self.settings.margin_labelled } else { self.settings.margin_unlabelled };
        let (value, seeds) = hinge(&margins, class, margin);
        let weight = share * self.settings.hinge_weight;
        if seeds.iter().all(|&s| s == 0.0) {
            return (weight * value, None);
        }
        let mut rows: Vec<(usize, [f64; 3])> =
            (0..v2.len() * h).map(|at| (place(v2[at / h]) * h + at % h, [0.0; 3])).collect();
        let mut gradient = Gradient {
            first: DMatrix::zeros(w1.nrows(), h),
            first_bias: DMatrix::zeros(1, h),
            second: DMatrix::zeros(h, classes),
            second_bias: DMatrix::zeros(1, classes),
        };
        for (k, slopes, u, kept) in tapes {
            let seed = weight * seeds[k];
            if seed == 0.0 {
                continue;
            }
            // ∂g/∂Δ is −1 at the selected entries: dense products, as automatic differentiation would do them.
            let mut by_delta = DMatrix::zeros(v1.len(), w1.nrows());
            for (loss, d, n) in kept {
                if loss > 0.0 {
                    by_delta[(n as usize, d)] = seed * signs[(n as usize, d)];
                }
            }
            gradient.first += by_delta.tr_mul(&u);
            let by_slopes = &a1 * (&by_delta * w1);
            gradient.second_bias[(0, class)] += seed;
            gradient.second_bias[(0, k)] -= seed;
            for &(m, a) in &reached {
                for j in 0..h {
                    let ([r, s], (_, c)) = ([0, 1].map(|i| bounds[place(v2[m]) * h + j][i].0), coefficient(m, a, j, k));
                    let z = z[(v2[m] as usize, j)];
                    let by_slope = by_slopes[(m, j)] + seed * z;
                    rows[m * h + j].1[2] += seed * slopes[(m, j)];
                    let by_c = if s <= 0.0 {
                        0.0
                    } else if r >= 0.0 {
                        by_slope
                    } else {
                        let (omega, span, low) = (s / (s - r), s - r, c.min(0.0));
                        let by_omega = c * by_slope - low * r * seed;
                        rows[m * h + j].1[0] += by_omega * s / (span * span) - low * omega * seed;
                        rows[m * h + j].1[1] -= by_omega * r / (span * span);
                        omega * by_slope - if c < 0.0 { r * omega * seed } else { 0.0 }
                    };
                    gradient.second[(j, class)] += a * by_c;
                    gradient.second[(j, k)] -= a * by_c;
                }
            }
        }
        (weight * value, Some((rows, gradient)))
    }
}

/// The largest difference between both gradients, relative to the largest entry.
fn difference(ours: &gcnproof_train::gradient::Gradient, theirs: &Gradient) -> f64 {
    let pairs = [
        (&ours.weight[0], &theirs.first),
        (&ours.bias[0], &theirs.first_bias),
        (&ours.weight[1], &theirs.second),
        (&ours.bias[1], &theirs.second_bias),
    ];
    let mut worst: f64 = 0.0;
    for (ours, theirs) in pairs {
        let width = theirs.ncols();
        let largest = ours.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        for (at, x) in ours.iter().enumerate() {
            worst = worst.max((x - theirs[(at / width, at % width)]).abs() / largest);
        }
    }
    worst
}

fn main() {
    let folder = std::env::var_os("GCNPROOF_DATA").map(PathBuf::from);
    let path = folder.map(|f| f.join("data").join("cora_ml.npz")).filter(|p| p.exists());
    if path.is_none() {
        println!("SKIPPED cora_ml: GCNPROOF_DATA names no folder with data/cora_ml.npz; Cora is measured instead");
    }
    let path = path.unwrap_or_else(|| "../fixtures/cora.npz".into());
    let graph = Graph::from_file(gcnproof_files::read_graph(&path, &Default::default()).expect("the graph reads"));
    let budget = Budget::uniform(&graph, 12, graph.attribute_count() / 100);
    let settings = Settings { epochs: 60, ..Settings::new(Loss::RhU, 1) };
    let split = Split::draw(&graph, Share::Percent(10.0), 1).expect("the graph has labels");
    // A network on its way: 15 iterations of RH, 60 of RH-U.
    let mut trainer =
        Trainer::new(&graph, &budget, &split, settings.clone(), &[Operator::Gcn]).expect("it can be trained");
    while trainer.step(false).expect("it trains").is_some() {}
    let gcn = trainer.model();
    let all: Vec<u32> = (0..graph.node_count() as u32).collect();
    let batch = |i: u64| SeededRandom::new(i).sample(&all, settings.batch);
    let objective = Objective::new(&graph, &gcn, &budget, &split.labelled, settings.terms());
    let attributes = DMatrix::from_fn(graph.node_count(), graph.attribute_count(), |n, d| {
        f64::from(u8::from(graph.attributes().contains(n, d as u32)))
    });
    let direct = Direct { graph: &graph, budget: &budget, split: &split, settings: &settings, attributes };
    let (mut ours, mut theirs) = (f64::INFINITY, f64::INFINITY);
    for i in 0..5 {
        let start = Instant::now();
        let (loss, gradient) = direct.iteration(&gcn, &batch(i));
        theirs = theirs.min(start.elapsed().as_secs_f64());
        for _ in 0..8 {
            let start = Instant::now();
            let (report, found) = objective.evaluate(&gcn, Loss::RhU, &batch(i), None, false);
            ours = ours.min(start.elapsed().as_secs_f64());
            assert!((report.loss - loss).abs() < 1e-9 * loss, "loss {} {loss}", report.loss);
            assert!(difference(&found, &gradient) < 1e-9, "gradient: {:.1e}", difference(&found, &gradient));
        }
    }
    println!(
        "{}: one iteration of RH-U (batch of {}, Q = 12, q = 1 %), losses and gradients equal: direct {:.0} ms, ours {:.1} ms, ratio {:.0}",
        path.display(),
        settings.batch,
        1e3 * theirs,
        1e3 * ours,
        theirs / ours
    );
}
