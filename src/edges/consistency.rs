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
            if !(margin.lower <= margin.upper) {
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

#[cfg(test)]
mod tests {
    use nalgebra::DMatrix;

    use super::*;
    use crate::certify::settings::Effort;
    use crate::edges::budget::EdgeBudget;
    use crate::edges::certifier::EdgeCertifier;
    use crate::problem::graph::Graph;
    use crate::problem::network::{Layer, Network, Operator};
    use crate::search::limits::Limits;

    /// Whatever is changed about a result is noticed.
    #[test]
    fn a_changed_result_contradicts_itself() {
        let graph = Graph::from_lists(&[(0, 1), (1, 2), (0, 2), (2, 3)], &vec![vec![0]; 4], 1).unwrap();
        let layer = |columns, weights: &[f64]| {
            let weights = DMatrix::from_row_slice(1, columns, weights);
            Layer::new(&Operator::Sum, &graph, &weights, &vec![0.0; columns])
        };
        let network = Network::new(vec![layer(1, &[1.0]), layer(2, &[1.0, 0.5])]).unwrap();
        let decide = |keep_one: bool| {
            let budget = EdgeBudget::uniform(&graph, 3, 3).keep_one(keep_one);
            let problem = EdgeProblem::new(graph.clone(), network.clone(), budget).unwrap();
            let effort = Effort::Minimize { limits: Limits::default(), gap: 0.0 };
            (EdgeCertifier::new(problem.clone()).effort(effort).one(0).unwrap(), problem)
        };
        let (robust, problem) = decide(true);
        assert_eq!((robust.verdict, robust.contradiction(&problem)), (Verdict::Robust, None));
        let (tie, open) = decide(false);
        assert_eq!((tie.verdict, tie.reason, tie.contradiction(&open)), (Verdict::NonRobust, EdgeReason::Tie, None));
        type Change = fn(&mut EdgeResult);
        let changes: [Change; 7] = [
            |result| result.margins[0].lower = 1e9,
            |result| result.margins[0].upper = f64::NAN,
            |result| result.margins[0].upper = 0.0,
            |result| result.minima[0].as_mut().unwrap().margin = Dyadic::from(0.125),
            |result| result.minima[0].as_mut().unwrap().edges = vec![Edge(0, 3)],
            |result| result.verdict = Verdict::NonRobust,
            |result| result.witness = vec![Edge(0, 1)],
        ];
        for (at, change) in changes.iter().enumerate() {
            let mut changed = robust.clone();
            change(&mut changed);
            assert!(changed.contradiction(&problem).is_some(), "change {at}");
        }
        let changes: [Change; 4] = [
            |result| result.verdict = Verdict::Robust,
            |result| result.verdict = Verdict::Undecided,
            |result| result.witness = vec![Edge(2, 3)],
            |result| result.witness = vec![Edge(0, 3)],
        ];
        for (at, change) in changes.iter().enumerate() {
            let mut changed = tie.clone();
            change(&mut changed);
            assert!(changed.contradiction(&open).is_some(), "change {at}");
        }
        let mut changed = tie;
        changed.reason = EdgeReason::Witness;
        assert!(changed.contradiction(&open).is_some());
    }
}
