//! Short hunts as tests: seconds of processor time for each area, always the same problems, and nothing may be found.

use std::time::Duration;

use gcnproof_hunt::area::Area;
use gcnproof_hunt::finding::{AreaCounts, Counts, Kind};
use gcnproof_hunt::generate::LAYERS;
use gcnproof_hunt::hunt::{Settings, hunt};

/// A hunt in one area, always the same.
fn settings(area: Area, problems: u64) -> Settings {
    Settings {
        seed: 2026,
        areas: vec![area],
        time: Some(Duration::from_secs(240)),
        problems: Some(problems),
        layers: LAYERS.to_vec(),
        components: 500,
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        out: Some(std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("hunt")),
        kept: 2,
        differing: 20,
        patience: Duration::from_secs(5),
        only: None,
        attacked: 20,
        program: None,
        verified: None,
    }
}

#[test]
fn nothing_is_found_in_a_short_hunt() {
    let verified = gcnproof_check::find_program();
    if let Err(problem) = &verified {
        println!("SKIPPED: the verified checker ({problem})");
    }
    let settings = Settings { verified: verified.as_ref().ok().cloned(), ..settings(Area::Flips, 3_000) };
    let counts = hunt(&settings, &|line| println!("{line}"));
    assert_eq!(counts.findings(), 0, "{counts}");
    // A hunt that looks at nothing finds nothing.
    for (what, count, least) in [
        ("problems", &counts.problems, 3_000),
        ("robust nodes", &counts.robust, 1_000),
        ("witnesses", &counts.witnesses, 250),
        ("own proofs", &counts.proofs, 2_500),
        ("tampered proofs", &counts.tampered, 1_000),
        ("false claims", &counts.false_claims, 500),
        ("proofs with envelopes", &counts.bent, 250),
        ("trees judged", &counts.judged, 100),
        ("trees that prove something", &counts.proved, 50),
    ] {
        assert!(Counts::get(count) >= least, "only {} {what}", Counts::get(count));
    }
    if verified.is_ok() {
        for (what, count, least) in [
            ("proofs shown to the verified checker", &counts.verified, 2_000),
            ("accepted by it", &counts.confirmed, 500),
            ("with splits", &counts.confirmed_splits, 50),
        ] {
            assert!(Counts::get(count) >= least, "only {} {what}", Counts::get(count));
        }
    }
}

#[test]
fn nothing_is_found_in_deep_networks() {
    let settings = Settings { layers: vec![3, 4, 5], attacked: 5, ..settings(Area::Flips, 600) };
    let counts = hunt(&settings, &|line| println!("{line}"));
    assert_eq!(counts.findings(), 0, "{counts}");
    for (what, count, least) in [
        ("problems", &counts.problems, 600),
        ("own proofs with bends of layer 3", &counts.nested, 8),
        ("forged bends of layer 3", &counts.bent_above, 200),
        ("trees judged", &counts.judged, 40),
    ] {
        assert!(Counts::get(count) >= least, "only {} {what}", Counts::get(count));
    }
}

