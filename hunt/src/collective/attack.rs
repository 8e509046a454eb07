//! Files about one attack: own ones must be accepted, and whatever a file says, what its accepted lines show is not
//! below the truth.

use std::path::Path;
use std::sync::Arc;

use gcnproof::collective::{Collective, ProofSubject, Proved, Rows, Settings};
use gcnproof::proof::header;
use gcnproof_check::{Options, Summary, check, verify_collective};
use gcnproof_files::SparseMatrix;
use serde_json::{Value, json};

use crate::case::Case;
use crate::collective::keep;
use crate::collective::program::CollectiveProgram;
use crate::collective::truth::{Scope, Worst, worst};
use crate::finding::{AreaCounts, Counts, Kind};
use crate::mutate::{Sizes, change, leaf};
use crate::network::Flips;
use crate::random::Random;
use crate::record::{Record, text};
use crate::tested::{convention, guard, operators, stopped};

/// Tampered and forged files of a graph, and headers that say something else.
const ROUNDS: [usize; 3] = [10, 14, 4];

/// Who shows files, and what is true.
struct FilePresenter<'a> {
    case: &'a Case,
    scope: &'a Scope,
    truth: &'a Worst,
    options: [Options; 2],
    /// The verified checker.
    verified: Option<&'a Path>,
    counts: &'a AreaCounts,
}

impl FilePresenter<'_> {
    /// Shows a file to both kinds of arithmetic; returns what the lines show, and whether everything is accepted.
    fn show(&self, file: &[Value], found: &mut Vec<Record>) -> (u64, bool) {
        let text = text(file);
        let mut report = |kind: Kind, message: String| {
            found.push(keep::record(self.case, self.scope, self.truth, kind, message, Some(&text)));
        };
        let one =
            |options: &Options| guard(|| check(&self.case.graph, &self.case.model, options, text.as_bytes(), |_| ()));
        let [rounded, exactly] = match self.options.each_ref().map(one) {
            [Ok(rounded), Ok(exactly)] => [rounded, exactly],
            [Err(problem), _] | [_, Err(problem)] => {
                report(Kind::Crash, format!("checker: {problem}"));
                return (u64::MAX, false);
            }
        };
        let proved = |summary: &Summary| summary.collective.is_some_and(|claim| claim.proved) && summary.accepted();
        if proved(&rounded) != proved(&exactly) {
            let text = format!("rounded {:?}, exactly {:?}", rounded.collective, exactly.collective);
            report(Kind::Disagreement, text);
        }
        let truth = self.truth.broken as u64;
        for (name, summary) in [("rounded", &rounded), ("exactly", &exactly)] {
            let Some(claim) = summary.collective else { continue };
            if claim.proved && claim.claimed < truth {
                report(Kind::Accepted, format!("{name}: {} accepted, but {truth} can be broken", claim.claimed));
            } else if claim.shown < truth {
                report(Kind::Accepted, format!("{name}: {} shown, but {truth} can be broken", claim.shown));
            }
            if claim.proved && claim.counted != self.truth.counted.len() as u64 {
                let text = format!("{name}: {} predictions count, but {} do", claim.counted, self.truth.counted.len());
                report(Kind::Accepted, text);
            }
        }
        if let Some((kind, message)) = self.verified(&text, file, proved(&rounded)) {
            report(kind, message);
        }
        (rounded.collective.map_or(u64::MAX, |claim| claim.shown), proved(&rounded))
    }

    /// What is wrong with what the verified checker says of a file: it must accept what the other one accepts, and
    /// nothing false.
    fn verified(&self, text: &str, file: &[Value], accepted: bool) -> Option<(Kind, String)> {
        let Case { graph, model, .. } = self.case;
        let ask = |program| verify_collective(program, graph, model, &self.options[0], text.as_bytes());
        let answer = guard(|| self.verified.map(ask));
        let holds = match answer {
            Ok(None) => return None,
            Ok(Some(Ok(told))) => told.is_some_and(|told| told.accepted()),
            // What is wrong with a header is wrong for both.
            Ok(Some(Err(_))) if !accepted => false,
            Ok(Some(Err(problem))) | Err(problem) => {
                return Some((Kind::Crash, format!("verified checker: {problem}")));
            }
        };
        Counts::add(&self.counts.verified, 1);
        Counts::add(&self.counts.confirmed, usize::from(holds));
        let claimed = file.last().and_then(|line| line["claim"]["bound"].as_u64()).unwrap_or(u64::MAX);
        let truth = self.truth.broken as u64;
        match holds {
            true if claimed < truth => {
                let text = format!("the verified checker accepts {claimed}, but {truth} can be broken");
                Some((Kind::Accepted, text))
            }
            false if accepted => Some((Kind::Unverified, "accepted, but not by the verified checker".into())),
            _ => None,
        }
    }

    /// The same for a tampered or forged file.
    fn attempt(&self, file: &mut [Value], found: &mut Vec<Record>) -> u64 {
        Counts::add(&self.counts.shown, 1);
        let count = file.len().saturating_sub(2);
        if let Some(claim) = file.last_mut().and_then(|line| line.get_mut("claim"))
            && claim["lines"].is_u64()
        {
            claim["lines"] = json!(count);
        }
        let claimed = file.last().and_then(|line| line["claim"]["bound"].as_u64());
        let is_false = claimed.is_none_or(|claimed| claimed < self.truth.broken as u64);
        Counts::add(&self.counts.false_claims, usize::from(is_false));
        let (shown, accepted) = self.show(file, found);
        Counts::add(&self.counts.accepted, usize::from(accepted));
        shown
    }
}

