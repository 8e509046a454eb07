//! The MILP of removed edges, whose optimum is the smallest margin itself.
//!
//! Binaries say which edges are removed (`x_e`) and how many at each node (`s_v_r`, one of them 1). For an edge
//! `{i, j}` that is left, exactly one of `p_r_k` is 1: that of the numbers of removals at its ends. So every entry is a
//! constant times a `p` or an `s`, pre-activations are linear, and activations and the second layer are products of a
//! bounded number with a binary.

use crate::program::Program;

use super::instance::EdgeInstance;

/// The program, and where the removals are in it.
#[derive(Clone, Debug)]
pub struct EdgeModel {
    /// Minimise the margin.
    pub program: Program,
    /// The variable of each edge: 1 if it is removed.
    pub removed: Vec<usize>,
}

impl EdgeModel {
    /// The removals at a point.
    pub fn removals(&self, values: &[f64]) -> Vec<bool> {
        self.removed.iter().map(|&variable| values[variable] > 0.5).collect()
    }
}

/// A number in its box.
#[derive(Clone, Copy)]
struct Bounded {
    variable: usize,
    lower: f64,
    upper: f64,
}

/// An edge that may be left, from its receiver's side: `p_r_k` with the removals at receiver and sender.
type Choices = Vec<(usize, usize, usize)>;

struct Builder<'a> {
    instance: &'a EdgeInstance,
    program: Program,
    removed: Vec<usize>,
    /// By node and number of removals.
    counts: Vec<Vec<usize>>,
}

impl Builder<'_> {
    fn binary(&mut self, name: String) -> usize {
        let variable = self.program.add_variable(name, 0.0, 1.0);
        self.program.variables[variable].integer = true;
        variable
    }

    /// Which edges are removed, and how many at each node.
    fn removals(&mut self) {
        let instance = self.instance;
        for (edge, &frozen) in instance.frozen.iter().enumerate() {
            let x = self.binary(format!("x_{edge}"));
            self.program.variables[x].upper = if frozen { 0.0 } else { 1.0 };
            self.removed.push(x);
        }
        let all: Vec<(usize, f64)> = self.removed.iter().map(|&x| (x, 1.0)).collect();
        self.program.add_row("global", f64::NEG_INFINITY, instance.global as f64, all);
        for node in 0..instance.nodes() {
            let at = instance.at(node);
            let most = instance.cap[node].min(at.len());
            let counts: Vec<usize> = (0..=most).map(|r| self.binary(format!("s_{node}_{r}"))).collect();
            self.program.add_row(format!("one_{node}"), 1.0, 1.0, counts.iter().map(|&s| (s, 1.0)));
            let count = counts.iter().enumerate().map(|(r, &s)| (s, r as f64));
            let removed = at.iter().map(|link| (self.removed[link.1], -1.0));
            let row: Vec<(usize, f64)> = count.chain(removed).collect();
            self.program.add_row(format!("count_{node}"), 0.0, 0.0, row);
            self.counts.push(counts);
        }
    }

    /// The numbers of removals at both ends of an edge, if it is left.
    fn choices(&mut self, receiver: usize, sender: usize, edge: usize) -> Choices {
        let mut choices = Vec::new();
        for r in 0..self.counts[receiver].len() {
            for k in 0..self.counts[sender].len() {
                let name = format!("p_{receiver}_{sender}_{r}_{k}");
                choices.push((self.program.add_variable(name, 0.0, 1.0), r, k));
            }
        }
        let name = format!("{receiver}_{sender}");
        let left = choices.iter().map(|choice| (choice.0, 1.0)).chain([(self.removed[edge], 1.0)]);
        let left: Vec<(usize, f64)> = left.collect();
        self.program.add_row(format!("left_{name}"), 1.0, 1.0, left);
        for (r, &s) in self.counts[receiver].iter().enumerate() {
            let of = choices.iter().filter(|choice| choice.1 == r).map(|choice| (choice.0, 1.0));
            let row: Vec<(usize, f64)> = of.chain([(s, -1.0)]).collect();
            self.program.add_row(format!("receiver_{name}_{r}"), f64::NEG_INFINITY, 0.0, row);
        }
        for (k, &s) in self.counts[sender].iter().enumerate() {
            let of = choices.iter().filter(|choice| choice.2 == k).map(|choice| (choice.0, 1.0));
            let row: Vec<(usize, f64)> = of.chain([(s, -1.0)]).collect();
            self.program.add_row(format!("sender_{name}_{k}"), f64::NEG_INFINITY, 0.0, row);
        }
        choices
    }

    /// The hidden units of a node after activation; `choices` are those of its edges, with the senders.
    fn hidden(&mut self, node: usize, choices: &[(usize, Choices)]) -> Vec<Bounded> {
        let (instance, passing) = (self.instance, self.instance.passing[0]);
        let mut units = Vec::new();
        for unit in 0..instance.weights.len() {
            let fixed = instance.fixed[node][unit];
            let (mut row, mut lower, mut upper) = (Vec::new(), fixed, fixed);
            // One of the terms of each list counts, or none.
            let mut add = |terms: Vec<(usize, f64)>, or_none: bool| {
                let start = if or_none { (0.0, 0.0) } else { (f64::INFINITY, f64::NEG_INFINITY) };
                let fold = |(low, high): (f64, f64), term: &(usize, f64)| (low.min(term.1), high.max(term.1));
                let (low, high) = terms.iter().fold(start, fold);
                (lower, upper) = (lower + low, upper + high);
                row.extend(terms);
            };
            let own = self.counts[node].iter().enumerate().map(|(r, &s)| {
                let size = instance.size(node, r);
                (s, passing.entry(size, size) * instance.sent[node][unit])
            });
            add(own.collect(), false);
            for (sender, choices) in choices {
                let term = |&(p, r, k): &(usize, usize, usize)| {
                    let entry = passing.entry(instance.size(node, r), instance.size(*sender, k));
                    (p, entry * instance.sent[*sender][unit])
                };
                add(choices.iter().map(term).collect(), true);
            }
            // Room for the rounding of the sums, and far more than the solver's tolerance: with boxes that the optimum
            // touches it called feasible programs infeasible.
            let slack = 1e-3 * (1.0 + lower.abs() + upper.abs());
            let (lower, upper) = (lower - slack, upper + slack);
            let name = format!("{node}_{unit}");
            let z = self.program.add_variable(format!("z_{name}"), lower, upper);
            row.push((z, -1.0));
            self.program.add_row(format!("pre_{name}"), -fixed, -fixed, row);
            let z = Bounded { variable: z, lower, upper };
            units.push(if instance.linear[unit] { z } else { self.activated(z, &name) });
        }
        units
    }

    fn activated(&mut self, z: Bounded, name: &str) -> Bounded {
        let upper = z.upper.max(0.0);
        let h = self.program.add_variable(format!("h_{name}"), 0.0, upper);
        let on = self.binary(format!("on_{name}"));
        let low = z.lower.min(0.0);
        self.program.add_row(format!("above_{name}"), 0.0, f64::INFINITY, [(h, 1.0), (z.variable, -1.0)]);
        self.program.add_row(format!("off_{name}"), f64::NEG_INFINITY, 0.0, [(h, 1.0), (on, -upper)]);
        let linear = [(h, 1.0), (z.variable, -1.0), (on, -low)];
        self.program.add_row(format!("linear_{name}"), f64::NEG_INFINITY, -low, linear);
        Bounded { variable: h, lower: 0.0, upper }
    }

    /// `coefficient · h` where a choice is 1, in the objective.
    fn objective(&mut self, h: Bounded, choice: usize, coefficient: f64) {
        let name = format!("{}_{choice}", h.variable);
        let (low, high) = (h.lower.min(0.0), h.upper.max(0.0));
        let v = self.program.add_variable(format!("v_{name}"), low, high);
        self.program.variables[v].objective = coefficient;
        let none = f64::NEG_INFINITY;
        self.program.add_row(format!("most_{name}"), none, 0.0, [(v, 1.0), (choice, -high)]);
        self.program.add_row(format!("least_{name}"), none, 0.0, [(v, -1.0), (choice, low)]);
        self.program.add_row(format!("not_above_{name}"), none, -low, [(v, 1.0), (h.variable, -1.0), (choice, -low)]);
        self.program.add_row(format!("not_below_{name}"), none, high, [(v, -1.0), (h.variable, 1.0), (choice, high)]);
    }
}

