//! The budget: which entries may get which values, and how many of them.

use gcnproof_files::GraphFile;

use crate::format::{BudgetStatement, Direction, Local, Number, RangeLimits, RangesStatement};
use crate::number::{Dyadic, Interval, Stored};
use crate::rounding::ChangeCounts;
use crate::statement::{Decided, DescribedWeights, Network};
use crate::verdict::Reason;

/// At most [`RangeBudget::global`] entries in all and [`RangeBudget::local`] in a row, each to a value of its range.
pub(crate) struct RangeBudget {
    /// `Q`.
    pub(crate) global: usize,
    local: Vec<usize>,
    frozen: Vec<bool>,
    moves: Moves,
}

/// Numbers in both kinds.
struct Both {
    exact: Dyadic,
    around: Interval,
}

impl From<&Number> for Both {
    fn from(number: &Number) -> Both {
        Both { exact: number.0.clone(), around: Interval::around(&number.0) }
    }
}

enum Moves {
    Ball(Both),
    Between(Vec<[Both; 2]>),
}

/// How many attributes the network reads.
pub(super) fn attribute_count(graph: &GraphFile) -> usize {
    graph.values.as_ref().map_or(graph.attributes.columns, |values| values.attributes())
}

/// The entries of a row that are not 0, ascending, as the network reads them.
pub(super) fn row(graph: &GraphFile, node: u32) -> Vec<(u32, Stored)> {
    match &graph.values {
        Some(values) => {
            let (columns, values) = values.row(node as usize);
            columns.iter().zip(values).map(|(&attribute, &x)| (attribute, Stored::new(x))).collect()
        }
        None => {
            let row = graph.attributes.row(node as usize);
            let entry = Stored::new(graph.normalisation.entry(row.len()));
            row.iter().map(|&attribute| (attribute, entry)).collect()
        }
    }
}

/// The smallest and the largest value of each attribute in the graph; what no row stores is 0.
fn extremes(graph: &GraphFile) -> Vec<[Stored; 2]> {
    let mut found: Vec<Option<[Stored; 2]>> = vec![None; attribute_count(graph)];
    let mut counts = vec![0; found.len()];
    let widened = |of: Option<[Stored; 2]>, x: Stored| match of {
        None => [x, x],
        Some([low, high]) => [if x.order(low).is_lt() { x } else { low }, if x.order(high).is_gt() { x } else { high }],
    };
    let nodes = graph.attributes.rows;
    for node in 0..nodes as u32 {
        for (attribute, x) in row(graph, node) {
            let at = attribute as usize;
            (found[at], counts[at]) = (Some(widened(found[at], x)), counts[at] + 1);
        }
    }
    let whole = |(of, count): (Option<[Stored; 2]>, usize)| match of {
        Some(both) if count == nodes => both,
        of => widened(of, Stored::ZERO),
    };
    found.into_iter().zip(counts).map(whole).collect()
}

/// From the smallest to the largest value that each attribute has somewhere in a graph.
pub(crate) fn observed(graph: &GraphFile) -> RangesStatement {
    let number = |x: Stored| Number(x.exact());
    let (low, high) = extremes(graph).into_iter().map(|[low, high]| (number(low), number(high))).unzip();
    RangesStatement::Between(RangeLimits { low, high })
}

