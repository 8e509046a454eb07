//! The section of the graphs that break: each drawn with what the smallest attack known flips, removes and inserts.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;

use gcnproof::edges::Edge;
use gcnproof::internals::problem::matrix::PatternRows;

use crate::Report;
use crate::chart::layout::layout;
use crate::chart::svg::escaped;
use crate::edges::{EdgeAttack, EdgeChange};
use crate::group::{Attacked, Group};
use crate::landscape::{Landscape, attribute_name, class_name};
use crate::row::Witness;
use crate::whole::plural;

/// Graphs that are drawn for a model, those with the smallest attacks first.
const DRAWN: usize = 24;

/// Larger ones are passed over: nothing would be seen.
const MOST_NODES: usize = 400;

/// Nodes whose flips, and edges, that a caption lists.
const LISTED: usize = 4;

/// The side of a drawing, and what stays empty at its rim.
const SIDE: f64 = 190.0;
const RIM: f64 = 14.0;

/// Writes the section; nothing if nodes are classified, or the graphs are not known.
pub fn section(page: &mut String, report: &Report) {
    let Some(landscape) = report.landscape.as_ref().filter(|landscape| landscape.graph().batch().is_some()) else {
        return;
    };
    let graph = landscape.graph();
    let mut drawings = String::new();
    for group in &report.groups.groups {
        let mut broken: Vec<(u64, &Witness)> = group.witnesses().into_iter().collect();
        broken.retain(|(target, of)| !of.is_empty() && graph.nodes_of(*target as usize).len() <= MOST_NODES);
        if broken.is_empty() {
            continue;
        }
        broken.sort_by_key(|(target, witness)| (witness.len(), *target));
        let shown = broken.len().min(DRAWN);
        let nodes = match (group.attacked, graph.categories()) {
            (Attacked::Edges(_), _) => "",
            (Attacked::Moves, _) => " Nodes whose attributes are moved are filled.",
            (_, Some(_)) => " Nodes whose categories are changed are filled.",
            (_, None) => " Nodes whose attributes are flipped are filled.",
        };
        let edges = match group.attacked.edges() {
            None => "",
            Some(EdgeAttack::Remove) => " Removed edges are red and dashed.",
            Some(EdgeAttack::Insert) => " Inserted edges are green and dashed.",
            Some(EdgeAttack::Change) => " Removed edges are red and dashed, inserted ones green and dashed.",
        };
        let _ = writeln!(
            drawings,
            "<h3>{}</h3><p class=\"soft\">{shown} of {} graphs for which an attack is known, smallest attacks first.{nodes}{edges}\
             </p><div class=\"molecules\">",
            escaped(&group.name),
            broken.len(),
        );
        for (target, witness) in &broken[..shown] {
            drawing(&mut drawings, landscape, group, *target, witness);
        }
        drawings.push_str("</div>\n");
    }
    if !drawings.is_empty() {
        let _ = write!(page, "<section id=\"graphs\"><h2>Graphs that break</h2>\n{drawings}</section>\n");
    }
}

/// The edges that an attack changes between these nodes, and how.
fn changed_edges(
    landscape: &Landscape,
    group: &Group,
    witness: &Witness,
    nodes: &Range<usize>,
) -> Vec<(Edge, EdgeChange)> {
    let Some(attack) = group.attacked.edges() else { return Vec::new() };
    let there = |edge: &&Edge| nodes.contains(&(edge.0 as usize)) && nodes.contains(&(edge.1 as usize));
    witness.edges().iter().filter(there).map(|&edge| (edge, attack.change(edge, Some(landscape)))).collect()
}

