//! One attack for the whole graph: programs solved by hand, integer programs against trying everything, and multipliers
//! from duals.
use gcnproof_verify::collective::{Attacker, CountInstance, CountNode, FlipInstance, truth};
use gcnproof_verify::random::Stream;
use gcnproof_verify::solver::{Highs, Limits, Solver};
use gcnproof_verify::{Dense, Instance, Layer, Program, Sparse};

/// The largest number of nodes that fall: the program minimises its negative.
fn optimum(program: &Program) -> f64 {
    let answer = Highs.solve(program, &Limits::default());
    -answer.optimum().unwrap_or_else(|| panic!("{:?}: {program:?}", answer.status))
}

fn attacker(random: &mut Stream, sources: usize, most: usize) -> Attacker {
    Attacker {
        global: random.below(5),
        local: (0..sources).map(|_| random.below(most + 1)).collect(),
        attacked: random.chance(30).then(|| random.below(sources + 1)),
    }
}

/// All ways to make flips of each source, within the budgets.
fn ways(attacker: &Attacker) -> Vec<Vec<usize>> {
    let mut ways: Vec<Vec<usize>> = vec![Vec::new()];
    for &local in &attacker.local {
        ways = ways.iter().flat_map(|way| (0..=local).map(|b| [&way[..], &[b]].concat())).collect();
        ways.retain(|way| {
            let attacked = way.iter().filter(|&&b| b > 0).count();
            way.iter().sum::<usize>() <= attacker.global && attacker.attacked.is_none_or(|most| attacked <= most)
        });
    }
    ways
}

fn count_instance(random: &mut Stream) -> CountInstance {
    let sources = 1 + random.below(5);
    let node = |random: &mut Stream| CountNode {
        needed: random.below(5),
        sources: (0..sources).filter(|_| random.chance(50)).collect(),
    };
    let nodes = (0..1 + random.below(7)).map(|_| node(random)).collect();
    CountInstance { attacker: attacker(random, sources, 3), nodes }
}

/// Three leaves of a star that fall by two flips each, at themselves or the centre; two flips in all. At the centre
/// they break all leaves; if the centre allows one flip only, that one and another break one leaf, or halves of three.
#[test]
fn a_star_by_hand() {
    let nodes: Vec<CountNode> = (1..4).map(|leaf| CountNode { needed: 2, sources: vec![0, leaf] }).collect();
    let of = |local: Vec<usize>| CountInstance {
        attacker: Attacker { global: 2, local, attacked: None },
        nodes: nodes.clone(),
    };
    let free = of(vec![2; 4]);
    assert!((optimum(&free.program(false).program) - 3.0).abs() < 1e-9);
    assert!((optimum(&free.program(true).program) - 3.0).abs() < 1e-9);
    let once = of(vec![1, 2, 2, 2]);
    // Each leaf has half of what it takes by the centre; the second flip brings half a leaf, wherever it is made.
    assert!((optimum(&once.program(false).program) - 2.0).abs() < 1e-9);
    assert!((optimum(&once.program(true).program) - 1.0).abs() < 1e-9);
    let frozen = of(vec![0, 2, 2, 2]);
    assert!((optimum(&frozen.program(false).program) - 1.0).abs() < 1e-9);
    let one = CountInstance { attacker: Attacker { attacked: Some(1), ..once.attacker.clone() }, ..once };
    assert!((optimum(&one.program(true).program) - 1.0).abs() < 1e-9);
}

