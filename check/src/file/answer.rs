//! Which claims of a file answer a question.

use gcnproof_files::{GraphFile, ModelFile};

use super::options::Options;
use super::summary::{Stated, Summary};
use crate::collective::CollectiveHeader;
use crate::edges::{ChangeBudget, EdgeClaim, EdgeHeader, EdgeStatement, RemovalBudget, Removals};
use crate::format;
use crate::format::Convention;
use crate::ids::{Edge, Flip};
use crate::joint::JointStatement;
use crate::question::text::shown_rules;
use crate::question::{Attack, FlipLimits, Question, uncovered_flips, uncovered_removals};
use crate::ranges::RangeBudget;
use crate::statement::{Budget, same_rules};
use crate::verdict::Reason;

/// Why the statement of a file is not about what was asked; nothing if it is. Whether it covers the perturbations asked
/// about is another question.
pub(crate) fn differences(stated: &Stated, graph: &GraphFile, model: &ModelFile, options: &Options) -> Vec<String> {
    let mut differences = Vec::new();
    let rules = stated.message_passing();
    differences.extend(other_rules(rules, model, options));
    let Some(question) = &options.question else { return differences };
    let (asked, found) = (question.attack.kind(), stated.kind());
    if asked != found {
        differences.push(format!("asked about {asked}, stated about {found}"));
    }
    if question.classes != stated.classes() {
        let words = |classes: Convention| match classes {
            Convention::Predicted => "the predicted class",
            Convention::Labels => "the label",
        };
        let (asked, found) = (words(question.classes), words(stated.classes()));
        differences.push(format!("asked about {asked} of a node, stated about {found}"));
    }
    // What a rule costs is known only of rules that were asked about.
    if let (Attack::Flips(_, Some(execution)) | Attack::Ranges(_, _, Some(execution)), Stated::Flips(header), true) =
        (&question.attack, stated, differences.is_empty())
    {
        let own = model.layers.iter().zip(rules).map(|(layer, rule)| match layer.operators.as_slice() {
            [] => vec![rule.as_str()],
            own => own.iter().map(String::as_str).collect(),
        });
        let matrices: Vec<_> = options.matrices.iter().chain(&model.matrices).cloned().collect();
        let own = own.collect::<Vec<_>>();
        differences.extend(execution.uncovered(header.deployed.as_ref(), &own, graph, &matrices));
    }
    differences
}

/// Message passing that is not what was asked: the rules given, or for layers of a model that names none the usual one.
fn other_rules(stated: &[String], model: &ModelFile, options: &Options) -> Option<String> {
    let given = &options.message_passing;
    let usual = "gcn".to_string();
    let asked: Vec<&String> = match (given.as_slice(), &options.question) {
        ([], None) => return None,
        ([], Some(_)) => {
            let layers = model.layers.iter().zip(stated);
            layers.map(|(layer, rule)| if layer.operators.is_empty() { &usual } else { rule }).collect()
        }
        ([one], _) => vec![one; stated.len()],
        (several, _) => several.iter().collect(),
    };
    let same = asked.len() == stated.len() && asked.iter().zip(stated).all(|(one, other)| same_rules(one, other));
    let asked: Vec<String> = asked.into_iter().cloned().collect();
    (!same).then(|| {
        let (asked, found) = (shown_rules(&asked), shown_rules(stated));
        format!("asked about message passing {asked}, stated about message passing {found}")
    })
}

impl Attack {
    fn kind(&self) -> &'static str {
        match self {
            Attack::Flips(..) => FLIPS,
            Attack::Ranges(..) => RANGES,
            Attack::Removals(_) => REMOVALS,
            Attack::Joint(..) => BOTH,
            Attack::Collective { .. } => ONE_ATTACK,
        }
    }
}

impl Stated {
    fn kind(&self) -> &'static str {
        match self {
            Stated::Flips(header) if header.ranges.is_some() => RANGES,
            Stated::Flips(_) => FLIPS,
            Stated::Removals(header) if header.flips.is_some() => BOTH,
            Stated::Removals(_) => REMOVALS,
            Stated::Collective(_) => ONE_ATTACK,
        }
    }
}

const FLIPS: &str = "flips of attributes, node by node";
const RANGES: &str = "attributes moved within ranges, node by node";
const REMOVALS: &str = "changed edges, node by node";
const BOTH: &str = "flips of attributes and changed edges at once, node by node";
const ONE_ATTACK: &str = "one attack for the whole graph";

