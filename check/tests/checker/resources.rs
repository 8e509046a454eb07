//! Small files that ask for much work: each ends soon, within the limits, whatever becomes of it. Limits that are
//! raised let more pass.
use crate::common;
use crate::hostile;

use std::time::Instant;

use common::{Random, World, layer, world};
use gcnproof_check::work::{Cost, Limits};
use gcnproof_check::{Options, Reason, Summary, check};
use hostile::{ATTRIBUTES, CLASSES, NODES, UNITS, templates};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// A star with random weights.
fn star(deep: bool) -> World {
    let mut random = Random::new(7);
    let mut weights = |rows: usize, columns: usize| {
        let rows: Vec<Vec<f64>> =
            (0..rows).map(|_| (0..columns).map(|_| random.below(2001) as f64 / 1000.0 - 1.0).collect()).collect();
        let slices: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        layer(&slices, &vec![0.125; columns])
    };
    let mut layers = vec![weights(ATTRIBUTES, UNITS)];
    if deep {
        layers.push(weights(UNITS, UNITS));
    }
    layers.push(weights(UNITS, CLASSES));
    let attributes: Vec<Vec<u8>> =
        (0..NODES).map(|n| (0..ATTRIBUTES).map(|d| u8::from((n * 7 + d) % 11 == 0)).collect()).collect();
    let attributes: Vec<&[u8]> = attributes.iter().map(Vec::as_slice).collect();
    world(&attributes, ATTRIBUTES, layers, 3, 3)
}

fn run(world: &World, text: &[u8], limits: Limits) -> Summary {
    let options = Options { limits, ..world.options() };
    check(&world.graph, &world.model, &options, text, |_| {})
}

