//! What the checker can insist on, and what it says of a file that proves little.
#![allow(missing_docs)]

mod common;

use common::{World, layer};
use gcnproof_check::format::*;
use gcnproof_check::{Expectations, Options, Summary, check};

/// Three nodes, two attributes, no hidden layer; every node keeps class 0 by far.
fn world() -> World {
    let first = layer(&[&[0.5, 0.0], &[0.25, 0.0]], &[9.0, 0.0]);
    common::world(&[&[1, 0], &[0, 1], &[1, 1]], 2, vec![first], 4, 1)
}

fn proof(id: u32) -> NodeProof {
    NodeProof { id, class: 0, claim: Claim::Robust(vec![ClassProof::anchored(1)]) }
}

fn run(world: &World, file: &[u8], expect: Expectations) -> Summary {
    let options = Options { expect, ..world.options() };
    check(&world.graph, &world.model, &options, file, |_| {})
}

fn with(change: impl Fn(&mut Expectations)) -> Expectations {
    let mut expect = Expectations::default();
    change(&mut expect);
    expect
}

#[test]
fn the_statement_is_compared_before_anything_is_checked() {
    let stated = |change: &dyn Fn(&mut Header)| {
        let mut world = world();
        change(&mut world.header);
        world
    };
    let per_node = |q: [u64; 3]| stated(&|header| header.budget.local = Local::PerNode(q.to_vec()));
    let add = stated(&|header| header.budget.direction = Direction::Add);
    let frozen = stated(&|header| header.budget.frozen_attributes = vec![1]);
    let all_frozen = stated(&|header| header.budget.frozen_attributes = vec![0, 1]);
    let huge = stated(&|header| {
        header.budget.global = u64::MAX;
        header.budget.local = Local::Uniform(u64::MAX);
    });
    let global = |n| with(|expect| expect.global = Some(n));
    let local = |n| with(|expect| expect.local = Some(n));
    let rules = |rules: &[&str]| with(|expect| expect.message_passing = rules.iter().map(|r| r.to_string()).collect());
    let direction = |which| with(|expect| expect.direction = Some(which));
    let allow_frozen = |mut expect: Expectations| {
        expect.allow_frozen = true;
        expect
    };
    for (world, expect, unmet) in [
        (world(), global(3), None),
        (world(), global(4), Some("expected Q = 4 or more, stated local budgets for only 3 flips in all")),
        (world(), global(5), Some("expected Q = 5 or more, stated Q = 4")),
        (world(), local(1), None),
        (world(), local(2), Some("expected q = 2 or more for every node, stated q = 1 for node 0")),
        (per_node([3, 1, 2]), local(1), None),
        (per_node([3, 1, 2]), local(2), Some("expected q = 2 or more for every node, stated q = 1 for node 1")),
        (per_node([0, 0, 0]), global(1), Some("stated local budgets for only 0 flips in all")),
        (stated(&|header| header.budget.global = 0), local(1), Some("stated Q = 0")),
        // More flips than there are attributes mean nothing.
        (per_node([2, 2, 9]), local(u64::MAX), None),
        (huge, with(|expect| (expect.global, expect.local) = (Some(u64::MAX), Some(u64::MAX))), None),
        (add, global(1), Some("expected direction both, stated direction add")),
        (stated(&|header| header.budget.direction = Direction::Add), direction(Direction::Add), None),
        (
            stated(&|header| header.budget.direction = Direction::Add),
            direction(Direction::Remove),
            Some("expected direction remove, stated direction add"),
        ),
        (world(), direction(Direction::Remove), None),
        (frozen, global(1), Some("expected no frozen attributes, stated 1")),
        (stated(&|header| header.budget.frozen_attributes = vec![1]), allow_frozen(global(1)), None),
        (all_frozen, allow_frozen(global(1)), Some("expected attributes that can be flipped, stated that all 2")),
        (world(), rules(&["gcn"]), None),
        (world(), rules(&["mean"]), Some("expected message passing mean, stated message passing gcn")),
        (world(), rules(&["gcn", "gcn"]), Some("expected message passing gcn,gcn, stated message passing gcn")),
        (world(), with(|expect| expect.classes = Some(Convention::Predicted)), None),
        (
            world(),
            with(|expect| expect.classes = Some(Convention::Labels)),
            Some("expected classes labels, stated classes predicted"),
        ),
    ] {
        // The lines after the header are no proofs at all.
        let mut hopeless = world.file(&[proof(0)]);
        let at = hopeless.iter().position(|&byte| byte == b'\n').unwrap();
        hopeless.splice(at + 1.., *b"x\n");
        let summary = run(&world, &hopeless, expect.clone());
        let found = summary.unmet.join("; ");
        match unmet {
            Some(unmet) => {
                assert!(found.contains(unmet), "{found} instead of {unmet}");
                assert!(!summary.checked && summary.rejected == 0 && summary.exit_code() == 1, "{summary}");
                assert!(summary.to_string().contains(unmet), "{summary}");
            }
            None => {
                assert_eq!(found, "");
                assert!(summary.checked && summary.rejected > 0, "{summary}");
                let summary = run(&world, &world.file(&[proof(0)]), expect);
                assert_eq!(summary.exit_code(), 0, "{summary}");
            }
        }
    }
}

