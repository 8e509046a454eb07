//! Training as a whole: determinism, resumption, files, awkward splits and graphs.
#![allow(missing_docs)]

mod common;

use common::certifier_of;

use std::path::Path;
use std::process::{Command, Output};

use gcnproof::internals::bound::relaxed::Relaxation;
use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::internals::problem::forward::forward;
use gcnproof::train::error::TrainError;
use gcnproof::train::evaluation::{evaluate, mean_largest_global};
use gcnproof::train::losses::Loss;
use gcnproof::train::settings::{Settings, TrainingBound};
use gcnproof::train::split::{Share, Split};
use gcnproof::train::trainer::Trainer;
use gcnproof::{Bound, Budget, Graph, Network, Operator};
use gcnproof_files::{read_graph, read_model, write};
use serde_json::Value;

const GRAPH: &str = "fixtures/cora.npz";

fn cora() -> Graph {
    Graph::from_file(read_graph(Path::new(GRAPH), &Default::default()).unwrap())
}

fn gcnproof(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gcnproof")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn short(loss: Loss) -> Settings {
    Settings { epochs: 4, warm_up: 2, batch: 8, hidden: 8, dropout: 0.2, ..Settings::new(loss, 3) }
}

fn bits(trainer: &Trainer) -> Vec<u64> {
    let layers = trainer.layers();
    let numbers = layers.iter().flat_map(|layer| layer.weight.values.iter().chain(&layer.bias));
    numbers.map(|x| x.to_bits()).collect()
}

/// A ring with a chord, an isolated node at the end, and labels as given.
fn ring(labels: &[i64]) -> Graph {
    let n = labels.len() as u32 - 1;
    let mut adjacency: Vec<Vec<u32>> = (0..n).map(|i| vec![(i + n - 1) % n, (i + 1) % n]).collect();
    adjacency.iter_mut().for_each(|row| row.sort_unstable());
    adjacency.push(Vec::new());
    let attributes = (0..=n).map(|i| vec![i % 5, 5 + i % 3]).collect();
    let mut file = common::graph(adjacency, attributes, 8).file().clone();
    file.labels = Some(labels.iter().map(|&label| u32::try_from(label).ok()).collect());
    Graph::from_file(file)
}

#[test]
fn the_model_depends_on_the_seed_alone_not_on_the_threads() {
    let graph = cora();
    let budget = Budget::uniform(&graph, 12, 14);
    let split = Split::draw(&graph, Share::Percent(10.0), 3).unwrap();
    let train = |threads: usize, seed: u64| {
        let pool = rayon_pool(threads);
        pool.install(|| {
            let settings = Settings { seed, ..short(Loss::RhU) };
            let mut trainer = Trainer::new(&graph, &budget, &split, settings, &[Operator::Gcn]).unwrap();
            while trainer.step(false).unwrap().is_some() {}
            bits(&trainer)
        })
    };
    let one = train(1, 3);
    assert!(one == train(1, 3), "the same run twice");
    assert!(one == train(3, 3), "other threads");
    assert!(one != train(1, 4), "another seed");
}

fn rayon_pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

#[test]
fn a_resumed_run_ends_with_the_same_bits() {
    let graph = cora();
    let budget = Budget::uniform(&graph, 5, 3);
    let split = Split::draw(&graph, Share::Nodes(4), 3).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    let run = serde_json::json!({ "graph": "cora", "seed": 3 });
    let start = || Trainer::new(&graph, &budget, &split, short(Loss::RhU), &[Operator::Gcn]).unwrap();
    let mut whole = start();
    while whole.step(false).unwrap().is_some() {}
    for stop in [0, 1, 3, 7] {
        let mut first = start();
        (0..stop).for_each(|_| assert!(first.step(false).unwrap().is_some()));
        first.save(&path, &run).unwrap();
        let mut second = start();
        second.load(&path, &run).unwrap();
        while second.step(false).unwrap().is_some() {}
        assert!(bits(&second) == bits(&whole), "stopped after {stop}");
    }
    let other = serde_json::json!({ "graph": "cora", "seed": 4 });
    let refused = start().load(&path, &other).unwrap_err().to_string();
    assert!(refused.contains("`seed` differs"), "{refused}");
    let bytes = std::fs::read(&path).unwrap();
    for damaged in [&bytes[..bytes.len() - 1], &bytes[..40], b"", b"{}\n"] {
        std::fs::write(&path, damaged).unwrap();
        assert!(matches!(start().load(&path, &run), Err(TrainError::Checkpoint { .. })));
    }
}

