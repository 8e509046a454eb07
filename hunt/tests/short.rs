//! A short hunt as a test: about ten seconds of processor time, always the same problems, and nothing may be found.

use std::time::Duration;

use gcnproof_hunt::area::Area;
use gcnproof_hunt::finding::Counts;
use gcnproof_hunt::hunt::{Settings, hunt};

#[test]
fn nothing_is_found_in_a_short_hunt() {
    let verified = gcnproof_check::find_program();
    if let Err(problem) = &verified {
        println!("SKIPPED: the verified checker ({problem})");
    }
    let settings = Settings {
        seed: 2026,
        areas: vec![Area::Flips],
        time: Some(Duration::from_secs(120)),
        problems: Some(3_000),
        components: 500,
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        out: Some(std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("hunt")),
        kept: 2,
        patience: Duration::from_secs(5),
        only: None,
        attacked: 20,
        program: None,
        verified: verified.as_ref().ok().cloned(),
    };
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
