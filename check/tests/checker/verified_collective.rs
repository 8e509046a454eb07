//! Proofs about one attack for the whole graph in the verified checker: it shows what the exact core shows, and nothing
//! false. Skipped aloud where it is not built (`make verified`).

use crate::collective::alone;
use crate::collective_world as world;
use crate::common;

use std::path::{Path, PathBuf};

use common::Random;
use gcnproof_check::collective::format::*;
use gcnproof_check::{Options, Stated, check, find_program, verify_collective};
use gcnproof_files::{GraphOptions, read_graph, read_model};
use serde_json::{Value, json};
use world::{Case, ONE};

/// The program, or word that the test is skipped.
fn program() -> Option<PathBuf> {
    find_program().inspect_err(|problem| println!("SKIPPED: {problem}")).ok()
}

/// What the verified checker says of a file: whether its claim holds, and whether all of it is accepted. What cannot be
/// read is not accepted.
fn verified(program: &Path, case: &Case, file: &[u8]) -> [bool; 2] {
    let told = verify_collective(program, &case.world.graph, &case.world.model, &case.world.options(), file);
    told.ok().flatten().map_or([false; 2], |told| [told.holds, told.accepted()])
}

fn holds(program: &Path, case: &Case, file: &[u8]) -> bool {
    verified(program, case, file)[0]
}

/// Random shares, leaves and prices: the smallest number that is accepted is the one that the core shows, up to hints
/// that are rounded otherwise, and never below the truth.
#[test]
fn what_is_verified_is_what_the_core_shows() {
    let Some(program) = program() else { return };
    let (mut same, mut all) = (0, 0);
    for seed in 0..150 {
        let mut random = Random::new(seed + 110_000_000);
        let case = Case::random(&mut random);
        let truth = case.truth();
        let counted = truth.counts.iter().filter(|&&counts| counts).count() as u64;
        let mut lines = case.lines(&mut random, &truth);
        if seed % 2 == 0 {
            case.cover(&mut random, &mut lines);
        }
        for round in 0..2 {
            let mut claim = case.claim(&mut random, &lines, u64::MAX);
            claim.components = (seed + round) % 3 == 0;
            let [rounded, exact] = [false, true].map(|exact_only| {
                case.check(&case.file(&lines, &claim), exact_only).collective.unwrap().shown.min(counted)
            });
            let mut accepted = |bound: u64| {
                claim.bound = bound;
                holds(&program, &case, &case.file(&lines, &claim))
            };
            assert!(accepted(rounded), "seed {seed}: {rounded} of {counted} is not verified");
            let as_core = accepted(exact) && !exact.checked_sub(1).is_some_and(&mut accepted);
            (same, all) = (same + usize::from(as_core), all + 1);
            if let Some(bound) = truth.broken.checked_sub(1) {
                assert!(!accepted(bound), "seed {seed}: {bound} is verified, {} is true", truth.broken);
            }
        }
    }
    println!("{same} of {all} as the core");
    assert!(same * 100 > all * 97, "{same} of {all}");
}

