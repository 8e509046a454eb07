//! Rows about flips: the columns that only they have.

use gcnproof::internals::certify::contradiction::{Contradiction, Subject};
use gcnproof::internals::certify::deployment::DeployedVerdict;
use gcnproof::internals::certify::verdict::{Margin, Verdict};
use gcnproof::{Flips, NodeResult};
use serde::{Deserialize, Serialize};

use super::MarginRecord;
use super::node::{Record, Tabled};
use super::radius::RadiusRow;
use crate::{Column, Kind};

/// What `certify` says of a node about flips.
pub type NodeRecord = Record<Flips>;

/// What `radius` says of a node about flips.
pub type RadiusRecord = RadiusRow<Flips>;

/// Columns that only rows about flips have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlipColumns {
    /// Did the paper's bound alone certify it? Null if it was not evaluated.
    pub paper_certifies: Option<bool>,
    /// Did the anchored bound alone certify it? Null if it was not evaluated.
    pub anchored_certifies: Option<bool>,
    /// Masters that a search has solved.
    pub masters: u64,
    /// Where attributes are moved within ranges, the values that the entries of the witness get, in its order and
    /// separated by spaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness_values: Option<String>,
    /// On request the verdict for the network as it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployed: Option<DeployedVerdict>,
    /// With it, between which numbers the difference of computed and exact margin lies, class pair by class pair; null
    /// where nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounding: Option<Vec<MarginRecord>>,
    /// With it: may the class computed without any flip depend on rounding?
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prediction_depends: Option<bool>,
}

const COLUMNS: [Column; 20] = [
    Column { name: "node", kind: Kind::Integer },
    Column { name: "label", kind: Kind::OptionalInteger },
    Column { name: "predicted", kind: Kind::Integer },
    Column { name: "reference", kind: Kind::Integer },
    Column { name: "degree", kind: Kind::Integer },
    Column { name: "neighbourhood", kind: Kind::Integer },
    Column { name: "verdict", kind: Kind::Text },
    Column { name: "reason", kind: Kind::Text },
    Column { name: "paper_certifies", kind: Kind::OptionalBoolean },
    Column { name: "anchored_certifies", kind: Kind::OptionalBoolean },
    Column { name: "search_nodes", kind: Kind::Integer },
    Column { name: "masters", kind: Kind::Integer },
    Column { name: "limit_hit", kind: Kind::Boolean },
    Column { name: "margins", kind: Kind::Margins },
    Column { name: "worst_lower", kind: Kind::OptionalFloat },
    Column { name: "worst_upper", kind: Kind::OptionalFloat },
    Column { name: "worst_class", kind: Kind::OptionalInteger },
    Column { name: "witness", kind: Kind::Flips },
    Column { name: "witness_size", kind: Kind::OptionalInteger },
    Column { name: "seconds", kind: Kind::Float },
];

const EXACT: [Column; 1] = [Column { name: "exact_margins", kind: Kind::OptionalText }];

const DEPLOYED: [Column; 3] = [
    Column { name: "deployed", kind: Kind::OptionalText },
    Column { name: "rounding", kind: Kind::Margins },
    Column { name: "prediction_depends", kind: Kind::OptionalBoolean },
];

const RANGED: [Column; 1] = [Column { name: "witness_values", kind: Kind::OptionalText }];

impl NodeRecord {
    /// The columns of a file of such rows, without exact margins.
    pub const SCHEMA: &'static [Column] = &COLUMNS;

    /// The columns of a file of such rows, with exact margins.
    pub const EXACT_SCHEMA: &'static [Column] = &joined::<21>(&COLUMNS, &EXACT);

    /// The columns of a file of such rows where attributes are moved within ranges.
    pub fn ranged_schema(deployed: bool) -> &'static [Column] {
        const RUNS: &[Column] = &joined::<24>(&joined::<23>(&COLUMNS, &DEPLOYED), &RANGED);
        if deployed { RUNS } else { &const { joined::<21>(&COLUMNS, &RANGED) } }
    }

    /// The columns of the network as it runs.
    fn check_deployed(&self) -> Result<(), Contradiction> {
        let Some(deployed) = self.own.deployed else { return Ok(()) };
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
        let rounding = self.own.rounding.as_deref().unwrap_or_default();
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

impl Tabled for Flips {
    type Own = FlipColumns;

    fn schema(exact: bool, deployed: bool) -> &'static [Column] {
        const RUNS: &[Column] = &joined::<23>(NodeRecord::SCHEMA, &DEPLOYED);
        const ALL: &[Column] = &joined::<25>(&joined::<24>(NodeRecord::EXACT_SCHEMA, &DEPLOYED), &RANGED);
        match (exact, deployed) {
            (false, false) => NodeRecord::SCHEMA,
            (true, false) => NodeRecord::EXACT_SCHEMA,
            (false, true) => RUNS,
            (true, true) => ALL,
        }
    }

    fn own(result: &NodeResult) -> FlipColumns {
        let rounding = result.deployed.as_ref().map(|deployed| {
            let around = |(margin, &error): (&Margin, &f64)| Margin { lower: -error, upper: error, ..*margin };
            result.margins.iter().zip(&deployed.errors).map(around).map(MarginRecord::from).collect()
        });
        FlipColumns {
            paper_certifies: result.details.paper_certifies,
            anchored_certifies: result.details.anchored_certifies,
            masters: result.details.masters as u64,
            witness_values: result
                .details
                .values
                .as_ref()
                .map(|values| values.iter().map(|value| format!("{value:?}")).collect::<Vec<_>>().join(" ")),
            deployed: result.deployed.as_ref().map(|deployed| deployed.verdict),
            rounding,
            prediction_depends: result.deployed.as_ref().map(|deployed| deployed.prediction_depends),
        }
    }

    fn check(row: &NodeRecord) -> Result<(), Contradiction> {
        row.check_best()?;
        let own = &row.own;
        let alone = [(own.paper_certifies, "the paper's bound"), (own.anchored_certifies, "the anchored bound")];
        for (_, bound) in alone.into_iter().filter(|(certifies, _)| *certifies == Some(true)) {
            if row.verdict != Verdict::Robust {
                let verdict = format!("the verdict {}", row.verdict.name());
                let bound = format!("{bound}, which is positive for every class");
                return Err(Contradiction::new(Subject::Node(row.node as usize), verdict, bound));
            }
        }
        row.check_deployed()
    }
}

/// Columns after columns.
pub(super) const fn joined<const N: usize>(first: &[Column], second: &[Column]) -> [Column; N] {
    let mut all = [first[0]; N];
    let mut at = 0;
    while at < N {
        all[at] = if at < first.len() { first[at] } else { second[at - first.len()] };
        at += 1;
    }
    all
}
