//! Makes a counterexample smaller as long as it stays one.

use gcnproof_verify::{Dense, Instance};

/// Takes away nodes, attributes, units, classes, entries and budgets, and rounds numbers, as long as `holds` stays true
/// (of instances with their bounds filled in). Ends, because every step makes the instance simpler.
pub fn shrink(mut instance: Instance, holds: impl Fn(&Instance) -> bool) -> Instance {
    loop {
        let now = complexity(&instance);
        let simpler = candidates(&instance).into_iter().find_map(|mut candidate| {
            let better = complexity(&candidate) < now && candidate.fill_bounds().is_ok() && holds(&candidate);
            better.then_some(candidate)
        });
        match simpler {
            Some(candidate) => instance = candidate,
            None => return instance,
        }
    }
}

/// Things to look at, each by how hard it is to read.
fn complexity(instance: &Instance) -> usize {
    let numbers = instance.message_passing.iter().flat_map(|a| a.entries.iter().map(|entry| entry.2));
    let numbers = numbers.chain(instance.weights.iter().flat_map(|w| w.values.iter().copied()));
    let numbers = numbers.chain(instance.biases.iter().flatten().copied());
    let things: usize = instance.weights.iter().map(|w| w.rows + w.columns).sum::<usize>()
        + instance.message_passing.iter().map(|a| a.rows + a.columns).sum::<usize>();
    let budgets: usize = instance.local_budget.iter().map(|&q| q.min(100)).sum::<usize>()
        + instance.global_budget.min(100)
        + instance.attributes.iter().map(Vec::len).sum::<usize>()
        + instance.frozen_attributes.len()
        + usize::from(!instance.may_add)
        + usize::from(!instance.may_remove);
    100 * things + budgets + numbers.map(difficulty).sum::<usize>()
}

fn difficulty(number: f64) -> usize {
    if number == 0.0 {
        return 0;
    }
    let scale = [1.0, 2.0, 4.0, 8.0].iter().position(|scale| (number * scale).fract() == 0.0);
    let base = match scale {
        Some(place) => 2 + 2 * place + (number.abs() > 1.0) as usize,
        None => 30,
    };
    base - usize::from(number == 1.0) + usize::from(number < 0.0)
}

/// Everything one step away.
fn candidates(instance: &Instance) -> Vec<Instance> {
    let top = instance.representations();
    let mut list = Vec::new();
    let mut with = |change: &dyn Fn(&mut Instance)| {
        let mut copy = instance.clone();
        change(&mut copy);
        list.push(copy);
    };
    for l in 1..top {
        for node in 0..instance.message_passing[l - 1].columns {
            with(&|copy| remove_node(copy, l, node));
        }
        for unit in 0..instance.weights[l - 1].rows {
            with(&|copy| remove_unit(copy, l, unit));
        }
    }
    for class in (0..instance.objective.len()).filter(|&class| instance.objective[class] == 0.0) {
        with(&|copy| {
            remove_column(&mut copy.weights[top - 2], class);
            copy.biases[top - 2].remove(class);
            copy.objective.remove(class);
        });
    }
    for l in 0..top - 1 {
        for at in 0..instance.message_passing[l].entries.len() {
            with(&|copy| {
                copy.message_passing[l].entries.remove(at);
            });
            with(&|copy| copy.message_passing[l].entries[at].2 = 1.0);
        }
        for (at, &value) in instance.weights[l].values.iter().enumerate() {
            for rounded in roundings(value) {
                with(&|copy| copy.weights[l].values[at] = rounded);
            }
        }
        for (at, &value) in instance.biases[l].iter().enumerate() {
            for rounded in roundings(value) {
                with(&|copy| copy.biases[l][at] = rounded);
            }
        }
    }
    for node in 0..instance.nodes() {
        with(&|copy| copy.local_budget[node] = copy.local_budget[node].min(copy.dimension).saturating_sub(1));
        for at in 0..instance.attributes[node].len() {
            with(&|copy| {
                copy.attributes[node].remove(at);
            });
        }
    }
    with(&|copy| copy.global_budget = copy.global_budget.min(20).saturating_sub(1));
    with(&|copy| copy.frozen_attributes.clear());
    with(&|copy| (copy.may_add, copy.may_remove) = (true, true));
    list
}

