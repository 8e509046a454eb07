//! Whether what a line of a proofs file claims is true, and what a header makes of a case.

use std::cmp::Ordering;

use serde_json::Value;

use crate::case::{Case, Rule, Way};
use crate::compare::admissible;
use crate::truth::{Margins, Oracle, Truth};

/// Is the claim of a line (`{"node":…}`) true? Anything that is not understood is not.
pub fn is_true(case: &Case, truths: &[Truth], line: &Value) -> bool {
    judge(case, truths, line, || Box::new(Oracle::new(case))).unwrap_or(false)
}

/// The same with other exact margins.
pub fn is_true_by(case: &Case, truths: &[Truth], line: &Value, oracle: &dyn Margins) -> bool {
    judge(case, truths, line, || Box::new(oracle)).unwrap_or(false)
}

impl Margins for &dyn Margins {
    fn margin(&self, node: usize, reference: usize, class: usize, flips: &[(usize, usize)]) -> crate::exact::Exact {
        (**self).margin(node, reference, class, flips)
    }
}

fn judge<'a>(
    case: &Case,
    truths: &[Truth],
    line: &Value,
    oracle: impl FnOnce() -> Box<dyn Margins + 'a>,
) -> Option<bool> {
    let node = line.get("node")?;
    let id = node.get("id")?.as_u64()? as usize;
    let truth = truths.get(id)?;
    if truth.reference? as u64 != node.get("class")?.as_u64()? {
        return Some(false);
    }
    let claim = node.get("claim")?;
    if claim.get("robust").is_some() {
        return truth.robust();
    }
    let witness = claim.get("non_robust")?;
    let class = witness.get("class")?.as_u64()? as usize;
    if class >= case.classes() || Some(class) == truth.reference {
        return Some(false);
    }
    let mut flips = Vec::new();
    for flip in witness.get("flips")?.as_array()? {
        flips.push((flip.get(0)?.as_u64()? as usize, flip.get(1)?.as_u64()? as usize));
    }
    if admissible(case, &mut flips).is_err() {
        return Some(false);
    }
    let range = case.component_of(id);
    flips.retain(|flip| range.contains(&flip.0));
    let margin = oracle().margin(id, truth.reference?, class, &flips);
    Some(margin.sign() != Ordering::Greater)
}

/// The case that a header (`{"header":…}`) speaks of, if it fits the graph and the model of a case.
pub fn under(case: &Case, header: &Value) -> Option<Case> {
    let header = header.get("header")?;
    let mut other = case.clone();
    let names = header.get("message_passing")?.as_array()?;
    if names.len() != case.rules.len() {
        return None;
    }
    other.rules = names.iter().map(|name| rule(case, name.as_str()?)).collect::<Option<_>>()?;
    let budget = header.get("budget")?;
    other.budget.global = budget.get("global")?.as_u64()?;
    other.budget.local = match budget.get("local")? {
        Value::Array(list) => list.iter().map(Value::as_u64).collect::<Option<Vec<u64>>>()?,
        one => vec![one.as_u64()?; case.nodes()],
    };
    if other.budget.local.len() != case.nodes() {
        return None;
    }
    other.budget.way = match budget.get("direction")?.as_str()? {
        "both" => Way::Both,
        "add" => Way::Add,
        "remove" => Way::Remove,
        _ => return None,
    };
    other.budget.frozen = vec![false; case.attributes()];
    if let Some(frozen) = budget.get("frozen_attributes") {
        for attribute in frozen.as_array()? {
            *other.budget.frozen.get_mut(attribute.as_u64()? as usize)? = true;
        }
    }
    other.labels = match header.get("classes")?.as_str()? {
        "predicted" => false,
        "labels" => true,
        _ => return None,
    };
    Some(other)
}

/// A rule by its name; a matrix must be one that the case has.
fn rule(case: &Case, name: &str) -> Option<Rule> {
    if let Some(digest) = name.strip_prefix("matrix:") {
        let has =
            |rule: &&Rule| matches!(rule, Rule::Matrix(matrix) if gcnproof_check::matrix_digest(matrix) == digest);
        return case.rules.iter().find(has).cloned();
    }
    let names = ["gcn", "mean", "mean+self", "sum", "sum+self", "identity"];
    names.into_iter().find(|&one| one == name).map(Rule::Named)
}
