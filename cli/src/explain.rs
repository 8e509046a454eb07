//! `gcnproof explain`: prints what the verdict on one node rests on.

use std::fmt::Write;
use std::time::{Duration, Instant};

use clap::Args;
use gcnproof::edges::EdgeCertifier;
use gcnproof::internals::explain::{Composition, StrongestAttack};
use gcnproof::{Budget, Effort, Explanation, Graph, Limits, Network, Problem, explain};
use gcnproof_report::landscape::{attribute_name, class_name};
use gcnproof_results::record::NodeRecord;
use gcnproof_results::record::description::{BudgetRecord, Identity};
use gcnproof_results::record::edges::{EdgeBudgetRecord, EdgeRecord};
use gcnproof_run::edges::problem;
use miette::{IntoDiagnostic, Result, miette};
use serde_json::{Value, json};

use super::deployed::{DeployedArguments, note_rounding};
use super::edges::{self, EdgeArguments, OF_FLIPS};
use super::input::{Input, LocalArguments, flips};
use super::ranges::RangeArguments;
use super::run::{Format, certifier, run, stopped};
use super::{edge_tables, effort, range_tables};

/// Explain one node: its neighbourhood, the worst flips, what its bounds are made of, how it was decided.
#[derive(Args, Debug)]
#[command(mut_arg("edges", |arg| arg.conflicts_with_all(OF_FLIPS)))]
#[command(mut_arg("epsilon", |arg| arg.conflicts_with("edges")))]
#[command(mut_arg("ranges", |arg| arg.conflicts_with("edges")))]
#[command(after_help = "Examples:
  gcnproof explain cora.npz gcn.safetensors --node 163
  gcnproof explain cora.npz gcn.safetensors --node 163 -Q 5 -q 2 --format json
  gcnproof explain cora.npz gcn.safetensors --node 163 --edges remove -E 5 -e 3
  gcnproof explain graph.npz model.npz --node 163 -Q 3 -q 1 --epsilon 0.05

Exit codes: 0 done (whatever the verdict), 2 wrong usage or input.")]
pub struct Explain {
    #[command(flatten)]
    input: Input,
    /// The node, from 0
    #[arg(long, value_name = "T", required_unless_present = "graph_number")]
    node: Option<usize>,
    /// The graph, from 0, of a network that classifies graphs
    #[arg(long = "graph", value_name = "T", conflicts_with = "node")]
    graph_number: Option<usize>,
    /// Flips in all
    #[arg(short = 'Q', long = "global", value_name = "N", default_value_t = 12, value_parser = flips, help_heading = "Budget", conflicts_with = "edges")]
    global: usize,
    #[command(flatten)]
    local: LocalArguments,
    #[command(flatten)]
    ranges: RangeArguments,
    /// With --edges: changed edges in all [default: 5]
    #[arg(short = 'E', long = "edges-global", value_name = "N", value_parser = edges::removals, help_heading = "Edges")]
    edges_global: Option<usize>,
    #[command(flatten)]
    edges: EdgeArguments,
    /// Give up after so many seconds of search
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = effort::seconds, help_heading = "Effort")]
    time_limit: f64,
    #[command(flatten)]
    deployed: DeployedArguments,
    /// Standard output: a table or JSON
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    format: Format,
}

/// What is asked about moved attributes.
struct Ranged<'a> {
    graph: &'a Graph,
    network: &'a Network,
    budget: Budget,
    limits: Limits,
}

