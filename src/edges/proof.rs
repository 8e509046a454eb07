//! Proofs against removed edges as lines of a file (`check/FORMAT-EDGES.md`).

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::edges::budget::{Edge, EdgeBudget};
use crate::edges::search::{Prices, Step};
use crate::edges::verdict::{EdgeClaim, EdgeResult};

/// The statement that all proofs of a file share.
#[derive(Clone, Debug, Serialize)]
pub struct EdgeHeader {
    version: u32,
    attack: &'static str,
    graph: String,
    model: String,
    message_passing: Vec<String>,
    edges: Statement,
    classes: &'static str,
}

#[derive(Clone, Debug, Serialize)]
struct Statement {
    global: u64,
    local: Local,
    keep_one: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    frozen: Vec<Edge>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
enum Local {
    Uniform(u32),
    PerNode(Vec<u32>),
}

impl EdgeHeader {
    /// For a graph and a model by their digests, with the rules of the layers; `labels` says whether labels are kept rather than predictions.
    pub fn new(
        (graph, model): (&str, &str),
        message_passing: Vec<String>,
        budget: &EdgeBudget,
        labels: bool,
    ) -> EdgeHeader {
        let locals = budget.locals();
        let local = match locals.first() {
            Some(&e) if locals.iter().all(|&other| other == e) => Local::Uniform(e),
            _ => Local::PerNode(locals.to_vec()),
        };
        EdgeHeader {
            version: 3,
            attack: "edge_removals",
            graph: graph.to_string(),
            model: model.to_string(),
            message_passing,
            edges: Statement {
                global: budget.global() as u64,
                local,
                keep_one: budget.keeps_one(),
                frozen: budget.frozen().iter().copied().collect(),
            },
            classes: if labels { "labels" } else { "predicted" },
        }
    }
}

/// A number `integer · 2^exponent`, exactly.
struct Number(f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bits = self.0.to_bits();
        let field = (bits >> 52 & 0x7ff) as i64;
        let fraction = (bits & ((1 << 52) - 1)) as i64;
        let (mantissa, exponent) = if field == 0 { (fraction, -1074) } else { (fraction | 1 << 52, field - 1075) };
        if mantissa == 0 {
            return serializer.serialize_u64(0);
        }
        let zeros = mantissa.trailing_zeros();
        let (mantissa, exponent) = (mantissa >> zeros, exponent + i64::from(zeros));
        match exponent {
            0..=9 => serializer.serialize_i64(mantissa << exponent),
            _ => serializer.serialize_str(&format!("{mantissa}p{exponent}")),
        }
    }
}

/// One thing of several: an object with one key.
fn one<S: Serializer>(serializer: S, key: &str, value: &impl Serialize) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry(key, value)?;
    map.end()
}

#[derive(Serialize)]
struct Empty {}

#[derive(Serialize)]
struct Hints<'a> {
    mu: Vec<Number>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    views: &'a [(u32, u32, u32, u32)],
}

impl Serialize for Step {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Step::Edge(edge) => one(serializer, "edge", edge),
            Step::Singles => one(serializer, "singles", &Empty {}),
            Step::Prices(Prices { mu, views }) => {
                one(serializer, "prices", &Hints { mu: mu.iter().copied().map(Number).collect(), views })
            }
        }
    }
}

#[derive(Serialize)]
struct ClassTree<'a> {
    class: usize,
    tree: &'a [Step],
}

#[derive(Serialize)]
struct Witness<'a> {
    class: usize,
    edges: &'a [Edge],
}

struct Claim<'a>(&'a EdgeClaim);

impl Serialize for Claim<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            EdgeClaim::Robust(trees) => {
                let trees: Vec<ClassTree> =
                    trees.iter().map(|(class, tree)| ClassTree { class: *class, tree }).collect();
                one(serializer, "robust", &trees)
            }
            EdgeClaim::NonRobust(class, edges) => one(serializer, "non_robust", &Witness { class: *class, edges }),
        }
    }
}

#[derive(Serialize)]
struct Node<'a> {
    id: usize,
    class: usize,
    claim: Claim<'a>,
}

#[derive(Serialize)]
struct Unproved {
    id: usize,
    reason: String,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Line<'a> {
    Header(&'a EdgeHeader),
    Node(Node<'a>),
    Unproved(Unproved),
    End(usize),
}

fn text(line: &Line) -> String {
    serde_json::to_string(line).unwrap_or_default() + "\n"
}

/// The first line of a file.
pub fn header_line(header: &EdgeHeader) -> String {
    text(&Line::Header(header))
}

/// The longest line that the format allows.
const LONGEST: usize = 1 << 23;

/// The line of a node: its proof, or why there is none.
pub fn node_line(result: &EdgeResult) -> String {
    let unproved = |reason: &str| {
        let reason = format!("{reason} ({})", result.reason.name());
        text(&Line::Unproved(Unproved { id: result.node, reason }))
    };
    match &result.claim {
        None => unproved("the node has no proof"),
        Some(claim) => {
            let line = text(&Line::Node(Node { id: result.node, class: result.reference, claim: Claim(claim) }));
            if line.len() > LONGEST { unproved("the proof is longer than 8388608 bytes") } else { line }
        }
    }
}

/// The last line, after so many others that are no header.
pub fn end_line(lines: usize) -> String {
    text(&Line::End(lines))
}
