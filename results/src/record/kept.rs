//! Rows of nodes in little memory: of a large graph, nearly all are robust by bounds and have nothing but numbers.

use gcnproof::internals::certify::verdict::Verdict;
use serde::{Serialize, Serializer};

use super::MarginRecord;
use super::node::{Record, Tabled};

/// A row that takes as little memory as it can.
#[derive(Clone, Debug)]
pub enum Kept<A: Tabled> {
    /// Of a node that no search was needed for, and whose margins are known.
    Plain(Plain<A>),
    /// Any other.
    Whole(Box<Record<A>>),
}

/// What is not the same in all rows of such nodes.
#[derive(Clone, Debug)]
pub struct Plain<A: Tabled> {
    node: u64,
    seconds: f64,
    /// From below and from above, for each class but the reference.
    margins: Box<[[f64; 2]]>,
    label: Option<u32>,
    predicted: u32,
    reference: u32,
    degree: u32,
    relevant: u32,
    reason: A::Reason,
    verdict: Verdict,
    graphs: bool,
    limit_hit: bool,
}

impl<A: Tabled> Plain<A> {
    /// The row, if it has nothing but this.
    fn new(row: &Record<A>) -> Option<Plain<A>> {
        let small = |number: u64| u32::try_from(number).ok();
        let others = (0u64..).filter(|&class| class != row.reference);
        if !row.margins.iter().zip(others).all(|(margin, class)| margin.class == class) {
            return None;
        }
        let numbers = |margin: &MarginRecord| Some([margin.lower?, margin.upper?]);
        let plain = Plain {
            node: row.node,
            seconds: row.seconds,
            margins: row.margins.iter().map(numbers).collect::<Option<_>>()?,
            label: row.label.map(u32::try_from).transpose().ok()?,
            predicted: small(row.predicted)?,
            reference: small(row.reference)?,
            degree: small(row.degree)?,
            relevant: small(row.relevant)?,
            reason: row.reason,
            verdict: row.verdict,
            graphs: row.graphs,
            limit_hit: row.limit_hit,
        };
        // Whatever else it has makes another row of it.
        (plain.row() == *row).then_some(plain)
    }

    fn row(&self) -> Record<A> {
        let reference = u64::from(self.reference);
        let others = (0..).filter(|&class| class != reference);
        let margin =
            |(class, &[lower, upper]): (u64, &[f64; 2])| MarginRecord { class, lower: Some(lower), upper: Some(upper) };
        Record {
            node: self.node,
            graphs: self.graphs,
            label: self.label.map(u64::from),
            predicted: u64::from(self.predicted),
            reference,
            degree: u64::from(self.degree),
            relevant: u64::from(self.relevant),
            verdict: self.verdict,
            reason: self.reason,
            search_nodes: 0,
            limit_hit: self.limit_hit,
            margins: others.zip(&self.margins).map(margin).collect(),
            witness: Vec::new(),
            seconds: self.seconds,
            exact_margins: None,
            own: A::Own::default(),
            contradiction: None,
        }
    }
}

impl<A: Tabled> From<Record<A>> for Kept<A> {
    fn from(row: Record<A>) -> Kept<A> {
        match Plain::new(&row) {
            Some(plain) => Kept::Plain(plain),
            None => Kept::Whole(Box::new(row)),
        }
    }
}

impl<A: Tabled> Kept<A> {
    /// The number of the node.
    pub fn node(&self) -> u64 {
        match self {
            Kept::Plain(plain) => plain.node,
            Kept::Whole(row) => row.node,
        }
    }

    /// The row again.
    pub fn row(&self) -> Record<A> {
        match self {
            Kept::Plain(plain) => plain.row(),
            Kept::Whole(row) => Record::clone(row),
        }
    }

    /// The same, which is no longer kept.
    fn into_row(self) -> Record<A> {
        match self {
            Kept::Plain(plain) => plain.row(),
            Kept::Whole(row) => *row,
        }
    }
}

/// All rows of a run, in order.
#[derive(Clone, Debug)]
pub struct KeptRows<A: Tabled>(Vec<Kept<A>>);

impl<A: Tabled> KeptRows<A> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One after the other, each made when it is its turn.
    pub fn iter(&self) -> impl Iterator<Item = Record<A>> {
        self.0.iter().map(Kept::row)
    }

    /// All of them at once.
    pub fn into_vec(self) -> Vec<Record<A>> {
        self.0.into_iter().map(Kept::into_row).collect()
    }
}

impl<A: Tabled> From<Vec<Kept<A>>> for KeptRows<A> {
    fn from(rows: Vec<Kept<A>>) -> KeptRows<A> {
        KeptRows(rows)
    }
}

impl<A: Tabled> Serialize for KeptRows<A> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

#[cfg(test)]
mod tests {
    use gcnproof::{Flip, Flips, Reason, Verdict};

    use super::{Kept, KeptRows};
    use crate::record::{FlipColumns, MarginRecord, NodeRecord};

    fn plain() -> NodeRecord {
        let margin = |class| MarginRecord { class, lower: Some(0.1 + class as f64), upper: Some(2.0) };
        NodeRecord {
            node: 1 << 33,
            graphs: false,
            label: Some(1),
            predicted: 2,
            reference: 2,
            degree: 5,
            relevant: 70,
            verdict: Verdict::Robust,
            reason: Reason::PathBound,
            search_nodes: 0,
            limit_hit: false,
            margins: [0, 1, 3].map(margin).to_vec(),
            witness: Vec::new(),
            seconds: 1e-5,
            exact_margins: None,
            own: FlipColumns::default(),
            contradiction: None,
        }
    }

    #[test]
    fn rows_come_back_as_they_were() {
        let none = MarginRecord { class: 3, lower: None, upper: Some(1.0) };
        let rows = [
            plain(),
            NodeRecord { label: None, ..plain() },
            NodeRecord { margins: Vec::new(), ..plain() },
            NodeRecord { margins: vec![none], ..plain() },
            NodeRecord { search_nodes: 7, ..plain() },
            NodeRecord { degree: 1 << 40, ..plain() },
            NodeRecord { witness: vec![Flip { node: 1, attribute: 2 }], verdict: Verdict::NonRobust, ..plain() },
            NodeRecord { own: FlipColumns { masters: 1, ..FlipColumns::default() }, ..plain() },
            NodeRecord { exact_margins: Some("1/2".into()), ..plain() },
        ];
        let kept: Vec<Kept<Flips>> = rows.iter().cloned().map(Kept::from).collect();
        let is_plain: Vec<bool> = kept.iter().map(|kept| matches!(kept, Kept::Plain(_))).collect();
        assert_eq!(is_plain, [true, true, true, false, false, false, false, false, false]);
        assert!(kept.iter().all(|kept| kept.node() == 1 << 33));
        let kept = KeptRows::from(kept);
        assert_eq!(kept.iter().collect::<Vec<_>>(), rows);
        assert_eq!(serde_json::to_string(&kept).unwrap(), serde_json::to_string(&rows).unwrap());
        assert_eq!(kept.into_vec(), rows);
        assert!(size_of::<Kept<Flips>>() <= 80);
    }
}
