//! Proofs against flips and changed edges at once, made by hand: nodes that each attacker alone leaves alone, and both
//! together do not.

use crate::common;

use common::{layer, pattern};
use gcnproof_check::edges::format::{Candidates, ChangeKind, Changes, Header, Line, Removals};
use gcnproof_check::format::{BudgetStatement, Direction, Local};
use gcnproof_check::joint::{Checker, Statement};
use gcnproof_check::{
    Attack, EdgeAnswer, JointJudge, Options, Question, Reason, Summary, Verdict, check, find_program,
};
use gcnproof_files::{GraphFile, ModelFile};
use serde_json::{Value, json};

/// Nodes 0 and 1 are linked, 2 is alone; the first two have the attribute. Each adds up what it and its neighbours
/// have, `h`; the margin of class 0 is `2h − b`: 4 − b for node 0, 2 − b after one change of an edge or one flip, −b
/// after one of each.
fn world(b: f64) -> (GraphFile, ModelFile) {
    let graph = GraphFile {
        adjacency: pattern(3, 3, |i, j| i + j == 1),
        attributes: pattern(3, 1, |i, _| i < 2),
        digest: "graph".into(),
        ..GraphFile::default()
    };
    let layers = vec![layer(&[&[1.0]], &[0.0]), layer(&[&[1.0, -1.0]], &[0.0, b])];
    (graph, ModelFile { layers, digest: "model".into(), ..ModelFile::default() })
}

fn header() -> Value {
    json!({ "header": {
        "version": 5, "attack": "flips_and_edge_changes", "graph": "graph", "model": "model",
        "message_passing": ["sum+self", "identity"],
        "edges": { "global": 1, "local": 1, "keep_one": false, "changes": { "kind": "change" } },
        "flips": { "global": 1, "local": 1, "direction": "both" }, "classes": "predicted",
    } })
}

fn robust(tree: Value) -> Value {
    json!({ "node": { "id": 0, "class": 0, "claim": { "robust": [{ "class": 1, "tree": tree }] } } })
}

fn broken(edges: Value, flips: Value) -> Value {
    json!({ "node": { "id": 0, "class": 0, "claim": { "non_robust": { "class": 1, "edges": edges, "flips": flips } } } })
}

/// Flips on the graph of the path by one leaf, beside prices of open changes.
fn flips(mu: Value) -> Value {
    json!({ "flips": { "tree": [{ "leaf": {} }], "carried": { "mu": mu } } })
}

fn judged(b: f64, header: &Value, line: &Value, question: Option<Attack>) -> Summary {
    let (graph, model) = world(b);
    let text = format!("{header}\n{line}\n{{\"end\":1}}\n");
    let question = question.map(|attack| Question { nodes: Some(vec![0]), ..Question::new(attack) });
    let message_passing = vec!["sum+self".into(), "identity".into()];
    let options = Options { question, message_passing, ..Options::default() };
    check(&graph, &model, &options, text.as_bytes(), |_| {})
}

fn reason(b: f64, header: &Value, line: &Value) -> Reason {
    let summary = judged(b, header, line, None);
    assert_eq!(summary.rejected, 1, "{summary}");
    summary.rejections[0].fault.reason.clone()
}

fn asked(flips: u64, edges: u64) -> Attack {
    let local = Local::Uniform(1);
    let changes = Changes { kind: ChangeKind::Change, directed: false, candidates: None };
    Attack::Joint(
        BudgetStatement {
            global: flips,
            local: local.clone(),
            direction: Direction::Both,
            frozen_attributes: Vec::new(),
        },
        Removals { global: edges, local, keep_one: false, frozen: Vec::new(), changes: Some(changes) },
    )
}