/// Files that are changed here and there: what the other checker accepts is verified and nothing else, and what is
/// verified is true.
#[test]
fn changed_files_are_judged_alike() {
    let Some(program) = program() else { return };
    let mut counts = [0; 3];
    for seed in 0..400 {
        let mut random = Random::new(seed + 120_000_000);
        let case = Case::random(&mut random);
        let truth = case.truth();
        let mut lines = case.lines(&mut random, &truth);
        if random.chance(50) {
            case.cover(&mut random, &mut lines);
        }
        let mut claim = case.claim(&mut random, &lines, u64::MAX);
        claim.components = random.chance(30);
        let shown = case.check(&case.file(&lines, &claim), false).collective.unwrap().shown;
        claim.bound = if random.chance(60) { shown } else { truth.broken.saturating_sub(1) };
        let bytes = case.file(&lines, &claim);
        let text = std::str::from_utf8(&bytes).unwrap();
        let mut values: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for _ in 0..1 + random.below(3) {
            let at = random.below(values.len());
            change(&mut values, at, &mut random);
        }
        let last = values.len() - 1;
        values[last]["claim"]["lines"] = json!(last - 1);
        let file: String = values.iter().map(|value| format!("{value}\n")).collect();
        let summary = case.check(file.as_bytes(), false);
        let proved = summary.collective.is_some_and(|claim| claim.proved);
        let [holds, accepted] = verified(&program, &case, file.as_bytes());
        assert_eq!([holds, accepted], [proved, proved && summary.accepted()], "seed {seed}\n{file}");
        if let (true, Some(Stated::Collective(header))) = (holds, &summary.header) {
            let broken = case.with(header).truth().broken;
            let bound = values[last]["claim"]["bound"].as_u64().unwrap();
            assert!(broken <= bound, "seed {seed}: {bound} is verified, {broken} is true\n{file}");
        }
        counts = [counts[0] + 1, counts[1] + usize::from(holds), counts[2] + usize::from(accepted)];
    }
    println!("[changed, claims that hold, accepted] = {counts:?}");
    assert!(counts[2] > 50 && counts[0] - counts[1] > 50 && counts[1] > counts[2], "{counts:?}");
}

/// One change of a file: of a number of a share line, of the claim or of the header, or of lines as they are.
fn change(values: &mut Vec<Value>, at: usize, random: &mut Random) {
    let (last, one) = (values.len() - 1, u64::from(ONE));
    let number = [0, 1, one / 2, one, one + 1, one << 24, random.below(5) as u64][random.below(7)];
    let key = ["weight", "size", "class", "id"][random.below(4)];
    match (random.below(7), values[at].get("share").is_some()) {
        (0..3, true) => {
            values[at]["share"][key] = json!(if key.ends_with('t') || key == "size" { number } else { number % 4 })
        }
        (3, true) => values.insert(last, values[at].clone()),
        (4, true) => drop(values.remove(at)),
        (5, true) => {
            let made = [json!([]), json!([[0, 0]]), json!([[1, 0], [0, 0]]), json!([[0, 1 << 20]])];
            values[at]["share"]["covers"] = json!([{"weight": number, "made": made[random.below(4)]}]);
        }
        (0, _) => values[last]["claim"]["bound"] = json!(random.below(4)),
        (1, _) => values[last]["claim"]["price"] = json!(number << random.below(25)),
        (2, _) => values[last]["claim"]["prices"] = json!([[random.below(3), number << random.below(25)]]),
        (3, _) => values[0]["collective"]["attacked_nodes"] = json!(random.below(4)),
        (4, _) => values[0]["collective"]["budget"]["global"] = json!(random.below(4)),
        (5, _) => values[last]["claim"]["components"] = json!(random.chance(50)),
        _ => values[0]["collective"]["nodes"] = json!([random.below(2), 2]),
    }
}

/// What the format asks of a file although no theorem needs it: both checkers do.
#[test]
fn a_file_out_of_order_is_accepted_by_neither() {
    let Some(program) = program() else { return };
    let case = alone(3, 1.0, &[1.0, 1.0], 2, 1);
    let share =
        |id: u32| Line::Share(Share { id, class: 0, weight: ONE, size: 0, leaves: Vec::new(), covers: Vec::new() });
    let (lines, price) = ([share(0), share(1), share(2)], 1u64 << 48);
    let claim = |lines: u64, prices: Vec<(u32, u64)>| Claim { lines, bound: 2, price, prices, components: false };
    let fine = case.file(&lines, &claim(3, vec![]));
    let text = String::from_utf8(fine.clone()).unwrap();
    let (last, header) = (text.lines().last().unwrap(), text.lines().next().unwrap());
    let with = |at: usize, line: &str| {
        let mut all: Vec<&str> = text.lines().collect();
        all.insert(at, line);
        format!("{}\n", all.join("\n")).replace("\"lines\":3", "\"lines\":4").into_bytes()
    };
    let leaf = r#"{"share":{"id":2,"class":0,"weight":16777216,"leaves":[[7,{"leaf":{}}]]}}"#;
    let bounds = r#"{"bounds":{"layer":3,"node":0,"reach":[],"units":[]}}"#;
    let cases: [(&str, Vec<u8>, [bool; 2]); 9] = [
        ("fine", fine.clone(), [true; 2]),
        ("the claim counts other lines", case.file(&lines, &claim(2, vec![])), [false; 2]),
        ("a price is listed twice", case.file(&lines, &claim(3, vec![(1, 0), (1, 0)])), [false; 2]),
        ("a price of no node", case.file(&lines, &claim(3, vec![(3, 0)])), [false; 2]),
        ("a line follows the claim", [fine.as_slice(), last.as_bytes(), b"\n"].concat(), [true, false]),
        ("a second header", with(1, header), [true, false]),
        ("bounds after a share", with(2, bounds), [true, false]),
        ("a line that cannot be read", with(1, "{}"), [true, false]),
        ("a leaf of no class, on a node of a second line", with(4, leaf), [true, false]),
    ];
    for (name, file, expected) in cases {
        let summary = case.check(&file, false);
        let proved = summary.collective.is_some_and(|claim| claim.proved);
        assert_eq!([proved, proved && summary.accepted()], expected, "{name}");
        assert_eq!(verified(&program, &case, &file), expected, "{name}");
    }
}

