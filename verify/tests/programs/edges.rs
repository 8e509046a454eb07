//! Removed edges: the MILP has the optimum that trying everything finds.
use gcnproof_verify::edges::{EdgeInstance, Passing, mixed_program, worst};
use gcnproof_verify::solver::{Highs, Limits, Solver};

/// xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as usize % count
    }

    fn weight(&mut self) -> f64 {
        (self.below(4001) as f64 - 2000.0) / 1000.0
    }
}

fn random_instance(random: &mut Random) -> EdgeInstance {
    let (nodes, width) = (2 + random.below(4), 1 + random.below(2));
    let pairs = (0..nodes).flat_map(|i| (i + 1..nodes).map(move |j| (i, j)));
    let edges: Vec<(usize, usize)> = pairs.filter(|_| random.below(100) < 60).take(7).collect();
    let degree = |node: usize| edges.iter().filter(|&&(i, j)| i == node || j == node).count();
    let (local, keep_one) = (1 + random.below(2), random.below(2) == 0);
    let cap = |node: usize| if keep_one { local.min(degree(node).saturating_sub(1)) } else { local.min(degree(node)) };
    let cap = (0..nodes).map(cap).collect();
    let kinds = [Passing::Root, Passing::Root, Passing::Mean, Passing::Sum];
    let frozen = edges.iter().map(|_| random.below(8) == 0).collect();
    let passing = [kinds[random.below(4)], kinds[random.below(4)]];
    let mut rows = |scale: f64| -> Vec<Vec<f64>> {
        (0..nodes).map(|_| (0..width).map(|_| scale * random.weight()).collect()).collect()
    };
    let (sent, fixed) = (rows(1.0), rows(0.5));
    EdgeInstance {
        target: random.below(nodes),
        edges,
        frozen,
        global: random.below(4),
        cap,
        passing,
        sent,
        fixed,
        linear: (0..width).map(|_| random.below(5) == 0).collect(),
        weights: (0..width).map(|_| random.weight()).collect(),
        constant: random.weight(),
    }
}

#[test]
fn the_program_of_removed_edges_has_the_optimum_that_trying_everything_finds() {
    let mut random = Random(88172645463325252);
    let (mut several, mut changed) = (0, 0);
    for at in 0..300 {
        let instance = random_instance(&mut random);
        let truth = worst(&instance).expect("few edges");
        let model = mixed_program(&instance);
        assert_eq!(model.program.validate(), Ok(()));
        let answer = Highs.solve(&model.program, &Limits::default());
        let optimum = answer.optimum().unwrap_or_else(|| panic!("{at}: {:?}", answer.status));
        assert!((optimum - truth.margin).abs() < 1e-5, "{at}: {optimum} {} {instance:?}", truth.margin);
        let removed = model.removals(answer.values.as_ref().expect("a point"));
        assert!(instance.admits(&removed), "{at}: {instance:?}");
        assert!((instance.forward(&removed) - truth.margin).abs() < 1e-5, "{at}");
        several += usize::from(truth.count > 4);
        changed += usize::from(truth.removed.contains(&true));
    }
    assert!(several > 50 && changed > 50, "{several} {changed}");
}

#[test]
fn nothing_is_removed_where_nothing_may_be() {
    let mut random = Random(362436069);
    for _ in 0..20 {
        let instance = EdgeInstance { global: 0, ..random_instance(&mut random) };
        let truth = worst(&instance).expect("few edges");
        assert_eq!((truth.count, truth.margin), (1, instance.forward(&vec![false; instance.edges.len()])));
        let answer = Highs.solve(&mixed_program(&instance).program, &Limits::default());
        assert!((answer.optimum().expect("an optimum") - truth.margin).abs() < 1e-5);
    }
}
