//! The MILP of changed edges, whose optimum is the smallest margin itself.
//!
//! Binaries say which changes are made (`x_c`) and, where entries depend on it, how many edges each node has (`s_v_d`,
//! one of them 1). For an arc that is there exactly one of `p_d_k` is 1: that of the numbers of edges at its ends. So
//! every entry is a constant times a binary, and what a node receives is a sum of products of a binary with a bounded
//! number. A unit that may be on either side of 0 has an indicator with the big-M of its bounds.

use std::collections::BTreeSet;

use crate::matrix::Dense;
use crate::program::Program;

use super::instance::{Along, Arc, Change, EdgeInstance, EdgeLayer, Passing};

/// The program, and where the changes are in it.
#[derive(Clone, Debug)]
pub struct EdgeModel {
    /// Minimise the margin.
    pub program: Program,
    /// The variable of each change: 1 if it is made.
    pub made: Vec<usize>,
}

impl EdgeModel {
    /// The changes at a point.
    pub fn changes(&self, values: &[f64]) -> Vec<bool> {
        self.made.iter().map(|&variable| values[variable] > 0.5).collect()
    }

    /// How many variables have to be integers.
    pub fn integers(&self) -> usize {
        self.program.variables.iter().filter(|variable| variable.integer).count()
    }
}

/// A number of the network.
#[derive(Clone, Copy)]
enum Value {
    Constant(f64),
    Variable { at: usize, lower: f64, upper: f64 },
}

impl Value {
    const ZERO: Value = Value::Constant(0.0);

    fn range(self) -> [f64; 2] {
        match self {
            Value::Constant(x) => [x; 2],
            Value::Variable { lower, upper, .. } => [lower, upper],
        }
    }
}

/// A number of edges of a node, and the variable that is 1 if it has so many.
#[derive(Clone, Copy)]
struct Count {
    degree: usize,
    variable: usize,
}

/// A variable that is 1 if an arc is there and its ends have so many edges.
#[derive(Clone, Copy)]
struct Choice {
    variable: usize,
    receiver: usize,
    sender: usize,
}

/// A binary with the entry that it stands for.
#[derive(Clone, Copy)]
struct Chosen {
    variable: usize,
    entry: f64,
}

/// Who sends to a node along edges.
struct Sender {
    from: usize,
    chosen: Vec<Chosen>,
    /// Is one of the binaries always 1? Where there are none, so is the entry.
    always: bool,
}

/// A sum of variables, with what it lies between.
struct Sum {
    constant: f64,
    terms: Vec<(usize, f64)>,
    lower: f64,
    upper: f64,
}

impl Sum {
    fn new(constant: f64) -> Sum {
        Sum { constant, terms: Vec::new(), lower: constant, upper: constant }
    }

    fn add(&mut self, value: Value, coefficient: f64) {
        let [x, y] = value.range().map(|x| coefficient * x);
        (self.lower, self.upper) = (self.lower + x.min(y), self.upper + x.max(y));
        match value {
            Value::Constant(x) => self.constant += coefficient * x,
            Value::Variable { at, .. } => self.terms.push((at, coefficient)),
        }
    }
}

struct Builder<'a> {
    instance: &'a EdgeInstance,
    program: Program,
    made: Vec<usize>,
    /// By node; nothing where no entry depends on it.
    counts: Vec<Vec<Count>>,
    /// By arc.
    choices: Vec<Vec<Choice>>,
}

/// The smallest margin as a program.
pub fn mixed_program(instance: &EdgeInstance) -> EdgeModel {
    let (program, nodes) = (Program::default(), instance.nodes());
    let mut builder =
        Builder { instance, program, made: Vec::new(), counts: vec![Vec::new(); nodes], choices: Vec::new() };
    builder.changes();
    builder.count_edges();
    let reads = |passing: Passing| {
        let terms = instance.layers.iter().flat_map(|layer| &layer.terms);
        terms.filter_map(|term| term.along).any(|along| along.passing == passing)
    };
    let reads_sender = reads(Passing::Root);
    for (at, arc) in instance.arcs.iter().enumerate() {
        let choices = builder.arc(at, arc, reads_sender);
        builder.choices.push(choices);
    }
    let attributes = &instance.attributes;
    let mut hidden: Vec<Vec<Value>> =
        (0..nodes).map(|node| attributes.row(node).iter().map(|&x| Value::Constant(x)).collect()).collect();
    let needed = needed(instance);
    for (index, layer) in instance.layers.iter().enumerate() {
        let last = index + 1 == instance.layers.len();
        let asked = if last { margin(layer, &instance.objective) } else { layer.clone() };
        hidden = builder.layer(index, &asked, &hidden, &needed[index], last);
    }
    match hidden[instance.target].first() {
        Some(&Value::Constant(x)) => builder.program.offset = x,
        Some(&Value::Variable { at, .. }) => builder.program.variables[at].objective = 1.0,
        None => {}
    }
    EdgeModel { program: builder.program, made: builder.made }
}