#[test]
fn what_both_attackers_cannot_break_is_proved_and_nothing_else() {
    let header = header();
    let accepted = |b: f64, tree: Value| judged(b, &header, &robust(tree), None).accepted();
    let leaf = || json!([{ "leaf": {} }]);
    for b in [-1.0, 1.0, 0.0] {
        // Only where the margin is 1 after one change of each kind.
        let is_robust = b < 0.0;
        assert_eq!(accepted(b, json!([flips(json!(2))])), is_robust);
        assert_eq!(accepted(b, json!([flips(json!(0))])), is_robust);
        assert_eq!(accepted(b, json!([{ "flips": { "tree": leaf() } }])), is_robust);
        let after = json!([{ "edge": [0, 1], "tree": leaf() }]);
        assert_eq!(accepted(b, json!([{ "flips": { "tree": leaf(), "after": after } }])), is_robust);
        let both = json!([{ "edge": [0, 1], "tree": leaf() }, { "edge": [0, 2], "tree": leaf() }]);
        assert_eq!(accepted(b, json!([{ "flips": { "tree": leaf(), "after": both } }])), is_robust);
        let split = json!([{ "edge": [0, 1] }, { "flips": { "tree": leaf() } }, { "flips": { "tree": leaf() } }]);
        assert_eq!(accepted(b, split), is_robust);
        // The witness of both breaks the others, and no part of it does.
        let witness = |edges: Value, flips: Value| judged(b, &header, &broken(edges, flips), None).accepted();
        assert_eq!(witness(json!([[0, 1]]), json!([[0, 0]])), !is_robust);
        assert!(!witness(json!([[0, 1]]), json!([])) && !witness(json!([]), json!([[0, 0]])));
        // A flip of a node that is no longer linked, and one too many.
        assert!(!witness(json!([[0, 1]]), json!([[1, 0]])));
        assert!(matches!(reason(b, &header, &broken(json!([]), json!([[0, 0], [1, 0]]))), Reason::Budget));
    }
}

#[test]
fn leaves_that_say_too_little_are_refused() {
    let header = header();
    let leaf = || json!([{ "leaf": {} }]);
    let why = |tree: Value| reason(-1.0, &header, &robust(tree));
    // 3 is left after a flip, and the removal takes 2: a price of 3 is too high.
    assert!(matches!(why(json!([flips(json!(3))])), Reason::Bound(_)));
    assert!(matches!(why(json!([flips(json!(-1))])), Reason::HintSign(_)));
    let after = |edges: &[[u32; 2]]| {
        let after: Vec<Value> = edges.iter().map(|edge| json!({ "edge": edge, "tree": leaf() })).collect();
        json!([{ "flips": { "tree": leaf(), "after": after } }])
    };
    assert!(matches!(why(after(&[[0, 2], [0, 1]])), Reason::EdgeOrder((0, 1))));
    assert!(matches!(why(after(&[[0, 1], [0, 1]])), Reason::EdgeOrder((0, 1))));
    // Not a change that matters to node 0.
    assert!(matches!(why(after(&[[1, 2]])), Reason::NotFree((1, 2))));
    for alone in [json!({ "listed": {} }), json!({ "carried": { "mu": 0 } }), json!({ "singles": {} })] {
        assert!(matches!(why(json!([alone])), Reason::Leaf(_)));
    }
    let lists = json!([{ "flips": { "tree": leaf(), "carried": { "mu": 0, "lists": true } } }]);
    assert!(matches!(why(lists), Reason::Leaf(_)));
    let mut two = header.clone();
    two["header"]["edges"]["global"] = json!(2);
    assert!(matches!(reason(-1.0, &two, &robust(after(&[[0, 1]]))), Reason::Singles(2)));
    // Trees over flips are whole trees.
    assert!(matches!(why(json!([{ "flips": { "tree": [] } }])), Reason::Incomplete));
    assert!(matches!(why(json!([{ "flips": { "tree": [{ "flip": [0, 0] }, { "leaf": {} }] } }])), Reason::Incomplete));
}

