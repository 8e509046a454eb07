//! Rows are checked against themselves before they are written: what one column says must follow from the others.

use gcnproof::internals::certify::contradiction::{Contradiction, Subject};
use gcnproof::internals::certify::verdict::Verdict;
use gcnproof::{Grounded, Grounds};

use crate::record::collective::CollectiveRecord;
use crate::record::kept::Kept;
use crate::record::node::{Record, Tabled};
use crate::record::radius::RadiusRow;
use crate::record::{MarginRecord, TableRecord};

/// A row of results that can tell whether its columns agree.
pub trait Row: Sized {
    /// The form in which rows wait in memory.
    type Kept: Send + From<Self>;

    /// Are its columns consistent, and the steps that it was made of?
    ///
    /// # Errors
    /// If they are not: then something is wrong with this program, and the row must not be written.
    fn check(&self) -> Result<(), Contradiction>;
}

impl<A: Tabled> Record<A> {
    fn pair(&self, margin: &MarginRecord) -> Subject {
        Subject::Pair { node: self.node as usize, reference: self.reference as usize, class: margin.class as usize }
    }

    fn told(&self) -> String {
        format!("the verdict {}", self.verdict.name())
    }

    /// What follows from the reason, the witness and the margins, for every attacker.
    fn check_verdict(&self) -> Result<(), Contradiction> {
        let node = Subject::Node(self.node as usize);
        let reason = self.reason.name();
        let needed = match self.reason.grounds() {
            Grounds::Bounds => Verdict::Robust,
            Grounds::Witness | Grounds::Tie => Verdict::NonRobust,
            Grounds::Limit | Grounds::Open => Verdict::Undecided,
        };
        if self.verdict != needed {
            return Err(Contradiction::new(node, self.told(), format!("its reason {reason}")));
        }
        if self.reason.grounds() == Grounds::Limit && !self.limit_hit {
            return Err(Contradiction::new(node, format!("the reason {reason}"), "that no limit was hit"));
        }
        let changes = self.witness.len();
        if changes > 0 && self.verdict != Verdict::NonRobust {
            return Err(Contradiction::new(node, self.told(), format!("a witness of {changes} changes")));
        }
        for margin in &self.margins {
            if let (Some(lower), Some(upper)) = (margin.lower, margin.upper)
                && lower > upper
            {
                let steps =
                    (format!("a lower bound of {lower:e}"), format!("a perturbation with a margin of {upper:e}"));
                return Err(Contradiction::new(self.pair(margin), steps.0, steps.1));
            }
            let broken = margin.upper.is_some_and(|upper| upper <= 0.0);
            if broken && self.verdict != Verdict::NonRobust {
                let attack = format!("a perturbation with a margin of {:e}", margin.upper.unwrap_or(f64::NAN));
                return Err(Contradiction::new(self.pair(margin), self.told(), attack));
            }
        }
        let settled = |margin: &MarginRecord| margin.lower.is_some_and(|lower| lower > 0.0);
        if self.verdict == Verdict::Undecided && !self.margins.is_empty() && self.margins.iter().all(settled) {
            return Err(Contradiction::new(node, self.told(), "positive lower bounds for every class"));
        }
        Ok(())
    }

    /// What follows from the best perturbation and the best bound of every class pair, where the row has them.
    pub(super) fn check_best(&self) -> Result<(), Contradiction> {
        let below = |margin: &&MarginRecord| margin.lower.is_some_and(|lower| lower < 0.0);
        if let (Verdict::Robust, Some(margin)) = (self.verdict, self.margins.iter().find(below)) {
            let bound = format!("a best lower bound of {:e}", margin.lower.unwrap_or(f64::NAN));
            return Err(Contradiction::new(self.pair(margin), self.told(), bound));
        }
        let node = Subject::Node(self.node as usize);
        if let grounds @ (Grounds::Witness | Grounds::Tie) = self.reason.grounds() {
            // A margin that is no number is not known to be above zero.
            let upper = |margin: &MarginRecord| margin.upper.unwrap_or(f64::NEG_INFINITY);
            if !self.margins.iter().any(|margin| upper(margin) <= 0.0) {
                return Err(Contradiction::new(node, self.told(), "margins of all perturbations above 0"));
            }
            let negative = |margin: &MarginRecord| margin.upper.is_some_and(|upper| upper < 0.0);
            if grounds == Grounds::Tie && self.margins.iter().any(negative) {
                return Err(Contradiction::new(node, "a tie", "a perturbation with a negative margin"));
            }
        }
        Ok(())
    }
}

impl<A: Tabled> Row for Record<A> {
    type Kept = Kept<A>;

    fn check(&self) -> Result<(), Contradiction> {
        if let Some(contradiction) = &self.contradiction {
            return Err(contradiction.clone());
        }
        self.check_verdict()?;
        A::check(self)
    }
}

/// What is certified must be below what is attacked, and a witness as long as it is said to be.
impl<A: Tabled> Row for RadiusRow<A> {
    type Kept = Self;

    fn check(&self) -> Result<(), Contradiction> {
        if let Some(contradiction) = &self.contradiction {
            return Err(contradiction.clone());
        }
        let node = Subject::Node(self.node as usize);
        let witness = self.witness.len();
        if let (Some(certified), Some(attacked)) = (self.certified, self.attacked)
            && certified >= attacked
        {
            let steps = (format!("a proof for {certified} changes"), format!("a witness of {attacked}"));
            return Err(Contradiction::new(node, steps.0, steps.1));
        }
        if self.attacked.unwrap_or(0) != witness as u64 {
            let none = || "that no attack is known".into();
            let said = self.attacked.map_or_else(none, |attacked| format!("an attack of {attacked}"));
            return Err(Contradiction::new(node, said, format!("a witness of {witness} changes")));
        }
        Ok(())
    }
}

impl Row for CollectiveRecord {
    type Kept = Self;

    fn check(&self) -> Result<(), Contradiction> {
        if let Some(contradiction) = &self.contradiction {
            return Err(contradiction.clone());
        }
        let error = |first: String, second: String| {
            Err(Contradiction::new(Subject::Flips(self.q_global as usize), first, second))
        };
        if self.broken > self.bound {
            return error(format!("a bound of {} predictions", self.bound), format!("{} broken ones", self.broken));
        }
        if self.bound.saturating_add(self.robust) > self.counted {
            let robust = format!("{} robust ones of {}", self.robust, self.counted);
            return error(format!("a bound of {} predictions", self.bound), robust);
        }
        if self.broken_nodes.len() as u64 != self.broken {
            return error(format!("{} broken predictions", self.broken), format!("the nodes {:?}", self.broken_nodes));
        }
        if self.flips.len() as u64 > self.q_global {
            return error("its budget".into(), format!("a perturbation of {} flips", self.flips.len()));
        }
        // A bound is rounded down; that of listed perturbations is a number of them.
        if self.bound as f64 > self.fractional_bound * (1.0 + 1e-9) + 1e-9 {
            return error(
                format!("a bound of {} predictions", self.bound),
                format!("{} before rounding down", self.fractional_bound),
            );
        }
        Ok(())
    }
}

/// Averages over nodes: nothing in it follows from anything else.
impl Row for TableRecord {
    type Kept = Self;

    fn check(&self) -> Result<(), Contradiction> {
        Ok(())
    }
}
