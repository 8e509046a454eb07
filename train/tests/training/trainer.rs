//! Training as a whole: determinism, resumption, files, awkward splits and graphs.

use std::path::Path;

use gcnproof::internals::bound::relaxed::Relaxation;
use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::internals::problem::forward::forward;
use gcnproof::{Bound, Budget, Graph, Network, Operator};
use gcnproof_files::{read_graph, read_model};
use gcnproof_train::error::TrainError;
use gcnproof_train::evaluation::{evaluate, mean_largest_global};
use gcnproof_train::kind::LayerKind;
use gcnproof_train::losses::Loss;
use gcnproof_train::settings::{Settings, TrainingBound};
use gcnproof_train::split::{Share, Split};
use gcnproof_train::trainer::Trainer;

use crate::common::{certifier_of, ring};

const GRAPH: &str = "../fixtures/cora.npz";

fn cora() -> Graph {
    Graph::from_file(read_graph(Path::new(GRAPH), &Default::default()).unwrap())
}

fn short(loss: Loss) -> Settings {
    Settings { epochs: 4, warm_up: 2, batch: 8, hidden: 8, dropout: 0.2, ..Settings::new(loss, 3) }
}

fn bits(trainer: &Trainer) -> Vec<u64> {
    let layers = trainer.layers();
    let numbers = layers.iter().flat_map(|layer| layer.weight.values.iter().chain(&layer.bias));
    numbers.map(|x| x.to_bits()).collect()
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
    let run = serde_json::json!({ "graph": "cora", "labelled": [1], "settings": { "seed": 3 } });
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
    // The seed was changed, and with it which nodes are labelled.
    let other = serde_json::json!({ "graph": "cora", "labelled": [2], "settings": { "seed": 4 } });
    let refused = start().load(&path, &other).unwrap_err().to_string();
    assert!(refused.contains("--seed 3 there, 4 now"), "{refused}");
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
    // At most five nodes of the ring and two flips of each: no budget beyond 10 counts, and up to 12 every budget is
    // looked at.
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
                            .pair_bound(node, class, other, relaxation, &mut Workspace::default())
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
    use gcnproof_train::objective::Objective;
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
    let bound = certifier.prepared().pair_bound(5, 0, 1, Relaxation::Paper, &mut Workspace::default());
    assert!(bound.value.is_finite());
}

/// A network of some layers on the ring, and the rules that are given for it.
fn of_kind(kind: LayerKind, depth: usize, skip: bool) -> (Settings, Vec<Operator>) {
    let settings = Settings { hidden: 5, ..short(Loss::RhU).with_layers(kind, depth, skip) };
    (Settings { warm_up: 2, ..settings }, if kind.is_gcn() { vec![Operator::Gcn] } else { Vec::new() })
}

