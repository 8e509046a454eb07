//! An independent exact brute force (own arithmetic on big integers, whole graph, no slices) against the certifier, on
//! tiny nets with nasty numbers: overflow, underflow, cancellation, worst cases a rounding error away from zero.
//! `GCNPROOF_COUNT` and `GCNPROOF_FROM` choose the seeds.
#![allow(missing_docs, clippy::needless_range_loop, clippy::manual_is_multiple_of, clippy::neg_cmp_op_on_partial_ord)]

mod common;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use common::{graph, model};
use dashu_int::IBig;
use gcnproof::budget::{Budget, Direction};
use gcnproof::certifier::{Bound, Certifier, Effort, Workspace};
use gcnproof::graph::Graph;
use gcnproof::model::{Gcn, MessagePassing};
use gcnproof::radius::radii;
use gcnproof::search::tree::Limits;
use gcnproof::verdict::{Reason, Verdict};
use gcnproof_files::{DenseMatrix, SparseMatrix};
use gcnproof_verify::random::Stream;

// ---------------------------------------------------------------- exact numbers

/// `m · 2^e`.
#[derive(Clone, Debug)]
struct X(IBig, i64);

fn x(v: f64) -> X {
    assert!(v.is_finite());
    if v == 0.0 {
        return X(IBig::ZERO, 0);
    }
    let bits = v.to_bits();
    let (e, f) = (((bits >> 52) & 2047) as i64, (bits & ((1u64 << 52) - 1)) as i64);
    let (mut m, mut e) = if e == 0 { (f, -1074) } else { (f + (1i64 << 52), e - 1075) };
    let tz = m.trailing_zeros();
    m >>= tz;
    e += tz as i64;
    X(IBig::from(if v < 0.0 { -m } else { m }), e)
}

impl X {
    fn add(&self, o: &X) -> X {
        if self.0 == IBig::ZERO {
            return o.clone();
        }
        if o.0 == IBig::ZERO {
            return self.clone();
        }
        let e = self.1.min(o.1);
        let m = (&self.0 << (self.1 - e) as usize) + (&o.0 << (o.1 - e) as usize);
        if m == IBig::ZERO { X(m, 0) } else { X(m, e) }
    }
    fn mul(&self, o: &X) -> X {
        let m = &self.0 * &o.0;
        if m == IBig::ZERO { X(m, 0) } else { X(m, self.1 + o.1) }
    }
    fn neg(&self) -> X {
        X(-self.0.clone(), self.1)
    }
    fn sub(&self, o: &X) -> X {
        self.add(&o.neg())
    }
    fn sign(&self) -> Ordering {
        self.0.cmp(&IBig::ZERO)
    }
    fn relu(&self) -> X {
        if self.sign() == Ordering::Greater { self.clone() } else { X(IBig::ZERO, 0) }
    }
    fn cmp(&self, o: &X) -> Ordering {
        self.sub(o).sign()
    }
    fn rough(&self) -> f64 {
        // for messages only
        let bits = format!("{:b}", if self.0 < IBig::ZERO { -self.0.clone() } else { self.0.clone() });
        let keep = bits.len().min(60);
        let top = u64::from_str_radix(&bits[..keep], 2).unwrap_or(0) as f64;
        let p = self.1 + (bits.len() - keep) as i64;
        let v = top * 2f64.powi((p / 2).clamp(-2000, 2000) as i32) * 2f64.powi((p - p / 2).clamp(-2000, 2000) as i32);
        if self.0 < IBig::ZERO { -v } else { v }
    }
}

/// Is the float `v` (possibly infinite) at most the exact `t`?
fn below(v: f64, t: &X) -> bool {
    if v == f64::NEG_INFINITY {
        true
    } else if v == f64::INFINITY {
        false
    } else {
        x(v).cmp(t) != Ordering::Greater
    }
}

fn above(v: f64, t: &X) -> bool {
    if v == f64::INFINITY {
        true
    } else if v == f64::NEG_INFINITY {
        false
    } else {
        x(v).cmp(t) != Ordering::Less
    }
}

// ---------------------------------------------------------------- problems

struct Net {
    graph: Graph,
    gcn: Gcn,
    budget: Budget,
    style: usize,
}

const STYLES: usize = 10;

fn number(r: &mut Stream, style: usize) -> f64 {
    let sign = if r.chance(50) { 1.0 } else { -1.0 };
    let small = |r: &mut Stream| r.below(9) as f64 / 4.0 - 1.0;
    match style {
        // dyadic with ties and -0.0
        0 => match r.below(6) {
            0 => -0.0,
            1 => 0.0,
            _ => small(r),
        },
        // plain
        1 => r.real(),
        // cancellation at 1e8: exactly representable, small remainder
        2 => match r.below(3) {
            0 => sign * 1e8,
            1 => sign * (1e8 + small(r)),
            _ => r.real(),
        },
        // cancellation beyond f64
        3 => match r.below(4) {
            0 => sign * 1e16,
            1 => sign * (1e16 + 2.0),
            2 => sign,
            _ => r.real() * 1e-17,
        },
        // huge and small
        4 => sign * [1e150, 1e-150, 1.0, 0.5, 1e-17][r.below(5)],
        5 => sign * [1e300, 1e-300, 1.0, 1e-8, 3e-308][r.below(5)],
        // subnormals
        6 => sign * [f64::from_bits(1), f64::from_bits(3), 2.3e-308, 1e-310, 1.0, 0.25][r.below(6)],
        // the end of the range
        7 => sign * [f64::MAX, 1e308, 1.0, 0.5, 1e-308, 9e307][r.below(6)],
        // anything at all
        8 => loop {
            let v = f64::from_bits(r.bits());
            if v.is_finite() {
                break v;
            }
        },
        // mixture of small and awkward
        _ => match r.below(8) {
            0 => sign * 1e16,
            1 => sign * 1e-300,
            2 => sign * f64::from_bits(1),
            3 => 0.0,
            4 => sign * 1e200,
            _ => small(r),
        },
    }
}

fn net(seed: u64) -> Net {
    let mut r = Stream::new(seed.wrapping_mul(0x1234_5678_9abc_def1) ^ 0x5555);
    let r = &mut r;
    let style = r.below(STYLES);
    let depth = 2 + r.below(4);
    let nodes = 1 + r.below(3);
    let dimension = 1 + r.below(5);
    let mut adjacency = vec![Vec::new(); nodes];
    for i in 0..nodes {
        for j in i..nodes {
            if r.chance(if i == j { 10 } else { 60 }) {
                adjacency[i].push(j as u32);
                if i != j {
                    adjacency[j].push(i as u32);
                }
            }
        }
    }
    adjacency.iter_mut().for_each(|row| row.sort_unstable());
    let attributes = (0..nodes).map(|_| (0..dimension as u32).filter(|_| r.chance(40)).collect()).collect();
    let graph = graph(adjacency, attributes, dimension);
    let classes = 2 + r.below(2);
    let mut widths = vec![dimension];
    widths.extend((2..depth).map(|l| 1 + r.below(if l == 2 { 7 } else { 3 })));
    widths.push(classes);
    // One style per layer, or another one now and then.
    let styles: Vec<usize> =
        (1..depth).map(|_| if r.chance(60) { style } else { [0, 1, style, r.below(STYLES)][r.below(4)] }).collect();
    let mut layers = Vec::new();
    for (l, pair) in widths.windows(2).enumerate() {
        let values: Vec<f64> = (0..pair[0] * pair[1]).map(|_| number(r, styles[l])).collect();
        let bias = (0..pair[1])
            .map(|_| match r.below(4) {
                0 => 0.0,
                1 => number(r, 0),
                _ => number(r, styles[l]),
            })
            .collect();
        layers.push((DenseMatrix { rows: pair[0], columns: pair[1], values }, bias));
    }
    let rules: Vec<MessagePassing> = (1..depth)
        .map(|_| match r.below(6) {
            0 => MessagePassing::Identity,
            1 => MessagePassing::SumWithSelf,
            2 => MessagePassing::Gcn,
            3 => MessagePassing::Mean,
            _ => {
                let style = if r.chance(50) { 0 } else { style };
                let mut matrix =
                    SparseMatrix { rows: nodes, columns: nodes, offsets: vec![0], indices: vec![], values: vec![] };
                for _ in 0..nodes {
                    for j in 0..nodes {
                        if r.chance(60) {
                            let value = number(r, style);
                            if value != 0.0 {
                                matrix.indices.push(j as u32);
                                matrix.values.push(value);
                            }
                        }
                    }
                    matrix.offsets.push(matrix.indices.len());
                }
                MessagePassing::Matrix(Arc::new(matrix))
            }
        })
        .collect();
    let gcn = Gcn::new(model(layers), &rules, &graph).unwrap();
    let local: Vec<i64> = (0..nodes).map(|_| r.below(dimension + 2) as i64).collect();
    let mut global = [0, 1, 1, 2, 2, 3, usize::MAX][r.below(7)];
    if global == usize::MAX && nodes * dimension > 6 {
        global = 2;
    }
    let direction = [Direction::Both, Direction::Both, Direction::Add, Direction::Remove][r.below(4)];
    let mut budget = Budget::per_node(&graph, global, &local).unwrap().with_direction(direction);
    if r.chance(15) {
        budget = budget.freeze_attributes(&graph, &[r.below(dimension) as i64]).unwrap();
    }
    Net { graph, gcn, budget, style }
}

