//! The errata: what the paper states and what is not so, each on a network that can be checked by hand
//! (docs/errata.md).

use std::path::{Path, PathBuf};

use gcnproof::internals::bound::relaxed::Relaxation;
use gcnproof::internals::bound::workspace::Workspace;
use gcnproof::internals::problem::slice::Slice;
use gcnproof::{Bound, Budget, Graph, Network, Operator, Verdict};
use gcnproof_files::{DenseMatrix, GraphOptions, LayerFile, Precision, read_graph, read_model, write};
use gcnproof_laboratory::hunt::{Statement, printed_bounds};
use gcnproof_laboratory::instance::instance_of;
use gcnproof_verify::dual::{Textbook, default_slopes};
use gcnproof_verify::solver::{Clarabel, GoodLp, Highs, Limits, Minilp, Solver};
use gcnproof_verify::{Form, enumeration, network, relaxation};

use crate::common::{self, certifier_of};

type Layers = Vec<(Vec<Vec<f64>>, Vec<f64>)>;

/// A network on one node with one attribute, in the folder of fixtures of this name.
struct OneNode {
    folder: &'static str,
    present: bool,
    layers: fn() -> Layers,
}

/// `margin = relu(x − ½) + relu(½ − x) − ¼`, x = 0.
const INTEGRALITY: OneNode = OneNode {
    folder: "integrality",
    present: false,
    layers: || vec![(vec![vec![1.0, -1.0]], vec![-0.5, 0.5]), (vec![vec![1.0, 0.0], vec![1.0, 0.0]], vec![-0.25, 0.0])],
};

/// `margin of class 1 = ½ − relu(1 − relu(x))`, x = 1.
const DROPPED_BIAS: OneNode = OneNode {
    folder: "printed_bounds/dropped_bias",
    present: true,
    layers: || {
        vec![(vec![vec![1.0]], vec![0.0]), (vec![vec![-1.0]], vec![1.0]), (vec![vec![1.0, 0.0]], vec![0.0, 0.5])]
    },
};

/// `margin of class 1 = ⅜ − relu(relu(½ − x) + relu(−½))`, x = 1.
const MISSING_CLIP: OneNode = OneNode {
    folder: "printed_bounds/missing_clip",
    present: true,
    layers: || {
        vec![
            (vec![vec![-1.0, 0.0]], vec![0.5, -0.5]),
            (vec![vec![1.0], vec![1.0]], vec![0.0]),
            (vec![vec![1.0, 0.0]], vec![0.0, 0.375]),
        ]
    },
};

impl OneNode {
    fn path(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(self.folder)
    }

    fn files(&self) -> (gcnproof_files::GraphFile, Vec<LayerFile>) {
        let attributes = if self.present { vec![vec![0]] } else { vec![vec![]] };
        let graph = common::graph(vec![vec![]], attributes, 1).file().clone();
        let layer = |(rows, bias): (Vec<Vec<f64>>, Vec<f64>)| LayerFile {
            weight: DenseMatrix { rows: rows.len(), columns: rows[0].len(), values: rows.concat() },
            bias,
            operators: Vec::new(),
            linear: Vec::new(),
            weight_name: String::new(),
            bias_name: None,
        };
        (graph, (self.layers)().into_iter().map(layer).collect())
    }

    /// The network as it was committed.
    fn read(&self) -> (Graph, Network) {
        let graph = read_graph(&self.path().join("graph.npz"), &GraphOptions::default()).unwrap();
        let model = read_model(&self.path().join("model.safetensors")).unwrap();
        let (expected, layers) = self.files();
        assert_eq!((&graph.adjacency, &graph.attributes), (&expected.adjacency, &expected.attributes));
        for (found, layer) in model.layers.iter().zip(&layers) {
            assert_eq!((&found.weight, &found.bias), (&layer.weight, &layer.bias));
        }
        assert_eq!(model.layers.len(), layers.len());
        let graph = Graph::from_file(graph);
        let gcn = Network::from_file(model, &[Operator::Gcn], &graph).unwrap();
        (graph, gcn)
    }
}

/// Writes the fixtures again: `cargo test --release -p gcnproof-laboratory errata -- --ignored`.
#[test]
#[ignore = "writes into fixtures/"]
fn write_the_fixtures() {
    for network in [INTEGRALITY, DROPPED_BIAS, MISSING_CLIP] {
        let (graph, layers) = network.files();
        std::fs::create_dir_all(network.path()).unwrap();
        write::write_graph_npz(&network.path().join("graph.npz"), &graph).unwrap();
        let path = network.path().join("model.safetensors");
        write::write_model_safetensors(&path, &layers, Precision::F64, &Default::default()).unwrap();
    }
}