/// The memory of this process in MB, where the system tells: the most since the last `reset`.
fn memory(reset: bool) -> u64 {
    if reset {
        let _ = std::fs::write("/proc/self/clear_refs", "5");
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// No template costs more than a leaf's or a line's limit, plain or compressed, and what it costs is told. Limits are a
/// sixty-fourth of the default or less, which `GCNPROOF_RESOURCES=full` asks for.
#[test]
fn small_files_end_soon() {
    let (flat, deep) = (star(false), star(true));
    let full = std::env::var("GCNPROOF_RESOURCES").is_ok_and(|asked| asked == "full");
    let Limits { leaf, line, node, .. } = Limits::default();
    let share = if full { 1 } else { 64 };
    let (leaf, line, node) = (leaf / share, line / share, node / share / share);
    let limits = Limits { leaf, line, node, ..Limits::default() };
    let only = std::env::var("GCNPROOF_TEMPLATE").unwrap_or_default();
    for template in templates().into_iter().filter(|template| template.name.contains(&only)) {
        let world = if template.deep { &deep } else { &flat };
        let compressed = compress_to_vec(template.text.as_bytes(), CompressionLevel::Fastest);
        let (mut known, mut outcome) = (None, String::new());
        for bytes in [template.text.as_bytes(), &compressed] {
            let (start, before) = (Instant::now(), memory(true));
            let summary = run(world, bytes, limits);
            let taken = memory(false).saturating_sub(before);
            let Summary { rejected, expensive, .. } = summary;
            println!(
                "{:<32} {:>8} bytes {:>7.2?} {taken:>4} MB: {rejected} rejected, {expensive} too expensive, {:?}",
                template.name,
                bytes.len(),
                start.elapsed(),
                summary.steps
            );
            // A line of 2²³ bytes becomes up to some 15 times as much; what else is kept is within the memory limit.
            assert!(taken < 400, "{}: {taken} MB", template.name);
            // A few times what they take here, on a machine that does other things.
            assert!(start.elapsed().as_secs() < 300, "{}", template.name);
            // Lines of bounds have 256 times as much for every node.
            let least = limits.line + limits.file + 256 * (NODES as u64) * limits.node;
            assert!(summary.steps.all < 2 * least, "{}: {:?}", template.name, summary.steps);
            let first = summary.rejections.first().or(summary.too_expensive.first()).map(ToString::to_string);
            outcome = first.unwrap_or_default();
            // The same file ends the same way; how many lines were judged before a limit was met, threads decide.
            let ended = (summary.rejected > 0, summary.exit_code());
            assert_eq!(*known.get_or_insert(ended), ended, "{}: {outcome}", template.name);
        }
        println!("    {outcome}");
    }
}

fn reason(summary: &Summary) -> Reason {
    let first = summary.too_expensive.first().or(summary.rejections.first());
    first.map(|line| line.fault.reason.clone()).unwrap_or(Reason::Node)
}

/// Too expensive is neither accepted nor rejected, and the exit code says so.
#[test]
fn what_is_too_expensive_is_an_outcome_of_its_own() {
    let world = star(false);
    let all = templates();
    let named = |name: &str| all.iter().find(|template| template.name == name).unwrap().text.as_bytes();
    let powers = run(&world, named("thirty thousand powers"), Limits::default());
    assert!(matches!(reason(&powers), Reason::TooExpensive(Cost::Line { .. })), "{:?}", reason(&powers));
    assert_eq!((powers.rejected, powers.expensive, powers.exit_code()), (0, 1, 3));
    assert!(powers.to_string().contains("too expensive: nothing after the header was checked"), "{powers}");

    let envelopes = run(&world, named("envelopes of all exponents"), Limits::default());
    assert!(matches!(reason(&envelopes), Reason::TooExpensive(Cost::Line { .. })), "{:?}", reason(&envelopes));
    assert_eq!((envelopes.rejected, envelopes.expensive, envelopes.refused, envelopes.exit_code()), (0, 1, 0, 3));
    assert!(envelopes.to_string().contains("could be judged within the work limit"), "{envelopes}");
    assert_eq!(envelopes.unmentioned(), NODES as u64 - 1);

    // What is wrong besides is wrong.
    let both = run(&world, &[named("envelopes of all exponents"), b"x\n"].concat(), Limits::default());
    assert_eq!((both.rejected, both.expensive, both.exit_code()), (1, 1, 1));

    // The square of a small star is fine, and refused where memory is short.
    let square = named("square of a rule");
    let (usual, short) = (run(&world, square, Limits::default()), Limits { memory: 1 << 20, ..Limits::default() });
    assert!(usual.checked && usual.expensive == 0, "{usual}");
    let short = run(&world, square, short);
    assert!(matches!(reason(&short), Reason::TooExpensive(Cost::Memory { .. })), "{:?}", reason(&short));
    assert_eq!((short.checked, short.exit_code()), (false, 3));
}

/// Lines that no graph has room for end the check.
#[test]
fn there_are_no_more_lines_than_the_graph_has_room_for() {
    let world = star(false);
    let most = 2 * NODES + 1024;
    for (lines, fine) in [(most - 1, true), (most + 1, false)] {
        let text = [world.file(&[]).split(|&byte| byte == b'\n').next().unwrap(), &b"\n".repeat(lines + 1)].concat();
        let found = run(&world, &text, Limits::default());
        let ended = found.rejections.iter().any(|line| line.to_string().contains("at most"));
        // The last rejection is kept only if there are few.
        assert_eq!(found.rejected, most.min(lines) as u64 + 1, "{lines}");
        assert!(fine || !ended || found.rejected as usize == most + 1);
    }
}

/// All lines that are not accepted share a limit, in the order of the file or not.
#[test]
fn what_is_in_vain_ends_the_check() {
    let world = star(false);
    let all = templates();
    let text = &all.iter().find(|template| template.name == "every node").unwrap().text;
    // The centre of the star and some of its leaves: five lines of the three hundred.
    let some: Vec<&str> = text.lines().take(6).chain([r#"{"end":5}"#, ""]).collect();
    let some = some.join("\n");
    let text = some.as_bytes();
    let usual = run(&world, text, Limits::NONE);
    assert_eq!((usual.expensive, usual.rejected + usual.proved() as u64), (0, 5), "{usual}");
    let little = Limits { file: usual.steps.wasted / 4, node: 0, ..Limits::default() };
    let ended = run(&world, text, little);
    assert!(ended.expensive > 0 && ended.rejected < usual.rejected, "{ended}");
    assert!(
        ended.too_expensive.iter().any(|line| matches!(line.fault.reason, Reason::TooExpensive(Cost::File { .. })))
    );
}

/// A check that is stopped says so, and rejects nothing for it.
#[test]
fn a_check_can_be_stopped() {
    let world = star(false);
    let options = Options { stop: Some(|| true), ..world.options() };
    let text = world.file(&[]);
    let found = check(&world.graph, &world.model, &options, &text[..], |_| {});
    assert!(found.interrupted && found.rejected == 0 && found.expensive == 0, "{found}");
    assert_eq!(found.exit_code(), 130);
    assert!(found.to_string().contains("interrupted"), "{found}");
}
