//! The verified checker, told about changed edges. It replays witnesses. That a class is kept it shows by lists of the
//! sets of changes that leaves are about, and by a bound of its own: the bounds that leaves rest on are not looked at.

use std::io::{self, Write};
use std::path::Path;

use gcnproof_files::{GraphFile, ModelFile};

use super::process::{NAME, Process};
use super::text::{self, WrittenLayer, push, words};
use crate::edges::format::{Candidates, ChangeKind, Claim, Header, NodeProof, Step};
use crate::edges::{Edge, EdgeStatement};
use crate::format::Local;
use crate::number::{Stored, reciprocal};
use crate::statement::{Rule, first_weights, require_fit};
use crate::verdict::Verdict;

/// Sets of changes that are listed for a node, at most; a bound counts as 5.
pub(super) const MOST_SETS: u64 = 50_000;

/// What the verified checker says of a proof about changed edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeAnswer {
    /// It is true.
    Shown(Verdict),
    /// It is false, or nothing that it takes.
    Rejected,
    /// There are more sets of changes than it may list.
    TooMany,
}

/// The program, told about one statement.
pub struct EdgeJudge(Process);

impl EdgeJudge {
    /// Starts the program and tells it what the proofs under a header are about.
    ///
    /// # Errors
    /// If header, graph and model do not belong together, or the program cannot be run or does not understand the
    /// statement.
    pub fn start(program: &Path, graph: &GraphFile, model: &ModelFile, header: &Header) -> Result<EdgeJudge, String> {
        EdgeStatement::new(graph, model, header).map_err(|reason| reason.to_string())?;
        let written = Written::new(graph, model, header)?;
        Process::start(program, |to| written.write(to)).map(EdgeJudge)
    }

    /// What it says of a proof, if it lists so many sets at most.
    ///
    /// # Errors
    /// If the program does not answer.
    pub fn ask(&mut self, proof: &NodeProof, most: u64) -> Result<EdgeAnswer, String> {
        let Some(line) = node(proof, most) else { return Ok(EdgeAnswer::Rejected) };
        asked(&mut self.0, &line)
    }
}

/// What the program says of a proof.
pub(super) fn asked(process: &mut Process, line: &str) -> Result<EdgeAnswer, String> {
    match process.question(line)?.as_str() {
        "robust" => Ok(EdgeAnswer::Shown(Verdict::Robust)),
        "non-robust" => Ok(EdgeAnswer::Shown(Verdict::NonRobust)),
        "tie" => Ok(EdgeAnswer::Shown(Verdict::Tie)),
        "too many sets of changes" => Ok(EdgeAnswer::TooMany),
        rejected if rejected.starts_with("rejected") => Ok(EdgeAnswer::Rejected),
        other => Err(format!("{NAME} answers '{other}' to a proof")),
    }
}

