//! The network on a changed graph, in exact numbers, and what is true of all admissible sets of changes.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use crate::changes::case::{Allowed, ChangeCase, Done, Ends, Means};
use crate::exact::Exact;

/// What is true of a node or of a graph.
#[derive(Clone, Debug)]
pub struct ChangeTruth {
    /// The class with the largest logit, the smallest number among equals.
    pub predicted: usize,
    /// The smallest margin over each class.
    pub margins: Vec<Option<Exact>>,
}

impl ChangeTruth {
    pub fn robust(&self) -> bool {
        self.margins.iter().flatten().all(|margin| margin.sign() == Ordering::Greater)
    }
}

/// The entry of a rule between two nodes of these sizes, by the expressions of the format.
fn entry(rule: &str, receiver: usize, sender: usize) -> f64 {
    match rule {
        "gcn" | "gcn-self" => 1.0 / (receiver as f64 * sender as f64).sqrt(),
        "mean" | "mean+self" | "pool-mean" => 1.0 / receiver as f64,
        _ => 1.0,
    }
}

/// One unit of what a row sends.
pub fn product(weights: &[f64], h: &[Exact], columns: usize, column: usize) -> Exact {
    let terms = h.iter().enumerate().map(|(i, h)| h.times(&Exact::from_f64(weights[i * columns + column])));
    terms.fold(Exact::zero(), |sum, term| sum.plus(&term))
}

/// The senders of each receiver with their entries.
pub type Passing = Vec<Vec<(usize, Exact)>>;

/// What is passed on after some changes, by layer and term.
pub fn passing(case: &ChangeCase, changes: &[Ends]) -> Vec<Vec<Passing>> {
    let nodes = case.nodes();
    // Who receives from whom.
    let mut linked: BTreeSet<(usize, usize)> = BTreeSet::new();
    for v in 0..nodes {
        linked.extend(case.graph.adjacency.row(v).iter().map(|&u| (v, u as usize)));
    }
    for &(from, to) in changes {
        let mut arcs = vec![(to as usize, from as usize)];
        if !case.means.directed {
            arcs.push((from as usize, to as usize));
        }
        for arc in arcs {
            if !linked.remove(&arc) {
                linked.insert(arc);
            }
        }
    }
    let of_rule = |rule: &&str| -> Passing {
        let adds_self = matches!(*rule, "gcn" | "mean+self" | "sum+self");
        let row = |v: usize| -> Vec<usize> {
            match *rule {
                "identity" => vec![v],
                "pool-sum" | "pool-mean" => (0..nodes).filter(|&u| case.graph_of(u) as usize == v).collect(),
                _ => (0..nodes).filter(|&u| linked.contains(&(v, u)) || (u == v && adds_self)).collect(),
            }
        };
        let own = match *rule {
            "poly(sum;1.25,1)" => Some(1.25),
            "poly(sum;-0.5,1.0,0)" => Some(-0.5),
            _ => None,
        };
        let sizes: Vec<usize> = (0..nodes).map(|v| row(v).len()).collect();
        let senders = |v: usize| {
            let looped = linked.contains(&(v, v));
            let with_own = row(v).into_iter().chain(own.filter(|_| !looped).map(|_| v));
            let entry = |u: usize| match own.filter(|_| u == v) {
                Some(own) => Exact::from_f64(if looped { own + 1.0 } else { own }),
                None => Exact::from_f64(entry(rule, sizes[v], sizes[u])),
            };
            with_own.map(|u| (u, entry(u))).collect()
        };
        (0..nodes).map(senders).collect()
    };
    case.rules.iter().map(|rules| rules.iter().map(of_rule).collect()).collect()
}

