//! Multipliers of rows of counts by HiGHS. They are proposals: the bound is what our own integers make of them
//! (docs/math.md (20.3)).

use std::collections::BTreeMap;
use std::time::Instant;

use gcnproof::internals::bound::prepared::Prepared;
use gcnproof::internals::certify::certifier::Certifier;
use gcnproof::internals::collective::base::Base;
use gcnproof::internals::collective::curve::{Outcome, Share};
use gcnproof::internals::collective::dual::{evaluate, on_grid, prices};
use gcnproof::internals::collective::families::RowKind;
use gcnproof::internals::collective::program::Program;
use gcnproof::internals::collective::row::ShareRow;
use gcnproof::internals::problem::matrix::PatternRows;
use gcnproof::internals::problem::slice::Slice;
use gcnproof_verify::collective::{Attacker, CountInstance, CountNode};
use gcnproof_verify::solver::{Highs, Limits, Solver, Status};

/// Seconds that HiGHS may take for a budget.
const SECONDS: f64 = 600.0;

/// Puts the bound that HiGHS' multipliers give in the place of the one that the outcome has, with what it rests on and
/// the time that it took. Its perturbation stays. `nodes` are those that count, as
/// [`Collective::new`](gcnproof::internals::collective::Collective::new) has them.
///
/// # Errors
/// If HiGHS has no multipliers, how it ended; then the outcome is left as it is.
pub fn propose(
    certifier: &Certifier,
    nodes: &[(Base, usize)],
    attacked_nodes: Option<usize>,
    outcome: &mut Outcome,
) -> Result<(), Status> {
    // All perturbations were tried: nothing is left to bound.
    if outcome.listed {
        return Ok(());
    }
    let start = Instant::now();
    let graph = certifier.prepared().graph();
    let flips = outcome.global.min(graph.node_count().saturating_mul(graph.attribute_count()));
    let prepared = certifier.prepared().at_global(flips);
    let open = |needed: usize| 0 < needed && needed <= outcome.global;
    let bases: Vec<&Base> = nodes.iter().map(|(base, _)| base).filter(|base| open(base.needed)).collect();
    let always = nodes.iter().filter(|(base, _)| base.needed == 0).count();
    let sources: Vec<Vec<u32>> = bases.iter().map(|base| sources_of(&prepared, base.node)).collect();
    let instance = instance(&prepared, &bases, &sources, attacked_nodes);
    let model = instance.program(false);
    let answer = Highs.solve(&model.program, &Limits { seconds: SECONDS });
    let duals = answer.row_duals.ok_or(answer.status)?;
    let rows: Vec<[ShareRow; 1]> = bases
        .iter()
        .zip(&sources)
        .map(|(base, sources)| [ShareRow::count(sources.iter().copied(), base.needed)])
        .collect();
    let rows: Vec<&[ShareRow]> = rows.iter().map(|row| row.as_slice()).collect();
    let program = Program::new(graph, prepared.budget(), attacked_nodes, &rows, std::iter::empty());
    let multipliers = on_grid(&program, &model.multipliers(&instance, &duals));
    let value = evaluate(&program, &multipliers);
    outcome.bound = value.floor().min(bases.len()) + always;
    outcome.fractional = value.approximate().min(bases.len() as f64) + always as f64;
    outcome.prices = prices(&program, &multipliers);
    let share = |(base, &multiplier): (&&Base, &u32)| Share {
        node: base.node,
        rows: Some((RowKind::Count(base.needed), multiplier)).filter(|row| row.1 > 0).into_iter().collect(),
        covers: Vec::new(),
    };
    outcome.shares = bases.iter().zip(&multipliers).map(share).collect();
    outcome.seconds.0 = start.elapsed().as_secs_f64();
    Ok(())
}

/// The nodes whose attributes a node depends on and that may be attacked, in rising order.
fn sources_of(prepared: &Prepared, node: usize) -> Vec<u32> {
    let mut slice = Slice::default();
    slice.cut(prepared.network(), prepared.network().depth(), node);
    let mut sources: Vec<u32> = slice.nodes(1).to_vec();
    sources.retain(|&source| prepared.budget().local(source as usize) > 0);
    sources.sort_unstable();
    sources
}

/// The program of counts, for the independent solvers.
fn instance(
    prepared: &Prepared,
    bases: &[&Base],
    sources: &[Vec<u32>],
    attacked_nodes: Option<usize>,
) -> CountInstance {
    let mut places: BTreeMap<u32, usize> = sources.iter().flatten().map(|&source| (source, 0)).collect();
    places.values_mut().enumerate().for_each(|(at, place)| *place = at);
    let node = |(base, sources): (&&Base, &Vec<u32>)| CountNode {
        needed: base.needed,
        sources: sources.iter().map(|source| places[source]).collect(),
    };
    CountInstance {
        attacker: Attacker {
            global: prepared.budget().global(),
            local: places.keys().map(|&source| most_at(prepared, source as usize)).collect(),
            attacked: attacked_nodes,
        },
        nodes: bases.iter().zip(sources).map(node).collect(),
    }
}

/// Flips of a node at most: its budget, and no more than it has entries that may be flipped.
fn most_at(prepared: &Prepared, node: usize) -> usize {
    let (graph, budget) = (prepared.graph(), prepared.budget());
    let present = graph.attributes().row(node);
    let is_free = |attribute: &usize| {
        let has = present.binary_search(&(*attribute as u32)).is_ok();
        budget.permits(node, *attribute, has)
    };
    (0..graph.attribute_count()).filter(is_free).take(budget.local(node)).count()
}