// ---------------------------------------------------------------- brute force

type Flips = Vec<(usize, usize)>;

fn admissible(net: &Net) -> Vec<Flips> {
    let (n, d) = (net.graph.node_count(), net.graph.attribute_count());
    let mut sets: Vec<Flips> = vec![vec![]];
    for i in 0..n {
        for j in 0..d {
            let present = net.graph.attributes().row(i).contains(&(j as u32));
            if net.budget.is_frozen(j)
                || (present && net.budget.direction() == Direction::Add)
                || (!present && net.budget.direction() == Direction::Remove)
            {
                continue;
            }
            let more: Vec<Flips> = sets
                .iter()
                .filter(|s| {
                    s.len() < net.budget.global()
                        && s.iter().filter(|f| f.0 == i).count() < net.budget.locals()[i] as usize
                })
                .map(|s| {
                    let mut s = s.clone();
                    s.push((i, j));
                    s
                })
                .collect();
            sets.extend(more);
        }
    }
    sets
}

/// Exact pre-activations of representations 2 … L of the whole graph.
fn evaluate(net: &Net, flips: &Flips) -> Vec<Vec<Vec<X>>> {
    let (n, d) = (net.graph.node_count(), net.graph.attribute_count());
    let mut h: Vec<Vec<X>> = (0..n)
        .map(|i| {
            (0..d)
                .map(|j| {
                    let on = net.graph.attributes().row(i).contains(&(j as u32)) != flips.contains(&(i, j));
                    x(f64::from(u8::from(on)))
                })
                .collect()
        })
        .collect();
    let mut all = Vec::new();
    for layer in net.gcn.layers() {
        let width = layer.weight.columns;
        let sent: Vec<Vec<X>> = h
            .iter()
            .map(|row| {
                (0..width)
                    .map(|j| {
                        row.iter()
                            .enumerate()
                            .fold(x(0.0), |t, (i, v)| t.add(&v.mul(&x(layer.weight.values[i * width + j]))))
                    })
                    .collect()
            })
            .collect();
        let next: Vec<Vec<X>> = (0..n)
            .map(|m| {
                let (columns, values) = layer.passing.row(m);
                (0..width)
                    .map(|j| {
                        columns
                            .iter()
                            .zip(values)
                            .fold(x(layer.bias[j]), |t, (&c, &a)| t.add(&sent[c as usize][j].mul(&x(a))))
                    })
                    .collect()
            })
            .collect();
        h = next.iter().map(|row| row.iter().map(X::relu).collect()).collect();
        all.push(next);
    }
    all
}

