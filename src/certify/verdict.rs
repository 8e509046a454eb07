//! Verdicts: what is said of a node, and what it rests on.

use gcnproof_check::format::{Line, RangeClaim};
use gcnproof_check::{Accepted, Checker};
use serde::{Deserialize, Serialize};

use crate::certify::attacker::{Attacker, Grounded, Grounds, Words};
use crate::certify::contradiction::Contradiction;
use crate::certify::deployed_verdict::Deployed;
use crate::number::dyadic::Dyadic;
use crate::problem::budget::Budget;
use crate::problem::flip::Flip;
use crate::proof::{Evidence, Missing, Shown, line, ranged_line};

/// What is known of a node under a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// No admissible perturbation changes the class: for every other class a lower bound on the worst-case margin is
    /// positive in exact arithmetic.
    Robust,
    /// The flips of the witness take the margin over another class to zero or below, replayed through the exact
    /// network.
    NonRobust,
    /// Neither could be shown.
    Undecided,
}

impl Verdict {
    /// The name used in every output format.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Robust => "robust",
            Verdict::NonRobust => "non_robust",
            Verdict::Undecided => "undecided",
        }
    }
}

/// Why a verdict is what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// The path bound is positive for every class: the sums of weights along paths are too small for any flips to
    /// matter.
    PathBound,
    /// The paper's dual bound is positive for every class.
    PaperBound,
    /// The anchored bound is positive for every class.
    AnchoredBound,
    /// Every class is settled by one of the two bounds or by a mixture of chord and capped bound.
    MixedBounds,
    /// There are few perturbations, and all of them were tried: none makes a margin zero or negative.
    Listed,
    /// Every class is settled, the last at the root of a search: column generation and envelopes.
    ColumnGeneration,
    /// Every class is settled, the last by branch and price.
    BranchAndPrice,
    /// Where attributes are moved within ranges: a bound by lines is positive for every class.
    LinearBound,
    /// Where attributes are moved within ranges: every class is settled, the last by branch and bound.
    BranchAndBound,
    /// A witness makes the margin negative.
    Witness,
    /// A witness makes the margin exactly zero: a tie.
    Tie,
    /// Some class has no positive bound, and no witness was found.
    BoundNotPositive,
    /// A limit of the search was hit before it was over.
    Limit,
}

impl Reason {
    /// The name used in every output format.
    pub fn name(self) -> &'static str {
        match self {
            Reason::PathBound => "path_bound",
            Reason::PaperBound => "paper_bound",
            Reason::AnchoredBound => "anchored_bound",
            Reason::MixedBounds => "mixed_bounds",
            Reason::Listed => "listed",
            Reason::ColumnGeneration => "column_generation",
            Reason::BranchAndPrice => "branch_and_price",
            Reason::LinearBound => "linear_bound",
            Reason::BranchAndBound => "branch_and_bound",
            Reason::Witness => "witness",
            Reason::Tie => "tie",
            Reason::BoundNotPositive => "bound_not_positive",
            Reason::Limit => "limit",
        }
    }
}

impl Grounded for Reason {
    fn name(self) -> &'static str {
        Reason::name(self)
    }

    fn grounds(self) -> Grounds {
        match self {
            Reason::PathBound
            | Reason::PaperBound
            | Reason::AnchoredBound
            | Reason::MixedBounds
            | Reason::Listed
            | Reason::ColumnGeneration
            | Reason::BranchAndPrice
            | Reason::LinearBound
            | Reason::BranchAndBound => Grounds::Bounds,
            Reason::Witness => Grounds::Witness,
            Reason::Tie => Grounds::Tie,
            Reason::Limit => Grounds::Limit,
            Reason::BoundNotPositive => Grounds::Open,
        }
    }
}

/// The attacker that flips entries of the attribute matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flips;

impl Attacker for Flips {
    type Budget = Budget;
    type Change = Flip;
    type Reason = Reason;
    type Evidence = Evidence;
    type Details = FlipDetails;
    const WORDS: Words = Words {
        change: "flip",
        changes: "flips",
        things: "flips",
        global: "Q",
        local: "q",
        relevant: "neighbourhood",
        witness: "witness",
        certified: "certified",
        attacked: "attacked",
    };
}

