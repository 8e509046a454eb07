//! One budget from end to end: the bound on the predictions that a single perturbation can break, and a perturbation
//! that breaks many.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use rayon::prelude::*;

use crate::bound::prepared::Prepared;
use crate::bound::workspace::Workspace;
use crate::certify::certifier::Certifier;
use crate::certify::contradiction::{Contradiction, Subject};
use crate::collective::attack::{AttackLimits, attack};
use crate::collective::base::Base;
use crate::collective::components::{components, rounded};
use crate::collective::dual::prices;
use crate::collective::families::{RowKind, Rows};
use crate::collective::generation::{ColumnGeneration, Generated, GenerationSettings};
use crate::collective::listing::{self, Hints};
use crate::collective::program::Program;
use crate::collective::replay::broken;
use crate::collective::solver::Solution;
use crate::problem::flip::Flip;
use crate::problem::{ProblemError, require_flips};
use crate::search::limits::Stop;

/// How far the work on a budget goes.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which rows bound.
    pub rows: Rows,
    /// Nodes whose attributes one attacker may change, at most.
    pub attacked_nodes: Option<usize>,
    /// Swaps of the search for an attack; `None` for a number that grows with the budget.
    pub swaps: Option<usize>,
    /// Problems with at most so many perturbations are decided by listing them; where bound and attack differ, sixteen
    /// times as many are looked at, and those that cannot break more are passed over.
    pub listed: usize,
    /// How often rows are added that cut the fractional attack down.
    pub covers: usize,
    /// The relative width of the gap at which the linear program is solved.
    pub accuracy: f64,
    /// Entries of the columns that the program begins with: what flips without a column are worth is bounded from
    /// above.
    pub entries: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            rows: Rows::All,
            attacked_nodes: None,
            swaps: None,
            listed: 4096,
            covers: 8,
            accuracy: 1e-3,
            entries: 3_000_000,
        }
    }
}

/// The multipliers that a node's part of the bound rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// Its id in the graph.
    pub node: usize,
    /// Rows with their multipliers, in multiples of `1/ONE`; rows with none are left out.
    pub rows: Vec<(RowKind, u32)>,
    /// The covers among them.
    pub covers: Vec<CoverShare>,
}

/// The multiplier of a row that takes some flips as made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoverShare {
    /// In multiples of `1/ONE`.
    pub multiplier: u32,
    /// The flips, in their order.
    pub made: Vec<Flip>,
}

/// What is known of one budget.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Flips in all.
    pub global: usize,
    /// Predictions that count.
    pub counted: usize,
    /// Of these, no perturbation can break more.
    pub bound: usize,
    /// Predictions that no perturbation within the budget breaks, each by itself.
    pub safe: usize,
    /// Their nodes.
    safe_nodes: BTreeSet<usize>,
    /// The bound before it was rounded down, in each component of the graph by itself; the number itself where all
    /// perturbations were listed.
    pub fractional: f64,
    /// The nodes that the perturbation below breaks, replayed exactly.
    pub broken: Vec<usize>,
    /// The perturbation.
    pub flips: Vec<Flip>,
    /// Were all perturbations listed?
    pub listed: bool,
    /// What the bound rests on.
    pub shares: Vec<Share>,
    /// A price of every flip and prices of the flips of some nodes that attain the bound, in multiples of `1/ONE²`.
    pub prices: (u64, Vec<(u32, u64)>),
    /// Does the bound rest on rounding down in each component by itself? The price above is one that attains it.
    pub in_components: bool,
    /// Seconds until the bound and the attack were found.
    pub seconds: (f64, f64),
    /// Two steps that contradict each other, if some did. Then nothing of this can be relied on.
    pub contradiction: Option<Contradiction>,
}

impl Outcome {
    /// Takes the attack found for a smaller budget where that breaks more: it still does. Whatever it breaks is not safe.
    pub fn attacked_as_before(&mut self, before: &Outcome) {
        if let Some(node) = before.broken.iter().find(|node| self.safe_nodes.contains(node)) {
            let refuted =
                || before.refuted(format!("node {node}, which is safe by itself under {} flips,", self.global));
            self.contradiction = self.contradiction.take().or_else(|| Some(refuted()));
        }
        if before.broken.len() > self.broken.len() {
            self.broken.clone_from(&before.broken);
            self.flips.clone_from(&before.flips);
            self.contradiction = self.contradiction.take().or_else(|| self.refuted_bound());
        }
    }

