//! The report of a validation run: counts, gaps and histograms, for people and for machines.

use std::fmt::Write;

use gcnproof_results::record::chain;
use gcnproof_results::record::pair::{PairRecord, ZERO};
use serde::Serialize;

use super::histogram::Histogram;

/// A gap that is shown: a name for files, a title, an axis, and where it stands in a row.
pub struct Gap {
    /// The stem of its files.
    pub name: &'static str,
    /// The title of its picture.
    pub title: &'static str,
    /// The label of its axis.
    pub axis: &'static str,
    /// The gap of a row.
    pub of: fn(&PairRecord) -> Option<f64>,
}

/// The gaps that are shown.
pub const GAPS: [Gap; 5] = [
    Gap {
        name: "dual_vs_lp",
        title: "How far the default dual stays below the LP optimum",
        axis: "LP optimum − g at the default Ω",
        of: |row| row.gap_dual,
    },
    Gap {
        name: "anchored_vs_dual",
        title: "What the anchored bound gains over the default dual",
        axis: "anchored bound − g at the default Ω",
        of: |row| row.gap_anchored,
    },
    Gap {
        name: "lp_vs_ilp",
        title: "The integrality gap (zero, if the paper's theorem held)",
        axis: "ILP optimum − LP optimum",
        of: |row| row.gap_integrality,
    },
    Gap {
        name: "lp_vs_truth",
        title: "How far the LP stays below the true worst case",
        axis: "true minimum − LP optimum",
        of: |row| row.gap_relaxation,
    },
    Gap {
        name: "dual_vs_witness",
        title: "What the default dual leaves open",
        axis: "margin of the witness − g at the default Ω",
        of: |row| row.gap_witness,
    },
];

/// Size of one gap over all rows that have it.
#[derive(Clone, Debug, Serialize)]
pub struct GapSize {
    /// Which gap.
    pub name: &'static str,
    /// Class pairs for which both of its numbers are known.
    pub pairs: usize,
    /// Of those, pairs where it is larger than 1e-6.
    pub positive: usize,
    /// None where no pair has the gap.
    pub mean: Option<f64>,
    /// The upper median; none where no pair has the gap.
    pub median: Option<f64>,
    /// Its largest value.
    pub largest: Option<f64>,
}

/// How often one number was found, with its statuses and its seconds.
#[derive(Clone, Debug, Serialize)]
pub struct Tally {
    /// The number.
    pub name: &'static str,
    /// Pairs that have it.
    pub answered: usize,
    /// Statuses and how often, most frequent first.
    pub statuses: Vec<(String, usize)>,
    /// Summed over all pairs.
    pub seconds: f64,
}

/// The summary of a `validate` run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Target nodes.
    pub targets: usize,
    /// Class pairs.
    pub pairs: usize,
    /// Pairs on which at least two LP solvers answered, and all of them agreed.
    pub solvers_agree: usize,
    /// Of those, pairs on which all four answered.
    pub all_solvers_agree: usize,
    /// Answers that no boxed LP of this kind can have (infeasible, unbounded, distrusted, failed).
    pub solver_trouble: usize,
    /// What each number took.
    pub numbers: Vec<Tally>,
    /// In the order of [`GAPS`].
    pub gaps: Vec<GapSize>,
    /// Pairs with a fractional LP optimum.
    pub fractional: usize,
    /// Pairs that an ILP certifies and the LP does not.
    pub integrality_changes_verdict: usize,
    /// Pairs that are robust although the ILP does not say so.
    pub relaxation_changes_verdict: usize,
    /// The tolerance of the inequalities, absolute and relative.
    pub tolerance: f64,
    /// Violated inequalities.
    pub violations: Vec<String>,
    /// Wall-clock seconds of this run.
    pub seconds: f64,
}

/// The value, the status and the seconds of a number in a row.
type NumberOf = fn(&PairRecord) -> (Option<f64>, &Option<String>, Option<f64>);

/// A number of the rows, by its name in the file.
struct NumberColumn {
    name: &'static str,
    of: NumberOf,
}

