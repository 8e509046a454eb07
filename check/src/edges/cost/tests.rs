//! Costs are compared with the operations that were counted.

use gcnproof_files::{DenseMatrix, GraphFile, LayerFile, ModelFile, Pattern};

use super::*;
use crate::edges::bound::bound;
use crate::edges::ground::Ground;
use crate::edges::line::{EdgeAttack, EdgeHeader, EdgePrices, Removals, VERSION};
use crate::edges::margin::Margins;
use crate::edges::network::Pair;
use crate::edges::number::ticks;
use crate::edges::state::State;
use crate::edges::statement::EdgeStatement;
use crate::format::{Convention, Local, Number as Hint};
use crate::number::{Dyadic, Interval};
use crate::verdict::Reason;
use crate::work::{Limits, Work};

fn pattern(rows: usize, columns: usize, entries: impl Fn(usize, usize) -> bool) -> Pattern {
    let mut pattern = Pattern { rows, columns, offsets: vec![0], indices: Vec::new() };
    for i in 0..rows {
        pattern.indices.extend((0..columns as u32).filter(|&j| entries(i, j as usize)));
        pattern.offsets.push(pattern.indices.len());
    }
    pattern
}

fn layer(inputs: usize, outputs: usize, rules: &[&str]) -> LayerFile {
    let rows = inputs * rules.len();
    let values = (0..rows * outputs).map(|at| (at * 7919 % 13) as f64 / 8.0 - 0.7).collect();
    LayerFile {
        weight: DenseMatrix { rows, columns: outputs, values },
        bias: vec![0.1; outputs],
        operators: rules.iter().map(|&rule| rule.into()).collect(),
        weight_name: "W".into(),
        ..LayerFile::default()
    }
}

struct Files {
    graph: GraphFile,
    model: ModelFile,
    header: EdgeHeader,
}

impl Files {
    fn new(
        nodes: usize,
        linked: impl Fn(usize, usize) -> bool,
        width: usize,
        rules: [&[&str]; 2],
        edges: [u64; 2],
    ) -> Files {
        let graph = GraphFile {
            adjacency: pattern(nodes, nodes, |i, j| i != j && linked(i.min(j), i.max(j))),
            attributes: pattern(nodes, 5, |i, j| (i * 31 + j * 17) % 3 != 0),
            digest: "graph".into(),
            ..GraphFile::default()
        };
        let layers = vec![layer(5, width, rules[0]), layer(width, 3, rules[1])];
        let header = EdgeHeader {
            version: VERSION,
            attack: EdgeAttack::EdgeRemovals,
            graph: "graph".into(),
            model: "model".into(),
            message_passing: rules.iter().map(|rules| rules.join(" & ")).collect(),
            edges: Removals {
                global: edges[0],
                local: Local::Uniform(edges[1]),
                keep_one: false,
                frozen: Vec::new(),
                changes: None,
            },
            flips: None,
            classes: Convention::Predicted,
        };
        Files { graph, model: ModelFile { layers, digest: "model".into(), ..ModelFile::default() }, header }
    }

    fn with<T>(&self, node: u32, use_it: impl FnOnce(&Scene) -> T) -> T {
        let statement = EdgeStatement::new(&self.graph, &self.model, &self.header).unwrap();
        let EdgeStatement::Removals(statement) = statement else { panic!("these are removals") };
        let ground = Ground::new(&statement, node);
        let state = State::new(&ground, statement.budget.global);
        use_it(&Scene::new(&statement.network, &state))
    }
}

fn random(i: usize, j: usize, percent: usize) -> bool {
    (i * 7_368_787 + j * 104_729 + i * j * 31) % 100 < percent
}

