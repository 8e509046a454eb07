//! The front door of the library: problems from matrices and lists, the builder, results in order, and parts that do
//! not fit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use gcnproof::nalgebra::DMatrix;
use gcnproof::sprs::{CsMat, TriMat};
use gcnproof::{
    Bound, Budget, Certifier, Effort, Graph, GraphError, Layer, Limits, MatrixError, Network, NetworkError, Operator,
    Problem, ProblemError, Verdict, embedded, explain, radii,
};

/// A path of four nodes with three attributes.
fn path() -> (CsMat<f64>, CsMat<u8>) {
    let (mut edges, mut attributes) = (TriMat::new((4, 4)), TriMat::new((4, 3)));
    for (i, j) in [(0, 1), (1, 2), (2, 3)] {
        edges.add_triplet(i, j, 1.0);
        edges.add_triplet(j, i, 1.0);
    }
    for (node, attribute) in [(0, 0), (1, 1), (2, 2), (3, 0), (3, 2)] {
        attributes.add_triplet(node, attribute, 1);
    }
    (edges.to_csr(), attributes.to_csr())
}

fn network(graph: &Graph) -> Network {
    let hidden = DMatrix::from_row_slice(3, 2, &[1.0, -1.0, 0.5, 0.25, -2.0, 1.0]);
    let output = DMatrix::from_row_slice(2, 2, &[1.0, -1.0, -0.5, 2.0]);
    let layer = |weight: &DMatrix<f64>| Layer::new(&Operator::Gcn, graph, weight, &[0.125, 0.0]);
    Network::new(vec![layer(&hidden), layer(&output)]).unwrap()
}

#[test]
fn a_stranger_certifies_a_graph_of_sparse_matrices() {
    let (edges, attributes) = path();
    let graph = Graph::new(&edges, &attributes).unwrap();
    let network = network(&graph);
    let problem = Problem::new(graph.clone(), network, Budget::uniform(&graph, 1, 1)).unwrap();
    let certifier = Certifier::builder(problem).effort(Effort::Complete(Limits::default())).build();
    let results: Vec<_> = certifier.certify([3, 0, 2, 1]).unwrap().collect();
    assert_eq!(results.iter().map(|result| result.node).collect::<Vec<_>>(), [3, 0, 2, 1]);
    assert!(results.iter().all(|result| result.verdict != Verdict::Undecided));
    assert_eq!(certifier.one(2).unwrap().verdict, results[2].verdict);
}

#[test]
fn lists_and_columns_give_the_same_graph() {
    let (edges, attributes) = path();
    let by_rows = Graph::new(&edges, &attributes).unwrap();
    let by_columns = Graph::new(&edges.to_csc(), &attributes.to_csc()).unwrap();
    let owned = [vec![0], vec![1], vec![2], vec![2, 0]];
    let lists = Graph::from_lists(&[(0, 1), (2, 1), (2, 3), (3, 2)], &owned, 3).unwrap();
    assert_eq!(by_rows.digest(), by_columns.digest());
    assert_eq!(by_rows.digest(), lists.digest());
    let labelled = lists.with_labels(vec![Some(1), None, Some(0), None]).unwrap();
    assert_eq!((labelled.label(0), labelled.label(1)), (Some(1), None));
    assert_ne!(labelled.digest(), lists.digest());
}

#[test]
fn an_operator_of_ones_own_is_the_rule_that_it_states() {
    let (edges, attributes) = path();
    let graph = Graph::new(&edges, &attributes).unwrap();
    let sum = Operator::custom(&edges.to_csc()).unwrap();
    let weight = DMatrix::from_row_slice(3, 2, &[1.0, -1.0, 0.5, 0.25, -2.0, 1.0]);
    let verdicts = |operator: &Operator| -> Vec<Verdict> {
        let network = Network::new(vec![Layer::new(operator, &graph, &weight, &[0.0, 0.5])]).unwrap();
        let problem = Problem::new(graph.clone(), network, Budget::uniform(&graph, 1, 1)).unwrap();
        Certifier::builder(problem).build().certify(0..4).unwrap().map(|result| result.verdict).collect()
    };
    assert_eq!(verdicts(&sum), verdicts(&Operator::Sum));
}