#[derive(Default)]
struct Tally {
    counts: BTreeMap<(usize, &'static str), usize>,
    failures: Vec<String>,
    notes: Vec<String>,
    nan_upper: usize,
}

fn check(seed: u64, net: Net, workspace: &mut Workspace, tally: &mut Tally) {
    let sets = admissible(&net);
    if sets.len() > 400 {
        return;
    }
    let results: Vec<Vec<Vec<Vec<X>>>> = sets.iter().map(|s| evaluate(&net, s)).collect();
    let n = net.graph.node_count();
    let last = net.gcn.layers().len() - 1;
    let classes = net.gcn.class_count();
    let var = |name: &str, default: f64| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default);
    let nodes = var("GCNPROOF_TREE", 1000.0) as usize;
    let few = (seed % 7) as usize;
    let gap = [0.0, 1e-10, 1e-12][(seed % 3) as usize];
    let limits = |nodes| Limits { nodes, ..Limits::default() };
    let efforts = [
        (Bound::Best, Effort::Minimise { limits: limits(nodes), gap }),
        (Bound::Paper, Effort::Minimise { limits: limits(few), gap }),
        (Bound::Best, Effort::Complete(limits(nodes))),
        (Bound::Anchored, Effort::Complete(limits(few))),
        (Bound::Paper, Effort::Optimal),
    ];
    for (bound, effort) in efforts {
        let certifier = Certifier::new(&net.graph, &net.gcn, net.budget.clone(), bound).with_effort(effort);
        let tag = format!("seed {seed} style {} {bound:?} depth {}", net.style, net.gcn.depth());
        // Activation bounds.
        if bound == Bound::Best {
            for (l, b) in certifier.activation_bounds().iter().enumerate() {
                for m in 0..n {
                    for j in 0..b.width {
                        let (r, s) = (b.lower(m)[j], b.upper(m)[j]);
                        for (result, set) in results.iter().zip(&sets) {
                            let z = &result[l][m][j];
                            if r.is_nan() || s.is_nan() || !below(r, z) || !above(s, z) {
                                tally.failures.push(format!(
                                    "{tag}: layer {} node {m} unit {j}: {} outside [{r:e}, {s:e}] for {set:?}",
                                    l + 2,
                                    z.rough()
                                ));
                                break;
                            }
                        }
                    }
                }
            }
            for (l, rep) in certifier.unperturbed().iter().enumerate() {
                for m in 0..n {
                    for j in 0..rep.width {
                        let e = rep.entry(m, j);
                        let z = &results[0][l][m][j];
                        let (lo, hi) = (e.lower(), e.upper());
                        if (!lo.is_nan() && !below(lo, z)) || (!hi.is_nan() && !above(hi, z)) {
                            tally.failures.push(format!("{tag}: forward layer {} {e:?} {}", l + 2, z.rough()));
                        }
                    }
                }
            }
        }
        for t in 0..n {
            let started = std::time::Instant::now();
            // Any class as the reference now and then, as with --labels.
            let result = if seed % 4 == 1 {
                certifier.certify_class(t, (seed / 4) as usize % classes, certifier.predicted(t), workspace)
            } else {
                certifier.certify(t, workspace)
            };
            if started.elapsed().as_secs_f64() > 20.0 {
                tally.notes.push(format!("{tag} node {t} {effort:?}: {:?} {result:?}", started.elapsed()));
            }
            if seed % 8 == 0 {
                let fresh = certifier.certify(t, &mut Workspace::default());
                if format!("{fresh:?}") != format!("{result:?}") {
                    tally.failures.push(format!("{tag} node {t}: NOT REPRODUCIBLE {result:?} {fresh:?}"));
                }
            }
            let limited = result.search_nodes >= if matches!(effort, Effort::Optimal) { 1 } else { nodes.min(few) };
            let limited = limited && bound != Bound::Best || result.search_nodes >= nodes;
            let logits = &results[0][last][t];
            let predicted =
                (1..classes).fold(0, |b, c| if logits[c].cmp(&logits[b]) == Ordering::Greater { c } else { b });
            if predicted != result.predicted {
                tally.failures.push(format!("{tag} node {t}: predicted {} is {predicted}", result.predicted));
            }
            let mut positive = true;
            for margin in &result.margins {
                let worst = results
                    .iter()
                    .map(|r| r[last][t][result.reference].sub(&r[last][t][margin.class]))
                    .min_by(|a, b| a.cmp(b))
                    .unwrap();
                positive &= worst.sign() == Ordering::Greater;
                let exact_style = matches!(net.style, 200 | 201);
                if matches!(effort, Effort::Minimise { .. }) && net.gcn.depth() > 2 && !limited && exact_style {
                    let wide = margin.upper - margin.lower;
                    let size = 1.0 + worst.rough().abs();
                    *tally.counts.entry((net.style, "minimised")).or_default() += 1;
                    if !(wide <= 1e-9 * size) {
                        *tally.counts.entry((net.style, "NOT TIGHT")).or_default() += 1;
                        tally.notes.push(format!("{tag} node {t} {effort:?}: {margin:?} truth {:e}", worst.rough()));
                    }
                }
                if margin.lower.is_nan() || !below(margin.lower, &worst) {
                    tally.failures.push(format!("{tag} node {t}: {margin:?} above the worst case {:e}", worst.rough()));
                }
                if margin.upper.is_nan() {
                    tally.nan_upper += 1;
                } else if !above(margin.upper, &worst) {
                    tally.failures.push(format!("{tag} node {t}: {margin:?} below the worst case {:e}", worst.rough()));
                }
            }
            for (name, claim) in [("paper", result.paper_certifies), ("anchored", result.anchored_certifies)] {
                if claim == Some(true) && !positive {
                    tally.failures.push(format!("{tag} node {t}: {name} certifies falsely"));
                }
            }
            match result.verdict {
                Verdict::Robust if !positive => {
                    tally.failures.push(format!("{tag} node {t}: FALSE ROBUST {result:?}"));
                }
                Verdict::NonRobust => {
                    let mut flips: Flips =
                        result.witness.iter().map(|f| (f.node as usize, f.attribute as usize)).collect();
                    flips.sort_unstable();
                    match sets.iter().position(|s| *s == flips) {
                        None => tally.failures.push(format!("{tag} node {t}: INADMISSIBLE {result:?}")),
                        Some(at) => {
                            let z = &results[at][last][t];
                            let least = (0..classes)
                                .filter(|&c| c != result.reference)
                                .map(|c| z[result.reference].sub(&z[c]))
                                .min_by(|a, b| a.cmp(b))
                                .unwrap();
                            let want = if result.reason == Reason::Tie { Ordering::Equal } else { Ordering::Less };
                            if least.sign() == Ordering::Greater
                                || (want == Ordering::Less && least.sign() != Ordering::Less)
                            {
                                tally.failures.push(format!("{tag} node {t}: FALSE WITNESS {result:?}"));
                            }
                        }
                    }
                }
                _ => {}
            }
            if matches!(effort, Effort::Complete(_)) && result.verdict == Verdict::Undecided && !limited {
                *tally.counts.entry((net.style, "UNDECIDED without a limit")).or_default() += 1;
                if tally.notes.len() < 200 {
                    tally.notes.push(format!("{tag} node {t}: undecided, truth {positive} {result:?}"));
                }
            }
            if result.reason == Reason::Tie
                && let Some(at) = sets.iter().position(|s| {
                    *s == result.witness.iter().map(|f| (f.node as usize, f.attribute as usize)).collect::<Flips>()
                })
            {
                let z = &results[at][last][t];
                if (0..classes).all(|c| c == result.reference || z[result.reference].cmp(&z[c]) != Ordering::Equal) {
                    *tally.counts.entry((net.style, "TIE that is none")).or_default() += 1;
                    tally.notes.push(format!("{tag} node {t} {effort:?}: tie that is none {result:?}"));
                }
            }
            *tally.counts.entry((net.style, if result.search_nodes > 1 { "trees" } else { "no tree" })).or_default() +=
                1;
            let name = match (result.verdict, positive) {
                (Verdict::Robust, _) => "robust",
                (Verdict::NonRobust, _) => "non-robust",
                (Verdict::Undecided, true) => "open, truly robust",
                (Verdict::Undecided, false) => "open, truly broken",
            };
            *tally.counts.entry((net.style, name)).or_default() += 1;
        }
    }
    // Radii.
    if seed % 20 == 0 {
        let limit = 3;
        let nodes: Vec<usize> = (0..n).collect();
        let certifier = Certifier::new(&net.graph, &net.gcn, net.budget.with_global(0), Bound::Best)
            .with_effort(Effort::Complete(limits(few)));
        let (radii, _) = radii(certifier, &nodes, limit, || false, |_, _| ());
        let full = Net {
            graph: net.graph.clone(),
            gcn: net.gcn.clone(),
            budget: net.budget.with_global(limit),
            style: net.style,
        };
        let sets = admissible(&full);
        if sets.len() > 400 {
            return;
        }
        let results: Vec<Vec<Vec<Vec<X>>>> = sets.iter().map(|s| evaluate(&full, s)).collect();
        for t in 0..n {
            let logits = &results[0][last][t];
            let y = (1..classes).fold(0, |b, c| if logits[c].cmp(&logits[b]) == Ordering::Greater { c } else { b });
            let truth = sets
                .iter()
                .zip(&results)
                .filter(|(_, r)| (0..classes).any(|c| c != y && r[last][t][y].cmp(&r[last][t][c]) != Ordering::Greater))
                .map(|(s, _)| s.len())
                .min();
            let r = &radii[&t];
            if r.certified.is_some_and(|q| truth.is_some_and(|k| q >= k)) {
                tally.failures.push(format!("seed {seed} node {t}: radius {r:?}, truth {truth:?}"));
            }
            if r.attacked.is_some_and(|q| truth.is_none_or(|k| q < k)) {
                tally.failures.push(format!("seed {seed} node {t}: radius {r:?}, truth {truth:?}"));
            }
        }
    }
}

/// `v · 2^p`, rounded once if it becomes subnormal.
fn shift(v: f64, p: i32) -> f64 {
    let mut v = v;
    let mut p = p;
    while p > 0 {
        let step = p.min(1000);
        v *= 2f64.powi(step);
        p -= step;
    }
    if p < 0 {
        // Down in one go where possible, so that nothing is rounded twice.
        if p < -1000 {
            v *= 2f64.powi(-500);
            p += 500;
        }
        v *= 2f64.powi(p.max(-1022));
    }
    v
}

/// An ordinary small net whose layers are scaled by powers of two that cancel in the logits: the verdicts are those of an
/// ordinary net, but the products in between lie at the ends of the range.
fn scaled_net(seed: u64) -> Net {
    let mut r = Stream::new(seed.wrapping_mul(0x9876_5432_1fed_cba9) ^ 0x77);
    let r = &mut r;
    let base = [0, 1, 2][r.below(3)];
    let depth = 2 + r.below(3);
    let nodes = 1 + r.below(3);
    let dimension = 1 + r.below(4);
    let attributes = (0..nodes).map(|_| (0..dimension as u32).filter(|_| r.chance(40)).collect()).collect();
    let graph = graph(vec![vec![]; nodes], attributes, dimension);
    let classes = 2 + r.below(2);
    let mut widths = vec![dimension];
    widths.extend((2..depth).map(|l| 1 + r.below(if l == 2 { 6 } else { 3 })));
    widths.push(classes);
    let (mut layers, mut rules) = (Vec::new(), Vec::new());
    let mut before = 0i32;
    for pair in widths.windows(2) {
        // Scale of A, of the result, and hence of W. Bad luck with the range is clamped away.
        let extreme = |r: &mut Stream| match r.below(6) {
            0 => -1060 + r.below(60) as i32,
            1 => 960 + r.below(50) as i32,
            2 => r.below(2000) as i32 - 1000,
            3 => r.below(80) as i32 - 40,
            _ => 0,
        };
        let a = extreme(r);
        let after = extreme(r).clamp(-1070, 1000);
        let w = (after - before - a).clamp(-1068, 1005);
        let after = before + a + w;
        let values = (0..pair[0] * pair[1]).map(|_| shift(number(r, base), w)).collect();
        let bias = (0..pair[1])
            .map(|_| {
                let b = shift(number(r, base), after.clamp(-1074, 1010));
                if b.is_finite() { b } else { 0.0 }
            })
            .collect();
        layers.push((DenseMatrix { rows: pair[0], columns: pair[1], values }, bias));
        let mut matrix =
            SparseMatrix { rows: nodes, columns: nodes, offsets: vec![0], indices: vec![], values: vec![] };
        for _ in 0..nodes {
            for j in 0..nodes {
                let value = shift(number(r, if base == 2 { 0 } else { base }), a);
                if r.chance(70) && value != 0.0 && value.is_finite() {
                    matrix.indices.push(j as u32);
                    matrix.values.push(value);
                }
            }
            matrix.offsets.push(matrix.indices.len());
        }
        rules.push(MessagePassing::Matrix(Arc::new(matrix)));
        before = after;
    }
    for (weight, bias) in &mut layers {
        for v in weight.values.iter_mut().chain(bias) {
            if !v.is_finite() {
                *v = 1.0;
            }
        }
    }
    let gcn = Gcn::new(model(layers), &rules, &graph).unwrap();
    let local: Vec<i64> = (0..nodes).map(|_| r.below(dimension + 2) as i64).collect();
    let budget = Budget::per_node(&graph, 1 + r.below(3), &local).unwrap();
    Net { graph, gcn, budget, style: 100 + base }
}