impl Explain {
    /// Runs the command. Returns the exit code.
    pub fn execute(self) -> Result<u8> {
        let on_edges = self.edges.wanted(self.edges_global.map(|_| "-E"))?;
        let (graph, network, identity) = match on_edges {
            true => self.input.read_edges(self.edges.directed_edges)?,
            false if self.ranges.wanted() => self.input.read_real()?,
            false => self.input.read()?,
        };
        let target = self.target();
        if let (Some(number), None) = (self.graph_number, graph.batch()) {
            return Err(miette!(
                help = format!("give --node {number}"),
                "--graph {number}: the network classifies nodes, and not graphs"
            ));
        }
        if target >= graph.target_count() {
            let last = graph.target_count().saturating_sub(1);
            return Err(match (self.node, graph.batch().is_some()) {
                (Some(node), true) => miette!(
                    help = format!("give --graph and the number of a graph, from 0 to {last}"),
                    "--node {node}: the network classifies graphs, and there is no graph {node}: the last one is {last}"
                ),
                (None, _) => miette!(help = "ids run from 0", "there is no graph {target}: the last one is {last}"),
                (Some(_), false) => {
                    miette!(help = "ids run from 0", "there is no node {target}: the last one is {last}")
                }
            });
        }
        if let (Some(node), Some(_)) = (self.node, graph.batch()) {
            note!("note: the network classifies graphs: what follows is about graph {node}, as --graph {node} says it");
        }
        let limits =
            Limits { time: Duration::try_from_secs_f64(self.time_limit).unwrap_or_default(), ..Limits::default() };
        if on_edges {
            return self.execute_edges(&graph, &network, &identity, limits);
        }
        let (budget, record) = self.local.budget(&graph, self.global)?;
        let record = record.with_global(self.global);
        let budget = self.ranges.of(&graph, None, budget)?;
        if self.ranges.wanted() {
            let record = record.with_ranges(&budget);
            return self.execute_ranges(
                Ranged { graph: &graph, network: &network, budget, limits },
                &identity,
                &record,
            );
        }
        let certifier = certifier(&graph, &network, budget).effort(Effort::Complete(limits));
        note_rounding(self.deployed.execution(), &network);
        let certifier = match self.deployed.execution() {
            Some(execution) => certifier.deployed(execution),
            None => certifier,
        };
        let certifier = certifier.build();
        let told = explain(&certifier, target).into_diagnostic()?;
        match self.format {
            Format::Json => {
                let told = explained(&graph, &told);
                say!("{}", json!({ "input": identity, "budget": record, "explanation": told }))?;
            }
            Format::Table => {
                let q = certifier.budget().local(graph.batch().map_or(target, |_| graph.nodes_of(target).start));
                put!("{}", text(&graph, &told, self.global, q))?;
            }
        }
        Ok(0)
    }
}

impl Explain {
    /// What is explained; clap has asked for it.
    fn target(&self) -> usize {
        self.node.or(self.graph_number).unwrap_or_default()
    }

    /// The same for attributes that are moved: the smallest margin of every class pair, up to a gap and as far as time
    /// allows.
    fn execute_ranges(&self, asked: Ranged, identity: &Identity, record: &BudgetRecord) -> Result<u8> {
        let Ranged { graph, network, budget, limits } = asked;
        // A first look at what cannot be asked.
        Problem::new(graph.clone(), network.clone(), budget.clone()).into_diagnostic()?;
        let effort = Effort::Minimize { limits, gap: 0.0 };
        let certifier = certifier(graph, network, budget).effort(effort);
        note_rounding(self.deployed.execution(), network);
        let certifier = match self.deployed.execution() {
            Some(execution) => certifier.deployed(execution),
            None => certifier,
        };
        let certifier = certifier.build();
        let start = Instant::now();
        let result = certifier.one(self.target()).into_diagnostic()?;
        let seconds = start.elapsed().as_secs_f64();
        match self.format {
            Format::Json => {
                let row = NodeRecord::new(graph, result, seconds);
                say!("{}", json!({ "input": identity, "budget": record, "explanation": row }))?;
            }
            Format::Table => put!("{}", range_tables::explained(graph, &result, record))?,
        }
        Ok(0)
    }

