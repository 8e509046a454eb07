//! Hands proofs to the verified checker, a program of its own whose acceptance is proved correct (`verified/`), and
//! compares what both say.

mod collective;
mod edges;
mod joint;
mod process;
mod program;
mod ranges;
mod side;
mod text;

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;
use std::time::Instant;

use gcnproof_files::{GraphFile, ModelFile};

use crate::checker::Checker;
use crate::edges::{EdgeLine, format::NodeProof as EdgeNodeProof};
use crate::file::{Options, Stated, Stop, Summary, read_header};
use crate::format::lines::Lines;
use crate::format::{BoundsLine, Line, NodeProof, RangeNodeProof};
use crate::joint::{JointChecker, JointStatement};
use crate::statement::Statement;
use crate::verdict::Verdict;
use collective::Asked;
pub use collective::{Told, verify_collective};
use edges::MOST_SETS;
pub use edges::{EdgeAnswer, EdgeJudge};
pub use joint::JointJudge;
pub use process::find_program;
pub use program::Judge;
pub use ranges::RangeJudge;
use side::{Answer, NOT_ACCEPTED, side_by_side};
pub use side::{ClaimSide, SideBySide};

/// Hands accepted proofs to the verified checker: all, or so many of them.
///
/// # Errors
/// If a file cannot be read, or the program cannot be run.
pub fn verify(
    graph: &GraphFile,
    model: &ModelFile,
    options: &Options,
    proofs: &Path,
    summary: &Summary,
    sample: Option<usize>,
) -> Result<SideBySide, String> {
    let start = Instant::now();
    if graph.categories.as_ref().is_some_and(|categories| categories.stated_lacked().is_some()) {
        return Err("of a part of a graph with categories, the verified checker cannot tell which rows of the whole graph have none of a \
                    group: join the proofs, and check them with the whole graph"
            .into());
    }
    let program = find_program()?;
    let at = |error: std::io::Error| format!("{}: {error}", proofs.display());
    let mut lines = Lines::new(File::open(proofs).map_err(at)?).map_err(at)?;
    let header = read_header(&mut lines, graph, model).map_err(|stop| match stop {
        Stop::Wrong(line, reason) => format!("{}: line {line}: {reason}", proofs.display()),
        Stop::Unreadable(_, error) => at(error),
        Stop::Unmet => format!("{}: the header is not about what was asked", proofs.display()),
    })?;
    let header = match header {
        Stated::Flips(header) if header.ranges.is_some() => {
            let mut chosen = choose(&summary.verdicts, sample);
            let mut claims: Vec<RangeNodeProof> = Vec::new();
            each_line(&mut lines, |bytes| match Line::read(bytes, usize::MAX) {
                Ok(Line::Ranged(proof)) if chosen.remove(&proof.id) => claims.push(proof),
                _ => {}
            })
            .map_err(at)?;
            let found = side_by_side(
                &claims,
                0,
                || RangeJudge::start(&program, graph, model, &header, &options.matrices),
                |judge, proof| {
                    let answer = judge.ask(proof).map_err(|problem| format!("node {}: {problem}", proof.id));
                    let verified = answer?.ok_or_else(|| NOT_ACCEPTED.into());
                    Ok(Answer { node: proof.id, own: summary.verdicts[proof.id as usize], verified, bounds: 0 })
                },
            )?;
            return Ok(SideBySide { time: start.elapsed(), ..found });
        }
        Stated::Flips(header) => header,
        Stated::Removals(header) if header.flips.is_some() => {
            let statement = JointStatement::new(graph, model, &header);
            let statement = statement.map_err(|reason| format!("{}: line 1: {reason}", proofs.display()))?;
            let checker = JointChecker::new(&statement, options.exact_only);
            let claims = chosen_edge_proofs(&mut lines, &summary.verdicts, sample).map_err(at)?;
            let found = side_by_side(
                &claims,
                0,
                || JointJudge::start(&program, graph, model, &header),
                |judge, proof| {
                    let answer = judge.ask(&checker, proof, MOST_SETS);
                    Ok(answered(proof, answer.map_err(|problem| format!("node {}: {problem}", proof.id))?, summary))
                },
            )?;
            return Ok(SideBySide { time: start.elapsed(), ..found });
        }
        Stated::Removals(header) => {
            let claims = chosen_edge_proofs(&mut lines, &summary.verdicts, sample).map_err(at)?;
            let found = side_by_side(
                &claims,
                0,
                || EdgeJudge::start(&program, graph, model, &header),
                |judge, proof| {
                    let answer = judge.ask(proof, MOST_SETS);
                    Ok(answered(proof, answer.map_err(|problem| format!("node {}: {problem}", proof.id))?, summary))
                },
            )?;
            return Ok(SideBySide { time: start.elapsed(), ..found });
        }
        Stated::Collective(header) => {
            if sample.is_some() {
                return Err(format!("{}: --sample is about proofs of single nodes", proofs.display()));
            }
            let Some(of) = summary.collective.filter(|claim| claim.proved) else { return Ok(SideBySide::default()) };
            let told = collective::ask(&program, Asked { graph, model, header: &header, options }, lines);
            let told = told.map_err(|problem| format!("{}: {problem}", proofs.display()))?;
            let claim = Some(ClaimSide { of, told });
            return Ok(SideBySide { claim, bounds: told.bounds, time: start.elapsed(), ..SideBySide::default() });
        }
    };
    let statement = Statement::new(graph, model, &header, &options.matrices);
    let statement = statement.map_err(|reason| format!("{}: line 1: {reason}", proofs.display()))?;
    let checker = Checker::new(&statement, options.exact_only);
    let mut chosen = choose(&summary.verdicts, sample);
    let (mut stated, mut claims): (Vec<BoundsLine>, Vec<NodeProof>) = (Vec::new(), Vec::new());
    each_line(&mut lines, |bytes| match Line::read(bytes, usize::MAX) {
        // Of several lines about a node the first counts.
        Ok(Line::Node(proof)) if chosen.remove(&proof.id) => claims.push(proof),
        Ok(Line::Bounds(line)) if checker.bounds(&line).is_ok() => stated.push(line),
        _ => {}
    })
    .map_err(at)?;
    let told = || {
        let mut judge = Judge::start(&program, &checker)?;
        for line in &stated {
            if !judge.bounds(line)? {
                return Err(format!("bounds of layer {}, node {} are rejected", line.layer, line.node));
            }
        }
        Ok(judge)
    };
    let found = side_by_side(&claims, stated.len(), told, |judge, proof| {
        let answer = judge.ask(&checker, proof).map_err(|problem| format!("node {}: {problem}", proof.id));
        let (verdict, bounds) = answer?;
        let verified = verdict.ok_or_else(|| NOT_ACCEPTED.into());
        Ok(Answer { node: proof.id, own: summary.verdicts[proof.id as usize], verified, bounds })
    })?;
    Ok(SideBySide { time: start.elapsed(), ..found })
}

