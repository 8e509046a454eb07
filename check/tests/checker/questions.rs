//! Questions: what a file must prove to answer one, by listing all perturbations, and what is said of a file that
//! proves little.
use crate::common;
#[allow(dead_code)]
use crate::edge_world as removed;

use std::collections::HashSet;

use common::{Random, World, layer};
use gcnproof_check::edges::{self, format::Removals};
use gcnproof_check::format::*;
use gcnproof_check::{Attack, Execution, Options, Question, Summary, Verdict, Words, check, collective};
use gcnproof_files::PartFile;
use removed::Case;

/// Three nodes, two attributes, no hidden layer; every node keeps class 0 by far.
fn world() -> World {
    let first = layer(&[&[0.5, 0.0], &[0.25, 0.0]], &[9.0, 0.0]);
    common::world(&[&[1, 0], &[0, 1], &[1, 1]], 2, vec![first], 4, 1)
}

fn proof(id: u32) -> NodeProof {
    NodeProof { id, class: 0, claim: Claim::Robust(vec![ClassProof::anchored(1)]) }
}

fn run(world: &World, file: &[u8], question: Option<Question>) -> Summary {
    let options = Options { question, ..world.options() };
    check(&world.graph, &world.model, &options, file, |_| {})
}

/// The question of some options, in the words of the command line.
fn asked(world: &World, words: &str) -> Question {
    let mut said = Words::default();
    let mut rest = words.split_whitespace();
    while let Some(name) = rest.next() {
        let (name, value) = name.split_once('=').map_or((name, None), |(name, value)| (name, Some(value)));
        let word = Words::find(name).unwrap();
        let value = match word.value {
            gcnproof_check::Value::Needed(_) => rest.next().unwrap(),
            _ => value.unwrap_or_default(),
        };
        said.say(word, value).unwrap();
    }
    said.question(&world.graph, None).unwrap().unwrap()
}

#[test]
fn a_statement_is_compared_with_the_question() {
    let stated = |change: &dyn Fn(&mut Header)| {
        let mut world = world();
        change(&mut world.header);
        world
    };
    let per_node = |q: [u64; 3]| stated(&|header| header.budget.local = Local::PerNode(q.to_vec()));
    let add = || stated(&|header| header.budget.direction = Direction::Add);
    let frozen = |list: &[u32]| stated(&|header| header.budget.frozen_attributes = list.to_vec());
    let huge = stated(&|header| {
        header.budget.global = u64::MAX;
        header.budget.local = Local::Uniform(u64::MAX);
    });
    for (world, words, open) in [
        (world(), "-Q 4 -q 1", None),
        // 1% of two attributes is 1.
        (world(), "-Q 4", None),
        // There is room for three flips only, asked or stated.
        (world(), "-Q 99 -q 1", None),
        (stated(&|header| header.budget.global = 3), "-Q 99 -q 1", None),
        (stated(&|header| header.budget.global = 2), "-Q 99 -q 1", Some("asked about Q = 3, stated Q = 2")),
        (world(), "-Q 5 -q 2", Some("asked about Q = 5, stated Q = 4")),
        (world(), "-Q 1 -q 2", None),
        (world(), "-Q 2 -q 2", Some("asked about q = 2 at node 0, stated q = 1")),
        (per_node([2, 1, 2]), "-Q 2 -q 2", Some("asked about q = 2 at node 1, stated q = 1")),
        (per_node([2, 1, 2]), "-Q 2 -q 2 --freeze-nodes 1", None),
        (per_node([0, 0, 0]), "-Q 1 -q 1", Some("asked about q = 1 at node 0, stated q = 0")),
        (stated(&|header| header.budget.global = 0), "-Q 1", Some("asked about Q = 1, stated Q = 0")),
        (per_node([2, 2, 9]), "-Q 4 -q 100%", None),
        (huge, "-Q 18446744073709551615 -q 18446744073709551615", None),
        (add(), "-Q 1", Some("asked about flips of direction both, stated direction add")),
        (add(), "-Q 1 --flips add", None),
        (add(), "-Q 1 --expect-direction remove", Some("asked about flips of direction remove, stated direction add")),
        (world(), "-Q 1 --direction remove", None),
        (frozen(&[1]), "-Q 1", Some("flips at node 0 are asked about of attributes that are frozen as stated")),
        (frozen(&[1]), "-Q 1 --freeze-attributes 1", None),
        (frozen(&[1]), "-Q 1 --freeze-attributes 0-1", None),
        (frozen(&[]), "-Q 1 --freeze-attributes 1", None),
        // Node 1 has no attribute 0, node 0 no attribute 1.
        (frozen(&[1]), "-Q 1 --flips remove --freeze-nodes 1,2", None),
        (frozen(&[0]), "-Q 1 --flips remove --freeze-nodes 1,2", Some("frozen as stated")),
    ] {
        let nodes = [proof(0), proof(1), proof(2)];
        let summary = run(&world, &world.file(&nodes), Some(asked(&world, words)));
        let found = summary.unmet.join("; ");
        assert!(summary.checked && summary.proved() == 3, "{summary}");
        match open {
            Some(open) => {
                assert!(found.contains(open) && found.contains("3 of 3 nodes"), "{words}: {found} instead of {open}");
                assert!(summary.exit_code() == 1 && summary.to_string().contains(open), "{summary}");
                assert!(summary.answers.iter().all(Option::is_none));
            }
            None => assert_eq!((summary.exit_code(), found.as_str()), (0, ""), "{words}: {summary}"),
        }
    }
}

