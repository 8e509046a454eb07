//! The verified checker, told about flips and changed edges by one attacker. It lists sets of changes, and on the graph
//! after each of them trees over flips have to show that the class is kept; these are written out for it
//! (`joint/shown.rs`).

use std::path::Path;

use gcnproof_files::{GraphFile, ModelFile};

use super::edges::{EdgeAnswer, Written, asked};
use super::process::Process;
use super::text::{self, ReachPrices, push};
use crate::edges::format::{Claim, Header, NodeProof};
use crate::joint::{JointChecker, MOST_SETS, ShownGroup, ShownStep};

/// The program, told about one statement.
pub struct JointJudge(Process);

impl JointJudge {
    /// Starts the program and tells it what the proofs under a header are about.
    ///
    /// # Errors
    /// If header, graph and model do not belong together, or the program cannot be run or does not understand the
    /// statement.
    pub fn start(program: &Path, graph: &GraphFile, model: &ModelFile, header: &Header) -> Result<JointJudge, String> {
        let written = Written::new(graph, model, header)?;
        Process::start(program, |to| written.write(to)).map(JointJudge)
    }

    /// What it says of a proof of this checker, if it lists so many sets at most.
    ///
    /// # Errors
    /// If the program does not answer.
    pub fn ask(&mut self, checker: &JointChecker, proof: &NodeProof, most: u64) -> Result<EdgeAnswer, String> {
        let [few, many] = MOST_SETS;
        match self.shown(checker, proof, most, few)? {
            (EdgeAnswer::Rejected, true) => self.shown(checker, proof, most, many).map(|(answer, _)| answer),
            (answer, _) => Ok(answer),
        }
    }

    /// The same with trees for so many sets of each leaf at most, and whether one has so many.
    fn shown(
        &mut self,
        checker: &JointChecker,
        proof: &NodeProof,
        most: u64,
        written: usize,
    ) -> Result<(EdgeAnswer, bool), String> {
        let mut is_full = false;
        let mut line = format!("node {} {}", proof.id, proof.class);
        match &proof.claim {
            Claim::NonRobust(witness) => {
                push(&mut line, format_args!("witness {} {}", witness.class, witness.edges.len()));
                witness.edges.iter().for_each(|(i, j)| push(&mut line, format_args!("{i} {j}")));
                push(&mut line, witness.flips.len());
                witness.flips.iter().for_each(|(n, d)| push(&mut line, format_args!("{n} {d}")));
            }
            Claim::Robust(_) => {
                let Ok(groups) = checker.shown(proof, written) else { return Ok((EdgeAnswer::Rejected, false)) };
                let full = |step: &ShownStep| matches!(step, ShownStep::Sets(sets) if sets.len() >= written);
                is_full = groups.iter().any(|of| of.steps.iter().any(full));
                push(&mut line, format_args!("robust {most} {}", groups.len()));
                if groups.iter().try_for_each(|of| group(&mut line, of)).is_none() {
                    return Ok((EdgeAnswer::Rejected, false));
                }
            }
        }
        Ok((asked(&mut self.0, &line)?, is_full))
    }
}

/// Classes with their tree; `None` where a tree over flips has other leaves than hints.
fn group(line: &mut String, of: &ShownGroup) -> Option<()> {
    push(line, of.classes.len());
    of.classes.iter().for_each(|class| push(line, class));
    for step in &of.steps {
        let sets = match step {
            ShownStep::Edge((i, j)) => {
                push(line, format_args!("S {i} {j}"));
                continue;
            }
            ShownStep::Sets(sets) => sets,
        };
        push(line, format_args!("A {}", sets.len()));
        for set in sets {
            push(line, set.changes.len());
            set.changes.iter().for_each(|(i, j)| push(line, format_args!("{i} {j}")));
            push(line, set.bounds.len());
            for bounds in &set.bounds {
                push(line, text::bounds(bounds, ReachPrices::Best));
            }
            push(line, set.trees.len());
            for tree in &set.trees {
                let prices = |at: usize| match tree.expanded.contains(&at) {
                    true => ReachPrices::Best,
                    false => ReachPrices::Stated,
                };
                text::tree(line, &tree.of, prices)?;
            }
        }
    }
    Some(())
}
