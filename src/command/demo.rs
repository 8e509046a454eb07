//! `gcnproof demo`: what the tool is about, on a graph and a model that it carries.

use std::time::Instant;

use clap::Args;
use gcnproof::budget::Budget;
use gcnproof::certifier::{Bound, Certifier, Effort, Workspace};
use gcnproof::embedded;
use gcnproof::graph::Graph;
use gcnproof::model::Gcn;
use gcnproof::radius::radii;
use gcnproof::record::NodeRecord;
use gcnproof::search::tree::Limits;
use gcnproof::selection::Flip;
use gcnproof::verdict::Verdict;
use miette::Result;
use rayon::prelude::*;
use serde_json::json;

use super::summary::{self, Group, Summary};

/// Certify the embedded Cora citation graph: no arguments, no files, a few seconds.
#[derive(Args, Debug)]
pub struct Demo {}

const GLOBAL: usize = 12;

impl Demo {
    /// Runs the command. Returns the exit code.
    pub fn execute(self) -> Result<u8> {
        let (graph, gcn) = embedded::cora();
        let local = graph.attribute_count() / 100;
        println!(
            "Cora: {} papers, {} citations, {} words; a GCN says what each paper is about.\n\
             An attacker may add or remove {GLOBAL} words in all, at most {local} per paper, in the paper or around it.\n\
             Can the class of a paper be changed?\n",
            graph.node_count(),
            (0..graph.node_count()).map(|n| graph.degree(n)).sum::<usize>() / 2,
            graph.attribute_count()
        );
        let budget = Budget::uniform(&graph, GLOBAL, local);
        let (certifier, rows, summary) = certify(&graph, &gcn, &budget)?;
        print!("{}", summary.table(&json!({ "global": GLOBAL, "local": local, "direction": "both" })));
        println!();
        if let Some(row) = rows.iter().filter(|r| r.verdict == Verdict::Robust).max_by_key(|r| r.degree) {
            tell_robust(&graph, row);
        }
        let mut broken: Vec<&NodeRecord> =
            rows.iter().filter(|r| r.verdict == Verdict::NonRobust && !r.witness.is_empty()).collect();
        // The lowest margin under attack is the easiest to break: a handful of them has one that few flips break.
        broken.sort_by(|x, y| lowest(x).total_cmp(&lowest(y)));
        let easiest: Vec<usize> = broken.iter().take(20).map(|row| row.node as usize).collect();
        let (radii, _) = radii(certifier, &easiest, GLOBAL, || false, |_, _| ());
        if let Some((node, radius)) = radii.iter().min_by_key(|(node, radius)| (radius.attacked, **node))
            && let Some(row) = rows.iter().find(|row| row.node == *node as u64)
        {
            tell_broken(&graph, row, &radius.witness);
        }
        let (_, _, robust) = certify(&graph, &embedded::robust(&graph), &budget)?;
        tell_trained(&summary.all, &robust.all);
        println!(
            "\nEvery `robust` holds in exact arithmetic for the stored weights, and every `non-robust` comes with its flips.\n\
             Your own:  gcnproof train GRAPH.npz --loss rh-u -Q 12 -q 1% --out MODEL.safetensors\n\
             \x20          gcnproof certify GRAPH.npz MODEL.safetensors -Q 12 -q 1% --out results.parquet"
        );
        Ok(0)
    }
}

/// Decides every node.
fn certify<'a>(graph: &'a Graph, gcn: &'a Gcn, budget: &Budget) -> Result<(Certifier<'a>, Vec<NodeRecord>, Summary)> {
    let start = Instant::now();
    let certifier =
        Certifier::new(graph, gcn, budget.clone(), Bound::Best).with_effort(Effort::Complete(Limits::default()));
    let rows: Vec<NodeRecord> = (0..graph.node_count())
        .into_par_iter()
        .map_init(Workspace::default, |workspace, node| {
            let start = Instant::now();
            let result = certifier.certify(node, workspace);
            NodeRecord::new(graph, result, start.elapsed().as_secs_f64())
        })
        .collect();
    let summary = Summary::new(&rows, &summary::labelled(None, graph)?, start.elapsed().as_secs_f64());
    Ok((certifier, rows, summary))
}

fn tell_trained(standard: &Group, robust: &Group) {
    let share = |group: &Group| 100.0 * group.robust as f64 / group.nodes.max(1) as f64;
    println!(
        "\nA network of the same shape, trained for this budget (gcnproof train --loss rh-u), makes {} papers robust: {:.1} %\n\
         instead of {:.1} %, {} undecided, at an accuracy of {:.3} instead of {:.3}.",
        robust.robust,
        share(robust),
        share(standard),
        robust.undecided,
        robust.accuracy.unwrap_or(f64::NAN),
        standard.accuracy.unwrap_or(f64::NAN),
    );
}

fn class_name(graph: &Graph, class: u64) -> String {
    let names = graph.file().class_names.as_ref();
    names.and_then(|names| names.get(class as usize).cloned()).unwrap_or_else(|| format!("class {class}"))
}

fn tell_robust(graph: &Graph, row: &NodeRecord) {
    println!(
        "Paper {} ({}, cited or citing {} others) is robust: of all the ways to flip {GLOBAL} of {} entries around it,\n\
         none brings another class closer than {:.3} (logits).",
        row.node,
        class_name(graph, row.predicted),
        row.degree,
        row.neighbourhood as usize * graph.attribute_count(),
        row.worst_lower().unwrap_or(f64::NAN)
    );
}

/// The lowest margin that a perturbation of a node has reached.
fn lowest(row: &NodeRecord) -> f64 {
    row.margins.iter().filter_map(|margin| margin.upper).fold(f64::INFINITY, f64::min)
}

fn tell_broken(graph: &Graph, row: &NodeRecord, witness: &[Flip]) {
    let flips: Vec<String> = witness.iter().map(|flip| describe(graph, row.node, flip)).collect();
    println!(
        "Paper {} ({}) is not: {} — and it is taken for something else.",
        row.node,
        class_name(graph, row.predicted),
        flips.join(", "),
    );
}

fn describe(graph: &Graph, target: u64, flip: &Flip) -> String {
    let present = graph.attributes().contains(flip.node as usize, flip.attribute);
    let what = if present { "remove" } else { "add" };
    let place = if u64::from(flip.node) == target { "in it".to_string() } else { format!("in paper {}", flip.node) };
    format!("{what} word {} {place}", flip.attribute)
}