const NUMBERS: [NumberColumn; 12] = [
    NumberColumn {
        name: "dual_default",
        of: |row| (row.dual_default, &row.dual_default_status, row.dual_default_seconds),
    },
    NumberColumn { name: "anchored", of: |row| (row.anchored, &row.anchored_status, row.anchored_seconds) },
    NumberColumn {
        name: "dual_optimal",
        of: |row| (row.dual_optimal, &row.dual_optimal_status, row.dual_optimal_seconds),
    },
    NumberColumn { name: "lp_highs", of: |row| (row.lp_highs, &row.lp_highs_status, row.lp_highs_seconds) },
    NumberColumn { name: "lp_good_lp", of: |row| (row.lp_good_lp, &row.lp_good_lp_status, row.lp_good_lp_seconds) },
    NumberColumn { name: "lp_minilp", of: |row| (row.lp_minilp, &row.lp_minilp_status, row.lp_minilp_seconds) },
    NumberColumn { name: "lp_clarabel", of: |row| (row.lp_clarabel, &row.lp_clarabel_status, row.lp_clarabel_seconds) },
    NumberColumn {
        name: "lp_safe_bound",
        of: |row| (row.lp_safe_bound, &row.lp_safe_bound_status, row.lp_safe_bound_seconds),
    },
    NumberColumn { name: "ilp", of: |row| (row.ilp, &row.ilp_status, row.ilp_seconds) },
    NumberColumn { name: "milp", of: |row| (row.milp, &row.milp_status, row.milp_seconds) },
    NumberColumn { name: "exact", of: |row| (row.exact, &row.exact_status, row.exact_seconds) },
    NumberColumn { name: "witness", of: |row| (row.witness, &row.witness_status, row.witness_seconds) },
];

impl Report {
    /// Counts the rows.
    pub fn new(rows: &[PairRecord], seconds: f64) -> Report {
        let count = |which: fn(&PairRecord) -> bool| rows.iter().filter(|row| which(row)).count();
        let mut targets: Vec<u64> = rows.iter().map(|row| row.node).collect();
        targets.dedup();
        let numbers: Vec<Tally> = NUMBERS.iter().map(|column| tally(rows, column)).collect();
        let trouble = ["infeasible", "unbounded", "distrusted", "failed", "invalid"];
        let statuses = numbers.iter().flat_map(|tally| &tally.statuses);
        Report {
            targets: targets.len(),
            pairs: rows.len(),
            solvers_agree: count(|row| agreeing_solvers(row) >= 2),
            all_solvers_agree: count(|row| agreeing_solvers(row) == LP_SOLVERS),
            solver_trouble: statuses.filter(|(name, _)| trouble.contains(&name.as_str())).map(|s| s.1).sum(),
            numbers,
            gaps: GAPS.iter().map(|gap| size(rows, gap)).collect(),
            fractional: count(|row| row.fractional.is_some_and(|count| count > 0)),
            integrality_changes_verdict: count(|row| row.integrality_changes_verdict == Some(true)),
            relaxation_changes_verdict: count(|row| row.relaxation_changes_verdict == Some(true)),
            tolerance: chain::TOLERANCE,
            violations: rows
                .iter()
                .filter_map(|row| Some(format!("node {} class {}: {}", row.node, row.class, row.violation.as_ref()?)))
                .collect(),
            seconds,
        }
    }

    /// Is every inequality kept, and has no solver said what cannot be?
    pub fn clean(&self) -> bool {
        self.violations.is_empty() && self.solver_trouble == 0
    }