fn roundings(value: f64) -> Vec<f64> {
    let mut list = vec![0.0, 1.0, -1.0];
    list.extend([1.0, 2.0, 4.0, 8.0].map(|scale| (value * scale).round() / scale));
    list.retain(|rounded| *rounded != value);
    list
}

/// Takes a node out of representation `l` (never the target, which is not there).
fn remove_node(instance: &mut Instance, l: usize, node: usize) {
    let above = &mut instance.message_passing[l - 1];
    above.columns -= 1;
    above.entries.retain(|entry| entry.1 != node);
    above.entries.iter_mut().filter(|entry| entry.1 > node).for_each(|entry| entry.1 -= 1);
    if l == 1 {
        instance.attributes.remove(node);
        instance.local_budget.remove(node);
    } else {
        let below = &mut instance.message_passing[l - 2];
        below.rows -= 1;
        below.entries.retain(|entry| entry.0 != node);
        below.entries.iter_mut().filter(|entry| entry.0 > node).for_each(|entry| entry.0 -= 1);
    }
}

/// Takes a unit out of representation `l`; an attribute for `l = 1`.
fn remove_unit(instance: &mut Instance, l: usize, unit: usize) {
    let weight = &mut instance.weights[l - 1];
    weight.values.drain(unit * weight.columns..(unit + 1) * weight.columns);
    weight.rows -= 1;
    if l > 1 {
        remove_column(&mut instance.weights[l - 2], unit);
        instance.biases[l - 2].remove(unit);
        return;
    }
    instance.dimension -= 1;
    if !instance.frozen_attributes.is_empty() {
        instance.frozen_attributes.remove(unit);
    }
    for row in &mut instance.attributes {
        row.retain(|&attribute| attribute as usize != unit);
        row.iter_mut().filter(|attribute| **attribute as usize > unit).for_each(|attribute| *attribute -= 1);
    }
}

fn remove_column(matrix: &mut Dense, column: usize) {
    let columns = matrix.columns;
    let mut at = 0;
    matrix.values.retain(|_| {
        at += 1;
        (at - 1) % columns != column
    });
    matrix.columns -= 1;
}

/// The instance as a person writes it down.
pub fn describe(instance: &Instance) -> String {
    let mut text = String::new();
    let matrix = |rows: usize, columns: usize, at: &dyn Fn(usize, usize) -> f64| {
        let row = |r: usize| (0..columns).map(|c| format!("{}", at(r, c))).collect::<Vec<_>>().join(", ");
        format!("[{}]", (0..rows).map(row).collect::<Vec<_>>().join("; "))
    };
    let x = |n: usize, d: usize| f64::from(u8::from(instance.has(n, d as u32)));
    text += &format!("    X    = {}\n", matrix(instance.nodes(), instance.dimension, &x));
    for (l, ((a, w), b)) in instance.message_passing.iter().zip(&instance.weights).zip(&instance.biases).enumerate() {
        let entry = |r: usize, c: usize| a.entries.iter().find(|e| (e.0, e.1) == (r, c)).map_or(0.0, |e| e.2);
        text += &format!("    A({0}) = {1}\n", l + 1, matrix(a.rows, a.columns, &entry));
        text += &format!("    W({0}) = {1}\n", l + 1, matrix(w.rows, w.columns, &|r, c| w.at(r, c)));
        text += &format!("    b({0}) = {1:?}\n", l + 1, b);
    }
    let global = match instance.global_budget {
        usize::MAX => "any number".to_string(),
        budget => budget.to_string(),
    };
    text += &format!("    c    = {:?}\n    q    = {:?}, Q = {global}\n", instance.objective, instance.local_budget);
    for (forbidden, what) in [(!instance.may_add, "adding"), (!instance.may_remove, "removing")] {
        if forbidden {
            text += &format!("    {what} attributes is not allowed\n");
        }
    }
    text
}
