//! Benchmark: the certifier against the textbook form of the same bound, in the same run and with the same threads.
//!
//! Textbook: per target and class the dense Δ by one matrix product, then a full selection over all entries, then the
//! selected flips on the network. It gets the activation bounds for free. Ours: bounds, both certificates, witnesses
//! and local search, everything. `GCNPROOF_DATA` names a folder with the graphs and models; without it, Cora is
//! measured.
#![allow(missing_docs)]

use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::internals::problem::matrix::PatternRows;
use gcnproof::internals::problem::slice::Slice;
use gcnproof::{Bound, Budget, Certifier, Graph, Network, Operator, Problem};
use nalgebra::DMatrix;
use rayon::prelude::*;

fn prepare(graph: &Graph, network: &Network, budget: Budget, bound: Bound) -> Certifier {
    let problem = Problem::new(graph.clone(), network.clone(), budget).expect("the parts fit");
    Certifier::builder(problem).bound(bound).build()
}

/// The dual bound of one target and class as the formulas say it (docs/math.md §4), one hidden layer.
fn textbook(certifier: &Certifier, weight: &DMatrix<f64>, node: usize, reference: usize, class: usize) -> (f64, f64) {
    let (graph, gcn, budget) = (certifier.graph(), certifier.network(), certifier.budget());
    let mut slice = Slice::default();
    slice.cut(gcn, 3, node);
    let (bounds, last) = (&certifier.activation_bounds()[0], &gcn.layers()[1]);
    let (h, hidden, outer) = (bounds.width, slice.nodes(2), slice.nodes(1));
    let mut g = last.bias.values()[reference] - last.bias.values()[class];
    let mut u = DMatrix::<f64>::zeros(outer.len(), h);
    let targets: Vec<(usize, f64)> = slice.passing(2).single_row(0).collect();
    for &(m, a) in &targets {
        let at = hidden[m] as usize;
        for j in 0..h {
            let (r, s) = (bounds.lower(at)[j], bounds.upper(at)[j]);
            let phi_hat = -a * (last.weight.get(j, reference) - last.weight.get(j, class));
            let phi = if s <= 0.0 {
                0.0
            } else if r >= 0.0 {
                phi_hat
            } else {
                g += s * r / (s - r) * phi_hat.max(0.0);
                s / (s - r) * phi_hat
            };
            g -= phi * gcn.layers()[0].bias.values()[j];
            for (n, a) in slice.passing(1).single_row(m) {
                u[(n, j)] += a * phi;
            }
        }
    }
    let mut delta = &u * weight;
    for (n, &at) in outer.iter().enumerate() {
        let mut row = delta.row_mut(n);
        for &d in graph.attributes().row(at as usize) {
            g -= row[d as usize];
            row[d as usize] = -row[d as usize];
        }
    }
    let mut kept: Vec<(f64, usize, u32)> = Vec::new();
    for (n, &at) in outer.iter().enumerate() {
        let mut row: Vec<(f64, usize, u32)> =
            delta.row(n).iter().enumerate().map(|(d, &v)| (v.max(0.0), n, d as u32)).collect();
        let q = budget.local(at as usize).min(row.len() - 1);
        row.select_nth_unstable_by(q, |x, y| y.0.total_cmp(&x.0));
        kept.extend_from_slice(&row[..q]);
    }
    let q = budget.global().min(kept.len());
    if q < kept.len() {
        kept.select_nth_unstable_by(q, |x, y| y.0.total_cmp(&x.0));
    }
    kept.truncate(q);
    g -= kept.iter().map(|k| k.0).sum::<f64>();
    // The flips on the true network: the rows they reach, then the target.
    let mut margin = last.bias.values()[reference] - last.bias.values()[class];
    for &(m, a) in &targets {
        let mut z = certifier.unperturbed()[0].row(hidden[m] as usize).to_vec();
        for (n, entry) in slice.passing(1).single_row(m) {
            for &(_, _, d) in kept.iter().filter(|k| k.1 == n && k.0 > 0.0) {
                let sign = if graph.attributes().contains(outer[n] as usize, d) { -1.0 } else { 1.0 };
                for (j, z) in z.iter_mut().enumerate() {
                    *z += sign * entry * weight[(j, d as usize)];
                }
            }
        }
        for (j, z) in z.iter().enumerate() {
            margin += a * z.max(0.0) * (last.weight.get(j, reference) - last.weight.get(j, class));
        }
    }
    (g, margin)
}

