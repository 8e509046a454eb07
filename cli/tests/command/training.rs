//! `gcnproof train` and `reproduce` from the outside.

use std::path::Path;
use std::process::Command;

use gcnproof::Graph;
use gcnproof_files::{read_graph, read_model, write};
use serde_json::Value;

use crate::common::ring;
use crate::{gcnproof, text};

const GRAPH: &str = "../fixtures/cora.npz";

fn cora() -> Graph {
    Graph::from_file(read_graph(Path::new(GRAPH), &Default::default()).unwrap())
}

/// A model that was trained with another message passing is not certified as if it were a GCN.
#[test]
fn a_model_is_read_with_the_message_passing_of_its_training() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("mean.safetensors").to_str().unwrap().to_string();
    let train = ["train", GRAPH, "--loss", "ce", "--hidden", "4", "--epochs", "2", "--message-passing", "mean"];
    let done = gcnproof(&[&train[..], &["--out", &out]].concat());
    assert!(done.status.success(), "{}", text(&done.stderr));
    let certify = ["certify", GRAPH, &out, "-Q", "1", "--nodes", "0-3"];
    let done = gcnproof(&certify);
    assert_eq!(done.status.code(), Some(2));
    assert!(text(&done.stderr).contains("add --message-passing mean"), "{}", text(&done.stderr));
    let done = gcnproof(&[&certify[..], &["--message-passing", "mean"]].concat());
    assert!(done.status.success(), "{}", text(&done.stderr));
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
    assert!(text(&nothing.stderr).contains("the training is finished"), "{}", text(&nothing.stderr));
    let before = std::fs::read(&out).unwrap();
    assert!(gcnproof(&[&base[..], &["--force", "--threads", "1"]].concat()).status.success());
    assert!(before == std::fs::read(&out).unwrap(), "the same model from one thread");
}

/// What plain GCNs have become after a few iterations, as it was before other layers could be trained.
#[test]
fn plain_gcns_are_trained_to_the_same_bits_as_ever() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("model.safetensors");
    for (loss, digest) in [
        ("rce", "4eacbd56493770d72d22ea4038ffd447bcc4123bb8c8d7c09752cb95c1563569"),
        ("rh-u", "1a3a66d4773ead4bf0eb2ac029bd113f9755401f366ab76da01fee65b3c209d9"),
    ] {
        for layers in [&["--layers", "3"][..], &["--depth", "3"], &["--layers", "gcn", "--depth", "3"]] {
            let base = ["train", GRAPH, "--loss", loss, "-Q", "6", "-q", "1%", "--hidden", "8", "--warm-up", "2"];
            let rest = ["--epochs", "4", "--dropout", "0.2", "--seed", "5", "--force", "--out", out.to_str().unwrap()];
            let done = gcnproof(&[&base[..], &rest, layers].concat());
            assert!(done.status.success(), "{}", text(&done.stderr));
            let model = read_model(&out).unwrap();
            assert_eq!(model.digest, digest, "{loss} {layers:?}");
            assert!(!model.metadata.contains_key("layers") && model.metadata["message_passing"] == "gcn");
        }
    }
}

#[test]
fn other_layers_are_trained_certified_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    for (kind, first) in [
        ("gcn", "convs.0.lin.weight"),
        ("sage", "convs.0.lin_l.weight, convs.0.lin_r.weight"),
        ("sage-sum", "convs.0.lin_l.weight, convs.0.lin_r.weight"),
        ("gin", "convs.0.nn.lins.0.weight"),
    ] {
        let (out, proofs) = (file(&format!("{kind}.safetensors")), file(&format!("{kind}.jsonl")));
        let base = ["train", GRAPH, "--loss", "rh", "--layers", kind, "--depth", "3", "--skip", "-Q", "2", "-q", "1"];
        let rest = ["--hidden", "4", "--warm-up", "8", "--epochs", "2", "--out", &out];
        let done = gcnproof(&[&base[..], &rest].concat());
        assert!(done.status.success(), "{}", text(&done.stderr));
        let model = read_model(Path::new(&out)).unwrap();
        assert_eq!((model.metadata["layers"].as_str(), model.layers[0].weight_name.as_str()), (kind, first));
        assert!(
            model.metadata["settings"].contains("\"skip\":true") && !model.metadata.contains_key("message_passing")
        );
        let budget = ["-Q", "1", "-q", "1", "--nodes", "0-2"];
        let certify = [&["certify", GRAPH, &out, "--proofs", &proofs][..], &budget].concat();
        let done = gcnproof(&certify);
        assert!(done.status.success(), "{}", text(&done.stderr));
        let done = gcnproof(&[&["check", GRAPH, &out, &proofs][..], &budget].concat());
        assert!(matches!(done.status.code(), Some(0 | 1)), "{}", text(&done.stderr));
    }
}

#[test]
fn a_killed_run_is_resumed_to_the_same_model_and_log() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let arguments = |name: &str| {
        let base = "train ../fixtures/cora.npz --loss rce -Q 3 --hidden 8 --warm-up 2 --epochs 40 --batch 5";
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
        // Run again as it was, it would lose what was trained so far: it refuses, and the checkpoint stays.
        let kept = std::fs::read(&checkpoint).unwrap();
        let refused = run(&killed);
        let told = text(&refused.stderr);
        assert!(refused.status.code() == Some(2) && told.contains("--resume") && told.contains("--force"), "{told}");
        assert!(kept == std::fs::read(&checkpoint).unwrap());
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
        (&["--layers", "gat"], "none of gcn, sage, sage-sum, gin"),
        (&["--layers", "65"], "--layers"),
        (&["--layers", "3", "--depth", "3"], "give --layers gcn --depth 3"),
        (&["--depth", "0"], "--depth"),
        (&["--depth", "65", "--layers", "gin"], "--depth"),
        (&["--skip"], "give --depth 3 or more"),
        (&["--layers", "sage", "--message-passing", "mean"], "--layers sage says itself"),
        (&["--depth", "3", "--skip", "--message-passing", "gcn,mean"], "message-passing"),
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
