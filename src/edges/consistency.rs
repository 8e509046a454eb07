//! A result against itself, before anybody sees it: margins, minima and witness must say what the verdict says.

use crate::certify::contradiction::{Contradiction, Subject};
use crate::certify::verdict::Verdict;
use crate::edges::budget::Edge;
use crate::edges::problem::EdgeProblem;
use crate::edges::verdict::{EdgeReason, EdgeResult};
use crate::number::dyadic::Dyadic;

impl EdgeResult {
    /// Two things that do not fit together, if some do not. Witness and minima are replayed exactly.
    pub fn disagreement(&self, problem: &EdgeProblem) -> Option<Contradiction> {
        let verdict = || format!("the verdict {}", self.verdict.name());
        for (margin, minimum) in self.margins.iter().zip(&self.minima) {
            let class = margin.class;
            let pair = Subject::Pair { node: self.node, reference: self.reference, class };
            // NaN is no margin either.
            if margin.lower.partial_cmp(&margin.upper).is_none_or(|order| order.is_gt()) {
                let (lower, upper) = (margin.lower, margin.upper);
                let bound = format!("a lower bound of {lower}");
                return Some(Contradiction::new(pair, bound, format!("removals with a margin of {upper}")));
            }
            let Some(minimum) = minimum else { continue };
            let stated = || format!("the minimum {}", minimum.margin);
            if !problem.budget().admits(problem.graph(), &minimum.changes)
                || self.replayed(problem, class, &minimum.changes) != minimum.margin
                || (margin.lower, margin.upper) != (minimum.margin.floor_f64(), minimum.margin.ceil_f64())
            {
                return Some(Contradiction::new(pair, stated(), "the removals that are to attain it"));
            }
            if self.verdict == Verdict::Robust && minimum.margin.sign().is_le() {
                return Some(Contradiction::new(pair, verdict(), stated()));
            }
        }
        let node = Subject::Node(self.node);
        let broken = self.margins.iter().find(|margin| margin.upper <= 0.0);
        match (self.verdict, broken) {
            (Verdict::NonRobust, _) => self.refuted(problem),
            (_, Some(margin)) => {
                let pair = Subject::Pair { node: self.node, reference: self.reference, class: margin.class };
                Some(Contradiction::new(pair, verdict(), format!("removals with a margin of {}", margin.upper)))
            }
            (Verdict::Robust, None) if self.margins.iter().any(|margin| margin.lower < 0.0) => {
                Some(Contradiction::new(node, verdict(), "a lower bound below 0"))
            }
            (_, None) if !self.witness.is_empty() => Some(Contradiction::new(node, verdict(), "a witness")),
            _ => None,
        }
    }

    /// What is wrong with the witness.
    fn refuted(&self, problem: &EdgeProblem) -> Option<Contradiction> {
        let contradicts = |what: &str| {
            Some(Contradiction::new(Subject::Node(self.node), format!("the witness {:?}", self.witness), what))
        };
        if !problem.budget().admits(problem.graph(), &self.witness) {
            return contradicts("the budget, which does not admit it");
        }
        // The class that it breaks is the one with the smallest margin, nearly always.
        let mut order: Vec<_> = self.margins.iter().collect();
        order.sort_by(|x, y| x.upper.total_cmp(&y.upper));
        let wanted = |margin: Dyadic| match self.reason {
            EdgeReason::Tie => margin.sign().is_eq(),
            _ => margin.sign().is_lt(),
        };
        let breaks = order.into_iter().any(|margin| wanted(self.replayed(problem, margin.class, &self.witness)));
        if breaks { None } else { contradicts("its exact margins, which keep the class") }
    }

    fn replayed(&self, problem: &EdgeProblem, class: usize, edges: &[Edge]) -> Dyadic {
        problem.exact_margin(self.node as u32, self.reference, class, edges)
    }
}