    /// Takes another bound, which the attack may refute.
    pub(crate) fn state_bound(&mut self, bound: usize) {
        self.bound = bound;
        self.contradiction = self.contradiction.take().or_else(|| self.refuted_bound());
    }

    fn refuted_bound(&self) -> Option<Contradiction> {
        let what = format!("a bound of {} predictions", self.bound);
        (self.broken.len() > self.bound).then(|| self.refuted(what))
    }

    fn refuted(&self, what: String) -> Contradiction {
        let replayed = format!("{} flips that break {} nodes", self.flips.len(), self.broken.len());
        Contradiction::new(Subject::Flips(self.global), what, replayed)
    }
}

/// Predictions that count, of a problem: each with the class that it is to keep.
pub struct Collective<'a> {
    prepared: &'a Prepared,
    nodes: &'a [(Base, usize)],
    settings: Settings,
    stop: Stop,
}

impl<'a> Collective<'a> {
    /// Of the nodes that count: what is known of each by itself under the certifier's local budget, and the class that
    /// it is to keep.
    ///
    /// # Errors
    /// If rows are normalised: bounds of one attack add up single flips. If graphs are classified: no flip reaches two
    /// of them.
    pub fn new(
        certifier: &'a Certifier,
        nodes: &'a [(Base, usize)],
        settings: Settings,
    ) -> Result<Collective<'a>, ProblemError> {
        let prepared = certifier.prepared();
        require_flips(prepared.graph(), "one attack on the whole graph is")?;
        if prepared.budget().ranges().is_some() {
            return Err(ProblemError::Ranged { what: "one attack on the whole graph is" });
        }
        if prepared.network().has_readout() {
            return Err(ProblemError::Graphs { what: "one attack on all of them is" });
        }
        Ok(Collective { prepared, nodes, settings, stop: certifier.settings.stop.clone() })
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.is_set()
    }

    /// The nodes that no `global` flips break, each by itself, with their classes.
    pub fn safe(&self, global: usize) -> Vec<(usize, usize)> {
        let safe = self.nodes.iter().filter(|(base, _)| base.needed > global);
        safe.map(|(base, reference)| (base.node, *reference)).collect()
    }

    /// The bound and an attack for `global` flips. `None` if the work was stopped.
    pub fn at(&self, global: usize) -> Option<Outcome> {
        self.with_safe(global, |_| true)
    }

    /// The same with a bound that a proof can state: of the nodes that single nodes' radii show to be safe, only those
    /// that `proved` names are taken as such.
    pub fn provable(&self, global: usize, proved: &BTreeSet<usize>) -> Option<Outcome> {
        let rows = if self.settings.rows == Rows::Weights { Rows::Weights } else { Rows::Provable };
        let settings = Settings { rows, listed: 0, ..self.settings.clone() };
        let provable = Collective { settings, stop: self.stop.clone(), ..*self };
        provable.with_safe(global, |node| proved.contains(&node))
    }

    /// The nodes that path bounds show to be safe; none where proofs are asked for, which have another form.
    fn safe_by_paths(&self, prepared: &Prepared) -> BTreeSet<usize> {
        if self.settings.rows != Rows::All {
            return BTreeSet::new();
        }
        prepared.prepare_paths();
        let global = prepared.budget().global();
        let is_safe = |workspace: &mut Workspace, (base, reference): &(Base, usize)| {
            let others: Vec<usize> = (0..prepared.network().class_count()).filter(|class| class != reference).collect();
            let open = base.needed <= global && !self.stop.is_set();
            (open && prepared.paths(base.node, *reference, &others, workspace).is_some()).then_some(base.node)
        };
        self.nodes.par_iter().map_init(Workspace::default, is_safe).flatten().collect()
    }

    fn with_safe(&self, global: usize, is_safe: impl Fn(usize) -> bool) -> Option<Outcome> {
        let start = Instant::now();
        // There are no more flips than entries.
        let graph = self.prepared.graph();
        let flips = global.min(graph.node_count().saturating_mul(graph.attribute_count()));
        let prepared = self.prepared.at_global(flips);
        let by_paths = self.safe_by_paths(&prepared);
        let is_open = |(base, _): &&(Base, usize)| {
            (base.needed <= global && !by_paths.contains(&base.node)) || !is_safe(base.node)
        };
        let (open, safe): (Vec<&(Base, usize)>, Vec<_>) = self.nodes.iter().partition(is_open);
        let open_nodes: Vec<(usize, usize)> = open.iter().map(|(base, reference)| (base.node, *reference)).collect();
        let mut outcome = Outcome {
            global,
            counted: self.nodes.len(),
            bound: open.len(),
            safe: safe.len(),
            safe_nodes: safe.iter().map(|(base, _)| base.node).collect(),
            fractional: open.len() as f64,
            broken: Vec::new(),
            flips: Vec::new(),
            listed: false,
            shares: Vec::new(),
            prices: (0, Vec::new()),
            in_components: false,
            seconds: (0.0, 0.0),
            contradiction: None,
        };
        let all_flips = listing::permitted(&prepared, &open_nodes, self.settings.listed.min(FEW))
            .filter(|_| self.settings.listed > 0);
        let listed = |flips: &Vec<Flip>| {
            let Settings { attacked_nodes, listed, .. } = self.settings;
            listing::worst(&prepared, &open_nodes, attacked_nodes, listed, flips, Hints::default(), &self.stop)
        };
        if let Some((bound, flips)) = all_flips.as_ref().and_then(listed) {
            outcome.bound = bound;
            outcome.fractional = bound as f64;
            outcome.listed = true;
            outcome.broken = broken(&prepared, &open_nodes, &flips);
            outcome.flips = flips;
            outcome.seconds.0 = start.elapsed().as_secs_f64();
            outcome.contradiction = self.contradiction(&prepared, &outcome, &safe);
            return (!self.stop.is_set()).then_some(outcome);
        }
        let (programmed, always): (Vec<&(Base, usize)>, Vec<_>) = open.iter().partition(|(base, _)| base.needed > 0);
        let bases: Vec<(&Base, usize)> = programmed.iter().map(|(base, reference)| (base, *reference)).collect();
        let Settings { rows, attacked_nodes, covers, accuracy, entries, .. } = self.settings;
        // The program of counts is small: it is solved more exactly.
        let accuracy = if rows == Rows::Count { accuracy * 0.1 } else { accuracy };
        let settings = GenerationSettings { rows, attacked_nodes, covers, accuracy, entries };
        let (generation, first) = ColumnGeneration::new(&prepared, &bases, settings, &self.stop);
        let mut candidates: Vec<Flip> = first.solution.columns.clone();
        let witnesses = programmed.iter().filter_map(|(base, _)| base.witness.as_deref());
        candidates.extend(witnesses.filter(|witness| witness.len() <= WITNESS.min(flips)).flatten());
        let swaps = self.settings.swaps.unwrap_or(SWAPS + SWAPS_EACH * flips.min(MANY));
        let known = all_flips.as_ref().and_then(|flips| generation.shares(flips));
        let improve = || (generation.improve(first), start.elapsed().as_secs_f64());
        let search = || {
            attack(
                prepared.problem(),
                prepared.unperturbed(),
                &open_nodes,
                candidates,
                AttackLimits { swaps, attacked_nodes },
                &self.stop,
            )
        };
        let ((generated, seconds), flips) = rayon::join(improve, search);
        let Generated { kinds, covers, program, solution } = generated;
        outcome.bound = solution.value.floor().min(programmed.len()) + always.len();
        outcome.prices = prices(&program, &solution.multipliers);
        // Other programs are rounded as a whole.
        if rows.are_sharpened() {
            let nodes: Vec<usize> = bases.iter().map(|(base, _)| base.node).collect();
            let of = components(prepared.network(), graph.node_count());
            let rounded = |price: u64| {
                let whole = rounded(&program, &solution.multipliers, &nodes, &of, price);
                whole.unwrap_or(usize::MAX).saturating_add(always.len())
            };
            let least = rounded(0);
            if least < outcome.bound {
                outcome.bound = least;
                outcome.in_components = true;
                // The larger the price, the fewer flips a checker has to look at.
                let price = outcome.prices.0;
                let lower = [1, 2, 4, 8, 16, 64].map(|part| price / part);
                let enough = lower.into_iter().find(|&price| rounded(price) == least);
                outcome.prices = (enough.unwrap_or(0), Vec::new());
            }
        }
        outcome.fractional = solution.value.approximate().min(programmed.len() as f64) + always.len() as f64;
        outcome.shares = shares(&program, &solution, &kinds, &covers, &bases);
        outcome.seconds.0 = seconds;
        outcome.broken = broken(&prepared, &open_nodes, &flips);
        outcome.flips = flips;
        outcome.seconds.1 = start.elapsed().as_secs_f64();
        if outcome.bound > outcome.broken.len()
            && let (Some(flips), Some(known)) = (all_flips, known)
        {
            let of_node: BTreeMap<usize, Option<Vec<u32>>> =
                bases.iter().map(|(base, _)| base.node).zip(known).collect();
            let shares = open_nodes.iter().map(|(node, _)| of_node.get(node).cloned().flatten()).collect();
            let hints = Hints { shares, best: (outcome.broken.len(), outcome.flips.clone()) };
            let most = self.settings.listed.saturating_mul(16).min(REPLAYS / open_nodes.len().max(1));
            let worst = listing::worst(&prepared, &open_nodes, attacked_nodes, most, &flips, hints, &self.stop);
            if let Some((bound, flips)) = worst {
                outcome.bound = bound;
                outcome.fractional = bound as f64;
                outcome.listed = true;
                outcome.broken = broken(&prepared, &open_nodes, &flips);
                outcome.flips = flips;
            }
            outcome.seconds = (start.elapsed().as_secs_f64(), start.elapsed().as_secs_f64());
        }
        outcome.contradiction = self.contradiction(&prepared, &outcome, &safe);
        (!self.stop.is_set()).then_some(outcome)
    }

    /// What the perturbation, replayed exactly, refutes: the bound, or that a node is safe.
    fn contradiction(&self, prepared: &Prepared, outcome: &Outcome, safe: &[&(Base, usize)]) -> Option<Contradiction> {
        // Work that was cut short says nothing.
        if self.stop.is_set() {
            return None;
        }
        if let Some(contradiction) = self.nodes.iter().find_map(|(base, _)| base.contradiction.clone()) {
            return Some(contradiction);
        }
        if let Some(contradiction) = outcome.refuted_bound() {
            return Some(contradiction);
        }
        let attacked: BTreeSet<u32> = outcome.flips.iter().map(|flip| flip.node).collect();
        if !prepared.budget().admits(prepared.graph(), &outcome.flips)
            || self.settings.attacked_nodes.is_some_and(|most| attacked.len() > most)
        {
            return Some(outcome.refuted("the budget".into()));
        }
        let safe: Vec<(usize, usize)> = safe.iter().map(|(base, reference)| (base.node, *reference)).collect();
        let fallen = broken(prepared, &safe, &outcome.flips);
        fallen.first().map(|node| outcome.refuted(format!("node {node}, which is safe by itself,")))
    }
}