#[test]
fn every_kind_of_layers_is_written_as_it_was_evaluated_and_resumed_to_the_same_bits() {
    let graph = ring(&[0, 0, 1, 1, 2, 2, 1, 0]);
    let budget = Budget::uniform(&graph, 2, 1);
    let split = Split::new(&graph, vec![0, 2, 4, 7]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (model, state) = (folder.path().join("model.safetensors"), folder.path().join("state"));
    for kind in LayerKind::ALL {
        for (depth, skip) in [(1, false), (2, false), (3, true), (4, true)] {
            let (settings, passing) = of_kind(kind, depth, skip);
            let run = serde_json::json!({ "settings": settings });
            let start = || Trainer::new(&graph, &budget, &split, settings.clone(), &passing).unwrap();
            let mut trainer = start();
            (0..3).for_each(|_| assert!(trainer.step(true).unwrap().is_some()));
            trainer.save(&state, &run).unwrap();
            while trainer.step(true).unwrap().is_some() {}
            let mut resumed = start();
            resumed.load(&state, &run).unwrap();
            while resumed.step(true).unwrap().is_some() {}
            assert!(bits(&trainer) == bits(&resumed), "{kind} {depth}");
            assert!(bits(&trainer) != bits(&start()), "{kind} {depth}");
            // Numbers that skip connections need and that are no parameters are not in the file: they must not have
            // moved.
            trainer.write(&model, &Default::default()).unwrap();
            let read = Network::from_file(read_model(&model).unwrap(), &passing, &graph).unwrap();
            let (ours, theirs) = (forward(&graph, &trainer.model()), forward(&graph, &read));
            assert!(ours.last().unwrap().value == theirs.last().unwrap().value, "{kind} {depth} {skip}");
            let evaluation = evaluate(&graph, &read, &budget, &split);
            assert_eq!(evaluation, evaluate(&graph, &trainer.model(), &budget, &split));
        }
    }
}

#[test]
fn layers_start_as_in_pytorch_geometric() {
    let graph = cora();
    let (budget, inputs) = (Budget::uniform(&graph, 2, 1), graph.attribute_count() as f64);
    let split = Split::draw(&graph, Share::Nodes(4), 3).unwrap();
    let first = |kind: LayerKind| {
        let settings = Settings { hidden: 16, ..Settings::new(Loss::Rce, 3).with_layers(kind, 2, false) };
        let passing: &[Operator] = if kind.is_gcn() { &[Operator::Gcn] } else { &[] };
        Trainer::new(&graph, &budget, &split, settings, passing).unwrap().layers().swap_remove(0)
    };
    for kind in LayerKind::ALL {
        let (layer, reach) =
            (first(kind), if kind.is_gcn() { (6.0 / (inputs + 16.0)).sqrt() } else { inputs.powf(-0.5) });
        let terms = if matches!(kind, LayerKind::Sage | LayerKind::SageSum) { 2.0 } else { 1.0 };
        assert_eq!(layer.weight.rows as f64, terms * inputs);
        let square = layer.weight.values.iter().map(|w| w * w).sum::<f64>() / layer.weight.values.len() as f64;
        assert!((square.sqrt() / (reach / 3f64.sqrt()) - 1.0).abs() < 0.02, "{kind} {square}");
        assert!(layer.weight.values.iter().all(|w| w.abs() <= reach * 1.000_001));
        if !kind.is_gcn() {
            assert!(layer.bias.iter().all(|b| b.abs() <= reach * 1.000_001 && *b != 0.0), "{:?}", layer.bias);
        }
    }
}

#[test]
fn networks_that_make_no_sense_are_refused() {
    let graph = ring(&[0, 0, 1, 1, 2, 2, 1, 0]);
    let budget = Budget::uniform(&graph, 2, 1);
    let split = Split::new(&graph, vec![0, 2, 4]).unwrap();
    let refused = |settings: Settings, passing: &[Operator]| {
        Trainer::new(&graph, &budget, &split, settings, passing).map(|_| ()).unwrap_err().to_string()
    };
    let (gin, _) = of_kind(LayerKind::Gin, 2, false);
    assert!(refused(gin, &[Operator::Gcn]).contains("--layers gin says itself"));
    let (short, passing) = of_kind(LayerKind::Gcn, 2, true);
    assert!(refused(short, &passing).contains("--skip"));
    let (skipping, _) = of_kind(LayerKind::Gcn, 3, true);
    assert!(refused(skipping.clone(), &[Operator::Gcn, Operator::Mean]).contains("2 message-passing rules"));
    let matrix = Operator::Matrix(Operator::Gcn.matrix(&graph));
    assert!(refused(skipping, &[matrix]).contains("matrix from a file"));
    // What a checkpoint is of another network.
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let run = |settings: &Settings| serde_json::json!({ "settings": settings });
    let (sage, _) = of_kind(LayerKind::Sage, 3, true);
    let plain = short_of(&sage);
    let trainer = |settings: &Settings, passing: &[Operator]| {
        Trainer::new(&graph, &budget, &split, settings.clone(), passing).unwrap()
    };
    trainer(&plain, &[Operator::Gcn]).save(&state, &run(&plain)).unwrap();
    let told = trainer(&sage, &[]).load(&state, &run(&sage)).unwrap_err().to_string();
    assert!(told.contains("--layers gcn there, sage now"), "{told}");
}

/// The same settings of a plain GCN.
fn short_of(settings: &Settings) -> Settings {
    Settings { kind: LayerKind::Gcn, skip: false, ..settings.clone() }
}

/// What plain GCNs have become after a few iterations, as it was before other layers could be trained.
#[test]
fn plain_gcns_are_trained_to_the_same_bits_as_ever() {
    let graph = cora();
    let budget = Budget::uniform(&graph, 6, 14);
    let split = Split::draw(&graph, Share::Percent(10.0), 5).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    for (loss, digest) in [
        (Loss::Ce, "b6c54fcc4b1d6f1239b3025c252e0ecf96f5860ed9d91925af2ea8e147bdb346"),
        (Loss::Rce, "4eacbd56493770d72d22ea4038ffd447bcc4123bb8c8d7c09752cb95c1563569"),
        (Loss::Rh, "512fa43fcbd3b3c7a1972f36b83a6581c3f0bb2eca0442c13833018cbe29bbb5"),
        (Loss::RhU, "1a3a66d4773ead4bf0eb2ac029bd113f9755401f366ab76da01fee65b3c209d9"),
    ] {
        let settings = Settings { hidden: 8, layers: 3, warm_up: 2, epochs: 4, dropout: 0.2, ..Settings::new(loss, 5) };
        let mut trainer = Trainer::new(&graph, &budget, &split, settings, &[Operator::Gcn]).unwrap();
        while trainer.step(false).unwrap().is_some() {}
        trainer.write(&path, &Default::default()).unwrap();
        assert_eq!(read_model(&path).unwrap().digest, digest, "{loss}");
    }
}

#[test]
fn the_embedded_models_say_what_they_are() {
    for (name, loss) in [("cora_standard", "ce"), ("cora_robust", "rh-u")] {
        let model = read_model(Path::new(&format!("../fixtures/{name}.safetensors"))).unwrap();
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
