//! Counts of what a run has seen, its failures, and the choice of seeds.

use std::collections::BTreeMap;
use std::ops::Range;

/// What a run over many seeds saw. The counts show that the sample was not trivial.
#[derive(Default)]
pub struct Tally {
    /// By the case's style and what was seen.
    pub counts: BTreeMap<(usize, &'static str), usize>,
    pub failures: Vec<String>,
    /// What is odd but no failure.
    pub notes: Vec<String>,
    /// Upper bounds that are not a number, which claim nothing.
    pub undefined_uppers: usize,
}

impl Tally {
    pub fn count(&mut self, style: usize, what: &'static str) {
        self.add(style, what, 1);
    }

    pub fn add(&mut self, style: usize, what: &'static str, times: usize) {
        *self.counts.entry((style, what)).or_default() += times;
    }

    /// How often something was seen in all styles together.
    pub fn sum(&self, what: &str) -> usize {
        self.counts.iter().filter(|((_, name), _)| *name == what).map(|(_, count)| count).sum()
    }

    pub fn fail(&mut self, message: String) {
        self.failures.push(message);
    }

    /// Prints the counts and the first failures and notes, and panics if there is a failure.
    pub fn conclude(&self) {
        for (key, count) in &self.counts {
            println!("{key:?}: {count}");
        }
        println!("NaN uppers: {}; failures: {}", self.undefined_uppers, self.failures.len());
        for note in self.notes.iter().take(40) {
            println!("note: {}", shortened(note));
        }
        for failure in self.failures.iter().take(60) {
            println!("{}", shortened(failure));
        }
        assert!(self.failures.is_empty(), "{} failures", self.failures.len());
    }
}

/// The first 700 characters.
fn shortened(line: &str) -> String {
    line.chars().take(700).collect()
}

/// The seeds of a run: `GCNPROOF_COUNT` of them, or the default, from `GCNPROOF_FROM` on.
pub fn seeds(default: u64) -> Range<u64> {
    let from = variable("GCNPROOF_FROM").unwrap_or(0);
    from..from + variable("GCNPROOF_COUNT").unwrap_or(default)
}

/// A number from the environment.
pub fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}
