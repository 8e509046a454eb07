//! The second part of figure 8: which nodes and attributes one attack for the whole graph uses most.

use gcnproof_results::record::attackers::{Attackers, SHOWN, Uses};

use super::collective::Collective;
use super::flips::{Counts, KINDS, ranked};
use super::landscape::{Landscape, attribute_name};
use super::sheet::{Sheet, slug};
use super::whole::{NUMBER, plural};
use crate::chart::figure::{Figure, Numbers};

/// One sheet for each of the results, in their order, with the same axes for all of them.
pub fn sheets(all: &[Collective], landscape: Option<&Landscape>) -> Vec<Sheet> {
    let graph = landscape.map(Landscape::graph);
    let used: Vec<Option<(u64, Attackers)>> = all
        .iter()
        .map(|curve| {
            let row = curve.rows.last().filter(|row| !row.flips.is_empty())?;
            Some((row.q_global, Attackers::new(&row.flips, graph)))
        })
        .collect();
    let most = |list: &[(u32, Uses)]| list.first().map_or(0, |first| first.1.flips());
    // The most flips in one node, and of one attribute.
    let most = used.iter().flatten().fold([1, 1], |[nodes, attributes], (_, used)| {
        [nodes.max(most(&used.nodes)), attributes.max(most(&used.attributes))]
    });
    all.iter().zip(&used).map(|(curve, used)| sheet(curve, used.as_ref(), landscape, most)).collect()
}

/// The nodes and attributes that the attack of the largest budget uses most.
fn sheet(
    curve: &Collective,
    used: Option<&(u64, Attackers)>,
    landscape: Option<&Landscape>,
    [most_of_node, most_of_attribute]: [usize; 2],
) -> Sheet {
    let title = format!("What one attack uses: {}", curve.name);
    let Some((global, used)) = used else {
        return Sheet::missing(NUMBER, &title, "The attack of the largest budget makes no flip.");
    };
    let graph = landscape.map(Landscape::graph);
    let names = |attribute: u32| attribute_name(graph, attribute);
    let node_name = |node: u32| format!("node {node}");
    let mut numbers = Numbers::new(&["model", "Q", "what", "id", "name", "added", "removed", "flipped"]);
    let mut record = |what: &str, list: &[(u32, Uses)], names: Option<&[String]>| {
        for (id, uses) in list {
            let name = names.and_then(|names| names.get(*id as usize)).cloned().unwrap_or_default();
            let [added, removed, unknown] = [uses.added, uses.removed, uses.unknown].map(|count| count.to_string());
            let (model, global) = (curve.name.clone(), global.to_string());
            numbers.push([model, global, what.to_string(), id.to_string(), name, added, removed, unknown]);
        }
    };
    record("node", &used.nodes, graph.and_then(|graph| graph.node_names()));
    record("attribute", &used.attributes, graph.and_then(|graph| graph.attribute_names()));
    let first = |list: &[(u32, Uses)]| -> Vec<(u32, Counts)> {
        list.iter().take(SHOWN).map(|(id, uses)| (*id, [uses.added, uses.removed, uses.unknown])).collect()
    };
    let label = "flips of the attack";
    let plots = vec![
        ranked("Nodes with most flips", label, &first(&used.nodes), most_of_node, &node_name, &KINDS),
        ranked("Attributes with most flips", label, &first(&used.attributes), most_of_attribute, &names, &KINDS),
    ];
    let counts = [used.all.added, used.all.removed, used.all.unknown];
    let deeds: Vec<String> = KINDS
        .iter()
        .zip(counts)
        .filter(|(_, count)| *count > 0)
        .map(|((name, _), count)| format!("{count} {name}"))
        .collect();
    let broken = curve.rows.last().map_or(0, |row| row.broken);
    let unsure = if graph.is_none() {
        " Without the graph (--graph) it is not known which flips add and which remove."
    } else {
        ""
    };
    let caption = format!(
        "The attack of Q = {global} breaks {} with {} ({}): {} in {}. Shown are the first {SHOWN} of each. Other attacks may break as \
         many by other flips.{unsure}",
        plural(broken, "prediction"),
        plural(used.all.flips() as u64, "flip"),
        deeds.join(" and "),
        plural(used.attributes.len() as u64, "different attribute"),
        plural(used.nodes.len() as u64, "node"),
    );
    let name = format!("fig8_uses_{}", slug(&curve.name));
    Figure { number: NUMBER, name, title, caption, plots, columns: 2, height: 320.0, numbers, made: Vec::new() }.into()
}