/// Shares tell flips of one source apart: one flip breaks both nodes, the others need each other.
#[test]
fn shares_by_hand() {
    let instance = FlipInstance {
        attacker: Attacker { global: 1, local: vec![2, 2], attacked: None },
        sources: vec![0, 0, 1],
        rows: vec![vec![vec![(0, 1.0), (1, 0.5), (2, 0.5)]], vec![vec![(0, 1.0), (1, 0.5)], vec![(1, 0.5), (2, 0.5)]]],
    };
    assert!((optimum(&instance.program(true)) - 1.0).abs() < 1e-9);
    let two = FlipInstance { attacker: Attacker { global: 2, ..instance.attacker.clone() }, ..instance.clone() };
    // The second node asks for both others; a third of the first flip, the second, and two thirds of the last bring 5/6
    // of it.
    assert!((optimum(&two.program(true)) - 1.0).abs() < 1e-9);
    assert!((optimum(&two.program(false)) - 11.0 / 6.0).abs() < 1e-9);
    let three = FlipInstance { attacker: Attacker { global: 3, ..instance.attacker.clone() }, ..instance };
    assert!((optimum(&three.program(true)) - 2.0).abs() < 1e-9);
}

#[test]
fn integer_counts_are_those_of_trying_everything() {
    let mut random = Stream::new(20);
    let mut gaps = 0;
    for at in 0..300 {
        let instance = count_instance(&mut random);
        let falls = |way: &Vec<usize>| {
            let fallen = |node: &&CountNode| node.sources.iter().map(|&m| way[m]).sum::<usize>() >= node.needed;
            instance.nodes.iter().filter(fallen).count()
        };
        let most = ways(&instance.attacker).iter().map(falls).max().expect("no flip is one way") as f64;
        let (whole, relaxed) = (instance.program(true), instance.program(false));
        assert_eq!(whole.program.validate(), Ok(()));
        let (integers, lp) = (optimum(&whole.program), optimum(&relaxed.program));
        assert!((integers - most).abs() < 1e-6, "{at}: {integers}, {most} by trying: {instance:?}");
        assert!(lp >= integers - 1e-6, "{at}: {lp} < {integers}");
        gaps += usize::from(lp > integers + 1e-3);
    }
    assert!(gaps > 30, "{gaps}: the problems have become too easy");
}

#[test]
fn integer_flips_are_those_of_trying_everything() {
    let mut random = Stream::new(21);
    for at in 0..200 {
        let sources: Vec<usize> = (0..1 + random.below(7)).map(|_| random.below(3)).collect();
        let share = |random: &mut Stream| [0.25, 0.5, 0.75, 1.0][random.below(4)];
        let row = |random: &mut Stream| -> Vec<(usize, f64)> {
            (0..sources.len())
                .filter(|_| random.chance(60))
                .collect::<Vec<_>>()
                .into_iter()
                .map(|f| (f, share(random)))
                .collect()
        };
        let rows = (0..1 + random.below(5)).map(|_| (0..random.below(3)).map(|_| row(&mut random)).collect()).collect();
        let instance = FlipInstance { attacker: attacker(&mut random, 3, 3), sources, rows };
        let admits = |set: u32| {
            let made: Vec<usize> = (0..instance.sources.len()).filter(|f| set >> f & 1 == 1).collect();
            let of = |m: usize| made.iter().filter(|&&f| instance.sources[f] == m).count();
            let attacker = &instance.attacker;
            let attacked = (0..3).filter(|&m| of(m) > 0).count();
            made.len() <= attacker.global
                && (0..3).all(|m| of(m) <= attacker.local[m])
                && attacker.attacked.is_none_or(|most| attacked <= most)
        };
        let falls = |set: u32| {
            let sum =
                |row: &Vec<(usize, f64)>| row.iter().filter(|(f, _)| set >> f & 1 == 1).map(|(_, s)| s).sum::<f64>();
            instance.rows.iter().filter(|rows| rows.iter().all(|row| sum(row) >= 1.0)).count()
        };
        let sets = (0..1 << instance.sources.len()).filter(|&set| admits(set));
        let most = sets.map(falls).max().expect("no flip is a set") as f64;
        let (integers, lp) = (optimum(&instance.program(true)), optimum(&instance.program(false)));
        assert!((integers - most).abs() < 1e-6, "{at}: {integers}, {most} by trying: {instance:?}");
        assert!(lp >= integers - 1e-6, "{at}: {lp} < {integers}");
    }
}