/// What is about something else is not looked at any further.
#[test]
fn other_statements_are_told_after_the_first_line() {
    for (words, rules, text) in [
        ("-Q 1 --class labels", &[][..], "asked about the label of a node, stated about the predicted class"),
        ("-Q 1 --deployed float32", &[], "asked about every execution in float32, stated for exact arithmetic"),
        ("-E 1", &[], "asked about changed edges, node by node, stated about flips of attributes, node by node"),
        ("-Q 1 --bound 3", &[], "asked about one attack for the whole graph, stated about flips of attributes"),
        ("-Q 1", &["mean"], "asked about message passing mean, stated about message passing gcn"),
        ("-Q 1", &["gcn", "gcn"], "asked about message passing gcn,gcn, stated about message passing gcn"),
        ("-Q 1", &["poly(gcn;0,1)"], "asked about message passing poly(gcn;0,1)"),
    ] {
        let world = world();
        // The lines after the header are no proofs at all.
        let mut hopeless = world.file(&[proof(0)]);
        let at = hopeless.iter().position(|&byte| byte == b'\n').unwrap();
        hopeless.splice(at + 1.., *b"x\n");
        let message_passing = rules.iter().map(|rule| rule.to_string()).collect();
        let options = Options { question: Some(asked(&world, words)), message_passing, ..world.options() };
        let summary = check(&world.graph, &world.model, &options, &hopeless[..], |_| {});
        assert!(summary.unmet.join("; ").contains(text), "{words}: {summary}");
        assert!(!summary.checked && summary.rejected == 0 && summary.exit_code() == 1, "{summary}");
    }
    // A plain model has no rule of its own: the file's is not the user's, unless the user says so.
    let mut world = world();
    world.header.message_passing = vec!["poly(gcn;0)".into()];
    let file = world.file(&[proof(0), proof(1), proof(2)]);
    let told = run(&world, &file, Some(asked(&world, "-Q 1"))).unmet.join("");
    assert!(told.contains("asked about message passing gcn, stated about message passing poly(gcn;0)"), "{told}");
    for (rule, code) in [("poly(gcn;0.0,0)", 0), ("poly(gcn;1)", 1), ("gcn", 1)] {
        let (question, message_passing) = (Some(asked(&world, "-Q 1")), vec![rule.to_string()]);
        let options = Options { question, message_passing: message_passing.clone(), ..world.options() };
        assert_eq!(check(&world.graph, &world.model, &options, &file[..], |_| {}).exit_code(), code, "{rule}");
        // Rules that are given are insisted on even without a question.
        let options = Options { message_passing, ..world.options() };
        let code = if code == 0 { 4 } else { 1 };
        assert_eq!(check(&world.graph, &world.model, &options, &file[..], |_| {}).exit_code(), code, "{rule}");
    }
    assert_eq!(run(&world, &file, None).exit_code(), 4);
    // Where the model names its rule, nothing has to be said.
    world.model.layers[0].operators = vec!["poly(gcn;0)".into()];
    assert_eq!(run(&world, &file, Some(asked(&world, "-Q 1"))).exit_code(), 0);
}

#[test]
fn nodes_asked_about_must_have_proofs_that_answer() {
    let world = world();
    let file = world.file(&[proof(0), proof(2)]);
    for (nodes, open) in [
        ("0", None),
        ("0,2", None),
        ("2,0-0", None),
        ("0-2", Some("1 of 3 nodes asked about have no proof that answers: 1")),
        ("all", Some("1 of 3 nodes asked about have no proof that answers: 1")),
        ("2,1,0-1,1-2", Some("1 of 3 nodes asked about have no proof that answers: 1")),
        ("1", Some("1 of 1 nodes asked about have no proof that answers: 1")),
    ] {
        let summary = run(&world, &file, Some(asked(&world, &format!("-Q 1 --nodes {nodes}"))));
        assert_eq!(summary.exit_code(), u8::from(open.is_some()), "{nodes}");
        assert_eq!(summary.unmet.join("; "), open.unwrap_or(""), "{nodes}: {summary}");
    }
    // All of them, if nothing is said.
    assert_eq!(run(&world, &file, Some(asked(&world, "-Q 1"))).exit_code(), 1);
    // No node is no question.
    let none = Question { nodes: Some(Vec::new()), ..asked(&world, "-Q 1") };
    assert!(none.require(&world.graph).is_err());
    assert_eq!(run(&world, &file, Some(none)).exit_code(), 1);
}