#[test]
fn a_header_states_both_or_one() {
    let line = robust(json!([flips(json!(2))]));
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut changed = header();
        change(&mut changed["header"]);
        !judged(-1.0, &changed, &line, None).accepted()
    };
    assert!(!refused(&|_| ()));
    assert!(refused(&|header| header["version"] = json!(4)));
    assert!(refused(&|header| header["attack"] = json!("edge_changes")));
    assert!(refused(&|header| header["attack"] = json!("edge_removals")));
    assert!(refused(&|header| drop(header.as_object_mut().unwrap().remove("flips"))));
    assert!(refused(&|header| {
        header["attack"] = json!("edge_changes");
        header["version"] = json!(4);
    }));
    // Proofs about edges alone have no leaves with flips, and no witnesses with them.
    let mut alone = header();
    (alone["header"]["version"], alone["header"]["attack"]) = (json!(4), json!("edge_changes"));
    alone["header"].as_object_mut().unwrap().remove("flips");
    assert!(matches!(reason(-1.0, &alone, &line), Reason::Leaf(_)));
    assert!(matches!(reason(1.0, &alone, &broken(json!([[0, 1]]), json!([[0, 0]]))), Reason::Flip((0, 0))));
}

#[test]
fn a_question_about_both_is_answered_by_proofs_about_both_alone() {
    let (stated, line) = (header(), robust(json!([flips(json!(2))])));
    let proved = |b: f64, line: &Value, attack: Attack| judged(b, &stated, line, Some(attack)).success();
    assert!(proved(-1.0, &line, asked(1, 1)));
    assert!(proved(-1.0, &line, asked(0, 1)) && proved(-1.0, &line, asked(1, 0)));
    assert!(!proved(-1.0, &line, asked(1, 2)) && !proved(-1.0, &line, asked(2, 1)));
    let Attack::Joint(of_flips, of_edges) = asked(1, 1) else { unreachable!() };
    assert!(!proved(-1.0, &line, Attack::Flips(of_flips.clone(), None)));
    assert!(!proved(-1.0, &line, Attack::Removals(of_edges.clone())));
    let listed = Changes { candidates: Some(Candidates::Listed(vec![(0, 2)])), ..of_edges.kinds() };
    assert!(proved(-1.0, &line, Attack::Joint(of_flips, Removals { changes: Some(listed), ..of_edges })));
    // A witness answers if both of its parts are asked about.
    let witness = broken(json!([[0, 1]]), json!([[0, 0]]));
    assert!(proved(1.0, &witness, asked(1, 1)) && proved(1.0, &witness, asked(3, 2)));
    assert!(!proved(1.0, &witness, asked(1, 0)) && !proved(1.0, &witness, asked(0, 1)));
    // Nor do proofs about one of both answer for both.
    let mut alone = header();
    (alone["header"]["version"], alone["header"]["attack"]) = (json!(4), json!("edge_changes"));
    alone["header"].as_object_mut().unwrap().remove("flips");
    let listed = robust(json!([{ "listed": {} }]));
    assert!(
        judged(1.0, &alone, &listed, None).accepted() && !judged(1.0, &alone, &listed, Some(asked(0, 1))).success()
    );
}

/// What the verified checker says of a line about `world(b)`, and what the other one says.
fn verified(program: &std::path::Path, b: f64, line: &Value) -> (Result<Verdict, Reason>, EdgeAnswer) {
    let (graph, model) = world(b);
    let header: Header = serde_json::from_value(header()["header"].clone()).unwrap();
    let statement = Statement::new(&graph, &model, &header).unwrap();
    let checker = Checker::new(&statement, true);
    let Ok(Line::Node(proof)) = Line::read(line.to_string().as_bytes(), usize::MAX) else { panic!("{line}") };
    let mut judge = JointJudge::start(program, &graph, &model, &header).unwrap();
    let answer = judge.ask(&checker, &proof, 1_000).unwrap();
    (checker.check(&proof).map_err(|fault| fault.reason), answer)
}