/// Plain numbers, deeper and wider, at least two flips: trees grow.
fn bushy(seed: u64) -> Net {
    let mut r = Stream::new(seed.wrapping_mul(0xabcd_1234_9abc_def1) ^ 0x99);
    let r = &mut r;
    let depth = 3 + r.below(3);
    let nodes = 1 + r.below(4);
    let dimension = 2 + r.below(7);
    let attributes = (0..nodes).map(|_| (0..dimension as u32).filter(|_| r.chance(40)).collect()).collect();
    let graph = graph(vec![vec![]; nodes], attributes, dimension);
    let classes = 2 + r.below(3);
    let mut widths = vec![dimension];
    widths.extend((2..depth).map(|l| 1 + r.below(if l == 2 { 9 } else { 5 })));
    widths.push(classes);
    let dyadic = r.chance(50);
    let coarse = |r: &mut Stream| r.below(9) as f64 / 4.0 - 1.0;
    let plain = |r: &mut Stream| if dyadic { coarse(r) } else { r.real() };
    let (mut layers, mut rules) = (Vec::new(), Vec::new());
    for pair in widths.windows(2) {
        let values = (0..pair[0] * pair[1]).map(|_| plain(r)).collect();
        let bias = (0..pair[1]).map(|_| plain(r)).collect();
        layers.push((DenseMatrix { rows: pair[0], columns: pair[1], values }, bias));
        let mut matrix =
            SparseMatrix { rows: nodes, columns: nodes, offsets: vec![0], indices: vec![], values: vec![] };
        for _ in 0..nodes {
            for j in 0..nodes {
                let value = plain(r);
                if r.chance(70) && value != 0.0 {
                    matrix.indices.push(j as u32);
                    matrix.values.push(value);
                }
            }
            matrix.offsets.push(matrix.indices.len());
        }
        rules.push(MessagePassing::Matrix(Arc::new(matrix)));
    }
    let gcn = Gcn::new(model(layers), &rules, &graph).unwrap();
    let local: Vec<i64> = (0..nodes).map(|_| r.below(dimension + 1) as i64).collect();
    let global = 2 + r.below(4);
    let direction = [Direction::Both, Direction::Both, Direction::Add, Direction::Remove][r.below(4)];
    let mut budget = Budget::per_node(&graph, global, &local).unwrap().with_direction(direction);
    if r.chance(15) {
        budget = budget.freeze_attributes(&graph, &[r.below(dimension) as i64]).unwrap();
    }
    Net { graph, gcn, budget, style: if dyadic { 200 } else { 201 } }
}

/// One hidden layer of integers whose sums lose a unit or two in f64: what looks worse may be better.
fn lossy(seed: u64) -> Net {
    let mut r = Stream::new(seed.wrapping_mul(0x1111_1234_9abc_def1) ^ 0x99);
    let r = &mut r;
    let dimension = 2 + r.below(3);
    let attributes = vec![(0..dimension as u32).filter(|_| r.chance(20)).collect()];
    let graph = graph(vec![vec![]], attributes, dimension);
    let width = 3 + r.below(5);
    let big = (1u64 << 53) as f64;
    let first = (0..dimension * width).map(|_| [0.0, 1.0, 2.0, big, 0.5, -1.0, 3.0][r.below(7)]).collect();
    let bias = (0..width).map(|_| [0.0, 0.0, 1.0, -1.0, big][r.below(5)]).collect();
    let second = (0..width).flat_map(|_| [[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [0.0, 0.5]][r.below(4)]).collect();
    let last = (0..2).map(|_| [0.0, 0.0, 1.0, 0.5, 2.0][r.below(5)]).collect();
    let layers = vec![
        (DenseMatrix { rows: dimension, columns: width, values: first }, bias),
        (DenseMatrix { rows: width, columns: 2, values: second }, last),
    ];
    let rules = [MessagePassing::Identity, MessagePassing::Identity];
    let gcn = Gcn::new(model(layers), &rules, &graph).unwrap();
    let budget = Budget::uniform(&graph, 1 + r.below(2), dimension);
    Net { graph, gcn, budget, style: 300 }
}

#[test]
fn lossy_sums() {
    run(lossy);
}

#[test]
fn bushy_trees() {
    run(bushy);
}

/// The last bias moved so that the worst case is a tie or a rounding error away from one.
#[test]
fn bushy_knife_edge() {
    run(|seed| edge(seed, bushy(seed)));
}

#[test]
fn exact_brute_force_on_nasty_numbers() {
    run(net);
}

#[test]
fn exact_brute_force_on_scaled_nets() {
    run(scaled_net);
}

/// Any of the above, its last bias moved so that the exact worst case against one class is a rounding error away from 0.
fn knife_edge(seed: u64) -> Net {
    edge(seed, if seed % 3 == 0 { scaled_net(seed) } else { net(seed) })
}

fn edge(seed: u64, mut net: Net) -> Net {
    let sets = admissible(&net);
    if sets.len() > 400 {
        return net;
    }
    let mut r = Stream::new(seed ^ 0x1357);
    let (t, last) = (r.below(net.graph.node_count()), net.gcn.layers().len() - 1);
    let results: Vec<Vec<X>> = sets.iter().map(|s| evaluate(&net, s)[last][t].clone()).collect();
    let classes = net.gcn.class_count();
    let y = (1..classes).fold(0, |b, c| if results[0][c].cmp(&results[0][b]) == Ordering::Greater { c } else { b });
    let c = (y + 1 + r.below(classes - 1)) % classes;
    let worst = results.iter().map(|z| z[y].sub(&z[c])).min_by(|a, b| a.cmp(b)).unwrap();
    let mut layers: Vec<(DenseMatrix, Vec<f64>)> =
        net.gcn.layers().iter().map(|l| (l.weight.clone(), l.bias.clone())).collect();
    let moved = layers[last].1[c] + worst.rough();
    let moved = (0..r.below(4)).fold(moved, |v, _| v.next_down());
    let moved = (0..r.below(3)).fold(moved, |v, _| v.next_up());
    if moved.is_finite() {
        layers[last].1[c] = moved;
    }
    let rules: Vec<MessagePassing> =
        net.gcn.layers().iter().map(|l| MessagePassing::Matrix(l.passing.clone())).collect();
    net.gcn = Gcn::new(model(layers), &rules, &net.graph).unwrap();
    net
}

#[test]
fn exact_brute_force_on_the_knife_edge() {
    run(knife_edge);
}

fn run(net: fn(u64) -> Net) {
    let count: u64 = std::env::var("GCNPROOF_COUNT").ok().and_then(|v| v.parse().ok()).unwrap_or(1_000);
    let from: u64 = std::env::var("GCNPROOF_FROM").ok().and_then(|v| v.parse().ok()).unwrap_or(0);
    let mut workspace = Workspace::default();
    let mut tally = Tally::default();
    let mut panics = Vec::new();
    for seed in from..from + count {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            check(seed, net(seed), &mut workspace, &mut tally);
        }));
        if outcome.is_err() {
            panics.push(seed);
            workspace = Workspace::default();
        }
    }
    for (key, count) in &tally.counts {
        println!("{key:?}: {count}");
    }
    println!("NaN uppers: {}; panics: {panics:?}; failures: {}", tally.nan_upper, tally.failures.len());
    for note in tally.notes.iter().take(40) {
        println!("note: {note}");
    }
    for failure in tally.failures.iter().take(60) {
        println!("{failure}");
    }
    assert!(tally.failures.is_empty() && panics.is_empty());
}

/// Dyadic numbers, exact in f64: the search finds a negative margin after a tie, and the reason stays "tie".
#[test]
fn a_tie_that_is_none() {
    let net = bushy(3159);
    let effort = Effort::Minimise { limits: Limits { nodes: 2_000, ..Limits::default() }, gap: 1e-9 };
    let certifier = Certifier::new(&net.graph, &net.gcn, net.budget.clone(), Bound::Best).with_effort(effort);
    let result = certifier.certify(0, &mut Workspace::default());
    assert!(result.reason != Reason::Tie || result.margins.iter().all(|m| m.upper >= 0.0), "{result:?}");
}