impl RangeBudget {
    /// What a header or a question says, on a graph.
    ///
    /// # Errors
    /// If it does not fit the graph, or a value lies outside its range.
    pub(crate) fn new(
        budget: &BudgetStatement,
        ranges: &RangesStatement,
        graph: &GraphFile,
    ) -> Result<RangeBudget, Reason> {
        let wrong = |problem: String| Err(Reason::Header(problem));
        if graph.categories.is_some() {
            return Err(Reason::Categories("proofs about ranges"));
        }
        if budget.direction != Direction::Both {
            return wrong("attributes are moved, neither added nor removed".into());
        }
        let (nodes, attributes) = (graph.attributes.rows, attribute_count(graph));
        let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let local = match &budget.local {
            Local::Uniform(q) => vec![count(*q).min(attributes); nodes],
            Local::PerNode(q) if q.len() == nodes => q.iter().map(|&q| count(q).min(attributes)).collect(),
            Local::PerNode(q) => return wrong(format!("{} local budgets for {nodes} nodes", q.len())),
        };
        let mut frozen = vec![false; attributes];
        if let Some(pair) = budget.frozen_attributes.windows(2).find(|pair| pair[0] >= pair[1]) {
            return wrong(format!("frozen attribute {} is listed twice or out of order", pair[1]));
        }
        for &attribute in &budget.frozen_attributes {
            match frozen.get_mut(attribute as usize) {
                Some(frozen) => *frozen = true,
                None => return wrong(format!("frozen attribute {attribute} does not exist")),
            }
        }
        let moves = match ranges {
            RangesStatement::Epsilon(epsilon) if epsilon.0.is_negative() => {
                return wrong("epsilon is negative".into());
            }
            RangesStatement::Epsilon(epsilon) => Moves::Ball(epsilon.into()),
            RangesStatement::Between(RangeLimits { low, high }) => {
                if low.len() != attributes || high.len() != attributes {
                    return wrong(format!("{} and {} limits for {attributes} attributes", low.len(), high.len()));
                }
                let values = extremes(graph).into_iter().map(|both| both.map(Stored::exact));
                for (attribute, ((low, high), [least, most])) in low.iter().zip(high).zip(values).enumerate() {
                    // A value between both limits also shows that the one is not above the other.
                    if nodes > 0 && (low.0 > least || high.0 < most) || low.0 > high.0 {
                        return wrong(format!("a value of attribute {attribute} lies outside its range"));
                    }
                }
                Moves::Between(low.iter().zip(high).map(|(low, high)| [low.into(), high.into()]).collect())
            }
        };
        let global = count(budget.global).min(nodes.saturating_mul(attributes));
        Ok(RangeBudget { global, local, frozen, moves })
    }

    /// By how much an attribute is changed, at most.
    fn farthest(&self, attribute: u32) -> Dyadic {
        match &self.moves {
            Moves::Ball(radius) => radius.exact.clone(),
            Moves::Between(limits) => &limits[attribute as usize][1].exact - &limits[attribute as usize][0].exact,
        }
    }

    /// `q_n`.
    pub(crate) fn local(&self, node: u32) -> usize {
        self.local[node as usize]
    }

    /// Is there such an attribute, and may it be changed?
    pub(crate) fn is_free(&self, attribute: u32) -> bool {
        self.frozen.get(attribute as usize).is_some_and(|frozen| !frozen)
    }

    /// Is no change at all permitted?
    pub(crate) fn is_void(&self) -> bool {
        let still = matches!(&self.moves, Moves::Ball(radius) if radius.exact.is_zero());
        self.global == 0 || still || self.local.iter().all(|&q| q == 0) || self.frozen.iter().all(|frozen| *frozen)
    }

    /// How far an entry may be moved.
    pub(super) fn moves(&self, attribute: u32, old: Stored) -> Interval {
        match &self.moves {
            Moves::Ball(radius) => (-radius.around).hull(radius.around),
            Moves::Between(limits) => {
                let [low, high] = &limits[attribute as usize];
                low.around.minus(old.into()).hull(high.around.minus(old.into()))
            }
        }
    }

    /// The smallest and the largest value that an entry may get.
    pub(super) fn limits(&self, attribute: u32, old: Stored) -> [Dyadic; 2] {
        match &self.moves {
            Moves::Ball(radius) => [&old.exact() - &radius.exact, &old.exact() + &radius.exact],
            Moves::Between(limits) => {
                let [low, high] = &limits[attribute as usize];
                [low.exact.clone(), high.exact.clone()]
            }
        }
    }

