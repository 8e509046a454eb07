//! `Program`: variables in boxes, rows, an objective to minimise. Every solver and writer reads it.

use thiserror::Error;

/// A variable and its box.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// A name, for people and for files.
    pub name: String,
    /// Smallest value, finite.
    pub lower: f64,
    /// Largest value, finite.
    pub upper: f64,
    /// Whether only integers are allowed.
    pub integer: bool,
    /// Its coefficient in the objective.
    pub objective: f64,
}

/// A linear constraint `lower ≤ Σ coefficient · variable ≤ upper`.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// A name, in this crate that of its dual variable in the paper.
    pub name: String,
    /// The left side, possibly `-∞`.
    pub lower: f64,
    /// The right side, possibly `+∞`.
    pub upper: f64,
    /// `(variable, coefficient)`, ascending, each variable once, no zeros.
    pub coefficients: Vec<(usize, f64)>,
}

/// Minimise `offset + Σ objective · variable` over boxes and rows; a MILP when some variable is integer.
///
/// Every variable has a finite box. That is what makes a safe dual bound exist for any multipliers whatsoever (see
/// [`crate::safe`]), and it keeps the solvers away from unbounded programs, where they have been seen to err.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// The variables; their place is their number.
    pub variables: Vec<Variable>,
    /// The constraints.
    pub rows: Vec<Row>,
    /// A constant added to the objective.
    pub offset: f64,
}

/// What is wrong with a [`Program`].
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ProgramError {
    /// A box is infinite, empty or not a number, or the objective is not finite.
    #[error("variable {0} has no finite non-empty box or no finite objective")]
    Variable(String),
    /// A row's sides cross or are not numbers, or a coefficient is bad.
    #[error("row {0} has crossed or undefined sides, or a coefficient that is not finite or out of order")]
    Row(String),
    /// The offset is not finite.
    #[error("the constant of the objective is not finite")]
    Offset,
}

impl Program {
    /// Adds a continuous variable without objective; the number returned is its place.
    pub fn add_variable(&mut self, name: impl Into<String>, lower: f64, upper: f64) -> usize {
        let (integer, objective) = (false, 0.0);
        self.variables.push(Variable { name: name.into(), lower, upper, integer, objective });
        self.variables.len() - 1
    }

    /// Adds a row; coefficients of the same variable are summed, zeros dropped.
    pub fn add_row(
        &mut self,
        name: impl Into<String>,
        lower: f64,
        upper: f64,
        coefficients: impl IntoIterator<Item = (usize, f64)>,
    ) -> usize {
        let mut sorted: Vec<(usize, f64)> = coefficients.into_iter().collect();
        sorted.sort_by_key(|entry| entry.0);
        sorted.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                kept.1 += later.1;
            }
            same
        });
        sorted.retain(|entry| entry.1 != 0.0);
        self.rows.push(Row { name: name.into(), lower, upper, coefficients: sorted });
        self.rows.len() - 1
    }

    /// Whether some variable has to be an integer.
    pub fn has_integers(&self) -> bool {
        self.variables.iter().any(|variable| variable.integer)
    }

    /// Number of coefficients in all rows, the usual measure of size.
    pub fn nonzeros(&self) -> usize {
        self.rows.iter().map(|row| row.coefficients.len()).sum()
    }

    /// The objective at a point, in plain f64.
    pub fn objective_at(&self, values: &[f64]) -> f64 {
        let terms = self.variables.iter().zip(values).map(|(variable, value)| variable.objective * value);
        self.offset + terms.sum::<f64>()
    }

    /// Checks boxes, sides and coefficients.
    pub fn validate(&self) -> Result<(), ProgramError> {
        for variable in &self.variables {
            let boxed = variable.lower.is_finite() && variable.upper.is_finite() && variable.lower <= variable.upper;
            if !boxed || !variable.objective.is_finite() {
                return Err(ProgramError::Variable(variable.name.clone()));
            }
        }
        for row in &self.rows {
            // `lower ≤ upper` is false for a NaN on either side.
            let sides = row.lower <= row.upper && row.lower < f64::INFINITY && row.upper > f64::NEG_INFINITY;
            let ascending = row.coefficients.windows(2).all(|pair| pair[0].0 < pair[1].0);
            let inside = row.coefficients.iter().all(|&(at, value)| at < self.variables.len() && value.is_finite());
            if !sides || !ascending || !inside {
                return Err(ProgramError::Row(row.name.clone()));
            }
        }
        if self.offset.is_finite() { Ok(()) } else { Err(ProgramError::Offset) }
    }
}
