//! The verified checker, told about flips of attributes.

use std::collections::HashSet;
use std::path::Path;

use super::process::{NAME, Process};
use super::text;
use super::text::ReachPrices;
use crate::checker::Checker;
use crate::collective::{CollectiveClaim, CollectiveStatement, Share};
use crate::format::{BoundsLine, Claim, ClassProof, NodeProof, Step};
use crate::verdict::Verdict;

const NO_EXECUTIONS_OF_ONE_ATTACK: &str = "the verified checker knows no executions under one attack for the whole \
     graph, and these proofs are about the network as it runs: check them without --verified";

/// The program, told about one statement.
pub struct Judge {
    process: Process,
    known: HashSet<(u32, u32)>,
    /// Of leaves that are expanded. Where rows are divided, only stated ones are sure to be as good.
    of_expanded: ReachPrices,
}

impl Judge {
    /// Starts the program and tells it what a checker's proofs are about.
    ///
    /// # Errors
    /// If it cannot be run, or does not understand the statement.
    pub fn start(program: &Path, checker: &Checker) -> Result<Judge, String> {
        Judge::told(program, checker, None)
    }

    /// The same where all lines of a file are about one attack; the checker is that of its lines about single nodes.
    ///
    /// # Errors
    /// If it cannot be run, or does not understand the statement.
    pub(super) fn of_one_attack(
        program: &Path,
        checker: &Checker,
        attack: &CollectiveStatement,
    ) -> Result<Judge, String> {
        Judge::told(program, checker, Some(attack))
    }

    fn told(program: &Path, checker: &Checker, attack: Option<&CollectiveStatement>) -> Result<Judge, String> {
        if attack.is_some() && checker.statement().deployed.is_some() {
            return Err(NO_EXECUTIONS_OF_ONE_ATTACK.into());
        }
        let divided = checker.statement().network.is_normalised();
        let of_expanded = if divided { ReachPrices::Stated } else { ReachPrices::Best };
        let process = Process::start(program, |to| text::statement(checker.statement(), attack, to))?;
        Ok(Judge { process, known: HashSet::new(), of_expanded })
    }

    /// Are these bounds accepted? Each pair of layer and node counts once.
    ///
    /// # Errors
    /// If the program does not answer.
    pub fn bounds(&mut self, line: &BoundsLine) -> Result<bool, String> {
        self.bounds_at(line, ReachPrices::Stated)
    }

    fn bounds_at(&mut self, line: &BoundsLine, prices: ReachPrices) -> Result<bool, String> {
        self.known.insert((line.layer, line.node));
        self.process.question(&text::bounds(line, prices)).map(|answer| answer == "bounds")
    }

    /// The verdict on a proof, `None` if it is rejected; and how many lines of bounds it needed. Short leaves are
    /// expanded first: into the hints that the other checker accepts, or, where it accepts none, into any.
    ///
    /// # Errors
    /// If the program does not answer, or bounds are not accepted.
    pub fn ask(&mut self, checker: &Checker, proof: &NodeProof) -> Result<(Option<Verdict>, usize), String> {
        let expanded = match proof.claim {
            Claim::Robust(_) => checker.expand(proof).or_else(|_| checker.expand_unjudged(proof)),
            // There is nothing to expand in a witness.
            Claim::NonRobust(_) => Ok(proof.clone()),
        };
        let Ok(expanded) = expanded else { return Ok((None, 0)) };
        let prices = |class: u32, at: usize| match &proof.claim {
            Claim::Robust(trees) if trees.iter().any(|one| one.class == class && is_short(one, at)) => self.of_expanded,
            _ => ReachPrices::Stated,
        };
        let Some(line) = text::node(&expanded, prices) else { return Ok((None, 0)) };
        let bounds = match proof.claim {
            Claim::Robust(_) => self.expanded_bounds(checker, proof.id)?,
            Claim::NonRobust(_) => 0,
        };
        let verdict = match self.process.question(&line)?.as_str() {
            "robust" => Some(Verdict::Robust),
            "non-robust" => Some(Verdict::NonRobust),
            "tie" => Some(Verdict::Tie),
            rejected if rejected.starts_with("rejected") => None,
            other => return Err(format!("{NAME} answers '{other}' to a proof")),
        };
        Ok((verdict, bounds))
    }

    /// Is a share line accepted, and how many lines of bounds did it need? It is what [`written`] made of it.
    ///
    /// # Errors
    /// If the program does not answer, or bounds are not accepted.
    pub(super) fn share(
        &mut self,
        checker: &Checker,
        share: &Share,
        written: Option<&str>,
    ) -> Result<(bool, usize), String> {
        let Some(line) = written else { return Ok((false, 0)) };
        let bounds = self.expanded_bounds(checker, share.id)?;
        Ok((self.process.question(line)? == "share", bounds))
    }

    /// Is the claim accepted, after these lines?
    ///
    /// # Errors
    /// If the program does not answer.
    pub(super) fn claim(&mut self, claim: &CollectiveClaim) -> Result<bool, String> {
        self.process.question(&text::claim(claim)).map(|answer| answer == "holds")
    }

    /// The lines of bounds that short leaves of a node rest on, unless they are known; says how many.
    fn expanded_bounds(&mut self, checker: &Checker, node: u32) -> Result<usize, String> {
        let mut bounds = 0;
        for line in checker.expanded_bounds(node) {
            if self.known.contains(&(line.layer, line.node)) {
                continue;
            }
            bounds += 1;
            if !self.bounds_at(&line, self.of_expanded)? {
                return Err(format!("{NAME} rejects the bounds of layer {}, node {}", line.layer, line.node));
            }
        }
        Ok(bounds)
    }
}

/// A share line for the program, with sizes from exact weights or from floats; `None` where the line is not admissible.
pub(super) fn written(checker: &Checker, share: &Share, exact_sizes: bool) -> Option<String> {
    let network = &checker.statement().network;
    let (classes, attributes) = (network.classes(), &network.graph.attributes);
    share.require_leaves(classes).and_then(|()| share.require_covers(attributes.rows, attributes.columns)).ok()?;
    let admissible = (share.class as usize) < classes;
    let written = admissible
        .then(|| checker.session(share.id, |session| session.written_share(share, exact_sizes)).ok())
        .flatten()?;
    Some(text::share(share, &written))
}

/// Is this step of a tree a leaf that is to be expanded?
fn is_short(of: &ClassProof, at: usize) -> bool {
    matches!(of.tree.get(at), Some(Step::Leaf(_)))
}