    /// The same for changed edges: the exact worst case of every class pair, as far as time allows.
    fn execute_edges(&self, graph: &Graph, network: &Network, identity: &Identity, limits: Limits) -> Result<u8> {
        let budget = self.edges.budget(graph, self.edges_global.unwrap_or(5), self.local.freeze_nodes.as_deref())?;
        let record = EdgeBudgetRecord::new(&budget, true);
        let problem = problem(&run(None, false, false), graph, network, budget)?;
        let certifier = EdgeCertifier::new(problem).effort(Effort::Minimize { limits, gap: 0.0 }).stop(stopped);
        let start = Instant::now();
        let result = certifier.one(self.target()).into_diagnostic()?;
        let seconds = start.elapsed().as_secs_f64();
        match self.format {
            Format::Json => {
                let minima = result.minima.clone();
                let row = EdgeRecord::new(graph, result, seconds).with_exact_margins(&minima);
                let worst: Vec<_> = minima.iter().map(|known| known.as_ref().map(|known| &known.changes)).collect();
                say!("{}", json!({ "input": identity, "edges": record, "explanation": row, "worst_edges": worst }))?;
            }
            Format::Table => put!("{}", edge_tables::explained(graph, &result, &record))?,
        }
        Ok(0)
    }
}

/// The explanation for machines: of a graph under the names that its rows have.
pub fn explained(graph: &Graph, told: &Explanation) -> Value {
    let mut value = json!(told);
    if let (true, Some(fields)) = (graph.batch().is_some(), value.as_object_mut()) {
        for (of_node, of_graph) in [("node", "graph"), ("degree", "edges"), ("neighbourhood", "nodes")] {
            if let Some(field) = fields.remove(of_node) {
                fields.insert(of_graph.into(), field);
            }
        }
        fields.remove("rings");
    }
    value
}

/// The explanation for people.
pub fn text(graph: &Graph, told: &Explanation, global: usize, local: usize) -> String {
    let mut text = String::new();
    let class = |class: u64| class_name(Some(graph), class);
    let graphs = graph.batch().is_some();
    let name = graph.node_names().filter(|_| !graphs).and_then(|names| names.get(told.node as usize));
    let name = name.map_or(String::new(), |name| format!(" ({name})"));
    let target = if graphs { "graph" } else { "node" };
    let label = told.label.map_or("no label".to_string(), |label| format!("label {}", class(label)));
    let _ = writeln!(text, "{target} {}{name}: predicted {}, {label}", told.node, class(told.predicted));
    let changes = if graph.categories().is_some() { "changes of categories" } else { "flips" };
    let place = if graphs { "its first" } else { "this" };
    let _ = writeln!(text, "budget: {global} {changes} in all, {local} in {place} node\n");
    let _ = match graphs {
        true => writeln!(
            text,
            "nodes: its logits depend on {}, between which there are {} edges",
            told.neighbourhood, told.degree
        ),
        false => writeln!(text, "neighbourhood: its logits depend on {} nodes", told.neighbourhood),
    };
    for ring in &told.rings {
        let share = 100.0 * ring.predicted_alike as f64 / ring.nodes.max(1) as f64;
        let _ = writeln!(text, "  {:>2} hops {:>6} nodes, {share:>3.0} % predicted like it", ring.distance, ring.nodes);
    }
    let limit = if told.limit_hit { ", a limit was hit" } else { "" };
    let _ =
        writeln!(text, "\nverdict: {} (by {}{limit})", told.verdict.replace('_', "-"), told.reason.replace('_', " "));
    let _ = writeln!(
        text,
        "  {} tree nodes, {} linear programs, {:.1} ms",
        told.search_nodes,
        told.masters,
        1e3 * told.seconds
    );
    let _ = writeln!(
        text,
        "\n{:<28}{:>13}{:>13}{:>13}{:>13}{:>13}",
        "margin over", "unperturbed", "paper's", "anchored", "proved ≥", "attacked ≤"
    );
    for line in &told.classes {
        let number = |x: Option<f64>| x.map_or("-".to_string(), |x| format!("{x:.4}"));
        let shown: String = class(line.class).chars().take(27).collect();
        let _ = writeln!(
            text,
            "{shown:<28}{:>13.4}{:>13.4}{:>13.4}{:>13}{:>13}",
            line.unperturbed,
            line.paper_bound,
            line.anchored_bound,
            number(line.margin.lower),
            number(line.margin.upper)
        );
    }
    if let Some(deployed) = &told.deployed {
        let _ = writeln!(text, "\nas deployed: {}", deployed.verdict.replace('_', "-"));
        for line in &deployed.rounding {
            let shown: String = class(line.class).chars().take(27).collect();
            let error = line.upper.map_or("not known".to_string(), |error| format!("at most {error:.3e}"));
            let _ = writeln!(text, "  {shown:<27} rounding moves the margin by {error}");
        }
        if deployed.prediction_depends {
            text.push_str("  the class without any flip may depend on rounding\n");
        }
    }
    attack(&mut text, graph, told, &told.attack);
    for part in &told.composition {
        composition(&mut text, part);
    }
    if told.composition.is_empty() {
        text.push_str("\nThe network has no hidden layer: the bounds are exact.\n");
    }
    text
}