    /// For a person, with a histogram of every gap.
    pub fn text(&self, rows: &[PairRecord]) -> String {
        let mut text = format!("{} class pairs of {} targets, {:.1} s\n\n", self.pairs, self.targets, self.seconds);
        let _ = writeln!(text, "{:<16}{:>9}{:>12}  status", "number", "answers", "s each");
        for tally in &self.numbers {
            let known: usize = tally.statuses.iter().map(|status| status.1).sum();
            if known == 0 {
                let _ = writeln!(text, "{:<16}{:>9}{:>12}  not computed by this version", tally.name, 0, "-");
                continue;
            }
            let each = tally.seconds / known as f64;
            let statuses: Vec<String> = tally.statuses.iter().map(|(name, n)| format!("{name} {n}")).collect();
            let _ = writeln!(text, "{:<16}{:>9}{each:>12.5}  {}", tally.name, tally.answered, statuses.join(", "));
        }
        let _ = writeln!(
            text,
            "\n{:<18}{:>8}{:>10}{:>12}{:>12}{:>12}",
            "gap", "pairs", "> 1e-6", "mean", "median", "largest"
        );
        let number = |x: Option<f64>| x.map_or("-".to_string(), |x| format!("{x:.5}"));
        for gap in &self.gaps {
            let (mean, median, largest) = (number(gap.mean), number(gap.median), number(gap.largest));
            let _ = writeln!(
                text,
                "{:<18}{:>8}{:>10}{mean:>12}{median:>12}{largest:>12}",
                gap.name, gap.pairs, gap.positive
            );
        }
        for gap in &GAPS {
            let values: Vec<f64> = rows.iter().filter_map(gap.of).collect();
            if !values.is_empty() {
                let _ = write!(text, "\n{}: {}\n{}", gap.name, gap.axis, Histogram::logarithmic(&values).text());
            }
        }
        let _ = writeln!(
            text,
            "\nfractional LP optima: {} pairs\nverdict changed by integrality: {} pairs, by the ReLU relaxation: {} pairs",
            self.fractional, self.integrality_changes_verdict, self.relaxation_changes_verdict
        );
        let _ = writeln!(
            text,
            "two or more LP solvers answered and agreed: {} pairs, all {LP_SOLVERS} of them: {} pairs",
            self.solvers_agree, self.all_solvers_agree
        );
        if self.solver_trouble > 0 {
            let _ = writeln!(text, "SOLVER TROUBLE: {} answers that such a program cannot have", self.solver_trouble);
        }
        if self.violations.is_empty() {
            let _ = writeln!(text, "every inequality of the chain holds (tolerance {0} + {0}·|x|)", self.tolerance);
        } else {
            let _ = writeln!(text, "VIOLATED on {} pairs:", self.violations.len());
            for violation in &self.violations {
                let _ = writeln!(text, "  {violation}");
            }
        }
        text
    }
}

/// The independent routes to the LP.
const LP_SOLVERS: usize = 4;

/// How many LP solvers answered, if they agree with each other; else 0.
fn agreeing_solvers(row: &PairRecord) -> usize {
    let lps: [Option<f64>; LP_SOLVERS] = [row.lp_highs, row.lp_good_lp, row.lp_minilp, row.lp_clarabel];
    if chain::violations(row).iter().any(|v| v.equal) { 0 } else { lps.into_iter().flatten().count() }
}

fn tally(rows: &[PairRecord], &NumberColumn { name, of }: &NumberColumn) -> Tally {
    let mut statuses: Vec<(String, usize)> = Vec::new();
    for status in rows.iter().filter_map(|row| of(row).1.as_ref()) {
        match statuses.iter_mut().find(|known| &known.0 == status) {
            Some(known) => known.1 += 1,
            None => statuses.push((status.clone(), 1)),
        }
    }
    statuses.sort_by(|left, right| right.1.cmp(&left.1).then(left.0.cmp(&right.0)));
    Tally {
        name,
        answered: rows.iter().filter(|row| of(row).0.is_some()).count(),
        statuses,
        seconds: rows.iter().filter_map(|row| of(row).2).sum(),
    }
}

fn size(rows: &[PairRecord], gap: &Gap) -> GapSize {
    let mut values: Vec<f64> = rows.iter().filter_map(gap.of).collect();
    values.sort_by(f64::total_cmp);
    let mean = (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
    GapSize {
        name: gap.name,
        pairs: values.len(),
        positive: values.iter().filter(|&&value| value > ZERO).count(),
        mean,
        median: values.get(values.len() / 2).copied(),
        largest: values.last().copied(),
    }
}
