//! The search for radii, asked about deciders whose answers are known.

use std::sync::Mutex;

use gcnproof::{Decide, Flip, FlipDetails, Flips, Graph, NodeResult, Reason, Verdict, radii};

/// Certifies up to `low` changes, finds a witness from `high` on, and leaves what lies between undecided.
#[derive(Clone)]
struct Known {
    graph: Graph,
    low: Option<usize>,
    high: usize,
    global: usize,
    complete: bool,
    /// The size of the witness that an attack finds without bounds.
    attack: Option<usize>,
    /// What a cheaper decider certifies and attacks, if there is one.
    cheaper: Option<(Option<usize>, usize)>,
}

fn flips(count: usize) -> Vec<Flip> {
    (0..count as u32).map(|attribute| Flip { node: 0, attribute }).collect()
}

impl Decide<Flips> for Known {
    type Buffers = ();

    fn graph(&self) -> &Graph {
        &self.graph
    }

    fn global(&self) -> usize {
        self.global
    }

    fn at_global(&self, global: usize, _: &[usize]) -> Known {
        Known { global, ..self.clone() }
    }

    fn cheaper(&self) -> Vec<Known> {
        let cheap = |(low, high)| Known { low, high, complete: false, ..self.clone() };
        self.cheaper.map(cheap).into_iter().collect()
    }

    fn is_complete(&self) -> bool {
        self.complete
    }

    fn attack(&self, _: usize, limit: usize, (): &mut ()) -> Option<Vec<Flip>> {
        self.attack.filter(|&count| count <= limit).map(flips)
    }

    fn is_stopped(&self) -> bool {
        false
    }

    fn decide(&self, node: usize, _: Option<usize>, (): &mut ()) -> NodeResult {
        let (verdict, reason) = match self.global {
            q if q >= self.high => (Verdict::NonRobust, Reason::Witness),
            q if self.low.is_some_and(|low| q <= low) => (Verdict::Robust, Reason::MixedBounds),
            _ => (Verdict::Undecided, Reason::Limit),
        };
        NodeResult {
            node,
            reference: 0,
            predicted: 0,
            relevant: 1,
            verdict,
            reason,
            margins: Vec::new(),
            minima: Vec::new(),
            search_nodes: 0,
            limit_hit: verdict == Verdict::Undecided,
            // Not always the smallest: a witness is whatever was found.
            witness: if verdict == Verdict::NonRobust { flips((self.global + self.high) / 2) } else { Vec::new() },
            deployed: None,
            evidence: None,
            details: FlipDetails::default(),
            contradiction: None,
        }
    }
}

/// Certified and attacked are found as far as the decider goes, in whatever order it is asked, and every node is
/// reported once.
#[test]
fn radii_are_what_the_decider_can_show() {
    let graph = Graph::from_lists(&[], &[vec![], vec![]], 1).unwrap();
    for limit in [0, 1, 5, 12] {
        for high in 0..=limit + 2 {
            for low in std::iter::once(None).chain((0..high).map(Some)) {
                for attack in [None, Some(high), Some(high + 1), Some(high + 3)] {
                    for cheaper in [None, Some((low.map(|low| low / 2), high + 1)), Some((None, high))] {
                        for complete in [false, true] {
                            // A decider that gives up on 0 is asked nothing else.
                            if low.is_none() && high > 0 && !complete {
                                continue;
                            }
                            // Attacks have changes, and nothing is larger than the limit.
                            let attack = attack.filter(|&count| count > 0);
                            let decider =
                                Known { graph: graph.clone(), low, high, global: 0, complete, attack, cheaper };
                            let told = Mutex::new(Vec::new());
                            let tell = |node, _: &_| told.lock().unwrap().push(node);
                            let found = radii(&decider, &[0, 1], limit, || false, tell).unwrap();
                            let mut told = told.into_inner().unwrap();
                            told.sort_unstable();
                            let case = format!("{limit} {low:?} {high} {attack:?} {cheaper:?} {complete}");
                            assert_eq!(told, [0, 1], "{case}");
                            let expected = (low.map(|low| low.min(limit)), (high <= limit).then_some(high));
                            assert_eq!((found[&1].certified, found[&1].attacked), expected, "{case}");
                            assert_eq!(found[&1].witness.len(), expected.1.unwrap_or(0), "{case}");
                        }
                    }
                }
            }
        }
    }
}
