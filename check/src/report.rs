//! The text printed about a check. Everything that comes from the file is escaped.

use std::fmt;

use crate::checker::Verdict;
use crate::collective;
use crate::edges::{self, format::Removals};
use crate::expect::Room;
use crate::format::{Convention, Header, Local};
use crate::summary::{Stated, Summary};

/// Characters of one text from a file that are shown, at most.
const SHOWN_TEXT: usize = 500;

/// Rejections, frozen attributes and reasons that are shown, at most.
const SHOWN: (usize, usize, usize) = (20, 8, 3);

/// A text from a file as it can be shown: control characters, terminal escapes, marks of direction and whatever else has no
/// shape of its own become `\u{…}`, a backslash is doubled, and a long text is cut.
pub fn visible(text: &str) -> String {
    let mut shown = String::new();
    for (at, letter) in text.chars().enumerate() {
        if at == SHOWN_TEXT {
            shown.push('…');
            break;
        }
        match letter {
            '"' | '\'' => shown.push(letter),
            _ => shown.extend(letter.escape_debug()),
        }
    }
    shown
}

/// Message-passing rules as they can be shown.
pub(crate) fn shown_rules(rules: &[String]) -> String {
    visible(&rules.join(","))
}

fn plural(count: u128, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

/// A table for people.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if let Some(header) = &self.header {
            match header {
                Stated::Flips(header) => self.statement(f, "statement   ", header)?,
                Stated::Collective(header) => self.one_attack(f, header)?,
                Stated::Removals(header) => self.removals(f, header)?,
            }
        }
        let [robust, non_robust, ties] = [Verdict::Robust, Verdict::NonRobust, Verdict::Tie].map(|v| self.count(v));
        let (proved, nodes) = (self.proved(), self.verdicts.len());
        let one_attack = matches!(self.header, Some(Stated::Collective(_)));
        if let Some(claim) = &self.collective {
            let (counted, safe, shared) = (claim.counted, claim.safe, claim.shared);
            let others = counted - safe - shared;
            let proved = if claim.proved { "" } else { " (not proved)" };
            writeln!(f, "claim       at most {} of {counted} predictions are broken{proved}", claim.claimed)?;
            writeln!(f, "            {safe} are never broken, {shared} have a share, {others} have neither")?;
        }
        if self.checked && !one_attack {
            writeln!(f, "accepted    {proved}: {robust} robust, {non_robust} non-robust, {ties} ties")?;
        }
        writeln!(f, "rejected    {}", self.rejected)?;
        for rejection in self.rejections.iter().take(SHOWN.0) {
            writeln!(f, "            {rejection}")?;
        }
        if self.expensive > 0 {
            writeln!(f, "expensive   {} (neither accepted nor rejected)", self.expensive)?;
        }
        for line in self.too_expensive.iter().take(SHOWN.0) {
            writeln!(f, "            {line}")?;
        }
        if self.checked && !one_attack {
            writeln!(f, "covered     {proved} of {nodes} nodes")?;
            let (reason, refused, silent) = (self.unproved, self.refused, self.unmentioned());
            let without = nodes - proved;
            if without > 0 {
                writeln!(
                    f,
                    "without     {without}: {reason} with a reason in the file, {refused} with a rejected proof, {silent} not \
                     mentioned"
                )?;
            }
            for one in self.unproved_reasons.iter().take(SHOWN.2) {
                writeln!(f, "            node {}: {}", one.id, visible(&one.reason))?;
            }
        }
        for unmet in &self.unmet {
            writeln!(f, "unmet       {unmet}")?;
        }
        writeln!(f, "result      {}", self.result())
    }
}