/// Leaves of many shapes: the cost is not below what is counted, and not far above it.
#[test]
fn costs_are_known_before() {
    let (gcn, mean, sum, both): (&[&str], &[&str], &[&str], &[&str]) =
        (&["gcn"], &["mean"], &["sum"], &["gcn-self", "mean+self"]);
    let mut worst = 0.0f64;
    for (at, (files, nodes)) in [
        (Files::new(40, |i, _| i == 0, 3, [gcn, gcn], [u64::MAX, u64::MAX]), vec![0, 1]),
        (Files::new(40, |i, _| i == 0, 16, [mean, sum], [5, 3]), vec![0, 1]),
        (Files::new(14, |_, _| true, 2, [gcn, both], [u64::MAX, u64::MAX]), vec![0]),
        (Files::new(14, |_, _| true, 2, [gcn, gcn], [5, 3]), vec![3]),
        (Files::new(60, |i, j| random(i, j, 10), 16, [gcn, gcn], [5, 3]), vec![0, 7, 20]),
        (Files::new(60, |i, j| random(i, j, 10), 4, [gcn, both], [u64::MAX, u64::MAX]), vec![0, 7, 20]),
        (Files::new(60, |i, j| random(i, j, 10), 16, [&["identity"], gcn], [10, 10]), vec![0, 7]),
        (Files::new(3, |_, _| true, 1, [gcn, gcn], [0, 0]), vec![0]),
        (Files::new(1, |_, _| true, 1, [gcn, gcn], [1, 1]), vec![0]),
    ]
    .into_iter()
    .enumerate()
    {
        for (node, mu) in
            nodes.into_iter().flat_map(|node| [(node, vec![]), (node, vec![Hint(Dyadic::new(1.into(), -4))])])
        {
            files.with(node, |scene| {
                let (hints, cost) = (EdgePrices { mu, views: Vec::new() }, LeafCost::new(scene));
                let (first, work) = (Work::new(Limits::NONE, 0, None), Work::new(Limits::NONE, 0, None));
                let pair: Pair<Interval> = Pair::new(scene.network, node, 0, 1);
                // What nodes send is found once for all leaves.
                bound(scene, &pair, &hints, None, &cost, &first.line()).unwrap();
                let before = ticks();
                bound(scene, &pair, &hints, None, &cost, &work.line()).unwrap();
                let (counted, known) = (ticks() - before, cost.operations());
                assert!(counted <= known, "{at}, node {node}: {counted} of {known}");
                worst = worst.max(known as f64 / (counted + 1000) as f64);
                // What is spent on the way is what was said before, but for units whose side is decided exactly: these
                // count for themselves.
                let spent = work.spent().all / Interval::STEPS;
                assert!(
                    counted <= spent && spent <= known + known / 10 + 64,
                    "{at}, node {node}: {counted}, {spent} of {known}"
                );
                let before = ticks();
                let pair = Pair::<Interval>::new(scene.network, node, 0, 1);
                let margins = Margins::new(scene, &pair);
                let all = std::iter::once(None).chain(scene.listed().into_iter().map(Some));
                let found: Vec<Interval> = all.map(|extra| margins.margin(extra)).collect();
                assert!(!found.is_empty());
                let (counted, known) = (ticks() - before, singles(scene));
                assert!(counted <= known && known <= 8 * counted + 1000, "{at}, node {node}: {counted} of {known}");
                assert!(margin(scene) <= known);
            });
        }
    }
    assert!(worst < 12.0, "{worst}");
}

