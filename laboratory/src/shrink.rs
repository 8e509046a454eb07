//! Makes a counterexample smaller as long as it stays one.

use gcnproof_verify::{Dense, Instance, Layer, Term};

/// Takes away nodes, attributes, units, classes, terms, entries and budgets, and rounds numbers, as long as `holds`
/// stays true (of instances with their bounds filled in). Ends, because every step makes the instance simpler.
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
    let terms = || instance.layers.iter().flat_map(|layer| &layer.terms);
    let numbers = terms().flat_map(|term| term.passing.entries.iter().map(|entry| entry.2));
    let numbers = numbers.chain(terms().flat_map(|term| term.weight.values.iter().copied()));
    let numbers = numbers.chain(instance.layers.iter().flat_map(|layer| layer.bias.values.iter().copied()));
    let things: usize = terms().map(things).sum::<usize>() + instance.layers.iter().map(extras).sum::<usize>();
    let budgets: usize = instance.local_budget.iter().map(|&q| q.min(100)).sum::<usize>()
        + instance.global_budget.min(100)
        + instance.attributes.iter().map(Vec::len).sum::<usize>()
        + instance.frozen_attributes.len()
        + usize::from(!instance.may_add)
        + usize::from(!instance.may_remove);
    100 * things + budgets + numbers.map(difficulty).sum::<usize>()
}

/// A term, its nodes and its units.
fn things(term: &Term) -> usize {
    let Term { passing, weight } = term;
    1 + passing.rows + passing.columns + weight.rows + weight.columns
}

/// What a plain layer does not have: biases per node, linear units.
fn extras(layer: &Layer) -> usize {
    layer.bias.rows.saturating_sub(1) + layer.linear.len() + layer.linear.iter().filter(|&&linear| linear).count()
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
    for (l, layer) in (1..).zip(&instance.layers) {
        for node in 0..layer.columns() {
            with(&|copy| remove_node(copy, l, node));
        }
        for unit in 0..layer.inputs() {
            with(&|copy| remove_unit(copy, l, unit));
        }
    }
    for class in (0..instance.objective.len()).filter(|&class| instance.objective[class] == 0.0) {
        with(&|copy| {
            remove_output(&mut copy.layers[top - 2], class);
            copy.objective.remove(class);
        });
    }
    for (l, layer) in instance.layers.iter().enumerate() {
        simpler_layers(layer, &mut |simpler| with(&|copy| copy.layers[l] = simpler.clone()));
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

/// A layer one step away, each handed to `give`.
fn simpler_layers(layer: &Layer, give: &mut dyn FnMut(Layer)) {
    let mut with = |change: &dyn Fn(&mut Layer)| {
        let mut copy = layer.clone();
        change(&mut copy);
        give(copy);
    };
    for (k, term) in layer.terms.iter().enumerate() {
        if layer.terms.len() > 1 {
            with(&|copy| drop(copy.terms.remove(k)));
        }
        for (other, _) in layer.terms[..k].iter().enumerate().filter(|other| other.1.passing == term.passing) {
            with(&|copy| {
                let values = copy.terms.remove(k).weight.values;
                copy.terms[other].weight.values.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
            });
        }
        for at in 0..term.passing.entries.len() {
            with(&|copy| {
                copy.terms[k].passing.entries.remove(at);
            });
            with(&|copy| copy.terms[k].passing.entries[at].2 = 1.0);
        }
        for (at, &value) in term.weight.values.iter().enumerate() {
            for rounded in roundings(value) {
                with(&|copy| copy.terms[k].weight.values[at] = rounded);
            }
        }
    }
    if layer.bias.rows > 1 {
        with(&|copy| {
            copy.bias.rows = 1;
            copy.bias.values.truncate(copy.bias.columns);
        });
    }
    for (at, &value) in layer.bias.values.iter().enumerate() {
        for rounded in roundings(value) {
            with(&|copy| copy.bias.values[at] = rounded);
        }
    }
    for (unit, _) in layer.linear.iter().enumerate().filter(|unit| *unit.1) {
        with(&|copy| copy.linear[unit] = false);
    }
    if !layer.linear.contains(&true) {
        with(&|copy| copy.linear.clear());
    }
}

fn roundings(value: f64) -> Vec<f64> {
    let mut list = vec![0.0, 1.0, -1.0];
    list.extend([1.0, 2.0, 4.0, 8.0].map(|scale| (value * scale).round() / scale));
    list.retain(|rounded| *rounded != value);
    list
}

/// Takes a node out of representation `l` (never the target, which is not there).
fn remove_node(instance: &mut Instance, l: usize, node: usize) {
    for Term { passing, .. } in &mut instance.layers[l - 1].terms {
        passing.columns -= 1;
        passing.entries.retain(|entry| entry.1 != node);
        passing.entries.iter_mut().filter(|entry| entry.1 > node).for_each(|entry| entry.1 -= 1);
    }
    if l == 1 {
        instance.attributes.remove(node);
        instance.local_budget.remove(node);
        return;
    }
    let below = &mut instance.layers[l - 2];
    if below.bias.rows > 1 {
        remove_row(&mut below.bias, node);
    }
    for Term { passing, .. } in &mut below.terms {
        passing.rows -= 1;
        passing.entries.retain(|entry| entry.0 != node);
        passing.entries.iter_mut().filter(|entry| entry.0 > node).for_each(|entry| entry.0 -= 1);
    }
}

/// Takes a unit out of representation `l`; an attribute for `l = 1`.
fn remove_unit(instance: &mut Instance, l: usize, unit: usize) {
    for term in &mut instance.layers[l - 1].terms {
        remove_row(&mut term.weight, unit);
    }
    if l > 1 {
        remove_output(&mut instance.layers[l - 2], unit);
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

/// Takes a unit out of what a layer makes.
fn remove_output(layer: &mut Layer, unit: usize) {
    for term in &mut layer.terms {
        remove_column(&mut term.weight, unit);
    }
    remove_column(&mut layer.bias, unit);
    if !layer.linear.is_empty() {
        layer.linear.remove(unit);
    }
}

fn remove_row(matrix: &mut Dense, row: usize) {
    matrix.values.drain(row * matrix.columns..(row + 1) * matrix.columns);
    matrix.rows -= 1;
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
    for (l, layer) in (1..).zip(&instance.layers) {
        for (k, Term { passing: a, weight: w }) in (1..).zip(&layer.terms) {
            // The number of the term only where there are several.
            let k = if layer.terms.len() > 1 { format!("_{k}") } else { String::new() };
            let entry = |r: usize, c: usize| a.entries.iter().find(|e| (e.0, e.1) == (r, c)).map_or(0.0, |e| e.2);
            text += &format!("    A{k}({l}) = {}\n", matrix(a.rows, a.columns, &entry));
            text += &format!("    W{k}({l}) = {}\n", matrix(w.rows, w.columns, &|r, c| w.at(r, c)));
        }
        let b = &layer.bias;
        text += &match b.rows {
            1 => format!("    b({l}) = {:?}\n", b.values),
            _ => format!("    b({l}) = {}\n", matrix(b.rows, b.columns, &|r, c| b.at(r, c))),
        };
        let linear: Vec<usize> = (0..layer.units()).filter(|&unit| layer.is_linear(unit)).collect();
        if !linear.is_empty() && l + 1 < instance.representations() {
            text += &format!("    no activation at units {linear:?} of representation {}\n", l + 1);
        }
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