impl Summary {
    /// One sentence.
    fn result(&self) -> &'static str {
        match self {
            Summary { unreadable: true, .. } => "the file of proofs cannot be read",
            Summary { checked: false, unmet, .. } if !unmet.is_empty() => {
                "not what was expected: nothing after the header was checked"
            }
            Summary { interrupted: true, .. } => "interrupted: lines that were not reached are not judged",
            Summary { checked: false, rejected: 0, expensive: 1.., .. } => {
                "too expensive: nothing after the header was checked"
            }
            Summary { checked: false, .. } => "rejected: nothing after the header was checked",
            Summary { rejected: 0, expensive: 1.., .. } => {
                "not everything in the file could be judged within the work limit"
            }
            summary if !summary.accepted() => "not everything in the file is accepted",
            summary if !summary.proves() => "nothing is proved",
            Summary { unmet, .. } if !unmet.is_empty() => "not everything that was expected is proved",
            _ => "everything in the file is accepted",
        }
    }

    fn removals(&self, f: &mut fmt::Formatter, header: &edges::format::Header) -> fmt::Result {
        let Removals { global, local, keep_one, frozen } = &header.edges;
        let (most, local) = match local {
            Local::Uniform(e) => (*e, format!("e = {e} at a node")),
            Local::PerNode(list) => {
                let (smallest, largest) = (list.iter().min().unwrap_or(&0), list.iter().max().unwrap_or(&0));
                (*largest, format!("e = {smallest} to {largest} at a node"))
            }
        };
        let last = if *keep_one { "every node keeps one edge" } else { "nodes may lose all edges" };
        writeln!(f, "statement   removed edges: E = {global} in all, {local}, {last}")?;
        if *global == 0 || most == 0 {
            writeln!(f, "            no edge at all can be removed: this says only which class a node has as it is")?;
        }
        if !frozen.is_empty() {
            let first: Vec<String> = frozen.iter().take(SHOWN.1).map(|(i, j)| format!("{i}-{j}")).collect();
            let more = if frozen.len() > SHOWN.1 { ", …" } else { "" };
            let count = plural(frozen.len() as u128, "frozen edge");
            writeln!(f, "            {count}, which cannot be removed: {}{more}", first.join(", "))?;
        }
        writeln!(f, "            message passing {}", shown_rules(&header.message_passing))?;
        writeln!(f, "            classes: {}", header.classes)
    }

    fn one_attack(&self, f: &mut fmt::Formatter, header: &collective::format::Header) -> fmt::Result {
        writeln!(f, "statement   one attack for the whole graph")?;
        self.statement(f, "            ", &header.of_single_nodes())?;
        if let Some(most) = header.attacked_nodes {
            writeln!(f, "            flips in the attributes of at most {}", plural(most.into(), "node"))?;
        }
        let right = match header.classes {
            Convention::Predicted => "",
            Convention::Labels => ", where they are right without flips",
        };
        match &header.nodes {
            None => writeln!(f, "            predictions of all nodes count{right}"),
            Some(nodes) => {
                writeln!(f, "            predictions of {} count{right}", plural(nodes.len() as u128, "node"))
            }
        }
    }

    fn statement(&self, f: &mut fmt::Formatter, start: &str, header: &Header) -> fmt::Result {
        let budget = &header.budget;
        let (nodes, attributes) = (self.verdicts.len() as u64, self.attributes as u64);
        let room = Room::new(budget, nodes, attributes);
        let local = match (&budget.local, room.smallest) {
            (Local::Uniform(q), _) => format!("q = {q} per node"),
            (Local::PerNode(_), Some((_, smallest))) if smallest == room.largest => {
                format!("q = {smallest} for all nodes")
            }
            (Local::PerNode(_), smallest) => {
                let sum = plural(room.sum, "flip");
                let smallest = smallest.map_or(0, |smallest| smallest.1);
                format!("q = {smallest} to {} per node (room for {sum} in all)", room.largest)
            }
        };
        writeln!(f, "{start}Q = {} flips in all, {local}, direction {}", budget.global, budget.direction)?;
        let frozen = &budget.frozen_attributes;
        if budget.global == 0 || room.sum == 0 || frozen.len() as u64 >= attributes {
            writeln!(
                f,
                "            no flip at all is permitted: this says only which class a node has without flips"
            )?;
        }
        if !frozen.is_empty() {
            let first: Vec<String> = frozen.iter().take(SHOWN.1).map(ToString::to_string).collect();
            let more = if frozen.len() > SHOWN.1 { ", …" } else { "" };
            let count = plural(frozen.len() as u128, "frozen attribute");
            writeln!(f, "            {count}, which no flip may touch: {}{more}", first.join(", "))?;
        }
        writeln!(f, "            message passing {}", shown_rules(&header.message_passing))?;
        if let Some(deployed) = &header.deployed {
            writeln!(f, "            as deployed, for every execution in {deployed}")?;
        }
        writeln!(f, "            classes: {}", header.classes)
    }
}
