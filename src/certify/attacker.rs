//! Attackers: what may be changed, and the words for it. Results, radii, rows and runs are written once over
//! [`Attacker`]; the mathematics of each attacker stands in rooms of its own.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// What may be changed about a graph. Implemented by a type without values for each attacker.
pub trait Attacker: Copy + Debug + PartialEq + Send + Sync + 'static {
    /// How much may be changed, in all and at a node.
    type Budget: Clone + Debug + Send + Sync;
    /// One change of a witness; files hold it as a pair of integers.
    type Change: Copy + Debug + PartialEq + Serialize + DeserializeOwned + Send + Sync;
    /// Why a verdict is what it is.
    type Reason: Grounded;
    /// What a verdict rests on, as proofs state it.
    type Evidence: Clone + Debug + PartialEq + Send + Sync;
    /// What only results about this attacker say.
    type Details: Clone + Debug + Default + PartialEq + Send + Sync;
    /// What its parts are called.
    const WORDS: Words;
}

/// What the parts of an attacker are called, in texts and as columns of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    /// One change.
    pub change: &'static str,
    /// Several changes.
    pub changes: &'static str,
    /// Several of what is changed, where the kind of change goes without saying.
    pub things: &'static str,
    /// The letter of the global budget.
    pub global: &'static str,
    /// The letter of the local budget.
    pub local: &'static str,
    /// The column of [`NodeResult::relevant`](crate::NodeResult::relevant).
    pub relevant: &'static str,
    /// The column of witnesses.
    pub witness: &'static str,
    /// The column of the largest certified global budget.
    pub certified: &'static str,
    /// The column of the smallest attacked global budget.
    pub attacked: &'static str,
}

/// What a verdict rests on, as far as that says which verdict it can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grounds {
    /// Lower bounds: robust.
    Bounds,
    /// A perturbation with a negative margin: non-robust.
    Witness,
    /// A perturbation whose margin is exactly zero: non-robust.
    Tie,
    /// A limit of the search was hit: undecided.
    Limit,
    /// Nothing: undecided.
    Open,
}

/// A reason of a verdict.
pub trait Grounded: Copy + Debug + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The name used in every output format.
    fn name(self) -> &'static str;

    /// What it rests on.
    fn grounds(self) -> Grounds;
}