/// A short hunt in one area: nothing is found, and something was looked at.
fn short(area: Area, problems: u64, least: impl Fn(&AreaCounts) -> Vec<(&'static str, u64, u64)>) {
    shortly(&settings(area, problems), area, least);
}

fn shortly(settings: &Settings, area: Area, least: impl Fn(&AreaCounts) -> Vec<(&'static str, u64, u64)>) {
    let counts = hunt(settings, &|line| println!("{line}"));
    assert_eq!(counts.findings(), 0, "{}", counts.findings_by_kind());
    for (what, count, least) in least(counts.area(area)) {
        assert!(count >= least, "only {count} {what}");
    }
}

fn usual(counts: &AreaCounts, [nodes, own, shown, false_claims, accepted]: [u64; 5]) -> Vec<(&'static str, u64, u64)> {
    let of = Counts::get;
    vec![
        ("nodes", of(&counts.nodes), nodes),
        ("own proofs", of(&counts.own), own),
        ("tampered and forged", of(&counts.shown), shown),
        ("false claims", of(&counts.false_claims), false_claims),
        ("accepted", of(&counts.accepted), accepted),
    ]
}

#[test]
fn nothing_is_found_about_removed_edges() {
    short(Area::Edges, 6_000, |counts| usual(counts, [15_000, 15_000, 10_000, 3_000, 2_000]));
}

#[test]
fn nothing_is_found_about_changed_edges() {
    short(Area::Changes, 1_000, |counts| usual(counts, [2_500, 2_500, 5_000, 1_000, 500]));
}

#[test]
fn nothing_is_found_about_flips_and_changed_edges_at_once() {
    short(Area::Joint, 400, |counts| usual(counts, [1_000, 1_000, 2_000, 400, 100]));
}

#[test]
fn nothing_is_found_about_ranges() {
    let verified = gcnproof_check::find_program().inspect_err(|problem| println!("SKIPPED: {problem}")).ok();
    let least = if verified.is_some() { [1_500, 500] } else { [0, 0] };
    let settings = Settings { verified, ..settings(Area::Ranges, 300) };
    shortly(&settings, Area::Ranges, |counts| {
        let [shown, accepted] = [&counts.verified, &counts.confirmed].map(Counts::get);
        let verified = [("shown to the verified checker", shown, least[0]), ("accepted by it", accepted, least[1])];
        usual(counts, [600, 500, 1_000, 300, 50]).into_iter().chain(verified).collect()
    });
}

#[test]
fn nothing_is_found_about_described_networks() {
    short(Area::Terms, 1_500, |counts| usual(counts, [3_000, 3_000, 1_000, 300, 100]));
}

#[test]
fn nothing_is_found_about_normalised_rows() {
    short(Area::Rows, 400, |counts| usual(counts, [1_000, 1_000, 500, 100, 50]));
}

#[test]
fn nothing_is_found_about_categories() {
    short(Area::Categories, 800, |counts| usual(counts, [2_000, 2_000, 1_000, 200, 100]));
}

#[test]
fn nothing_is_found_about_graphs() {
    short(Area::Graphs, 1_500, |counts| usual(counts, [1_200, 1_000, 1_000, 300, 100]));
}

/// The least counts of an area whose proofs are shown to the verified checker, where it is built.
fn with_verified(counts: &AreaCounts, verified: Option<[u64; 2]>) -> Vec<(&'static str, u64, u64)> {
    let [shown, accepted] = verified.unwrap_or_default();
    vec![
        ("shown to the verified checker", Counts::get(&counts.verified), shown),
        ("accepted by it", Counts::get(&counts.confirmed), accepted),
    ]
}

#[test]
fn nothing_is_found_about_executions() {
    let verified = gcnproof_check::find_program().inspect_err(|problem| println!("SKIPPED: {problem}")).ok();
    let shown = verified.is_some().then_some([1_000, 300]);
    let settings = Settings { verified, ..settings(Area::Deployed, 600) };
    shortly(&settings, Area::Deployed, |counts| {
        let mut least = usual(counts, [1_500, 150, 2_000, 300, 300]);
        least.push(("executions", Counts::get(&counts.executions), 15_000));
        least.into_iter().chain(with_verified(counts, shown)).collect()
    });
}

/// Nothing but true claims that the verified checker rejects: its error bounds are larger (`docs/trust.md`), and here
/// margins are near them.
#[test]
fn nothing_is_found_about_executions_on_moved_attributes() {
    let verified = gcnproof_check::find_program().inspect_err(|problem| println!("SKIPPED: {problem}")).ok();
    let shown = verified.is_some().then_some([4_000, 1_500]);
    let settings = Settings { verified, ..settings(Area::Moved, 120) };
    let counts = hunt(&settings, &|line| println!("{line}"));
    let unverified = counts.findings_of(Kind::Unverified);
    assert_eq!(counts.findings(), unverified, "{}", counts.findings_by_kind());
    let area = counts.area(Area::Moved);
    assert!(unverified * 10 <= Counts::get(&area.confirmed), "{area}");
    let mut least = usual(area, [400, 250, 5_000, 800, 1_500]);
    least.push(("executions", Counts::get(&area.executions), 6_000));
    for (what, count, least) in least.into_iter().chain(with_verified(area, shown)) {
        assert!(count >= least, "only {count} {what}");
    }
}

#[test]
fn nothing_is_found_about_one_attack() {
    short(Area::Collective, 80, |counts| usual(counts, [300, 60, 1_500, 300, 300]));
}

#[test]
fn nothing_is_found_about_questions() {
    short(Area::Questions, 120, |counts| usual(counts, [300, 0, 500, 100, 50]));
}