/// An operator as it is written.
#[derive(PartialEq)]
enum Operator {
    /// It follows from the edges, by a rule of this name.
    Follows(&'static str),
    /// No change moves it: the name of its rule, and its rows.
    Stated(&'static str, Vec<Vec<(u32, Stored)>>),
}

/// A statement, ready to be written; its header is one for the graph and the model.
pub(super) struct Written<'a> {
    graph: &'a GraphFile,
    header: &'a Header,
    operators: Vec<Operator>,
    layers: Vec<WrittenLayer<'a>>,
}

impl<'a> Written<'a> {
    pub(super) fn new(graph: &'a GraphFile, model: &'a ModelFile, header: &'a Header) -> Result<Written<'a>, String> {
        let names = require_fit(graph, model, &header.message_passing).map_err(|reason| reason.to_string())?;
        let first = first_weights(graph, model, names[0].len()).map_err(|reason| reason.to_string())?;
        let (mut operators, mut layers): (Vec<Operator>, Vec<WrittenLayer>) = (Vec::new(), Vec::new());
        for (at, (layer, names)) in model.layers.iter().zip(&names).enumerate() {
            let weight = if at == 0 { &*first } else { &layer.weight };
            let (inputs, outputs) = (weight.rows / names.len().max(1), weight.columns);
            let mut terms = Vec::new();
            for (term, name) in names.iter().enumerate() {
                let of_rule = operators_of(name, graph).ok_or_else(|| {
                    format!("the verified checker does not know message passing '{name}' along edges")
                })?;
                for operator in of_rule {
                    let place = operators.iter().position(|known| *known == operator).unwrap_or(operators.len());
                    if place == operators.len() {
                        operators.push(operator);
                    }
                    terms.push((place, weight.values[term * inputs * outputs..][..inputs * outputs].to_vec().into()));
                }
            }
            let relu = (0..outputs).map(|unit| !layer.linear.get(unit).copied().unwrap_or(false)).collect();
            layers.push(WrittenLayer { inputs, terms, bias: &layer.bias, relu });
        }
        Ok(Written { graph, header, operators, layers })
    }

    pub(super) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let (graph, edges) = (self.graph, &self.header.edges);
        let nodes = graph.attributes.rows;
        text::graph(graph, graph.attributes.columns, Some(&graph.attributes), to)?;
        writeln!(to, "operators {}", self.operators.len())?;
        for operator in &self.operators {
            match operator {
                Operator::Follows(rule) => writeln!(to, "rule {rule}")?,
                Operator::Stated(name, rows) => {
                    writeln!(to, "operator {name}")?;
                    for row in rows {
                        words(row.iter().map(|(node, entry)| format!("{node} {:x}", entry.bits())), to)?;
                    }
                }
            }
        }
        writeln!(to, "layers {}", self.layers.len())?;
        for layer in &self.layers {
            layer.write(to)?;
        }
        let changes = edges.kinds();
        let ends = if changes.directed { "directed" } else { "undirected" };
        let kind = match changes.kind {
            ChangeKind::Remove => "remove",
            ChangeKind::Insert => "insert",
            ChangeKind::Change => "change",
        };
        let keep = if edges.keep_one { "keep-one" } else { "lose-all" };
        // There are no more pairs than that.
        let most = edges.global.min((nodes as u64).saturating_mul(nodes as u64));
        writeln!(to, "edges {most} {ends} {kind} {keep}")?;
        each(&edges.local, nodes, u64::MAX, to)?;
        write!(to, "frozen ")?;
        pairs(&edges.frozen, to)?;
        match &changes.candidates {
            None => writeln!(to, "candidates all")?,
            // No node is more steps away.
            Some(Candidates::Within(steps)) => writeln!(to, "candidates within {}", steps.min(&(nodes as u64)))?,
            Some(Candidates::Listed(list)) => {
                write!(to, "candidates listed ")?;
                pairs(list, to)?;
            }
        }
        match &self.header.flips {
            None => writeln!(to, "flips none")?,
            Some(flips) => {
                // Prices that are stated are for no more flips than there are.
                let attributes = graph.attributes.columns as u64;
                let most = flips.global.min((nodes as u64).saturating_mul(attributes));
                writeln!(to, "flips too {most} {}", flips.direction)?;
                each(&flips.local, nodes, attributes, to)?;
                write!(to, "frozen ")?;
                words(&flips.frozen_attributes, to)?;
            }
        }
        text::reference(graph, self.header.classes, to)?;
        writeln!(to, "attack each")
    }
}

/// Local budgets, none above `most`.
fn each(local: &Local, nodes: usize, most: u64, to: &mut impl Write) -> io::Result<()> {
    write!(to, "each ")?;
    let of = |node: usize| match local {
        Local::Uniform(own) => *own,
        Local::PerNode(list) => list[node],
    };
    words((0..nodes).map(|node| of(node).min(most)), to)
}

fn pairs(list: &[Edge], to: &mut impl Write) -> io::Result<()> {
    words(list.iter().map(|(i, j)| format!("{i} {j}")), to)
}

/// The operators whose sum is that of a rule; `None` where edges do not determine it.
fn operators_of(name: &str, graph: &GraphFile) -> Option<Vec<Operator>> {
    let nodes = graph.attributes.rows as u32;
    let diagonal = |entry: &dyn Fn(u32) -> Stored| (0..nodes).map(|node| vec![(node, entry(node))]).collect();
    const FOLLOWING: [&str; 6] = ["gcn", "gcn-self", "mean", "mean+self", "sum", "sum+self"];
    match Rule::read(name)? {
        Rule::Plain("identity") => Some(vec![Operator::Stated("identity", diagonal(&|_| Stored::ONE))]),
        Rule::Plain(name @ ("pool-sum" | "pool-mean")) => {
            let mut rows = vec![Vec::new(); nodes as usize];
            for (node, &of) in (0..nodes).zip(graph.batch.as_ref()?) {
                rows[of as usize].push((node, Stored::ONE));
            }
            if name == "pool-mean" {
                for row in &mut rows {
                    let entry = Stored::new(reciprocal(row.len()));
                    row.iter_mut().for_each(|of| of.1 = entry);
                }
            }
            Some(vec![Operator::Stated(if name == "pool-sum" { "pool-sum" } else { "pool-mean" }, rows)])
        }
        Rule::Plain(name) => FOLLOWING.iter().find(|&&known| known == name).map(|known| vec![Operator::Follows(known)]),
        // Along edges 1, and a number of its own for the node itself.
        Rule::Polynomial("sum", coefficients) => match *coefficients {
            [own, Stored::ONE] => {
                let looped = |node: u32| graph.adjacency.contains(node as usize, node);
                let entry = |node: u32| if looped(node) { own.plus_one() } else { own };
                Some(vec![Operator::Stated("given", diagonal(&entry)), Operator::Follows("edges")])
            }
            _ => None,
        },
        Rule::Polynomial(..) => None,
    }
}

/// A proof as one line; `None` where a tree is none. Classes with the same splits share their sets.
fn node(proof: &NodeProof, most: u64) -> Option<String> {
    let mut line = format!("node {} {}", proof.id, proof.class);
    match &proof.claim {
        Claim::NonRobust(witness) => {
            push(&mut line, format_args!("witness {} {}", witness.class, witness.edges.len()));
            witness.edges.iter().for_each(|(i, j)| push(&mut line, format_args!("{i} {j}")));
        }
        Claim::Robust(proofs) => {
            let mut trees: Vec<(String, Vec<u32>)> = Vec::new();
            for one in proofs {
                let tree = tree(&one.tree)?;
                match trees.iter_mut().find(|(known, _)| *known == tree) {
                    Some((_, classes)) => classes.push(one.class),
                    None => trees.push((tree, vec![one.class])),
                }
            }
            push(&mut line, format_args!("robust {most} {}", trees.len()));
            for (tree, classes) in trees {
                push(&mut line, classes.len());
                classes.iter().for_each(|class| push(&mut line, class));
                line.push_str(&tree);
            }
        }
    }
    Some(line)
}

/// The splits of a tree, `None` where it is no binary tree.
fn tree(steps: &[Step]) -> Option<String> {
    let (mut text, mut missing) = (String::new(), 1_usize);
    for step in steps {
        missing = missing.checked_sub(1)?;
        match step {
            Step::Edge(i, j) => {
                missing += 2;
                push(&mut text, format_args!("S {i} {j}"));
            }
            Step::Singles(_) | Step::Prices(_) | Step::Listed(_) | Step::Carried(_) => push(&mut text, "A"),
            // Of attackers who flip attributes as well, whose proofs are not shown.
            Step::Flips(_) => return None,
        }
    }
    (missing == 0).then_some(text)
}