/// A question beside a statement that is about it: what a claim of one node says about it.
pub(crate) struct Asked<'a> {
    /// The perturbations asked about; none where nothing was asked.
    budget: Perturbations<'a>,
    graph: &'a GraphFile,
    /// Why a robust node is no answer.
    pub(crate) uncovered: Vec<String>,
}

enum Perturbations<'a> {
    Any,
    Flips(Budget<'a>),
    Ranges(RangeBudget),
    Removals(RemovalBudget),
    Changes(ChangeBudget),
    Joint(Budget<'a>, ChangeBudget),
}

impl<'a> Asked<'a> {
    /// Beside a statement about flips.
    pub(crate) fn flips(
        question: Option<&Question>,
        graph: &'a GraphFile,
        stated: &Budget,
    ) -> Result<Asked<'a>, Reason> {
        let Some(Question { attack: Attack::Flips(budget, _), .. }) = question else {
            return Ok(Asked::nothing(graph));
        };
        let budget = Budget::new(budget, graph)?;
        let uncovered = uncovered_flips(
            graph,
            &FlipLimits { budget: &budget, nodes: None },
            &FlipLimits { budget: stated, nodes: None },
        );
        Ok(Asked { budget: Perturbations::Flips(budget), graph, uncovered })
    }

    /// Beside a statement about ranges.
    pub(crate) fn ranges(
        question: Option<&Question>,
        graph: &'a GraphFile,
        stated: &RangeBudget,
    ) -> Result<Asked<'a>, Reason> {
        let Some(Question { attack: Attack::Ranges(budget, ranges, _), .. }) = question else {
            return Ok(Asked::nothing(graph));
        };
        let budget = RangeBudget::new(budget, ranges, graph)?;
        let uncovered = stated.uncovered(&budget);
        Ok(Asked { budget: Perturbations::Ranges(budget), graph, uncovered })
    }

    /// Beside a statement about edges.
    pub(crate) fn edges(
        question: Option<&Question>,
        graph: &'a GraphFile,
        header: &EdgeHeader,
        stated: &EdgeStatement,
    ) -> Result<Asked<'a>, Reason> {
        let Some(Question { attack: Attack::Removals(asked), .. }) = question else {
            return Ok(Asked::nothing(graph));
        };
        if let (EdgeStatement::Removals(stated), true) = (stated, asked.is_plain()) {
            let budget = RemovalBudget::new(asked, &graph.adjacency)?;
            let uncovered = uncovered_removals(graph, &budget, stated.budget());
            return Ok(Asked { budget: Perturbations::Removals(budget), graph, uncovered });
        }
        let of = |removals: &Removals| ChangeBudget::new(removals, &removals.kinds(), graph);
        let budget = of(asked)?;
        let uncovered = of(&header.edges)?.uncovered(&budget);
        Ok(Asked { budget: Perturbations::Changes(budget), graph, uncovered })
    }

    /// Beside a statement about flips and changed edges at once.
    pub(crate) fn joint(
        question: Option<&Question>,
        graph: &'a GraphFile,
        stated: &JointStatement,
    ) -> Result<Asked<'a>, Reason> {
        let Some(Question { attack: Attack::Joint(flips, edges), .. }) = question else {
            return Ok(Asked::nothing(graph));
        };
        let (flips, edges) = (Budget::new(flips, graph)?, ChangeBudget::new(edges, &edges.kinds(), graph)?);
        let mut uncovered = uncovered_flips(
            graph,
            &FlipLimits { budget: &flips, nodes: None },
            &FlipLimits { budget: stated.flip_budget(), nodes: None },
        );
        uncovered.extend(stated.edge_budget().uncovered(&edges));
        Ok(Asked { budget: Perturbations::Joint(flips, edges), graph, uncovered })
    }

    fn nothing(graph: &'a GraphFile) -> Asked<'a> {
        Asked { budget: Perturbations::Any, graph, uncovered: Vec::new() }
    }

    /// Does this accepted claim answer?
    pub(crate) fn is_answered_by(&self, claim: &format::Claim) -> bool {
        match claim {
            format::Claim::Robust(_) => self.uncovered.is_empty(),
            format::Claim::NonRobust(witness) => self.has_flips(&witness.flips),
        }
    }

    /// The same of moved attributes.
    pub(crate) fn is_answered_by_ranges(&self, claim: &format::RangeClaim) -> bool {
        match (claim, &self.budget) {
            (format::RangeClaim::Robust(_), _) => self.uncovered.is_empty(),
            (format::RangeClaim::NonRobust(witness), Perturbations::Ranges(budget)) => {
                budget.require(self.graph, &witness.entries).is_ok()
            }
            (format::RangeClaim::NonRobust(_), budget) => matches!(budget, Perturbations::Any),
        }
    }

    /// The same of removals.
    pub(crate) fn is_answered_by_removals(&self, claim: &EdgeClaim) -> bool {
        match claim {
            EdgeClaim::Robust(_) => self.uncovered.is_empty(),
            EdgeClaim::NonRobust(witness) => self.has_removals(&witness.edges) && self.has_flips(&witness.flips),
        }
    }

    /// Are these flips, ascending and each once, among those asked about?
    fn has_flips(&self, flips: &[Flip]) -> bool {
        let budget = match &self.budget {
            Perturbations::Any => return true,
            Perturbations::Flips(budget) | Perturbations::Joint(budget, _) => budget,
            _ => return flips.is_empty(),
        };
        let local = |same: &[Flip]| same.len() <= budget.local(same[0].0);
        flips.iter().all(|&flip| budget.require(flip).is_ok())
            && flips.chunk_by(|a, b| a.0 == b.0).all(local)
            && flips.len() <= budget.global
    }

    fn has_removals(&self, edges: &[Edge]) -> bool {
        match &self.budget {
            Perturbations::Any => true,
            Perturbations::Flips(_) | Perturbations::Ranges(_) => false,
            Perturbations::Removals(budget) => budget.require(&self.graph.adjacency, edges).is_ok(),
            Perturbations::Changes(budget) | Perturbations::Joint(_, budget) => {
                budget.require(self.graph, edges).is_ok()
            }
        }
    }
}