#[test]
fn the_integrality_theorem_is_false() {
    let (graph, gcn) = INTEGRALITY.read();
    let certifier = certifier_of(&graph, &gcn, Budget::uniform(&graph, 1, 1), Bound::Best);
    assert_eq!(certifier.predicted(0), 0);
    let (instance, _) = instance_of(certifier.prepared(), 0, 0, 1);

    // By hand: |x − ½| − ¼ is ¼ at both binary points. In the LP x = ½ is allowed, both pre-activations are 0 there,
    // and the relaxed ReLU may be 0 as well: −¼.
    for (flips, margin) in [(vec![], 0.25), (vec![(0, 0)], 0.25)] {
        assert_eq!(instance.forward(&flips), margin);
    }
    for form in [Form::Appendix, Form::Compact] {
        let model = relaxation::linear_program(&instance, form).unwrap();
        for solver in [&Highs as &dyn Solver, &GoodLp, &Minilp::default(), &Clarabel::default()] {
            let answer = solver.solve(&model.program, &Limits::default());
            assert!((answer.optimum().unwrap() + 0.25).abs() < 1e-9, "{}", solver.name());
            let x = answer.values.unwrap()[model.attribute(0, 0)];
            assert!((x - 0.5).abs() < 1e-9, "{}: x = {x}", solver.name());
        }
        let integer = relaxation::integer_program(&instance, form).unwrap();
        assert!((Highs.solve(&integer.program, &Limits::default()).optimum().unwrap() - 0.25).abs() < 1e-9);
        let mixed = network::mixed_program(&instance, form).unwrap();
        assert!((Highs.solve(&mixed.program, &Limits::default()).optimum().unwrap() - 0.25).abs() < 1e-9);
    }
    assert_eq!(enumeration::minimum(&instance, 10).unwrap().margin, 0.25);

    // No Ω certifies it: g ≤ m̂ = −¼ whatever the slopes are.
    for step in 0..=20 {
        for other in 0..=20 {
            let mut slopes = default_slopes(&instance);
            slopes[0].values = vec![f64::from(step) / 20.0, f64::from(other) / 20.0];
            assert!(Textbook::new(&instance, &slopes).value(&instance) <= -0.25);
        }
    }
    let mut workspace = Workspace::default();
    assert!(certifier.prepared().pair_bound(0, 0, 1, Relaxation::Paper, &mut workspace).upper() <= -0.25 + 1e-9);
    assert_ne!(certifier.certify_node(0, &mut workspace).verdict, Verdict::NonRobust);
    assert!(Statement::Integrality.refuted(&instance).is_some());
}

#[test]
fn the_printed_bounds_of_deeper_layers_certify_what_is_not_robust() {
    for (network, certificate, worst) in [(DROPPED_BIAS, 0.5, -0.5), (MISSING_CLIP, 0.375, -0.125)] {
        let (graph, gcn) = network.read();
        let certifier = certifier_of(&graph, &gcn, Budget::uniform(&graph, 1, 1), Bound::Best);
        assert_eq!(certifier.predicted(0), 1);
        let (instance, _) = instance_of(certifier.prepared(), 0, 1, 0);
        let printed = printed_bounds(&instance).unwrap();
        // The unit of layer 3 is switched off by the printed bounds, but one flip switches it on.
        assert_eq!((printed.lower[1].values[0], printed.upper[1].values[0]), (-1.0, 0.0), "{}", network.folder);
        assert!(instance.pre_activations(&[(0, 0)])[1].values[0] > 0.0);
        assert_eq!(Textbook::new(&printed, &default_slopes(&printed)).value(&printed), certificate);
        assert_eq!(enumeration::minimum(&instance, 10).unwrap().margin, worst);
        assert_eq!(instance.forward(&[(0, 0)]), worst);
        // With sound bounds nothing is certified, and the certifier finds the flip.
        assert!(Textbook::new(&instance, &default_slopes(&instance)).value(&instance) <= worst);
        assert_eq!(certifier.certify_node(0, &mut Workspace::default()).verdict, Verdict::NonRobust);
        assert!(Statement::Bounds.refuted(&instance).is_some());
    }
}

/// The paper slices `A(l)` to rows `N_{L−l}` and columns `N_{L−l+1}`. The shapes fit nothing: `X` has the rows
/// `N_{L−1}`, so `A(1)` has to have those as its columns, and the last layer has the target as its only row.
#[test]
fn slices_are_one_hop_smaller_than_printed() {
    // A path 0 – 1 – 2 – 3 – 4 – 5, so that every further hop is one more node.
    let adjacency: Vec<Vec<u32>> =
        (0..6u32).map(|n| [n.checked_sub(1), (n < 5).then_some(n + 1)].into_iter().flatten().collect()).collect();
    let graph = common::graph(adjacency, vec![vec![]; 6], 1);
    for depth in 2..=5 {
        let layer = |last: bool| {
            let columns = if last { 2 } else { 1 };
            (DenseMatrix { rows: 1, columns, values: vec![1.0; columns] }, vec![0.0; columns])
        };
        let layers = (1..depth).map(|l| layer(l + 1 == depth)).collect();
        let gcn = Network::from_file(common::model(layers), &[Operator::Gcn], &graph).unwrap();
        let mut slice = Slice::default();
        slice.cut(&gcn, depth, 0);
        for l in 1..=depth {
            let hops = depth - l;
            assert_eq!(slice.nodes(l).len(), hops + 1, "representation {l} of {depth} has the nodes N_{hops}");
        }
    }
}
