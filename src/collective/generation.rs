//! The program of one budget, solved: columns for the flips that matter, found by what all flips of the graph are
//! worth, and rows that cut fractional attacks down (docs/math.md §20.3).

use std::collections::BTreeSet;

use crate::bound::prepared::Prepared;
use crate::collective::base::Base;
use crate::collective::cover::covers;
use crate::collective::descent::descend;
use crate::collective::dual::evaluate;
use crate::collective::families::{Families, NodeRows, RowKind, Rows};
use crate::collective::named::Named;
use crate::collective::program::Program;
use crate::collective::row::{ONE, ShareRow};
use crate::collective::solver::{Solution, SolverLimits, Start, solve};
use crate::collective::sums::ShareSums;
use crate::problem::flip::Flip;
use crate::search::limits::Stop;

/// How often all flips are priced anew.
const PASSES: usize = 4;

/// The part of the bound that a round must take away so that there is another.
const GAIN: f64 = 0.002;

/// How much less exact solutions are between two rounds of rows.
const ROUGH: f64 = 3.0;

/// Entries times steps for the multipliers of the first rows.
const FIRST_WORK: u64 = 2_000_000_000;

/// Entries times steps after which no rows are added.
const WORK: u64 = 400_000_000;

/// What flips without a column may add to a bound before they get one.
const LEFT: f64 = 0.02;

/// Limits of the generation of columns and rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GenerationSettings {
    pub(crate) rows: Rows,
    pub(crate) attacked_nodes: Option<usize>,
    /// How often rows are added between two looks at all flips.
    pub(crate) covers: usize,
    pub(crate) accuracy: f64,
    /// Entries that the first columns have together; all that are added have four times as many.
    pub(crate) entries: usize,
}

/// The best bound that was found, and what it rests on.
pub(crate) struct Generated {
    pub(crate) kinds: Vec<Vec<RowKind>>,
    /// The flips that covers take as made, which are the last rows of each node.
    pub(crate) covers: Vec<Vec<Vec<Flip>>>,
    pub(crate) program: Program,
    /// The multipliers and the bound, which holds for all flips.
    pub(crate) solution: Solution,
}

/// Column and row generation for one budget: the flips with a column, and the rows of every node.
pub(crate) struct ColumnGeneration<'a> {
    prepared: &'a Prepared,
    families: Families<'a>,
    settings: GenerationSettings,
    stop: &'a Stop,
    named: Named,
    rows: Vec<NodeRows>,
    /// What flips have in the rows of weights.
    sums: ShareSums,
}

impl<'a> ColumnGeneration<'a> {
    /// Rows of weights and their multipliers for nodes, each given with the class that it is to keep.
    pub(crate) fn new(
        prepared: &'a Prepared,
        nodes: &'a [(&'a Base, usize)],
        settings: GenerationSettings,
        stop: &'a Stop,
    ) -> (ColumnGeneration<'a>, Generated) {
        let (families, sums) = Families::new(prepared, nodes, settings.rows, stop);
        let mut named = Named::default();
        let first = sums.exceeded_by(settings.entries);
        sums.name_above(first, &mut named);
        let rows = families.rows(&named);
        let mut generation = ColumnGeneration { prepared, families, settings, stop, named, rows, sums };
        let (mut best, mut enough) = generation.solved(Start::default());
        // Multipliers of a node sum to one at most, so that no flip is worth more than its weights together, as long as
        // there are no other rows.
        for _ in 1..PASSES {
            if enough || !generation.name_more(&best, None) {
                break;
            }
            let (next, is_enough) = generation.solved(best.solution.start(&best.solution.multipliers));
            enough = is_enough;
            best = best.or(next);
        }
        (generation, best)
    }

    /// The shares of some flips in the first row of each node, in their order; none for nodes without rows. All flips
    /// are named, or there would be shares that are not known.
    pub(crate) fn shares(&self, flips: &[Flip]) -> Option<Vec<Option<Vec<u32>>>> {
        let of = |rows: &NodeRows| rows.rows.first().map(|row| flips.iter().map(|&flip| row.share(flip)).collect());
        self.sums.unnamed(&self.named).is_empty().then(|| self.rows.iter().map(of).collect())
    }

    /// A better bound, by rows that cut fractional attacks down.
    pub(crate) fn improve(mut self, best: Generated) -> Generated {
        if !self.settings.rows.are_sharpened() || self.settings.covers == 0 || self.stop.is_set() {
            return best;
        }
        self.forget(&best);
        self.covered(best)
    }
}

