//! Options for attributes that are moved within ranges.

use std::path::{Path, PathBuf};

use clap::Args;
use gcnproof::{Budget, Graph, RangeError, Ranges};
use gcnproof_files::read_array;
use miette::{Result, miette};

/// The values that attributes may get, where they are not flipped.
#[derive(Args, Clone, Debug)]
pub struct RangeArguments {
    /// The attacker moves attributes by at most X instead of flipping them; -Q and -q limit how many
    #[arg(
        long,
        value_name = "X",
        conflicts_with_all = ["flips", "ranges", "edges", "deployed", "operator_error", "flush_subnormals", "unit_roundoff"],
        help_heading = "Attributes that are numbers",
        hide_short_help = true,
        allow_negative_numbers = true
    )]
    epsilon: Option<f64>,
    /// The attacker moves attributes within ranges instead of flipping them: `observed`, from the smallest to the largest value of each, or
    /// an .npz file with the arrays `low` and `high`, one number for each attribute
    #[arg(
        long,
        value_name = "observed|FILE",
        conflicts_with_all = ["flips", "edges", "deployed", "operator_error", "flush_subnormals", "unit_roundoff"],
        help_heading = "Attributes that are numbers",
        hide_short_help = true
    )]
    ranges: Option<PathBuf>,
}

impl RangeArguments {
    /// Are attributes moved instead of flipped?
    pub fn wanted(&self) -> bool {
        self.epsilon.is_some() || self.ranges.is_some()
    }

    /// The budget with these ranges.
    ///
    /// # Errors
    /// If they are not those of the graph.
    pub fn of(&self, graph: &Graph, budget: Budget) -> Result<Budget> {
        let (option, ranges) = match (self.epsilon, self.ranges.as_deref()) {
            (None, None) => return Ok(budget),
            (Some(radius), _) => ("--epsilon", Ranges::Ball(radius)),
            (None, Some(word)) if word.as_os_str().eq_ignore_ascii_case("observed") => {
                ("--ranges", Ranges::observed(graph))
            }
            (None, Some(path)) => ("--ranges", limits(path)?),
        };
        ranges.check(graph).map_err(|error| {
            let help = match error {
                RangeError::Radius(_) => "give a number such as --epsilon 0.01",
                _ => "give a lower and an upper limit for each attribute, between which all its values lie",
            };
            miette!(help = help, "{option}: {error}")
        })?;
        Ok(budget.with_ranges(ranges))
    }
}

/// The limits that a file has.
fn limits(path: &Path) -> Result<Ranges> {
    let help = "give --ranges observed, or an .npz file with one number for each attribute under both names: \
                `np.savez(\"ranges.npz\", low=low, high=high)`";
    if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("npy")) && path.exists() {
        return Err(miette!(help = help, "--ranges {}: one array, and there are two limits", path.display()));
    }
    let limit = |entry| read_array(path, entry).map_err(|error| miette!(help = help, "--ranges {error}"));
    Ok(Ranges::Between { low: limit("low")?.values, high: limit("high")?.values })
}
