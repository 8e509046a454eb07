//! The columns of a table: names, and what their cells may hold.

use std::sync::{Mutex, PoisonError};

use super::cell::{Cell, Complaint};

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name: the same in every format, and that of the field of the row.
    pub name: &'static str,
    /// What its cells hold.
    pub kind: Kind,
}

/// What the cells of a column hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A 64-bit integer with a sign.
    Integer,
    /// An integer or null.
    OptionalInteger,
    /// A double; a null stands for an unknown number, as NaN does.
    Float,
    /// A double or null.
    OptionalFloat,
    /// A text.
    Text,
    /// A text or null.
    OptionalText,
    /// True or false.
    Boolean,
    /// True, false or null.
    OptionalBoolean,
    /// A list (or null) of groups `{class, lower, upper}`: an integer and two doubles (or nulls).
    Margins,
    /// A list (or null) of pairs of integers: `[node, attribute]`, or the two ends of an edge.
    Flips,
    /// A list (or null) of integers. Earlier versions wrote a text of integers separated by spaces.
    Integers,
}

/// Names of columns in files of earlier versions, and what they are called now.
const FORMERLY: [(&str, &str); 7] = [
    ("certified_q_global", "certified"),
    ("attacked_q_global", "attacked"),
    ("certified_edges", "certified"),
    ("attacked_edges", "attacked"),
    ("witness_edges", "witness"),
    OF_GRAPHS[0],
    OF_GRAPHS[1],
];

/// Columns of rows about graphs, and what they are called in rows about nodes, as which they can be read.
const OF_GRAPHS: [(&str, &str); 2] = [("graph", "node"), ("edges", "degree")];

/// Schemas of rows about graphs, each once.
static RENAMED: Mutex<Vec<&'static [Column]>> = Mutex::new(Vec::new());

/// What a column of a row about a node is called in one about a graph.
pub(crate) fn of_graph(name: &'static str) -> &'static str {
    OF_GRAPHS.iter().find(|(_, of_node)| *of_node == name).map_or(name, |(of_graph, _)| of_graph)
}

/// What a column of a row about a graph is called in one about a node, if it has another name there.
pub(crate) fn of_node(name: &str) -> Option<&'static str> {
    OF_GRAPHS.iter().find(|(of_graph, _)| *of_graph == name).map(|(_, of_node)| *of_node)
}

