//! Writers of any program as CPLEX `.lp` or free-format `.mps`, for any other solver to read.
//!
//! Names are kept where both formats allow them and replaced otherwise. Numbers are written so that they read back to
//! the same bits. A row with two different finite sides becomes two rows, and a constant in the objective a variable
//! fixed at 1, because readers disagree about the formats' own ways to say so.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::program::{Program, Row};

/// The program in CPLEX LP format.
pub fn lp(program: &Program) -> String {
    let sheet = Sheet::new(program);
    let mut text = String::from("\\ written by gcnproof-verify\nMinimize\n objective:");
    let costs = program.variables.iter().enumerate().map(|(at, variable)| (at, variable.objective));
    sheet.terms(&mut text, costs.chain(sheet.constant()));
    text.push_str("Subject To\n");
    for side in &sheet.sides {
        let _ = write!(text, " {}:", side.name);
        sheet.terms(&mut text, side.row.coefficients.iter().copied());
        // The side stands on a line of its own, which the format allows and long rows need.
        let _ = writeln!(text, "   {} {:?}", side.relation, side.value);
    }
    text.push_str("Bounds\n");
    for (at, name) in sheet.columns.iter().enumerate() {
        let (lower, upper) = sheet.bounds(at);
        let _ = writeln!(text, " {lower:?} <= {name} <= {upper:?}");
    }
    if program.has_integers() {
        text.push_str("General\n");
        for (variable, name) in program.variables.iter().zip(&sheet.columns).filter(|(variable, _)| variable.integer) {
            debug_assert!(variable.integer);
            let _ = writeln!(text, " {name}");
        }
    }
    text.push_str("End\n");
    text
}

/// The program in free MPS format.
pub fn mps(program: &Program) -> String {
    let sheet = Sheet::new(program);
    let mut text = String::from("NAME gcnproof_verify\nROWS\n N objective\n");
    let mut by_column: Vec<Vec<(usize, f64)>> = vec![Vec::new(); sheet.columns.len()];
    for (at, side) in sheet.sides.iter().enumerate() {
        let letter = match side.relation {
            "<=" => 'L',
            ">=" => 'G',
            _ => 'E',
        };
        let _ = writeln!(text, " {letter} {}", side.name);
        for &(column, value) in &side.row.coefficients {
            by_column[column].push((at, value));
        }
    }
    text.push_str("COLUMNS\n");
    let mut inside = false;
    for (at, name) in sheet.columns.iter().enumerate() {
        let integer = program.variables.get(at).is_some_and(|variable| variable.integer);
        if integer != inside {
            let marker = if integer { "INTORG" } else { "INTEND" };
            let _ = writeln!(text, " marker_{at} 'MARKER' '{marker}'");
            inside = integer;
        }
        let cost = program.variables.get(at).map_or(program.offset, |variable| variable.objective);
        // A column has to appear even when it is empty.
        let _ = writeln!(text, " {name} objective {cost:?}");
        for &(row, value) in &by_column[at] {
            let _ = writeln!(text, " {name} {} {value:?}", sheet.sides[row].name);
        }
    }
    if inside {
        text.push_str(" marker_last 'MARKER' 'INTEND'\n");
    }
    text.push_str("RHS\n");
    for side in &sheet.sides {
        let _ = writeln!(text, " rhs {} {:?}", side.name, side.value);
    }
    text.push_str("BOUNDS\n");
    for (at, name) in sheet.columns.iter().enumerate() {
        let (lower, upper) = sheet.bounds(at);
        let _ = writeln!(text, " LO bound {name} {lower:?}\n UP bound {name} {upper:?}");
    }
    text.push_str("ENDATA\n");
    text
}

/// One side of a row.
struct Side<'a> {
    name: String,
    row: &'a Row,
    relation: &'static str,
    value: f64,
}

/// A program with legal names, one-sided rows, and the constant as the last column when there is one.
struct Sheet<'a> {
    program: &'a Program,
    columns: Vec<String>,
    sides: Vec<Side<'a>>,
}

impl<'a> Sheet<'a> {
    fn new(program: &'a Program) -> Self {
        let mut taken = BTreeSet::from(["objective".to_owned(), "rhs".to_owned(), "bound".to_owned()]);
        let mut columns: Vec<String> = Vec::new();
        for (at, variable) in program.variables.iter().enumerate() {
            columns.push(legal(&variable.name, "column", at, &mut taken));
        }
        // The formats have no program without columns either.
        if program.offset != 0.0 || columns.is_empty() {
            columns.push(legal("constant_one", "column", columns.len(), &mut taken));
        }
        let mut sides = Vec::new();
        for (at, row) in program.rows.iter().enumerate() {
            let wanted: &[(&str, &'static str, f64)] = &if row.lower == row.upper {
                vec![("", "=", row.lower)]
            } else if row.lower.is_finite() && row.upper.is_finite() {
                vec![("_low", ">=", row.lower), ("_high", "<=", row.upper)]
            } else if row.lower.is_finite() {
                vec![("", ">=", row.lower)]
            } else if row.upper.is_finite() {
                vec![("", "<=", row.upper)]
            } else {
                vec![]
            };
            for &(suffix, relation, value) in wanted {
                let name = legal(&format!("{}{suffix}", row.name), "row", at, &mut taken);
                sides.push(Side { name, row, relation, value });
            }
        }
        Self { program, columns, sides }
    }

    fn constant(&self) -> Option<(usize, f64)> {
        (self.columns.len() > self.program.variables.len())
            .then_some((self.program.variables.len(), self.program.offset))
    }

    fn bounds(&self, at: usize) -> (f64, f64) {
        self.program.variables.get(at).map_or((1.0, 1.0), |variable| (variable.lower, variable.upper))
    }

    /// A sum, a few terms a line because CPLEX limits the length of lines. An empty one is written as zero times
    /// something.
    fn terms(&self, text: &mut String, terms: impl Iterator<Item = (usize, f64)>) {
        let mut count = 0;
        for (at, value) in terms.filter(|term| term.1 != 0.0) {
            let sign = if value < 0.0 { '-' } else { '+' };
            let _ = write!(text, " {sign} {:?} {}", value.abs(), self.columns[at]);
            count += 1;
            if count % 6 == 0 {
                text.push_str("\n  ");
            }
        }
        if count == 0 {
            let _ = write!(text, " 0 {}", self.columns[0]);
        }
        text.push('\n');
    }
}

/// The name itself if both formats allow it and it is not taken, else one made of the place.
fn legal(name: &str, kind: &str, at: usize, taken: &mut BTreeSet<String>) -> String {
    // CPLEX may read a leading `e` as an exponent; single words may be keywords (free, st, bin …), so ask for a `_`.
    let first = name.chars().next().is_some_and(|c| c.is_ascii_alphabetic() && c != 'e' && c != 'E');
    let rest = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let mut result = name.to_owned();
    if !first || !rest || !name.contains('_') || name.len() > 100 {
        result = format!("{kind}_{at}");
    }
    while !taken.insert(result.clone()) {
        result.push('_');
    }
    result
}