#[test]
fn classes_without_or_with_one_labelled_node_and_isolated_targets_are_trained() {
    // Class 2 has no labelled node, class 1 a single one; node 7 is isolated; node 3 has no label at all.
    let graph = ring(&[0, 0, 1, -1, 2, 2, 1, 0]);
    let split = Split::new(&graph, vec![0, 2, 7]).unwrap();
    assert_eq!(split.classes, 3);
    assert!(split.notes[0].contains("class 2"), "{:?}", split.notes);
    assert!(split.notes[1].contains("class 1"), "{:?}", split.notes);
    for passing in [Operator::Gcn, Operator::Mean, Operator::Identity] {
        for (global, local) in [(0, 3), (3, 0), (2, 1), (100, 100)] {
            for bound in [TrainingBound::Paper, TrainingBound::Anchored] {
                let budget = Budget::uniform(&graph, global, local);
                for layers in [1, 2, 3] {
                    for loss in Loss::ALL {
                        let settings = Settings { bound, layers, batch: 50, ..short(loss) };
                        let mut trainer =
                            Trainer::new(&graph, &budget, &split, settings, std::slice::from_ref(&passing)).unwrap();
                        while let Some((_, _, report)) = trainer.step(true).unwrap() {
                            assert!(report.loss.is_finite() && report.certified.is_some());
                        }
                        let evaluation = evaluate(&graph, &trainer.model(), &budget, &split);
                        assert!(evaluation.certified_by_best >= evaluation.certified_by_paper);
                    }
                }
            }
        }
    }
}

#[test]
fn the_largest_budget_is_the_one_found_step_by_step() {
    // At most five nodes of the ring and two flips of each: no budget beyond 10 counts, and up to 12 every budget is looked at.
    let graph = ring(&[0, 0, 1, 1, 2, 2, 1, 0, 2, 0]);
    let split = Split::draw(&graph, Share::Percent(100.0), 1).unwrap();
    let budget = Budget::uniform(&graph, 3, 2);
    let mut seen = Vec::new();
    for (loss, seed) in [(Loss::Ce, 1), (Loss::Ce, 2), (Loss::Rce, 3), (Loss::Rh, 4)] {
        let settings = Settings { epochs: 60, hidden: 4, learning_rate: 0.05, seed, ..Settings::new(loss, seed) };
        let mut trainer = Trainer::new(&graph, &budget, &split, settings, &[Operator::Gcn]).unwrap();
        while trainer.step(false).unwrap().is_some() {}
        let gcn = trainer.model();
        let mut total = [0; 2];
        for node in 0..graph.node_count() {
            let flips = if node + 1 == graph.node_count() { 2 } else { 10 };
            let mut standing = [true; 2];
            for global in 1..=flips {
                let certifier = certifier_of(&graph, &gcn, budget.with_global(global), Bound::Best);
                let class = certifier.predicted(node);
                for other in (0..3).filter(|&k| k != class) {
                    let by = |relaxation| {
                        certifier
                            .prepared()
                            .bound_alone(node, (class, other), relaxation, &mut Workspace::default())
                            .lower()
                            > 0.0
                    };
                    let paper = by(Relaxation::Paper);
                    standing = [standing[0] && paper, standing[1] && (paper || by(Relaxation::Anchored))];
                }
                total.iter_mut().zip(standing).for_each(|(total, standing)| *total += usize::from(standing));
            }
        }
        let found = mean_largest_global(&graph, &gcn, &budget);
        let wanted = total.map(|total| total as f64 / graph.node_count() as f64);
        assert!(
            (found.paper - wanted[0]).abs() < 1e-12 && (found.best - wanted[1]).abs() < 1e-12,
            "{found:?} {wanted:?}"
        );
        seen.push(wanted[0]);
    }
    assert!(seen.iter().any(|&mean| mean > 0.5 && mean < 8.0), "{seen:?}");
}

