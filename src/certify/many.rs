//! Many nodes at once: what needs no bounds of hidden units is decided first, and only what the others depend on is
//! bounded.

use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use rayon::prelude::*;

use crate::bound::prepared::Prepared;
use crate::bound::workspace::Workspace;
use crate::certify::certifier::{Certifier, Target};
use crate::certify::decide::Decide;
use crate::certify::settings::Effort;
use crate::certify::verdict::{Flips, NodeResult};
use crate::problem::flip::Flip;
use crate::problem::graph::Graph;
use crate::search::limits::Limits;

/// Targets whose activation bounds are kept at the same time. Fewer would share less, more would need more memory.
const TOGETHER: usize = 1 << 14;

/// The buffers of the threads: made once, as large graphs have large ones.
pub(super) struct Workspaces(Vec<Mutex<Workspace>>);

impl Workspaces {
    pub(super) fn new() -> Workspaces {
        // One for each thread of the pool, and one for whoever is none of them.
        Workspaces((0..=rayon::current_num_threads()).map(|_| Mutex::default()).collect())
    }

    /// The buffers of the present thread.
    pub(super) fn mine(&self) -> MutexGuard<'_, Workspace> {
        let last = self.0.len() - 1;
        let mine = &self.0[rayon::current_thread_index().map_or(last, |index| index.min(last))];
        mine.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Certifier {
    /// The same certifier for some nodes only: activation bounds of what these depend on, and of no others. With a
    /// limit on the time of a target, these take no longer than so many targets may.
    pub fn for_targets(&self, nodes: &[usize]) -> Certifier {
        let clock = self.clock(nodes.len());
        Certifier { prepared: self.prepared.for_targets(nodes, &clock).into(), ..self.clone() }
    }

    /// Decides many nodes, each for the class that `reference` names, or for its predicted one, and hands every result
    /// with the seconds that it took to `done` as soon as it is there: from any thread, in any order. Nothing new is
    /// begun once the certifier is stopped, and a node whose search was cut short has no result.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn each(
        &self,
        nodes: &[usize],
        reference: impl Fn(usize) -> Option<usize> + Sync,
        done: impl Fn(NodeResult, f64) + Sync,
    ) {
        let stopped = || self.settings.stop.is_set();
        if self.ranges.is_some() {
            nodes.par_iter().with_max_len(1).filter(|_| !stopped()).for_each(|&node| {
                let (start, predicted) = (Instant::now(), self.predicted(node));
                let target = Target { node, reference: reference(node).unwrap_or(predicted), predicted };
                let result = self.decide_by_ranges(target, &self.others(target.reference));
                // Cut short, perhaps: it is done again.
                if let Some(result) = result.filter(|_| !stopped()) {
                    done(result, start.elapsed().as_secs_f64());
                }
            });
            return;
        }
        let workspaces = Workspaces::new();
        if self.takes_paths() {
            self.prepared.prepare_paths();
        }
        // With all threads, before each of them asks for it.
        self.errors();
        for together in nodes.chunks(TOGETHER) {
            let quickly = |&node: &usize| {
                if stopped() {
                    return None;
                }
                let start = Instant::now();
                let predicted = self.predicted(node);
                let target = Target { node, reference: reference(node).unwrap_or(predicted), predicted };
                match self.decide_quickly(target, &self.others(target.reference), &mut workspaces.mine()) {
                    Some(result) => {
                        done(result, start.elapsed().as_secs_f64());
                        None
                    }
                    None => Some((target, start.elapsed().as_secs_f64())),
                }
            };
            let open: Vec<(Target, f64)> = together.par_iter().filter_map(quickly).collect();
            if open.is_empty() || stopped() {
                continue;
            }
            let targets: Vec<usize> = open.iter().map(|(target, _)| target.node).collect();
            let certifier = self.for_targets(&targets);
            open.into_par_iter().with_max_len(1).for_each(|(target, before)| {
                if stopped() {
                    return;
                }
                let start = Instant::now();
                let others = self.others(target.reference);
                let result = certifier.decide_by_bounds(target, &others, &mut workspaces.mine());
                // Cut short, perhaps: it is done again.
                if !stopped() {
                    done(result, before + start.elapsed().as_secs_f64());
                }
            });
        }
    }
}

/// Tree nodes of the searches that come before those without limit.
const SMALL_TREE: usize = 300;

impl Decide<Flips> for Certifier {
    type Buffers = Workspace;

    /// Activation bounds are those of a budget, for all nodes.
    const SHARES: bool = true;

    fn graph(&self) -> &Graph {
        Certifier::graph(self)
    }

    fn global(&self) -> usize {
        self.budget().global()
    }

    fn at_global(&self, global: usize, nodes: &[usize]) -> Certifier {
        let certifier = Certifier::at_global(self, global);
        if certifier.ranges.is_some() {
            return certifier;
        }
        if let [_] = nodes {
            return certifier.for_targets(nodes);
        }
        let prepared = Prepared::clone(&certifier.prepared).by(self.clock(nodes.len()));
        Certifier { prepared: prepared.into(), ..certifier }
    }

    fn cheaper(&self) -> Vec<Certifier> {
        let efforts = match self.settings.effort {
            Effort::Bounds => Vec::new(),
            // What is open has been asked without such a limit.
            Effort::Complete(limits) if limits.nodes > SMALL_TREE && !self.is_complete() => {
                vec![Effort::Bounds, Effort::Complete(Limits { nodes: SMALL_TREE, ..limits })]
            }
            _ => vec![Effort::Bounds],
        };
        efforts.into_iter().map(|effort| self.clone().with_effort(effort)).collect()
    }

    /// What depends on rounding stays undecided without a limit.
    fn is_complete(&self) -> bool {
        let complete = matches!(self.settings.effort, Effort::Complete(_));
        complete && self.settings.deployed.is_none() && self.ranges.is_none()
    }

    fn attack(&self, node: usize, limit: usize, workspace: &mut Workspace) -> Option<Vec<Flip>> {
        self.small_witness(node, limit, workspace)
    }

    fn size(&self, node: usize) -> usize {
        self.neighbourhood(node)
    }

    fn is_stopped(&self) -> bool {
        self.settings.stop.is_set()
    }

    fn decide(&self, node: usize, reference: Option<usize>, workspace: &mut Workspace) -> NodeResult {
        let predicted = self.predicted(node);
        self.certify_class(node, reference.unwrap_or(predicted), predicted, workspace)
    }

    fn each(
        &self,
        nodes: &[usize],
        reference: impl Fn(usize) -> Option<usize> + Sync,
        done: impl Fn(NodeResult, f64) + Sync,
    ) {
        Certifier::each(self, nodes, reference, done);
    }
}