/// Three nodes on their own, of which two flips break two; one thing after the other is changed.
#[test]
fn one_change_is_refused_by_both() {
    let Some(program) = program() else { return };
    let mut case = alone(3, 1.0, &[1.0, 1.0], 2, 1);
    let share =
        |id: u32, weight: u32, size: u32| Share { id, class: 0, weight, size, covers: vec![], leaves: Vec::new() };
    let shares = || vec![share(0, ONE, 0), share(1, 0, ONE), share(2, ONE / 2, ONE / 2)];
    let all = 1u64 << 48;
    let both = |case: &Case, shares: Vec<Share>, claim: Claim| {
        let lines: Vec<Line> = shares.into_iter().map(Line::Share).collect();
        let file = case.file(&lines, &Claim { lines: lines.len() as u64, ..claim });
        let proved = case.check(&file, true).collective.is_some_and(|claim| claim.proved);
        assert_eq!(holds(&program, case, &file), proved, "{}", String::from_utf8_lossy(&file));
        proved
    };
    let claim = |bound: u64, price: u64| Claim { lines: 0, bound, price, prices: Vec::new(), components: false };
    assert_eq!(case.truth().broken, 2);
    assert!(both(&case, shares(), claim(2, all)));
    assert!(!both(&case, shares(), claim(1, all)), "a bound that is too small");
    assert!(!both(&case, shares(), claim(2, 2 * all)), "another price");
    assert!(!both(&case, shares(), claim(2, all / 4)), "another price");
    assert!(both(&case, shares(), Claim { prices: vec![(0, 1), (1, 2)], ..claim(2, all) }));
    assert!(!both(&case, shares(), Claim { prices: vec![(1, all)], ..claim(2, all) }), "a price of a node");
    for (at, changed) in [
        (0, share(0, ONE + 1, 0)),
        (1, share(1, 1, ONE)),
        (2, share(1, ONE / 2, ONE / 2)),
        (2, Share { class: 1, ..share(2, ONE, 0) }),
        (0, Share { class: 7, ..share(0, ONE, 0) }),
    ] {
        let mut lines = shares();
        lines[at] = changed;
        assert!(!both(&case, lines, claim(2, all)), "share line {at}");
    }
    case.attacked_nodes = Some(1);
    assert_eq!(case.truth().broken, 1);
    assert!(both(&case, shares(), claim(1, 0)));
    assert!(!both(&case, shares(), claim(0, 0)));
    case.attacked_nodes = Some(2);
    assert!(!both(&case, shares(), claim(1, 0)), "another number of rows");
    assert!(both(&case, shares(), claim(2, 0)));
}