/// What a question lacks, or says in vain.
#[test]
fn questions_that_are_none_are_refused() {
    let world = world();
    for (words, problem) in [
        ("--nodes all", "a question needs a budget"),
        ("-q 1", "a question needs a budget"),
        ("--class labels", "a question needs a budget"),
        ("--bound 1", "a question needs a budget"),
        ("-Q x", "--global needs a whole number, 0 or more, not 'x'"),
        ("-Q -1", "needs a whole number"),
        ("-Q 1 -q 1.5", "neither a number of flips (12) nor a share of the attributes"),
        ("-Q 1 -q 101%", "nor a share"),
        ("-Q 1 -q nan%", "nor a share"),
        ("-Q 1 --keep-one-edge=true", "how many edges may be changed in all"),
        ("-Q 1 -E 1 --epsilon 1", "--epsilon means nothing where changed edges are asked about as well"),
        ("-Q 1 -E 1 --bound 1", "--bound means nothing"),
        ("-Q 1 -E 1 --deployed float32", "exact arithmetic only"),
        ("-e 1", "how many edges may be changed in all"),
        ("--edges remove", "how many edges may be changed in all"),
        ("--edges add -E 1", "expected remove"),
        ("-E 1 -q 1", "--local means nothing where changed edges are asked about"),
        ("-E 1 --bound 1", "--bound means nothing"),
        ("-E 1 --deployed float32", "exact arithmetic only"),
        ("-E 1 --keep-one-edge=no", "expected true or false"),
        ("-E 1 --keep-one-edge=true --expect-last-edges", "give one of them"),
        ("-Q 1 --nodes 3", "there is no node 3: there are 3"),
        ("-Q 1 --nodes 0-4294967296", "there is no node 4294967296"),
        ("-Q 1 --epsilon x", "--epsilon needs a number"),
        ("-Q 1 --epsilon 1 --ranges observed", "contradict each other"),
        ("-Q 1 --epsilon 1 --bound 1", "means nothing"),
        ("-Q 1 --epsilon 1 --flips add", "means nothing"),
        ("-Q 1 --ranges nothing.npz", "nothing.npz"),
        ("-E 1 --epsilon 1", "means nothing"),
        ("-Q 1 --nodes two", "expected ids and ranges such as 0-99,204"),
        ("-Q 1 --nodes 2-1", "expected ids and ranges"),
        ("-Q 1 --nodes 0,1,1", "a mask is given as a file"),
        ("-Q 1 --freeze-attributes 2", "there is no attribute 2"),
        ("-Q 1 --freeze-nodes 3", "there is no node 3"),
        ("-E 1 --freeze-nodes 3", "there is no node 3"),
        ("-Q 1 --class right", "--class: expected predicted or labels"),
        ("-Q 1 --flips all", "--flips: expected both, add or remove"),
        ("-Q 1 --deployed double", "expected float32 or exact"),
        ("-Q 1 --operator-error 1", "means nothing without --deployed float32"),
        ("-Q 1 --deployed float32 --unit-roundoff 0.3", "no power of two"),
        ("-Q 1 --bound 1 --deployed float32", "bounded in exact arithmetic only"),
        ("-Q 1 --attacked-nodes 1", "means nothing without --bound"),
        ("-Q 1 --bound 1 --operator-error 1", "--operator-error means nothing beside --bound"),
        ("-E 1 --unit-roundoff 2^-8", "--unit-roundoff means nothing without --deployed float32"),
        ("-Q 1 --local-file no-such-file", "no-such-file"),
    ] {
        let mut said = Words::default();
        let mut rest = words.split_whitespace();
        while let Some(name) = rest.next() {
            let (name, value) = name.split_once('=').map_or((name, None), |(name, value)| (name, Some(value)));
            let word = Words::find(name).unwrap();
            let needed = matches!(word.value, gcnproof_check::Value::Needed(_));
            said.say(word, if needed { rest.next().unwrap() } else { value.unwrap_or_default() }).unwrap();
        }
        let told = said.question(&world.graph, None).unwrap_err();
        assert!(told.contains(problem), "{words}: {told}");
    }
    assert_eq!(Words::default().question(&world.graph, None).unwrap(), None);
    let mut twice = Words::default();
    twice.say(Words::find("-Q").unwrap(), "1").unwrap();
    assert!(twice.say(Words::find("--expect-Q").unwrap(), "1").unwrap_err().contains("twice"));
    assert!(["Q", "--", "-", "--Q", "-Qq", "--expect-"].iter().all(|name| Words::find(name).is_none()));
}

/// Files that do not fit what they are given for.
#[test]
fn files_that_do_not_fit_are_refused() {
    let world = world();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list.txt");
    let told = |budget: &str, option: &str, text: &str| {
        std::fs::write(&path, text).unwrap();
        let mut said = Words::default();
        said.say(Words::find(budget).unwrap(), "1").unwrap();
        said.say(Words::find(option).unwrap(), path.to_str().unwrap()).unwrap();
        said.question(&world.graph, None)
    };
    for (budget, option, text, problem) in [
        ("-Q", "--nodes", "0\n0\n0\n", "--nodes selects no node"),
        ("-Q", "--local-file", "1\n1\n", "2 local budgets for 3 nodes"),
        ("-Q", "--local-file", "1\n-1\n1\n", "it must not be negative"),
        ("-E", "--freeze-edges", "0\n1\n2\n", "line 1: has one id, but an edge has two ends"),
        ("-E", "--freeze-edges", "0,1\n0,1,2\n", "line 2: has 3 ids, but an edge has two ends"),
        ("-E", "--freeze-edges", "0,0\n", "the graph has no edge 0-0"),
        ("-E", "--freeze-edges", "1,2\n", "the graph has no edge 1-2"),
        ("-E", "--freeze-edges", "3 0\n", "the graph has no edge 3-0"),
        ("-E", "--freeze-edges", "0,3\n", "the graph has no edge 0-3"),
        ("-E", "--freeze-edges", "-1,0\n", "the graph has no edge -1-0"),
    ] {
        let told = told(budget, option, text).unwrap_err();
        assert!(told.contains(problem), "{option} {text:?}: {told}");
    }
    assert_eq!(told("-Q", "--nodes", "0\n1\n1\n").unwrap().unwrap().nodes, Some(vec![1, 2]));
    assert_eq!(told("-Q", "--nodes", "2\n0\n").unwrap().unwrap().nodes, Some(vec![0, 2]));
    let Attack::Removals(removals) = told("-E", "--freeze-edges", "2,0\n").unwrap().unwrap().attack else { panic!() };
    assert_eq!(removals.frozen, [(0, 2)]);
}