/// The numbers of a class pair: the reference class against `class`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Margin {
    /// The other class.
    pub class: usize,
    /// A rigorous lower bound on the worst-case margin, rounded down (`−∞` if none is known).
    pub lower: f64,
    /// The margin of the best admissible perturbation found, rounded up.
    pub upper: f64,
}

/// A [`Margin`] whose missing numbers are null.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MarginRecord {
    /// The other class.
    pub class: u64,
    /// Rigorous lower bound on the worst-case margin; null if none is known.
    pub lower: Option<f64>,
    /// Margin of the best perturbation found.
    pub upper: Option<f64>,
}

impl From<Margin> for MarginRecord {
    fn from(margin: Margin) -> MarginRecord {
        let finite = |x: f64| x.is_finite().then_some(x);
        MarginRecord { class: margin.class as u64, lower: finite(margin.lower), upper: finite(margin.upper) }
    }
}

/// The worst-case margin of a class pair, exactly.
#[derive(Clone, Debug, PartialEq)]
pub struct Minimum<A: Attacker = Flips> {
    /// The margin.
    pub margin: Dyadic,
    /// The changes that attain it.
    pub changes: Vec<A::Change>,
}

/// What only results about flips say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlipDetails {
    /// Did the paper's bound alone certify the node? (`None`: not evaluated.)
    pub paper_certifies: Option<bool>,
    /// Did the anchored bound alone certify it? (`None`: not evaluated.)
    pub anchored_certifies: Option<bool>,
    /// Masters that a search has solved.
    pub masters: usize,
    /// Where attributes are moved within ranges, the values that the entries of the witness get.
    pub values: Option<Vec<f64>>,
    /// With them, what the verdict rests on, if the certifier was told to keep it and there is one.
    pub claim: Option<RangeClaim>,
}

/// Everything said of one node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeResult<A: Attacker = Flips> {
    /// The node.
    pub node: usize,
    /// The class that is to be kept: the predicted one, or the label.
    pub reference: usize,
    /// The class predicted on the unperturbed graph.
    pub predicted: usize,
    /// How much of the graph matters to it: the nodes whose attributes it depends on, the edges whose removal can
    /// change something.
    pub relevant: usize,
    /// The verdict.
    pub verdict: Verdict,
    /// What it rests on.
    pub reason: A::Reason,
    /// One entry per other class.
    pub margins: Vec<Margin>,
    /// The exact minimum of each of these pairs, where it was asked for and found.
    pub minima: Vec<Option<Minimum<A>>>,
    /// Tree nodes that a search has examined.
    pub search_nodes: usize,
    /// Was a limit of the search hit, so that some margin may not be exact?
    pub limit_hit: bool,
    /// The changes that break a non-robust node.
    pub witness: Vec<A::Change>,
    /// What holds for the network as it runs, if the certifier was told how it does.
    pub deployed: Option<Deployed>,
    /// What the verdict rests on, if the certifier was told to keep it.
    pub evidence: Option<A::Evidence>,
    /// What only results about this attacker say.
    pub details: A::Details,
    /// Two steps that contradict each other, if some did. Then nothing of this result can be relied on.
    pub contradiction: Option<Contradiction>,
}

impl NodeResult {
    /// The line of this result in a file of proofs about ranges: its proof if the checker accepts it, or why there is
    /// none.
    pub fn ranged_line(&self, checker: &gcnproof_check::ranges::Checker) -> Accepted<Line> {
        let (node, class) = (self.node as u32, self.reference as u32);
        let missing = if self.deployed.is_some() { Missing::Rounding } else { Missing::Undecided };
        let claim = self.details.claim.as_ref().ok_or(missing);
        ranged_line(node, class, claim, self.reason.name(), checker)
    }

    /// The line of this result in a file of proofs: its proof as the checker accepts it, or why there is none.
    pub fn proof_line(&self, checker: &Checker) -> Accepted<Line> {
        let (node, class) = (self.node as u32, self.reference as u32);
        line(&Shown { node, class, evidence: self.evidence.as_ref(), reason: self.reason.name() }, checker)
    }
}