/// Two nodes on their own, which one flip breaks with one of two others. Together the three are worth less than two
/// nodes only where the one is taken as made.
#[test]
fn covers_are_those_of_the_other_checker() {
    let Some(program) = program() else { return };
    let case = alone(2, 1.0, &[0.9, 0.2, 0.2], 3, 2);
    assert_eq!(case.truth().broken, 1);
    let half = ONE / 2;
    let cover = |id: u32, weight: u32, made: Vec<(u32, u32)>| Share {
        id,
        class: 0,
        weight: half,
        size: 0,
        leaves: Vec::new(),
        covers: vec![Cover { weight, made }],
    };
    let usual = |id: u32| cover(id, half, vec![(id, 0)]);
    let price = u64::from(half) * (3_355_444 + u64::from(ONE));
    for (name, first, expected) in [
        ("fine", usual(0), true),
        ("no cover", Share { weight: ONE, covers: Vec::new(), ..usual(0) }, false),
        ("nothing is taken as made", cover(0, half, Vec::new()), false),
        ("another flip", cover(0, half, vec![(0, 1)]), false),
        ("a flip of another node", cover(0, half, vec![(1, 0)]), false),
        ("flips that suffice", cover(0, half, vec![(0, 0), (0, 1)]), false),
        ("flips out of order", cover(0, half, vec![(0, 2), (0, 0)]), false),
        ("a flip of no node", cover(0, half, vec![(2, 0)]), false),
        ("too large a share", cover(0, half + 1, vec![(0, 0)]), false),
        ("two covers", Share { covers: vec![Cover { weight: half / 2, made: vec![(0, 0)] }; 2], ..usual(0) }, true),
    ] {
        let lines = [Line::Share(first), Line::Share(usual(1))];
        let file = case.file(&lines, &Claim { lines: 2, bound: 1, price, prices: Vec::new(), components: false });
        let proved = case.check(&file, true).collective.is_some_and(|claim| claim.proved);
        assert_eq!([proved, holds(&program, &case, &file)], [expected; 2], "{name}");
    }
}

/// Three nodes on their own, each of which two flips break: three flips are worth more than two nodes, and break one.
#[test]
fn components_are_rounded_down_by_themselves() {
    let Some(program) = program() else { return };
    let mut case = alone(3, 1.0, &[0.8, 0.8], 3, 2);
    assert_eq!(case.truth().broken, 1);
    let share =
        |id: u32| Line::Share(Share { id, class: 0, weight: ONE, size: 0, leaves: Vec::new(), covers: Vec::new() });
    let lines = [share(0), share(1), share(2)];
    let both = |case: &Case, bound: u64, price: u64, components: bool| {
        let file = case.file(&lines, &Claim { lines: 3, bound, price, prices: Vec::new(), components });
        let proved = case.check(&file, true).collective.is_some_and(|claim| claim.proved);
        assert_eq!(holds(&program, case, &file), proved, "{bound} {price} {components}");
        proved
    };
    let price = 13_421_773 << 24;
    for price in [0, price / 2, price] {
        assert!(both(&case, 1, price, true) && !both(&case, 0, price, true));
    }
    // With a price of a whole every flip may break a node.
    assert!(!both(&case, 2, 1 << 48, true));
    assert!(both(&case, 2, price, false) && !both(&case, 1, price, false));
    // Rows are limited otherwise: the sum counts.
    case.attacked_nodes = Some(3);
    assert!(!both(&case, 1, price, true));
}

/// Weights that differ by less than floats say give two sizes to flips that have one: the file holds by exact weights only.
#[test]
fn sizes_are_from_exact_weights_where_floats_are_too_coarse() {
    let Some(program) = program() else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/repro/sizes_from_exact_weights");
    let graph = read_graph(&folder.join("g.npz"), &GraphOptions::default()).unwrap();
    let model = read_model(&folder.join("m.safetensors")).unwrap();
    let file = std::fs::read(folder.join("f.jsonl")).unwrap();
    let options = Options::default();
    let summary = check(&graph, &model, &options, file.as_slice(), |_| {});
    assert!(summary.collective.is_some_and(|claim| claim.proved) && summary.accepted(), "{summary}");
    let told = verify_collective(&program, &graph, &model, &options, file.as_slice()).unwrap().unwrap();
    assert!(told.accepted(), "{told:?}");
}