/// What is asked about executions, and what may be said of exact arithmetic.
#[test]
fn executions_are_asked_about_in_words() {
    let world = world();
    let execution = |words: &str| match asked(&world, words).attack {
        Attack::Flips(_, execution) => execution,
        _ => None,
    };
    let float32 = Execution::default();
    for (words, expected) in [
        ("-Q 1", None),
        ("-Q 1 --deployed exact", None),
        ("-Q 1 --bound 1 --deployed exact", None),
        ("-E 1 --deployed exact", None),
        ("-Q 1 --deployed float32", Some(float32)),
        ("-Q 1 --deployed float32 --flush-subnormals", Some(Execution { flush_subnormals: true, ..float32 })),
        ("-Q 1 --deployed float32 --unit-roundoff 2^-8", Some(Execution { precision: 8, ..float32 })),
        ("-Q 1 --deployed float32 --operator-error 3", Some(Execution { operator_error: Some(3), ..float32 })),
    ] {
        assert_eq!(execution(words), expected, "{words}");
    }
    assert_eq!(asked(&world, "-Q 1 --nodes 0,1").nodes, Some(vec![0, 1]));
    let help = Words::help();
    assert!(help.lines().count() == gcnproof_check::WORDS.len() && help.contains("-Q, --global N"), "{help}");
}

/// Nodes of a question rise, exist, and there is one.
#[test]
fn questions_fit_the_graph() {
    let world = world();
    let fits = |nodes: &[u32], elsewhere: &[u32]| {
        let question = Question { nodes: Some(nodes.to_vec()), elsewhere: elsewhere.to_vec(), ..asked(&world, "-Q 1") };
        question.require(&world.graph).is_ok()
    };
    assert!(fits(&[0, 2], &[]) && fits(&[], &[5]) && fits(&[1], &[5]));
    for nodes in [&[][..], &[1, 1], &[2, 0], &[3], &[0, 3]] {
        assert!(!fits(nodes, &[]), "{nodes:?}");
    }
    assert!(!fits(&[1, 1], &[5]) && !fits(&[3], &[5]));
}

/// A percentage is rounded down, but not to 0; a file of budgets, frozen nodes and frozen edges are by node.
#[test]
fn budgets_are_those_of_certify() {
    let rows: Vec<&[u8]> = vec![&[0; 300]; 3];
    let mut world = common::world(&rows, 300, vec![], 0, 0);
    let local = |world: &World, words: &str| match asked(world, words).attack {
        Attack::Flips(budget, _) => budget.local,
        other => panic!("{other:?}"),
    };
    for (words, q) in [("", 3), ("-q 1%", 3), ("-q 0.1%", 1), ("-q 0%", 0), ("-q 0", 0), ("-q 7", 7), ("-q 33.4%", 100)]
    {
        assert_eq!(local(&world, &format!("-Q 9 {words}")), Local::Uniform(q), "{words}");
    }
    assert_eq!(local(&world, "-Q 9 -q 5 --freeze-nodes 1"), Local::PerNode(vec![5, 0, 5]));
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_string()
    };
    let budgets = file("q.txt", "1\n2\n3\n");
    assert_eq!(local(&world, &format!("-Q 9 --local-file {budgets} --freeze-nodes 2")), Local::PerNode(vec![1, 2, 0]));
    let removals = |world: &World, words: &str| match asked(world, words).attack {
        Attack::Removals(removals) => removals,
        other => panic!("{other:?}"),
    };
    let unlimited =
        Removals { global: 2, local: Local::Uniform(u64::MAX), keep_one: true, frozen: vec![], changes: None };
    assert_eq!(removals(&world, "-E 2"), unlimited);
    assert_eq!(removals(&world, "--edges remove --expect-E 2 --keep-one-edge=true"), unlimited);
    let last = Removals { keep_one: false, local: Local::Uniform(1), ..unlimited.clone() };
    assert_eq!(removals(&world, "-E 2 -e 1 --expect-last-edges"), last);
    assert_eq!(removals(&world, "-E 2 -e 1 --keep-one-edge=false"), last);
    let edges = file("e.txt", "2\n0\n0\n1\n1\n0\n");
    let frozen = Removals { frozen: vec![(0, 1), (0, 2)], local: Local::PerNode(vec![1, 2, 3]), ..unlimited };
    assert_eq!(removals(&world, &format!("-E 2 --edges-local-file {budgets} --freeze-edges {edges}")), frozen);
    let Attack::Joint(flips, edges) = asked(&world, "-Q 9 -q 5 -E 2 --freeze-nodes 1").attack else { panic!() };
    assert_eq!((flips.global, flips.local), (9, Local::PerNode(vec![5, 0, 5])));
    assert_eq!((edges.global, edges.local), (2, Local::PerNode(vec![u64::MAX, 0, u64::MAX])));
    // Rows of a part have the budgets of the whole graph's nodes.
    world.header.graph = "part".into();
    let part = part();
    let mut said = Words::default();
    for (name, value) in [("-Q", "1"), ("--local-file", &file("six.txt", "5\n4\n3\n2\n1\n0\n")), ("--nodes", "1,4,5")] {
        said.say(Words::find(name).unwrap(), value).unwrap();
    }
    let question = said.question(&world.graph, Some(&part)).unwrap().unwrap();
    let Attack::Flips(budget, _) = &question.attack else { panic!() };
    assert_eq!(budget.local, Local::PerNode(vec![4, 2, 1]));
    // The part has node 4, but does not own it.
    assert_eq!((question.nodes.clone(), question.elsewhere), (Some(vec![0]), vec![4, 5]));
    let mut all = Words::default();
    all.say(Words::find("-Q").unwrap(), "1").unwrap();
    all.say(Words::find("--nodes").unwrap(), "all").unwrap();
    let question = all.question(&world.graph, Some(&part)).unwrap().unwrap();
    assert_eq!((question.nodes, question.elsewhere), (Some(vec![0, 1]), vec![0, 2, 4, 5]));
    let mut removed = Words::default();
    removed.say(Words::find("-E").unwrap(), "1").unwrap();
    assert!(removed.question(&world.graph, Some(&part)).unwrap_err().contains("part 1 of 2"));
}

