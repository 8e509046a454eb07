//! A result against itself, before anybody sees it: margins, minima and witness must say what the verdict says.

use crate::certify::verdict::Verdict;
use crate::edges::budget::Edge;
use crate::edges::problem::EdgeProblem;
use crate::edges::verdict::{EdgeReason, EdgeResult};
use crate::number::dyadic::Dyadic;

impl EdgeResult {
    /// What does not fit together, if anything. Witness and minima are replayed exactly.
    pub fn contradiction(&self, problem: &EdgeProblem) -> Option<String> {
        for (margin, minimum) in self.margins.iter().zip(&self.minima) {
            let class = margin.class;
            // NaN is no margin either.
            if margin.lower.partial_cmp(&margin.upper).is_none_or(|order| order.is_gt()) {
                return Some(format!(
                    "class {class} has the lower bound {} and a set at {}",
                    margin.lower, margin.upper
                ));
            }
            let Some(minimum) = minimum else { continue };
            if !problem.budget().admits(problem.graph(), &minimum.edges)
                || self.replayed(problem, class, &minimum.edges) != minimum.margin
                || (margin.lower, margin.upper) != (minimum.margin.floor_f64(), minimum.margin.ceil_f64())
            {
                return Some(format!("the minimum {} of class {class} is not attained as it says", minimum.margin));
            }
            if self.verdict == Verdict::Robust && minimum.margin.sign().is_le() {
                return Some(format!("robust, with the minimum {} of class {class}", minimum.margin));
            }
        }
        let broken = self.margins.iter().find(|margin| margin.upper <= 0.0);
        match (self.verdict, broken) {
            (Verdict::NonRobust, _) => self.refuted(problem),
            (verdict, Some(margin)) => {
                Some(format!("{}, with a set at {} of class {}", verdict.name(), margin.upper, margin.class))
            }
            (Verdict::Robust, None) if self.margins.iter().any(|margin| margin.lower < 0.0) => {
                Some("robust, with a lower bound below 0".into())
            }
            (_, None) if !self.witness.is_empty() => Some("a witness of what is not broken".into()),
            _ => None,
        }
    }

    /// What is wrong with the witness.
    fn refuted(&self, problem: &EdgeProblem) -> Option<String> {
        if !problem.budget().admits(problem.graph(), &self.witness) {
            return Some(format!("the witness {:?} is not admissible", self.witness));
        }
        // The class that it breaks is the one with the smallest margin, nearly always.
        let mut order: Vec<_> = self.margins.iter().collect();
        order.sort_by(|x, y| x.upper.total_cmp(&y.upper));
        let wanted = |margin: Dyadic| match self.reason {
            EdgeReason::Tie => margin.sign().is_eq(),
            _ => margin.sign().is_lt(),
        };
        let breaks = order.into_iter().any(|margin| wanted(self.replayed(problem, margin.class, &self.witness)));
        (!breaks).then(|| format!("the witness {:?} changes nothing", self.witness))
    }

    fn replayed(&self, problem: &EdgeProblem, class: usize, edges: &[Edge]) -> Dyadic {
        problem.exact_margin(self.node as u32, self.reference, class, edges)
    }
}
