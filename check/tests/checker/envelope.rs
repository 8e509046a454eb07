//! Envelopes: lines from prices of flips, against the page that defines them.

use crate::common;

use std::cmp::Ordering;

use common::{Big, Random, World, layer, random_price, world};
use gcnproof_check::format::*;
use gcnproof_check::{Fault, Reason, Verdict, check};
use rayon::prelude::*;

type Flip = (u32, u32);

const ONE: i64 = 1 << 20;

fn leaf(envelope: Envelope) -> Step {
    Step::Leaf(Box::new(Leaf { cap: true, envelope: Some(Box::new(envelope)), ..Leaf::default() }))
}

fn robust(tree: Vec<Step>) -> NodeProof {
    NodeProof { id: 0, class: 0, claim: Claim::Robust(vec![ClassProof { class: 1, tree }]) }
}

/// The envelope of one unit, with whole prices.
fn one_unit(nodes: &[u32], flips: &[Flip], unit: UnitPrices) -> Envelope {
    Envelope { exponent: 0, nodes: nodes.to_vec(), flips: flips.to_vec(), units: vec![unit] }
}

fn judged(world: &World, tree: Vec<Step>) -> bool {
    match world.judge(&robust(tree)) {
        Ok(verdict) => verdict == Verdict::Robust,
        Err(Fault { reason: Reason::Bound(_), .. }) => false,
        Err(fault) => panic!("{fault:?}"),
    }
}

/// Unit 0 stands at −1, and each of two nodes can add one attribute that raises it by 1. That of node 1 also raises
/// unit 1, which makes up for all of it. The margin is `lead`, and no flips make it smaller.
fn two_nodes(lead: f64) -> World {
    let hidden = layer(&[&[1.0, 0.0], &[1.0, 1.0]], &[-3.0, 0.0]);
    let logits = layer(&[&[-1.0, 0.0], &[1.0, 0.0]], &[lead - 1.0, 0.0]);
    let mut world = world(&[&[0, 1], &[1, 0]], 2, vec![hidden, logits], 2, 1);
    world.header.message_passing = vec!["sum+self".into(), "identity".into()];
    world.header.budget.direction = Direction::Add;
    world
}

#[test]
fn only_an_envelope_proves_it() {
    let tiny = 2f64.powi(-50);
    // Chord, anchored and capped bound all charge ½ for the flip of node 0, and so does any mixture.
    for weight in 0..=8 {
        for cap in [false, true] {
            let weight = vec![(2, 0, 0, weight * ONE / 8)];
            let plain = Step::Leaf(Box::new(Leaf { cap, weight, ..Leaf::default() }));
            assert!(!judged(&two_nodes(0.5), vec![plain.clone()]));
            assert!(judged(&two_nodes(0.5 + tiny), vec![plain]));
        }
    }
    // A price of 1 for node 0, or for its flip, pays for it: what is left is its share of ½, exactly.
    for share in [0, 1, ONE / 4, ONE / 2, ONE - 1, ONE] {
        let of_node = one_unit(&[0], &[], UnitPrices(0, 0, share, 0, vec![1], vec![]));
        let of_flip = one_unit(&[], &[(0, 0)], UnitPrices(0, 0, share, 0, vec![], vec![1]));
        let needed = 0.5 - share as f64 / (2 * ONE) as f64;
        for envelope in [of_node, of_flip] {
            for (lead, accepted) in [(needed, false), (needed + tiny, true), (needed - tiny, false)] {
                assert_eq!(judged(&two_nodes(lead), vec![leaf(envelope.clone())]), accepted, "{lead} {envelope:?}");
            }
        }
    }
    // A price for the wrong node, or one for all that pays too much, proves nothing.
    for prices in [UnitPrices(0, 0, ONE, 0, vec![0, 1], vec![]), UnitPrices(0, 0, ONE, 1, vec![], vec![])] {
        assert!(!judged(&two_nodes(0.25), vec![leaf(one_unit(&[0, 1], &[], prices))]));
    }
}

/// Unit 0 of node 0 stands at −1. Node 0 can add an attribute that raises it by 2; node 1 one that does not reach it,
/// but takes 3 elsewhere. With `τ = 1` and a price of −1 for node 1, `A = 1`; the first flip takes 1 more, and the
/// second gives 1 back.
#[test]
fn units_that_a_flip_does_not_reach_give_something_back() {
    let hidden = layer(&[&[2.0, 0.0], &[0.0, 3.0]], &[-1.0, 0.0]);
    let of_node = one_unit(&[1], &[], UnitPrices(0, 0, ONE, 1, vec![-1], vec![]));
    let of_flip = one_unit(&[], &[(1, 1)], UnitPrices(0, 0, ONE, 1, vec![], vec![-1]));
    let of_both = one_unit(&[0, 1], &[(0, 0), (1, 1)], UnitPrices(0, 0, ONE, 0, vec![1, -1], vec![0, 1]));
    for (lead, accepted) in [(2.99, false), (3.0, false), (3.0 + 1e-12, true)] {
        // At rest the other units take 4.
        let logits = layer(&[&[-1.0, 0.0], &[-1.0, 0.0]], &[lead + 4.0, 0.0]);
        let mut world = world(&[&[0, 1], &[1, 0]], 2, vec![hidden.clone(), logits], 1, 1);
        world.header.message_passing = vec!["identity".into(), "sum+self".into()];
        world.header.budget.direction = Direction::Add;
        for envelope in [&of_node, &of_flip] {
            assert_eq!(judged(&world, vec![leaf(envelope.clone())]), accepted, "{lead} {envelope:?}");
        }
        // ν₀ = 1, ν₁ = −1 and ρ of node 1's flip 1: A = max(−1 + 1 + 1, 1), and u = 1, v = 1 for that flip as before.
        assert_eq!(judged(&world, vec![leaf(of_both.clone())]), accepted, "{lead}");
    }
}

