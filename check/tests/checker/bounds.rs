//! Lines of bounds: they count for the lines after them, once, and the fast path accepts nothing that the core rejects
//! with them.

use crate::common;

use common::{Random, World};
use gcnproof_check::format::*;
use gcnproof_check::{Options, Summary, check};

fn judged(world: &World, lines: &[Line], exact_only: bool) -> Summary {
    let mut bytes = Vec::new();
    lines.iter().for_each(|line| line.write(&mut bytes).unwrap());
    let options = Options { exact_only, ..world.options() };
    check(&world.graph, &world.model, &options, &bytes[..], |_| {})
}

/// A file around some lines.
fn file(world: &World, body: Vec<Line>) -> Vec<Line> {
    let count = body.len() as u64;
    [vec![Line::Header(world.header.clone())], body, vec![Line::End(count)]].concat()
}

fn empty(layer: u32, node: u32) -> Line {
    Line::Bounds(BoundsLine { layer, node, reach: Vec::new(), units: Vec::new() })
}

#[test]
fn loose_bounds_bind_the_fast_path_as_well() {
    loose_bounds(World::random);
}

#[test]
fn loose_bounds_of_networks_of_terms_bind_the_fast_path_as_well() {
    loose_bounds(World::random_terms);
}

fn loose_bounds(world: fn(&mut Random) -> World) {
    let (mut accepted, mut rejected) = (0, 0);
    for seed in 0..400 {
        let mut random = Random::new(seed + 40_000_000);
        let world = world(&mut random);
        if world.depth() < 3 {
            continue;
        }
        let reference = world.reference(0).unwrap();
        let nodes = 0..world.graph.attributes.rows as u32;
        let bounds = (3..=world.depth() as u32).flat_map(|layer| nodes.clone().map(move |node| empty(layer, node)));
        let body: Vec<Line> = bounds.chain([Line::Node(world.start(reference))]).collect();
        let lines = file(&world, body);
        let [fast, exact] = [false, true].map(|exact_only| judged(&world, &lines, exact_only));
        assert_eq!((&fast.verdicts, fast.rejected), (&exact.verdicts, exact.rejected), "seed {seed}");
        if fast.verdicts[0].is_some() {
            accepted += 1;
            assert_eq!(world.truth(0, reference).0, gcnproof_check::Verdict::Robust, "seed {seed}");
        } else {
            rejected += 1;
        }
    }
    assert!(accepted > 20 && rejected > 20, "{accepted} {rejected}");
}

#[test]
fn bounds_stand_once_before_what_uses_them() {
    let mut random = Random::new(5);
    let world = loop {
        let world = World::random(&mut random);
        if world.depth() == 3 {
            break world;
        }
    };
    let twice = file(&world, vec![empty(3, 0), empty(3, 0)]);
    let summary = judged(&world, &twice, false);
    assert_eq!(summary.rejected, 1);
    assert!(summary.rejections[0].to_string().contains("already stated"), "{}", summary.rejections[0]);
    for (layer, node, part) in [(2, 0, "layer 2"), (4, 0, "layer 4"), (3, 99, "no such node")] {
        let summary = judged(&world, &file(&world, vec![empty(layer, node)]), false);
        assert!(summary.rejections[0].to_string().contains(part), "{}", summary.rejections[0]);
    }
    let mut old = world.header.clone();
    old.version = 1;
    let lines = [Line::Header(old), empty(3, 0), Line::End(1)];
    assert!(judged(&world, &lines, false).rejections[0].to_string().contains("version 1"));
    let many = vec![(0, HintList(vec![Hints::default(); MOST_HINTS + 1]), HintList::default())];
    let line = Line::Bounds(BoundsLine { layer: 3, node: 0, reach: Vec::new(), units: many });
    assert!(judged(&world, &file(&world, vec![line]), false).rejections[0].to_string().contains("more than 16 hints"));
}