/// Rounded first, and exactly.
fn options(matrices: &[Arc<SparseMatrix>]) -> [Options; 2] {
    [false, true].map(|exact_only| Options { matrices: matrices.to_vec(), exact_only, ..Options::default() })
}

/// Attacks the checker with files about one graph.
#[allow(clippy::too_many_arguments)]
pub fn attack(
    case: &Case,
    scope: &Scope,
    truth: &Worst,
    program: &CollectiveProgram,
    verified: Option<&Path>,
    random: &mut Random,
    counts: &AreaCounts,
    found: &mut Vec<Record>,
) {
    let options = options(&program.certifier.network().own_matrices());
    let ring = FilePresenter { case, scope, truth, options, verified, counts };
    let own = match guard(|| proof(case, scope, program)) {
        Ok(Ok(Some(own))) => own,
        Ok(Ok(None)) => return,
        Ok(Err(problem)) | Err(problem) => {
            found.push(keep::record(case, scope, truth, Kind::Crash, format!("a proof: {problem}"), None));
            return;
        }
    };
    Counts::add(&counts.own, 1);
    let before = found.len();
    let (_, accepted) = ring.show(&own, found);
    if !accepted && found.len() == before {
        let text = text(&own);
        let summary = guard(|| check(&case.graph, &case.model, &ring.options[0], text.as_bytes(), |_| ()));
        let told =
            summary.map(|summary| format!("{:?} {:?}", summary.collective, summary.rejections)).unwrap_or_default();
        found.push(keep::record(case, scope, truth, Kind::Rejected, told, Some(&text)));
    }
    for _ in 0..ROUNDS[0] {
        if stopped() {
            return;
        }
        let mut file = own.clone();
        tamper(&mut file, truth, random);
        ring.attempt(&mut file, found);
    }
    forge(&ring, &own, random, found);
    for _ in 0..ROUNDS[2] {
        headers(&ring, &own, random, found);
    }
}

