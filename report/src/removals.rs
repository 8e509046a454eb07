//! Rows about removed edges as the report has rows: an edge stands in the place of a flip, by its two ends, and words about flips become words
//! about removals.

use gcnproof::edges::{Edge, EdgeReason};
use gcnproof::internals::certify::verdict::Reason;
use gcnproof::internals::problem::flip::Flip;
use gcnproof_results::record::description::LocalRecord;
use gcnproof_results::record::edges::{EdgeBudgetRecord, EdgeRadiusRecord, EdgeRecord};
use gcnproof_results::record::{FlipColumns, NodeRecord, RadiusRecord};

use super::landscape::Landscape;
use super::sheet::Sheet;

fn ends(edges: &[Edge]) -> Vec<Flip> {
    edges.iter().map(|edge| Flip { node: edge.0, attribute: edge.1 }).collect()
}

/// The step that stands for a reason; [`step_name`] and [`reason_name`] give it its name back.
fn step(reason: EdgeReason) -> Reason {
    match reason {
        EdgeReason::PricedBound => Reason::AnchoredBound,
        EdgeReason::Listed => Reason::MixedBounds,
        EdgeReason::BranchAndBound => Reason::BranchAndPrice,
        EdgeReason::Witness => Reason::Witness,
        EdgeReason::Tie => Reason::Tie,
        EdgeReason::BoundNotPositive => Reason::BoundNotPositive,
        EdgeReason::Limit => Reason::Limit,
        other => unreachable!("{other:?} has no step"),
    }
}

/// What such a step is called.
pub fn step_name(reason: Reason) -> &'static str {
    match reason {
        Reason::AnchoredBound => "bound by prices",
        Reason::MixedBounds => "all sets listed",
        Reason::BranchAndPrice => "branch and bound",
        other => super::cost::step_name(other),
    }
}

/// The same as files have it.
pub fn reason_name(reason: Reason) -> &'static str {
    match reason {
        Reason::AnchoredBound => EdgeReason::PricedBound.name(),
        Reason::MixedBounds => EdgeReason::Listed.name(),
        Reason::BranchAndPrice => EdgeReason::BranchAndBound.name(),
        other => other.name(),
    }
}

/// Rows of `certify --edges`. How many nodes a node depends on is not in them: [`measure`] counts them.
pub fn nodes(rows: Vec<EdgeRecord>) -> Vec<NodeRecord> {
    let node = |row: EdgeRecord| NodeRecord {
        node: row.node,
        label: row.label,
        predicted: row.predicted,
        reference: row.reference,
        degree: row.degree,
        relevant: 0,
        verdict: row.verdict,
        reason: step(row.reason),
        search_nodes: row.search_nodes,
        limit_hit: row.limit_hit,
        margins: row.margins,
        witness: ends(&row.witness),
        seconds: row.seconds,
        exact_margins: row.exact_margins,
        own: FlipColumns::default(),
        contradiction: None,
    };
    rows.into_iter().map(node).collect()
}

/// Rows of `radius --edges`.
pub fn radii(rows: Vec<EdgeRadiusRecord>) -> Vec<RadiusRecord> {
    let radius = |row: EdgeRadiusRecord| RadiusRecord {
        node: row.node,
        label: row.label,
        predicted: row.predicted,
        degree: row.degree,
        relevant: 0,
        certified: row.certified,
        attacked: row.attacked,
        witness: ends(&row.witness),
        seconds: row.seconds,
        contradiction: None,
    };
    rows.into_iter().map(radius).collect()
}

/// Nodes within two edges of a node: all that the logits of a network with one hidden layer depend on.
pub fn measure(landscape: &Landscape, node: u64) -> u64 {
    let graph = landscape.graph();
    let Some(node) = u32::try_from(node).ok().filter(|node| (*node as usize) < graph.node_count()) else { return 0 };
    graph.rings(node).take(3).map(|ring| ring.len() as u64).sum()
}

/// The budget but for `E`, in a few words.
pub fn budget(budget: &EdgeBudgetRecord) -> String {
    let local = match &budget.local {
        LocalRecord::PerNode(_) => "e by node".to_string(),
        LocalRecord::Uniform(e) if *e >= u64::from(u32::MAX) => "any number of edges at a node".to_string(),
        LocalRecord::Uniform(e) => format!("e = {e}"),
    };
    let last = if budget.keep_one { ", every node keeps an edge" } else { ", last edges too" };
    let frozen = budget.frozen.len();
    let frozen = if frozen > 0 { format!(", {frozen} edges frozen") } else { String::new() };
    format!("removed edges, {local}{last}{frozen}")
}

/// Words that speak of flips, and what stands for them.
const WORDS: [(&str, &str); 4] =
    [("Q", "E"), ("flips", "removed edges"), ("flip", "removed edge"), ("certified_Q", "certified_E")];

/// Words about flips as words about removed edges.
pub fn words(text: &str) -> String {
    let mut told = String::with_capacity(text.len());
    let mut word = String::new();
    for letter in text.chars().chain(['\n']) {
        if letter.is_alphanumeric() || letter == '_' {
            word.push(letter);
            continue;
        }
        told += WORDS.iter().find(|(from, _)| *from == word).map_or(word.as_str(), |(_, to)| to);
        word.clear();
        told.push(letter);
    }
    told.pop();
    told
}

/// A figure about flips as one about removed edges. Names of models stay as they are.
pub fn sheet(sheet: Sheet, names: &[&str]) -> Sheet {
    let around = |text: &str| match names
        .iter()
        .filter(|name| !name.is_empty())
        .find_map(|name| text.split_once(name).map(|parts| (parts, name)))
    {
        Some(((before, after), name)) => format!("{}{name}{}", words(before), words(after)),
        None => words(text),
    };
    match sheet {
        Sheet::Missing { number, title, why } => Sheet::Missing { number, title: around(&title), why: words(&why) },
        Sheet::Drawn(mut figure) => {
            figure.title = around(&figure.title);
            figure.caption = around(&figure.caption);
            for plot in &mut figure.plots {
                plot.title = words(&plot.title);
                plot.x.label = words(&plot.x.label);
                plot.y.label = words(&plot.y.label);
                plot.marks.iter_mut().for_each(|mark| mark.name = around(&mark.name));
            }
            figure.numbers.header.iter_mut().for_each(|name| *name = words(name));
            Sheet::Drawn(figure)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_about_flips_become_words_about_edges() {
        assert_eq!(words("Q: flips in all"), "E: removed edges in all");
        assert_eq!(words("No Q above 5, a flip; gcn-Q5"), "No E above 5, a removed edge; gcn-Q5");
        assert_eq!(words(""), "");
    }
}
