//! The statement and its proofs as the verified checker reads them: lines of words, floats as their bits, hints as
//! mantissas and exponents.
//!
//! The statement has to be right. Proofs need not be: whatever is written for them, nothing false is accepted.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::Arc;

use gcnproof_files::{Described, GraphFile, LayerFile, ModelFile, Pattern};

use crate::collective::{CollectiveClaim, CollectiveStatement, Cover, Share, ShareLeaf, WrittenShare};
use crate::format::{
    BoundsLine, Claim, ClassProof, Convention, Deployed, Direction, HintList, Hints, NodeProof, Number, Prices,
    RowSide, Step,
};
use crate::number::Dyadic;
use crate::statement::{Link, Links, Statement};

/// The first line; it names the version of what follows.
pub(crate) const GREETING: &str = "gcnproof-verified 12";

/// Rules whose operators it computes itself.
const COMPUTED_AGAIN: [&str; 9] =
    ["gcn", "gcn-self", "mean", "mean+self", "sum", "sum+self", "identity", "pool-sum", "pool-mean"];

/// Writes what proofs are about: single nodes, or one attack for all of them.
pub(crate) fn statement(of: &Statement, attack: Option<&CollectiveStatement>, to: &mut impl Write) -> io::Result<()> {
    let first_operators = problem(of, to)?;
    match attack {
        None => return each(of.deployed.as_ref(), of.network.model, &first_operators, to),
        Some(CollectiveStatement { attacked_nodes: None, .. }) => write!(to, "attack any ")?,
        Some(CollectiveStatement { attacked_nodes: Some(most), .. }) => write!(to, "attack rows {most} ")?,
    }
    words(attack.into_iter().flat_map(CollectiveStatement::named), to)
}

/// Writes that nodes are looked at one by one, and how the network runs: with as many bits, the layers that do, and by
/// how many units the entries of each of their operators may be wrong.
pub(super) fn each(
    deployed: Option<&Deployed>,
    model: &ModelFile,
    first_operators: &[usize],
    to: &mut impl Write,
) -> io::Result<()> {
    let Some(Deployed { precision, operator_error, flush_subnormals }) = deployed else {
        return writeln!(to, "attack each");
    };
    let subnormals = if *flush_subnormals { "flushed" } else { "gradual" };
    writeln!(to, "attack each deployed {precision} {subnormals}")?;
    if let Some(described) = described(model) {
        return runs(described, model, operator_error, first_operators, to);
    }
    writeln!(to, "runs chain")?;
    operator_error.iter().try_for_each(|errors| {
        write!(to, "wrong ")?;
        words(errors, to)
    })
}

/// The layers that a model describes, where they are not the chain of its weight layers.
fn described(model: &ModelFile) -> Option<&Described> {
    let size = |layer: &LayerFile| {
        let terms = layer.operators.len().max(1);
        (layer.weight.rows / terms, layer.weight.columns, terms)
    };
    let chain = || Described::chain(&model.layers.iter().map(size).collect::<Vec<_>>());
    model.described.as_ref().filter(|described| **described != chain())
}

/// Writes the network that runs: of each layer which layer of the chain has it from which unit on, and of each term
/// which layer it reads, its operator, by how much entries may be wrong, and its weights, with the place where they
/// stand in the chain; and where others were folded into numbers, how many roundings more their parts pass, and their
/// sizes.
fn runs(
    described: &Described,
    model: &ModelFile,
    operator_error: &[Vec<u32>],
    first_operators: &[usize],
    to: &mut impl Write,
) -> io::Result<()> {
    writeln!(to, "runs {}", described.layers.len())?;
    for (at, of) in described.layers.iter().enumerate() {
        let (chain, outputs, last) = (&model.layers[of.layer], of.outputs, at + 1 == described.layers.len());
        let rows = chain.bias.len() / chain.weight.columns;
        let linear = |unit: usize| last || chain.linear.get(of.first + unit).copied().unwrap_or(false);
        let letters: String = (0..outputs).map(|unit| if linear(unit) { '0' } else { '1' }).collect();
        let sizes = of.bias_magnitude.as_deref().unwrap_or_default();
        let parts = format!("{} {}", of.bias_roundings, sizes.len() / outputs);
        writeln!(to, "stage {} {} {outputs} {} {rows} {letters} {parts}", of.layer, of.first, of.terms.len())?;
        for term in &of.terms {
            let weight = &model.layers[term.weight.layer].weight;
            let inputs = weight.rows / model.layers[term.weight.layer].operators.len().max(1);
            let units = term.source.map_or(inputs, |source| described.layers[source].outputs);
            let source = term.source.map_or(0, |source| source + 1);
            let operator = first_operators[of.layer] + term.operator;
            let [from, column] = [term.weight.row % inputs, term.weight.column];
            let error = operator_error[of.layer][term.operator];
            let (among, more) = (term.operator, term.roundings);
            let parts = if term.magnitude.is_some() { "parts" } else { "whole" };
            writeln!(to, "reads {source} {operator} {error} {units} {among} {from} {column} {more} {parts}")?;
            for row in term.weight.row..term.weight.row + units {
                numbers(&weight.values[row * weight.columns + column..][..outputs], outputs, to)?;
            }
            numbers(term.magnitude.as_deref().unwrap_or_default(), outputs, to)?;
        }
        for row in chain.bias.chunks(chain.weight.columns) {
            numbers(&row[of.first..][..outputs], outputs, to)?;
        }
        numbers(sizes, outputs, to)?;
    }
    Ok(())
}

