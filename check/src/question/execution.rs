//! Executions that are asked about, and whether a statement covers them.

use std::fmt;
use std::sync::Arc;

use gcnproof_files::{GraphFile, SparseMatrix};

use crate::directed::{Stored, decimal};
use crate::format::Deployed;
use crate::reason::Reason;
use crate::statement::Operators;

/// What an execution of the network may do (`FORMAT.md` §9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execution {
    /// Bits of a significand: 24 for float32.
    pub precision: u32,
    /// By how many unit roundoffs operator entries may differ from the stored ones; what is usual for each rule if left out.
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

/// Units by which entries that a framework computes at run time may differ from the stored ones.
const RULE_ERROR: u32 = 8;

impl Execution {
    /// Why a statement does not cover such executions; nothing if it does. `rules` are those of all terms, layer by layer. Fewer bits mean larger
    /// errors: what holds with them holds with more.
    pub(super) fn uncovered(
        &self,
        stated: Option<&Deployed>,
        rules: &[Vec<&str>],
        graph: &GraphFile,
        matrices: &[&Arc<SparseMatrix>],
    ) -> Result<Option<String>, Reason> {
        let Some(stated) = stated else {
            return Ok(Some(format!("asked about every execution in {self}, stated for exact arithmetic")));
        };
        if stated.precision > self.precision {
            return Ok(Some(format!("asked about every execution in {self}, stated in {stated}")));
        }
        if self.flush_subnormals && !stated.flush_subnormals {
            return Ok(Some(format!("asked about executions that flush subnormals, stated {stated}")));
        }
        let finer = self.precision - stated.precision;
        for (rules, errors) in rules.iter().zip(&stated.operator_error) {
            for (rule, &error) in rules.iter().zip(errors) {
                let least = match self.operator_error {
                    Some(error) => error,
                    None => self.usual(rule, graph, matrices)?,
                };
                // In units of fewer bits, which are larger.
                if u128::from(error) << finer < u128::from(least) {
                    let rule: String = rule.chars().take(100).collect();
                    return Ok(Some(format!(
                        "asked about operator entries of {rule} within {least} units of {self}, stated {stated}"
                    )));
                }
            }
        }
        Ok(None)
    }

    /// By how many unit roundoffs the entries of a rule usually differ: those of `sum` and `identity` are exact, as are matrices of numbers that
    /// the format has; a polynomial is applied hop by hop.
    fn usual(&self, rule: &str, graph: &GraphFile, matrices: &[&Arc<SparseMatrix>]) -> Result<u32, Reason> {
        let Some(inner) = rule.strip_prefix("poly(").and_then(|rest| rest.strip_suffix(')')) else {
            return Ok(match rule {
                "sum" | "sum+self" | "identity" => 0,
                _ if rule.starts_with("matrix:") => {
                    let matrix = Operators::new(graph, matrices.iter().copied()).operator(rule)?;
                    let holds = |x: Stored| x.exact().reduced().bits() <= self.precision as usize;
                    if Stored::all(&matrix.values).into_iter().all(holds) { 0 } else { RULE_ERROR }
                }
                _ => RULE_ERROR,
            });
        };
        let (base, list) = inner.rsplit_once(';').unwrap_or((inner, ""));
        let matrix = Operators::new(graph, matrices.iter().copied()).operator(base)?;
        let negative = list.split(',').filter_map(decimal).chain(Stored::all(&matrix.values)).any(Stored::is_negative);
        if negative {
            // Entries may cancel: nothing relative can be said.
            return Ok(u32::MAX);
        }
        let longest = (0..matrix.rows).map(|row| matrix.row(row).0.len()).max().unwrap_or(0) as u32;
        let hop = self.usual(base, graph, matrices)?.saturating_add(longest).saturating_add(4);
        let hops = list.split(',').count().saturating_sub(1) as u32;
        Ok(hops.saturating_mul(hop).saturating_add(4))
    }
}
