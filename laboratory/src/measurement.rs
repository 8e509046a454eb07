//! Measures all numbers of the class pairs of one target: bounds, LP, ILP, MILP, exact margin, witness.
//!
//! Only the objective differs between the pairs of a target, so its LP is built once and HiGHS starts each pair from
//! the last basis. good_lp, minilp and Clarabel start from nothing; above [`Settings::full_cells`] they get only the
//! columns that the safe dual bound does not price out, and the sandwich `lp_safe_bound ≤ m̂ ≤ their optimum` shows
//! that this loses nothing. The integer programs always get only the columns that matter: the others are proved useless
//! (reduced-cost fixing). The MILP has the anchored rows besides: with their prices far fewer columns stay open on real
//! targets.

use std::collections::BTreeSet;
use std::time::Instant;

use gcnproof::internals::certify::certifier::Certifier;
use gcnproof_results::record::pair::{Measured, PairRecord};
use gcnproof_run::ours;
use gcnproof_verify::dual::Textbook;
use gcnproof_verify::reduction::Prices;
use gcnproof_verify::solver::{Answer, Clarabel, GoodLp, Highs, HighsSession, Limits, Minilp, Solver, Status};
use gcnproof_verify::{Flip, Form, Instance, Model, formulation, network, relaxation};

use crate::instance::instance_of;
use crate::ranges;
use crate::rows;
use crate::settings::{measured, refuse, status};

pub use crate::settings::Settings;

/// Up to this many coefficients the LP is written exactly as in the paper's appendix.
const APPENDIX_CELLS: usize = 20_000;

/// How many of the cheapest columns a reduced program starts with.
const CHEAPEST: usize = 64;

/// How often the columns of the LP with anchored rows are priced, at most.
const PRICINGS: usize = 12;

/// A price below this is none: degenerate columns.
const FREE: f64 = 1e-7;

/// An integer program may miss its optimum by this much through closed columns; far below
/// [`TOLERANCE`](gcnproof_results::record::chain::TOLERANCE).
const SLACK: f64 = 1e-9;

/// The numbers of some class pairs of a node, for its predicted class.
pub fn pairs(certifier: &Certifier, settings: &Settings, node: usize, classes: &[usize]) -> Vec<PairRecord> {
    let changed = ranges::pairs(certifier, settings, node, classes);
    if let Some(mut rows) = changed.or_else(|| rows::pairs(certifier, settings, node, classes)) {
        ours::conclude(&mut rows);
        return rows;
    }
    let mut rows = ours::numbers(certifier, node, classes);
    if let (Some(&class), Some(row)) = (classes.first(), rows.first()) {
        let (instance, _) = instance_of(certifier.prepared(), node, row.reference as usize, class);
        ask_solvers(instance, settings, &mut rows);
    }
    ours::conclude(&mut rows);
    rows
}

/// Fills in what the solvers say. The instance's objective is that of any pair of the target.
fn ask_solvers(instance: Instance, settings: &Settings, rows: &mut [PairRecord]) {
    let cells = formulation::predicted_nonzeros(&instance);
    rows.iter_mut().for_each(|row| row.cells = cells as u64);
    let form = if cells <= APPENDIX_CELLS { Form::Appendix } else { Form::Compact };
    let model = (cells <= settings.max_cells).then(|| relaxation::linear_program(&instance, form).ok()).flatten();
    let Some(model) = model else {
        for row in rows {
            refuse(row, if cells <= settings.max_cells { "invalid" } else { "too_large" });
        }
        return;
    };
    let full = cells <= settings.full_cells;
    let name = match (form, full) {
        (Form::Appendix, _) => "appendix",
        (Form::Compact, true) => "compact",
        (Form::Compact, false) => "reduced",
    };
    let mut anchored = model.clone();
    network::add_anchors(&mut anchored, &instance);
    // Without a variable there is nothing to warm-start, and the session refuses what is broken: then HiGHS is asked
    // anew.
    let session = HighsSession::new(model.program.clone()).ok();
    let mut bench = Bench { instance, model, anchored, session, settings, full };
    for row in rows {
        row.form = Some(name.to_string());
        bench.pair(row);
    }
}

/// The LP of a target on the bench, with its objective turned from pair to pair.
struct Bench<'a> {
    instance: Instance,
    model: Model,
    /// The same with anchored rows, which the true network obeys.
    anchored: Model,
    session: Option<HighsSession>,
    settings: &'a Settings,
    full: bool,
}