/// The file that the program would write for the budget of the case.
///
/// # Errors
/// If the checker refuses the statement.
pub fn proof(case: &Case, scope: &Scope, program: &CollectiveProgram) -> Result<Option<Vec<Value>>, String> {
    let certifier = program.certifier.clone().with_proofs();
    let classes = convention(case.labels);
    let rules = operators(case);
    let digests = (case.graph.digest.as_str(), case.model.digest.as_str());
    let stated = header(digests, (certifier.network(), &rules), certifier.budget(), classes);
    let global = case.budget.global as usize;
    let settings = Settings {
        rows: Rows::Provable,
        attacked_nodes: scope.attacked_nodes,
        swaps: Some(100),
        ..Settings::default()
    };
    let work = Collective::new(&certifier, &program.known, settings).expect("rows are not normalised");
    let subject = ProofSubject {
        graph: &case.graph,
        model: &case.model,
        header: stated,
        attacked_nodes: scope.attacked_nodes,
        nodes: scope.nodes.as_deref(),
    };
    let proved = work.prove(&certifier, global, subject).map_err(|reason| reason.to_string())?;
    let Some(Proved { outcome, proof }) = proved else { return Ok(None) };
    if let Some(contradiction) = outcome.contradiction {
        return Err(contradiction.to_string());
    }
    let value = |line| serde_json::to_value(line).map_err(|error| error.to_string());
    let lines = proof.into_iter().flat_map(|proof| proof.into_line().into_lines());
    lines.map(value).collect::<Result<Vec<Value>, String>>().map(Some)
}

/// Changes one or a few things of a file.
fn tamper(file: &mut Vec<Value>, truth: &Worst, random: &mut Random) {
    let last = file.len() - 1;
    for _ in 0..1 + random.below(3) {
        match random.below(11) {
            9 => file[last]["claim"]["components"] = json!(random.percent(80)),
            10 if last > 1 => {
                let at = 1 + random.below(last - 1);
                if file[at].get("share").is_some() {
                    cover(&mut file[at], random);
                }
            }
            0 | 1 => file[last]["claim"]["bound"] = json!(random.below(truth.broken + 1)),
            2 => file[last]["claim"]["price"] = json!(random.next() >> (16 + random.below(48))),
            3 => change(&mut file[last], random),
            4 if last > 1 => {
                // A line is lost; its number is mended.
                file.remove(1 + random.below(last - 1));
                return;
            }
            5 if last > 1 => {
                let line = file[1 + random.below(last - 1)].clone();
                file.insert(last, line);
                return;
            }
            6 if last > 1 => {
                let at = 1 + random.below(last - 1);
                if file[at].get("share").is_some() {
                    let key = random.pick(&["weight", "size"]);
                    let old = file[at]["share"][key].as_u64().unwrap_or(0);
                    let new = random.pick(&[0, 1, old / 2, old + 1, 1 << 24, (1 << 24) - old.min(1 << 24)]);
                    file[at]["share"][key] = json!(new);
                }
            }
            _ if last > 1 => {
                let at = 1 + random.below(last - 1);
                change(&mut file[at], random);
            }
            _ => change(&mut file[last], random),
        }
    }
}

/// Takes part of the weight of a share line for a cover.
fn cover(line: &mut Value, random: &mut Random) {
    let weight = line["share"]["weight"].as_u64().unwrap_or(0) as usize;
    let some = random.below(weight + 1);
    let taken = random.pick(&[weight, weight / 2, some]);
    let made: std::collections::BTreeSet<(usize, usize)> =
        (0..1 + random.below(3)).map(|_| (random.below(6), random.below(4))).collect();
    line["share"]["weight"] = json!(weight - taken);
    let cover = json!({ "weight": taken, "made": made });
    match line["share"]["covers"].as_array_mut() {
        Some(covers) => covers.push(cover),
        None => line["share"]["covers"] = json!([cover]),
    }
}

