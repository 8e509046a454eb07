//! The mean of the largest certified `Q`, and how it is told where nodes are at the largest `Q` tried.

use super::sheet::percent;

/// The mean of the largest certified `Q`. A node that is certified up to the largest `Q` that was tried counts with
/// that one, although it may withstand more: the mean is then a lower bound, and says so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The mean of what is certified.
    pub value: f64,
    /// The largest `Q` that was tried.
    pub limit: u64,
    /// Percent of the nodes that are certified up to there.
    pub capped: f64,
}

impl Mean {
    /// Of the largest certified `Q` of each node, where nothing above `limit` was tried.
    pub fn new(certified: &[u64], limit: u64) -> Mean {
        let capped = certified.iter().filter(|q| **q >= limit).count();
        let value = certified.iter().sum::<u64>() as f64 / certified.len().max(1) as f64;
        Mean { value, limit, capped: percent(capped, certified.len()) }
    }

    /// As a number: `6.37`, or `≥ 10.18` where nodes are at the cap.
    pub fn short(&self) -> String {
        if self.capped > 0.0 { format!("≥ {:.2}", self.value) } else { format!("{:.2}", self.value) }
    }

    /// As a number with its reservation; `letter` is that of the global budget.
    pub fn words(&self, letter: &str) -> String {
        if self.capped > 0.0 {
            format!("at least {:.2} ({:.1} % at the cap, {letter} = {})", self.value, self.capped, self.limit)
        } else {
            format!("{:.2}", self.value)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capped_mean_says_that_it_is_one() {
        let open = Mean::new(&[1, 2, 3], 12);
        assert_eq!((open.short().as_str(), open.words("Q").as_str()), ("2.00", "2.00"));
        let capped = Mean::new(&[0, 12, 12, 12], 12);
        assert_eq!((capped.short().as_str(), capped.capped), ("≥ 9.00", 75.0));
        assert!(capped.words("Q").starts_with("at least 9.00 (75.0 % at the cap"), "{}", capped.words("Q"));
    }
}