fn attack(text: &mut String, graph: &Graph, told: &Explanation, attack: &StrongestAttack) {
    let class = class_name(Some(graph), attack.class);
    let end = if attack.breaks { "it is taken for another class" } else { "the class is kept all the same" };
    if attack.steps.is_empty() {
        let _ = writeln!(text, "\nno flip is possible or needed against {class}");
        return;
    }
    let count = attack.steps.len();
    let _ = match attack.sufficient {
        Some(0) => writeln!(text, "\nno flip is needed: {class} is not behind even without an attack"),
        Some(1) if count == 1 => {
            writeln!(text, "\nthis one flip suffices, in exact arithmetic: with it, {class} is no longer behind")
        }
        Some(needed) if needed < count => writeln!(
            text,
            "\nthese {count} flips suffice in every execution of the network (the first {needed} of them in exact arithmetic): {class} is no longer behind"
        ),
        Some(_) => writeln!(
            text,
            "\nthese {count} flips suffice, in exact arithmetic, and none of them can be left out: with them, {class} is no longer behind"
        ),
        None => writeln!(text, "\nthe worst flips found, against {class}: {end}"),
    };
    for step in &attack.steps {
        let (verb, preposition) = if step.added { ("add", "to") } else { ("remove", "from") };
        let place = match step.distance {
            _ if u64::from(step.node) == told.node => "the node itself".to_string(),
            Some(1) => format!("node {} (a neighbour)", step.node),
            Some(hops) => format!("node {} ({hops} hops)", step.node),
            None => format!("node {}", step.node),
        };
        let what = format!("{verb} {} {preposition} {place}", attribute_name(Some(graph), step.attribute));
        let _ = writeln!(text, "  {what:<52}{:>+10.4}   margin {:>9.4}", step.change, step.margin);
    }
}

fn composition(text: &mut String, part: &Composition) {
    let _ = writeln!(
        text,
        "\n{}: {:.4} = {:.4} (true margin under its {} worst flips) − {:.4} (relaxed units){}",
        part.bound,
        part.value,
        part.true_margin,
        part.flips,
        part.units_cost,
        if part.above_cost.abs() > 1e-6 {
            format!(" − {:.4} (layers above)", part.above_cost)
        } else {
            String::new()
        }
    );
    let named: f64 = part.costliest.iter().map(|unit| unit.cost).sum();
    let _ = writeln!(text, "  {} of {} hidden units are unstable", part.unstable, part.units);
    if part.costliest.is_empty() {
        return;
    }
    let share = 100.0 * named / part.units_cost.max(f64::MIN_POSITIVE);
    let _ = writeln!(text, "  the {} that cost most ({share:.0} % of all):", part.costliest.len());
    let _ = writeln!(
        text,
        "  {:>8}{:>6}{:>12}{:>12}{:>12}{:>12}{:>12}",
        "node", "unit", "cost", "coefficient", "value", "at least", "at most"
    );
    for unit in &part.costliest {
        let _ = writeln!(
            text,
            "  {:>8}{:>6}{:>12.4}{:>12.4}{:>12.4}{:>12.4}{:>12.4}",
            unit.node, unit.unit, unit.cost, unit.coefficient, unit.unperturbed, unit.lower, unit.upper
        );
    }
    text.push_str(
        "  cost: what the relaxation of this unit takes away from the bound; coefficient: how much of the unit's output is in the\n  \
         margin; value: its input without an attack, of which ReLU passes what is above 0; at least, at most: between these\n  \
         its input stays under every attack within the budget\n",
    );
}