/// Rows 0, 1, 2 are nodes 1, 3, 4 of six; the part answers for the first two.
fn part() -> PartFile {
    PartFile {
        nodes: vec![1, 3, 4],
        own: vec![0, 1],
        number: 0,
        parts: 2,
        of: 6,
        hops: 1,
        longest: None,
        observed: None,
        whole: "0".repeat(64),
    }
}

#[test]
fn a_part_answers_for_its_own_rows_and_says_so() {
    let world = world();
    let run = |world: &World, file: &[u8], part: PartFile, question: Option<Question>| {
        let options = Options { question, part: Some(part), ..world.options() };
        check(&world.graph, &world.model, &options, file, |_| {})
    };
    let own = world.file(&[proof(0), proof(1)]);
    let question = || Some(asked(&world, "-Q 1"));
    let summary = run(&world, &own, part(), question());
    assert_eq!((summary.exit_code(), summary.proved()), (0, 2), "{summary}");
    assert!(summary.to_string().contains("part 1 of 2 of a graph of 6 nodes: it answers for 2"), "{summary}");
    assert_eq!(run(&world, &own, part(), None).exit_code(), 4);
    let elsewhere = Question { elsewhere: vec![5], ..question().unwrap() };
    let summary = run(&world, &own, part(), Some(elsewhere));
    assert!(summary.exit_code() == 1 && summary.unmet[0].contains("another part"), "{summary}");
    let rim = run(&world, &world.file(&[proof(0), proof(2)]), part(), None);
    assert_eq!((rim.exit_code(), rim.proved(), rim.rejected), (1, 1, 1), "{rim}");
    assert!(rim.to_string().contains("does not own"), "{rim}");
    // The network must not look beyond what is there, nor have numbers of single nodes.
    let short = run(&world, &own, PartFile { hops: 0, ..part() }, question());
    assert!(!short.checked && short.to_string().contains("nodes 1 edges away"), "{short}");
    let mut by_node = world.clone();
    by_node.model.layers[0].bias = vec![9.0, 0.0, 9.0, 0.0, 9.0, 0.0];
    assert!(run(&by_node, &own, part(), question()).to_string().contains("biases by node"));
    let mut powers = world.clone();
    powers.model.layers[0].operators = vec!["poly(gcn;0,0,1)".into()];
    powers.header.message_passing = vec!["poly(gcn;0,0,1.0)".into()];
    let file = powers.file(&[proof(0), proof(1)]);
    assert!(run(&powers, &file, part(), question()).to_string().contains("nodes 2 edges away"));
    assert_eq!(run(&powers, &file, PartFile { hops: 2, ..part() }, question()).exit_code(), 0);
    // Every layer takes a step.
    let layers = vec![layer(&[&[0.5], &[0.25]], &[0.0]), layer(&[&[0.0, 0.0]], &[9.0, 0.0])];
    let deep = common::world(&[&[1, 0], &[0, 1], &[1, 1]], 2, layers, 4, 1);
    let file = deep.file(&[proof(0), proof(1)]);
    assert!(run(&deep, &file, part(), question()).to_string().contains("nodes 2 edges away"));
    assert_eq!(run(&deep, &file, PartFile { hops: 2, ..part() }, question()).exit_code(), 0);
}

/// Some budget; tight and void ones are frequent.
fn random_budget(random: &mut Random, nodes: usize, columns: usize) -> BudgetStatement {
    let number = |random: &mut Random| [0, 1, 1, 2, 2, 3, 4, u64::MAX][random.below(8)];
    let local = match random.below(3) {
        0 => Local::PerNode((0..nodes).map(|_| number(random)).collect()),
        _ => Local::Uniform(number(random)),
    };
    let direction = [Direction::Both, Direction::Both, Direction::Add, Direction::Remove][random.below(4)];
    let frozen_attributes = (0..columns as u32).filter(|_| random.chance(20)).collect();
    BudgetStatement { global: number(random), local, direction, frozen_attributes }
}

/// One thing of a budget changed, or nothing.
fn near(random: &mut Random, budget: &BudgetStatement, nodes: usize, columns: usize) -> BudgetStatement {
    let (mut near, other) = (budget.clone(), random_budget(random, nodes, columns));
    match random.below(6) {
        0 => near.global = other.global,
        1 => near.local = other.local,
        2 => near.direction = other.direction,
        3 => near.frozen_attributes = other.frozen_attributes,
        4 => near = other,
        _ => {}
    }
    near
}

fn sets(world: &World, budget: &BudgetStatement, attacked: Option<u64>) -> HashSet<Vec<(u32, u32)>> {
    let mut world = world.clone();
    world.header.budget = budget.clone();
    let rows = |set: &Vec<(u32, u32)>| set.iter().map(|flip| flip.0).collect::<HashSet<u32>>().len() as u64;
    world.admissible().into_iter().filter(|set| attacked.is_none_or(|most| rows(set) <= most)).collect()
}