/// The last layer with one unit, the margin.
fn margin(layer: &EdgeLayer, objective: &[f64]) -> EdgeLayer {
    let dot = |row: &[f64]| objective.iter().zip(row).map(|(c, x)| c * x).sum::<f64>();
    let mut of = layer.clone();
    for term in &mut of.terms {
        let values: Vec<f64> = (0..term.weight.rows).map(|input| dot(term.weight.row(input))).collect();
        term.weight = Dense { rows: values.len(), columns: 1, values };
    }
    let biases: Vec<f64> = (0..layer.bias.rows).map(|row| dot(layer.bias.row(row))).collect();
    EdgeLayer { bias: Dense { rows: biases.len(), columns: 1, values: biases }, linear: vec![true], ..of }
}

/// By layer, the nodes whose rows the target depends on.
fn needed(instance: &EdgeInstance) -> Vec<BTreeSet<usize>> {
    let mut all = vec![BTreeSet::from([instance.target])];
    for layer in instance.layers.iter().skip(1).rev() {
        let above = &all[all.len() - 1];
        let mut below = above.clone();
        for term in &layer.terms {
            below.extend(term.fixed.entries.iter().filter(|entry| above.contains(&entry.0)).map(|entry| entry.1));
            if term.along.is_some() {
                below.extend(instance.arcs.iter().filter(|arc| above.contains(&arc.to)).map(|arc| arc.from));
            }
        }
        all.push(below);
    }
    all.reverse();
    all
}

