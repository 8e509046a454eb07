//! Payers: the capped bound with levels of their own for some nodes, against the page that defines it.

mod common;

use std::cmp::Ordering;

use common::{Big, Random, World, layer, world};
use gcnproof_check::format::*;
use gcnproof_check::{Fault, Reason, Verdict, check};
use rayon::prelude::*;

type Flip = (u32, u32);

fn leaf(payers: &[u32]) -> Step {
    Step::Leaf(Box::new(Leaf { cap: true, payers: payers.to_vec(), ..Leaf::default() }))
}

fn robust(tree: Vec<Step>) -> NodeProof {
    NodeProof { id: 0, class: 0, claim: Claim::Robust(vec![ClassProof { class: 1, tree }]) }
}

/// Unit 0 stands at −1, and each of two nodes can add one attribute that raises it by 1. That of node 1 also raises unit 1,
/// which makes up for all of it. The margin is `lead`, and no flips make it smaller.
fn two_nodes(lead: f64) -> World {
    let hidden = layer(&[&[1.0, 0.0], &[1.0, 1.0]], &[-3.0, 0.0]);
    let logits = layer(&[&[-1.0, 0.0], &[1.0, 0.0]], &[lead - 1.0, 0.0]);
    let mut world = world(&[&[0, 1], &[1, 0]], 2, vec![hidden, logits], 2, 1);
    world.header.message_passing = vec!["sum+self".into(), "identity".into()];
    world.header.budget.direction = Direction::Add;
    world
}

#[test]
fn who_pays_first_decides() {
    // Sharing, each flip pays ½ of the way, and that of node 0 seems to lose ½. Paying all of it, it loses nothing.
    let lead = 2f64.powi(-50);
    for (payers, accepted) in [(&[][..], false), (&[1], false), (&[1, 0], false), (&[0], true), (&[0, 1], true)] {
        let verdict = two_nodes(lead).judge(&robust(vec![leaf(payers)]));
        match verdict {
            Ok(verdict) => assert_eq!((verdict, accepted), (Verdict::Robust, true), "{payers:?}"),
            Err(Fault { reason: Reason::Bound(_), .. }) => assert!(!accepted, "{payers:?}"),
            Err(fault) => panic!("{payers:?}: {fault:?}"),
        }
    }
    // Without a lead there is a tie.
    let fault = two_nodes(0.0).judge(&robust(vec![leaf(&[0])])).unwrap_err();
    assert!(matches!(fault.reason, Reason::Bound(_)));
    // More than ½ needs no payers.
    assert_eq!(two_nodes(0.51).judge(&robust(vec![leaf(&[])])), Ok(Verdict::Robust));
}

/// Floats leave open on which side of zero the unit stands. Exactly it is at −0.7, of which a flip by 4 pays all.
#[test]
fn a_side_of_zero_that_floats_leave_open_is_decided_exactly() {
    let hidden = layer(&[&[1e16], &[0.3], &[-1e16], &[4.0], &[-4.0]], &[-1.0]);
    for (lead, accepted) in [(3.5, true), (3.31, true), (3.29, false)] {
        let layers = vec![hidden.clone(), layer(&[&[-1.0, 0.0]], &[lead, 0.0])];
        let mut world = world(&[&[1, 1, 1, 0, 0]], 5, layers, 1, 1);
        world.header.budget.frozen_attributes = vec![0, 1, 2];
        for payers in [&[][..], &[0]] {
            assert_eq!(world.judge(&robust(vec![leaf(payers)])).is_ok(), accepted, "{lead} {payers:?}");
        }
    }
}