#[test]
fn expected_nodes_must_have_proofs() {
    let world = world();
    let file = world.file(&[proof(0), proof(2)]);
    for (nodes, unmet) in [
        ("0", None),
        ("0,2", None),
        ("2,0-0", None),
        ("0-2", Some("expected proofs of nodes 0-2, without accepted proof are 1 of them: 1")),
        ("all", Some("expected proofs of nodes all, without accepted proof are 1 of them: 1")),
        ("2,1,0-1,1-2", Some("without accepted proof are 1 of them: 1")),
    ] {
        let summary = run(&world, &file, with(|expect| expect.nodes = Some(nodes.parse().unwrap())));
        assert_eq!(summary.exit_code(), u8::from(unmet.is_some()), "{nodes}");
        assert!(summary.unmet.join("").contains(unmet.unwrap_or("")), "{nodes}: {summary}");
    }
    for wrong in ["", "x", "1-", "-1", "2-1", "0,,1", "4294967296"] {
        assert!(wrong.parse::<gcnproof_check::Nodes>().is_err(), "{wrong}");
    }
    let nodes: gcnproof_check::Nodes = "0-4294967295".parse().unwrap();
    assert_eq!(nodes.beyond(3), Some(u32::MAX));
    assert!(run(&world, &file, with(|expect| expect.nodes = Some(nodes.clone()))).exit_code() == 1);
}

#[test]
fn nodes_without_proof_are_counted() {
    let world = world();
    let text = String::from_utf8(world.file(&[proof(0)])).unwrap();
    let lines = |lines: &str, count: usize| {
        let new = format!("{lines}{{\"end\":{count}}}\n");
        text.replace("{\"end\":1}\n", &new)
    };
    let unproved = |id: u32| format!("{{\"unproved\":{{\"id\":{id},\"reason\":\"late\\u001b[2J\\u202e\"}}}}\n");
    let bad = |id: u32| format!("{{\"node\":{{\"id\":{id},\"class\":1,\"claim\":{{\"robust\":[]}}}}}}\n");
    let run = |file: &str| run(&world, file.as_bytes(), Expectations::default());
    let counts = |summary: &Summary| (summary.proved(), summary.unproved, summary.refused, summary.unmentioned());
    let summary = run(&lines("", 1));
    assert_eq!((counts(&summary), summary.exit_code()), ((1, 0, 0, 2), 0));
    let summary = run(&lines(&unproved(1), 2));
    assert_eq!((counts(&summary), summary.exit_code()), ((1, 1, 0, 1), 0));
    let shown = summary.to_string();
    assert!(shown.contains(r"node 1: late\u{1b}[2J\u{202e}") && !shown.contains('\u{1b}'), "{shown}");
    // A second line about a node is rejected and changes nothing of what is known of it.
    let summary = run(&lines(&(unproved(1) + &bad(2) + &unproved(2) + &bad(0) + &bad(1) + &bad(7)), 7));
    assert_eq!((counts(&summary), summary.rejected, summary.exit_code()), ((1, 1, 1, 0), 5, 1));
    let shown = summary.to_string();
    assert!(shown.contains("2: 1 with a reason in the file, 1 with a rejected proof, 0 not mentioned"), "{shown}");
    // Reasons prove nothing.
    let only: String = text.lines().take(1).map(|line| format!("{line}\n")).collect();
    let summary = run(&(only + &unproved(0) + &unproved(1) + "{\"end\":2}\n"));
    assert_eq!((counts(&summary), summary.accepted(), summary.exit_code()), ((0, 2, 0, 1), true, 1));
    assert!(summary.to_string().contains("nothing is proved"));
}

#[test]
fn the_statement_is_shown_for_what_it_is() {
    for (change, text) in [
        (&(|_: &mut Header| {}) as &dyn Fn(&mut Header), "Q = 4 flips in all, q = 1 per node, direction both"),
        (
            &|header| header.budget.local = Local::PerNode(vec![0, 3, 1]),
            "q = 0 to 3 per node (room for 3 flips in all)",
        ),
        (&|header| header.budget.local = Local::PerNode(vec![2, 2, 2]), "q = 2 for all nodes"),
        (&|header| header.budget.local = Local::PerNode(vec![0, 0, 0]), "no flip at all is permitted"),
        (&|header| header.budget.local = Local::Uniform(0), "no flip at all is permitted"),
        (&|header| header.budget.global = 0, "no flip at all is permitted"),
        (&|header| header.budget.frozen_attributes = vec![0, 1], "no flip at all is permitted"),
        (&|header| header.budget.frozen_attributes = vec![1], "1 frozen attribute, which no flip may touch: 1"),
        (&|header| header.budget.direction = Direction::Remove, "direction remove"),
        (&|header| header.graph = "x\u{9b}".into(), r"its digest is x\u{9b}, the graph given has graph"),
        (&|header| header.model = "y".repeat(9999), "yy, the model given has model"),
    ] {
        let mut world = world();
        change(&mut world.header);
        let shown = run(&world, &world.file(&[proof(0)]), Expectations::default()).to_string();
        assert!(shown.contains(text), "{shown} instead of {text}");
        let vacuous = text.contains("no flip at all");
        assert_eq!(shown.contains("no flip at all"), vacuous, "{shown}");
    }
}
