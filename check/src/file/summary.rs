//! The outcome of a check of a file: verdicts by node, rejected lines, counts.

use gcnproof_files::PartFile;
use serde::Serialize;

use crate::collective::CollectiveHeader;
use crate::edges::EdgeHeader;
use crate::format::{Convention, Header, Unproved};
use crate::question::Question;
use crate::verdict::{Fault, Reason, Verdict};
use crate::work::Steps;

/// Rejections that a summary keeps; more are only counted.
const KEPT: usize = 1000;

/// A rejected line.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejection {
    /// The line, counted from 1.
    pub line: u64,
    /// The node it is about, if that could be read.
    pub node: Option<u32>,
    /// What is wrong. Its text may hold anything that the file says; the text of the rejection has it escaped.
    pub fault: Fault,
}

/// What a file is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Stated {
    /// Flips of attributes.
    Flips(Header),
    /// Removed edges.
    Removals(EdgeHeader),
    /// One attack by flips of attributes for the whole graph.
    Collective(CollectiveHeader),
}

impl Stated {
    /// One rule per weight layer.
    pub fn message_passing(&self) -> &[String] {
        match self {
            Stated::Flips(header) => &header.message_passing,
            Stated::Removals(header) => &header.message_passing,
            Stated::Collective(header) => &header.message_passing,
        }
    }

    /// Which class a node is to keep.
    pub fn classes(&self) -> Convention {
        match self {
            Stated::Flips(header) => header.classes,
            Stated::Removals(header) => header.classes,
            Stated::Collective(header) => header.classes,
        }
    }

    /// Digests of graph and model.
    pub(crate) fn digests(&self) -> (&str, &str) {
        match self {
            Stated::Flips(header) => (&header.graph, &header.model),
            Stated::Removals(header) => (&header.graph, &header.model),
            Stated::Collective(header) => (&header.graph, &header.model),
        }
    }
}

/// What became of a claim about one attack for the whole graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Collective {
    /// The predictions that count.
    pub counted: u64,
    /// Those of them that an accepted line shows to be never broken.
    pub safe: u64,
    /// Those of them that have an accepted share.
    pub shared: u64,
    /// So many predictions are broken at most, says the file.
    pub claimed: u64,
    /// So many, say its accepted lines; fewer perhaps in exact numbers, if floats suffice for the claim. The largest
    /// number where they say nothing.
    pub shown: u64,
    /// Is the claim accepted?
    pub proved: bool,
}

/// What became of a file.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// What is proved about what; `None` if not even that was readable.
    pub header: Option<Stated>,
    /// The number of nodes of the graph.
    pub nodes: usize,
    /// Are graphs classified? Then all that is said of nodes that have verdicts is said of these.
    pub graphs: bool,
    /// Are its attributes categories? Then what flips do is said of changes of these.
    pub categories: bool,
    /// The number of attributes of the graph.
    pub attributes: usize,
    /// What was asked; without it no exit code is 0.
    pub question: Option<Question>,
    /// What the graph says of itself if it is a part of a larger one.
    pub part: Option<PartFile>,
    /// Does the statement permit no perturbation at all?
    pub void: bool,
    /// Were the lines after the header looked at? Not where the header does not fit the files or is about something
    /// else than what was asked.
    pub checked: bool,
    /// The verdict of each node of the graph; `None` where the file has no accepted proof.
    pub verdicts: Vec<Option<Verdict>>,
    /// The same of nodes asked about, as far as it answers the question; where nothing was asked, all of them.
    pub answers: Vec<Option<Verdict>>,
    /// Why robust nodes do not answer the question, where they do not.
    pub(crate) uncovered: Vec<String>,
    /// Number of nodes that the file says it does not prove.
    pub unproved: u64,
    /// The first of them, with the reasons that the file gives.
    pub unproved_reasons: Vec<Unproved>,
    /// Number of nodes of the graph whose proof is rejected.
    pub refused: u64,
    /// Number of rejected lines (and 1 for a file that ends early).
    pub rejected: u64,
    /// The first of them, in the order of the file.
    pub rejections: Vec<Rejection>,
    /// Number of lines that are too expensive to judge: neither accepted nor rejected.
    pub expensive: u64,
    /// The first of them, in the order of the file.
    pub too_expensive: Vec<Rejection>,
    /// Was the check stopped before its end?
    pub interrupted: bool,
    /// Steps that the check has cost ([`crate::work`]).
    pub steps: Steps,
    /// What a file about one attack claims, if it got that far.
    pub collective: Option<Collective>,
    /// What was asked and is not answered, with what is stated or proved instead.
    pub unmet: Vec<String>,
    /// Did the system fail to read the file?
    pub unreadable: bool,
}