/// Any fixed flips, any assumptions, any multipliers: bounds of the branch and the mixed relaxation against the truth.
/// Prices of any size and sign, some of them what a flip changes, so that many lines touch; each unit with any share.
fn any_prices(
    graph: &Graph,
    gcn: &Gcn,
    slice: &gcnproof::slice::Slice,
    hidden: &gcnproof::hidden::Hidden,
    listed: &[gcnproof::selection::Flip],
    r: &mut Stream,
) -> gcnproof::envelope::Envelope {
    let mut envelope = gcnproof::envelope::Envelope::new(hidden.count());
    listed.iter().for_each(|&flip| envelope.list(flip));
    for at in 0..hidden.count() {
        let size = hidden.value[at].abs().max(hidden.upper[at].abs().min(hidden.lower[at].abs()));
        let price = |r: &mut Stream| match r.below(40) {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 | 3 => 1e-17 * size * r.real(),
            4..=9 => size * r.real(),
            10..=16 => 0.2 * size * r.real(),
            _ => 0.0,
        };
        let (every, node) = (price(r), envelope.nodes.iter().map(|_| price(r)).collect());
        let single = envelope.flips.iter().map(|flip| {
            let change = slice.position(flip.node).and_then(|n| {
                let entry = slice.reaching(n).find(|entry| entry.1 == at / hidden.width)?;
                let sign = if graph.attributes().contains(flip.node as usize, flip.attribute) { -1.0 } else { 1.0 };
                Some(sign * entry.2 * gcn.layers()[0].weight.get(flip.attribute as usize, at % hidden.width))
            });
            change.filter(|_| r.chance(50)).unwrap_or_else(|| price(r))
        });
        let single = single.collect();
        let share = [0.0, 1.0, r.real().abs(), 2.0, 1e-9, f64::NAN][r.below(6)];
        envelope.units[at] = gcnproof::envelope::Prices { share, every, node, single };
    }
    envelope
}

fn branch_check(seed: u64, net: Net, tally: &mut Tally) {
    use gcnproof::attribute::Attributes;
    use gcnproof::bounds::{LayerBounds, first_hidden_in_branch, propagate_in_slice};
    use gcnproof::budget::Restriction;
    use gcnproof::dual::{Backward, Located, Relaxed};
    use gcnproof::envelope::Left;
    use gcnproof::hidden::{Assumption, Hidden};
    use gcnproof::rounding::error_of;
    use gcnproof::selection::{Flip, Selection, Slopes};
    use gcnproof::slice::Slice;
    use gcnproof::witness::{Evaluator, Problem};
    let (gcn, graph, budget) = (&net.gcn, &net.graph, &net.budget);
    if gcn.depth() < 3 {
        return;
    }
    let sets = admissible(&net);
    if sets.len() > 400 || sets.len() < 2 {
        return;
    }
    let results: Vec<Vec<Vec<Vec<X>>>> = sets.iter().map(|s| evaluate(&net, s)).collect();
    let mut r = Stream::new(seed ^ 0x2468_ace0);
    let r = &mut r;
    let certifier = Certifier::new(graph, gcn, budget.clone(), Bound::Best);
    let attributes = Attributes::new(&gcn.layers()[0].weight, budget);
    let problem = Problem { graph, gcn, budget, attributes: &attributes, unperturbed: certifier.unperturbed() };
    let last = gcn.layers().len() - 1;
    let flip = |f: &(usize, usize)| Flip { node: f.0 as u32, attribute: f.1 as u32 };
    let mut selection = Selection::default();
    for t in 0..graph.node_count() {
        let mut slice = Slice::default();
        slice.cut(gcn, gcn.depth(), t);
        if slice.nodes(2).is_empty() || slice.nodes(1).is_empty() {
            continue;
        }
        let mut evaluator = Evaluator::default();
        evaluator.prepare(&slice);
        selection.forget();
        for _ in 0..6 {
            // A random admissible set is made, flips of another are spared.
            let made: Vec<Flip> =
                if r.chance(30) { vec![] } else { sets[r.below(sets.len())].iter().map(flip).collect() };
            let spared: Vec<Flip> = sets[r.below(sets.len())].iter().map(flip).filter(|f| !made.contains(f)).collect();
            let restriction = Restriction { made, spared };
            let inside: Vec<usize> = (0..sets.len())
                .filter(|&i| {
                    let set: Vec<Flip> = sets[i].iter().map(flip).collect();
                    restriction.made.iter().all(|f| set.contains(f))
                        && !restriction.spared.iter().any(|f| set.contains(f))
                })
                .collect();
            let _ = evaluator.logits(&problem, &slice, &restriction.made).count();
            let mut hidden = Hidden::default();
            hidden.load(&slice, &certifier.unperturbed()[0], &certifier.activation_bounds()[0]);
            hidden.anchor_at(&evaluator);
            let around = (&hidden.value[..], &hidden.error[..]);
            let (means, columns) = ((budget, &restriction), certifier.columns());
            let tighter = first_hidden_in_branch(graph, columns, means, &slice, around);
            for at in 0..hidden.count() {
                hidden.lower[at] = hidden.lower[at].max(tighter.lower[at]);
                hidden.upper[at] = hidden.upper[at].min(tighter.upper[at]);
            }
            hidden.cap = tighter.caps;
            if r.chance(70) {
                let listed: Vec<Flip> = sets.iter().flatten().map(flip).filter(|_| r.chance(20)).collect();
                let envelope = any_prices(graph, gcn, &slice, &hidden, &listed, r);
                let left = Left::new(&envelope, budget, &restriction);
                hidden.envelope = Some((Arc::new(envelope), left));
            }
            let mut local = vec![LayerBounds {
                width: hidden.width,
                lower: hidden.lower.clone(),
                upper: hidden.upper.clone(),
                caps: Vec::new(),
            }];
            for l in 2..gcn.depth() - 1 {
                let next = propagate_in_slice(&gcn.layers()[l - 1], &slice, l, &local[l - 2]);
                local.push(next);
            }
            for (k, b) in local.iter().enumerate() {
                for (m, &node) in slice.nodes(k + 2).iter().enumerate() {
                    for j in 0..b.width {
                        for &i in &inside {
                            let z = &results[i][k][node as usize][j];
                            if !below(b.lower(m)[j], z) || !above(b.upper(m)[j], z) {
                                tally.failures.push(format!("seed {seed} t {t} layer {} BRANCH BOUND", k + 2));
                            }
                        }
                    }
                }
            }
            // Assumptions that at least one perturbation satisfies, or (now and then) any.
            let guide = inside[r.below(inside.len())];
            for (m, &node) in slice.nodes(2).iter().enumerate() {
                for j in 0..hidden.width {
                    if r.chance(60) {
                        continue;
                    }
                    let sign = results[guide][0][node as usize][j].sign();
                    let active = if sign == Ordering::Equal { r.chance(50) } else { sign == Ordering::Greater };
                    hidden.assumption[m * hidden.width + j] =
                        if active { Assumption::Active } else { Assumption::Inactive };
                }
            }
            let satisfied: Vec<usize> = inside
                .iter()
                .copied()
                .filter(|&i| {
                    slice.nodes(2).iter().enumerate().all(|(m, &node)| {
                        (0..hidden.width).all(|j| {
                            let sign = results[i][0][node as usize][j].sign();
                            match hidden.assumption[m * hidden.width + j] {
                                Assumption::Free => true,
                                Assumption::Active => sign != Ordering::Less,
                                Assumption::Inactive => sign != Ordering::Greater,
                            }
                        })
                    })
                })
                .collect();
            let classes = gcn.class_count();
            let y = r.below(classes);
            let c = (y + 1 + r.below(classes - 1)) % classes;
            let omega: Vec<Vec<f64>> = (3..gcn.depth())
                .map(|l| (0..slice.nodes(l).len() * gcn.width(l)).map(|_| r.real().abs()).collect())
                .collect();
            let mut backward = Backward::default();
            backward.run_at(gcn, &slice, Located::Slice(&local), &[(y, 1.0), (c, -1.0)], &omega);
            let truth = satisfied
                .iter()
                .map(|&i| results[i][last][t][y].sub(&results[i][last][t][c]))
                .min_by(|a, b| a.cmp(b))
                .unwrap();
            for _ in 0..3 {
                let weights: Vec<f64> = (0..hidden.count())
                    .map(|_| match r.below(8) {
                        0 => 0.0,
                        1 => 1.0,
                        2 => r.real() * 10.0,
                        3 => -0.5,
                        4 => r.real().abs() * 1e-17,
                        5 => f64::NAN,
                        _ => r.real().abs(),
                    })
                    .collect();
                let mut relaxed = Relaxed::default();
                relaxed.mixed(&backward, &hidden, &weights);
                let mut slopes = Slopes::default();
                let width = hidden.width;
                let loss_error = relaxed.spread(&slice, width, attributes.norm(0), &mut slopes);
                let loss = selection.select(&problem.field(&restriction), &slice, &slopes);
                let all: usize = slice.nodes(1).iter().map(|&n| budget.local(n as usize)).sum();
                let mut total = relaxed.base;
                total.add(-loss);
                total.allow(all.min(budget.global()) as f64 * loss_error + error_of(selection.flips().len(), loss));
                let bound = total.close().lower();
                *tally.counts.entry((net.style, "branches")).or_default() += 1;
                if !bound.is_nan() && !below(bound, &truth) {
                    tally.failures.push(format!(
                        "seed {seed} style {} t {t} depth {}: BOUND {bound:e} truth {:e} {restriction:?}",
                        net.style,
                        gcn.depth(),
                        truth.rough()
                    ));
                }
                if !bound.is_nan() && bound.is_finite() {
                    *tally.counts.entry((net.style, "finite")).or_default() += 1;
                    if (truth.rough() - bound).abs() <= 1e-9 * (1.0 + bound.abs()) {
                        *tally.counts.entry((net.style, "tight")).or_default() += 1;
                    }
                }
            }
        }
    }
}