/// The verified checker lists the changed graphs. Skipped aloud where it is not built (`make verified`).
#[test]
fn the_verified_checker_judges_by_the_changed_graphs() {
    let Ok(program) = find_program().inspect_err(|problem| println!("SKIPPED: {problem}")) else { return };
    let pair = broken(json!([[0, 1]]), json!([[0, 0]]));
    for (b, verdict) in [(1.0, Verdict::NonRobust), (0.0, Verdict::Tie)] {
        let (own, answer) = verified(&program, b, &pair);
        assert_eq!((own.unwrap(), answer), (verdict, EdgeAnswer::Shown(verdict)), "{b}");
        assert_eq!(verified(&program, b, &robust(json!([flips(json!(2))]))).1, EdgeAnswer::Rejected, "{b}");
    }
    // The price of an open change is no part of what it is shown.
    for mu in [0, 2, 100] {
        let (_, answer) = verified(&program, -1.0, &robust(json!([flips(json!(mu))])));
        assert_eq!(answer, EdgeAnswer::Shown(Verdict::Robust), "{mu}");
    }
    assert_eq!(verified(&program, -1.0, &pair).1, EdgeAnswer::Rejected);
    // Each part alone, and both with a flip too many.
    for (edges, entries) in
        [(json!([[0, 1]]), json!([])), (json!([]), json!([[0, 0]])), (json!([[0, 1]]), json!([[0, 0], [1, 0]]))]
    {
        let (own, answer) = verified(&program, 1.0, &broken(edges, entries));
        assert_eq!(answer, own.map_or(EdgeAnswer::Rejected, EdgeAnswer::Shown));
        assert_eq!(answer, EdgeAnswer::Rejected);
    }
    // A split: the second subtree is about the graph without the edge.
    let tree = json!([{ "edge": [0, 1] }, flips(json!(2)), flips(json!(0))]);
    assert_eq!(verified(&program, -1.0, &robust(tree.clone())).1, EdgeAnswer::Shown(Verdict::Robust));
    assert_eq!(verified(&program, 0.0, &robust(tree)).1, EdgeAnswer::Rejected);
}

/// What the verified checker says of an accepted line of another world.
fn shown(program: &std::path::Path, files: &(GraphFile, ModelFile), header: &Value, line: &Value) -> EdgeAnswer {
    let (graph, model) = files;
    let header: Header = serde_json::from_value(header["header"].clone()).unwrap();
    let statement = Statement::new(graph, model, &header).unwrap();
    let Ok(Line::Node(proof)) = Line::read(line.to_string().as_bytes(), usize::MAX) else { panic!("{line}") };
    for exact_only in [false, true] {
        let checker = Checker::new(&statement, exact_only);
        assert_eq!(checker.check(&proof).map_err(|fault| fault.reason).unwrap(), Verdict::Robust, "{line}");
    }
    let checker = Checker::new(&statement, false);
    JointJudge::start(program, graph, model, &header).unwrap().ask(&checker, &proof, 1_000).unwrap()
}

/// Prices of flips are chosen for no more flips than there are, whatever a header states.
#[test]
fn budgets_above_all_flips_are_those_of_all_flips() {
    let Ok(program) = find_program().inspect_err(|problem| println!("SKIPPED: {problem}")) else { return };
    // No edges, and removals in one direction. The margin is so large that prices of flips are above their losses.
    let files = world(-20.0);
    let alone = GraphFile { adjacency: pattern(3, 3, |_, _| false), ..files.0.clone() };
    for (graph, directed) in [(files.0, false), (alone.clone(), false), (alone, true)] {
        for (global, local) in [(3, 1), (4, 1), (1000, 1), (1000, 1000), (2, 1000)] {
            let mut header = header();
            header["header"]["edges"]["global"] = json!(if directed { 2 } else { 0 });
            header["header"]["edges"]["changes"] = json!({ "kind": "remove", "directed": directed });
            header["header"]["flips"] = json!({ "global": global, "local": local, "direction": "both" });
            let line = robust(json!([{ "flips": { "tree": [{ "leaf": {} }] } }]));
            let answer = shown(&program, &(graph.clone(), files.1.clone()), &header, &line);
            assert_eq!(answer, EdgeAnswer::Shown(Verdict::Robust), "{directed} {global} {local}");
        }
    }
}