impl Summary {
    /// Is everything in the file accepted? A file that proves nothing may be.
    pub fn accepted(&self) -> bool {
        self.rejected == 0 && self.expensive == 0 && !self.interrupted
    }

    /// What has verdicts, in a word.
    pub(crate) fn target(&self) -> &'static str {
        if self.graphs { "graph" } else { "node" }
    }

    /// How many nodes got this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.verdicts.iter().filter(|&&found| found == Some(verdict)).count()
    }

    /// How many nodes have an accepted proof.
    pub fn proved(&self) -> usize {
        self.verdicts.iter().flatten().count()
    }

    /// How many nodes the file does not mention on any line that could be read.
    pub fn unmentioned(&self) -> u64 {
        let mentioned = (self.proved() as u64).saturating_add(self.unproved).saturating_add(self.refused);
        let mentioned = mentioned.saturating_add(self.expensive);
        (self.verdicts.len() as u64).saturating_sub(mentioned)
    }

    /// Is something proved: a claim about one attack, or a node?
    pub fn proves(&self) -> bool {
        match self.header {
            Some(Stated::Collective(_)) => self.collective.is_some_and(|claim| claim.proved),
            _ => self.proved() > 0,
        }
    }

    /// Is everything accepted, something proved, and what was asked answered? Where nothing was asked that says little:
    /// [`Summary::answered`].
    pub fn success(&self) -> bool {
        self.accepted() && self.proves() && self.unmet.is_empty()
    }

    /// Is the question proved? None where nothing was asked.
    pub fn answered(&self) -> Option<bool> {
        self.question.as_ref().map(|_| self.success())
    }

    /// The exit code of a command that checks ([`crate::RULES`]); 130 where the check was stopped.
    pub fn exit_code(&self) -> u8 {
        match self {
            Summary { interrupted: true, .. } => 130,
            Summary { unreadable: true, .. } => 2,
            Summary { rejected: 0, expensive: 1.., .. } => 3,
            summary => match (summary.success(), summary.answered()) {
                (true, Some(_)) => 0,
                (true, None) => 4,
                (false, _) => 1,
            },
        }
    }

    /// The rows that a question is about.
    pub(crate) fn asked_rows(&self, question: &Question) -> Vec<usize> {
        match &question.nodes {
            Some(nodes) => nodes.iter().map(|&node| node as usize).collect(),
            None => (0..self.verdicts.len()).filter(|&row| self.owns(row)).collect(),
        }
    }

    /// Does the graph answer for this row? A part does so for some of its rows only.
    fn owns(&self, row: usize) -> bool {
        self.part.as_ref().is_none_or(|part| part.owns(row))
    }

    pub(crate) fn leave(&mut self, unproved: Unproved) {
        self.unproved += 1;
        if self.unproved_reasons.len() < KEPT {
            self.unproved_reasons.push(unproved);
        }
    }

    /// Enters a line that is not accepted: rejected, too expensive, or not judged because the check was stopped.
    pub(crate) fn reject(&mut self, line: u64, node: Option<u32>, fault: impl Into<Fault>) {
        let fault = fault.into();
        let (count, list) = match fault.reason {
            Reason::Interrupted => return self.interrupted = true,
            Reason::TooExpensive(_) => (&mut self.expensive, &mut self.too_expensive),
            _ => (&mut self.rejected, &mut self.rejections),
        };
        *count += 1;
        if list.len() < KEPT {
            list.push(Rejection { line, node, fault });
        }
    }

    /// Enters a node whose proof is not accepted.
    pub(crate) fn refuse(&mut self, line: u64, node: u32, fault: Fault) {
        self.refused += u64::from(!matches!(fault.reason, Reason::Interrupted | Reason::TooExpensive(_)));
        self.reject(line, Some(node), fault);
    }
}
