//! Changed edges: the MILP has the optimum that trying everything finds, with any number of layers.
use gcnproof_verify::edges::{Along, Arc, Change, EdgeInstance, EdgeLayer, EdgeTerm, Passing, mixed_program, worst};
use gcnproof_verify::solver::{Highs, Limits, Solver};
use gcnproof_verify::{Dense, Sparse};

/// xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as usize % count
    }

    fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn weight(&mut self) -> f64 {
        (self.below(4001) as f64 - 2000.0) / 1000.0
    }

    fn dense(&mut self, rows: usize, columns: usize) -> Dense {
        Dense { rows, columns, values: (0..rows * columns).map(|_| self.weight()).collect() }
    }
}

/// Edges that are there and may not be changed, may be removed, or may be inserted, with the arcs of each.
fn edges(random: &mut Random, instance: &mut EdgeInstance, directed: bool) {
    let nodes = instance.nodes();
    let dense = 20 + random.below(60);
    for (from, to) in (0..nodes).flat_map(|i| (0..nodes).map(move |j| (i, j))) {
        if from == to || !directed && from > to {
            continue;
        }
        let is_there = random.percent(dense);
        let change = (random.percent(80) && instance.changes.len() < 9).then_some(instance.changes.len());
        if !is_there && change.is_none() {
            continue;
        }
        if change.is_some() {
            let counted = if directed { vec![to] } else { vec![from, to] };
            instance.changes.push(Change { inserts: !is_there, counted });
        }
        instance.arcs.push(Arc { to, from, change });
        if !directed {
            instance.arcs.push(Arc { to: from, from: to, change });
        }
    }
}

/// A readout is the sum or the mean of the nodes; other fixed operators are multiples of the identity.
fn term(random: &mut Random, nodes: usize, weight: Dense, readout: bool) -> EdgeTerm {
    let kinds = [Passing::Root, Passing::Mean, Passing::Sum];
    let along = Along { passing: kinds[random.below(3)], with_self: random.percent(50) };
    let of = |entries: Vec<(usize, usize, f64)>| Sparse { rows: nodes, columns: nodes, entries };
    let own = [1.0, -0.5, 1.25][random.below(3)];
    let diagonal = || of((0..nodes).map(|node| (node, node, own)).collect());
    let entry = if random.percent(50) { 1.0 } else { 1.0 / nodes as f64 };
    match random.below(4) {
        _ if readout => EdgeTerm { along: None, fixed: of((0..nodes).map(|node| (0, node, entry)).collect()), weight },
        0 => EdgeTerm { along: None, fixed: diagonal(), weight },
        1 => EdgeTerm { along: Some(along), fixed: diagonal(), weight },
        _ => EdgeTerm { along: Some(along), fixed: of(Vec::new()), weight },
    }
}

fn random_instance(random: &mut Random, depth: usize) -> EdgeInstance {
    let nodes = 2 + random.below(4);
    let attributes =
        Dense { rows: nodes, columns: 2, values: (0..2 * nodes).map(|_| random.below(2) as f64).collect() };
    let readout = random.percent(30);
    let mut instance = EdgeInstance {
        target: if readout { 0 } else { random.below(nodes) },
        attributes,
        looped: (0..nodes).map(|_| random.percent(10)).collect(),
        global: random.below(4),
        local: (0..nodes).map(|_| random.below(4)).collect(),
        losable: (0..nodes).map(|_| random.below(3)).collect(),
        objective: vec![1.0, -1.0],
        ..EdgeInstance::default()
    };
    let directed = random.percent(30);
    edges(random, &mut instance, directed);
    let mut inputs = 2;
    for index in 0..depth {
        let last = index + 1 == depth;
        let outputs = if last { 2 } else { 1 + random.below(2) };
        let count = 1 + random.below(2);
        let terms = (0..count)
            .map(|_| {
                let weight = random.dense(inputs, outputs);
                term(random, nodes, weight, last && readout)
            })
            .collect();
        let rows = if random.percent(50) { 1 } else { nodes };
        let bias = random.dense(rows, outputs);
        let linear = (0..outputs).map(|_| random.percent(20)).collect();
        instance.layers.push(EdgeLayer { terms, bias, linear });
        inputs = outputs;
    }
    instance
}

#[test]
fn the_program_of_changed_edges_has_the_optimum_that_trying_everything_finds() {
    let mut random = Random(88172645463325252);
    let (mut several, mut changed) = (0, 0);
    for at in 0..160 {
        let instance = random_instance(&mut random, 1 + at % 4);
        let truth = worst(&instance);
        let model = mixed_program(&instance);
        assert_eq!(model.program.validate(), Ok(()));
        let answer = Highs.solve(&model.program, &Limits::default());
        let optimum = answer.optimum().unwrap_or_else(|| panic!("{at}: {:?} {instance:?}", answer.status));
        let near = |margin: f64| (margin - truth.margin).abs() < 1e-5 * (1.0 + truth.margin.abs());
        assert!(near(optimum), "{at}: {optimum} {} {instance:?}", truth.margin);
        let made = model.changes(answer.values.as_ref().expect("a point"));
        assert!(instance.admits(&made), "{at}: {instance:?}");
        assert!(near(instance.forward(&made)), "{at}");
        several += usize::from(truth.count > 4);
        changed += usize::from(truth.made.contains(&true));
    }
    assert!(several > 35 && changed > 30, "{several} {changed}");
}

#[test]
fn nothing_is_changed_where_nothing_may_be() {
    let mut random = Random(362436069);
    for at in 0..20 {
        let instance = EdgeInstance { global: 0, ..random_instance(&mut random, 1 + at % 4) };
        let truth = worst(&instance);
        assert_eq!((truth.count, truth.margin), (1, instance.forward(&vec![false; instance.changes.len()])));
        let answer = Highs.solve(&mixed_program(&instance).program, &Limits::default());
        assert!((answer.optimum().expect("an optimum") - truth.margin).abs() < 1e-5 * (1.0 + truth.margin.abs()));
    }
}