#[test]
fn hidden_biases_start_as_far_apart_as_asked() {
    let graph = cora();
    let budget = Budget::uniform(&graph, 5, 3);
    let split = Split::draw(&graph, Share::Nodes(4), 3).unwrap();
    for spread in [0.0, 1.0, 2.5] {
        let settings = Settings { hidden: 400, layers: 3, bias_spread: spread, ..Settings::new(Loss::Rce, 3) };
        let trainer = Trainer::new(&graph, &budget, &split, settings, &[Operator::Gcn]).unwrap();
        let layers = trainer.layers();
        for layer in &layers[..2] {
            let square = layer.bias.iter().map(|b| b * b).sum::<f64>() / 400.0;
            assert!((square.sqrt() - spread).abs() <= 0.1 * spread, "{spread} {square}");
        }
        assert!(spread == 0.0 || layers[0].bias != layers[1].bias);
        assert!(layers[2].bias.iter().all(|&b| b == 0.0));
    }
}

#[test]
fn splits_take_a_share_of_every_class() {
    let graph = cora();
    let split = Split::draw(&graph, Share::Percent(10.0), 1).unwrap();
    let count = |nodes: &[u32], class: u32| nodes.iter().filter(|&&n| graph.label(n as usize) == Some(class)).count();
    for class in 0..split.classes as u32 {
        let (labelled, others) = (count(&split.labelled, class), count(&split.unlabelled, class));
        assert_eq!(labelled, ((labelled + others) as f64 / 10.0).round() as usize);
    }
    assert_eq!(split.labelled.len() + split.unlabelled.len(), graph.node_count());
    assert_ne!(split, Split::draw(&graph, Share::Percent(10.0), 2).unwrap());
    // Everything labelled leaves no unlabelled node, and RH-U is RH.
    let all = Split::draw(&ring(&[0, 1, 0, 1, 0, 1]), Share::Percent(100.0), 1).unwrap();
    assert!(all.unlabelled.is_empty());
    let wrong = |labels: &[i64]| Split::draw(&ring(labels), Share::Percent(10.0), 1).unwrap_err().to_string();
    assert!(wrong(&[-1; 6]).contains("no labels"));
    assert!(wrong(&[0; 6]).contains("at least two"));
    assert!(wrong(&[0, 0, 0, 4_000_000_000, 0, 0]).contains("4000000000"));
    assert!(matches!(Split::new(&graph, vec![]), Err(TrainError::NoneLabelled { .. })));
    assert!(matches!(Split::new(&ring(&[0, 1, -1, 0]), vec![2]), Err(TrainError::WithoutLabel { node: 2 })));
    for text in ["0%", "101%", "0", "-3", "x", "", "nan%"] {
        assert!(text.parse::<Share>().is_err(), "{text}");
    }
}

#[test]
fn an_empty_batch_has_no_certificates() {
    use gcnproof::train::objective::Objective;
    let graph = ring(&[0, 1, 0, 1, 0, 1]);
    let budget = Budget::uniform(&graph, 2, 1);
    let split = Split::new(&graph, vec![0, 1]).unwrap();
    let trainer = Trainer::new(&graph, &budget, &split, short(Loss::Rh), &[Operator::Gcn]).unwrap();
    let gcn = trainer.model();
    let objective = Objective::new(&graph, &gcn, &budget, &split.labelled, short(Loss::Rh).terms());
    let (report, gradient) = objective.evaluate(&gcn, Loss::Rh, &[], None, true);
    assert!(report.loss.is_finite() && report.certified.is_none() && report.margin_labelled.is_none());
    assert_eq!(gradient, objective.evaluate(&gcn, Loss::Ce, &[], None, false).1);
}

#[test]
fn robust_training_makes_more_nodes_certifiable() {
    let graph = cora();
    let budget = Budget::uniform(&graph, 12, 14);
    let split = Split::draw(&graph, Share::Percent(10.0), 1).unwrap();
    let train = |settings: Settings| {
        let mut trainer = Trainer::new(&graph, &budget, &split, settings, &[Operator::Gcn]).unwrap();
        while trainer.step(false).unwrap().is_some() {}
        evaluate(&graph, &trainer.model(), &budget, &split)
    };
    let standard = train(Settings { epochs: 60, ..Settings::new(Loss::Ce, 1) });
    let robust = train(Settings { warm_up: 60, epochs: 60, learning_rate: 0.01, ..Settings::new(Loss::Rce, 1) });
    println!("{standard:?}\n{robust:?}");
    assert!(robust.certified_by_paper > standard.certified_by_paper + 0.1);
    assert!(robust.accuracy_unlabelled.unwrap() > 0.7 && standard.accuracy_unlabelled.unwrap() > 0.75);
}

