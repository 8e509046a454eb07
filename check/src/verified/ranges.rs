//! The verified checker, told about attributes that are moved within ranges.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use gcnproof_files::{GraphFile, ModelFile, SparseMatrix};

use super::process::{NAME, Process};
use super::text::{self, WrittenLayer, dyadic, push, words};
use crate::format::{
    Header, Local, Number, RangeClaim, RangeLines, RangeNodeProof, RangeStep, RangesStatement, UnitNumber,
};
use crate::ranges::RangeStatement;
use crate::statement::{Links, operator_links, require_fit};
use crate::verdict::{Reason, Verdict};
use crate::work::Work;

/// The program, told about one statement.
pub struct RangeJudge(Process);

impl RangeJudge {
    /// Starts the program and tells it what the proofs under a header are about. `matrices` are those that a `matrix:`
    /// rule may name.
    ///
    /// # Errors
    /// If header, graph and model do not belong together, or the program cannot be run or does not understand the
    /// statement.
    pub fn start(
        program: &Path,
        graph: &GraphFile,
        model: &ModelFile,
        header: &Header,
        matrices: &[Arc<SparseMatrix>],
    ) -> Result<RangeJudge, String> {
        let written = WrittenRanges::new(graph, model, header, matrices).map_err(|reason| reason.to_string())?;
        Process::start(program, |to| written.write(to)).map(RangeJudge)
    }

    /// The verdict on a proof, `None` if it is rejected.
    ///
    /// # Errors
    /// If the program does not answer.
    pub fn ask(&mut self, proof: &RangeNodeProof) -> Result<Option<Verdict>, String> {
        let Some(line) = node(proof) else { return Ok(None) };
        match self.0.question(&line)?.as_str() {
            "robust" => Ok(Some(Verdict::Robust)),
            "non-robust" => Ok(Some(Verdict::NonRobust)),
            "tie" => Ok(Some(Verdict::Tie)),
            rejected if rejected.starts_with("rejected") => Ok(None),
            other => Err(format!("{NAME} answers '{other}' to a proof")),
        }
    }
}

/// A statement, ready to be written.
struct WrittenRanges<'a> {
    graph: &'a GraphFile,
    model: &'a ModelFile,
    header: &'a Header,
    ranges: &'a RangesStatement,
    links: Vec<Arc<Links>>,
    rules: Vec<Vec<&'a str>>,
}

impl<'a> WrittenRanges<'a> {
    fn new(
        graph: &'a GraphFile,
        model: &'a ModelFile,
        header: &'a Header,
        matrices: &[Arc<SparseMatrix>],
    ) -> Result<WrittenRanges<'a>, Reason> {
        RangeStatement::new(graph, model, header, matrices)?;
        let Some(ranges) = &header.ranges else { return Err(Reason::Header("no ranges are stated".into())) };
        let rules = require_fit(graph, model, &header.message_passing)?;
        let links = operator_links(graph, model, &header.message_passing, matrices, &Work::lines().line())?;
        Ok(WrittenRanges { graph, model, header, ranges, links, rules })
    }

    fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let (graph, budget) = (self.graph, &self.header.budget);
        let values = graph.values.as_deref();
        let width = values.map_or(graph.attributes.columns, |values| values.attributes());
        text::graph(graph, width, Some(&graph.attributes).filter(|_| values.is_none()), to)?;
        let nodes = graph.attributes.rows;
        let firsts = text::operators(nodes, self.links.iter().zip(self.rules.iter().cloned()).collect(), to)?;
        writeln!(to, "layers {}", self.model.layers.len())?;
        for ((layer, rules), &first) in self.model.layers.iter().zip(&self.rules).zip(&firsts) {
            let (inputs, outputs) = (layer.weight.rows / rules.len().max(1), layer.weight.columns);
            let weights = |term: usize| &layer.weight.values[term * inputs * outputs..][..inputs * outputs];
            let terms = (0..rules.len()).map(|term| (first + term, weights(term).into())).collect();
            let relu = (0..outputs).map(|unit| !layer.linear.get(unit).copied().unwrap_or(false)).collect();
            WrittenLayer { inputs, terms, bias: &layer.bias, relu }.write(to)?;
        }
        // There are no more entries than that.
        let most = (nodes as u64).saturating_mul(width as u64);
        writeln!(to, "ranges {}", budget.global.min(most))?;
        write!(to, "each ")?;
        let local = |node: usize| match &budget.local {
            Local::Uniform(q) => *q,
            Local::PerNode(list) => list[node],
        };
        words((0..nodes).map(|node| local(node).min(width as u64)), to)?;
        write!(to, "frozen ")?;
        words(&budget.frozen_attributes, to)?;
        let written = |Number(x): &Number| {
            let mut text = String::new();
            dyadic(&mut text, x);
            text.split_off(1)
        };
        match self.ranges {
            RangesStatement::Epsilon(radius) => writeln!(to, "limits epsilon {}", written(radius))?,
            RangesStatement::Between(limits) => {
                write!(to, "limits between ")?;
                let ends = limits.low.iter().zip(&limits.high);
                words(ends.map(|(low, high)| format!("{} {}", written(low), written(high))), to)?;
            }
        }
        match values {
            None => writeln!(to, "values entries")?,
            Some(values) => {
                writeln!(to, "values given")?;
                for node in 0..nodes {
                    let (columns, values) = values.row(node);
                    words(columns.iter().zip(values).map(|(d, x)| format!("{d} {:x}", x.to_bits())), to)?;
                }
            }
        }
        text::reference(graph, self.header.classes, to)?;
        text::each(self.header.deployed.as_ref(), self.model, &firsts, to)
    }
}

/// A proof as one line; `None` where a tree is none.
fn node(proof: &RangeNodeProof) -> Option<String> {
    let mut line = format!("node {} {}", proof.id, proof.class);
    match &proof.claim {
        RangeClaim::NonRobust(witness) => {
            push(&mut line, format_args!("witness {} {}", witness.class, witness.entries.len()));
            for (node, attribute, value) in &witness.entries {
                push(&mut line, format_args!("{node} {attribute}"));
                dyadic(&mut line, &value.0);
            }
        }
        RangeClaim::Robust(trees) => {
            push(&mut line, format_args!("robust {}", trees.len()));
            for one in trees {
                push(&mut line, one.class);
                tree(&mut line, &one.tree)?;
            }
        }
    }
    Some(line)
}

/// A tree in preorder; `None` where it is no binary tree.
fn tree(line: &mut String, steps: &[RangeStep]) -> Option<()> {
    let mut missing = 1_usize;
    for step in steps {
        missing = missing.checked_sub(1)?;
        match step {
            RangeStep::Lines(lines) => {
                let RangeLines { slopes, prices } = &**lines;
                push(line, "L");
                unit_numbers(line, slopes);
                unit_numbers(line, prices);
                continue;
            }
            RangeStep::Unit(layer, node, unit) => push(line, format_args!("U {layer} {node} {unit}")),
            RangeStep::Entry(node, attribute) => push(line, format_args!("E {node} {attribute}")),
            RangeStep::Value(node, attribute, value) => {
                push(line, format_args!("V {node} {attribute}"));
                dyadic(line, &value.0);
            }
        }
        missing += 2;
    }
    (missing == 0).then_some(())
}

fn unit_numbers(line: &mut String, list: &[UnitNumber]) {
    push(line, list.len());
    for (layer, node, unit, Number(x)) in list {
        push(line, format_args!("{layer} {node} {unit}"));
        dyadic(line, x);
    }
}