/// The proofs about changed edges of the chosen nodes.
fn chosen_edge_proofs(
    lines: &mut Lines,
    verdicts: &[Option<Verdict>],
    sample: Option<usize>,
) -> std::io::Result<Vec<EdgeNodeProof>> {
    let mut chosen = choose(verdicts, sample);
    let mut claims: Vec<EdgeNodeProof> = Vec::new();
    each_line(lines, |bytes| match EdgeLine::read(bytes, usize::MAX) {
        Ok(EdgeLine::Node(proof)) if chosen.remove(&proof.id) => claims.push(proof),
        _ => {}
    })?;
    Ok(claims)
}

/// What is said of a proof about changed edges.
fn answered(proof: &EdgeNodeProof, answer: EdgeAnswer, summary: &Summary) -> Answer {
    let verified = match answer {
        EdgeAnswer::Shown(verdict) => Ok(verdict),
        EdgeAnswer::Rejected => Err(NOT_ACCEPTED.into()),
        EdgeAnswer::TooMany => Err(
            "the verified checker, which lists sets of changes where its own bound does not suffice, has too many of them to list"
                .into(),
        ),
    };
    Answer { node: proof.id, own: summary.verdicts[proof.id as usize], verified, bounds: 0 }
}

/// All lines after those that were read; what is wrong with a line is left to whoever reads it.
fn each_line(lines: &mut Lines, mut look: impl FnMut(&[u8])) -> std::io::Result<()> {
    loop {
        let (batch, failure) = lines.batch();
        if let Some(error) = failure {
            return Err(error);
        }
        if batch.is_empty() {
            return Ok(());
        }
        batch.into_iter().flatten().for_each(|bytes| look(&bytes));
    }
}

/// The nodes to hand over: those with a verdict, or so many of them, spread by a fixed rule.
fn choose(verdicts: &[Option<Verdict>], sample: Option<usize>) -> HashSet<u32> {
    let known = (0u32..).zip(verdicts).filter(|(_, verdict)| verdict.is_some());
    let mut nodes: Vec<u32> = known.map(|(node, _)| node).collect();
    if let Some(count) = sample {
        // The steps of splitmix64: neighbours in the file are not neighbours here.
        let mixed = |node: u32| {
            let x = (u64::from(node) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb)
        };
        nodes.sort_by_key(|&node| mixed(node));
        nodes.truncate(count);
    }
    nodes.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_fixed_spread_and_of_what_is_proved() {
        let verdicts: Vec<_> = (0..1000).map(|node| (node % 3 > 0).then_some(Verdict::Robust)).collect();
        assert_eq!(choose(&verdicts, None).len(), 666);
        let sample = choose(&verdicts, Some(100));
        assert_eq!((sample.len(), &sample), (100, &choose(&verdicts, Some(100))));
        assert!(sample.iter().all(|node| node % 3 > 0));
        let low = sample.iter().filter(|&&node| node < 500).count();
        assert!((30..=70).contains(&low), "{low} of the first half");
        assert_eq!(choose(&verdicts, Some(5000)).len(), 666);
    }
}