/// The logits of all nodes after some changes.
pub fn logits(case: &ChangeCase, changes: &[Ends]) -> Vec<Vec<Exact>> {
    let nodes = case.nodes();
    let passing = passing(case, changes);
    let one = Exact::from_f64(1.0);
    let mut h: Vec<Vec<Exact>> = (0..nodes)
        .map(|v| {
            let has = |d: usize| case.graph.attributes.contains(v, d as u32);
            (0..case.graph.attributes.columns).map(|d| if has(d) { one.clone() } else { Exact::zero() }).collect()
        })
        .collect();
    let depth = case.model.layers.len();
    for (at, layer) in case.model.layers.iter().enumerate() {
        let (columns, inputs) = (layer.weight.columns, layer.weight.rows / case.rules[at].len());
        let mut next: Vec<Vec<Exact>> =
            (0..nodes).map(|_| layer.bias.iter().map(|&b| Exact::from_f64(b)).collect()).collect();
        for (term, passing) in passing[at].iter().enumerate() {
            let weights = &layer.weight.values[term * inputs * columns..][..inputs * columns];
            for (units, senders) in next.iter_mut().zip(passing) {
                for (u, a) in senders {
                    for (j, sum) in units.iter_mut().enumerate() {
                        *sum = sum.plus(&product(weights, &h[*u], columns, j).times(a));
                    }
                }
            }
        }
        if at + 1 < depth {
            for units in &mut next {
                for (j, z) in units.iter_mut().enumerate() {
                    let linear = layer.linear.get(j).copied().unwrap_or(false);
                    if !linear && z.sign() == Ordering::Less {
                        *z = Exact::zero();
                    }
                }
            }
        }
        h = next;
    }
    h
}

/// Nodes at most so many steps behind a node.
fn behind(case: &ChangeCase, node: u32, hops: usize) -> BTreeSet<u32> {
    let mut found = BTreeSet::from([node]);
    for _ in 0..hops {
        let more: Vec<u32> = found.iter().flat_map(|&v| case.graph.adjacency.row(v as usize).iter().copied()).collect();
        found.extend(more);
    }
    found
}

/// Which edges may be changed, numbers left aside.
pub fn permitted(case: &ChangeCase, means: &Means) -> Vec<Ends> {
    let may = |&e: &Ends| match (case.is_there(e), means.done) {
        (true, Done::Insert) | (false, Done::Remove) => false,
        (true, _) => !means.frozen.contains(&e),
        (false, _) => match &means.allowed {
            Allowed::All => case.graph_of(e.0 as usize) == case.graph_of(e.1 as usize),
            Allowed::Within(hops) => behind(case, e.1, *hops).contains(&e.0),
            Allowed::Listed(list) => list.contains(&e),
        },
    };
    case.pairs().into_iter().filter(may).collect()
}

/// Is a set of different permitted edges admissible?
pub fn admissible(case: &ChangeCase, means: &Means, set: &[Ends]) -> bool {
    set.len() <= means.global
        && (0..case.nodes() as u32).all(|node| {
            let counts = |&&(from, to): &&Ends| to == node || (!means.directed && from == node);
            let changes = set.iter().filter(counts).count();
            let removals = set.iter().filter(counts).filter(|&&e| case.is_there(e)).count();
            let degree = case.graph.adjacency.row(node as usize).iter().filter(|&&u| u != node).count();
            changes <= means.local[node as usize] && (!means.keep_one || removals <= degree.saturating_sub(1))
        })
}

/// All admissible sets.
pub fn sets(case: &ChangeCase, means: &Means) -> Vec<Vec<Ends>> {
    let permitted = permitted(case, means);
    let mut all: Vec<Vec<Ends>> = vec![Vec::new()];
    let mut last = all.clone();
    for _ in 0..means.global.min(permitted.len()) {
        let mut next = Vec::new();
        for set in &last {
            let more = permitted.iter().filter(|&&e| set.last().is_none_or(|&before| e > before));
            next.extend(more.map(|&e| [set.as_slice(), &[e]].concat()).filter(|set| admissible(case, means, set)));
        }
        all.extend(next.iter().cloned());
        last = next;
    }
    all
}

/// What is true of all nodes under a budget.
pub fn truths(case: &ChangeCase, means: &Means) -> Vec<ChangeTruth> {
    let mut start = logits(case, &[]);
    start.truncate(case.graph.targets());
    let best = |logits: &Vec<Exact>| {
        (1..logits.len()).fold(0, |best, k| if logits[k].compare(&logits[best]).is_gt() { k } else { best })
    };
    let mut truths: Vec<ChangeTruth> =
        start.iter().map(|logits| ChangeTruth { predicted: best(logits), margins: vec![None; logits.len()] }).collect();
    for set in sets(case, means) {
        for (logits, truth) in logits(case, &set).iter().zip(&mut truths) {
            for class in (0..logits.len()).filter(|&class| class != truth.predicted) {
                let margin = logits[truth.predicted].plus(&logits[class].negated());
                let slot = &mut truth.margins[class];
                if slot.as_ref().is_none_or(|least| margin.compare(least).is_lt()) {
                    *slot = Some(margin);
                }
            }
        }
    }
    truths
}
