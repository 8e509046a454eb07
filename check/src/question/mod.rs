//! The question that a file of proofs is to answer.
//!
//! A file states its own budget, operators and nodes, so that "everything is accepted" may mean little. A question
//! names all of these itself ([`RULES`]); what the file states is compared with it.
//!
//! | module | what |
//! |---|---|
//! | `words` | the options of the commands, and the question that they ask |
//! | `lists` | what they say in lists and files |
//! | `cover` | are all perturbations asked about among those stated? |
//! | `execution` | the same of executions |
//! | `text` | what comes from a file, as it can be shown |

mod cover;
mod execution;
mod lists;
pub(crate) mod text;
mod words;

pub(crate) use cover::{FlipLimits, Room, flippable, removable, uncovered_flips, uncovered_removals};
pub use execution::Execution;
pub use lists::read_rules;
pub use words::{Value, WORDS, Word, Words};

use gcnproof_files::GraphFile;

use crate::edges::{ChangeBudget, RemovalBudget, Removals};
use crate::format::{BudgetStatement, Convention, RangesStatement};
use crate::ranges::RangeBudget;
use crate::statement::Budget;
use crate::verdict::Reason;

/// The rules of a check, as all commands and the Python package tell them.
pub const RULES: &str = "\
A question names everything itself, in the words of `certify`: how many attributes may be flipped
in all (-Q) and at a node (-q, 1% of the attributes if left out) and which, or moved (--epsilon,
--ranges), or how many edges may be removed in all (-E) and at a node (-e, no limit of its own if
left out; every node keeps one edge unless told otherwise), or both by one attacker (-Q and -E);
the nodes (all if left out), the class (the predicted one), the message passing (the model's own;
gcn for a model that names none), and whether it is about the network in exact arithmetic (if left
out) or every execution of it (--deployed). With --bound B it is the question of `collective`: does
one attack for the whole graph break at most B predictions?
--expect-Q, --expect-nodes and the like are other names of these options.

The question is proved if everything in the file is accepted and every node asked about has a
proof that answers it. A proof that a node is robust answers if every perturbation asked about is
among those that the file states; a proof that it is not answers if its witness is among the
perturbations asked about. A larger budget than asked about is therefore fine for robust nodes,
and a smaller one for others. Proofs about every execution also answer for exact arithmetic. One
attack is bounded by a file about at least these perturbations and these nodes, with a bound of at
most B. A part of a graph answers for its own nodes only.

Exit codes: 0 the question is proved; 1 it is not proved, or something in the file is rejected; 2
wrong usage, or a file that cannot be read; 3 too expensive to check; 4 everything in the file is
accepted, but no question was asked, so that the file chose its own.";

/// What is asked about a graph and a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// What an attacker may do.
    pub attack: Attack,
    /// Which class a node is to keep.
    pub classes: Convention,
    /// The nodes asked about, or whose predictions count: rising, each once; all that the graph answers for if left
    /// out.
    pub nodes: Option<Vec<u32>>,
    /// Nodes asked about for which another part of the graph answers, by their ids in the whole graph.
    pub elsewhere: Vec<u32>,
}

/// What an attacker may do, and to which network.
#[derive(Clone, Debug, PartialEq)]
pub enum Attack {
    /// Flips of attributes, chosen anew for every node: in exact arithmetic, or whatever the execution.
    Flips(BudgetStatement, Option<Execution>),
    /// Attributes moved within ranges, chosen anew for every node: in exact arithmetic, or whatever the execution.
    Ranges(BudgetStatement, RangesStatement, Option<Execution>),
    /// Removed edges, chosen anew for every node.
    Removals(Removals),
    /// Flips of attributes and changed edges at once, chosen anew for every node.
    Joint(BudgetStatement, Removals),
    /// Flips of attributes, chosen once for the whole graph.
    Collective {
        /// Which flips.
        budget: BudgetStatement,
        /// In the rows of how many nodes; of any number if left out.
        attacked_nodes: Option<u64>,
        /// So many predictions are to be broken at most.
        bound: u64,
    },
}

impl Question {
    /// About all nodes, which are to keep their predicted class.
    pub fn new(attack: Attack) -> Question {
        Question { attack, classes: Convention::Predicted, nodes: None, elsewhere: Vec::new() }
    }

    /// Refuses a question that does not fit the graph.
    ///
    /// # Errors
    /// Why it does not.
    pub fn require(&self, graph: &GraphFile) -> Result<(), Reason> {
        match &self.attack {
            Attack::Flips(budget, _) | Attack::Collective { budget, .. } => Budget::new(budget, graph).map(|_| ())?,
            Attack::Ranges(budget, ranges, _) => RangeBudget::new(budget, ranges, graph).map(|_| ())?,
            Attack::Removals(removals) if removals.is_plain() => {
                RemovalBudget::new(removals, &graph.adjacency).map(|_| ())?
            }
            Attack::Removals(removals) => ChangeBudget::new(removals, &removals.kinds(), graph).map(|_| ())?,
            Attack::Joint(flips, removals) => {
                Budget::new(flips, graph)?;
                ChangeBudget::new(removals, &removals.kinds(), graph).map(|_| ())?;
            }
        }
        let nodes = self.nodes.as_deref().unwrap_or_default();
        let rising = nodes.windows(2).all(|pair| pair[0] < pair[1]);
        let exist = nodes.last().is_none_or(|&last| (last as usize) < graph.targets());
        let some = self.nodes.as_ref().is_none_or(|nodes| !nodes.is_empty()) || !self.elsewhere.is_empty();
        if rising && exist && some { Ok(()) } else { Err(Reason::Node) }
    }
}