/// Writes the graph, the network and the budget. Returns the place of the first operator of each layer.
fn problem(of: &Statement, to: &mut impl Write) -> io::Result<Vec<usize>> {
    let Statement { network, budget, .. } = of;
    let (attributes, categories) = (&network.graph.attributes, network.graph.categories.as_ref());
    // Changes of categories are attributes beyond those of the file, with terms of their own; they are derived there
    // again.
    let width = categories.map_or(attributes.columns, |categories| categories.attributes());
    graph(network.graph, width, Some(attributes), to)?;
    let layers = network.layers.iter().zip(&network.rules);
    let layers = layers.map(|(layer, rules)| (&layer.links, rules.iter().map(String::as_str).collect())).collect();
    let first_operators = operators(attributes.rows, layers, to)?;
    writeln!(to, "layers {}", network.layers.len())?;
    for (at, (layer, file)) in network.layers.iter().zip(&network.model.layers).enumerate() {
        let (outputs, terms) = (network.widths[at + 2], file.operators.len().max(1));
        let inputs = if at == 0 { width } else { layer.weight.len() };
        let weights = |term: usize| &file.weight.values[term * inputs * outputs..][..inputs * outputs];
        let terms = (0..terms).map(|term| (first_operators[at] + term, weights(term).into())).collect();
        let relu = (0..outputs).map(|unit| !network.is_linear(at + 2, unit)).collect();
        WrittenLayer { inputs, terms, bias: &file.bias, relu }.write(to)?;
    }
    let direction = if categories.is_some() { Direction::Both } else { budget.direction() };
    writeln!(to, "budget {} {direction}", budget.global)?;
    write!(to, "each ")?;
    words((0..attributes.rows).map(|node| budget.local(node as u32)), to)?;
    write!(to, "frozen ")?;
    words(&budget.frozen_attributes, to)?;
    write!(to, "groups ")?;
    let group = |group: &Option<u32>| group.map_or("-".into(), |group| group.to_string());
    words(categories.iter().flat_map(|categories| categories.groups.iter().map(group)), to)?;
    reference(network.graph, of.classes, to)?;
    Ok(first_operators)
}

/// Writes the first line, attributes and edges, and which node belongs to which graph. Without entries attributes are
/// numbers, which are stated elsewhere.
pub(super) fn graph(graph: &GraphFile, width: usize, entries: Option<&Pattern>, to: &mut impl Write) -> io::Result<()> {
    let nodes = graph.attributes.rows;
    writeln!(to, "{GREETING}\ngraph {nodes} {width}")?;
    for node in 0..nodes {
        words(entries.map_or(&[][..], |entries| entries.row(node)), to)?;
    }
    for node in 0..nodes {
        words(graph.adjacency.row(node), to)?;
    }
    write!(to, "batch ")?;
    words(graph.batch.iter().flatten(), to)
}

/// A layer as it is written.
pub(super) struct WrittenLayer<'a> {
    pub(super) inputs: usize,
    /// The place of each term's operator, and its weights.
    pub(super) terms: Vec<(usize, Cow<'a, [f64]>)>,
    /// Of all nodes, or of each.
    pub(super) bias: &'a [f64],
    /// Has a unit an activation? What the last layer says of its units is never used.
    pub(super) relu: Vec<bool>,
}

impl WrittenLayer<'_> {
    pub(super) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let WrittenLayer { inputs, terms, bias, relu } = self;
        let (outputs, count) = (relu.len(), terms.len());
        let letters: String = relu.iter().map(|&relu| if relu { '1' } else { '0' }).collect();
        writeln!(to, "layer {inputs} {outputs} {count} {} {letters}", bias.len() / outputs)?;
        for (operator, weights) in terms {
            writeln!(to, "term {operator}")?;
            numbers(weights, outputs, to)?;
        }
        numbers(bias, outputs, to)
    }
}