    /// Refuses entries that are not admissible together.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub(crate) fn require(&self, graph: &GraphFile, entries: &[(u32, u32, Number)]) -> Result<(), Reason> {
        if let Some(pair) = entries.windows(2).find(|pair| (pair[0].0, pair[0].1) >= (pair[1].0, pair[1].1)) {
            return Err(Reason::FlipOrder((pair[1].0, pair[1].1)));
        }
        for of_node in entries.chunk_by(|a, b| a.0 == b.0) {
            let node = of_node[0].0;
            if node as usize >= self.local.len() {
                return Err(Reason::Flip((node, of_node[0].1)));
            }
            let row = row(graph, node);
            for (_, attribute, value) in of_node {
                let within = || {
                    let [low, high] = self.limits(*attribute, value_in(&row, *attribute));
                    low <= value.0 && value.0 <= high
                };
                if !self.is_free(*attribute) || !within() {
                    return Err(Reason::Entry((node, *attribute)));
                }
            }
            if of_node.len() > self.local(node) {
                return Err(Reason::Entries);
            }
        }
        if entries.len() > self.global { Err(Reason::Entries) } else { Ok(()) }
    }

    /// Why not all changes that another budget permits are among these; nothing if they are.
    pub(crate) fn uncovered(&self, asked: &RangeBudget) -> Vec<String> {
        let mut reasons = Vec::new();
        if asked.is_void() {
            return reasons;
        }
        if asked.global > self.global {
            reasons.push(format!("asked about Q = {}, stated Q = {}", asked.global, self.global));
        }
        let more = |node: &usize| asked.local[*node].min(asked.global) > self.local[*node];
        if let Some(node) = (0..asked.local.len().min(self.local.len())).find(more) {
            let (asked, stated) = (asked.local[node], self.local[node]);
            reasons.push(format!("asked about q = {asked} at node {node}, stated q = {stated}"));
        }
        if let Some(attribute) = (0..asked.frozen.len()).find(|&d| self.frozen[d] && !asked.frozen[d]) {
            reasons.push(format!("attribute {attribute} is frozen as stated, and not as asked"));
        }
        match (&asked.moves, &self.moves) {
            (Moves::Ball(asked), Moves::Ball(stated)) if asked.exact <= stated.exact => {}
            (Moves::Ball(_), Moves::Ball(_)) => reasons.push("asked about a larger epsilon than stated".into()),
            (Moves::Between(asked), Moves::Between(stated)) => {
                let outside = |(asked, stated): (&[Both; 2], &[Both; 2])| {
                    asked[0].exact < stated[0].exact || asked[1].exact > stated[1].exact
                };
                if let Some(attribute) = asked.iter().zip(stated).position(outside) {
                    reasons.push(format!("asked about a larger range of attribute {attribute} than stated"));
                }
            }
            _ => reasons.push("one of question and statement is about --epsilon, the other about --ranges".into()),
        }
        reasons
    }
}

/// FORMAT-RANGES.md §6.
impl ChangeCounts for RangeBudget {
    /// A number is rounded to the format, and multiplied by a weight and by an entry of the operator.
    fn products(&self, _: &Network) -> usize {
        3
    }

    fn divides(&self, _: &Network) -> bool {
        // Quotients are moved as they are.
        false
    }

    fn global(&self) -> usize {
        self.global
    }

    fn local(&self, node: u32) -> usize {
        self.local(node)
    }

    fn adds(&self) -> bool {
        true
    }

    fn removes(&self) -> bool {
        true
    }

    fn steps(&self, _: &Network, weights: &DescribedWeights, unit: usize) -> Vec<Dyadic> {
        let free = (0..self.frozen.len() as u32).filter(|&d| self.is_free(d));
        free.map(|d| &weights.size(d as usize, unit) * &self.farthest(d)).collect()
    }

    /// No entries are said to be moved before.
    fn row(&self, network: &Network, node: u32, _: Option<&Decided>) -> Vec<(u32, Option<Dyadic>)> {
        row(network.graph, node).into_iter().map(|(attribute, x)| (attribute, Some(x.exact()))).collect()
    }

    fn largest(&self, network: &Network) -> Dyadic {
        let most = |numbers: &mut dyn Iterator<Item = Dyadic>| numbers.fold(Dyadic::ZERO, Dyadic::max);
        let nodes = 0..self.local.len() as u32;
        let values = most(&mut nodes.flat_map(|node| row(network.graph, node)).map(|(_, x)| x.exact().size()));
        &values + &most(&mut (0..self.frozen.len() as u32).map(|attribute| self.farthest(attribute)))
    }
}

/// The value of an attribute in a row.
pub(super) fn value_in(row: &[(u32, Stored)], attribute: u32) -> Stored {
    row.binary_search_by_key(&attribute, |entry| entry.0).map_or(Stored::ZERO, |at| row[at].1)
}
