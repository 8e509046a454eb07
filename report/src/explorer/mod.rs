//! The explorer of the page: what its script needs to know of the graph and of each model, as compact JSON.
//!
//! [`knowledge`] says at which `Q` a node is safe or broken, [`attack`] what each flip does to the margin, [`packed`]
//! writes many numbers in few characters.

pub mod attack;
pub mod knowledge;
pub mod packed;

use attack::Attacks;
use gcnproof::internals::problem::forward::Representation;
use gcnproof::internals::problem::matrix::PatternRows;
use knowledge::Knowledge;
use serde_json::{Value, json};

use super::group::Group;
use super::landscape::{Landscape, class_name};
use crate::chart::layout::layout;

/// The largest coordinate of the map.
const FINEST: f64 = 65535.0;

/// Larger graphs are not drawn: the page would be too large, and the map a blot.
const MOST_NODES: usize = 60_000;
const MOST_EDGES: usize = 500_000;

/// Can the graph be drawn?
pub fn is_drawable(landscape: &Landscape) -> bool {
    let graph = landscape.graph();
    // Rows are about graphs, and a map has places for nodes.
    if graph.batch().is_some() {
        return false;
    }
    let ends: usize = (0..graph.node_count()).map(|node| graph.degree(node)).sum();
    graph.node_count() <= MOST_NODES && ends / 2 <= MOST_EDGES
}

/// The graph: a place for each node on the map, and every edge once.
pub fn map(landscape: &Landscape) -> Value {
    let graph = landscape.graph();
    let nodes = graph.node_count();
    let neighbours: Vec<Vec<u32>> = (0..nodes).map(|node| graph.adjacency().row(node).to_vec()).collect();
    let map = layout(&neighbours);
    let scale = FINEST / map.size.0.max(map.size.1).max(1e-9);
    let whole = |x: f64| (scale * x).round().clamp(0.0, FINEST) as u16;
    let places = map.points.iter().flat_map(|p| [whole(p.0), whole(p.1)]);
    let edges = neighbours.iter().enumerate().flat_map(|(node, list)| {
        list.iter().filter(move |other| **other as usize > node).flat_map(move |other| [node as u32, *other])
    });
    json!({
        "nodes": nodes,
        "size": [whole(map.size.0), whole(map.size.1)],
        "places": packed::base64(places.flat_map(u16::to_le_bytes)),
        "edges": packed::base64(edges.flat_map(u32::to_le_bytes)),
    })
}

/// One model: what is known at each `Q`, margins, and what flips contribute. `nodes` are the rows of its table.
pub fn model(
    group: &Group,
    landscape: Option<&Landscape>,
    logits: Option<&Representation>,
    knowledge: &Knowledge,
    attacks: &Attacks,
    nodes: &[u64],
) -> Value {
    let row_of = |node: &u64| knowledge.of(*node);
    let number = |q: Option<u64>| q.map_or(-1, |q| i64::try_from(q).unwrap_or(i64::MAX));
    let graph = landscape.map(Landscape::graph);
    let classes = class_count(group, logits);
    let names: Vec<String> = (0..classes as u64).map(|class| class_name(graph, class)).collect();
    let mut told = json!({
        "limit": knowledge.limit,
        "start": knowledge.start,
        "certified": nodes.iter().map(|n| number(row_of(n).certified)).collect::<Vec<_>>(),
        "attacked": nodes.iter().map(|n| number(row_of(n).attacked)).collect::<Vec<_>>(),
        "classes": names,
    });
    if let Some(margins) = margins(group, logits, nodes, classes) {
        told["margins"] = margins;
    }
    // Nodes without a row are on the map all the same; the network knows their class.
    if let Some(logits) = logits {
        let class =
            |node: usize| logits.row(node).iter().enumerate().max_by(|x, y| x.1.total_cmp(y.1)).map(|best| best.0);
        let count = landscape.map_or(0, |landscape| landscape.graph().target_count());
        told["classOf"] = json!((0..count).map(|node| class(node).map_or(-1, |c| c as i64)).collect::<Vec<_>>());
    }
    if attacks.weighed {
        let known: Vec<_> = nodes.iter().map(|node| attacks.of(*node)).collect();
        let changes = known.iter().flatten().flat_map(|attack| &attack.changes);
        told["effects"] = json!(packed::base64(changes.flat_map(|x| (*x as f32).to_le_bytes())));
        told["against"] = json!(known.iter().map(|a| a.map_or(-1, |a| a.class as i64)).collect::<Vec<_>>());
    }
    told
}

fn class_count(group: &Group, logits: Option<&Representation>) -> usize {
    let rows = || group.verdicts.iter().flat_map(|verdicts| &verdicts.rows);
    let named = rows().flat_map(|row| row.margins.iter().map(|margin| margin.class).chain([row.predicted]));
    let radii = group.radii.iter().flat_map(|radii| radii.rows.iter().map(|row| row.predicted));
    let seen = named.chain(radii).max().map_or(0, |class| class as usize + 1);
    logits.map_or(seen, |logits| logits.width.max(seen))
}

/// The margins of every node against every class: proved, attacked, unperturbed, and exact where that is known.
fn margins(group: &Group, logits: Option<&Representation>, nodes: &[u64], classes: usize) -> Option<Value> {
    let headline = group.headline()?;
    let rows: std::collections::BTreeMap<u64, _> = headline.rows.iter().map(|row| (row.node, row)).collect();
    let mut lower = vec![f32::NAN; nodes.len() * classes];
    let (mut upper, mut clean) = (lower.clone(), lower.clone());
    let mut exact: Vec<Value> = Vec::new();
    for (at, node) in nodes.iter().enumerate() {
        let Some(row) = rows.get(node) else { continue };
        let logits = logits.filter(|l| (*node as usize) * l.width < l.value.len()).map(|l| l.row(*node as usize));
        for margin in &row.margins {
            let place = at * classes + margin.class as usize;
            lower[place] = margin.lower.map_or(f32::NAN, packed::below);
            upper[place] = margin.upper.map_or(f32::NAN, packed::above);
            // Bound and attack meet, up to what is shown of them: that is the exact margin.
            if let (Some(low), Some(high)) = (margin.lower, margin.upper)
                && high - low <= 1e-9 * high.abs().max(1.0)
            {
                exact.push(json!([at, margin.class, high]));
            }
            if let Some(logits) = logits
                && let (Some(own), Some(other)) =
                    (logits.get(row.reference as usize), logits.get(margin.class as usize))
            {
                clean[place] = (own - other) as f32;
            }
        }
    }
    // The sample of class pairs was measured at one Q: it speaks of these margins only if it is theirs.
    if group.pairs_global.is_some() && group.pairs_global == headline.global {
        for pair in &group.pairs {
            if let (Some(truth), Ok(at)) = (pair.truth(), nodes.binary_search(&pair.node)) {
                exact.push(json!([at, pair.class, truth]));
            }
        }
    }
    let pack = |list: Vec<f32>| packed::base64(list.into_iter().flat_map(f32::to_le_bytes));
    let known = clean.iter().any(|x| !x.is_nan());
    Some(json!({
        "Q": headline.global, "lower": pack(lower), "upper": pack(upper),
        "clean": if known { json!(pack(clean)) } else { Value::Null }, "exact": exact,
    }))
}
