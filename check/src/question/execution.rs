//! Executions that are asked about, and whether a statement covers them.

use std::fmt;
use std::sync::Arc;

use gcnproof_files::{GraphFile, SparseMatrix};

use crate::format::Deployed;
use crate::rounding::usual_error;

/// What an execution of the network may do (`FORMAT.md` §9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execution {
    /// Bits of a significand: 24 for float32.
    pub precision: u32,
    /// By how many unit roundoffs operator entries may differ from the stored ones; what is usual for each rule if left
    /// out.
    pub operator_error: Option<u32>,
    /// May subnormal numbers be taken for zero?
    pub flush_subnormals: bool,
}

impl Default for Execution {
    /// In float32.
    fn default() -> Execution {
        Execution { precision: 24, operator_error: None, flush_subnormals: false }
    }
}

impl fmt::Display for Execution {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.precision {
            24 => f.write_str("float32")?,
            bits => write!(f, "numbers of {bits} bits")?,
        }
        if let Some(error) = self.operator_error {
            write!(f, ", operator entries within {error} units")?;
        }
        f.write_str(if self.flush_subnormals { ", subnormals may be flushed" } else { "" })
    }
}

impl Execution {
    /// Why a statement does not cover such executions; nothing if it does. `rules` are those of all terms, layer by
    /// layer. Fewer bits mean larger errors: what holds with them holds with more.
    pub(crate) fn uncovered(
        &self,
        stated: Option<&Deployed>,
        rules: &[Vec<&str>],
        graph: &GraphFile,
        matrices: &[Arc<SparseMatrix>],
    ) -> Option<String> {
        let Some(stated) = stated else {
            return Some(format!("asked about every execution in {self}, stated for exact arithmetic"));
        };
        if stated.precision > self.precision {
            return Some(format!("asked about every execution in {self}, stated in {stated}"));
        }
        if self.flush_subnormals && !stated.flush_subnormals {
            return Some(format!("asked about executions that flush subnormals, stated {stated}"));
        }
        if !stated.operator_error.iter().map(Vec::len).eq(rules.iter().map(Vec::len)) {
            return Some("the operator errors stated are not one number for each term of each layer".into());
        }
        let finer = self.precision - stated.precision;
        for (rules, errors) in rules.iter().zip(&stated.operator_error) {
            for (rule, &error) in rules.iter().zip(errors) {
                // Where no relative error covers what is usual, the largest stands for it.
                let usual = || usual_error(rule, graph, matrices).unwrap_or(u32::MAX.into());
                let least = self.operator_error.map_or_else(usual, u64::from);
                // In units of fewer bits, which are larger.
                if u128::from(error) << finer < u128::from(least) {
                    let rule: String = rule.chars().take(100).collect();
                    return Some(format!(
                        "asked about operator entries of {rule} within {least} units of {self}, stated {stated}"
                    ));
                }
            }
        }
        None
    }
}