/// Why a statement about one attack does not cover the one asked about; nothing if it does, or if nothing was asked.
pub(crate) fn uncovered_attack(
    question: Option<&Question>,
    graph: &GraphFile,
    stated: &Budget,
    header: &CollectiveHeader,
) -> Result<Vec<String>, Reason> {
    let Some(Question { attack: Attack::Collective { budget, attacked_nodes, .. }, nodes, .. }) = question else {
        return Ok(Vec::new());
    };
    let budget = Budget::new(budget, graph)?;
    let mut uncovered = uncovered_flips(
        graph,
        &FlipLimits { budget: &budget, nodes: *attacked_nodes },
        &FlipLimits { budget: stated, nodes: header.attacked_nodes },
    );
    let all = || (0..graph.attributes.rows as u32).collect();
    let counted = |node: &u32| header.nodes.as_ref().is_none_or(|nodes| nodes.binary_search(node).is_ok());
    if let Some(node) = nodes.clone().unwrap_or_else(all).iter().find(|node| !counted(node)) {
        uncovered.push(format!("asked about predictions of node {node} too, which does not count as stated"));
    }
    Ok(uncovered)
}

/// What of the question a file leaves open after all of it was looked at, in words.
pub(crate) fn left_open(question: &Question, summary: &Summary) -> Vec<String> {
    if let Attack::Collective { bound, .. } = question.attack {
        return match summary.collective.filter(|claim| claim.proved) {
            None => vec![format!("asked whether at most {bound} predictions are broken, nothing is proved")],
            Some(claim) if claim.claimed > bound => {
                vec![format!("asked whether at most {bound} predictions are broken, proved at most {}", claim.claimed)]
            }
            Some(_) => Vec::new(),
        };
    }
    let asked = summary.asked_rows(question);
    let open = asked.iter().filter(|&&row| summary.answers[row].is_none()).map(|&row| row as u32).collect::<Vec<_>>();
    let mut left = Vec::new();
    let list = |nodes: &[u32]| {
        let first: Vec<String> = nodes.iter().take(10).map(u32::to_string).collect();
        format!("{}{}", first.join(", "), if nodes.len() > 10 { ", …" } else { "" })
    };
    if asked.is_empty() && question.elsewhere.is_empty() {
        left.push(format!("no {} is asked about", summary.target()));
    }
    let target = summary.target();
    if !open.is_empty() {
        left.extend(summary.uncovered.iter().map(|why| format!("{why}: robust {target}s do not answer")));
        left.push(format!(
            "{} of {} {target}s asked about have no proof that answers: {}",
            open.len(),
            asked.len(),
            list(&open)
        ));
    }
    if !question.elsewhere.is_empty() {
        let (count, list) = (question.elsewhere.len(), list(&question.elsewhere));
        left.push(format!("another part of the graph answers for {count} of the nodes asked about: {list}"));
    }
    left
}