/// The smallest margin as a program.
pub fn mixed_program(instance: &EdgeInstance) -> EdgeModel {
    let mut builder = Builder { instance, program: Program::default(), removed: Vec::new(), counts: Vec::new() };
    builder.removals();
    let (target, passing) = (instance.target, instance.passing[1]);
    let rows: Vec<usize> = instance.at(target).iter().map(|link| link.0).chain([target]).collect();
    let mut choices: Vec<Vec<(usize, Choices)>> = Vec::new();
    for &node in &rows {
        let of = instance.at(node).into_iter().map(|(sender, edge)| (sender, builder.choices(node, sender, edge)));
        choices.push(of.collect());
    }
    let units: Vec<Vec<Bounded>> =
        rows.iter().zip(&choices).map(|(&node, choices)| builder.hidden(node, choices)).collect();
    builder.program.offset = instance.constant;
    for (&node, units) in rows.iter().zip(&units) {
        for (h, &weight) in units.iter().zip(&instance.weights) {
            if node == target {
                for (r, s) in builder.counts[target].clone().into_iter().enumerate() {
                    let size = instance.size(target, r);
                    builder.objective(*h, s, weight * passing.entry(size, size));
                }
                continue;
            }
            let of = choices[rows.len() - 1].iter().find(|of| of.0 == node);
            for &(p, r, k) in of.iter().flat_map(|of| &of.1) {
                let entry = passing.entry(instance.size(target, r), instance.size(node, k));
                builder.objective(*h, p, weight * entry);
            }
        }
    }
    EdgeModel { program: builder.program, removed: builder.removed }
}
