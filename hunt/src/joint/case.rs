//! A graph, a network and both budgets, as plain data, and what is true of them.

use gcnproof_files::GraphFile;

use crate::case::{Way, pattern};
use crate::changes::case::{ChangeCase, Ends, generate as changes};
use crate::changes::truth::{ChangeTruth, logits, sets, truths};
use crate::random::Random;

/// A node and an attribute.
pub type Entry = (u32, u32);

/// What may be flipped.
#[derive(Clone, Debug)]
pub struct FlipMeans {
    pub global: usize,
    pub local: Vec<usize>,
    pub way: Way,
    /// Attributes that stay.
    pub frozen: Vec<u32>,
}

/// A case.
#[derive(Clone, Debug)]
pub struct JointCase {
    pub changes: ChangeCase,
    pub flips: FlipMeans,
}

/// Pairs of sets that are listed, at most.
pub const MOST: usize = 400;

/// The case of a seed and a number.
pub fn generate(seed: u64, number: u64) -> JointCase {
    let mut case = changes(seed, number);
    let random = &mut Random::new(seed ^ 0x10f7, number);
    let nodes = case.nodes();
    case.means.global = case.means.global.min(2);
    let uniform = random.percent(50).then(|| random.pick(&[0, 1, 1, 2, 1_000]));
    let local = (0..nodes).map(|_| uniform.unwrap_or_else(|| random.pick(&[0, 1, 1, 2]))).collect();
    let columns = case.graph.attributes.columns as u32;
    let frozen = (0..columns).filter(|_| random.percent(10)).collect();
    let way = random.pick(&[Way::Both, Way::Both, Way::Add, Way::Remove]);
    let flips = FlipMeans { global: random.pick(&[0, 1, 1, 2, 2, 3]), local, way, frozen };
    let mut joint = JointCase { changes: case, flips };
    while joint.flips.global > 0 && joint.flip_sets().len() * sets(&joint.changes, &joint.changes.means).len() > MOST {
        joint.flips.global -= 1;
    }
    joint
}

impl JointCase {
    /// May this entry be flipped, by itself?
    pub fn permits(&self, (node, attribute): Entry) -> bool {
        let present = self.changes.graph.attributes.contains(node as usize, attribute);
        let way = match self.flips.way {
            Way::Both => true,
            Way::Add => !present,
            Way::Remove => present,
        };
        way && self.flips.local[node as usize] > 0 && !self.flips.frozen.contains(&attribute)
    }

    /// May these different entries be flipped together?
    pub fn admits(&self, flips: &[Entry]) -> bool {
        let at = |node: u32| flips.iter().filter(|flip| flip.0 == node).count();
        flips.len() <= self.flips.global
            && flips.iter().all(|&flip| self.permits(flip) && at(flip.0) <= self.flips.local[flip.0 as usize])
    }

    /// All admissible sets of flips.
    pub fn flip_sets(&self) -> Vec<Vec<Entry>> {
        let (nodes, columns) = (self.changes.nodes() as u32, self.changes.graph.attributes.columns as u32);
        let mut all: Vec<Vec<Entry>> = vec![Vec::new()];
        for entry in (0..nodes).flat_map(|n| (0..columns).map(move |d| (n, d))) {
            for at in 0..all.len() {
                let larger = [all[at].as_slice(), &[entry]].concat();
                if self.admits(&larger) {
                    all.push(larger);
                }
            }
            if all.len() > 100 * MOST {
                break;
            }
        }
        all
    }

    /// The same case after some flips.
    pub fn flipped(&self, flips: &[Entry]) -> ChangeCase {
        let graph = &self.changes.graph;
        let columns = graph.attributes.columns;
        let has = |n: usize, d: u32| graph.attributes.contains(n, d) != flips.contains(&(n as u32, d));
        let rows: Vec<Vec<u32>> =
            (0..self.changes.nodes()).map(|n| (0..columns as u32).filter(|&d| has(n, d)).collect()).collect();
        let graph = GraphFile { attributes: pattern(columns, &rows), ..graph.clone() };
        ChangeCase { graph, ..self.changes.clone() }
    }

    /// What is true of all nodes, or graphs.
    pub fn truths(&self) -> Vec<ChangeTruth> {
        let mut all = truths(&self.changes, &self.changes.means);
        let sets = sets(&self.changes, &self.changes.means);
        for flips in self.flip_sets() {
            let flipped = self.flipped(&flips);
            for set in &sets {
                for (logits, truth) in logits(&flipped, set).iter().zip(&mut all) {
                    for class in (0..logits.len()).filter(|&class| class != truth.predicted) {
                        let margin = logits[truth.predicted].plus(&logits[class].negated());
                        let slot = &mut truth.margins[class];
                        if slot.as_ref().is_none_or(|least| margin.compare(least).is_lt()) {
                            *slot = Some(margin);
                        }
                    }
                }
            }
        }
        all
    }

    /// Do these changes keep the class of a target?
    pub fn keeps(&self, node: usize, reference: usize, edges: &[Ends], flips: &[Entry]) -> bool {
        let logits = &logits(&self.flipped(flips), edges)[node];
        (0..logits.len()).all(|class| class == reference || logits[reference].compare(&logits[class]).is_gt())
    }
}
