//! Attributes that are numbers, some of which an attacker moves within their ranges (docs/math.md §25).
//!
//! Of a linear function, what `k` changes of a row can do at most is the sum of its `k` largest changes. Lines replace
//! the units of the network, so that a bound is such a sum; lines are improved by ascent, and what stays open is split:
//! by the sign of a unit, or by whether an entry is changed.

mod attack;
mod backward;
pub(crate) mod decide;
mod forward;
mod lines;
mod minimum;
mod number;
mod pairs;
pub(crate) mod problem;
pub(crate) mod proof;
pub(crate) mod question;
mod relaxation;
mod scene;
mod search;
mod selection;
mod units;
