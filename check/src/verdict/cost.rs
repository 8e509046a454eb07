//! What something would cost, where that is more than the limits allow.

use std::fmt;

/// Steps that take about a second, for people only.
const PER_SECOND: u64 = 1_000_000_000;

/// What something would cost, and what is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Of one line.
    Line {
        /// Steps that it takes at least.
        steps: u64,
        /// Steps that it may take.
        allowed: u64,
    },
    /// Of all lines that are not accepted, and of what lines share.
    File {
        /// Steps that they take at least.
        steps: u64,
        /// Steps that they may take.
        allowed: u64,
    },
    /// Of bounds of hidden units, stated or by default, which all lines share.
    Bounds {
        /// Steps that they take at least.
        steps: u64,
        /// Steps that they may take.
        allowed: u64,
    },
    /// Of what has to be kept.
    Memory {
        /// Bytes that it takes at least.
        bytes: u64,
        /// Bytes that it may take.
        allowed: u64,
    },
}

impl Cost {
    /// The cost of a whole of which so much is done.
    pub(crate) fn of_whole(self, done: usize, whole: usize) -> Cost {
        match self {
            Cost::Line { steps, allowed } => {
                let steps = u128::from(steps) * (whole as u128) / (done as u128 + 1);
                Cost::Line { steps: u64::try_from(steps).unwrap_or(u64::MAX), allowed }
            }
            other => other,
        }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (what, needed, allowed) = match *self {
            Cost::Line { steps, allowed } => ("", time(steps), time(allowed)),
            Cost::File { steps, allowed } => ("what is not accepted takes ", time(steps), time(allowed)),
            Cost::Bounds { steps, allowed } => ("bounds of hidden units take ", time(steps), time(allowed)),
            Cost::Memory { bytes, allowed } => ("", memory(bytes), memory(allowed)),
        };
        let would = if what.is_empty() { "would take " } else { what };
        write!(f, "too expensive: {would}about {needed} or more, allowed are {allowed} (--work-limit raises that)")
    }
}

/// Steps as people measure them.
fn time(steps: u64) -> String {
    let seconds = steps / PER_SECOND;
    match seconds {
        0 => "1 s".into(),
        1..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} minutes", seconds / 60),
        7_200..=172_799 => format!("{} hours", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

fn memory(bytes: u64) -> String {
    match bytes >> 30 {
        0 => format!("{} MB", (bytes >> 20).max(1)),
        gigabytes => format!("{gigabytes} GB of memory"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_told_as_people_measure() {
        let line = |steps: u64| Cost::Line { steps, allowed: 17 * PER_SECOND }.to_string();
        let told = line(40 * PER_SECOND);
        assert_eq!(told, "too expensive: would take about 40 s or more, allowed are 17 s (--work-limit raises that)");
        for (seconds, words) in [(120, "2 minutes"), (7200, "2 hours"), (172_800, "2 days")] {
            assert!(line(seconds * PER_SECOND).contains(words), "{words}");
        }
        let memory = Cost::Memory { bytes: 11 << 30, allowed: 1 << 29 }.to_string();
        assert!(memory.contains("about 11 GB of memory or more, allowed are 512 MB"), "{memory}");
    }
}
