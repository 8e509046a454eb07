//! The row of a class pair: each number with how it ended and how long it took.

use gcnproof::internals::certify::contradiction::Contradiction;
use serde::{Deserialize, Serialize};

use crate::record::consistent::Row;
use crate::{Column, Kind};

/// A gap below this is zero: less than the solvers' own rounding.
pub const ZERO: f64 = 1e-6;

/// A number, what became of it, and the seconds it took; all null where nobody was asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// The number.
    pub value: Option<f64>,
    /// `proved` for our own rigorous numbers, else a solver's status (`optimal`, `time_limit`, `too_large` …).
    pub status: Option<String>,
    /// Wall-clock seconds.
    pub seconds: Option<f64>,
}

impl Measured {
    /// A number with its status and time. What is not finite is not a number.
    pub fn new(value: Option<f64>, status: &str, seconds: f64) -> Measured {
        let value = value.filter(|value| value.is_finite());
        Measured { value, status: Some(status.to_string()), seconds: Some(seconds) }
    }

    /// Nobody was asked, for this reason.
    pub fn refused(status: &str) -> Measured {
        Measured { status: Some(status.to_string()), ..Measured::default() }
    }
}

macro_rules! row {
    (
        plain { $( $(#[$plain_doc:meta])* $plain:ident : $type:ty => $kind:ident, )* }
        numbers { $( $(#[$doc:meta])* $value:ident $status:ident $seconds:ident $set:ident, )* }
        after { $( $(#[$after_doc:meta])* $after:ident : $after_type:ty => $after_kind:ident, )* }
    ) => {
        /// What `validate` says of one class pair of one target. Numbers that were not computed are null.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        pub struct PairRecord {
            $( $(#[$plain_doc])* pub $plain: $type, )*
            $(
                $(#[$doc])* pub $value: Option<f64>,
                /// How that number ended.
                pub $status: Option<String>,
                /// Seconds that number took.
                pub $seconds: Option<f64>,
            )*
            $( $(#[$after_doc])* pub $after: $after_type, )*
        }

        impl PairRecord {
            /// The columns of a file of such rows.
            pub const SCHEMA: &'static [Column] = &[
                $( Column { name: stringify!($plain), kind: Kind::$kind }, )*
                $(
                    Column { name: stringify!($value), kind: Kind::OptionalFloat },
                    Column { name: stringify!($status), kind: Kind::OptionalText },
                    Column { name: stringify!($seconds), kind: Kind::OptionalFloat },
                )*
                $( Column { name: stringify!($after), kind: Kind::$after_kind }, )*
            ];

            $(
                /// Writes the number, its status and its seconds.
                pub fn $set(&mut self, measured: Measured) {
                    (self.$value, self.$status, self.$seconds) = (measured.value, measured.status, measured.seconds);
                }
            )*
        }
    };
}

row! {
    plain {
        /// The target, from 0.
        node: u64 => Integer,
        /// The class that the reference class is compared with.
        class: u64 => Integer,
        /// The class that is to be kept: the predicted one.
        reference: u64 => Integer,
        /// Nodes whose attributes the target depends on.
        neighbourhood: u64 => Integer,
        /// Coefficients of the layers' equations in the LP: its size.
        cells: u64 => Integer,
        /// How the LP was written: `appendix`, `compact`, or `reduced` (compact and whole for HiGHS; the other solvers
        /// get the columns that the safe bound does not price out). Null when none was built.
        form: Option<String> => OptionalText,
    }
    numbers {
        /// `g` at the default Ω, rounded down.
        dual_default dual_default_status dual_default_seconds set_dual_default,
        /// The anchored bound, rounded down.
        anchored anchored_status anchored_seconds set_anchored,
        /// `m̂` from below, by column generation.
        dual_optimal dual_optimal_status dual_optimal_seconds set_dual_optimal,
        /// `m̂` by HiGHS through good_lp.
        lp_good_lp lp_good_lp_status lp_good_lp_seconds set_lp_good_lp,
        /// `m̂` by HiGHS directly.
        lp_highs lp_highs_status lp_highs_seconds set_lp_highs,
        /// `m̂` by minilp.
        lp_minilp lp_minilp_status lp_minilp_seconds set_lp_minilp,
        /// `m̂` by Clarabel, an interior point method.
        lp_clarabel lp_clarabel_status lp_clarabel_seconds set_lp_clarabel,
        /// The lower bound of `m̂` that we prove from HiGHS' duals.
        lp_safe_bound lp_safe_bound_status lp_safe_bound_seconds set_lp_safe_bound,
        /// `m̃` by HiGHS.
        ilp ilp_status ilp_seconds set_ilp,
        /// `m` by HiGHS: the margin of its perturbation, recomputed by us.
        milp milp_status milp_seconds set_milp,
        /// `m` by branch and price, where its lower bound and its witness have met.
        exact exact_status exact_seconds set_exact,
        /// The margin of the best perturbation that the certifier found, rounded up.
        witness witness_status witness_seconds set_witness,
    }
    after {
        /// HiGHS' own lower bound of `m`: the solver's word.
        milp_bound: Option<f64> => OptionalFloat,
        /// Entries of `X̃` left to the integer programs; the others are proved useless.
        open_columns: Option<u64> => OptionalInteger,
        /// Entries of `X̃` that are neither 0 nor 1 at HiGHS' LP optimum.
        fractional: Option<u64> => OptionalInteger,
        /// LP optimum minus default dual.
        gap_dual: Option<f64> => OptionalFloat,
        /// Anchored bound minus default dual: what anchoring gains.
        gap_anchored: Option<f64> => OptionalFloat,
        /// ILP minus LP: the integrality gap.
        gap_integrality: Option<f64> => OptionalFloat,
        /// True minimum minus LP.
        gap_relaxation: Option<f64> => OptionalFloat,
        /// Witness minus default dual: what the dual leaves open.
        gap_witness: Option<f64> => OptionalFloat,
        /// Would a binary `X̃` have certified the pair where the LP does not?
        integrality_changes_verdict: Option<bool> => OptionalBoolean,
        /// Is the pair robust although even the ILP does not say so?
        relaxation_changes_verdict: Option<bool> => OptionalBoolean,
        /// The inequalities that are violated beyond the tolerance; null if none is.
        violation: Option<String> => OptionalText,
    }
}

impl PairRecord {
    /// A number that orders the rows and tells them apart.
    pub fn key(&self) -> u64 {
        key(self.node, self.class)
    }

    /// `m̂`: the answer of the first solver that has one.
    pub fn lp(&self) -> Option<f64> {
        self.lp_highs.or(self.lp_good_lp).or(self.lp_minilp).or(self.lp_clarabel)
    }

    /// `m`, if somebody found it.
    pub fn truth(&self) -> Option<f64> {
        self.exact.or(self.milp)
    }

    /// Fills in what follows from the numbers: gaps and changed verdicts.
    pub fn conclude(&mut self) {
        let minus = |left: Option<f64>, right: Option<f64>| Some(left? - right?);
        self.gap_dual = minus(self.lp(), self.dual_default);
        self.gap_anchored = minus(self.anchored, self.dual_default);
        self.gap_integrality = minus(self.ilp, self.lp());
        self.gap_relaxation = minus(self.truth(), self.lp());
        self.gap_witness = minus(self.witness, self.dual_default);
        let changes = |from: Option<f64>, to: Option<f64>| Some(from? <= 0.0 && to? > 0.0);
        self.integrality_changes_verdict = changes(self.lp(), self.ilp);
        self.relaxation_changes_verdict = changes(self.ilp, self.truth());
    }
}

/// The key of a node and a class: rows are ordered by node, then class.
pub fn key(node: u64, class: u64) -> u64 {
    node << 20 | class
}

/// The node and the class of a key.
pub fn from_key(key: u64) -> (u64, u64) {
    (key >> 20, key & ((1 << 20) - 1))
}

/// Numbers of independent solvers: the laboratory compares them, and says what it finds.
impl Row for PairRecord {
    type Kept = Self;

    fn check(&self) -> Result<(), Contradiction> {
        Ok(())
    }
}
