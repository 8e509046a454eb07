//! Verdicts where attributes are moved within ranges instead of flipped.

use crate::certify::certifier::{Certifier, Target};
use crate::certify::contradiction::{Contradiction, Subject};
use crate::certify::deployed_verdict::{Deployed, DeployedVerdict};
use crate::certify::settings::Effort;
use crate::certify::verdict::{FlipDetails, Margin, NodeResult, Reason, Verdict};
use crate::problem::pace::Pace;
use crate::ranges::decide::RangeDecision;
use crate::ranges::question::{RangeQuestion, RangeRun, RunVerdict};

impl Certifier {
    /// Decides a target if the budget has ranges.
    pub(super) fn decide_by_ranges(&self, target: Target, others: &[usize]) -> Option<NodeResult> {
        let problem = self.ranges.as_ref()?;
        let (limits, pace) = (self.settings.effort.limits(), Pace::new(self.clock(1)));
        let Target { node, reference, predicted } = target;
        let nodes = limits.map_or(1, |limits| limits.nodes);
        let errors = self.margin_errors(target, others);
        let run = self.settings.deployed.zip(errors.as_deref());
        let decided = RangeQuestion {
            problem,
            target: node,
            reference,
            others,
            nodes,
            pace: &pace,
            proofs: self.settings.proofs,
            gap: match self.settings.effort {
                Effort::Minimize { gap, .. } => Some(gap),
                _ => None,
            },
            run: run.map(|(execution, errors)| RangeRun { errors, precision: execution.precision }),
        }
        .decide();
        let RangeDecision { margins, broken, open, wide, branched, visited, claim, run } = decided;
        let unsure = run == Some(RunVerdict::Open) && errors.iter().flatten().all(|error| error.is_finite());
        let limit = wide || (open || unsure) && (limits.is_some() || pace.is_late());
        let margins: Vec<Margin> =
            others.iter().zip(margins).map(|(&class, [lower, upper])| Margin { class, lower, upper }).collect();
        let (verdict, reason) = match &broken {
            Some(broken) if broken.tie => (Verdict::NonRobust, Reason::Tie),
            Some(_) => (Verdict::NonRobust, Reason::Witness),
            None if !open && branched => (Verdict::Robust, Reason::BranchAndBound),
            None if !open => (Verdict::Robust, Reason::LinearBound),
            None if limit => (Verdict::Undecided, Reason::Limit),
            None => (Verdict::Undecided, Reason::BoundNotPositive),
        };
        // Of every pair, also of those that no attack breaks: the margin without any change is an upper bound as well.
        let contradiction = margins.iter().find(|margin| margin.lower > margin.upper).map(|margin| {
            let subject = Subject::Pair { node, reference, class: margin.class };
            let bound = format!("the bound {:e}", margin.lower);
            Contradiction::new(subject, bound, format!("a perturbation that leaves the margin {:e}", margin.upper))
        });
        let changes = broken.map_or_else(Vec::new, |broken| broken.changes);
        let values = changes.iter().map(|change| change.value).collect();
        let mut result = NodeResult {
            node,
            reference,
            predicted,
            relevant: self.neighbourhood(node),
            verdict,
            reason,
            minima: vec![None; margins.len()],
            margins,
            search_nodes: visited,
            limit_hit: limit,
            witness: changes.iter().map(|change| change.entry).collect(),
            deployed: None,
            evidence: None,
            details: FlipDetails { values: Some(values), claim, ..FlipDetails::default() },
            contradiction,
        };
        result.deployed = run.zip(errors).map(|(verdict, errors)| {
            let still = |open: &[usize]| self.still_errors(node, predicted, open);
            let prediction_depends = self.prediction_depends(&result, &errors, still);
            let verdict = match verdict {
                RunVerdict::Robust => DeployedVerdict::Robust,
                RunVerdict::NonRobust => DeployedVerdict::NonRobust,
                RunVerdict::Rounding => DeployedVerdict::RoundingDependent,
                RunVerdict::Open => DeployedVerdict::Undecided,
            };
            Deployed { verdict, errors, prediction_depends }
        });
        Some(result)
    }
}