/// The columns of rows about graphs, where those of rows about nodes are these.
#[must_use]
pub fn of_graphs(schema: &'static [Column]) -> &'static [Column] {
    let renamed: Vec<Column> = schema.iter().map(|column| Column { name: of_graph(column.name), ..*column }).collect();
    let mut known = RENAMED.lock().unwrap_or_else(PoisonError::into_inner);
    match known.iter().find(|known| ***known == renamed) {
        Some(known) => known,
        // There are as many as kinds of rows.
        None => {
            known.push(Vec::leak(renamed));
            known[known.len() - 1]
        }
    }
}

/// Columns that files of earlier versions do not have. All of them follow from the others.
const ADDED: [&str; 4] = ["worst_lower", "worst_upper", "worst_class", "witness_size"];

/// The place of the column that a field of a file belongs to, under its present or a former name.
pub(super) fn place(schema: &[Column], field: &str) -> Option<usize> {
    let named = |name: &str| schema.iter().position(|column| column.name == name);
    let former = || FORMERLY.iter().find(|(old, _)| *old == field).and_then(|(_, new)| named(new));
    named(field).or_else(former)
}

impl Column {
    /// Is the field of a row left out where it holds nothing? So it is where the column is there only on request.
    pub(crate) fn left_out(&self) -> bool {
        self.kind == Kind::OptionalText
    }

    /// May a file of an earlier version lack this column?
    pub(super) fn is_added(&self) -> bool {
        ADDED.contains(&self.name)
    }

    /// The cell as this column holds it, or why it cannot.
    pub(super) fn fit(&self, cell: Cell) -> Result<Cell, Complaint> {
        let problem = match (self.kind, cell) {
            (Kind::Integer | Kind::OptionalInteger, cell @ Cell::Integer(_))
            | (Kind::Float | Kind::OptionalFloat, cell @ Cell::Float(_))
            | (Kind::Text | Kind::OptionalText, cell @ Cell::Text(_))
            | (Kind::Boolean | Kind::OptionalBoolean, cell @ Cell::Boolean(_)) => return Ok(cell),
            (kind, Cell::Null) if kind.nullable() => return Ok(Cell::Null),
            (Kind::Float | Kind::OptionalFloat, cell @ Cell::Integer(_)) => float(cell),
            (Kind::Margins, Cell::List(items)) => {
                items.into_iter().map(margin).collect::<Result<_, _>>().map(Cell::List)
            }
            (Kind::Flips, Cell::List(items)) => items.into_iter().map(flip).collect::<Result<_, _>>().map(Cell::List),
            (Kind::Integers, Cell::List(items)) if items.iter().all(|item| matches!(item, Cell::Integer(_))) => {
                Ok(Cell::List(items))
            }
            (Kind::Integers, Cell::Text(text)) => separated(&text),
            (kind, cell) => Err(format!("{} was expected, not {cell}", kind.describe())),
        };
        problem.map_err(|problem| Complaint(format!("column `{}`: {problem}", self.name)))
    }
}

impl Kind {
    /// Whether null is a value of this kind.
    fn nullable(self) -> bool {
        !matches!(self, Kind::Integer | Kind::Text | Kind::Boolean)
    }

    /// The kind in a complaint.
    fn describe(self) -> &'static str {
        match self {
            Kind::Integer => "an integer",
            Kind::OptionalInteger => "an integer or null",
            Kind::Float => "a number",
            Kind::OptionalFloat => "a number or null",
            Kind::Text => "a text",
            Kind::OptionalText => "a text or null",
            Kind::Boolean => "true or false",
            Kind::OptionalBoolean => "true, false or null",
            Kind::Margins => "a list of {class, lower, upper}",
            Kind::Flips => "a list of [node, attribute]",
            Kind::Integers => "a list of integers",
        }
    }
}

/// A double; an integer is taken for one only where the two are equal.
fn float(cell: Cell) -> Result<Cell, String> {
    match cell {
        Cell::Integer(value) if value.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS => Ok(Cell::Float(value as f64)),
        Cell::Float(_) | Cell::Null => Ok(cell),
        other => Err(format!("a number was expected, not {other}")),
    }
}

/// One margin, with its fields in the order of the Parquet columns.
fn margin(cell: Cell) -> Result<Cell, String> {
    let shown = cell.to_string();
    let wrong = || format!("a margin {{class, lower, upper}} was expected, not {shown}");
    let Cell::Group(fields) = cell else {
        return Err(wrong());
    };
    let (mut class, mut lower, mut upper) = (None, None, None);
    for (name, cell) in fields {
        match (name.as_ref(), cell) {
            ("class", cell @ Cell::Integer(_)) => class = Some(cell),
            ("lower", cell) => lower = Some(float(cell)?),
            ("upper", cell) => upper = Some(float(cell)?),
            _ => return Err(wrong()),
        }
    }
    match (class, lower, upper) {
        (Some(class), Some(lower), Some(upper)) => {
            Ok(Cell::Group(vec![("class".into(), class), ("lower".into(), lower), ("upper".into(), upper)]))
        }
        _ => Err(wrong()),
    }
}

/// Integers separated by spaces, as earlier versions wrote a list.
fn separated(text: &str) -> Result<Cell, String> {
    let numbers = text.split_whitespace().map(|word| word.parse().map(Cell::Integer));
    numbers
        .collect::<Result<_, _>>()
        .map(Cell::List)
        .map_err(|_| format!("a list of integers was expected, not {text:.60}"))
}

/// One flip.
fn flip(cell: Cell) -> Result<Cell, String> {
    match cell {
        Cell::List(pair) if matches!(pair[..], [Cell::Integer(_), Cell::Integer(_)]) => Ok(Cell::List(pair)),
        other => Err(format!("a flip [node, attribute] was expected, not {other}")),
    }
}