/// Writes numbers in rows.
fn numbers(list: &[f64], columns: usize, to: &mut impl Write) -> io::Result<()> {
    list.chunks(columns).try_for_each(|row| words(row.iter().map(|x| Bits(x.to_bits())), to))
}

/// Writes how rows are divided, and which classes are to be kept.
pub(super) fn reference(graph: &GraphFile, classes: Convention, to: &mut impl Write) -> io::Result<()> {
    match graph.normalisation.bits() {
        0 => writeln!(to, "rows plain")?,
        bits => writeln!(to, "rows {bits}")?,
    }
    if classes == Convention::Predicted {
        return writeln!(to, "classes predicted");
    }
    write!(to, "classes labels ")?;
    let label = |node: usize| graph.labels.as_ref().and_then(|labels| labels[node]);
    words((0..graph.attributes.rows).map(|node| label(node).map_or("-".into(), |label| label.to_string())), to)
}

/// Writes all operators, each once, and returns the place of each layer's first. Layers have the rules of their terms.
pub(super) fn operators(
    nodes: usize,
    layers: Vec<(&Arc<Links>, Vec<&str>)>,
    to: &mut impl Write,
) -> io::Result<Vec<usize>> {
    let (mut firsts, mut known, mut count) = (Vec::new(), Vec::new(), 0);
    for (links, rules) in layers {
        let same = known.iter().find(|(other, _, _)| Arc::ptr_eq(other, links)).map(|(_, first, _)| *first);
        firsts.push(same.unwrap_or(count));
        if same.is_none() {
            let terms = rules.len();
            known.push((links.clone(), count, rules));
            count += terms;
        }
    }
    writeln!(to, "operators {count}")?;
    for (links, _, rules) in &known {
        for (term, rule) in rules.iter().enumerate() {
            // The entries are stated in any case; those of these rules are computed there as well, and compared.
            let known = COMPUTED_AGAIN.contains(rule);
            writeln!(to, "operator {}", if known { rule } else { "given" })?;
            for node in 0..nodes {
                let stated = |link: &&Link| link.term as usize == term && !link.entry.is_zero();
                let row = links.row(node as u32).iter().filter(stated);
                words(row.map(|link| format!("{} {:x}", link.at, link.entry.bits())), to)?;
            }
        }
    }
    Ok(firsts)
}

/// The bits of a float.
struct Bits(u64);