/// Robust nodes answer exactly where all sets of flips asked about are among those stated; one attack is bounded
/// exactly then, too.
#[test]
fn flips_are_covered_exactly_where_listing_says_so() {
    let mut counts = [0usize; 4];
    for seed in 0..30_000u64 {
        let mut random = Random::new(4_000_000 + seed);
        let (nodes, columns) = (1 + random.below(3), 1 + random.below(2));
        let rows: Vec<Vec<u8>> = (0..nodes).map(|_| (0..columns).map(|_| random.below(2) as u8).collect()).collect();
        let rows: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
        let weights: Vec<&[f64]> = vec![&[0.0, 0.0]; columns];
        let mut world = common::world(&rows, columns, vec![layer(&weights, &[9.0, 0.0])], 0, 0);
        let asked = random_budget(&mut random, nodes, columns);
        world.header.budget = near(&mut random, &asked, nodes, columns);
        let limit = |random: &mut Random| random.chance(50).then(|| random.below(4) as u64);
        let attacked = if random.chance(50) { (None, None) } else { (limit(&mut random), limit(&mut random)) };
        let covered = sets(&world, &asked, attacked.0).is_subset(&sets(&world, &world.header.budget, attacked.1));
        let summary = if attacked == (None, None) {
            let proofs: Vec<NodeProof> = (0..nodes as u32).map(proof).collect();
            run(&world, &world.file(&proofs), Some(Question::new(Attack::Flips(asked.clone(), None))))
        } else {
            let named = |random: &mut Random| {
                random.chance(20).then(|| (0..nodes as u32).filter(|_| random.chance(70)).collect::<Vec<u32>>())
            };
            let (ours, theirs) = (named(&mut random).filter(|list| !list.is_empty()), named(&mut random));
            let all: Vec<u32> = (0..nodes as u32).collect();
            let counted: HashSet<u32> = theirs.clone().unwrap_or_else(|| all.clone()).into_iter().collect();
            let header = collective::format::Header {
                version: collective::format::VERSION,
                graph: "graph".into(),
                model: "model".into(),
                message_passing: vec!["gcn".into()],
                budget: world.header.budget.clone(),
                attacked_nodes: attacked.1,
                classes: Convention::Predicted,
                nodes: theirs,
            };
            let mut file = Vec::new();
            collective::format::Line::Collective(header).write(&mut file).unwrap();
            let proved = counted.len() as u64;
            let claim =
                collective::format::Claim { lines: 0, bound: proved, price: 0, prices: Vec::new(), components: false };
            collective::format::Line::Claim(claim).write(&mut file).unwrap();
            let bound = proved.saturating_sub(u64::from(random.chance(20)));
            let attack = Attack::Collective { budget: asked.clone(), attacked_nodes: attacked.0, bound };
            let question = Question { nodes: ours.clone(), ..Question::new(attack) };
            let summary = run(&world, &file, Some(question));
            let expected = covered && ours.unwrap_or(all).iter().all(|node| counted.contains(node)) && bound == proved;
            assert_eq!(summary.answered(), Some(expected), "seed {seed}: {asked:?} {attacked:?} {summary}");
            counts[2 + usize::from(expected)] += 1;
            continue;
        };
        assert_eq!(summary.answered(), Some(covered), "seed {seed}: {asked:?} {:?} {summary}", world.header.budget);
        assert_eq!(summary.void, sets(&world, &world.header.budget, None).len() == 1, "seed {seed}: {summary}");
        counts[usize::from(covered)] += 1;
    }
    println!("{counts:?}");
    assert!(counts.iter().all(|&count| count > 1_000), "{counts:?}");
}

/// Whatever the file states and the question asks: what is answered is true under the question's own budget, network
/// and class.
#[test]
fn answers_are_true_of_the_question() {
    let mut counts = [0usize; 4];
    for seed in 0..8_000u64 {
        let mut random = Random::new(5_000_000 + seed);
        let mut stated = if seed % 2 == 0 { World::random(&mut random) } else { World::random_terms(&mut random) };
        let (nodes, columns) = (stated.graph.attributes.rows, stated.graph.attributes.columns);
        if random.chance(40) && stated.graph.labels.is_none() {
            let classes = stated.classes();
            stated.graph.labels = Some((0..nodes).map(|_| Some(random.below(classes) as u32)).collect());
        }
        let node = random.below(nodes) as u32;
        let Some(reference) = stated.reference(node) else { continue };
        let (verdict, breaks) = stated.truth(node, reference);
        let claim = match verdict {
            Verdict::Robust => {
                let others = (0..stated.classes() as u32).filter(|&class| class != reference);
                Claim::Robust(others.map(ClassProof::anchored).collect())
            }
            _ => Claim::NonRobust(breaks[random.below(breaks.len())].0.clone()),
        };
        let witness = match &claim {
            Claim::NonRobust(witness) => Some(witness.clone()),
            Claim::Robust(_) => None,
        };
        let file = stated.file(&[NodeProof { id: node, class: reference, claim }]);
        // The question's own world.
        let mut question = stated.clone();
        question.header.budget = near(&mut random, &stated.header.budget, nodes, columns);
        if random.chance(25) {
            question.header.classes = [Convention::Predicted, Convention::Labels][random.below(2)];
        }
        let given = match random.below(3) {
            0 => Vec::new(),
            1 => stated.header.message_passing.clone(),
            _ => vec![["gcn", "sum+self"][random.below(2)].to_string()],
        };
        for at in (0..stated.depth()).filter(|&at| stated.model.layers[at].operators.is_empty()) {
            let rule = given.get(if given.len() == 1 { 0 } else { at }).cloned().unwrap_or_else(|| "gcn".into());
            question.header.message_passing[at] = rule;
        }
        let asked = Question {
            classes: question.header.classes,
            nodes: Some(vec![node]),
            ..Question::new(Attack::Flips(question.header.budget.clone(), None))
        };
        let options = Options { question: Some(asked), message_passing: given, ..stated.options() };
        let summary = check(&stated.graph, &stated.model, &options, &file[..], |_| {});
        // An attack answers where it is one of those asked about, and only there.
        if let (Some(witness), true) = (&witness, summary.checked) {
            let listed = sets(&stated, &question.header.budget, None).contains(&witness.flips);
            assert_eq!(summary.answers[node as usize].is_some(), listed, "seed {seed}: {summary}");
        }
        let Some(found) = summary.answers[node as usize] else {
            assert_ne!(summary.answered(), Some(true));
            counts[usize::from(summary.checked)] += 1;
            continue;
        };
        let Some(reference) = question.reference(node) else { panic!("seed {seed}: {summary}") };
        let truth = question.truth(node, reference).0;
        assert_eq!(found == Verdict::Robust, truth == Verdict::Robust, "seed {seed}: {truth:?} {summary}");
        assert_eq!(summary.exit_code(), 0);
        counts[if truth == Verdict::Robust { 2 } else { 3 }] += 1;
    }
    println!("{counts:?}");
    assert!(counts.iter().all(|&count| count > 200), "{counts:?}");
}