/// Unit 0 stands at −1, either node can raise or lower it by 2, once. Raising it by node 1 makes up for that elsewhere,
/// lowering it by node 0 takes 2 elsewhere. Split on node 0 raising it, which leaves −1 or 1.
#[test]
fn prices_count_what_the_path_leaves() {
    let needs = |[first, second]: [&Step; 2], lead: f64| {
        for (more, accepted) in [(0.0, false), (2f64.powi(-40), true)] {
            let hidden = layer(&[&[2.0, 0.0], &[2.0, 2.0]], &[-5.0, 0.0]);
            let logits = layer(&[&[-1.0, 0.0], &[1.0, 0.0]], &[lead + more - 2.0, 0.0]);
            let mut world = world(&[&[0, 1], &[1, 0]], 2, vec![hidden, logits], 2, 1);
            world.header.message_passing = vec!["sum+self".into(), "identity".into()];
            let tree = vec![Step::Flip(0, 0), first.clone(), second.clone()];
            assert_eq!(judged(&world, tree), accepted, "{lead} {first:?} {second:?}");
        }
    };
    let price = |every: i64, node: i64, flip: i64| {
        leaf(one_unit(&[0], &[(0, 0)], UnitPrices(0, 0, ONE, every, vec![node], vec![flip])))
    };
    // Without it, the flip of node 0 that lowers the unit takes 2, and that is all.
    let plain = Step::Leaf(Box::new(Leaf { cap: true, ..Leaf::default() }));
    needs([&plain, &plain], 2.0);
    for flip in [-7, 0, 7] {
        // The flip is decided: its own price is of no consequence.
        needs([&price(0, 0, flip), &price(0, 0, flip)], 2.0);
        // Where it is not made, node 0 has one left: A = −1 + 7, or 7 of which lowering the unit gives 2 back.
        needs([&price(0, 7, flip), &plain], 8.0);
        needs([&price(0, -7, flip), &plain], 7.0);
        // Where it is made, node 0 has none left, and A = 1; both nodes together have one.
        for node in [-7, 0, 7] {
            needs([&plain, &price(0, node, flip)], 2.0);
            needs([&plain, &price(-3, node, flip)], 3.0);
            needs([&plain, &price(3, node, flip)], 4.0);
        }
    }
}

/// Floats leave the sign and the sum open; a price that is a power of two away from the rest does not disturb them.
#[test]
fn cancellation_does_not_decide() {
    // Exactly at −0.7 (1e16 + 0.3 − 1e16 − 1), a flip by 4, or by −4.
    let hidden = layer(&[&[1e16], &[0.3], &[-1e16], &[4.0], &[-4.0]], &[-1.0]);
    let way = Big::from(1.0).minus(&Big::from(0.3)).approximate();
    for (exponent, numerator) in [(-52, (way * 2f64.powi(52)) as i64), (-53, (way * 2f64.powi(53)) as i64)] {
        for unit in [
            UnitPrices(0, 0, ONE, numerator, vec![], vec![]),
            UnitPrices(0, 0, ONE, 0, vec![numerator], vec![]),
            UnitPrices(0, 0, ONE, 0, vec![], vec![numerator]),
        ] {
            let envelope = Envelope { exponent, nodes: vec![0], flips: vec![(0, 3)], units: vec![unit] };
            for (lead, accepted) in [(3.5, true), (3.3 + 1e-14, true), (3.3 - 1e-14, false)] {
                let layers = vec![hidden.clone(), layer(&[&[-1.0, 0.0]], &[lead, 0.0])];
                let mut world = world(&[&[1, 1, 1, 0, 0]], 5, layers, 1, 1);
                world.header.budget.frozen_attributes = vec![0, 1, 2];
                assert_eq!(judged(&world, vec![leaf(envelope.clone())]), accepted, "{lead} {envelope:?}");
            }
        }
    }
    // Prices beyond all floats of the network, and below them: A is exact, and so is what flips give back.
    for (exponent, accepted) in [(900, false), (-1074, false)] {
        for numerator in [1 << 53, 1, -1, -(1 << 53)] {
            let prices = UnitPrices(0, 0, ONE, numerator, vec![-numerator], vec![numerator]);
            let envelope = Envelope { exponent, nodes: vec![0], flips: vec![(0, 0)], units: vec![prices] };
            assert_eq!(judged(&two_nodes(0.5), vec![leaf(envelope)]), accepted);
        }
    }
    // The smallest price there is: of a rise by 1 from −3t, with t = 2⁻¹⁰⁷⁴, 3t are paid for, and the lead is 1 − 2t.
    let hidden = layer(&[&[1.0]], &[-f64::from_bits(3)]);
    for (numerator, accepted) in [(2, false), (3, true), (4, true)] {
        let logits = layer(&[&[-1.0, 0.0]], &[1.0, f64::from_bits(2)]);
        let mut world = world(&[&[0]], 1, vec![hidden.clone(), logits], 1, 1);
        world.header.message_passing = vec!["identity".into(); 2];
        let prices = UnitPrices(0, 0, ONE, numerator, vec![], vec![]);
        let envelope = Envelope { exponent: -1074, nodes: vec![], flips: vec![], units: vec![prices] };
        assert_eq!(judged(&world, vec![leaf(envelope)]), accepted, "{numerator}");
    }
}