impl Bench<'_> {
    fn pair(&mut self, row: &mut PairRecord) {
        self.turn(row.reference as usize, row.class as usize);
        let limits = Limits { seconds: self.settings.seconds };
        let lp = match &mut self.session {
            Some(session) => session.solve(&limits),
            None => Highs.solve(&self.model.program, &limits),
        };
        row.set_lp_highs(measured(&lp));
        if let Some(values) = lp.values.as_ref().filter(|_| lp.status == Status::Optimal) {
            row.fractional = Some(self.model.fractional(&self.instance, values, 1e-6) as u64);
        }
        let start = Instant::now();
        // With one hidden layer column generation has found it.
        let wanted = lp.optimum().is_some() && row.dual_optimal.is_none();
        let slopes = wanted.then(|| relaxation::optimal_slopes(&self.model, &self.instance, &lp)).flatten();
        if let Some(slopes) = slopes {
            let value = Textbook::new(&self.instance, &slopes).value(&self.instance);
            // The certifier's bounds of layers ≥ 3 may be tighter than the LP below them implies. Then the LP has
            // `Ĥ ≤ S` and `Ĥ ≥ R` as constraints of their own, for which the paper's dual has no multipliers, and may
            // lie above it.
            let status = if self.instance.representations() <= 3 { "textbook" } else { "textbook_weak" };
            row.set_dual_optimal(Measured::new(Some(value), status, start.elapsed().as_secs_f64()));
        }
        let start = Instant::now();
        let Some(duals) = lp.row_duals.as_ref().filter(|duals| duals.len() == self.model.program.rows.len()) else {
            // Without duals there are no prices: every solver gets the whole LP, and integer programs are out of reach.
            self.other_solvers(row, &self.model, &limits);
            row.set_ilp(Measured::refused("no_duals"));
            row.set_milp(Measured::refused("no_duals"));
            return;
        };
        let prices = Prices::new(&self.model, &self.instance, duals);
        row.set_lp_safe_bound(Measured::new(Some(prices.bound), "proved", start.elapsed().as_secs_f64()));
        let mut open = self.first_columns(&prices, &lp);
        let reduced = self.model.restricted(&self.instance, &open.iter().copied().collect::<Vec<_>>());
        // The duals of an interrupted LP price the wrong columns out: then the others get the whole LP.
        let whole = self.full || lp.status != Status::Optimal;
        if whole && !self.full {
            row.form = Some("compact".to_string());
        }
        self.other_solvers(row, if whole { &self.model } else { &reduced }, &limits);
        let known = self.integer_program(row, &prices, &mut open, reduced, &limits);
        self.mixed_program(row, open, known, &limits);
    }

    /// Sets the objective to that of another pair.
    fn turn(&mut self, reference: usize, class: usize) {
        for (at, variable) in self.model.logits().enumerate() {
            let coefficient = f64::from(u8::from(at == reference)) - f64::from(u8::from(at == class));
            self.instance.objective[at] = coefficient;
            self.model.program.variables[variable].objective = coefficient;
            self.anchored.program.variables[variable].objective = coefficient;
            if let Some(session) = &mut self.session {
                session.set_objective(variable, coefficient);
            }
        }
    }

    fn other_solvers(&self, row: &mut PairRecord, model: &Model, limits: &Limits) {
        row.set_lp_good_lp(measured(&model.solve_small(&GoodLp, limits)));
        row.set_lp_minilp(measured(&model.solve_small(&Minilp::default(), limits)));
        row.set_lp_clarabel(measured(&model.solve_small(&Clarabel::default(), limits)));
    }

    /// The cheapest columns, the free ones, and those that the LP has moved.
    fn first_columns(&self, prices: &Prices, lp: &Answer) -> BTreeSet<Flip> {
        let moved = |&(node, attribute): &Flip| {
            let x = f64::from(u8::from(self.instance.has(node, attribute)));
            let value = lp.values.as_ref().map_or(x, |values| values[self.model.attribute(node, attribute)]);
            (value - x).abs() > SLACK
        };
        let wanted = prices.flips.iter().enumerate();
        let wanted = wanted.filter(|(at, (price, flip))| *at < CHEAPEST || *price <= FREE || moved(flip));
        wanted.map(|(_, (_, flip))| *flip).collect()
    }

    /// `m̃`. Returns the margin of the true network at the ILP's perturbation.
    fn integer_program(
        &self,
        row: &mut PairRecord,
        prices: &Prices,
        open: &mut BTreeSet<Flip>,
        reduced: Model,
        limits: &Limits,
    ) -> Option<f64> {
        let start = Instant::now();
        let mut model = reduced.integral(&self.instance);
        loop {
            let answer = model.solve_small(&Highs, limits);
            let incumbent = network::incumbent(&model, &self.instance, &answer);
            let known = incumbent.filter(|incumbent| incumbent.admissible).map(|incumbent| incumbent.margin);
            row.open_columns = Some(open.len() as u64);
            let Some(optimum) = answer.optimum() else {
                row.set_ilp(Measured::new(None, status(answer.status), start.elapsed().as_secs_f64()));
                return known;
            };
            // Whatever could still beat this optimum has to be open.
            let useful = prices.useful(optimum - SLACK);
            let missing: Vec<Flip> =
                prices.flips[..useful].iter().map(|flip| flip.1).filter(|flip| !open.contains(flip)).collect();
            if missing.is_empty() {
                row.set_ilp(Measured::new(Some(optimum), "optimal", start.elapsed().as_secs_f64()));
                return known;
            }
            open.extend(missing);
            if open.len() > self.settings.max_integers {
                row.set_ilp(Measured::new(None, "too_large", start.elapsed().as_secs_f64()));
                return known;
            }
            let flips: Vec<Flip> = open.iter().copied().collect();
            model = self.model.restricted(&self.instance, &flips).integral(&self.instance);
        }
    }

    /// `m`, with every column open that can beat the best perturbation known.
    fn mixed_program(&self, row: &mut PairRecord, open: BTreeSet<Flip>, known: Option<f64>, limits: &Limits) {
        let start = Instant::now();
        let known = known.into_iter().chain(row.witness).fold(f64::INFINITY, f64::min);
        let Some(open) = self.open_to_attack(open, known, limits) else {
            row.set_milp(Measured::new(None, "too_large", start.elapsed().as_secs_f64()));
            return;
        };
        row.open_columns = row.open_columns.max(Some(open.len() as u64));
        let mut model = self.anchored.restricted(&self.instance, &open).integral(&self.instance);
        network::add_indicators(&mut model, &self.instance);
        let answer = model.solve_small(&Highs, &Limits { seconds: self.settings.milp_seconds });
        let incumbent = network::incumbent(&model, &self.instance, &answer).filter(|found| found.admissible);
        let margin = incumbent.map_or(known, |found| found.margin.min(known));
        row.milp_bound = answer.dual_bound.filter(|bound| bound.is_finite()).map(|bound| bound.min(known));
        let value = answer.optimum().map(|_| margin);
        row.set_milp(Measured::new(value, status(answer.status), start.elapsed().as_secs_f64()));
    }

    /// The flips that a perturbation with a margin below `known` may make, by the prices of the LP with anchored rows.
    /// It is solved over a part of the columns, and the part grows until its duals are good for all of them; any duals
    /// give valid prices. `None` if too many stay open.
    fn open_to_attack(&self, mut open: BTreeSet<Flip>, known: f64, limits: &Limits) -> Option<Vec<Flip>> {
        let unstable = self.model.units().filter(|unit| matches!(unit.3, formulation::Unit::Unstable { .. })).count();
        if unstable > self.settings.max_integers {
            return None;
        }
        let mut best = usize::MAX;
        for _ in 0..PRICINGS {
            let flips: Vec<Flip> = open.iter().copied().collect();
            let answer = self.anchored.restricted(&self.instance, &flips).solve_small(&Highs, limits);
            let prices = Prices::new(&self.anchored, &self.instance, answer.row_duals.as_ref()?);
            let useful = prices.useful(known - SLACK);
            let more = prices.wanted(|flip| open.contains(flip), 4 * CHEAPEST);
            let settled = more.is_empty()
                || useful * 10 > best.saturating_mul(9) && useful + unstable <= self.settings.max_integers;
            best = best.min(useful);
            if settled {
                let fits = useful + unstable <= self.settings.max_integers;
                return fits.then(|| prices.flips[..useful].iter().map(|flip| flip.1).collect());
            }
            open.extend(more);
        }
        None
    }
}
