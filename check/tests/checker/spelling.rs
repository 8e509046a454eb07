//! What a file may look like: one way to write each thing, exactly as `FORMAT.md` §2 says.
use crate::common;

use common::{Random, World, layer};
use gcnproof_check::format::*;
use gcnproof_check::{Reason, Summary, check};

/// Two nodes, two attributes, no hidden layer; node 0 is robust by far.
fn world() -> World {
    common::world(&[&[1, 0], &[0, 1]], 2, vec![layer(&[&[0.5, 0.0], &[0.25, 0.0]], &[9.0, 0.0])], 2, 1)
}

fn run(world: &World, bytes: &[u8]) -> Summary {
    check(&world.graph, &world.model, &world.options(), bytes, |_| {})
}

fn good(world: &World) -> String {
    let claim = Claim::Robust(vec![ClassProof::anchored(1)]);
    let file = world.file(&[NodeProof { id: 0, class: 0, claim }]);
    let text = String::from_utf8(file).unwrap();
    // A line of each kind, and every key of a header.
    let text = text.replace(r#""direction":"both""#, r#""direction":"both","frozen_attributes":[1]"#);
    text.replace(r#"{"end":1}"#, "{\"unproved\":{\"id\":1,\"reason\":\"a \\\"reason\\\"\"}}\n{\"end\":2}")
}

#[test]
fn other_spellings_are_rejected() {
    let world = world();
    let good = good(&world);
    let summary = run(&world, good.as_bytes());
    assert!(summary.success(), "{summary}");
    assert_eq!((summary.proved(), summary.unproved), (1, 1));
    let header = good.lines().next().unwrap();
    let values = header.trim_start_matches(r#"{"header":"#).trim_end_matches('}');
    let as_list =
        r#"[1,"graph","model",["gcn"],{"global":2,"local":1,"direction":"both","frozen_attributes":[1]},"predicted"]"#;
    let version = format!(r#""version":{VERSION}"#);
    let wrong = [
        // Lists for objects.
        (header, format!(r#"{{"header":{as_list}}}"#)),
        (r#"{"global":2,"local":1,"direction":"both","frozen_attributes":[1]}"#, r#"[2,1,"both",[1]]"#.into()),
        (r#"{"class":1,"tree":[{"leaf":{}}]}"#, r#"[1,[{"leaf":{}}]]"#.into()),
        (r#"{"leaf":{}}"#, r#"{"leaf":[]}"#.into()),
        (r#"{"leaf":{}}"#, r#""leaf""#.into()),
        (r#"{"leaf":{}}"#, r#"{"leaf":null}"#.into()),
        (r#"{"leaf":{}}"#, r#"{"leaf":{},"leaf":{}}"#.into()),
        (r#"{"leaf":{}}"#, r#"{"leaf":{"dual":null}}"#.into()),
        (r#"{"leaf":{}}"#, r#"{"leaf":{"e":-20,"e":-20}}"#.into()),
        (r#"{"leaf":{}}"#, r#"{"leaf":{"e":-20.0}}"#.into()),
        (r#"{"leaf":{}}"#, r#"{"leaf":{"bound":1e999}}"#.into()),
        (r#"{"leaf":{}}"#, r#"{"leaf":{"bound":"1"}}"#.into()),
        (r#"{"leaf":{}}"#, r#"{"leaf":{"bound":1.}}"#.into()),
        (r#"{"leaf":{}}"#, r#"{"leaf":{"cap":0}}"#.into()),
        (r#"{"leaf":{}}"#, r#"{"leaf":{"\u0063ap":true}}"#.into()),
        (r#"{"leaf":{}}"#, r#"{"leaf":{"weight":[[2,0,0,1,1]]}}"#.into()),
        (r#"{"leaf":{}}"#, r#"{"leaf":{"weight":[[2,0,0]]}}"#.into()),
        (r#"{"leaf":{}}"#, r#"{"leaf":{,}}"#.into()),
        (r#"[{"leaf":{}}]"#, r#"[{"leaf":{}},]"#.into()),
        (r#"[{"leaf":{}}]"#, r#"[,{"leaf":{}}]"#.into()),
        (r#"[{"leaf":{}}]"#, r#"[{"leaf":{}}}"#.into()),
        (r#""direction":"both""#, r#""direction":{"both":null}"#.into()),
        (r#""direction":"both""#, r#""direction":{"both":[]}"#.into()),
        (r#""direction":"both""#, r#""direction":"Both""#.into()),
        (r#""direction":"both""#, r#""direction":"b\u006fth""#.into()),
        (r#""classes":"predicted""#, r#""classes":["predicted"]"#.into()),
        (r#""global":2"#, r#""global":2.0"#.into()),
        (r#""global":2"#, r#""global":2e0"#.into()),
        (r#""global":2"#, r#""global":02"#.into()),
        (r#""global":2"#, r#""global":+2"#.into()),
        (r#""global":2"#, r#""global":-0"#.into()),
        (r#""global":2"#, r#""global":"2""#.into()),
        (r#""global":2"#, r#""global":18446744073709551616"#.into()),
        (r#""global":2"#, r#""global":2,"global":2"#.into()),
        (r#""global":2"#, r#""global":2,"extra":2"#.into()),
        (r#""local":1"#, r#""local":null"#.into()),
        (r#""local":1"#, r#""local":-1"#.into()),
        (r#""local":1"#, r#""local":[1.0,1]"#.into()),
        (r#""local":1"#, r#""local":[[1,1]]"#.into()),
        (r#""local":1"#, r#""local":{"uniform":1}"#.into()),
        (version.as_str(), format!("{version}.0")),
        (r#""frozen_attributes":[1]"#, r#""frozen_attributes":null"#.into()),
        (r#"a \"reason\""#, r"half \ud800".into()),
        (r#"a \"reason\""#, r"half \udc00\ud800".into()),
        (r#"a \"reason\""#, "a \u{1b} escape".into()),
        (r#"a \"reason\""#, r"\x41".into()),
        (r#"a \"reason\""#, r"\u00e".into()),
        (r#"{"end":2}"#, r#"{"end":2.0}"#.into()),
        (r#"{"end":2}"#, r#"{"end":[2]}"#.into()),
        (r#"{"end":2}"#, r#"{"end":2}}"#.into()),
        (r#"{"end":2}"#, r#"{"end":2"#.into()),
        // Space, line ends, marks.
        (r#"{"end":2}"#, r#"{"end": 2}"#.into()),
        (r#"{"end":2}"#, r#" {"end":2}"#.into()),
        (r#"{"end":2}"#, r#"{"end":2} "#.into()),
        (r#"{"end":2}"#, "{\"end\":2}\r".into()),
        (r#"{"end":2}"#, "\n{\"end\":2}".into()),
        (header, format!("{header}\r")),
        (header, format!("{header}\n")),
        (header, format!("\u{feff}{header}")),
        (header, values.to_string()),
    ];
    for (right, wrong) in wrong {
        assert!(good.contains(right), "{right}");
        let summary = run(&world, good.replacen(right, &wrong, 1).as_bytes());
        let reason = summary.rejections.first().map(|one| &one.fault.reason);
        assert!(matches!(reason, Some(Reason::Syntax(_))), "{wrong}: {reason:?}");
        assert_eq!(summary.exit_code(), 1);
    }
    for extra in ["\n", " ", "{}\n", "{\"end\":2}\n", "\0"] {
        let summary = run(&world, format!("{good}{extra}").as_bytes());
        assert!(!summary.success(), "{extra:?}");
    }
    let mut bytes = good.clone().into_bytes();
    let at = good.find("reason\\").unwrap();
    bytes[at] = 0xff;
    assert!(run(&world, &bytes).rejections[0].to_string().contains("not UTF-8"));
    // A last line feed may be missing, keys may stand in any order, and a text may have escapes.
    for right in [
        good.trim_end().to_string(),
        good.replace(&format!(r#"{version},"graph":"graph""#), &format!(r#""graph":"gr\u0061ph",{version}"#)),
        good.replace(r#"{"leaf":{}}"#, r#"{"leaf":{"e":-1074,"bound":-1.5e-3,"cap":false,"weight":[]}}"#),
        good.replace(r#"a \"reason\""#, r"\ud83d\ude00\/\b\f\n\r\té"),
        good.replace(r#""local":1"#, r#""local":[0,18446744073709551615]"#),
        good.replace(r#""global":2,"local":1"#, r#""global":18446744073709551615,"local":18446744073709551615"#),
    ] {
        let summary = run(&world, right.as_bytes());
        assert!(summary.success(), "{right}: {summary}");
    }
}

#[test]
fn frozen_attributes_ascend_and_exist() {
    let world = world();
    for (list, text) in [
        ("[1,0]", "frozen attribute 0 is listed twice or out of order"),
        ("[1,1]", "frozen attribute 1 is listed twice or out of order"),
        ("[2]", "frozen attribute 2 does not exist"),
        ("[4294967295]", "frozen attribute 4294967295 does not exist"),
        ("[0,1,2]", "a list of more than 2 entries"),
    ] {
        let file = good(&world).replace(r#""frozen_attributes":[1]"#, &format!(r#""frozen_attributes":{list}"#));
        let summary = run(&world, file.as_bytes());
        assert!(summary.rejections[0].to_string().contains(text), "{list}: {summary}");
        assert!(!summary.checked);
    }
}

/// Whatever is accepted here means the same to a general reader of JSON, and what a writer writes is read back.
#[test]
fn a_general_reader_reads_the_same() {
    let (mut accepted, mut rejected) = (0, 0);
    for seed in 0..3_000 {
        let mut random = Random::new(seed + 77_000_000);
        let world = World::random(&mut random);
        let Some(reference) = world.reference(0) else { continue };
        let Ok(proof) = world.grow(&mut random, reference, 4) else { continue };
        for line in String::from_utf8(world.file(&[proof])).unwrap().lines() {
            assert_eq!(Line::read(line.as_bytes(), usize::MAX).unwrap(), serde_json::from_str(line).unwrap());
            let mut bytes = line.as_bytes().to_vec();
            for _ in 0..20 {
                let at = random.below(bytes.len());
                match random.below(3) {
                    0 => bytes[at] = b"0123456789{}[],:\"-e.tn "[random.below(23)],
                    1 => drop(bytes.remove(at)),
                    _ => bytes.insert(at, bytes[random.below(bytes.len())]),
                }
                match Line::read(&bytes, usize::MAX) {
                    Ok(line) => {
                        accepted += 1;
                        assert_eq!(line, serde_json::from_slice(&bytes).unwrap());
                    }
                    Err(_) => rejected += 1,
                }
                if random.chance(50) {
                    bytes = line.as_bytes().to_vec();
                }
            }
        }
    }
    println!("{accepted} accepted, {rejected} rejected");
    assert!(accepted > 3_000 && rejected > 3_000);
}
