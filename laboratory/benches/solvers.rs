//! Benchmark: column generation and the search against HiGHS, on the same class pairs of Cora and in the same run.
//!
//! `linear`: the optimum of the paper's relaxation, 500 pairs, by column generation and as the explicit LP.
//! `deep`: the same with three weight layers, against HiGHS on the last master alone.
//! `integer [SECONDS [PAIRS]]`: pairs that the paper's bound leaves open, by branch and price and as the explicit MILP.
#![allow(missing_docs)]

use std::path::Path;
use std::time::Instant;

use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::internals::search::optimum::relaxed_optimum;
use gcnproof::{Bound, Budget, Certifier, Effort, Graph, Limits, Network, Operator, Problem, Verdict};
use gcnproof_laboratory::instance::instance_of;
use gcnproof_verify::solver::{Highs, Limits as SolverLimits, Solver};
use gcnproof_verify::{Form, network, relaxation};

/// The undecided pairs (node, reference, class) of as many nodes as it takes.
fn prepare(graph: &Graph, network: &Network, budget: Budget, bound: Bound) -> Certifier {
    let problem = Problem::new(graph.clone(), network.clone(), budget).expect("the parts fit");
    Certifier::builder(problem).bound(bound).build()
}

fn open_pairs(certifier: &Certifier, count: usize) -> Vec<(usize, usize, usize)> {
    let mut workspace = Workspace::default();
    let nodes = 0..certifier.graph().node_count();
    let results = nodes.map(|node| certifier.certify_node(node, &mut workspace));
    let open = results.filter(|result| result.verdict == Verdict::Undecided).flat_map(|result| {
        let open = result.margins.into_iter().filter(|margin| margin.lower <= 0.0 && margin.upper > 0.0);
        open.map(|margin| (result.node, result.reference, margin.class)).collect::<Vec<_>>()
    });
    open.take(count).collect()
}

fn integer(certifier: Certifier, seconds: f64, count: usize) {
    let paper = prepare(certifier.graph(), certifier.network(), certifier.budget().clone(), Bound::Paper);
    let pairs = open_pairs(&paper, count);
    let certifier = certifier.with_effort(Effort::Complete(Limits::default()));
    let mut workspace = Workspace::default();
    let (mut decided, mut total, mut theirs) = (0, 0.0, 0.0);
    println!(
        "| node | class | neighbourhood | binaries | ours | seconds | tree nodes | HiGHS | seconds | its bound | its best |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    for (node, reference, class) in pairs {
        let start = Instant::now();
        let result = certifier.certify_against(node, reference, &[class], &mut workspace);
        let time = start.elapsed().as_secs_f64();
        total += time;
        let (instance, _) = instance_of(certifier.prepared(), node, reference, class);
        let Ok(model) = network::mixed_program(&instance, Form::Compact) else { continue };
        let binaries = model.program.variables.iter().filter(|variable| variable.integer).count();
        let start = Instant::now();
        let answer = Highs.solve(&model.program, &SolverLimits { seconds });
        let highs_time = start.elapsed().as_secs_f64();
        theirs += highs_time;
        let best = network::incumbent(&model, &instance, &answer).filter(|found| found.admissible).map(|i| i.margin);
        let verdict = match (answer.dual_bound, best) {
            (_, Some(margin)) if margin <= 0.0 => "non-robust",
            (Some(bound), _) if bound > 0.0 => "robust",
            _ => "open",
        };
        decided += usize::from(verdict != "open");
        println!(
            "| {node} | {class} | {} | {binaries} | {} | {time:.3} | {} | {verdict} | {highs_time:.1} | {:.4} | {:.4} |",
            result.relevant,
            result.verdict.name(),
            result.search_nodes,
            answer.dual_bound.unwrap_or(f64::NAN),
            best.unwrap_or(f64::NAN),
        );
    }
    println!("HiGHS decided {decided} of them in {theirs:.0} s, ours took {total:.2} s");
}

