//! Rows are checked against themselves before they are written: what one column says must follow from the others.

use gcnproof::edges::EdgeReason;
use gcnproof::internals::certify::contradiction::{Contradiction, Subject};
use gcnproof::internals::certify::deployment::DeployedVerdict;
use gcnproof::internals::certify::verdict::{Reason, Verdict};

use crate::record::collective::CollectiveRecord;
use crate::record::edges::{EdgeRadiusRecord, EdgeRecord};
use crate::record::{MarginRecord, NodeRecord, RadiusRecord, TableRecord};

/// A row of results that can tell whether its columns agree.
pub trait Row {
    /// Are its columns consistent, and the steps that it was made of?
    ///
    /// # Errors
    /// If they are not: then something is wrong with this program, and the row must not be written.
    fn check(&self) -> Result<(), Contradiction>;
}

/// What a verdict rests on, as far as it says which verdict that can be.
enum Rests {
    /// On lower bounds.
    Bounds,
    /// On a perturbation with a negative margin, or with one that is exactly zero.
    Witness { tie: bool },
    /// On nothing.
    Open,
}

impl From<Reason> for Rests {
    fn from(reason: Reason) -> Rests {
        match reason {
            Reason::PathBound
            | Reason::PaperBound
            | Reason::AnchoredBound
            | Reason::MixedBounds
            | Reason::ColumnGeneration
            | Reason::BranchAndPrice => Rests::Bounds,
            Reason::Witness => Rests::Witness { tie: false },
            Reason::Tie => Rests::Witness { tie: true },
            // `BoundNotPositive` and `Limit`. What is not known here shows nothing.
            _ => Rests::Open,
        }
    }
}

impl From<EdgeReason> for Rests {
    fn from(reason: EdgeReason) -> Rests {
        match reason {
            EdgeReason::PricedBound | EdgeReason::Listed | EdgeReason::BranchAndBound => Rests::Bounds,
            EdgeReason::Witness => Rests::Witness { tie: false },
            EdgeReason::Tie => Rests::Witness { tie: true },
            // The same.
            _ => Rests::Open,
        }
    }
}

/// What all rows about one node have in common.
struct Decided<'a> {
    node: usize,
    reference: usize,
    verdict: Verdict,
    reason: (&'static str, Rests),
    margins: &'a [MarginRecord],
    witness: usize,
    limit_hit: bool,
}

impl Decided<'_> {
    fn pair(&self, margin: &MarginRecord) -> Subject {
        Subject::Pair { node: self.node, reference: self.reference, class: margin.class as usize }
    }

    fn check(&self) -> Result<(), Contradiction> {
        let node = Subject::Node(self.node);
        let (reason, rests) = &self.reason;
        let verdict = || format!("the verdict {}", self.verdict.name());
        let fits = match rests {
            Rests::Bounds => self.verdict == Verdict::Robust,
            Rests::Witness { .. } => self.verdict == Verdict::NonRobust,
            Rests::Open => self.verdict == Verdict::Undecided,
        };
        if !fits {
            return Err(Contradiction::new(node, verdict(), format!("its reason {reason}")));
        }
        if *reason == Reason::Limit.name() && !self.limit_hit {
            return Err(Contradiction::new(node, format!("the reason {reason}"), "that no limit was hit"));
        }
        if self.witness > 0 && self.verdict != Verdict::NonRobust {
            return Err(Contradiction::new(node, verdict(), format!("a witness of {} changes", self.witness)));
        }
        for margin in self.margins {
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
                return Err(Contradiction::new(self.pair(margin), verdict(), attack));
            }
        }
        let settled = |margin: &MarginRecord| margin.lower.is_some_and(|lower| lower > 0.0);
        if self.verdict == Verdict::Undecided && !self.margins.is_empty() && self.margins.iter().all(settled) {
            return Err(Contradiction::new(node, verdict(), "positive lower bounds for every class"));
        }
        Ok(())
    }
}

impl Decided<'_> {
    /// What follows from the best perturbation and the best bound of every class pair, where the row has them.
    fn check_best(&self) -> Result<(), Contradiction> {
        let verdict = || format!("the verdict {}", self.verdict.name());
        let below = |margin: &&MarginRecord| margin.lower.is_some_and(|lower| lower < 0.0);
        if let (Verdict::Robust, Some(margin)) = (self.verdict, self.margins.iter().find(below)) {
            let bound = format!("a best lower bound of {:e}", margin.lower.unwrap_or(f64::NAN));
            return Err(Contradiction::new(self.pair(margin), verdict(), bound));
        }
        let node = Subject::Node(self.node);
        if let Rests::Witness { tie } = self.reason.1 {
            // A margin that is no number is not known to be above zero.
            let upper = |margin: &MarginRecord| margin.upper.unwrap_or(f64::NEG_INFINITY);
            if !self.margins.iter().any(|margin| upper(margin) <= 0.0) {
                return Err(Contradiction::new(node, verdict(), "margins of all perturbations above 0"));
            }
            if tie && self.margins.iter().any(|margin| margin.upper.is_some_and(|upper| upper < 0.0)) {
                return Err(Contradiction::new(node, "a tie", "a perturbation with a negative margin"));
            }
        }
        Ok(())
    }
}