#[test]
fn any_branch_and_any_multipliers() {
    let count: u64 = std::env::var("GCNPROOF_COUNT").ok().and_then(|v| v.parse().ok()).unwrap_or(3_000);
    let mut tally = Tally::default();
    for seed in 0..count {
        let net = match seed % 5 {
            0 => bushy(seed),
            1 => net(seed),
            2 => scaled_net(seed),
            3 => knife_edge(seed),
            _ => lossy(seed),
        };
        branch_check(seed, net, &mut tally);
    }
    println!("{:?}", tally.counts);
    for failure in tally.failures.iter().take(30) {
        println!("{failure}");
    }
    assert!(tally.failures.is_empty());
}

// ---------------------------------------------------------------- proofs under the exact truth

/// The same net with the last bias of a class moved.
fn moved(net: &Net, class: usize, bias: f64) -> Net {
    let last = net.gcn.layers().len() - 1;
    let mut layers: Vec<(DenseMatrix, Vec<f64>)> =
        net.gcn.layers().iter().map(|l| (l.weight.clone(), l.bias.clone())).collect();
    layers[last].1[class] = bias;
    let rules: Vec<MessagePassing> =
        net.gcn.layers().iter().map(|l| MessagePassing::Matrix(l.passing.clone())).collect();
    let gcn = Gcn::new(model(layers), &rules, &net.graph).unwrap();
    Net { graph: net.graph.clone(), gcn, budget: net.budget.clone(), style: net.style }
}

/// Judges proofs about a net, in intervals or in exact numbers.
fn with_checker<T>(net: &Net, exact: bool, judge: impl FnOnce(&gcnproof_check::Checker) -> T) -> T {
    let matrices: Vec<_> = net.gcn.layers().iter().map(|layer| layer.passing.clone()).collect();
    let rules: Vec<MessagePassing> = matrices.iter().map(|matrix| MessagePassing::Matrix(matrix.clone())).collect();
    let convention = gcnproof_check::format::Convention::Predicted;
    let header = gcnproof::proof::header(("", ""), (&net.gcn, &rules), &net.budget, convention);
    let model = gcnproof::proof::model_file(&net.gcn, "");
    let statement = gcnproof_check::Statement::new(net.graph.file(), &model, &header, &matrices).unwrap();
    judge(&gcnproof_check::Checker::new(&statement, exact))
}

/// Changes something in one of the envelopes of a proof; false if it has none.
fn mutate(proof: &mut gcnproof_check::format::NodeProof, net: &Net, r: &mut Stream) -> bool {
    use gcnproof_check::format::{Claim, Envelope, Step, UnitPrices};
    let Claim::Robust(trees) = &mut proof.claim else { return false };
    let mut envelopes: Vec<(i32, &mut Envelope)> = trees
        .iter_mut()
        .flat_map(|tree| &mut tree.tree)
        .filter_map(|step| match step {
            Step::Leaf(leaf) => Some((leaf.exponent, &mut **leaf.envelope.as_mut()?)),
            _ => None,
        })
        .collect();
    if envelopes.is_empty() {
        return false;
    }
    let at = r.below(envelopes.len());
    let (exponent, envelope) = (envelopes[at].0, &mut *envelopes[at].1);
    let price = |r: &mut Stream, old: i64| match r.below(8) {
        0 => 0,
        1 => -old,
        2 => old + 1,
        3 => old - 1,
        4 => (old as f64 * 2.0 * r.real()) as i64,
        5 => old / 2,
        6 => r.below(200) as i64 - 100,
        _ => [1 << 53, -(1 << 53), old.saturating_mul(2).clamp(-(1 << 53), 1 << 53)][r.below(3)],
    };
    let unit = r.below(envelope.units.len().max(1));
    match r.below(9) {
        0 => envelope.exponent += [1, -1, 900 - envelope.exponent, -1074 - envelope.exponent][r.below(4)],
        1 if !envelope.flips.is_empty() => {
            // The prices of later flips move to the flip before.
            envelope.flips.remove(r.below(envelope.flips.len()));
            let count = envelope.flips.len();
            envelope.units.iter_mut().for_each(|unit| unit.5.truncate(count));
        }
        2 if !envelope.nodes.is_empty() => {
            envelope.nodes.remove(r.below(envelope.nodes.len()));
            let count = envelope.nodes.len();
            envelope.units.iter_mut().for_each(|unit| unit.4.truncate(count));
        }
        3 => {
            let flip = (r.below(net.graph.node_count()) as u32, r.below(net.graph.attribute_count()) as u32);
            envelope.flips.push(flip);
            envelope.flips.sort_unstable();
            envelope.flips.dedup();
        }
        _ if envelope.units.is_empty() => return false,
        4 => {
            let whole = (1i64 << -exponent.clamp(-50, 0)) as f64;
            envelope.units[unit].2 = [0, 1, whole as i64, (whole * r.real().abs()) as i64][r.below(4)];
        }
        5 => envelope.units[unit].3 = price(r, envelope.units[unit].3),
        6 => {
            let UnitPrices(.., of_nodes, _) = &mut envelope.units[unit];
            of_nodes.resize(envelope.nodes.len(), 0);
            if of_nodes.is_empty() {
                return false;
            }
            let at = r.below(of_nodes.len());
            of_nodes[at] = price(r, of_nodes[at]);
        }
        7 => {
            let UnitPrices(.., of_flips) = &mut envelope.units[unit];
            of_flips.resize(envelope.flips.len(), 0);
            if of_flips.is_empty() {
                return false;
            }
            let at = r.below(of_flips.len());
            of_flips[at] = price(r, of_flips[at]);
        }
        _ => {
            let units = &mut envelope.units;
            let other = r.below(units.len());
            let prices = (units[other].3, units[other].4.clone(), units[other].5.clone());
            (units[unit].3, units[unit].4, units[unit].5) = prices;
        }
    }
    true
}