/// Rows of equal shares `1/r` over the flips of the sources are the program of counts.
#[test]
fn equal_shares_are_counts() {
    let mut random = Stream::new(22);
    for at in 0..200 {
        let counts = count_instance(&mut random);
        let local = &counts.attacker.local;
        let sources: Vec<usize> = local.iter().enumerate().flat_map(|(m, &q)| vec![m; q]).collect();
        let row = |node: &CountNode| -> Vec<Vec<(usize, f64)>> {
            let own = (0..sources.len()).filter(|&f| node.sources.contains(&sources[f]));
            if node.needed == 0 { Vec::new() } else { vec![own.map(|f| (f, 1.0 / node.needed as f64)).collect()] }
        };
        let rows = counts.nodes.iter().map(row).collect();
        let flips = FlipInstance { attacker: counts.attacker.clone(), sources, rows };
        let (by_counts, by_flips) = (optimum(&counts.program(false).program), optimum(&flips.program(false)));
        assert!((by_counts - by_flips).abs() < 1e-6, "{at}: {by_counts} {by_flips}: {counts:?}");
    }
}

/// Duals, as multipliers of nodes, attain the optimum: `Σ (1 − μ_n)` and the best flips, each worth `Σ μ_n / r_n` over
/// the nodes that it serves.
#[test]
fn multipliers_attain_the_optimum() {
    let mut random = Stream::new(23);
    for at in 0..200 {
        let mut instance = count_instance(&mut random);
        instance.attacker.attacked = None;
        let model = instance.program(false);
        let answer = Highs.solve(&model.program, &Limits::default());
        let multipliers = model.multipliers(&instance, &answer.row_duals.expect("duals"));
        assert!(multipliers.iter().all(|&x| (-1e-9..=1.0 + 1e-9).contains(&x)), "{at}: {multipliers:?}");
        let nodes = || instance.nodes.iter().zip(&multipliers).filter(|(node, _)| node.needed > 0);
        let worth = |m: usize| {
            nodes().filter(|(node, _)| node.sources.contains(&m)).map(|(node, x)| x / node.needed as f64).sum::<f64>()
        };
        let mut flips: Vec<f64> =
            (0..instance.attacker.local.len()).flat_map(|m| vec![worth(m); instance.attacker.local[m]]).collect();
        flips.sort_by(|x, y| y.total_cmp(x));
        let constant: f64 = multipliers.iter().map(|x| 1.0 - x).sum();
        let bound = constant + flips.iter().take(instance.attacker.global).sum::<f64>();
        let lp = -answer.review.objective.expect("a point");
        assert!((bound - lp).abs() < 1e-6, "{at}: {bound} {lp}: {instance:?}");
    }
}

/// Two nodes that see each other and share an attribute: a flip at either breaks both, and each has both as sources.
#[test]
fn the_truth_by_hand() {
    let all = Sparse { rows: 2, columns: 2, entries: vec![(0, 0, 1.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 1.0)] };
    // Class 0 has the number of attributes in sight, class 1 has 1.5: two attributes, one at each node, are above it.
    let weight = Dense { rows: 1, columns: 2, values: vec![1.0, 0.0] };
    let instance = Instance {
        layers: vec![Layer::convolution(all, weight, vec![0.0, 1.5])],
        dimension: 1,
        attributes: vec![vec![0], vec![0]],
        local_budget: vec![1, 1],
        global_budget: 2,
        may_add: true,
        may_remove: true,
        objective: vec![1.0, -1.0],
        ..Instance::default()
    };
    let found = truth(&instance, &[(0, 0), (1, 0)], None, 100).expect("four perturbations");
    assert_eq!((found.most, found.flips.len()), (2, 1));
    assert_eq!(found.needed, [Some(1), Some(1)]);
    assert_eq!(found.sizes[0].values().collect::<Vec<_>>(), [&1, &1]);
    assert_eq!(found.sources[0].len(), 2);
    assert_eq!(found.nearest, 0.5);
    assert_eq!(truth(&instance, &[(0, 0)], Some(0), 100).expect("four").most, 0);
    assert!(truth(&instance, &[(0, 0)], None, 3).is_err());
}