#[test]
fn parts_that_do_not_fit_are_errors() {
    let (edges, attributes) = path();
    let graph = Graph::new(&edges, &attributes).unwrap();
    let fits = network(&graph);
    let budget = Budget::uniform(&graph, 1, 1);
    // Graphs.
    assert!(matches!(Graph::new(&CsMat::<f64>::zero((4, 3)), &attributes), Err(GraphError::NotSquare { .. })));
    assert!(matches!(Graph::new(&edges, &CsMat::<u8>::zero((3, 3))), Err(GraphError::AttributeRows { .. })));
    assert!(matches!(
        Graph::new(&edges.map(|x| 2.0 * x), &attributes),
        Err(GraphError::Matrix(MatrixError::NotBinary { .. }))
    ));
    let mut one_way = TriMat::new((2, 2));
    one_way.add_triplet(0, 1, 1);
    let one_way: CsMat<i32> = one_way.to_csr();
    let wrong = Graph::new(&one_way, &CsMat::<f64>::zero((2, 1)));
    assert_eq!(wrong.err(), Some(GraphError::OneWay { from: 0, to: 1 }));
    assert!(matches!(Graph::from_lists(&[(0, 4)], &[vec![], vec![]], 1), Err(GraphError::OutOfRange { .. })));
    assert!(matches!(Graph::from_lists(&[], &[vec![1]], 1), Err(GraphError::OutOfRange { what: "attribute", .. })));
    assert!(matches!(graph.with_labels(vec![None]), Err(GraphError::Labels { labels: 1, nodes: 4 })));
    // Networks.
    let layer = |rows, columns, biases: usize| {
        Layer::new(&Operator::Gcn, &graph, &DMatrix::from_element(rows, columns, 0.5), &vec![0.0; biases])
    };
    assert!(matches!(Network::new(Vec::new()), Err(NetworkError::Classes { classes: 0 })));
    assert!(matches!(Network::new(vec![layer(3, 1, 1)]), Err(NetworkError::Classes { classes: 1 })));
    assert!(matches!(Network::new(vec![layer(3, 2, 3)]), Err(NetworkError::Biases { .. })));
    let broken = Network::new(vec![layer(3, 2, 2), layer(3, 2, 2)]);
    assert!(matches!(broken, Err(NetworkError::Inputs { layer: 2, expected: 3, found: 2 })));
    let nan = Layer::new(&Operator::Gcn, &graph, &DMatrix::from_element(3, 2, f64::NAN), &[0.0; 2]);
    assert!(matches!(Network::new(vec![nan]), Err(NetworkError::NotFinite { layer: 1, .. })));
    assert!(matches!(Operator::custom(&edges.map(|_| f64::INFINITY)), Err(MatrixError::NotFinite { .. })));
    // A matrix of another size becomes a layer, and the network is refused.
    let small = Operator::custom(&CsMat::<f64>::eye(2)).unwrap();
    let small = Layer::new(&small, &graph, &DMatrix::from_element(3, 2, 0.5), &[0.0; 2]);
    let alone = Network::new(vec![small.clone()]).unwrap();
    assert!(matches!(
        Problem::new(graph.clone(), alone, budget.clone()),
        Err(ProblemError::Nodes { network: 2, graph: 4 })
    ));
    assert!(matches!(Network::new(vec![layer(3, 2, 2), small]), Err(NetworkError::MatrixShape { layer: 2, .. })));
    // Problems.
    let other = Network::new(vec![layer(2, 2, 2)]).unwrap();
    assert!(matches!(Problem::new(graph.clone(), other, budget.clone()), Err(ProblemError::Attributes { .. })));
    let two = Graph::from_lists(&[(0, 1)], &[vec![0], vec![]], 3).unwrap();
    let elsewhere = Budget::uniform(&two, 1, 1);
    assert!(matches!(Problem::new(graph.clone(), fits.clone(), elsewhere), Err(ProblemError::Budget { .. })));
    // Nodes.
    let certifier = Certifier::builder(Problem::new(graph, fits, budget).unwrap()).build();
    assert!(matches!(certifier.certify([0, 4]), Err(ProblemError::Node { node: 4, nodes: 4 })));
    assert!(certifier.one(4).is_err());
    assert!(explain(&certifier, 4).is_err());
    assert!(radii(&certifier, &[9], 3, || false, |_, _| ()).is_err());
}

#[test]
fn what_is_built_can_be_kept_and_sent() {
    fn kept<T: Send + Sync + Clone + 'static>(_: &T) {}
    let (graph, network) = embedded::cora();
    let budget = Budget::uniform(&graph, 1, 1);
    let problem = Problem::new(graph, network, budget).unwrap();
    kept(&problem);
    let certifier = Certifier::builder(problem).bound(Bound::Paper).build();
    kept(&certifier);
    let other = certifier.clone();
    let sent = std::thread::spawn(move || other.one(0).unwrap().verdict);
    assert_eq!(sent.join().unwrap(), certifier.one(0).unwrap().verdict);
}

#[test]
fn progress_is_told_and_a_stop_keeps_what_is_done() {
    let (graph, network) = embedded::cora();
    let budget = Budget::uniform(&graph, 12, 14);
    let problem = Problem::new(graph, network, budget).unwrap();
    let (told, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let certifier = Certifier::builder(problem)
        .progress({
            let (told, stop) = (Arc::clone(&told), Arc::clone(&stop));
            move |_| stop.store(told.fetch_add(1, Ordering::Relaxed) >= 300, Ordering::Relaxed)
        })
        .stop(move || stop.load(Ordering::Relaxed))
        .build();
    let results: Vec<usize> = certifier.certify(0..2708).unwrap().map(|result| result.node).collect();
    assert!((200..1000).contains(&results.len()), "{}", results.len());
    assert_eq!(results, (0..results.len()).collect::<Vec<_>>());
    assert!(told.load(Ordering::Relaxed) >= results.len());
}
