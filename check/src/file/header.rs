//! The first line of a file, and whether it may be about the graph that is given.

use std::io;

use gcnproof_files::{GraphFile, ModelFile, PartFile};

use super::summary::Stated;
use crate::collective::CollectiveLine;
use crate::edges::{self, EdgeLine};
use crate::format::lines::Lines;
use crate::format::{Line, longest_header};
use crate::statement::Rule;
use crate::verdict::Reason;

/// Why it makes no sense to read on.
pub(crate) enum Stop {
    /// This line is wrong.
    Wrong(u64, Reason),
    /// The system could not read this line.
    Unreadable(u64, io::Error),
    /// What is stated is not what was asked: the summary says it.
    Unmet,
}

/// The first line. No list in it is longer than what it counts, so that its size is bounded by that of the graph.
pub(crate) fn read_header(lines: &mut Lines, graph: &GraphFile, model: &ModelFile) -> Result<Stated, Stop> {
    let wrong = |reason| Stop::Wrong(1, reason);
    let order = |problem: &str| Reason::Order(problem.into());
    let own = graph.values.as_ref().map_or(0, |values| values.attributes());
    let (nodes, attributes, layers) = (graph.attributes.rows, graph.attributes.columns.max(own), model.layers.len());
    let rules = model.layers.iter().flat_map(|layer| &layer.operators).map(|rule| rule.len() + 3);
    // Every edge may be frozen, and so many may be candidates.
    let (rules, edges) = (rules.sum(), graph.adjacency.indices.len() + edges::most_candidates(nodes));
    let longest = longest_header(nodes, attributes, layers).saturating_add(rules);
    // A file about flips and changed edges at once has both budgets.
    let of_edges = edges::longest_header(nodes, edges, layers.saturating_mul(80).saturating_add(rules));
    let longest = longest.saturating_add(of_edges);
    // A file about one attack may name all nodes besides, and one about ranges two limits of each attribute.
    let longest = longest.saturating_add(nodes.saturating_mul(11)).saturating_add(attributes.saturating_mul(2 * LIMIT));
    // A node has one line, and one with bounds for each layer; some more may be wrong.
    let most = (nodes as u64).saturating_mul(layers as u64).saturating_add(SUPERFLUOUS);
    let line = lines.header(longest, most).map_err(|error| Stop::Unreadable(1, error))?;
    let bytes = line.unwrap_or_else(|| Err(order("the file is empty"))).map_err(wrong)?;
    let others = [r#"{"node":"#, r#"{"unproved":"#, r#"{"bounds":"#, r#"{"end":"#, r#"{"share":"#, r#"{"claim":"#];
    if others.iter().any(|other| bytes.starts_with(other.as_bytes())) {
        return Err(wrong(order("the first line is not a header")));
    }
    // A line with an attack is never about attributes, nor one without about edges: each refuses what the other
    // requires.
    let terms = model.layers.iter().map(|layer| layer.operators.len()).max().unwrap_or(0);
    let most = nodes.max(layers).max(terms);
    if bytes.starts_with(br#"{"collective":"#) {
        return match CollectiveLine::read(&bytes, most.max(attributes)).map_err(wrong)? {
            CollectiveLine::Collective(header) => Ok(Stated::Collective(header)),
            _ => Err(wrong(order("the first line is not a header"))),
        };
    }
    if bytes.windows(ATTACK.len()).any(|part| part == ATTACK) {
        return match EdgeLine::read(&bytes, most.max(edges).max(attributes)).map_err(wrong)? {
            EdgeLine::Header(header) => Ok(Stated::Removals(header)),
            _ => Err(wrong(order("the first line is not a header"))),
        };
    }
    match Line::read(&bytes, most.max(attributes)).map_err(wrong)? {
        Line::Header(header) => Ok(Stated::Flips(header)),
        _ => Err(wrong(order("the first line is not a header"))),
    }
}

/// Bytes of a limit of a range: a float as an integer times a power of two.
const LIMIT: usize = 32;

/// Lines that a file may have besides those that its graph has room for.
const SUPERFLUOUS: u64 = 1024;

/// How a header that is not about attributes names what it is about.
const ATTACK: &[u8] = br#""attack":"#;

/// Refuses proofs about a part that would say nothing about the whole graph: the network must not look beyond the part,
/// nor have numbers of single nodes, and removed edges or one attack for all nodes are not about a part.
pub(super) fn require_part(part: &PartFile, model: &ModelFile, header: &Stated) -> Result<(), Reason> {
    let wrong = |problem: String| Err(Reason::Files(format!("the graph is {}: {problem}", part.words())));
    if !matches!(header, Stated::Flips(_)) {
        return wrong("only proofs against changes of attributes, node by node, can be about a part".into());
    }
    let mut hops = 0;
    for (layer, stated) in model.layers.iter().zip(header.message_passing()) {
        if layer.bias.len() > layer.weight.columns {
            return wrong("the model has biases by node".into());
        }
        let rules = stated.split(" & ").map(Rule::read).collect::<Option<Vec<Rule>>>();
        let Some(rules) = rules.filter(|rules| !rules.iter().any(Rule::has_matrix)) else {
            return wrong("messages are passed by a matrix, whose edges need not be those of the graph".into());
        };
        if layer.pools() {
            return wrong("the model has a readout, and graphs are not cut into parts".into());
        }
        hops += rules.iter().map(Rule::hops).max().unwrap_or(0);
    }
    if hops > part.hops {
        let complete = part.hops;
        return wrong(format!(
            "it is complete up to {complete} edges from its own nodes, but logits depend on nodes {hops} edges away"
        ));
    }
    Ok(())
}