impl Builder<'_> {
    fn binary(&mut self, name: String) -> usize {
        let variable = self.program.add_variable(name, 0.0, 1.0);
        self.program.variables[variable].integer = true;
        variable
    }

    /// Which changes are made.
    fn changes(&mut self) {
        let instance = self.instance;
        self.made = (0..instance.changes.len()).map(|change| self.binary(format!("x_{change}"))).collect();
        let (made, none) = (self.made.clone(), f64::NEG_INFINITY);
        let some = |of: &dyn Fn(&Change) -> bool| -> Vec<(usize, f64)> {
            let made = instance.changes.iter().zip(&made).filter(|(change, _)| of(change));
            made.map(|(_, &x)| (x, 1.0)).collect()
        };
        self.program.add_row("global", none, instance.global as f64, some(&|_| true));
        for node in 0..instance.nodes() {
            let at = |change: &Change| change.counted.contains(&node);
            self.program.add_row(format!("local_{node}"), none, instance.local[node] as f64, some(&at));
            let removals = some(&|change| at(change) && !change.inserts);
            self.program.add_row(format!("losable_{node}"), none, instance.losable[node] as f64, removals);
        }
    }

    /// How many edges each node has, if entries depend on it.
    fn count_edges(&mut self) {
        let instance = self.instance;
        let terms = instance.layers.iter().flat_map(|layer| &layer.terms);
        if terms.filter_map(|term| term.along).all(|along| along.passing == Passing::Sum) {
            return;
        }
        for node in 0..instance.nodes() {
            let at = || instance.arcs.iter().filter(|arc| arc.to == node);
            let there = at().filter(|arc| instance.is_there(arc)).count();
            let may = |inserts: bool| at().filter(move |arc| arc.change.is_some() && instance.is_there(arc) != inserts);
            let most = instance.global.min(instance.local[node]);
            let least = there - may(false).count().min(most).min(instance.losable[node]);
            let counts: Vec<Count> = (least..=there + may(true).count().min(most))
                .map(|degree| Count { degree, variable: self.binary(format!("s_{node}_{degree}")) })
                .collect();
            self.program.add_row(format!("one_{node}"), 1.0, 1.0, counts.iter().map(|count| (count.variable, 1.0)));
            let count = counts.iter().map(|count| (count.variable, count.degree as f64));
            let changes = at().filter_map(|arc| arc.change.map(|change| (self.made[change], self.sign(change))));
            let row: Vec<(usize, f64)> = count.chain(changes).collect();
            self.program.add_row(format!("count_{node}"), there as f64, there as f64, row);
            self.counts[node] = counts;
        }
    }

    /// −1 for an insertion, 1 for a removal.
    fn sign(&self, change: usize) -> f64 {
        if self.instance.changes[change].inserts { -1.0 } else { 1.0 }
    }

    /// Is an arc there, and how many edges have its ends?
    fn arc(&mut self, at: usize, arc: &Arc, reads_sender: bool) -> Vec<Choice> {
        let name = |receiver: usize, sender: usize| format!("p_{at}_{receiver}_{sender}");
        let any = vec![Count { degree: 0, variable: usize::MAX }];
        let reads_receiver = !self.counts[arc.to].is_empty();
        let receivers = if reads_receiver { self.counts[arc.to].clone() } else { any.clone() };
        let senders = if reads_sender { self.counts[arc.from].clone() } else { any };
        let mut choices = Vec::new();
        for receiver in &receivers {
            for sender in &senders {
                let (receiver, sender) = (receiver.degree, sender.degree);
                let variable = self.program.add_variable(name(receiver, sender), 0.0, 1.0);
                choices.push(Choice { variable, receiver, sender });
            }
        }
        let mut left: Vec<(usize, f64)> = choices.iter().map(|choice| (choice.variable, 1.0)).collect();
        left.extend(arc.change.map(|change| (self.made[change], self.sign(change))));
        let there = f64::from(u8::from(self.instance.is_there(arc)));
        self.program.add_row(format!("left_{at}"), there, there, left);
        let mut only = |name: &str, counts: &[Count], degree: &dyn Fn(&Choice) -> usize| {
            for count in counts {
                let of = choices.iter().filter(|choice| degree(choice) == count.degree);
                let row: Vec<(usize, f64)> =
                    of.map(|choice| (choice.variable, 1.0)).chain([(count.variable, -1.0)]).collect();
                self.program.add_row(format!("{name}_{at}_{}", count.degree), f64::NEG_INFINITY, 0.0, row);
            }
        };
        if reads_receiver {
            only("receiver", &receivers, &|choice| choice.receiver);
        }
        if reads_sender {
            only("sender", &senders, &|choice| choice.sender);
        }
        choices
    }

    /// The representation that a layer makes of another, for some nodes.
    fn layer(
        &mut self,
        index: usize,
        layer: &EdgeLayer,
        hidden: &[Vec<Value>],
        nodes: &BTreeSet<usize>,
        last: bool,
    ) -> Vec<Vec<Value>> {
        let instance = self.instance;
        let mut made = vec![Vec::new(); instance.nodes()];
        // By term and sender: found when it is first asked for.
        let mut sent: Vec<Vec<Option<Vec<Value>>>> = vec![vec![None; instance.nodes()]; layer.terms.len()];
        for &node in nodes {
            let mut sums: Vec<Sum> = layer.bias_of(node).iter().map(|&bias| Sum::new(bias)).collect();
            for (k, term) in layer.terms.iter().enumerate() {
                let name = |from: usize| format!("m_{index}_{k}_{from}");
                let mut message = |builder: &mut Self, from: usize| -> Vec<Value> {
                    let make = || builder.message(&term.weight, &hidden[from], &name(from));
                    sent[k][from].get_or_insert_with(make).clone()
                };
                for &(_, from, entry) in term.fixed.entries.iter().filter(|entry| entry.0 == node) {
                    let values = message(self, from);
                    sums.iter_mut().zip(values).for_each(|(sum, value)| sum.add(value, entry));
                }
                let Some(along) = term.along else { continue };
                for sender in self.senders(node, along) {
                    for (sum, value) in sums.iter_mut().zip(message(self, sender.from)) {
                        self.receive(sum, value, &sender);
                    }
                }
            }
            for (unit, sum) in sums.into_iter().enumerate() {
                let z = self.variable(format!("z_{index}_{node}_{unit}"), &sum);
                let is_linear = last || layer.linear[unit];
                made[node].push(if is_linear { z } else { self.activated(z, &format!("{index}_{node}_{unit}")) });
            }
        }
        made
    }

    /// Who sends to a node along edges, itself too where it does.
    fn senders(&self, node: usize, along: Along) -> Vec<Sender> {
        let instance = self.instance;
        let size = |node: usize, degree: usize| along.size(degree, instance.looped[node]);
        let mut senders = Vec::new();
        for (arc, choices) in instance.arcs.iter().zip(&self.choices).filter(|(arc, _)| arc.to == node) {
            let chosen = |choice: &Choice| {
                let entry = along.entry(size(node, choice.receiver), size(arc.from, choice.sender));
                Chosen { variable: choice.variable, entry }
            };
            let chosen = choices.iter().map(chosen).collect();
            senders.push(Sender { from: arc.from, chosen, always: arc.change.is_none() });
        }
        if along.with_self || instance.looped[node] {
            let own = |count: &Count| {
                let size = size(node, count.degree);
                Chosen { variable: count.variable, entry: along.entry(size, size) }
            };
            senders.push(Sender { from: node, chosen: self.counts[node].iter().map(own).collect(), always: true });
        }
        senders
    }

    /// `H W` of one node.
    fn message(&mut self, weight: &Dense, hidden: &[Value], name: &str) -> Vec<Value> {
        let of_unit = |unit: usize| {
            let mut sum = Sum::new(0.0);
            hidden.iter().enumerate().for_each(|(input, &value)| sum.add(value, weight.at(input, unit)));
            self.variable(format!("{name}_{unit}"), &sum)
        };
        (0..weight.columns).map(of_unit).collect()
    }

    /// A sum as a number of the network.
    fn variable(&mut self, name: String, sum: &Sum) -> Value {
        if sum.terms.is_empty() {
            return Value::Constant(sum.constant);
        }
        // Room for the rounding of the sums, and far more than the solver's tolerance.
        let room = 1e-3 * (1.0 + sum.lower.abs() + sum.upper.abs());
        let (lower, upper) = (sum.lower - room, sum.upper + room);
        let at = self.program.add_variable(name.clone(), lower, upper);
        let row: Vec<(usize, f64)> = sum.terms.iter().map(|&(x, c)| (x, -c)).chain([(at, 1.0)]).collect();
        self.program.add_row(format!("is_{name}"), sum.constant, sum.constant, row);
        Value::Variable { at, lower, upper }
    }

    /// Adds what a sender sends, times the entry whose binary is 1.
    fn receive(&mut self, sum: &mut Sum, value: Value, sender: &Sender) {
        let (chosen, always) = (&sender.chosen, sender.always);
        let entries = || chosen.iter().map(|of| of.entry);
        let same = entries().all(|entry| Some(entry) == chosen.first().map(|of| of.entry));
        if always && same {
            return sum.add(value, chosen.first().map_or(1.0, |of| of.entry));
        }
        let products = entries().flat_map(|entry| value.range().map(|x| entry * x)).chain((!always).then_some(0.0));
        let (lower, upper) = products.fold((f64::INFINITY, f64::NEG_INFINITY), |(x, y), z| (x.min(z), y.max(z)));
        (sum.lower, sum.upper) = (sum.lower + lower, sum.upper + upper);
        for &Chosen { variable, entry } in chosen {
            match value {
                Value::Constant(x) => sum.terms.push((variable, entry * x)),
                Value::Variable { at, lower, upper } => {
                    let product = self.product(at, [lower.min(0.0), upper.max(0.0)], variable);
                    sum.terms.push((product, entry));
                }
            }
        }
    }

    /// A number in its box where a binary is 1, and 0 where it is 0.
    fn product(&mut self, number: usize, [low, high]: [f64; 2], binary: usize) -> usize {
        let name = format!("{number}_{binary}");
        let v = self.program.add_variable(format!("v_{name}"), low, high);
        let none = f64::NEG_INFINITY;
        self.program.add_row(format!("most_{name}"), none, 0.0, [(v, 1.0), (binary, -high)]);
        self.program.add_row(format!("least_{name}"), none, 0.0, [(v, -1.0), (binary, low)]);
        self.program.add_row(format!("not_above_{name}"), none, -low, [(v, 1.0), (number, -1.0), (binary, -low)]);
        self.program.add_row(format!("not_below_{name}"), none, high, [(v, -1.0), (number, 1.0), (binary, high)]);
        v
    }

    fn activated(&mut self, z: Value, name: &str) -> Value {
        let Value::Variable { at, lower, upper } = z else { return Value::Constant(z.range()[0].max(0.0)) };
        if lower >= 0.0 {
            return z;
        }
        if upper <= 0.0 {
            return Value::ZERO;
        }
        let h = self.program.add_variable(format!("h_{name}"), 0.0, upper);
        let on = self.binary(format!("on_{name}"));
        self.program.add_row(format!("above_{name}"), 0.0, f64::INFINITY, [(h, 1.0), (at, -1.0)]);
        self.program.add_row(format!("off_{name}"), f64::NEG_INFINITY, 0.0, [(h, 1.0), (on, -upper)]);
        self.program.add_row(format!("linear_{name}"), f64::NEG_INFINITY, -lower, [(h, 1.0), (at, -1.0), (on, -lower)]);
        Value::Variable { at: h, lower: 0.0, upper }
    }
}
