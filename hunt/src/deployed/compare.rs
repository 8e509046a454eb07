//! What an execution shows to be wrong with what is said of a node as it runs.

use std::cmp::Ordering;
use std::fmt::Debug;
use std::sync::atomic;

use gcnproof::{DeployedVerdict, NodeResult};

use crate::exact::Exact;
use crate::finding::{AreaCounts, Kind};

/// An execution on some input, as a node has it.
pub struct Seen<'a> {
    /// What was changed, in words.
    pub input: &'a dyn Debug,
    pub is_unchanged: bool,
    /// Is the input that of the node's witness?
    pub is_witness: bool,
    /// The exact logits.
    pub exact: &'a [Exact],
    /// The logits that were computed.
    pub computed: &'a [f64],
}

/// Everything that contradicts a result. How near errors come to their bounds is counted: executions that stay far from
/// them show little.
pub fn contradictions(result: &NodeResult, seen: &Seen, counts: &AreaCounts) -> Vec<(Kind, String)> {
    let NodeResult { deployed: Some(deployed), reference, predicted, margins, .. } = result else { return Vec::new() };
    let Seen { input, exact, computed, .. } = seen;
    let mut wrong = Vec::new();
    let margin = |class: usize| computed[*reference] - computed[class];
    for (of, &error) in margins.iter().zip(&deployed.errors).filter(|(_, error)| error.is_finite()) {
        if !margin(of.class).is_finite() {
            let text = format!("class {}: an execution overflows, the error is said to be {error:e}", of.class);
            wrong.push((Kind::Margin, text));
            continue;
        }
        let true_margin = exact[*reference].plus(&exact[of.class].negated());
        let said = Exact::from_f64(computed[*reference]).plus(&Exact::from_f64(computed[of.class]).negated());
        let difference = said.plus(&true_margin.negated());
        if error > 0.0 {
            let share = 1000.0 * difference.approximate().abs() / error;
            counts.closest.fetch_max(share as u64, atomic::Ordering::Relaxed);
        }
        let beyond =
            difference.compare_f64(error) == Ordering::Greater || difference.compare_f64(-error) == Ordering::Less;
        if beyond {
            let text = format!(
                "{input:?}, class {}: an execution gives {:e} for a margin of {:e}, which differ by more than {error:e}",
                of.class,
                said.approximate(),
                true_margin.approximate()
            );
            wrong.push((Kind::Margin, text));
        }
    }
    let least = margins.iter().map(|of| margin(of.class)).fold(f64::INFINITY, f64::min);
    if deployed.verdict == DeployedVerdict::Robust && least <= 0.0 {
        let text = format!("deployed: said to be robust, but an execution on {input:?} gives {least:e}");
        wrong.push((Kind::Verdict, text));
    }
    if deployed.verdict == DeployedVerdict::NonRobust && seen.is_witness && least >= 0.0 {
        let text = format!("deployed: the witness {input:?} does not fool an execution, which gives {least:e}");
        wrong.push((Kind::Verdict, text));
    }
    let others = (0..computed.len()).filter(|y| y != predicted).map(|y| computed[y]);
    if seen.is_unchanged
        && !deployed.prediction_depends
        && others.fold(f64::NEG_INFINITY, f64::max) >= computed[*predicted]
    {
        let text = "deployed: the prediction is said not to depend on rounding, but an execution has another".into();
        wrong.push((Kind::Verdict, text));
    }
    wrong
}
