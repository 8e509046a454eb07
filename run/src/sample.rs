//! Random samples of nodes and class pairs.

use std::collections::BTreeMap;

use gcnproof::Certifier;
use gcnproof_results::record::pair::{from_key, key};

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

/// A reproducible stream of numbers (SplitMix64): a seed means the same sample for ever.
struct Stream(u64);

impl Stream {
    fn new(seed: u64) -> Stream {
        Stream(seed)
    }

    /// A number from 0 to `bound - 1`; 0 when the bound is 0.
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % (bound.max(1) as u64)) as usize
    }
}