fn random_removals(random: &mut Random, case: &Case) -> Removals {
    let nodes = case.world.graph.adjacency.rows;
    let number = |random: &mut Random| [0, 1, 1, 2, 3, u64::MAX][random.below(6)];
    let local = match random.below(3) {
        0 => Local::PerNode((0..nodes).map(|_| number(random)).collect()),
        _ => Local::Uniform(number(random)),
    };
    let frozen = case.edges().into_iter().filter(|_| random.chance(10)).collect();
    Removals {
        global: [0, 1, 2, 3, 4, u64::MAX][random.below(6)],
        local,
        keep_one: random.chance(50),
        frozen,
        changes: None,
    }
}

fn near_removals(random: &mut Random, removals: &Removals, case: &Case) -> Removals {
    let (mut near, other) = (removals.clone(), random_removals(random, case));
    match random.below(6) {
        0 => near.global = other.global,
        1 => near.local = other.local,
        2 => near.keep_one = other.keep_one,
        3 => near.frozen = other.frozen,
        4 => near = other,
        _ => {}
    }
    near
}

fn removal_sets(case: &Case, removals: &Removals) -> HashSet<Vec<edges::Edge>> {
    let case = case.stating(edges::format::Header { edges: removals.clone(), ..case.header.clone() });
    let all = case.edges();
    let set = |mask: u32| (0..all.len()).filter(|&at| mask >> at & 1 == 1).map(|at| all[at]).collect::<Vec<_>>();
    (0u32..1 << all.len()).map(set).filter(|set| case.is_admissible(set)).collect()
}

/// The same of removed edges; where a set of `E` removals may not exist for other reasons, nothing is answered.
#[test]
fn removals_are_covered_only_where_listing_says_so() {
    let mut counts = [0usize; 3];
    for seed in 0..12_000u64 {
        let mut random = Random::new(6_000_000 + seed);
        let mut case = Case::random(&mut random);
        case.header.classes = Convention::Predicted;
        for layer in &mut case.world.model.layers {
            layer.weight.values.fill(0.0);
            layer.bias.fill(0.0);
        }
        let classes = case.world.classes();
        case.world.model.layers[1].bias = (0..classes).map(|class| if class == 0 { 5.0 } else { 0.0 }).collect();
        let asked = random_removals(&mut random, &case);
        case = case
            .stating(edges::format::Header { edges: near_removals(&mut random, &asked, &case), ..case.header.clone() });
        let leaf = || edges::format::Step::Prices(Box::default());
        let trees = (1..classes as u32).map(|class| edges::format::ClassProof { class, tree: vec![leaf()] }).collect();
        let claim = edges::format::Claim::Robust(trees);
        let file = case.file(&[edges::format::NodeProof { id: case.node, class: 0, claim }]);
        let question = Question { nodes: Some(vec![case.node]), ..Question::new(Attack::Removals(asked.clone())) };
        let options = Options { question: Some(question), ..Options::default() };
        let summary = check(&case.world.graph, &case.world.model, &options, &file[..], |_| {});
        assert!(summary.accepted() && summary.proved() == 1, "seed {seed}: {summary}");
        let stated = removal_sets(&case, &case.header.edges);
        assert_eq!(summary.void, stated.len() == 1, "seed {seed}: {:?} {summary}", case.header.edges);
        let covered = removal_sets(&case, &asked).is_subset(&stated);
        match (summary.answered(), covered) {
            (Some(true), false) => panic!("seed {seed}: {asked:?} {:?} {summary}", case.header.edges),
            (Some(false), true) => {
                assert!(case.header.edges.global < asked.global, "seed {seed}: {asked:?} {summary}");
                counts[2] += 1;
            }
            (_, covered) => counts[usize::from(covered)] += 1,
        }
    }
    println!("{counts:?}");
    assert!(counts[0] > 1_000 && counts[1] > 1_000 && counts[2] < 100, "{counts:?}");
}