#[test]
fn envelopes_must_be_admissible() {
    let mut world = two_nodes(0.25);
    world.header.budget.frozen_attributes = vec![1];
    let good = Envelope {
        exponent: -3,
        nodes: vec![0, 1],
        flips: vec![(0, 0)],
        units: vec![UnitPrices(0, 0, ONE, 0, vec![8], vec![-1]), UnitPrices(0, 1, 0, -5, vec![1, 2], vec![])],
    };
    assert!(judged(&world, vec![leaf(good.clone())]));
    let of = |world: &World, change: &dyn Fn(&mut Envelope)| {
        let mut changed = good.clone();
        change(&mut changed);
        let fault = world.judge(&robust(vec![leaf(changed)])).unwrap_err();
        assert_eq!((fault.class, fault.step), (Some(1), Some(0)));
        fault.reason
    };
    let (first, second) = ((2, 0, 0), (2, 0, 1));
    let too_large = (1 << 53) + 1;
    type Change<'a> = &'a dyn Fn(&mut Envelope);
    let wrong: [(Change, Reason); 24] = [
        (&|e| e.exponent = 901, Reason::EnvelopeExponent(901)),
        (&|e| e.exponent = -1075, Reason::EnvelopeExponent(-1075)),
        (&|e| e.exponent = i32::MIN, Reason::EnvelopeExponent(i32::MIN)),
        (&|e| e.nodes = vec![0, 2], Reason::EnvelopeNode(2)),
        (&|e| e.nodes = vec![u32::MAX], Reason::EnvelopeNode(u32::MAX)),
        (&|e| e.nodes = vec![1, 0], Reason::EnvelopeNodeOrder(0)),
        (&|e| e.nodes = vec![1, 1], Reason::EnvelopeNodeOrder(1)),
        (&|e| e.flips = vec![(0, 0), (0, 0)], Reason::FlipOrder((0, 0))),
        (&|e| e.flips = vec![(0, 1)], Reason::Flip((0, 1))),
        (&|e| e.flips = vec![(1, 0)], Reason::Flip((1, 0))),
        (&|e| e.flips = vec![(0, 2)], Reason::Flip((0, 2))),
        (&|e| e.flips = vec![(2, 0)], Reason::Flip((2, 0))),
        (&|e| e.units.swap(0, 1), Reason::MultiplierOrder("envelope", first)),
        (&|e| e.units[1].1 = 0, Reason::MultiplierOrder("envelope", first)),
        (&|e| e.units[1].1 = 2, Reason::Unit((2, 0, 2))),
        (&|e| e.units[1].0 = 2, Reason::Unit((2, 2, 1))),
        (&|e| e.units[0].2 = ONE + 1, Reason::MultiplierRange("envelope", first)),
        (&|e| e.units[1].2 = -1, Reason::MultiplierRange("envelope", second)),
        (&|e| e.units[1].3 = too_large, Reason::PriceRange("tau", second, 0)),
        (&|e| e.units[0].3 = i64::MIN, Reason::PriceRange("tau", first, 0)),
        (&|e| e.units[1].4[1] = -too_large, Reason::PriceRange("nu", second, 1)),
        (&|e| e.units[0].5[0] = i64::MAX, Reason::PriceRange("rho", first, 0)),
        (&|e| e.units[1].4.push(0), Reason::PriceCount("nu", second, 3, 2)),
        (&|e| e.units[0].5.push(0), Reason::PriceCount("rho", first, 2, 1)),
    ];
    for (change, reason) in wrong {
        assert_eq!(of(&world, change), reason);
    }
    // The largest numerators and exponents are right.
    for numerator in [1 << 53, -(1 << 53)] {
        for exponent in [900, -1074] {
            let prices = UnitPrices(0, 0, 0, numerator, vec![numerator; 2], vec![numerator]);
            judged(&world, vec![leaf(Envelope { exponent, units: vec![prices], ..good.clone() })]);
        }
    }
    // The share has the leaf's exponent.
    let mut share = Leaf { exponent: 0, envelope: Some(Box::new(good.clone())), ..Leaf::default() };
    let reason = |leaf: &Leaf| world.judge(&robust(vec![Step::Leaf(Box::new(leaf.clone()))])).unwrap_err().reason;
    assert_eq!(reason(&share), Reason::MultiplierRange("envelope", first));
    share.exponent = 901;
    assert_eq!(reason(&share), Reason::Exponent(901));
    // A node that exists, but sends nothing to the target.
    let mut alone = two_nodes(0.25);
    alone.header.message_passing[0] = "identity".into();
    assert_eq!(of(&alone, &|_| {}), Reason::EnvelopeNode(1));
    assert_eq!(of(&alone, &|e| (e.nodes, e.flips) = (vec![0], vec![(0, 0), (1, 1)])), Reason::Outside((1, 1)));
    // No hidden units, no envelope.
    let linear = common::world(&[&[0]], 1, vec![layer(&[&[0.0, 0.0]], &[1.0, 0.0])], 1, 1);
    assert_eq!(of(&linear, &|e| *e = Envelope::default()), Reason::Layer(2));
    assert_eq!(of(&linear, &|_| {}), Reason::Layer(2));
}