impl ColumnGeneration<'_> {
    /// The program of the rows; it knows all source nodes that some row reaches, whether or not their flips are named.
    fn program(&self) -> Program {
        let rows: Vec<&[ShareRow]> = self.rows.iter().map(|of| of.rows.as_slice()).collect();
        Program::new(
            self.prepared.graph(),
            self.prepared.budget(),
            self.settings.attacked_nodes,
            &rows,
            self.sums.sources(),
        )
    }

    /// Multipliers for the rows and columns that there are.
    fn solved(&self, start: Start) -> (Generated, bool) {
        let program = self.program();
        let limits = SolverLimits { accuracy: self.settings.accuracy, work: FIRST_WORK };
        let mut solution = solve(&program, start, limits, self.stop);
        descend(&program, &mut solution, self.stop);
        self.evaluated(program, solution, &self.sums)
    }

    /// The bound over all flips, where `sums` says what those without a column are worth; and whether these add
    /// less than the accuracy.
    fn evaluated(&self, mut program: Program, mut solution: Solution, sums: &ShareSums) -> (Generated, bool) {
        let without = solution.value.approximate();
        program.set_caps(&sums.unnamed(&self.named));
        solution.value = evaluate(&program, &solution.multipliers);
        let enough = solution.value.approximate() <= without * (1.0 + self.settings.accuracy);
        let kinds = self.rows.iter().map(|of| of.kinds.clone()).collect();
        let covers = self.rows.iter().map(|of| of.covers.clone()).collect();
        (Generated { kinds, covers, program, solution }, enough)
    }

    /// Columns for the flips that are worth about as much as the last one of the best attack, or more: by `sums`, or by
    /// what they have in the rows of weights. False if there are none.
    fn name_more(&mut self, now: &Generated, sums: Option<&ShareSums>) -> bool {
        let sums = sums.unwrap_or(&self.sums);
        let price = now.program.price(&now.solution.multipliers) / u128::from(ONE);
        let limit = u64::try_from(price * 9 / 10)
            .unwrap_or(u64::MAX)
            .max(sums.exceeded_by(self.settings.entries.saturating_mul(4)));
        if self.stop.is_set() || sums.name_above(limit, &mut self.named) == 0 {
            return false;
        }
        let before = std::mem::replace(&mut self.rows, self.families.rows(&self.named));
        for (now, before) in self.rows.iter_mut().zip(before) {
            before.covers.into_iter().for_each(|cover| now.cover(cover));
        }
        // Where the work was stopped meanwhile, some rows are missing.
        !self.stop.is_set()
    }

    /// Takes the columns away of flips that are worth far less than the last one of the best attack.
    fn forget(&mut self, now: &Generated) {
        let kept: BTreeSet<Flip> = now.program.best_flips(&now.solution.multipliers, self.settings.entries).collect();
        self.named.retain(|source, slot| {
            let attribute = self.prepared.attributes().attribute(slot as usize);
            kept.contains(&Flip { node: source, attribute })
        });
        for row in self.rows.iter_mut().flat_map(|of| &mut of.rows) {
            row.entries.retain(|entry| kept.contains(&entry.0));
        }
    }

    /// Adds rows that cut the fractional attack down; all flips are priced anew, since these rows are larger than the
    /// weights.
    fn covered(&mut self, mut best: Generated) -> Generated {
        let mut last = best.solution.clone();
        let mut work = 0;
        for _ in 0..PASSES {
            let (program, solution) = self.cut(&last, &mut work);
            if self.stop.is_set() || solution.value.approximate() > best.solution.value.approximate() * (1.0 - GAIN) {
                break;
            }
            let multipliers: Vec<&[u32]> =
                (0..program.node_count()).map(|node| &solution.multipliers[program.rows_of(node)]).collect();
            let sums = self.families.worth(&self.rows, &multipliers, &self.sums);
            last = solution.clone();
            let on_columns = solution.value.approximate();
            let (next, _) = self.evaluated(program, solution, &sums);
            let more =
                next.solution.value.approximate() > on_columns * (1.0 + LEFT) && self.name_more(&next, Some(&sums));
            best = best.or(next);
            if !more {
                break;
            }
        }
        best
    }

    /// Rounds of new rows, on the columns that there are, from the multipliers of the present rows.
    fn cut(&mut self, last: &Solution, work: &mut u64) -> (Program, Solution) {
        let mut program = self.program();
        let limits = |part: f64, work: u64| SolverLimits {
            accuracy: part * self.settings.accuracy,
            // Even without any work left a rough solution is needed.
            work: WORK.saturating_sub(work).max(WORK / 8),
        };
        let mut solution = solve(&program, last.start(&last.multipliers), limits(ROUGH, *work), self.stop);
        *work += solution.work;
        for _ in 0..self.settings.covers {
            let more = covers(&self.rows, &solution.flips);
            if more.is_empty() || *work > WORK || self.stop.is_set() {
                break;
            }
            let mut before: Vec<Vec<u32>> =
                (0..self.rows.len()).map(|node| solution.multipliers[program.rows_of(node)].to_vec()).collect();
            for (of, multipliers) in self.rows.iter_mut().zip(&mut before) {
                of.drop_unused_covers(multipliers);
            }
            for (node, cover) in more {
                self.rows[node].cover(cover);
                before[node].push(0);
            }
            let value = solution.value.approximate();
            program = self.program();
            solution = solve(&program, solution.start(&before.concat()), limits(ROUGH, *work), self.stop);
            *work += solution.work;
            if solution.value.approximate() > value * (1.0 - GAIN) {
                break;
            }
        }
        if *work <= WORK {
            solution = solve(&program, solution.start(&solution.multipliers), limits(1.0, *work), self.stop);
            *work += solution.work;
        }
        descend(&program, &mut solution, self.stop);
        (program, solution)
    }
}

impl Generated {
    /// The one with the smaller bound.
    fn or(self, other: Generated) -> Generated {
        if other.solution.value < self.solution.value { other } else { self }
    }
}