/// A leaf may speak of nodes that its own does not depend on once an edge is removed.
#[test]
fn leaves_are_shown_without_what_changed_graphs_do_not_have() {
    let Ok(program) = find_program().inspect_err(|problem| println!("SKIPPED: {problem}")) else { return };
    let files = world(-5.0);
    let mut header = header();
    header["header"]["message_passing"] = json!(["identity", "sum+self"]);
    let leaf = |leaf: Value| json!([{ "leaf": leaf }]);
    let split = |step: Value| json!([step, { "leaf": {} }, { "leaf": {} }]);
    for tree in [
        leaf(json!({})),
        leaf(json!({ "weight": [[2, 1, 0, 0]] })),
        leaf(json!({ "weight": [[2, 0, 0, 0], [2, 1, 0, 0]], "slope": [[2, 1, 0, 0]] })),
        leaf(json!({ "envelope": { "e": 0, "nodes": [1], "units": [[1, 0, 0, 0, [], []]] } })),
        split(json!({ "flip": [1, 0] })),
        split(json!({ "unit": [2, 1, 0] })),
    ] {
        let line = robust(json!([{ "flips": { "tree": tree, "carried": { "mu": 2 } } }]));
        assert_eq!(shown(&program, &files, &header, &line), EdgeAnswer::Shown(Verdict::Robust), "{line}");
    }
}

/// What open changes can take is bounded although the leaf of the graph shows nothing of the changed one: splits on
/// flips do.
#[test]
fn trees_are_found_where_a_leaf_does_not_suit_a_changed_graph() {
    let Ok(program) = find_program().inspect_err(|problem| println!("SKIPPED: {problem}")) else { return };
    let graph = GraphFile {
        adjacency: pattern(4, 4, |_, _| false),
        attributes: pattern(4, 1, |i, _| i != 1),
        digest: "graph".into(),
        ..GraphFile::default()
    };
    let mut first = layer(&[&[0.5], &[2.0]], &[-0.5]);
    first.operators = vec!["sum+self".into(), "poly(sum;-0.5,1)".into()];
    let layers = vec![
        first,
        layer(&[&[1.0, -0.5, 0.0]], &[-1.0, 0.0, 0.5]),
        layer(&[&[1.5, -1.5, 0.5], &[2.0, -2.0, -1.0], &[-0.5, 2.0, 0.0]], &[-1.0, 0.0, 1.5]),
    ];
    let files = (graph, ModelFile { layers, digest: "model".into(), ..ModelFile::default() });
    let header = json!({ "header": {
        "version": 5, "attack": "flips_and_edge_changes", "graph": "graph", "model": "model",
        "message_passing": ["sum+self & poly(sum;-0.5,1)", "gcn-self", "gcn-self"],
        "edges": { "global": 2, "local": [0, 1, 0, 2], "keep_one": false, "changes": { "kind": "insert" } },
        "flips": { "global": 2, "local": 1, "direction": "remove" }, "classes": "predicted",
    } });
    let class = |class: u32| {
        let leaf = json!({ "flips": { "tree": [{ "leaf": { "dual": 3 } }], "carried": { "mu": 0 } } });
        json!({ "class": class, "tree": [leaf] })
    };
    let line = json!({ "node": { "id": 1, "class": 2, "claim": { "robust": [class(0), class(1)] } } });
    assert_eq!(shown(&program, &files, &header, &line), EdgeAnswer::Shown(Verdict::Robust));
}