#[test]
fn malformed_envelopes_are_named() {
    let world = two_nodes(0.25);
    let prices = UnitPrices(0, 0, ONE, 0, vec![1], vec![]);
    let file = String::from_utf8(world.file(&[robust(vec![leaf(one_unit(&[0], &[], prices))])])).unwrap();
    let good = r#"{"e":0,"nodes":[0],"units":[[0,0,1048576,0,[1],[]]]}"#;
    assert!(file.contains(good), "{file}");
    let rejection = |envelope: &str| {
        let text = file.replace(good, envelope);
        let summary = check(&world.graph, &world.model, &world.options(), text.as_bytes(), |_| {});
        summary.rejections.first().map(ToString::to_string)
    };
    for right in [
        good,
        r#"{"nodes":[0],"flips":[],"units":[[0,0,1048576,0,[1],[]]]}"#,
        r#"{"e":-2,"nodes":[0,1],"flips":[[0,0]],"units":[[0,0,1048576,0,[4],[0]]]}"#,
    ] {
        assert_eq!(rejection(right), None, "{right}");
    }
    let at = "line 2, node 0, class 1, tree node 0: ";
    for (wrong, text) in [
        ("{}", "the bound is not above 0"),
        (r#"{"e":901}"#, "envelope: the exponent 901 is out of range"),
        (r#"{"nodes":[3]}"#, "envelope: node 3 is no node whose attributes the target depends on"),
        (r#"{"nodes":[1,0]}"#, "envelope: node 0 is listed twice or out of order"),
        (r#"{"flips":[[0,1]]}"#, "flip (0, 1) does not exist or is not permitted"),
        (r#"{"units":[[0,7,0,0,[],[]]]}"#, "[layer, node, unit] = (2, 0, 7) is no hidden unit"),
        (r#"{"units":[[0,0,9999999,0,[],[]]]}"#, "multiplier envelope of (2, 0, 0) is out of range"),
        (
            r#"{"units":[[0,1,0,0,[],[]],[0,0,0,0,[],[]]]}"#,
            "multiplier envelope of (2, 0, 0) is listed twice or out of order",
        ),
        (r#"{"units":[[0,0,1,0,[4],[]]]}"#, "envelope: 1 prices nu of (2, 0, 0), but only 0 are listed"),
        (
            r#"{"nodes":[0,1],"units":[[0,0,1,0,[4,9007199254740993],[]]]}"#,
            "envelope: price nu of (2, 0, 0) is out of range at place 1 of the list",
        ),
    ] {
        let found = rejection(wrong).unwrap();
        assert!(found.starts_with(&format!("{at}{text}")), "{wrong}: {found}");
    }
    for wrong in [
        "0",
        "null",
        "true",
        r#"{"units":[0]}"#,
        r#"{"units":{}}"#,
        r#"{"units":[[0,0,1,0,[]]]}"#,
        r#"{"units":[[0,0,1,0,[],[],[]]]}"#,
        r#"{"units":[[0,0,1,0,1,[]]]}"#,
        r#"{"units":[[-1,0,1,0,[],[]]]}"#,
        r#"{"units":[[0,0,0.5,0,[],[]]]}"#,
        r#"{"units":[[0,0,1,1e3,[],[]]]}"#,
        r#"{"units":[[0,0,1,9223372036854775808,[],[]]]}"#,
        r#"{"e":0.5}"#,
        r#"{"e":4294967296}"#,
        r#"{"nodes":[-1]}"#,
        r#"{"nodes":[4294967296]}"#,
        r#"{"nodes":0}"#,
        r#"{"flips":[0]}"#,
        r#"{"flips":[[0]]}"#,
        r#"{"flips":[[0,0,0]]}"#,
        r#"{"e":0,"e":0}"#,
        r#"{"payers":[0]}"#,
    ] {
        let found = rejection(wrong).unwrap();
        assert!(found.starts_with("line 2: not a line of this format") || found.contains("format"), "{wrong}: {found}");
    }
}

/// What a leaf's path has decided, and the free flips.
#[derive(Clone)]
struct Path<'a> {
    world: &'a World,
    reference: usize,
    flipped: Vec<Flip>,
    fixed: Vec<Flip>,
    /// Split units of representation 2, and whether on the side `z ≥ 0`.
    units: Vec<((u32, u32), bool)>,
}

impl Path<'_> {
    /// `Q'` and `q'_n`, negative where more was spent.
    fn left(&self) -> (i64, Vec<i64>) {
        let (rows, columns) = (self.world.graph.attributes.rows, self.world.graph.attributes.columns as u64);
        let spent = |n: usize| self.flipped.iter().filter(|flip| flip.0 as usize == n).count() as i64;
        let local = (0..rows).map(|n| self.world.local(n).min(columns) as i64 - spent(n)).collect();
        let global = self.world.header.budget.global.min(rows as u64 * columns);
        (global as i64 - self.flipped.len() as i64, local)
    }

    fn free(&self) -> Vec<Flip> {
        self.world.permitted().into_iter().filter(|flip| !self.fixed.contains(flip)).collect()
    }

    /// Of the positive numbers the `q'_n` largest of each row, of those the `Q'` largest, falling.
    fn largest(&self, numbers: impl Iterator<Item = (u32, Big)>) -> Vec<Big> {
        let (global, mut local) = self.left();
        let mut numbers: Vec<(u32, Big)> = numbers.filter(|number| number.1.sign() == Ordering::Greater).collect();
        numbers.sort_by(|a, b| b.1.minus(&a.1).sign());
        numbers.retain(|(n, _)| {
            local[*n as usize] -= 1;
            local[*n as usize] >= 0
        });
        numbers.truncate(global as usize);
        numbers.into_iter().map(|number| number.1).collect()
    }
}

fn total(numbers: &[Big]) -> Big {
    numbers.iter().fold(Big::from(0.0), |sum, number| sum.plus(number))
}

fn most(a: &Big, b: &Big) -> Big {
    a.plus(&b.minus(a).positive_part())
}

fn least(a: &Big, b: &Big) -> Big {
    a.minus(&a.minus(b).positive_part())
}

/// `numerator · 2^exponent`.
fn price(numerator: i64, exponent: i32) -> Big {
    Big::from(numerator as f64).times(&Big::power(exponent))
}

/// `T` of the page.
fn level(way: &Big, changes: &[Big]) -> Big {
    let mut best = Big::from(0.0);
    for i in (1..=changes.len()).filter(|_| way.sign() == Ordering::Greater) {
        let share = way.minus(&total(&changes[i..])).positive_part().share_of(&way.times(&Big::from(i as f64)));
        best = most(&best, &share);
    }
    way.times(&best)
}

/// A lower bound on `a·relu(z)`: what it is without flips, and what each free flip adds.
type Bound = (Big, Vec<Big>);

fn mix(share: &Big, one: &Bound, other: &Bound) -> Bound {
    let rest = Big::from(1.0).minus(share);
    let blend = |a: &Big, b: &Big| a.times(share).plus(&b.times(&rest));
    (blend(&one.0, &other.0), one.1.iter().zip(&other.1).map(|(a, b)| blend(a, b)).collect())
}

/// A unit of representation 2 on a path.
struct Unit<'a> {
    path: &'a Path<'a>,
    z: Big,
    /// Node and change of each free flip.
    changes: Vec<(u32, Big)>,
    lower: Big,
    upper: Big,
}

impl<'a> Unit<'a> {
    fn new(path: &'a Path, m: usize, j: usize) -> Unit<'a> {
        let (world, hidden) = (path.world, &path.world.model.layers[0]);
        let present = |n: u32, d: u32| world.graph.attributes.contains(n as usize, d);
        let mut z = Big::from(hidden.bias[j]);
        let sent = |n: u32, d: u32| {
            Big::from(world.entry(0, m, n as usize)).times(&Big::from(hidden.weight.get(d as usize, j)))
        };
        for n in 0..world.graph.attributes.rows as u32 {
            for d in 0..hidden.weight.rows as u32 {
                if present(n, d) != path.flipped.contains(&(n, d)) {
                    z = z.plus(&sent(n, d));
                }
            }
        }
        let sign = |n: u32, d: u32| Big::from(if present(n, d) { -1.0 } else { 1.0 });
        let changes: Vec<(u32, Big)> = path.free().iter().map(|&(n, d)| (n, sign(n, d).times(&sent(n, d)))).collect();
        let mut unit = Unit { path, lower: z.clone(), upper: z.clone(), z, changes };
        unit.lower = unit.z.minus(&total(&unit.towards(-1.0)));
        unit.upper = unit.z.plus(&total(&unit.towards(1.0)));
        unit
    }

    /// The largest changes in one direction.
    fn towards(&self, sign: f64) -> Vec<Big> {
        self.path.largest(self.changes.iter().map(|(n, x)| (*n, x.times(&Big::from(sign)))))
    }

    fn through(&self, slope: &Big, intercept: &Big) -> Bound {
        let changes = self.changes.iter().map(|x| slope.times(&x.1)).collect();
        (slope.times(&self.z).plus(intercept), changes)
    }

    /// The chord with the default slope, `a < 0`.
    fn chord(&self, a: &Big) -> Bound {
        let share = self.upper.share_of(&self.upper.minus(&self.lower));
        let slope = a.times(&share);
        let ends = least(&slope.times(&self.lower).times(&Big::from(-1.0)), &a.minus(&slope).times(&self.upper));
        self.through(&slope, &least(&ends, &Big::from(0.0)))
    }

    /// The capped bound, `a < 0`.
    fn capped(&self, a: &Big) -> Bound {
        let below = self.z.sign() == Ordering::Less;
        let towards = if below { 1.0 } else { -1.0 };
        let level = level(&self.z.times(&Big::from(-towards)), &self.towards(towards));
        let kink = |g: &Big| {
            // max(g − T, 0), or max(g, −T) = max(g + T, 0) − T.
            if below { g.minus(&level).positive_part() } else { g.plus(&level).positive_part().minus(&level) }
        };
        (a.times(&self.z.positive_part()), self.changes.iter().map(|x| a.times(&kink(&x.1))).collect())
    }

    /// The envelope, `a < 0`.
    fn envelope(
        &self,
        a: &Big,
        envelope: &Envelope,
        UnitPrices(_, _, _, every, of_nodes, of_flips): &UnitPrices,
    ) -> Bound {
        let (global, local) = self.path.left();
        let exponent = envelope.exponent;
        let zero = Big::from(0.0);
        // Plus and minus are the two sides: prices by sign, of everything that the budget allows.
        let side = |sign: f64, start: &Big| {
            let size = |numerator: i64| price(numerator, exponent).times(&Big::from(sign)).positive_part();
            let mut sum = start.plus(&size(*every).times(&Big::from(global as f64)));
            for (&n, &nu) in envelope.nodes.iter().zip(of_nodes) {
                let count = local[n as usize].min(global);
                sum = sum.plus(&size(nu).times(&Big::from(count as f64)));
            }
            for (flip, &rho) in envelope.flips.iter().zip(of_flips) {
                if !self.path.fixed.contains(flip) {
                    sum = sum.plus(&size(rho));
                }
            }
            let of = |flip: &Flip| {
                let nu = envelope.nodes.iter().position(|n| *n == flip.0).and_then(|at| of_nodes.get(at));
                let rho = envelope.flips.iter().position(|one| one == flip).and_then(|at| of_flips.get(at));
                size(*every)
                    .plus(&nu.map_or(zero.clone(), |nu| size(*nu)))
                    .plus(&rho.map_or(zero.clone(), |rho| size(*rho)))
            };
            (sum, self.path.free().iter().map(of).collect::<Vec<Big>>())
        };
        let ((on, u), (off, v)) = (side(1.0, &self.z), side(-1.0, &zero));
        let taken = self
            .changes
            .iter()
            .zip(u.iter().zip(&v))
            .map(|((_, g), (u, v))| a.times(&most(&g.minus(u), &v.times(&Big::from(-1.0)))));
        (a.times(&most(&on, &off)), taken.collect())
    }
}

/// The bound of a leaf with `cap`, an envelope and weights, of a network whose units above representation 2 are all
/// stable, straight from the page: `None` where no perturbation takes the path.
fn bound(path: &Path, class: usize, leaf: &Leaf) -> Option<Big> {
    let world = path.world;
    let (global, local) = path.left();
    if global < 0 || local.iter().any(|&left| left < 0) {
        return None;
    }
    let nodes = world.graph.attributes.rows;
    let big = Big::from;
    let mut constant = big(0.0);
    // Coefficients of the pre-activations above, by node and unit; at the top only node 0 has any.
    let mut phi = vec![vec![big(0.0); world.classes()]; nodes];
    (phi[0][path.reference], phi[0][class]) = (big(1.0), big(-1.0));
    for (at, layer) in world.model.layers.iter().enumerate().skip(1).rev() {
        for (j, bias) in layer.bias.iter().enumerate() {
            phi.iter().for_each(|phi| constant = constant.plus(&phi[j].times(&big(*bias))));
        }
        let pulled = |n: usize, i: usize| {
            let mut sum = big(0.0);
            for (m, phi) in phi.iter().enumerate() {
                let received = phi.iter().enumerate().map(|(j, phi)| phi.times(&big(layer.weight.get(i, j))));
                sum = sum.plus(&big(world.entry(at, m, n)).times(&total(&received.collect::<Vec<_>>())));
            }
            // A unit that is off takes nothing further.
            if at > 1 && world.model.layers[at - 1].bias[i] < 0.0 { big(0.0) } else { sum }
        };
        phi = (0..nodes).map(|n| (0..layer.weight.rows).map(|i| pulled(n, i)).collect()).collect();
    }
    let mut losses: Vec<(u32, Big)> = path.free().iter().map(|flip| (flip.0, big(0.0))).collect();
    for (m, phi) in phi.iter().enumerate() {
        for (j, a) in phi.iter().enumerate() {
            let unit = Unit::new(path, m, j);
            let id = (m as u32, j as u32);
            let side = path.units.iter().find(|split| split.0 == id).map(|split| split.1);
            // An empty side: R clipped above S, or S below R.
            match side {
                Some(true) if unit.upper.sign() == Ordering::Less => return None,
                Some(false) if unit.lower.sign() == Ordering::Greater => return None,
                _ => {}
            }
            let zero = big(0.0);
            let weight = leaf.weight.iter().find(|entry| (entry.1, entry.2) == id).map(|entry| price(entry.3, -20));
            let (base, gains) = match side {
                Some(true) => unit.through(a, &zero),
                Some(false) => unit.through(&zero, &zero),
                None if a.sign() == Ordering::Equal => unit.through(&zero, &zero),
                None if unit.lower.sign() != Ordering::Less => unit.through(a, &zero),
                None if unit.upper.sign() != Ordering::Greater => unit.through(&zero, &zero),
                None if a.sign() == Ordering::Greater => {
                    let usual = big(f64::from(u8::from(unit.z.sign() == Ordering::Greater)));
                    unit.through(&a.times(&weight.unwrap_or(usual)), &zero)
                }
                None => {
                    let usual = mix(&weight.unwrap_or(zero), &unit.chord(a), &unit.capped(a));
                    let envelope = leaf.envelope.as_ref();
                    let stated = envelope.and_then(|envelope| {
                        Some((envelope, envelope.units.iter().find(|stated| (stated.0, stated.1) == id)?))
                    });
                    match stated {
                        Some((envelope, prices)) => {
                            mix(&price(prices.2, -20), &unit.envelope(a, envelope, prices), &usual)
                        }
                        None => usual,
                    }
                }
            };
            constant = constant.plus(&base);
            losses.iter_mut().zip(gains).for_each(|(loss, gain)| loss.1 = loss.1.minus(&gain));
        }
    }
    Some(constant.minus(&total(&path.largest(losses.into_iter()))))
}

/// Prices that a prover might choose: all flips, those of one node and one flip share in paying for the way to zero.
fn choose(random: &mut Random, path: &Path) -> Envelope {
    let mut envelope = path.world.random_envelope(random);
    if !random.chance(70) {
        return envelope;
    }
    envelope.exponent = -40;
    let at = |size: f64| (size * 2f64.powi(40)).clamp(-9e15, 9e15) as i64;
    let (global, local) = path.left();
    for UnitPrices(node, unit, share, every, of_nodes, of_flips) in &mut envelope.units {
        let way = -Unit::new(path, *node as usize, *unit as usize).z.approximate();
        *share = 1 << 20;
        let parts = [[4, 0, 0], [0, 4, 0], [0, 0, 4], [2, 2, 0], [1, 0, 3], [0, 2, 2], [1, 1, 2]][random.below(7)];
        let [all, one_node, one_flip] = parts.map(|part| way * f64::from(part) / 4.0);
        *every = at(all / global.max(1) as f64);
        *of_nodes = vec![0; envelope.nodes.len()];
        *of_flips = vec![0; envelope.flips.len()];
        if !of_nodes.is_empty() {
            let place = random.below(of_nodes.len());
            let count = local[envelope.nodes[place] as usize].min(global).max(1);
            of_nodes[place] = at(one_node / count as f64);
        }
        if !of_flips.is_empty() {
            of_flips[random.below(envelope.flips.len())] = at(one_flip);
        }
        for one in of_nodes.iter_mut().chain(of_flips) {
            if random.chance(5) {
                *one = random_price(random, -40);
            }
        }
    }
    envelope
}

#[derive(Default)]
struct Grown {
    tree: Vec<Step>,
    bounds: Vec<(usize, Big)>,
    /// The envelope changes a bound, or makes it larger.
    matters: bool,
    helps: bool,
}

/// A random tree of flips, units and leaves with envelopes, and the places and bounds of its leaves.
fn grow(random: &mut Random, path: &Path, class: usize, depth: usize, found: &mut Grown) {
    let free = path.free();
    if depth == 0 || random.chance(20) {
        let mut leaf = Leaf { cap: true, ..Leaf::default() };
        let envelope = choose(random, path);
        leaf.weight = path.world.random_leaf(random).weight.into_iter().filter(|entry| entry.0 == 2).collect();
        let without = bound(path, class, &leaf);
        leaf.envelope = Some(Box::new(envelope));
        if let Some(bound) = bound(path, class, &leaf) {
            let change = without.map(|without| bound.minus(&without).sign());
            found.matters |= change.is_some_and(|sign| sign != Ordering::Equal);
            found.helps |= change == Some(Ordering::Greater);
            found.bounds.push((found.tree.len(), bound));
        }
        return found.tree.push(Step::Leaf(Box::new(leaf)));
    }
    let (mut first, mut second) = (path.clone(), path.clone());
    if free.is_empty() || random.chance(40) {
        let world = path.world;
        let unit =
            (random.below(world.graph.attributes.rows) as u32, random.below(world.model.layers[0].bias.len()) as u32);
        if path.units.iter().any(|split| split.0 == unit) {
            return grow(random, path, class, depth - 1, found);
        }
        found.tree.push(Step::Unit(2, unit.0, unit.1));
        first.units.push((unit, true));
        second.units.push((unit, false));
    } else {
        let flip = free[random.below(free.len())];
        found.tree.push(Step::Flip(flip.0, flip.1));
        first.fixed.push(flip);
        second.fixed.push(flip);
        second.flipped.push(flip);
    }
    grow(random, &first, class, depth - 1, found);
    grow(random, &second, class, depth - 1, found);
}

/// Random, with at least two nodes, and all units above representation 2 stable, on or off.
fn stable_above(random: &mut Random) -> Option<World> {
    let mut world = World::random(random);
    if world.depth() < 2 || world.graph.attributes.rows == 1 {
        return None;
    }
    for at in 1..world.depth() - 1 {
        let tame = |at: usize| {
            world.model.layers[at].weight.values.iter().chain(&world.model.layers[at].bias).all(|w| w.abs() < 8.0)
        };
        if !(0..at).all(tame) || world.model.layers[at].weight.values.iter().any(|w| w.abs() > 8.0) {
            return None;
        }
        world.model.layers[at].bias.iter_mut().for_each(|bias| *bias += [1e5, 1e5, -1e5][random.below(3)]);
    }
    if random.chance(60) {
        // Units of node 0 near zero, with negative coefficients: there envelopes are needed.
        for j in 0..world.model.layers[0].bias.len() {
            let (flipped, fixed, units) = Default::default();
            let path = Path { world: &world, reference: 0, flipped, fixed, units };
            let z = Unit::new(&path, 0, j).z.approximate();
            let moved = world.model.layers[0].bias[j] + (random.below(9) as f64 - 5.0) / 2.0 - z;
            if moved.is_finite() {
                world.model.layers[0].bias[j] = moved;
            }
        }
        let last = world.depth() - 1;
        let classes = world.classes();
        let layer = &mut world.model.layers[last];
        for row in layer.weight.values.chunks_exact_mut(classes) {
            row[0] = -row[0].abs();
            row[1..].iter_mut().for_each(|weight| *weight *= 0.125);
        }
        layer.bias[0] += 16.0;
    }
    // Enough flips that it matters who pays.
    world.header.budget.global += random.below(3) as u64;
    if random.chance(60) {
        world.header.budget.local = Local::Uniform(1 + random.below(3) as u64);
        world.header.budget.direction = Direction::Both;
    }
    Some(world)
}

/// The checker accepts exactly what the page says, in every leaf, with the least bound as close to zero as floats
/// allow.
#[test]
fn leaves_are_judged_as_the_format_says() {
    let counts = (0..5_000u64)
        .into_par_iter()
        .map(|seed| {
            let mut random = Random::new(seed + 6_000_000);
            let Some(mut world) = stable_above(&mut random) else { return [0; 6] };
            let reference = world.reference(0).unwrap();
            let mut proof = world.start(reference);
            let Claim::Robust(trees) = &mut proof.claim else { unreachable!() };
            let (mut bounds, mut matters, mut helps) = (Vec::new(), false, false);
            for one in trees {
                let (flipped, fixed, units) = Default::default();
                let path = Path { world: &world, reference: reference as usize, flipped, fixed, units };
                let (depth, mut found) = ([0, 0, 1, 2][random.below(4)], Grown::default());
                grow(&mut random, &path, one.class as usize, depth, &mut found);
                bounds.extend(found.bounds.into_iter().map(|(step, bound)| (one.class, step, bound)));
                (one.tree, matters, helps) = (found.tree, matters | found.matters, helps | found.helps);
            }
            // All bounds move with the bias of the reference class.
            let least = bounds.iter().map(|bound| bound.2.approximate()).fold(f64::INFINITY, f64::min);
            let last = world.depth() - 1;
            let bias = &mut world.model.layers[last].bias[reference as usize];
            let old = *bias;
            *bias -= least;
            if !bias.is_finite() {
                *bias = old;
            }
            let moved = Big::from(*bias).minus(&Big::from(old));
            let fails = |bound: &&(u32, usize, Big)| bound.2.plus(&moved).sign() != Ordering::Greater;
            let expected = bounds.iter().find(fails).map(|bound| (Some(bound.0), Some(bound.1)));
            let judged = world.judge(&proof);
            let found = judged.as_ref().err().map(|fault| (fault.class, fault.step));
            // The rules may give a larger bound, never a smaller one.
            assert!(found.is_none() || expected.is_some(), "seed {seed}: depth {} {proof:?} {judged:?}", last + 1);
            if judged.is_ok() {
                assert_eq!(world.truth(0, reference).0, Verdict::Robust, "seed {seed}");
            }
            [judged.is_ok(), judged.is_err(), matters, helps, last > 1, judged.is_ok() && helps].map(usize::from)
        })
        .reduce(|| [0; 6], |a, b| std::array::from_fn(|at| a[at] + b[at]));
    println!(
        "{counts:?} accepted, rejected, with another bound and with a larger one thanks to envelopes, deep, accepted with a larger bound"
    );
    let least = [600, 1_000, 500, 25, 370, 10];
    assert!(counts.iter().zip(least).all(|(count, least)| *count > least), "{counts:?}");
}

/// Too many flips to look at all of them: what floats rule out must not be missed, so intervals and exact numbers,
/// which look at every flip, find the same bound. [`World::judge`] insists on it.
#[test]
fn pruning_misses_no_flip() {
    let narrow: usize = (0..1_000u64)
        .into_par_iter()
        .map(|seed| {
            let mut random = Random::new(seed + 7_000_000);
            let (nodes, columns, width) = (3 + random.below(4), 12 + random.below(20), 1 + random.below(4));
            let kind = [0, 1, 2][random.below(3)];
            let mut matrix = |rows: usize, columns: usize| -> Vec<Vec<f64>> {
                (0..rows).map(|_| (0..columns).map(|_| random.weight(kind)).collect()).collect()
            };
            let (hidden, logits) = (matrix(columns, width), matrix(width, 2));
            let attributes: Vec<Vec<u8>> =
                (0..nodes).map(|_| (0..columns).map(|_| random.below(2) as u8).collect()).collect();
            let rows =
                |rows: &[Vec<f64>], bias: &[f64]| layer(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>(), bias);
            let layers = vec![rows(&hidden, &vec![0.0; width]), rows(&logits, &[0.0, 0.0])];
            let attributes: Vec<&[u8]> = attributes.iter().map(Vec::as_slice).collect();
            let (global, local) = (1 + random.below(6) as u64, 1 + random.below(4) as u64);
            let mut world = world(&attributes, columns, layers, global, local);
            world.header.message_passing = vec![["gcn", "sum+self"][random.below(2)].into(); 2];
            let (flipped, fixed, units) = Default::default();
            let path = Path { world: &world, reference: 0, flipped, fixed, units };
            // Near zero, where units are unstable.
            let ways: Vec<f64> = (0..width).map(|j| Unit::new(&path, 0, j).z.approximate()).collect();
            for (bias, way) in world.model.layers[0].bias.iter_mut().zip(ways) {
                *bias = (random.below(9) as f64 - 4.0) / 2.0 - way;
            }
            let (flipped, fixed, units) = Default::default();
            let path = Path { world: &world, reference: 0, flipped, fixed, units };
            let envelope = choose(&mut random, &path);
            // Far from a proof, so that the bounds themselves are compared, and then as near to one as floats get.
            let mut narrow = 0;
            world.model.layers[1].bias[0] = -1e3;
            for _ in 0..2 {
                match world.judge(&robust(vec![leaf(envelope.clone())])) {
                    Err(Fault { reason: Reason::Bound(bound), .. }) if bound.lower.to_f64().is_finite() => {
                        narrow += usize::from(bound.upper.to_f64() - bound.lower.to_f64() < 1e-9);
                        world.model.layers[1].bias[0] -= bound.upper.to_f64();
                    }
                    _ => {}
                }
            }
            narrow
        })
        .sum();
    println!("{narrow} narrow bounds");
    assert!(narrow > 1_000, "{narrow}");
}
