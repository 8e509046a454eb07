//! Random samples of nodes and class pairs.

use std::collections::BTreeMap;

use gcnproof::Certifier;
use gcnproof::internals::record::pair::{from_key, key};
use gcnproof_verify::random::Stream;

/// The keys of a node's class pairs.
pub fn pair_keys(certifier: &Certifier, node: usize) -> Vec<u64> {
    let reference = certifier.predicted(node);
    let others = (0..certifier.network().class_count()).filter(|&class| class != reference);
    others.map(|class| key(node as u64, class as u64)).collect()
}

/// Draws `count` of the nodes (all, if there are fewer), in rising order; the same seed draws the same.
pub fn draw(mut nodes: Vec<usize>, count: usize, seed: u64) -> Vec<usize> {
    let mut stream = Stream::new(seed);
    let count = count.min(nodes.len());
    for at in 0..count {
        let other = at + stream.below(nodes.len() - at);
        nodes.swap(at, other);
    }
    nodes.truncate(count);
    nodes.sort_unstable();
    nodes
}

/// The classes asked for, target by target, in rising order.
pub fn by_target(keys: &[u64]) -> Vec<(usize, Vec<usize>)> {
    let mut targets: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (node, class) in keys.iter().map(|&key| from_key(key)) {
        targets.entry(node as usize).or_default().push(class as usize);
    }
    targets.into_iter().collect()
}
