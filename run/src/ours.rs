//! Our own numbers of a class pair: both bounds, the optimum of the relaxation, the exact margin where it is known, the
//! best perturbation. No solver is asked.

use std::time::Instant;

use gcnproof::Effort;
use gcnproof::internals::bound::relaxed::Relaxation;
use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::internals::certify::certifier::Certifier;
use gcnproof::internals::certify::settings::Margins;
use gcnproof::internals::certify::verdict::Margin;
use gcnproof::internals::search::optimum::relaxed_optimum_until;
use gcnproof_results::record::chain;
use gcnproof_results::record::pair::{Measured, PairRecord};

/// Column generation has found `m̂` when its two sides are this close, relative to it.
const MET: f64 = 1e-8;

/// The numbers of some class pairs of a node, for its predicted class. How exact they are is up to the certifier's
/// effort; where it is stopped, they are not to be taken for a result.
pub fn numbers(certifier: &Certifier, node: usize, classes: &[usize]) -> Vec<PairRecord> {
    own_numbers(certifier, node, classes, true)
}

/// The same where rows are divided by their sums, or categories are replaced: solvers get other relaxations, which none
/// of our bounds has to be below, so that the better one alone is compared with what is exact.
pub fn row_numbers(certifier: &Certifier, node: usize, classes: &[usize]) -> Vec<PairRecord> {
    own_numbers(certifier, node, classes, false)
}

fn own_numbers(certifier: &Certifier, node: usize, classes: &[usize], relaxed: bool) -> Vec<PairRecord> {
    let mut workspace = Workspace::default();
    // The bounds are what is measured.
    let certifier = &certifier.clone().with_margins(Margins::Tight);
    let start = Instant::now();
    let result = certifier.certify_node(node, &mut workspace);
    let seconds = start.elapsed().as_secs_f64() / result.margins.len().max(1) as f64;
    let mut rows: Vec<PairRecord> = Vec::new();
    for &class in classes {
        let mut row = PairRecord {
            node: node as u64,
            class: class as u64,
            reference: result.reference as u64,
            neighbourhood: result.relevant as u64,
            ..PairRecord::default()
        };
        let mut bound = |relaxation| {
            let start = Instant::now();
            let bound = certifier.prepared().pair_bound(node, result.reference, class, relaxation, &mut workspace);
            Measured::new(Some(bound.lower()), "proved", start.elapsed().as_secs_f64())
        };
        row.set_anchored(bound(Relaxation::Anchored));
        if relaxed {
            row.set_dual_default(bound(Relaxation::Paper));
            let start = Instant::now();
            let (stop, prepared) = (certifier.stop(), certifier.prepared());
            let optimum = relaxed_optimum_until(stop, prepared, node, result.reference, class, &mut workspace);
            let met = optimum.upper - optimum.lower <= MET * (1.0 + optimum.lower.abs());
            let status = if met { "proved" } else { "limit" };
            row.set_dual_optimal(Measured::new(Some(optimum.lower), status, start.elapsed().as_secs_f64()));
        }
        let margin = result.margins.iter().find(|margin: &&Margin| margin.class == class);
        row.set_witness(Measured::new(margin.map(|margin| margin.upper), "proved", seconds));
        // Lower and upper bound of the search have met, or a limit came first.
        let exact = margin.filter(|margin| margin.upper - margin.lower <= chain::TOLERANCE);
        let status = if exact.is_some() { "proved" } else { "limit" };
        row.set_exact(Measured::new(exact.map(|margin| margin.upper), status, seconds));
        rows.push(row);
    }
    rows
}

/// The same where attributes are moved within ranges: the bound by lines, and margins up to the gap of the certifier's
/// effort.
pub fn range_numbers(certifier: &Certifier, node: usize, classes: &[usize]) -> Vec<PairRecord> {
    let mut workspace = Workspace::default();
    let timed = |certifier: &Certifier, workspace: &mut Workspace| {
        let start = Instant::now();
        let result = certifier.certify_node(node, workspace);
        let seconds = start.elapsed().as_secs_f64() / result.margins.len().max(1) as f64;
        (result, seconds)
    };
    let (bounds, bound_seconds) = timed(&certifier.clone().with_effort(Effort::Bounds), &mut workspace);
    let (result, seconds) = timed(certifier, &mut workspace);
    // Bounds of deeper units are better than the intervals that solvers get, so that the bound need not be below their
    // optimum.
    let shallow = certifier.network().depth() <= 3;
    let row = |&class: &usize| {
        let mut row = PairRecord {
            node: node as u64,
            class: class as u64,
            reference: result.reference as u64,
            neighbourhood: result.relevant as u64,
            ..PairRecord::default()
        };
        let find = |margins: &[Margin]| margins.iter().find(|margin| margin.class == class).copied();
        let lower = find(&bounds.margins).map(|margin| margin.lower).filter(|lower| shallow && lower.is_finite());
        if lower.is_some() {
            row.set_dual_default(Measured::new(lower, "proved", bound_seconds));
        }
        let margin = find(&result.margins);
        row.set_witness(Measured::new(margin.map(|margin| margin.upper), "proved", seconds));
        let met = |margin: &Margin| margin.upper - margin.lower <= chain::TOLERANCE * (1.0 + margin.upper.abs());
        let exact = margin.filter(met);
        let status = if exact.is_some() { "proved" } else { "limit" };
        row.set_exact(Measured::new(exact.map(|margin| margin.upper), status, seconds));
        row
    };
    classes.iter().map(row).collect()
}

/// Fills in what follows from the numbers of each row: gaps, changed verdicts, violated inequalities.
pub fn conclude(rows: &mut [PairRecord]) {
    for row in rows {
        row.conclude();
        let found: Vec<String> = chain::violations(row).iter().map(ToString::to_string).collect();
        row.violation = (!found.is_empty()).then(|| found.join("; "));
    }
}