/// The costs of a leaf on a complete graph of five nodes, counted by hand: four neighbours with three links each, at
/// most three removals at a node and four in all; three units, and two terms or one.
#[test]
fn costs_are_those_of_the_formulas() {
    let both: &[&str] = &["gcn-self", "mean+self"];
    let reading = Files::new(5, |_, _| true, 3, [&["gcn"], both], [4, 3]);
    reading.with(0, |scene| {
        let cost = LeafCost::new(scene);
        // Four senders, which can change 12 times; then lines.
        assert_eq!(cost.center(), (3 * 4 * 20 + 3 * 27 + 4 * 12 + 4 * 4) + 3 * 20);
        assert_eq!(cost.neighbour(1), 4 * 3 * 8 + (3 + 9) * 4);
        // With two removals at the neighbour there are up to two at the target: three cases.
        let anchored = |cases: u64| 3 * 3 * 18 + 3 * cases * 26 + 4 * 9 + 4 * 3;
        assert_eq!([0, 2, 3].map(|r| cost.anchored(1, r)), [4, 3, 2].map(anchored));
        let state = |cases: u64| anchored(cases) + cases * (3 * 20 + 3 * (24 + 10 + 4) + 9 * 8 + 16);
        assert_eq!([0, 2, 3].map(|r| cost.state(1, r)), [4, 3, 2].map(state));
        assert_eq!(cost.anchors(), 4 * (36 + 9) * 4 + 36);
        assert_eq!(cost.operations(), 4 * (144 + 4 * state(4)) + 4 * 445 + 4 * 4 * (8 + 6) + 2 * 3 * 4);
        let bytes = |number: u64| (12 * (3 * number + 1) + 3 * 64 + 27 * number) + 4 * (4 + 6 + 4) * number + 12 * 64;
        assert_eq!((cost.bytes::<Interval>(), cost.bytes::<Dyadic>()), (bytes(16), bytes(64)));
        // Five nodes with four edges each. An edge changes the units of everybody who is next to its ends.
        let (units, taken) = (3 * (8 + 4 + 6), 16 + 5 * 12 + 2 * 3 * 4);
        assert_eq!((margin(scene), singles(scene)), (5 * units + taken, 20 * 5 * units + 5 * units + 11 * taken));
    });
    // Removals elsewhere: as many as the budget of a node, its other edges, and the budget in all allow.
    for (edges, most, elsewhere) in [([4, 2], 2, 3 * 2), ([1, 3], 1, 3), ([4, u64::MAX], 4, 3 * 3)] {
        let files = Files::new(5, |_, _| true, 3, [&["gcn"], both], edges);
        let neighbour = files.with(0, |scene| LeafCost::new(scene).neighbour(1));
        assert_eq!(neighbour, (most + 1) * 3 * 8 + (3 + elsewhere) * 4, "{edges:?}");
    }
    // Where senders are not read, nothing changes but at the ends.
    let blind = Files::new(5, |_, _| true, 3, [&["mean"], &["gcn"]], [4, 3]);
    blind.with(0, |scene| {
        let cost = LeafCost::new(scene);
        assert_eq!(cost.center(), (3 * 4 * 20 + 3 * 27 + 4 * 4) + 3 * 18);
        let anchored = 3 * 3 * 18 + 3 * 4 * 26 + 4 * 3;
        assert_eq!(cost.state(1, 0), anchored + 4 * (3 * 18 + 3 * (24 + 10 + 4) + 16));
        let (units, taken) = (3 * (8 + 2 + 6), 16 + 5 * 8 + 3 * 4);
        assert_eq!((margin(scene), singles(scene)), (5 * units + taken, 20 * units + 5 * units + 11 * taken));
    });
}

/// A leaf that would cost too much is not begun.
#[test]
fn nothing_is_begun_that_is_too_expensive() {
    let files = Files::new(300, |_, _| true, 2, [&["gcn"], &["gcn"]], [u64::MAX, u64::MAX]);
    files.with(0, |scene| {
        let (cost, work, before) = (LeafCost::new(scene), Work::lines(), ticks());
        let found = bound::<Interval>(
            scene,
            &Pair::new(scene.network, 0, 0, 1),
            &EdgePrices::default(),
            None,
            &cost,
            &work.line(),
        );
        assert!(matches!(found, Err(Reason::TooExpensive(_))), "{found:?}");
        assert!(ticks() - before < 100);
        // Memory of one leaf: some megabytes.
        assert!(cost.bytes::<Interval>() < 1 << 26, "{}", cost.bytes::<Interval>());
    });
}