/// A net whose exact worst case is a little above zero is proved robust. The same net with the last bias a little lower has a
/// worst case of at most zero, often zero itself: neither that proof nor any mutant of it may be accepted there.
fn proof_check(seed: u64, net: Net, workspace: &mut Workspace, tally: &mut Tally) {
    use gcnproof_check::format::{Claim, Line, Step};
    let sets = admissible(&net);
    let classes = net.gcn.class_count();
    if sets.len() > 300 || sets.len() < 2 || net.gcn.depth() < 3 || classes != 2 {
        return;
    }
    let mut r = Stream::new(seed ^ 0x0bad_cafe);
    let r = &mut r;
    let last = net.gcn.layers().len() - 1;
    let t = r.below(net.graph.node_count());
    let worst = sets.iter().map(|s| {
        let z = evaluate(&net, s)[last][t].clone();
        z[0].sub(&z[1])
    });
    let worst = worst.min_by(|a, b| a.cmp(b)).unwrap();
    let bias = net.gcn.layers()[last].bias[0];
    let size = worst.rough().abs() + bias.abs() + 1e-300;
    let goal = bias - worst.rough();
    let exact = |to: f64| worst.add(&x(to).sub(&x(bias))).sign();
    let (mut high, mut low) = (goal + size * [1e-14, 1e-9, 1e-4, 0.02, 0.1][r.below(5)], goal);
    if !high.is_finite() || !low.is_finite() {
        return;
    }
    for _ in 0..20 {
        high = if exact(high) == Ordering::Greater { high } else { high.next_up() };
        low = if exact(low) == Ordering::Greater { low.next_down() } else { low };
    }
    if exact(high) != Ordering::Greater || exact(low) == Ordering::Greater || !high.is_finite() || !low.is_finite() {
        return;
    }
    let (robust, broken) = (moved(&net, 0, high), moved(&net, 0, low));
    let effort = Effort::Complete(Limits { nodes: 200, ..Limits::default() });
    let certifier = Certifier::new(&robust.graph, &robust.gcn, robust.budget.clone(), Bound::Best)
        .with_effort(effort)
        .with_proofs();
    let result = certifier.certify_class(t, 0, 0, workspace);
    let fresh = certifier.certify_class(t, 0, 0, &mut Workspace::default());
    if format!("{result:?}") != format!("{fresh:?}") {
        tally.failures.push(format!("seed {seed} node {t}: NOT REPRODUCIBLE {result:?} {fresh:?}"));
    }
    let mut count = |what: &'static str| *tally.counts.entry((net.style, what)).or_default() += 1;
    let line = with_checker(&robust, false, |checker| gcnproof::proof::line(&result, checker));
    let Line::Node(proof) = line else { return count("unproved") };
    let Claim::Robust(trees) = &proof.claim else {
        return tally.failures.push(format!("seed {seed} node {t}: FALSE WITNESS {proof:?}"));
    };
    let steps = || trees.iter().flat_map(|tree| &tree.tree);
    let arched = steps().any(|step| matches!(step, Step::Leaf(leaf) if leaf.envelope.is_some()));
    count(if arched { "proved with envelopes" } else { "proved" });
    let mut mutants = vec![proof.clone()];
    for _ in 0..if arched { 40 } else { 0 } {
        let mut mutant = mutants[r.below(mutants.len().min(4))].clone();
        if mutate(&mut mutant, &net, r) {
            mutants.push(mutant);
        }
    }
    for exact in [false, true] {
        let accepted = with_checker(&broken, exact, |checker| {
            mutants.iter().filter(|proof| checker.check(proof).is_ok()).cloned().collect::<Vec<_>>()
        });
        if let Some(proof) = accepted.first() {
            tally.failures.push(format!("seed {seed} node {t}: FALSE PROOF ACCEPTED (exact: {exact}) {proof:?}"));
        }
    }
    let accepted = [false, true].map(|exact| {
        with_checker(&robust, exact, |checker| {
            mutants.iter().map(|proof| checker.check(proof).is_ok()).collect::<Vec<_>>()
        })
    });
    if accepted[0] != accepted[1] {
        tally.failures.push(format!("seed {seed} node {t}: INTERVALS AND EXACT NUMBERS DISAGREE {proof:?}"));
    }
    if !accepted[0][0] && arched {
        let why = with_checker(&robust, true, |checker| format!("{:?}", checker.check(&proof)));
        tally.failures.push(format!("seed {seed} node {t}: ITS OWN PROOF REJECTED {why} {result:?}"));
    }
    *tally.counts.entry((net.style, "mutants")).or_default() += mutants.len() - 1;
    *tally.counts.entry((net.style, "mutants accepted where robust")).or_default() +=
        accepted[0][1..].iter().filter(|yes| **yes).count();
}

/// `GCNPROOF_COUNT` seeds; proofs with envelopes and their mutants, judged where they must not hold.
#[test]
fn no_proof_and_no_mutant_of_it_holds_where_the_worst_case_is_not_positive() {
    let count: u64 = std::env::var("GCNPROOF_COUNT").ok().and_then(|v| v.parse().ok()).unwrap_or(1_500);
    let from: u64 = std::env::var("GCNPROOF_FROM").ok().and_then(|v| v.parse().ok()).unwrap_or(0);
    let (mut tally, mut workspace) = (Tally::default(), Workspace::default());
    for seed in from..from + count {
        let net = match seed % 6 {
            0..=2 => bushy(seed),
            3 => net(seed),
            4 => scaled_net(seed),
            _ => lossy(seed),
        };
        proof_check(seed, net, &mut workspace, &mut tally);
    }
    println!("{:?}", tally.counts);
    for failure in tally.failures.iter().take(10) {
        println!("{failure}");
    }
    assert!(tally.failures.is_empty());
    let sum = |what| tally.counts.iter().filter(|((_, name), _)| *name == what).map(|(_, n)| n).sum::<usize>();
    assert!(sum("proved with envelopes") > 5 && sum("mutants") > 100, "too few of them to mean anything");
}

/// `A` of an envelope, rounded, is not below what the formula gives in exact numbers, whatever the branch has fixed.
#[test]
fn what_prices_cost_is_rounded_up() {
    use gcnproof::budget::Restriction;
    use gcnproof::envelope::{Envelope, Left, Prices};
    use gcnproof::rounding::Enclosure;
    use gcnproof::selection::Flip;
    for seed in 0..30_000 {
        let mut r = Stream::new(seed);
        let r = &mut r;
        let graph = graph(vec![vec![]; 3], vec![vec![]; 3], 3);
        let local: Vec<i64> = (0..3).map(|_| r.below(4) as i64).collect();
        let global = [0, 1, 2, 5, (1 << 53) + 1, usize::MAX][r.below(6)];
        let budget = Budget::per_node(&graph, global, &local).unwrap();
        let all: Vec<Flip> = (0..9).map(|at| Flip { node: at / 3, attribute: at % 3 }).collect();
        let mut restriction = Restriction::default();
        for &flip in &all {
            if r.chance(15) {
                restriction.made.push(flip);
                if !restriction.admissible(&budget) {
                    restriction.made.pop();
                }
            } else if r.chance(15) {
                restriction.spared.push(flip);
            }
        }
        let mut envelope = Envelope::new(1);
        all.iter().filter(|_| r.chance(50)).for_each(|&flip| envelope.list(flip));
        let style = r.below(STYLES);
        let every = number(r, style);
        let node: Vec<f64> = envelope.nodes.iter().map(|_| number(r, style)).collect();
        let single: Vec<f64> = envelope.flips.iter().map(|_| number(r, style)).collect();
        let z = Enclosure { value: number(r, style), error: [0.0, number(r, style).abs()][r.below(2)] };
        let (mut on, mut off) = (x(z.value).add(&x(z.error)), x(0.0));
        let mut pay = |count: X, price: f64| {
            if price > 0.0 {
                on = on.add(&count.mul(&x(price)));
            } else {
                off = off.add(&count.mul(&x(-price)));
            }
        };
        let whole = |count: usize| X(IBig::from(count), 0);
        let left = restriction.global(&budget).unwrap();
        pay(whole(left), every);
        for (&n, &price) in envelope.nodes.iter().zip(&node) {
            pay(whole(restriction.local(&budget, n).unwrap().min(left)), price);
        }
        for (&flip, &price) in envelope.flips.iter().zip(&single) {
            if !restriction.fixes(flip) {
                pay(whole(1), price);
            }
        }
        let exact = if on.cmp(&off) == Ordering::Greater { on } else { off };
        let prices = Prices { share: 1.0, every, node, single };
        let base = Left::new(&envelope, &budget, &restriction).base(&prices, z);
        assert!(above(base, &exact), "seed {seed}: {base:e} below {:e}", exact.rough());
        let size = z.error + exact.rough().abs() + z.value.abs();
        assert!(
            style > 1 || base <= exact.rough() + 1e-9 * (1.0 + size),
            "seed {seed}: {base:e}, not {:e}",
            exact.rough()
        );
    }
}

// ---------------------------------------------------------------- decided to the end, and exact minima