#[test]
fn the_command_writes_a_model_a_log_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (out, log) = (file("model.safetensors"), file("train.jsonl"));
    let base = ["train", GRAPH, "--loss", "rh-u", "-Q", "6", "-q", "1%", "--hidden", "8", "--epochs", "5"];
    let base = [
        &base[..],
        &["--warm-up", "3", "--learning-rate", "0.02", "--seed", "5", "--out", &out, "--log", &log, "--format", "json"],
    ]
    .concat();
    let done = gcnproof(&base);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let value: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert!(value["evaluation"]["accuracy_labelled"].as_f64().unwrap() > 0.1);
    let mut names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["model.safetensors", "train.jsonl"]);
    // The log: a header, then every field of every iteration.
    let lines: Vec<Value> =
        std::fs::read_to_string(&log).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["gcnproof_training_log"], 1);
    assert_eq!((lines[0]["loss"].as_str(), lines[0]["bound"].as_str()), (Some("rh-u"), Some("paper")));
    assert_eq!(
        (lines[0]["local"].as_u64(), lines[0]["global"].as_u64(), lines[0]["seed"].as_u64()),
        (Some(14), Some(6), Some(5))
    );
    assert_eq!(lines.len(), 1 + value["iterations"].as_u64().unwrap() as usize);
    let fields = "iteration seconds stage loss loss_labelled loss_unlabelled margin_labelled margin_unlabelled certified \
                  accuracy_labelled accuracy_unlabelled";
    for (at, line) in lines[1..].iter().enumerate() {
        let keys: Vec<&str> = line.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys.join(" "), fields);
        assert_eq!(line["iteration"], at);
        assert!(line["certified"].is_f64());
    }
    // The model: single precision, the names of PyTorch Geometric, and what it was made of.
    let model = read_model(Path::new(&out)).unwrap();
    let names: Vec<&str> = model.layers.iter().map(|layer| layer.weight_name.as_str()).collect();
    assert_eq!(names, ["convs.0.lin.weight", "convs.1.lin.weight"]);
    for key in ["graph", "loss", "bound", "budget", "seed", "split", "labelled"] {
        assert!(model.metadata.contains_key(key), "{key}: {:?}", model.metadata);
    }
    assert_eq!(model.metadata["graph"], cora().digest());
    let shown = gcnproof(&["inspect", GRAPH, &out]);
    assert!(shown.status.success(), "{}", text(&shown.stderr));
    let certified = gcnproof(&["certify", GRAPH, &out, "-Q", "6", "--nodes", "0-9"]);
    assert!(certified.status.success(), "{}", text(&certified.stderr));
    // Nothing is overwritten by accident, and there is nothing to resume.
    assert_eq!(gcnproof(&base).status.code(), Some(2));
    let nothing = gcnproof(&[&base[..], &["--resume"]].concat());
    assert_eq!(nothing.status.code(), Some(2));
    assert!(text(&nothing.stderr).contains("without --resume"), "{}", text(&nothing.stderr));
    let before = std::fs::read(&out).unwrap();
    assert!(gcnproof(&[&base[..], &["--force", "--threads", "1"]].concat()).status.success());
    assert!(before == std::fs::read(&out).unwrap(), "the same model from one thread");
}

#[test]
fn a_killed_run_is_resumed_to_the_same_model_and_log() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let arguments = |name: &str| {
        let base = "train fixtures/cora.npz --loss rce -Q 3 --hidden 8 --warm-up 2 --epochs 40 --batch 5";
        let mut list: Vec<String> = base.split(' ').map(String::from).collect();
        for (option, value) in [
            ("--out", file(&format!("{name}.safetensors"))),
            ("--log", file(&format!("{name}.jsonl"))),
            ("--checkpoint-every", "1".into()),
        ] {
            list.extend([option.to_string(), value]);
        }
        list
    };
    let run = |list: &[String]| gcnproof(&list.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(run(&arguments("whole")).status.success());
    let killed = arguments("killed");
    let mut child = Command::new(env!("CARGO_BIN_EXE_gcnproof")).args(&killed).spawn().unwrap();
    let checkpoint = folder.path().join("killed.safetensors.checkpoint");
    while !checkpoint.exists() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let _ = child.kill();
    child.wait().unwrap();
    if checkpoint.exists() {
        let resumed = run(&[&killed[..], &["--resume".to_string()]].concat());
        assert!(resumed.status.success(), "{}", text(&resumed.stderr));
        assert!(text(&resumed.stderr).contains("resuming"));
    }
    let same = |suffix: &str| {
        let read = |name: &str| std::fs::read(folder.path().join(format!("{name}.{suffix}"))).unwrap();
        (read("whole"), read("killed"))
    };
    let (whole, killed) = same("safetensors");
    assert!(whole == killed);
    let lines = |bytes: Vec<u8>| -> Vec<Value> {
        let lines = text(&bytes).lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>();
        lines
            .into_iter()
            .map(|mut line| {
                line["seconds"] = Value::Null;
                line
            })
            .collect()
    };
    let (whole, killed) = same("jsonl");
    assert_eq!(lines(whole), lines(killed));
}