#[test]
fn payers_must_be_nodes_of_the_slice_once_and_with_cap() {
    let mut world = two_nodes(0.25);
    let of = |world: &World, leaf: Step| world.judge(&robust(vec![leaf])).unwrap_err();
    let uncapped = Leaf { payers: vec![0], ..Leaf::default() };
    let wrong = [
        (leaf(&[2]), Reason::Payer(2)),
        (leaf(&[0, u32::MAX]), Reason::Payer(u32::MAX)),
        (leaf(&[0, 0]), Reason::PayerTwice(0)),
        (leaf(&[1, 0, 1]), Reason::PayerTwice(1)),
        (Step::Leaf(Box::new(uncapped)), Reason::PayersWithoutCap),
    ];
    for (leaf, reason) in wrong {
        assert_eq!(of(&world, leaf), Fault { class: Some(1), step: Some(0), reason });
    }
    let good = String::from_utf8(world.file(&[robust(vec![leaf(&[0, 1])])])).unwrap();
    let rejection = |world: &World, payers: &str| {
        assert!(good.contains(r#""payers":[0,1]"#));
        let text = good.replace(r#""payers":[0,1]"#, payers);
        let summary = check(&world.graph, &world.model, &world.options(), text.as_bytes(), |_| {});
        summary.rejections.first().map(ToString::to_string)
    };
    assert_eq!(rejection(&world, r#""payers":[0]"#), None);
    let at = "line 2, node 0, class 1, tree node 0: ";
    for (payers, text) in [
        (r#""payers":[3]"#, "payer 3 is no node whose attributes the target depends on"),
        (r#""payers":[1,1]"#, "payer 1 is listed twice"),
        (r#""cap":false,"payers":[0]"#, ""),
        (r#""payers":[0],"payers":[1]"#, ""),
    ] {
        let found = rejection(&world, payers).unwrap();
        assert!(found == format!("{at}{text}") || (text.is_empty() && found.contains("duplicate field")), "{found}");
    }
    for payers in ["-1", "4294967296", "0.5", "null", "\"0\"", "[0]", "[[0,1]]", "[null]", "{}"] {
        for text in [format!(r#""payers":[{payers}]"#), format!(r#""payers":{payers}"#)] {
            // Of all of these only the list of one node is right.
            let found = rejection(&world, &text);
            assert_eq!(found.is_none(), text == r#""payers":[0]"#, "{text}: {found:?}");
        }
    }
    // A node that exists, but sends nothing to the target.
    world.header.message_passing[0] = "identity".into();
    assert_eq!(of(&world, leaf(&[1])).reason, Reason::Payer(1));
    assert_eq!(of(&world, leaf(&[0, 1])).reason, Reason::Payer(1));
}

/// What a leaf's path has decided, and the free flips.
struct Path<'a> {
    world: &'a World,
    reference: usize,
    flipped: Vec<Flip>,
    fixed: Vec<Flip>,
}

impl Path<'_> {
    /// `Q'` and `q'_n`, negative where more was spent.
    fn left(&self) -> (i64, Vec<i64>) {
        let rows = self.world.graph.attributes.rows;
        let spent = |n: usize| self.flipped.iter().filter(|flip| flip.0 as usize == n).count() as i64;
        let local = (0..rows).map(|n| self.world.local(n) as i64 - spent(n)).collect();
        (self.world.header.budget.global as i64 - self.flipped.len() as i64, local)
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

/// `level(ρ; x)` of the page.
fn level(room: &Big, changes: &[Big]) -> Big {
    let mut best = Big::from(0.0);
    for i in (1..=changes.len()).filter(|_| room.sign() == Ordering::Greater) {
        let share = room.minus(&total(&changes[i..])).positive_part().share_of(&room.times(&Big::from(i as f64)));
        if share.minus(&best).sign() == Ordering::Greater {
            best = share;
        }
    }
    room.times(&best)
}

/// The bound of a leaf with `cap` and `payers` and no other key, of a network with one hidden layer, straight from the
/// page: `None` where the path spends more than there is.
fn bound(path: &Path, class: usize, payers: &[u32]) -> Option<Big> {
    let (world, reference) = (path.world, path.reference);
    let (global, local) = path.left();
    if global < 0 || local.iter().any(|&left| left < 0) {
        return None;
    }
    let [hidden, logits] = &world.model.layers[..] else { panic!("one hidden layer") };
    let nodes = world.graph.attributes.rows;
    let free = path.free();
    let big = Big::from;
    let present = |n: u32, d: u32| world.graph.attributes.contains(n as usize, d);
    let mut constant = big(logits.bias[reference]).minus(&big(logits.bias[class]));
    let mut losses: Vec<(u32, Big)> = free.iter().map(|flip| (flip.0, big(0.0))).collect();
    for m in 0..nodes {
        for j in 0..hidden.bias.len() {
            let weight = big(logits.weight.get(j, reference)).minus(&big(logits.weight.get(j, class)));
            let a = big(world.entry(1, 0, m)).times(&weight);
            let mut z = big(hidden.bias[j]);
            for n in 0..nodes as u32 {
                for d in 0..hidden.weight.rows as u32 {
                    if present(n, d) != path.flipped.contains(&(n, d)) {
                        z = z.plus(&big(world.entry(0, m, n as usize)).times(&big(hidden.weight.get(d as usize, j))));
                    }
                }
            }
            let changes: Vec<(u32, Big)> = free
                .iter()
                .map(|&(n, d)| {
                    let sign = if present(n, d) { -1.0 } else { 1.0 };
                    (n, big(sign * world.entry(0, m, n as usize)).times(&big(hidden.weight.get(d as usize, j))))
                })
                .collect();
            let reach = |sign: f64, wanted: &dyn Fn(u32) -> bool| {
                path.largest(changes.iter().filter(|change| wanted(change.0)).map(|(n, x)| (*n, x.times(&big(sign)))))
            };
            let (lower, upper) = (z.minus(&total(&reach(-1.0, &|_| true))), z.plus(&total(&reach(1.0, &|_| true))));
            let through = |slope: Big| (slope.times(&z), changes.iter().map(|x| slope.times(&x.1)).collect::<Vec<_>>());
            let (base, gains) = if a.sign() == Ordering::Equal {
                through(big(0.0))
            } else if lower.sign() != Ordering::Less {
                through(a)
            } else if upper.sign() != Ordering::Greater {
                through(big(0.0))
            } else if a.sign() == Ordering::Greater {
                through(if z.sign() == Ordering::Greater { a } else { big(0.0) })
            } else {
                let below = z.sign() == Ordering::Less;
                let towards = if below { 1.0 } else { -1.0 };
                let mut room = z.times(&big(-towards));
                let mut levels: Vec<(u32, Big)> = Vec::new();
                let in_row = |n: u32| world.entry(0, m, n as usize) != 0.0;
                for &payer in payers.iter().filter(|&&payer| in_row(payer)) {
                    let changes = reach(towards, &|n| n == payer);
                    levels.push((payer, level(&room, &changes)));
                    room = room.minus(&total(&changes)).positive_part();
                }
                let shared = level(&room, &reach(towards, &|n| !payers.contains(&n)));
                let gains = changes.iter().map(|(n, g)| {
                    let level = levels.iter().find(|level| level.0 == *n).map_or(&shared, |level| &level.1);
                    // max(g − T, 0), or max(g, −T) = max(g + T, 0) − T.
                    let h =
                        if below { g.minus(level).positive_part() } else { g.plus(level).positive_part().minus(level) };
                    a.times(&h)
                });
                (a.times(&z.positive_part()), gains.collect())
            };
            constant = constant.plus(&base);
            losses.iter_mut().zip(gains).for_each(|(loss, gain)| loss.1 = loss.1.minus(&gain));
        }
    }
    Some(constant.minus(&total(&path.largest(losses.into_iter()))))
}

/// A random tree of flips and capped leaves, and the places and bounds of its leaves.
fn grow(random: &mut Random, path: &mut Path, class: usize, depth: usize, found: &mut Grown) {
    let free = path.free();
    if depth == 0 || free.is_empty() || random.chance(20) {
        let payers = path.world.random_payers(random);
        if let Some(bound) = bound(path, class, &payers) {
            let without = self::bound(path, class, &[]).map(|without| bound.minus(&without).sign());
            found.matters |= without.is_some_and(|sign| sign != Ordering::Equal);
            found.helps |= without == Some(Ordering::Greater);
            found.bounds.push((found.tree.len(), bound));
        }
        return found.tree.push(leaf(&payers));
    }
    let flip = free[random.below(free.len())];
    found.tree.push(Step::Flip(flip.0, flip.1));
    path.fixed.push(flip);
    grow(random, path, class, depth - 1, found);
    path.flipped.push(flip);
    grow(random, path, class, depth - 1, found);
    path.flipped.pop();
    path.fixed.pop();
}

#[derive(Default)]
struct Grown {
    tree: Vec<Step>,
    bounds: Vec<(usize, Big)>,
    /// Payers change a bound, or make it larger.
    matters: bool,
    helps: bool,
}

/// The checker accepts exactly what the page says, in every leaf, with the least bound as close to zero as floats allow.
#[test]
fn leaves_are_judged_as_the_format_says() {
    let counts = (0..12_000u64)
        .into_par_iter()
        .map(|seed| {
            let mut random = Random::new(seed + 6_000_000);
            let mut world = World::random(&mut random);
            if world.depth() != 2 || world.graph.attributes.rows == 1 {
                return [0; 4];
            }
            // Enough flips that it matters who pays.
            world.header.budget.global += random.below(3) as u64;
            if random.chance(60) {
                world.header.budget.local = Local::Uniform(1 + random.below(3) as u64);
                world.header.budget.direction = Direction::Both;
            }
            let reference = world.reference(0).unwrap();
            let mut proof = world.start(reference);
            let Claim::Robust(trees) = &mut proof.claim else { unreachable!() };
            let (mut bounds, mut matters, mut helps) = (Vec::new(), false, false);
            for one in trees {
                let (flipped, fixed) = (Vec::new(), Vec::new());
                let mut path = Path { world: &world, reference: reference as usize, flipped, fixed };
                let (depth, mut found) = ([0, 0, 1, 2][random.below(4)], Grown::default());
                grow(&mut random, &mut path, one.class as usize, depth, &mut found);
                bounds.extend(found.bounds.into_iter().map(|(step, bound)| (one.class, step, bound)));
                (one.tree, matters, helps) = (found.tree, matters | found.matters, helps | found.helps);
            }
            // All bounds move with the bias of the reference class.
            let least = bounds.iter().map(|bound| bound.2.approximate()).fold(f64::INFINITY, f64::min);
            let bias = &mut world.model.layers[1].bias[reference as usize];
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
            assert_eq!(found, expected, "seed {seed}: {proof:?} {judged:?}");
            if judged.is_ok() {
                assert_eq!(world.truth(0, reference).0, Verdict::Robust, "seed {seed}");
            }
            [judged.is_ok(), judged.is_err(), matters, helps].map(usize::from)
        })
        .reduce(|| [0; 4], |a, b| std::array::from_fn(|at| a[at] + b[at]));
    println!("{counts:?} accepted, rejected, with another bound and with a larger one thanks to payers");
    assert!(counts[0] > 500 && counts[1] > 500 && counts[2] > 300 && counts[3] > 50, "{counts:?}");
}