/// Verdicts about removals that answer a question are true under its own budget.
#[test]
fn answers_about_removals_are_true_of_the_question() {
    let mut counts = [0usize; 3];
    for seed in 0..6_000u64 {
        let mut random = Random::new(7_000_000 + seed);
        let stated = Case::random(&mut random);
        let Some(reference) = stated.reference() else { continue };
        let breaks = Case::breaks(&stated.outcomes(reference));
        let claim = match breaks.len() {
            0 => {
                let Some(proof) = stated.grow(&mut random, reference) else { panic!("seed {seed}") };
                proof.claim
            }
            count => edges::format::Claim::NonRobust(breaks[random.below(count)].0.clone()),
        };
        let file = stated.file(&[edges::format::NodeProof { id: stated.node, class: reference, claim }]);
        let asked = near_removals(&mut random, &stated.header.edges, &stated);
        let question = Question {
            classes: stated.header.classes,
            nodes: Some(vec![stated.node]),
            ..Question::new(Attack::Removals(asked.clone()))
        };
        let options = Options { question: Some(question), ..Options::default() };
        let summary = check(&stated.world.graph, &stated.world.model, &options, &file[..], |_| {});
        let Some(found) = summary.answers[stated.node as usize] else {
            counts[0] += 1;
            continue;
        };
        let case = stated.stating(edges::format::Header { edges: asked, ..stated.header.clone() });
        let robust = Case::breaks(&case.outcomes(reference)).is_empty();
        assert_eq!(found == Verdict::Robust, robust, "seed {seed}: {summary}");
        counts[1 + usize::from(robust)] += 1;
    }
    println!("{counts:?}");
    assert!(counts.iter().all(|&count| count > 300), "{counts:?}");
}

/// Larger errors and fewer bits cover smaller errors and more bits; a statement about executions is one about exact
/// arithmetic, too.
#[test]
fn executions_are_covered_by_wider_ones() {
    let world = |rule: &str, deployed: Option<(u32, u32, bool)>| {
        let mut world = world();
        world.header.message_passing = vec![rule.into()];
        world.header.deployed = deployed.map(|(precision, error, flush_subnormals)| Deployed {
            precision,
            operator_error: vec![vec![error]],
            flush_subnormals,
        });
        world
    };
    let answered = |world: &World, execution: Option<Execution>| {
        let Attack::Flips(budget, _) = asked(world, "-Q 1").attack else { panic!() };
        let question = Some(Question { nodes: Some(vec![0]), ..Question::new(Attack::Flips(budget, execution)) });
        let message_passing = world.header.message_passing.clone();
        let options = Options { question, message_passing, ..world.options() };
        let file = world.file(&[proof(0)]);
        check(&world.graph, &world.model, &options, &file[..], |_| {}).answered() == Some(true)
    };
    let float32 = Execution::default();
    for rule in ["gcn", "gcn-self", "mean", "mean+self"] {
        for (stated, covers) in [
            ((24, 7, false), false),
            ((24, 8, false), true),
            ((24, 9, true), true),
            ((25, 99, false), false),
            // One unit of eight bits is more than 8 units of float32.
            ((8, 0, false), false),
            ((8, 1, false), true),
            ((23, 3, false), false),
            ((23, 4, false), true),
        ] {
            assert_eq!(answered(&world(rule, Some(stated)), Some(float32)), covers, "{rule} {stated:?}");
            assert!(answered(&world(rule, Some(stated)), None));
        }
        assert!(!answered(&world(rule, None), Some(float32)) && answered(&world(rule, None), None));
        let flushing = Execution { flush_subnormals: true, ..float32 };
        assert!(!answered(&world(rule, Some((24, 8, false))), Some(flushing)));
        assert!(answered(&world(rule, Some((24, 8, true))), Some(flushing)));
        let exact = Execution { operator_error: Some(2), ..float32 };
        assert!(answered(&world(rule, Some((24, 2, false))), Some(exact)));
        assert!(!answered(&world(rule, Some((24, 1, false))), Some(exact)));
        let bfloat16 = Execution { precision: 8, ..float32 };
        assert!(!answered(&world(rule, Some((24, 8, false))), Some(bfloat16)));
    }
    for rule in ["sum", "sum+self", "identity"] {
        assert!(answered(&world(rule, Some((24, 0, false))), Some(float32)));
        assert!(!answered(&world(rule, Some((25, 0, false))), Some(float32)));
    }
    // Powers are computed hop by hop: the longest row has three entries with `gcn`, two with `sum`.
    for (rule, least) in [("poly(gcn;0,0,1)", 2 * (8 + 3 + 4) + 4), ("poly(sum;0,0,1)", 2 * (2 + 4) + 4)] {
        assert!(!answered(&world(rule, Some((24, least - 1, false))), Some(float32)), "{rule}");
        assert!(answered(&world(rule, Some((24, least, false))), Some(float32)), "{rule}");
    }
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
    let run = |file: &str| run(&world, file.as_bytes(), None);
    let counts = |summary: &Summary| (summary.proved(), summary.unproved, summary.refused, summary.unmentioned());
    let summary = run(&lines("", 1));
    assert_eq!((counts(&summary), summary.exit_code()), ((1, 0, 0, 2), 4));
    let summary = run(&lines(&unproved(1), 2));
    assert_eq!((counts(&summary), summary.exit_code()), ((1, 1, 0, 1), 4));
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
        let shown = run(&world, &world.file(&[proof(0)]), None).to_string();
        assert!(shown.contains(text), "{shown} instead of {text}");
        let vacuous = text.contains("no flip at all");
        assert_eq!(shown.contains("no flip at all"), vacuous, "{shown}");
    }
}