/// Nodes that a search tree replays, all perturbations together.
const REPLAYS: usize = 400_000;

/// Flips up to which perturbations may be listed.
const FEW: usize = 512;

/// Witnesses of more flips than this are no candidates by themselves.
const WITNESS: usize = 6;

/// Swaps of the search for an attack: for every budget, and more for every flip.
const SWAPS: usize = 150_000;
const SWAPS_EACH: usize = 12_000;
const MANY: usize = 500;

/// What the bound rests on, node by node.
fn shares(
    program: &Program,
    solution: &Solution,
    kinds: &[Vec<RowKind>],
    covers: &[Vec<Vec<Flip>>],
    bases: &[(&Base, usize)],
) -> Vec<Share> {
    let share = |(at, (base, _)): (usize, &(&Base, usize))| {
        let multipliers = &solution.multipliers[program.rows_of(at)];
        let rows = kinds[at].iter().copied().zip(multipliers.iter().copied()).filter(|row| row.1 > 0).collect();
        let of_covers = covers[at].iter().zip(&multipliers[multipliers.len() - covers[at].len()..]);
        let covers = of_covers.filter(|of| *of.1 > 0).map(|(made, &multiplier)| {
            let mut made = made.clone();
            made.sort_unstable();
            CoverShare { multiplier, made }
        });
        Share { node: base.node, rows, covers: covers.collect() }
    };
    bases.iter().enumerate().map(share).collect()
}
