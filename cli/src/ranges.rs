//! Options for attributes that are moved within ranges.

use std::path::{Path, PathBuf};

use clap::Args;
use gcnproof::{Budget, Graph, RangeError, Ranges};
use gcnproof_files::{PartFile, read_array};
use miette::{Result, miette};

/// The values that attributes may get, where they are not flipped.
#[derive(Args, Clone, Debug)]
pub struct RangeArguments {
    /// The attacker moves attributes by at most X instead of flipping them; -Q and -q limit how many
    #[arg(
        long,
        value_name = "X",
        conflicts_with_all = ["flips", "ranges"],
        help_heading = "Attributes that are numbers",
        hide_short_help = true,
        allow_negative_numbers = true
    )]
    epsilon: Option<f64>,
    /// The attacker moves attributes within ranges instead of flipping them: `observed`, from the smallest to the
    /// largest value of each, or an .npz file with the arrays `low` and `high`, one number for each attribute
    #[arg(
        long,
        value_name = "observed|FILE",
        conflicts_with = "flips",
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
    pub fn of(&self, graph: &Graph, part: Option<&PartFile>, budget: Budget) -> Result<Budget> {
        let (option, ranges) = match (self.epsilon, self.ranges.as_deref()) {
            (None, None) => return Ok(budget),
            (Some(radius), _) => ("--epsilon".into(), Ranges::Ball(radius)),
            (None, Some(word)) if word.as_os_str().eq_ignore_ascii_case("observed") => {
                if part.is_some_and(|part| part.observed.is_none()) {
                    return Err(miette!(
                        help = "write the parts again with `gcnproof partition`",
                        "--ranges observed: this part does not say which values attributes have in the whole graph"
                    ));
                }
                ("--ranges observed".into(), Ranges::observed(graph))
            }
            (None, Some(path)) => (format!("--ranges {}", path.display()), limits(path)?),
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
    // How far attributes are moved, or both limits, are numbers that no file is called.
    let words = path.to_string_lossy();
    if let (false, Ok(radius)) = (path.exists(), words.parse::<f64>()) {
        return Err(miette!(
            help = format!(
                "--epsilon {radius} moves attributes by at most {radius}; --ranges takes `observed`, or a file"
            ),
            "--ranges {words}: a number, and two limits for each attribute are meant"
        ));
    }
    if !path.exists() && words.split([',', ':', ';']).all(|limit| limit.trim().parse::<f64>().is_ok()) {
        return Err(miette!(
            help = "save them for each attribute, `np.savez(\"ranges.npz\", low=np.full(n, 0.0), high=np.full(n, 1.0))` for n \
                    attributes from 0 to 1, and give that file",
            "--ranges {words}: the limits are read from a file"
        ));
    }
    let limit = |entry| read_array(path, entry).map_err(|error| miette!(help = help, "--ranges {error}"));
    Ok(Ranges::Between { low: limit("low")?.values, high: limit("high")?.values })
}
