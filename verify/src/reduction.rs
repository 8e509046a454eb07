//! Columns that may be left out, because a proof shows that they are of no use to the attacker.
//!
//! An LP of a citation graph has 10⁴–10⁵ columns, of which a few dozen matter; a branch-and-bound solver drowns in the
//! others. Any row duals `y` give the safe bound `B = Σ y·side + Σ_j min d_j x_j` ([`crate::safe`]). A point with entry
//! `(n, d)` flipped pays `d_j` for it instead of the minimum, so its objective is at least `B + price_j`. Hence, for
//! every upper bound `U` of the optimum, an *integral* optimum below `U` flips no entry with `B + price_j ≥ U`: closing
//! those entries changes nothing (reduced-cost fixing). For an LP with `U − B ≤ ε` closing all entries but the cheapest
//! ones changes the optimum by at most what the sandwich `B ≤ LP ≤ LP(open)` shows. The prices are rounded downwards;
//! no solver is believed.

use crate::formulation::Model;
use crate::instance::{Flip, Instance};
use crate::program::{Program, Row};
use crate::safe::safe_dual_parts;
use crate::solver::{Answer, Limits, Solver};

/// The safe bound and what each flip costs on top of it.
#[derive(Clone, Debug)]
pub struct Prices {
    /// The bound `B`, which holds for every feasible point.
    pub bound: f64,
    /// Every entry that may be flipped with its price, cheapest first.
    pub flips: Vec<(f64, Flip)>,
}

impl Prices {
    /// Prices of all flips at the given row duals of the model's program. `row_duals` may be any numbers.
    pub fn new(model: &Model, instance: &Instance, row_duals: &[f64]) -> Self {
        let parts = safe_dual_parts(&model.program, row_duals);
        let mut flips = Vec::new();
        for node in 0..instance.nodes() {
            for attribute in instance.flippable(node) {
                let at = model.attribute(node, attribute);
                let flipped = if instance.has(node, attribute) { 0.0 } else { parts.low[at] };
                let price = (flipped - parts.used[at]).next_down().max(0.0);
                flips.push((if price.is_nan() { 0.0 } else { price }, (node, attribute)));
            }
        }
        flips.sort_by(|left, right| left.0.total_cmp(&right.0).then(left.1.cmp(&right.1)));
        Self { bound: parts.bound, flips }
    }

    /// The flips that the bound would like to see made and that are not free: columns that an LP over a part of the
    /// columns has to take in, at most `most` of them.
    pub fn wanted(&self, taken: impl Fn(&Flip) -> bool, most: usize) -> Vec<Flip> {
        let free = self.flips.iter().take_while(|(price, _)| *price == 0.0).map(|flip| flip.1);
        free.filter(|flip| !taken(flip)).take(most).collect()
    }

    /// How many of the cheapest flips an integral point below `upper` may use: the others are proved useless
    /// (docs/math.md (14.3)).
    pub fn useful(&self, upper: f64) -> usize {
        // A NaN on either side makes the comparison false: the flip counts as useful.
        let useless = |price: f64| (self.bound + price).next_down() >= upper;
        self.flips.iter().take_while(|(price, _)| !useless(*price)).count()
    }
}

impl Model {
    /// The same model for an attacker who may only make the flips in `open`. All variables stay where they are; closed
    /// entries are fixed by their boxes and have left the rows (their constant is summed in f64, rounded to nearest).
    pub fn restricted(&self, instance: &Instance, open: &[Flip]) -> Model {
        let entries = instance.nodes() * instance.dimension;
        let mut closed = vec![true; entries];
        for &(node, attribute) in open {
            closed[self.attribute(node, attribute)] = false;
        }
        let mut model = self.without_program();
        model.program.offset = self.program.offset;
        model.program.variables = self.program.variables.clone();
        let mut present = vec![false; entries];
        for (node, row) in instance.attributes.iter().enumerate() {
            for &attribute in row {
                present[self.attribute(node, attribute)] = true;
            }
        }
        for at in (0..entries).filter(|&at| closed[at]) {
            let x = f64::from(u8::from(present[at]));
            let variable = &mut model.program.variables[at];
            (variable.lower, variable.upper) = (x, x);
        }
        for row in &self.program.rows {
            let (mut constant, mut coefficients) = (0.0, Vec::new());
            for &(at, value) in &row.coefficients {
                if at >= entries || !closed[at] {
                    coefficients.push((at, value));
                } else if present[at] {
                    constant += value;
                }
            }
            let (lower, upper) = (row.lower - constant, row.upper - constant);
            model.program.rows.push(Row { name: row.name.clone(), lower, upper, coefficients });
        }
        model
    }

    /// Solves the model without the variables that are fixed and in no row, which cost a branch-and-bound solver
    /// dearly. The answer is about all variables again; its review is of the smaller program.
    pub fn solve_small(&self, solver: &dyn Solver, limits: &Limits) -> Answer {
        let program = &self.program;
        let mut place = vec![usize::MAX; program.variables.len()];
        let mut small = Program { offset: program.offset, ..Program::default() };
        for &(at, _) in program.rows.iter().flat_map(|row| &row.coefficients) {
            place[at] = 0;
        }
        for (at, variable) in program.variables.iter().enumerate() {
            if place[at] == 0 || variable.lower != variable.upper {
                place[at] = small.variables.len();
                small.variables.push(variable.clone());
            } else {
                small.offset += variable.objective * variable.lower;
            }
        }
        for row in &program.rows {
            let coefficients = row.coefficients.iter().map(|&(at, value)| (place[at], value)).collect();
            small.rows.push(Row { name: row.name.clone(), lower: row.lower, upper: row.upper, coefficients });
        }
        let mut answer = solver.solve(&small, limits);
        let whole = |part: Vec<f64>, other: fn(f64) -> f64| {
            let value = |(at, variable): (usize, &crate::program::Variable)| match place[at] {
                usize::MAX => other(variable.lower),
                at => part[at],
            };
            program.variables.iter().enumerate().map(value).collect::<Vec<f64>>()
        };
        let fits = |part: &Vec<f64>| part.len() == small.variables.len();
        answer.values = answer.values.take().filter(fits).map(|values| whole(values, |fixed| fixed));
        answer.reduced_costs = answer.reduced_costs.take().filter(fits).map(|costs| whole(costs, |_| 0.0));
        answer
    }

    /// Makes `X̃` binary: an LP becomes the ILP.
    pub fn integral(mut self, instance: &Instance) -> Model {
        for variable in &mut self.program.variables[..instance.nodes() * instance.dimension] {
            variable.integer = variable.lower < variable.upper;
        }
        self
    }
}