fn line(page: &mut String, [(x1, y1), (x2, y2)]: [(f64, f64); 2], style: &str) {
    let _ = write!(page, "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" {style}/>");
}

/// One graph.
fn drawing(page: &mut String, landscape: &Landscape, group: &Group, target: u64, witness: &Witness) {
    let (graph, flips) = (landscape.graph(), witness.flips());
    let nodes = graph.nodes_of(target as usize);
    let first = nodes.start as u32;
    let neighbours: Vec<Vec<u32>> = nodes
        .clone()
        .map(|node| graph.adjacency().row(node).iter().map(|other| other - first).collect::<Vec<u32>>())
        .collect();
    let laid = layout(&neighbours);
    let scale = (SIDE - 2.0 * RIM) / laid.size.0.max(laid.size.1).max(1e-9);
    let at = |node: usize| (RIM + scale * laid.points[node].0, RIM + scale * laid.points[node].1);
    let mut deeds: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    let moved = group.attacked == Attacked::Moves;
    for (at, flip) in flips.iter().enumerate().filter(|(_, flip)| nodes.contains(&(flip.node as usize))) {
        let present = graph.attributes().contains(flip.node as usize, flip.attribute);
        let sign = match (graph.categories(), present) {
            _ if moved => "",
            (Some(_), _) => "",
            (None, true) => "− ",
            (None, false) => "+ ",
        };
        let values = witness.values().get(at).map(|new| format!(" from {} to {new}", landscape.value(flip)));
        let (name, values) = (attribute_name(Some(graph), flip.attribute), values.unwrap_or_default());
        deeds.entry(flip.node).or_default().push(format!("{sign}{name}{values}"));
    }
    let row = group.headline().and_then(|run| run.rows.iter().find(|row| row.node == target));
    let class = row.map_or(String::new(), |row| format!(", {}", class_name(Some(graph), row.predicted)));
    let alone = !moved && graph.categories().is_none() && group.attacked.edges().is_none();
    let change = if alone { "flip" } else { "change" };
    let size = plural(nodes.len() as u64, "node");
    let label = escaped(&format!("graph {target}{class}: {} in {size}", plural(witness.len() as u64, change)));
    // A touch screen has no pointer to rest on a node.
    let told = |(node, list): (&u32, &Vec<String>)| format!("node {node}: {}", list.join(", "));
    let edges = changed_edges(landscape, group, witness, &nodes);
    let all = deeds.iter().map(told).chain(edges.iter().map(|(edge, change)| {
        let verb = if *change == EdgeChange::Inserted { "insert" } else { "remove" };
        format!("{verb} the edge {} – {}", edge.0, edge.1)
    }));
    let more = if deeds.len() + edges.len() > LISTED { "; …" } else { "" };
    let listed: Vec<String> = all.take(LISTED).collect();
    let listed = escaped(&format!("{}{more}", listed.join("; ")));
    let _ = write!(
        page,
        "<figure class=\"molecule\"><svg viewBox=\"0 0 {SIDE} {SIDE}\" width=\"{SIDE}\" height=\"{SIDE}\" role=\"img\" aria-label=\"{label}\">"
    );
    for (node, list) in neighbours.iter().enumerate() {
        for &other in list.iter().filter(|other| **other as usize > node) {
            line(page, [at(node), at(other as usize)], "stroke=\"#888\" stroke-width=\"1.5\"");
        }
    }
    for (edge, change) in edges {
        let ink = if change == EdgeChange::Inserted { "#009e73" } else { "#d55e00" };
        let style = format!("stroke=\"{ink}\" stroke-width=\"3\" stroke-dasharray=\"6 4\"");
        line(page, [edge.0, edge.1].map(|end| at((end - first) as usize)), &style);
    }
    for node in nodes.clone() {
        let (x, y) = at(node - nodes.start);
        let (fill, size, told) = match deeds.get(&(node as u32)) {
            Some(deeds) => ("#b3261e", 6.5, format!("node {node}: {}", deeds.join(", "))),
            None => ("#fff", 4.5, format!("node {node}")),
        };
        let _ = write!(
            page,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{size}\" fill=\"{fill}\" stroke=\"#555\"><title>{}</title></circle>",
            escaped(&told)
        );
    }
    let _ = writeln!(page, "</svg><figcaption>{label}<br>{listed}</figcaption></figure>");
}