#[test]
fn wrong_arguments_are_refused_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("m.safetensors").to_str().unwrap().to_string();
    let unlabelled = folder.path().join("unlabelled.npz");
    let mut file = ring(&[0, 1, 0, 1]).file().clone();
    file.labels = None;
    write::write_graph_npz(&unlabelled, &file).unwrap();
    let base = ["train", GRAPH, "--loss", "ce", "--epochs", "1", "--out", &out];
    for (extra, expected) in [
        (&["--batch", "0"][..], "--batch"),
        (&["--layers", "0"], "--layers"),
        (&["--hidden", "0"], "--hidden"),
        (&["--learning-rate", "nan"], "--learning-rate"),
        (&["--dropout", "1"], "--dropout"),
        (&["--weight-decay=-1"], "--weight-decay"),
        (&["--bias-spread=-1"], "--bias-spread"),
        (&["--split", "0%"], "--split"),
        (&["--labelled", "99999"], "99999"),
        (&["--labelled", "no-such-file"], "--labelled"),
        (&["--message-passing", "gcn,gcn,gcn"], "message-passing"),
    ] {
        let refused = gcnproof(&[&base[..], extra].concat());
        assert_eq!(refused.status.code(), Some(2), "{extra:?}: {}", text(&refused.stderr));
        assert!(text(&refused.stderr).contains(expected), "{extra:?}: {}", text(&refused.stderr));
    }
    let refused = gcnproof(&["train", unlabelled.to_str().unwrap(), "--loss", "ce", "--out", &out]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("no labels"), "{}", text(&refused.stderr));
    assert!(!Path::new(&out).exists());
    let refused = gcnproof(&["reproduce", "table1", "--data", folder.path().to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("citeseer"), "{}", text(&refused.stderr));
}

#[test]
fn a_written_model_is_the_one_that_was_evaluated() {
    let graph = cora();
    let budget = Budget::uniform(&graph, 12, 14);
    let split = Split::draw(&graph, Share::Percent(10.0), 1).unwrap();
    let mut trainer = Trainer::new(&graph, &budget, &split, short(Loss::Rce), &[Operator::Gcn]).unwrap();
    while trainer.step(false).unwrap().is_some() {}
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    trainer.write(&path, &Default::default()).unwrap();
    let read = Network::from_file(read_model(&path).unwrap(), &[Operator::Gcn], &graph).unwrap();
    let (ours, theirs) = (forward(&graph, &trainer.model()), forward(&graph, &read));
    assert!(ours.last().unwrap().value == theirs.last().unwrap().value);
    let certifier = certifier_of(&graph, &read, budget, Bound::Best);
    let bound = certifier.prepared().bound_alone(5, (0, 1), Relaxation::Paper, &mut Workspace::default());
    assert!(bound.value.is_finite());
}

#[test]
fn the_embedded_models_say_what_they_are() {
    for (name, loss) in [("cora_standard", "ce"), ("cora_robust", "rh-u")] {
        let model = read_model(Path::new(&format!("fixtures/{name}.safetensors"))).unwrap();
        assert_eq!(model.metadata["loss"], loss);
        assert_eq!(model.metadata["graph"], cora().digest());
    }
    let (graph, standard) = gcnproof::embedded::cora();
    let robust = gcnproof::embedded::robust(&graph);
    let budget = Budget::uniform(&graph, 12, 14);
    let split = Split::draw(&graph, Share::Percent(10.0), 1).unwrap();
    let [standard, robust] = [standard, robust].map(|gcn| evaluate(&graph, &gcn, &budget, &split));
    assert!(robust.certified_by_paper > standard.certified_by_paper + 0.4, "{standard:?} {robust:?}");
    assert!(robust.accuracy_unlabelled.unwrap() > 0.8 && standard.accuracy_unlabelled.unwrap() > 0.8);
}
