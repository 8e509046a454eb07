//! A third attacker, implemented here alone: it erases all attributes of some nodes. Its verdicts, radii and rows come
//! from the code that flips and removed edges share.

use gcnproof::edges::EdgeReason;
use gcnproof::nalgebra::DMatrix;
use gcnproof::{
    Attacker, Budget, Certifier, Decide, Graph, Layer, Margin, Network, NodeResult, Operator, Problem, Reason, Verdict,
    Words,
};
use gcnproof_results::record::consistent::Row;
use gcnproof_results::record::node::{Empty, Record, Tabled};
use gcnproof_results::record::radius::RadiusRow;
use gcnproof_results::{read, write};
use gcnproof_run::radius::search;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Erasures;

impl Attacker for Erasures {
    type Budget = usize;
    /// A node, and how many attributes it loses.
    type Change = (u32, u32);
    type Reason = EdgeReason;
    type Evidence = ();
    type Details = ();
    const WORDS: Words = Words {
        change: "erased row",
        changes: "erased rows",
        things: "rows",
        global: "R",
        local: "r",
        relevant: "relevant_rows",
        witness: "witness_rows",
        certified: "certified_rows",
        attacked: "attacked_rows",
    };
}

impl Tabled for Erasures {
    type Own = Empty;
}

/// Lists all sets of at most `global` nodes, the small ones first; each is one exact question about a graph without
/// those rows.
#[derive(Clone)]
struct Listing {
    edges: Vec<(usize, usize)>,
    attributes: Vec<Vec<usize>>,
    graph: Graph,
    global: usize,
}

impl Listing {
    fn result(&self, erased: u32, node: usize) -> NodeResult {
        let row = |n: usize| if erased >> n & 1 == 1 { Vec::new() } else { self.attributes[n].clone() };
        let attributes: Vec<Vec<usize>> = (0..self.attributes.len()).map(row).collect();
        let graph = Graph::from_lists(&self.edges, &attributes, 2).unwrap();
        // Class 0 counts the neighbours with attribute 0, class 1 those with attribute 1.
        let layer = Layer::new(&Operator::Sum, &graph, &DMatrix::identity(2, 2), &[0.0, 0.0]);
        let budget = Budget::uniform(&graph, 0, 0);
        let problem = Problem::new(graph, Network::new(vec![layer]).unwrap(), budget).unwrap();
        let certifier = Certifier::builder(problem).build();
        certifier.certify_class(node, 0, certifier.predicted(node), &mut Default::default())
    }
}

impl Decide<Erasures> for Listing {
    type Buffers = ();

    fn graph(&self) -> &Graph {
        &self.graph
    }

    fn global(&self) -> usize {
        self.global
    }

    fn at_global(&self, global: usize, _: &[usize]) -> Listing {
        Listing { global, ..self.clone() }
    }

    fn is_stopped(&self) -> bool {
        false
    }

    fn decide(&self, node: usize, _: Option<usize>, (): &mut ()) -> NodeResult<Erasures> {
        let mut sets: Vec<u32> = (0..1 << self.attributes.len()).collect();
        sets.retain(|set| set.count_ones() as usize <= self.global);
        sets.sort_by_key(|set| set.count_ones());
        let results: Vec<NodeResult> = sets.iter().map(|&set| self.result(set, node)).collect();
        let broken = results.iter().position(|result| result.verdict == Verdict::NonRobust);
        let least = |of: fn(&Margin) -> f64| results.iter().map(|r| of(&r.margins[0])).fold(f64::INFINITY, f64::min);
        let erased = |set: u32| (0..self.attributes.len()).filter(move |n| set >> n & 1 == 1);
        NodeResult {
            node,
            reference: 0,
            predicted: 0,
            relevant: self.attributes.len(),
            verdict: if broken.is_some() { Verdict::NonRobust } else { Verdict::Robust },
            reason: match broken.map(|at| results[at].reason) {
                Some(Reason::Tie) => EdgeReason::Tie,
                Some(_) => EdgeReason::Witness,
                None => EdgeReason::Listed,
            },
            margins: vec![Margin { class: 1, lower: least(|m| m.lower), upper: least(|m| m.upper) }],
            minima: vec![None],
            search_nodes: sets.len(),
            limit_hit: false,
            witness: broken.map_or_else(Vec::new, |at| erased(sets[at]).map(|n| (n as u32, 1)).collect()),
            deployed: None,
            evidence: None,
            details: (),
            contradiction: None,
        }
    }
}

#[test]
fn a_third_attacker_gets_verdicts_radii_and_rows() {
    // A star: four of the five leaves, and its centre, have attribute 0.
    let (edges, attributes) =
        ((1..6).map(|n| (0, n)).collect::<Vec<_>>(), [0, 0, 0, 0, 0, 1].map(|d| vec![d]).to_vec());
    let graph = Graph::from_lists(&edges, &attributes, 2).unwrap();
    let listing = Listing { edges, attributes, graph: graph.clone(), global: 2 };
    let (rows, radii) = (std::sync::Mutex::new(Vec::new()), std::sync::Mutex::new(Vec::new()));
    listing.each(&[0, 1], |_| None, |result, seconds| rows.lock().unwrap().push(Record::new(&graph, result, seconds)));
    search(&listing, &[0, 1], 4, &|row: RadiusRow<Erasures>| radii.lock().unwrap().push(row));
    let (mut rows, mut radii) = (rows.into_inner().unwrap(), radii.into_inner().unwrap());
    rows.sort_by_key(|row: &Record<Erasures>| row.node);
    radii.sort_by_key(|row| row.node);
    assert_eq!(rows.iter().map(|row| row.verdict).collect::<Vec<_>>(), [Verdict::Robust, Verdict::NonRobust]);
    assert_eq!(rows[1].witness, [(0, 1)]);
    let found: Vec<_> = radii.iter().map(|row| (row.certified, row.attacked, row.witness.len())).collect();
    assert_eq!(found, [(Some(2), Some(3), 3), (Some(0), Some(1), 1)]);
    let folder = tempfile::tempdir().unwrap();
    for name in ["rows.jsonl", "rows.csv", "rows.parquet"] {
        let (path, schema) = (folder.path().join(name), Erasures::schema(false, false));
        write(&path, schema, &rows).unwrap();
        assert_eq!(read::<Record<Erasures>>(&path, schema).unwrap(), rows);
        write(&path, RadiusRow::<Erasures>::SCHEMA, &radii).unwrap();
        assert_eq!(read::<RadiusRow<Erasures>>(&path, RadiusRow::<Erasures>::SCHEMA).unwrap(), radii);
    }
    rows.iter().for_each(|row| row.check().unwrap());
    radii.iter().for_each(|row| row.check().unwrap());
}
