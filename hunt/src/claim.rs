//! Whether what a line of a proofs file claims is true, and what a header makes of a case.

use std::cmp::Ordering;

use serde_json::Value;

use crate::case::{Case, Flip, Rule, Way};
use crate::compare::admissible;
use crate::exact::Exact;
use crate::truth::{Margins, Oracle, Truth};

/// What a line (`{"node":…}`) claims.
pub struct Claimed<'a> {
    /// The node.
    pub id: usize,
    /// Its reference class, as the truth has it too.
    pub reference: usize,
    /// The class of a witness and its changes; `None`: the node is robust.
    pub witness: Option<(usize, &'a [Value])>,
}

impl<'a> Claimed<'a> {
    /// Reads a line; `None` if it is not understood, or its classes are not those of the truth.
    pub fn read(
        line: &'a Value,
        changes: &str,
        classes: usize,
        reference: impl Fn(usize) -> Option<usize>,
    ) -> Option<Claimed<'a>> {
        let node = line.get("node")?;
        let id = node.get("id")?.as_u64()? as usize;
        let reference = reference(id)?;
        let claim = node.get("claim")?;
        let witness = match claim.get("robust") {
            Some(_) => None,
            None => {
                let witness = claim.get("non_robust")?;
                let class = witness.get("class")?.as_u64()? as usize;
                let other = class < classes && class != reference;
                Some((class, witness.get(changes)?.as_array().filter(|_| other)?.as_slice()))
            }
        };
        (reference as u64 == node.get("class")?.as_u64()?).then_some(Claimed { id, reference, witness })
    }
}

/// Pairs of numbers.
pub fn pairs<N: TryFrom<u64>>(list: &[Value]) -> Option<Vec<(N, N)>> {
    let number = |pair: &Value, at: usize| N::try_from(pair.get(at)?.as_u64()?).ok();
    list.iter().map(|pair| Some((number(pair, 0)?, number(pair, 1)?))).collect()
}

/// Is the claim of a line true? Anything that is not understood is not.
pub fn is_true(case: &Case, truths: &[Truth], line: &Value) -> bool {
    is_true_by(case, truths, line, |id, reference, class, flips| Oracle::new(case).margin(id, reference, class, flips))
}

/// The same with other exact margins, by node, reference class, other class and flips.
pub fn is_true_by(
    case: &Case,
    truths: &[Truth],
    line: &Value,
    margin: impl FnOnce(usize, usize, usize, &[Flip]) -> Exact,
) -> bool {
    let claimed = Claimed::read(line, "flips", case.classes(), |id| truths.get(id)?.reference);
    let Some(Claimed { id, reference, witness }) = claimed else { return false };
    let Some((class, flips)) = witness else { return truths[id].robust() == Some(true) };
    let Some(mut flips) = pairs(flips) else { return false };
    admissible(case, &mut flips).is_ok() && margin(id, reference, class, &flips).sign() != Ordering::Greater
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
    other.budget.local = locals(budget.get("local")?, case.nodes())?;
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

/// Local budgets of so many nodes: one for all, or one for each.
pub fn locals(local: &Value, nodes: usize) -> Option<Vec<u64>> {
    let all = match local {
        Value::Array(list) => list.iter().map(Value::as_u64).collect::<Option<Vec<u64>>>()?,
        one => vec![one.as_u64()?; nodes],
    };
    (all.len() == nodes).then_some(all)
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