fn load(folder: &std::path::Path, graph: &str, model: &str) -> Option<(Graph, Network)> {
    let find =
        |name: &str| ["", "data", "models"].iter().map(|sub| folder.join(sub).join(name)).find(|path| path.exists());
    let graph = Graph::from_file(gcnproof_files::read_graph(&find(graph)?, &Default::default()).ok()?);
    let model = gcnproof_files::read_model(&find(model)?).ok()?;
    let gcn = Network::from_file(model, &[Operator::Gcn], &graph).ok()?;
    Some((graph, gcn))
}

fn ours(graph: &Graph, gcn: &Network, budget: &Budget) -> usize {
    let certifier = prepare(graph, gcn, budget.clone(), Bound::Best);
    (0..graph.node_count())
        .into_par_iter()
        .map_init(Workspace::default, |workspace, node| certifier.certify_node(node, workspace).witness.len())
        .sum()
}

fn whole_graph(criterion: &mut Criterion, name: &str, graph: &Graph, gcn: &Network) {
    let budget = Budget::uniform(graph, 12, (graph.attribute_count() / 100).max(1));
    let certifier = prepare(graph, gcn, budget.clone(), Bound::Best);
    let w = &gcn.layers()[0].weight;
    // h × D, so that Δ = u · W.
    let weight = DMatrix::from_fn(w.columns(), w.rows(), |j, d| w.get(d, j));
    let start = Instant::now();
    ours(graph, gcn, &budget);
    let our_time = start.elapsed();
    let start = Instant::now();
    let sum: f64 = (0..graph.node_count())
        .into_par_iter()
        .map(|node| {
            let reference = certifier.predicted(node);
            let classes = (0..gcn.class_count()).filter(|&k| k != reference);
            classes.map(|k| textbook(&certifier, &weight, node, reference, k).0).sum::<f64>()
        })
        .sum();
    black_box(sum);
    let textbook_time = start.elapsed();
    println!(
        "{name}: whole graph, Q = 12, q = 1 %: textbook {textbook_time:.2?}, ours {our_time:.2?}, ratio {:.1}",
        textbook_time.as_secs_f64() / our_time.as_secs_f64()
    );
    let mut group = criterion.benchmark_group(name);
    group.sample_size(10).measurement_time(Duration::from_secs(5));
    group.bench_function("certify 200 nodes", |bencher| {
        let mut workspace = Workspace::default();
        bencher.iter(|| (0..200).map(|node| certifier.certify_node(node, &mut workspace).witness.len()).sum::<usize>());
    });
    group.bench_function("textbook 20 nodes", |bencher| {
        bencher.iter(|| {
            let classes = |y: usize| (0..gcn.class_count()).filter(move |&k| k != y);
            (0..20)
                .map(|n| (n, certifier.predicted(n)))
                .map(|(n, y)| classes(y).map(|k| textbook(&certifier, &weight, n, y, k).1).sum::<f64>())
                .sum::<f64>()
        });
    });
    group.bench_function("activation bounds", |bencher| {
        bencher.iter(|| prepare(graph, gcn, budget.clone(), Bound::Best).activation_bounds().len());
    });
    group.finish();
}

fn benchmarks(criterion: &mut Criterion) {
    let (graph, gcn) = gcnproof::embedded::cora();
    whole_graph(criterion, "cora", &graph, &gcn);
    match std::env::var_os("GCNPROOF_DATA").map(PathBuf::from) {
        None => println!("SKIPPED cora_ml, citeseer: GCNPROOF_DATA names no folder with them"),
        Some(folder) => {
            for (name, model) in [("cora_ml", "cora_ml_ce.npz"), ("citeseer", "citeseer_ce.npz")] {
                match load(&folder, &format!("{name}.npz"), model) {
                    Some((graph, gcn)) => whole_graph(criterion, name, &graph, &gcn),
                    None => println!("SKIPPED {name}: not readable below {}", folder.display()),
                }
            }
        }
    }
}

criterion_group!(benches, benchmarks);
criterion_main!(benches);