fn linear(certifier: Certifier) {
    let mut workspace = Workspace::default();
    let (mut ours, mut theirs, mut masters, mut largest, mut pairs) = (0.0, 0.0, 0, 0.0f64, 0);
    let classes = certifier.network().class_count();
    // Every 37th node, so that all of the graph is represented.
    for node in (0..certifier.graph().node_count()).map(|n| n * 37 % certifier.graph().node_count()) {
        if pairs >= 500 {
            break;
        }
        let reference = certifier.predicted(node);
        for class in (0..classes).filter(|&class| class != reference) {
            let (instance, _) = instance_of(certifier.prepared(), node, reference, class);
            let Ok(model) = relaxation::linear_program(&instance, Form::Compact) else { continue };
            let start = Instant::now();
            let answer = Highs.solve(&model.program, &SolverLimits { seconds: 600.0 });
            theirs += start.elapsed().as_secs_f64();
            let Some(explicit) = answer.optimum() else { continue };
            let start = Instant::now();
            let optimum = relaxed_optimum(certifier.prepared(), node, reference, class, &mut workspace);
            ours += start.elapsed().as_secs_f64();
            masters += optimum.masters;
            pairs += 1;
            largest = largest.max((explicit - optimum.lower).abs()).max((explicit - optimum.upper).abs());
        }
    }
    println!(
        "{pairs} pairs: largest difference {largest:.1e}, {:.2} masters each; HiGHS {theirs:.2} s, column generation \
         {ours:.3} s, ratio {:.0}",
        masters as f64 / f64::from(pairs),
        theirs / ours
    );
}

/// Three weight layers: the whole column generation by our master against HiGHS, once, on the last master alone, which
/// has the same flips and the rows of all layers.
fn deep(certifier: &Certifier) {
    let mut workspace = Workspace::default();
    println!(
        "| neighbourhood | pairs | masters | flips | ours, ms | HiGHS on the last master, ms | largest difference |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (least, most) in [(2, 20), (20, 50), (50, 100), (100, 200)] {
        let nodes = (0..certifier.graph().node_count()).map(|n| n * 37 % certifier.graph().node_count());
        let fits = nodes.filter(|&node| (least + 1..=most).contains(&certifier.neighbourhood(node)));
        let (mut ours, mut theirs, mut masters, mut flips, mut largest, mut pairs) = (0.0, 0.0, 0, 0, 0.0f64, 0);
        for node in fits.take(10) {
            let reference = certifier.predicted(node);
            let class = (reference + 1) % certifier.network().class_count();
            let start = Instant::now();
            let optimum = relaxed_optimum(certifier.prepared(), node, reference, class, &mut workspace);
            ours += start.elapsed().as_secs_f64();
            let (instance, places) = instance_of(certifier.prepared(), node, reference, class);
            let place = |node: u32| places.iter().position(|&other| other == node);
            let known = optimum.flips.iter().filter_map(|(flip, _)| Some((place(flip.node)?, flip.attribute)));
            let known: Vec<(usize, u32)> = known.collect();
            let Ok(model) = relaxation::linear_program(&instance, Form::Compact) else { continue };
            let model = model.restricted(&instance, &known);
            let start = Instant::now();
            let answer = Highs.solve(&model.program, &SolverLimits { seconds: 600.0 });
            theirs += start.elapsed().as_secs_f64();
            let Some(explicit) = answer.optimum() else { continue };
            largest = largest.max((explicit - optimum.lower).abs()).max((explicit - optimum.upper).abs());
            (masters, flips, pairs) = (masters + optimum.masters, flips + known.len(), pairs + 1);
        }
        let mean = |sum: f64| sum / f64::from(pairs);
        println!(
            "| {}–{most} | {pairs} | {:.1} | {:.0} | {:.1} | {:.1} | {largest:.1e} |",
            least + 1,
            mean(masters as f64),
            mean(flips as f64),
            1e3 * mean(ours),
            1e3 * mean(theirs)
        );
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let number = |at: usize, default: f64| arguments.get(at).and_then(|text| text.parse().ok()).unwrap_or(default);
    let (graph, gcn) = gcnproof::embedded::cora();
    let budget = Budget::uniform(&graph, 12, (graph.attribute_count() / 100).max(1));
    let certifier = prepare(&graph, &gcn, budget, Bound::Best);
    match arguments.first().map(String::as_str) {
        Some("linear") => linear(certifier),
        Some("deep") => {
            let file = gcnproof_files::read_model(Path::new("../fixtures/cora_pyg_3layer.safetensors"));
            let gcn = file.map(|file| Network::from_file(file, &[Operator::Gcn], &graph));
            let Ok(Ok(gcn)) = gcn else { return println!("SKIPPED: no model with three weight layers") };
            deep(&prepare(&graph, &gcn, Budget::uniform(&graph, 12, 14), Bound::Best));
        }
        Some("integer") => integer(certifier, number(1, 120.0), number(2, 30.0) as usize),
        _ => println!("SKIPPED: say `linear`, `deep` or `integer [SECONDS [PAIRS]]`"),
    }
}