impl std::fmt::Display for Bits {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

pub(super) fn words<T: std::fmt::Display>(list: impl IntoIterator<Item = T>, to: &mut impl Write) -> io::Result<()> {
    for (at, word) in list.into_iter().enumerate() {
        write!(to, "{}{word}", if at > 0 { " " } else { "" })?;
    }
    writeln!(to)
}

/// The prices of the changes of units: as a file states them, or the best, which the verified checker finds itself.
#[derive(Clone, Copy)]
pub(crate) enum ReachPrices {
    Stated,
    Best,
}

/// The claim of a node whose leaves are all hints, as one line; `None` where one is not. `prices` are those of a leaf
/// by its class and its place in the tree.
pub(crate) fn node(proof: &NodeProof, prices: impl Fn(u32, usize) -> ReachPrices) -> Option<String> {
    let mut line = format!("node {} {}", proof.id, proof.class);
    match &proof.claim {
        Claim::Robust(trees) => {
            push(&mut line, format_args!("robust {}", trees.len()));
            trees.iter().try_for_each(|one| tree(&mut line, one, |at| prices(one.class, at)))?;
        }
        Claim::NonRobust(witness) => {
            push(&mut line, format_args!("witness {} {}", witness.class, witness.flips.len()));
            witness.flips.iter().for_each(|(node, attribute)| push(&mut line, format_args!("{node} {attribute}")));
        }
    }
    Some(line)
}

/// A class and its tree, whose leaves are all hints; `None` where one is not.
pub(crate) fn tree(line: &mut String, of: &ClassProof, prices: impl Fn(usize) -> ReachPrices) -> Option<()> {
    push(line, of.class);
    for (at, step) in of.tree.iter().enumerate() {
        match step {
            Step::Unit(layer, node, unit) => push(line, format_args!("U {layer} {node} {unit}")),
            Step::Flip(node, attribute) => push(line, format_args!("F {node} {attribute}")),
            Step::Hints(stated) => hints(line, stated, prices(at)),
            Step::Row(node, count, RowSide::Added) => push(line, format_args!("R {node} {count} added")),
            Step::Row(node, count, RowSide::Removed) => push(line, format_args!("R {node} {count} removed")),
            Step::Leaf(_) => return None,
        }
    }
    Some(())
}

/// A share line whose leaves are all hints.
pub(crate) fn share(of: &Share, written: &WrittenShare) -> String {
    let WrittenShare { leaves, sizes } = written;
    let mut line = format!("share {} {} {} {} {}", of.id, of.class, of.weight, of.size, sizes.flips);
    whole_prices(&mut line, sizes.price, &sizes.prices);
    push(&mut line, leaves.len());
    for (class, stated) in leaves {
        push(&mut line, class);
        let is_stated = of.leaves.iter().any(|(of, leaf)| of == class && matches!(leaf, ShareLeaf::Hints(_)));
        hints(&mut line, stated, if is_stated { ReachPrices::Stated } else { ReachPrices::Best });
    }
    push(&mut line, of.covers.len());
    for Cover { weight, made } in &of.covers {
        push(&mut line, format_args!("{weight} {}", made.len()));
        made.iter().for_each(|(node, attribute)| push(&mut line, format_args!("{node} {attribute}")));
    }
    line
}

/// The claim at the end.
pub(crate) fn claim(of: &CollectiveClaim) -> String {
    let mut line = format!("claim {}", of.bound);
    whole_prices(&mut line, of.price, &of.prices);
    push(&mut line, if of.components { "components" } else { "whole" });
    line
}

fn whole_prices<T: std::fmt::Display>(line: &mut String, every: T, nodes: &[(u32, T)]) {
    push(line, format_args!("{every} {}", nodes.len()));
    nodes.iter().for_each(|(node, price)| push(line, format_args!("{node} {price}")));
}

/// A line of bounds.
pub(crate) fn bounds(stated: &BoundsLine, prices: ReachPrices) -> String {
    let mut line = format!("bounds {} {}", stated.layer, stated.node);
    reach(&mut line, &stated.reach, prices);
    push(&mut line, stated.units.len());
    for (unit, lower, upper) in &stated.units {
        push(&mut line, unit);
        for HintList(list) in [lower, upper] {
            push(&mut line, list.len());
            list.iter().for_each(|one| hints(&mut line, one, prices));
        }
    }
    line
}

pub(super) fn push(line: &mut String, word: impl std::fmt::Display) {
    // Writing to a text does not fail.
    let _ = write!(line, " {word}");
}

fn number(line: &mut String, Number(x): &Number) {
    dyadic(line, x);
}

pub(super) fn dyadic(line: &mut String, x: &Dyadic) {
    let reduced = x.reduced();
    let (mantissa, exponent) = reduced.parts();
    push(line, format_args!("{mantissa} {exponent}"));
}

fn prices(line: &mut String, Prices(every, nodes): &Prices) {
    number(line, every);
    by_node(line, nodes);
}

fn by_node(line: &mut String, nodes: &[(u32, Number)]) {
    push(line, nodes.len());
    for (node, price) in nodes {
        push(line, node);
        number(line, price);
    }
}

fn reach(line: &mut String, list: &[(u32, u32, Prices, Prices)], are: ReachPrices) {
    if matches!(are, ReachPrices::Best) {
        return push(line, "best");
    }
    push(line, list.len());
    for (node, unit, up, down) in list {
        push(line, format_args!("{node} {unit}"));
        prices(line, up);
        prices(line, down);
    }
}

/// Bends by levels, or lines by levels that bends rest on: a weight or a slope, a level and prices.
fn levels(line: &mut String, list: &[(u32, u32, Number, Number, Prices)]) {
    push(line, list.len());
    for (node, unit, weight, level, paid) in list {
        push(line, format_args!("{node} {unit}"));
        number(line, weight);
        number(line, level);
        prices(line, paid);
    }
}

fn hints(line: &mut String, stated: &Hints, are: ReachPrices) {
    push(line, "L");
    push(line, stated.slopes.len());
    for (layer, node, unit, slope) in &stated.slopes {
        push(line, format_args!("{layer} {node} {unit}"));
        number(line, slope);
    }
    push(line, stated.lines.len());
    for (node, unit, rise, fall) in &stated.lines {
        push(line, format_args!("{node} {unit}"));
        number(line, rise);
        number(line, fall);
    }
    reach(line, &stated.reach, are);
    levels(line, &stated.levels);
    push(line, stated.envelopes.len());
    for (node, unit, weight, every, nodes, flips) in &stated.envelopes {
        push(line, format_args!("{node} {unit}"));
        number(line, weight);
        number(line, every);
        by_node(line, nodes);
        push(line, flips.len());
        for (node, attribute, price) in flips {
            push(line, format_args!("{node} {attribute}"));
            number(line, price);
        }
    }
    levels(line, &stated.supports);
    levels(line, &stated.nested);
    prices(line, &stated.price);
}