impl NodeRecord {
    /// The columns of the network as it runs.
    fn check_deployed(&self) -> Result<(), Contradiction> {
        let Some(deployed) = self.deployed else { return Ok(()) };
        let node = self.node as usize;
        let verdict = || format!("the verdict {} as deployed", deployed.name());
        let needed = match deployed {
            DeployedVerdict::Robust => Some(Verdict::Robust),
            DeployedVerdict::NonRobust => Some(Verdict::NonRobust),
            _ => None,
        };
        if needed.is_some_and(|needed| needed != self.verdict) {
            let exact = format!("the verdict {} in exact arithmetic", self.verdict.name());
            return Err(Contradiction::new(Subject::Node(node), verdict(), exact));
        }
        if deployed != DeployedVerdict::Robust {
            return Ok(());
        }
        let rounding = self.rounding.as_deref().unwrap_or_default();
        for (margin, error) in self.margins.iter().zip(rounding) {
            let subject = Subject::Pair { node, reference: self.reference as usize, class: margin.class as usize };
            let Some(error) = error.upper else {
                return Err(Contradiction::new(subject, verdict(), "an error that is not known"));
            };
            // The bound was found for a margin moved by the error, and moved back.
            let bounded = margin.lower.is_none_or(|lower| lower >= error.next_down());
            if !bounded || margin.upper.is_some_and(|upper| upper <= error) {
                let (lower, upper) = (margin.lower.unwrap_or(f64::NAN), margin.upper.unwrap_or(f64::NAN));
                let numbers = format!("an error of {error:e} with a margin from {lower:e} to {upper:e}");
                return Err(Contradiction::new(subject, verdict(), numbers));
            }
        }
        Ok(())
    }
}

impl Row for NodeRecord {
    fn check(&self) -> Result<(), Contradiction> {
        if let Some(contradiction) = &self.contradiction {
            return Err(contradiction.clone());
        }
        let decided = Decided {
            node: self.node as usize,
            reference: self.reference as usize,
            verdict: self.verdict,
            reason: (self.reason.name(), self.reason.into()),
            margins: &self.margins,
            witness: self.witness.len(),
            limit_hit: self.limit_hit,
        };
        decided.check()?;
        decided.check_best()?;
        let alone = [(self.paper_certifies, "the paper's bound"), (self.anchored_certifies, "the anchored bound")];
        for (_, bound) in alone.into_iter().filter(|(certifies, _)| *certifies == Some(true)) {
            if self.verdict != Verdict::Robust {
                let verdict = format!("the verdict {}", self.verdict.name());
                let bound = format!("{bound}, which is positive for every class");
                return Err(Contradiction::new(Subject::Node(self.node as usize), verdict, bound));
            }
        }
        self.check_deployed()
    }
}

impl Row for EdgeRecord {
    fn check(&self) -> Result<(), Contradiction> {
        let decided = Decided {
            node: self.node as usize,
            reference: self.reference as usize,
            verdict: self.verdict,
            reason: (self.reason.name(), self.reason.into()),
            margins: &self.margins,
            witness: self.witness_edges.len(),
            limit_hit: self.limit_hit,
        };
        decided.check()
    }
}

/// What is certified must be below what is attacked, and a witness as long as it is said to be.
fn check_radius(node: u64, certified: Option<u64>, attacked: Option<u64>, witness: usize) -> Result<(), Contradiction> {
    let node = Subject::Node(node as usize);
    if let (Some(certified), Some(attacked)) = (certified, attacked)
        && certified >= attacked
    {
        let steps = (format!("a proof for {certified} changes"), format!("a witness of {attacked}"));
        return Err(Contradiction::new(node, steps.0, steps.1));
    }
    if attacked.unwrap_or(0) != witness as u64 {
        let said = attacked.map_or("that no attack is known".into(), |attacked| format!("an attack of {attacked}"));
        return Err(Contradiction::new(node, said, format!("a witness of {witness} changes")));
    }
    Ok(())
}

impl Row for RadiusRecord {
    fn check(&self) -> Result<(), Contradiction> {
        match &self.contradiction {
            Some(contradiction) => Err(contradiction.clone()),
            None => check_radius(self.node, self.certified_q_global, self.attacked_q_global, self.witness.len()),
        }
    }
}

impl Row for EdgeRadiusRecord {
    fn check(&self) -> Result<(), Contradiction> {
        check_radius(self.node, self.certified_edges, self.attacked_edges, self.witness_edges.len())
    }
}

impl Row for CollectiveRecord {
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
        if self.broken_nodes.split_whitespace().count() as u64 != self.broken {
            return error(format!("{} broken predictions", self.broken), format!("the nodes {}", self.broken_nodes));
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
    fn check(&self) -> Result<(), Contradiction> {
        Ok(())
    }
}