/// A fraction with a power of two below.
fn fraction(text: &str) -> X {
    let (above, below) = text.split_once('/').unwrap_or((text, "1"));
    let below: IBig = below.parse().unwrap();
    let exponent = format!("{below:b}").len() as i64 - 1;
    assert_eq!(below, IBig::ONE << exponent as usize, "{text} is not dyadic");
    X(above.parse().unwrap(), -exponent)
}

/// Quantised weights and entries: integers, halves, tenths, powers of two, few different values, many zeros. Ties abound.
fn quantised(seed: u64) -> Net {
    let mut r = Stream::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x4242);
    let r = &mut r;
    let kind = r.below(5);
    let value = |r: &mut Stream| match kind {
        0 => r.below(5) as f64 - 2.0,
        1 => r.below(7) as f64 / 2.0 - 1.5,
        2 => (r.below(9) as f64 - 4.0) / 10.0,
        3 => [0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.25, 4.0][r.below(8)],
        _ => [0.0, 0.0, 1.0, -1.0, 0.1, -0.3][r.below(6)],
    };
    let depth = 2 + r.below(4);
    let nodes = 1 + r.below(3);
    let dimension = 1 + r.below(4);
    let mut adjacency = vec![Vec::new(); nodes];
    for i in 0..nodes {
        for j in i..nodes {
            if r.chance(if i == j { 20 } else { 50 }) {
                adjacency[i].push(j as u32);
                if i != j {
                    adjacency[j].push(i as u32);
                }
            }
        }
    }
    adjacency.iter_mut().for_each(|row| row.sort_unstable());
    let attributes = (0..nodes).map(|_| (0..dimension as u32).filter(|_| r.chance(40)).collect()).collect();
    let graph = graph(adjacency, attributes, dimension);
    let mut widths = vec![dimension];
    widths.extend((2..depth).map(|l| 1 + r.below(if l == 2 { 5 } else { 3 })));
    widths.push(2 + r.below(2));
    let layers = widths
        .windows(2)
        .map(|pair| {
            let values = (0..pair[0] * pair[1]).map(|_| value(r)).collect();
            (DenseMatrix { rows: pair[0], columns: pair[1], values }, (0..pair[1]).map(|_| value(r)).collect())
        })
        .collect();
    let rules: Vec<MessagePassing> = (1..depth)
        .map(|_| match r.below(7) {
            0 => MessagePassing::Identity,
            1 => MessagePassing::Sum,
            2 => MessagePassing::SumWithSelf,
            3 => MessagePassing::Mean,
            4 => MessagePassing::MeanWithSelf,
            5 => MessagePassing::Gcn,
            _ => {
                let mut matrix =
                    SparseMatrix { rows: nodes, columns: nodes, offsets: vec![0], indices: vec![], values: vec![] };
                for _ in 0..nodes {
                    for j in 0..nodes {
                        let value = value(r);
                        if value != 0.0 {
                            matrix.indices.push(j as u32);
                            matrix.values.push(value);
                        }
                    }
                    matrix.offsets.push(matrix.indices.len());
                }
                MessagePassing::Matrix(Arc::new(matrix))
            }
        })
        .collect();
    let gcn = Gcn::new(model(layers), &rules, &graph).unwrap();
    let local: Vec<i64> = (0..nodes).map(|_| r.below(dimension + 3) as i64).collect();
    let global = [0, 1, 2, 3, 4, 1 << 40][r.below(6)];
    let budget = Budget::per_node(&graph, global, &local).unwrap();
    Net { graph, gcn, budget, style: 400 + kind }
}

/// Without limits everything is decided, truly, and the minima are those of brute force, exactly.
fn decided_check(seed: u64, net: Net, workspace: &mut Workspace, tally: &mut Tally) {
    let sets = admissible(&net);
    if sets.len() > 300 {
        return;
    }
    let results: Vec<Vec<Vec<Vec<X>>>> = sets.iter().map(|s| evaluate(&net, s)).collect();
    let last = net.gcn.layers().len() - 1;
    let classes = net.gcn.class_count();
    let bound = [Bound::Best, Bound::Paper, Bound::Anchored][(seed % 3) as usize];
    let limits = Limits::default();
    let certifier = |effort| Certifier::new(&net.graph, &net.gcn, net.budget.clone(), bound).with_effort(effort);
    let complete = certifier(Effort::Complete(limits));
    let minimise = certifier(Effort::Minimise { limits, gap: 0.0 });
    let rough = certifier(Effort::Minimise { limits, gap: 0.1 });
    for t in 0..net.graph.node_count() {
        let reference = if seed % 4 == 1 { (seed / 4) as usize % classes } else { complete.predicted(t) };
        let predicted = complete.predicted(t);
        let worst: Vec<X> = (0..classes)
            .filter(|&c| c != reference)
            .map(|c| {
                let margins = results.iter().map(|r| r[last][t][reference].sub(&r[last][t][c]));
                margins.min_by(|a, b| a.cmp(b)).unwrap()
            })
            .collect();
        let robust = worst.iter().all(|margin| margin.sign() == Ordering::Greater);
        let want = if robust { Verdict::Robust } else { Verdict::NonRobust };
        let tag = format!("seed {seed} style {} depth {} {bound:?} node {t}", net.style, net.gcn.depth());
        for (name, certifier) in [("complete", &complete), ("minimise", &minimise), ("rough", &rough)] {
            let result = certifier.certify_class(t, reference, predicted, workspace);
            *tally.counts.entry((net.style, name)).or_default() += 1;
            if result.verdict != want {
                tally.failures.push(format!("{tag} {name}: {:?} is {want:?} {result:?}", result.verdict));
            }
            if result.search_nodes > 20 * sets.len() + 50 {
                tally.notes.push(format!("{tag} {name}: {} tree nodes for {} sets", result.search_nodes, sets.len()));
            }
            for (margin, worst) in result.margins.iter().zip(&worst) {
                if !below(margin.lower, worst) || !above(margin.upper, worst) {
                    tally.failures.push(format!("{tag} {name}: {margin:?}, truth {:e}", worst.rough()));
                }
            }
            if name != "minimise" {
                continue;
            }
            for ((minimum, worst), margin) in result.minima.iter().zip(&worst).zip(&result.margins) {
                let Some(minimum) = minimum else {
                    tally.failures.push(format!("{tag}: no minimum {result:?}"));
                    continue;
                };
                let mut flips: Flips = minimum.flips.iter().map(|f| (f.node as usize, f.attribute as usize)).collect();
                flips.sort_unstable();
                let exact = fraction(&minimum.margin.to_string());
                let replayed = sets.iter().position(|set| *set == flips).map(|at| {
                    let z = &results[at][last][t];
                    z[reference].sub(&z[margin.class])
                });
                let attained = replayed.is_some_and(|margin| margin.cmp(&exact) == Ordering::Equal);
                if exact.cmp(worst) != Ordering::Equal || !attained {
                    tally.failures.push(format!("{tag}: {minimum:?} attained {attained}, truth {:e}", worst.rough()));
                }
                let tight = margin.lower == margin.upper || margin.lower.next_up() == margin.upper;
                if !tight {
                    tally.failures.push(format!("{tag}: {margin:?} are not neighbours"));
                }
            }
        }
    }
}

#[test]
fn nothing_is_left_undecided_and_minima_are_exact() {
    let count: u64 = std::env::var("GCNPROOF_COUNT").ok().and_then(|v| v.parse().ok()).unwrap_or(3_000);
    let from: u64 = std::env::var("GCNPROOF_FROM").ok().and_then(|v| v.parse().ok()).unwrap_or(0);
    let (mut tally, mut workspace) = (Tally::default(), Workspace::default());
    for seed in from..from + count {
        let net = match seed % 8 {
            0..=2 => quantised(seed),
            3 => net(seed),
            4 => scaled_net(seed),
            5 => knife_edge(seed),
            6 => lossy(seed),
            _ => edge(seed, quantised(seed)),
        };
        decided_check(seed, net, &mut workspace, &mut tally);
    }
    println!("{:?}", tally.counts);
    for line in tally.failures.iter().chain(&tally.notes).take(12) {
        println!("{}", &line[..line.len().min(700)]);
    }
    assert!(tally.failures.is_empty(), "{} failures", tally.failures.len());
    let sum = |what| tally.counts.iter().filter(|((_, name), _)| *name == what).map(|(_, n)| n).sum::<usize>();
    assert!(sum("minimise") as u64 > count / 2, "too few of them to mean anything");
}