/// Files made up: shares of random nodes, improved on what the checker says that they show.
fn forge(ring: &FilePresenter, own: &[Value], random: &mut Random, found: &mut Vec<Record>) {
    let sizes = Sizes::new(ring.case);
    let share = |node: usize, random: &mut Random| {
        let weight = random.pick(&[0, 1 << 20, 1 << 23, 1 << 24, 12_000_000]);
        let size = if random.percent(50) { 0 } else { (1u32 << 24) - weight };
        let mut line =
            json!({ "share": { "id": node, "class": ring.truth.predicted[node], "weight": weight, "size": size } });
        if random.percent(30) {
            let reference = ring.truth.predicted[node];
            let leaves: Vec<Value> = (0..sizes.classes)
                .filter(|&class| class != reference)
                .map(|class| json!([class, { "leaf": leaf(sizes, random) }]))
                .collect();
            line["share"]["leaves"] = json!(leaves);
        }
        if random.percent(40) {
            cover(&mut line, random);
        }
        line
    };
    let nodes = ring.case.nodes();
    let mut best: Vec<Value> = vec![own[0].clone()];
    for node in 0..nodes {
        if random.percent(70) {
            best.push(share(node, random));
        }
    }
    let bound = ring.truth.broken.saturating_sub(1);
    best.push(
        json!({ "claim": { "lines": 0, "bound": bound, "price": random.next() >> (16 + random.below(30)), "prices": [],
        "components": random.percent(40) } }),
    );
    let mut least = u64::MAX;
    for _ in 0..ROUNDS[1] {
        if stopped() {
            return;
        }
        let mut file = best.clone();
        let last = file.len() - 1;
        match random.below(6) {
            0 => file[last]["claim"]["price"] = json!(random.next() >> (16 + random.below(40))),
            1 => {
                let node = random.below(nodes);
                file[last]["claim"]["prices"] = json!([[node, random.next() >> (16 + random.below(40))]]);
            }
            2 | 3 if last > 1 => {
                let at = 1 + random.below(last - 1);
                let node = file[at]["share"]["id"].as_u64().unwrap_or(0) as usize;
                file[at] = share(node.min(nodes - 1), random);
            }
            4 => {
                let node = random.below(nodes);
                if !file.iter().any(|line| line["share"]["id"] == json!(node)) {
                    file.insert(last, share(node, random));
                }
            }
            _ => tamper(&mut file, ring.truth, random),
        }
        let shown = ring.attempt(&mut file, found);
        if shown <= least {
            (best, least) = (file, shown);
        }
    }
}

/// Own lines under a header with another budget or other nodes.
fn headers(ring: &FilePresenter, own: &[Value], random: &mut Random, found: &mut Vec<Record>) {
    let mut file = own.to_vec();
    let (mut case, mut scope) = (ring.case.clone(), ring.scope.clone());
    let stated = &mut file[0]["collective"];
    match random.below(5) {
        0 => {
            case.budget.global = random.below(5) as u64;
            stated["budget"]["global"] = json!(case.budget.global);
        }
        1 => {
            let local = random.below(4) as u64;
            case.budget.local = vec![local; case.nodes()];
            stated["budget"]["local"] = json!(local);
        }
        2 => {
            let most = 1 + random.below(4);
            scope.attacked_nodes = Some(most);
            stated["attacked_nodes"] = json!(most);
        }
        3 => {
            let nodes: Vec<usize> = (0..case.nodes()).filter(|_| random.percent(60)).collect();
            stated["nodes"] = json!(nodes);
            scope.nodes = Some(nodes);
        }
        _ => {
            case.budget.frozen = case.budget.frozen.iter().map(|_| random.percent(40)).collect();
            let frozen: Vec<usize> = (0..case.budget.frozen.len()).filter(|&d| case.budget.frozen[d]).collect();
            stated["budget"]["frozen_attributes"] = json!(frozen);
        }
    }
    if Flips::new(&case, 0..case.nodes()).count(2500) >= 2500 {
        return;
    }
    let truth = worst(&case, &scope);
    if random.percent(50) {
        let last = file.len() - 1;
        file[last]["claim"]["bound"] = json!(truth.broken.saturating_sub(1));
    }
    let options = options(&ring.options[0].matrices);
    let ring = FilePresenter { case: &case, scope: &scope, truth: &truth, options, ..*ring };
    ring.attempt(&mut file, found);
}
