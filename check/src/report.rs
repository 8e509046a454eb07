//! The text printed about a check. Everything that comes from the file is escaped.

use std::fmt;

use crate::edges::format::{Candidates, ChangeKind, Changes, Removals};
use crate::file::{Rejection, Stated, Summary};
use crate::format::{BudgetStatement, Convention, Deployed, Direction, Header, Local, RangesStatement};
use crate::number::Interval;
use crate::question::text::{shown_rules, visible};
use crate::question::{Attack, Question, Room};
use crate::verdict::Verdict;

/// Rejections, frozen attributes and reasons that are shown, at most.
const SHOWN: (usize, usize, usize) = (20, 8, 3);

/// The word before what a file states.
const STATED: &str = "statement";

fn plural(count: u128, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        if let Some(node) = self.node {
            write!(f, ", node {node}")?;
        }
        if let Some(class) = self.fault.class {
            write!(f, ", class {class}")?;
        }
        if let Some(step) = self.fault.step {
            write!(f, ", tree node {step}")?;
        }
        write!(f, ": {}", visible(&self.fault.reason.to_string()))
    }
}

/// A table for people.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if let (None, Some(stated)) = (&self.question, &self.header) {
            writeln!(f, "The file states: {}", self.sentence(stated))?;
        }
        if let Some(part) = &self.part {
            let (own, all, words) = (part.own.len(), part.of, part.words());
            writeln!(
                f,
                "graph       {words} of a graph of {all} nodes: it answers for {own} of them, named by its rows"
            )?;
        }
        if let Some(question) = &self.question {
            self.asked(f, question)?;
        }
        match &self.header {
            Some(Stated::Flips(header)) if header.ranges.is_some() => {
                self.ranges(f, STATED, &header.budget, header.ranges.as_ref())?;
                self.shared(f, &header.message_passing, None, header.classes)?;
            }
            Some(Stated::Flips(header)) => {
                self.flips(f, STATED, &header.budget)?;
                self.shared(f, &header.message_passing, header.deployed.as_ref(), header.classes)?;
            }
            Some(Stated::Collective(header)) => {
                writeln!(f, "statement   one attack for the whole graph")?;
                self.flips(f, "", &header.budget)?;
                self.one_attack(f, header.attacked_nodes, header.nodes.as_ref().map(Vec::len), header.classes)?;
                self.shared(f, &header.message_passing, None, header.classes)?;
            }
            Some(Stated::Removals(header)) => {
                match &header.flips {
                    Some(flips) => {
                        self.flips(f, STATED, flips)?;
                        self.removals(f, "and", &header.edges)?;
                    }
                    None => self.removals(f, STATED, &header.edges)?,
                }
                self.shared(f, &header.message_passing, None, header.classes)?;
            }
            None => {}
        }
        let [robust, non_robust, ties] = [Verdict::Robust, Verdict::NonRobust, Verdict::Tie].map(|v| self.count(v));
        let (proved, nodes, target) = (self.proved(), self.verdicts.len(), self.target());
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
            writeln!(f, "covered     {proved} of {nodes} {target}s")?;
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
                writeln!(f, "            {target} {}: {}", one.id, visible(&one.reason))?;
            }
        }
        if let (true, Some(question)) = (self.checked && !one_attack, &self.question) {
            let rows = self.asked_rows(question);
            let [robust, non_robust, ties] = [Verdict::Robust, Verdict::NonRobust, Verdict::Tie]
                .map(|verdict| rows.iter().filter(|&&row| self.answers[row] == Some(verdict)).count());
            let asked = rows.len() + question.elsewhere.len();
            let open = asked - robust - non_robust - ties;
            writeln!(
                f,
                "answered    of {asked} {target}s asked about: {robust} robust, {non_robust} non-robust, {ties} ties, {open} open"
            )?;
        }
        for unmet in &self.unmet {
            writeln!(f, "not proved  {unmet}")?;
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
                "not proved: the file is about something else, and nothing after its header was checked"
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
            Summary { unmet, .. } if !unmet.is_empty() => "not proved: the file leaves something of the question open",
            Summary { question: Some(_), .. } => {
                "proved: the file answers the question, and everything in it is accepted"
            }
            _ => {
                "everything in the file is accepted, but no question was asked: it proves what it states itself (see --help)"
            }
        }
    }

    /// The question, in the words of a statement.
    fn asked(&self, f: &mut fmt::Formatter, question: &Question) -> fmt::Result {
        let nodes = question.nodes.as_ref().map(|nodes| nodes.len() + question.elsewhere.len());
        match &question.attack {
            Attack::Flips(budget, execution) => {
                self.flips(f, "question", budget)?;
                deployed(f, execution.as_ref())?;
            }
            Attack::Ranges(budget, ranges, execution) => {
                self.ranges(f, "question", budget, Some(ranges))?;
                deployed(f, execution.as_ref())?;
            }
            Attack::Removals(removals) => self.removals(f, "question", removals)?,
            Attack::Joint(flips, removals) => {
                self.flips(f, "question", flips)?;
                self.removals(f, "and", removals)?;
            }
            Attack::Collective { budget, attacked_nodes, bound } => {
                writeln!(f, "question    are at most {bound} predictions broken by one attack for the whole graph?")?;
                self.flips(f, "", budget)?;
                return self.one_attack(f, *attacked_nodes, nodes, question.classes);
            }
        }
        let target = self.target();
        let all = if self.part.is_some() { "all nodes of the part".into() } else { format!("all {target}s") };
        let nodes = nodes.map_or(all, |count| plural(count as u128, target));
        writeln!(f, "            classes: {}, {nodes}", question.classes)
    }

    fn removals(&self, f: &mut fmt::Formatter, start: &str, removals: &Removals) -> fmt::Result {
        let Removals { global, local, keep_one, frozen, .. } = removals;
        let Changes { kind, directed, candidates } = removals.kinds();
        let most = match local {
            Local::Uniform(e) => *e,
            Local::PerNode(list) => list.iter().max().copied().unwrap_or(0),
        };
        let last = if *keep_one { "every node keeps one edge" } else { "nodes may lose all edges" };
        let (done, can) = words(kind);
        let directed = if directed { " (directed)" } else { "" };
        writeln!(f, "{start:<12}{done} edges{directed}: E = {global} in all, {}, {last}", self.edges_at_node(local))?;
        match candidates {
            Some(Candidates::Within(hops)) => {
                writeln!(f, "            edges between nodes at most {hops} edges apart can be inserted")?;
            }
            Some(Candidates::Listed(list)) => {
                let count = plural(list.len() as u128, "candidate");
                writeln!(f, "            {count} for an insertion, and no other edge")?;
            }
            None => {}
        }
        if *global == 0 || most == 0 || (self.void && start == STATED) {
            writeln!(f, "            no edge at all can be {can}: this says only which class a node has as it is")?;
        }
        if !frozen.is_empty() {
            let first: Vec<String> = frozen.iter().take(SHOWN.1).map(|(i, j)| format!("{i}-{j}")).collect();
            let more = if frozen.len() > SHOWN.1 { ", …" } else { "" };
            let count = plural(frozen.len() as u128, "frozen edge");
            writeln!(f, "            {count}, which cannot be removed: {}{more}", first.join(", "))?;
        }
        Ok(())
    }

    fn edges_at_node(&self, local: &Local) -> String {
        // No node has more edges than there are other nodes.
        let nodes = self.verdicts.len() as u64;
        let shown = |e: u64| if e >= nodes { "no limit".into() } else { e.to_string() };
        match local {
            Local::Uniform(e) if *e >= nodes => "no limit at a node".into(),
            Local::Uniform(e) => format!("e = {e} at a node"),
            Local::PerNode(list) => {
                let (smallest, largest) = (list.iter().min().unwrap_or(&0), list.iter().max().unwrap_or(&0));
                format!("e = {smallest} to {} at a node", shown(*largest))
            }
        }
    }

    fn one_attack(
        &self,
        f: &mut fmt::Formatter,
        attacked_nodes: Option<u64>,
        nodes: Option<usize>,
        classes: Convention,
    ) -> fmt::Result {
        if let Some(most) = attacked_nodes {
            writeln!(f, "            flips in the attributes of at most {}", plural(most.into(), "node"))?;
        }
        let right = match classes {
            Convention::Predicted => "",
            Convention::Labels => ", where they are right without flips",
        };
        let nodes = nodes.map_or("all nodes".into(), |count| plural(count as u128, "node"));
        writeln!(f, "            predictions of {nodes} count{right}")
    }

    fn flips(&self, f: &mut fmt::Formatter, start: &str, budget: &BudgetStatement) -> fmt::Result {
        let (nodes, attributes) = (self.nodes as u64, self.attributes as u64);
        let room = Room::new(budget, nodes, attributes);
        let local = self.flips_at_node(budget);
        match self.categories {
            true => writeln!(f, "{start:<12}Q = {} changes of categories in all, {local}", budget.global)?,
            false => {
                writeln!(f, "{start:<12}Q = {} flips in all, {local}, direction {}", budget.global, budget.direction)?
            }
        }
        let flip = if self.categories { "change" } else { "flip" };
        let frozen = &budget.frozen_attributes;
        let void = budget.global == 0 || room.sum == 0 || frozen.len() as u64 >= attributes;
        if void || (self.void && start == STATED) {
            writeln!(
                f,
                "            no {flip} at all is permitted: this says only which class a {} has without {flip}s",
                self.target()
            )?;
        }
        if !frozen.is_empty() {
            let first: Vec<String> = frozen.iter().take(SHOWN.1).map(ToString::to_string).collect();
            let more = if frozen.len() > SHOWN.1 { ", …" } else { "" };
            let count = plural(frozen.len() as u128, "frozen attribute");
            writeln!(f, "            {count}, which no {flip} may touch: {}{more}", first.join(", "))?;
        }
        Ok(())
    }

    fn ranges(
        &self,
        f: &mut fmt::Formatter,
        start: &str,
        budget: &BudgetStatement,
        ranges: Option<&RangesStatement>,
    ) -> fmt::Result {
        let (global, local) = (budget.global, self.flips_at_node(budget));
        writeln!(f, "{start:<12}Q = {global} entries in all, {local}, moved {}", moved(ranges))?;
        if self.void && start == STATED {
            let target = self.target();
            writeln!(f, "            nothing may be moved: this says only which class a {target} has as it is")?;
        }
        match budget.frozen_attributes.len() as u128 {
            0 => Ok(()),
            count => writeln!(f, "            {}, which are not moved", plural(count, "frozen attribute")),
        }
    }

    fn flips_at_node(&self, budget: &BudgetStatement) -> String {
        let room = Room::new(budget, self.nodes as u64, self.attributes as u64);
        match (&budget.local, room.smallest) {
            (Local::Uniform(q), _) => format!("q = {q} per node"),
            (Local::PerNode(_), Some(smallest)) if smallest == room.largest => format!("q = {smallest} for all nodes"),
            (Local::PerNode(_), smallest) => {
                let flip = if self.categories { "change" } else { "flip" };
                let (sum, smallest) = (plural(room.sum, flip), smallest.unwrap_or(0));
                format!("q = {smallest} to {} per node (room for {sum} in all)", room.largest)
            }
        }
    }

    fn shared(
        &self,
        f: &mut fmt::Formatter,
        rules: &[String],
        deployed: Option<&Deployed>,
        classes: Convention,
    ) -> fmt::Result {
        writeln!(f, "            message passing {}", shown_rules(rules))?;
        self::deployed(f, deployed)?;
        writeln!(f, "            classes: {classes}")
    }

    /// What a file says, for whom has not asked.
    fn sentence(&self, stated: &Stated) -> String {
        let flips = |budget: &BudgetStatement| {
            let kind = match (self.categories, budget.direction) {
                (true, _) => "categories are changed",
                (false, Direction::Both) => "attributes are flipped",
                (false, Direction::Add) => "attributes are added",
                (false, Direction::Remove) => "attributes are removed",
            };
            let frozen = match budget.frozen_attributes.len() as u128 {
                0 => String::new(),
                count => format!(", none of them among {}", plural(count, "frozen attribute")),
            };
            let (global, local) = (budget.global, self.flips_at_node(budget));
            format!("whatever {kind}, at most {global} in all ({local}{frozen})")
        };
        let class = match stated.classes() {
            Convention::Predicted => "its predicted class",
            Convention::Labels => "its label as class",
        };
        let either = format!("a {} keeps {class}, or loses it in the way that is named", self.target());
        let said = match stated {
            Stated::Flips(header) if header.ranges.is_some() => {
                let (global, local) = (header.budget.global, self.flips_at_node(&header.budget));
                let (moved, arithmetic) = (moved(header.ranges.as_ref()), arithmetic(header));
                format!(
                    "whatever attributes are moved {moved}, at most {global} in all ({local}), {either}{arithmetic}"
                )
            }
            Stated::Flips(header) => format!("{}, {either}{}", flips(&header.budget), arithmetic(header)),
            Stated::Removals(header) => {
                let Removals { global, local, keep_one, frozen, .. } = &header.edges;
                let (_, done) = words(header.edges.kinds().kind);
                let last = if *keep_one { ", every node keeps one" } else { "" };
                let frozen = match frozen.len() as u128 {
                    0 => String::new(),
                    count => format!(", none of them among {}", plural(count, "frozen edge")),
                };
                let local = self.edges_at_node(local);
                let edges = format!("edges are {done}, at most {global} in all ({local}{last}{frozen})");
                match &header.flips {
                    Some(budget) => format!("{} and {edges}, {either}", flips(budget)),
                    None => format!("whatever {edges}, {either}"),
                }
            }
            Stated::Collective(header) => {
                let of = header.nodes.as_ref().map_or("all nodes".into(), |nodes| plural(nodes.len() as u128, "node"));
                let rows = header
                    .attacked_nodes
                    .map_or(String::new(), |most| format!(" in the rows of at most {}", plural(most.into(), "node")));
                let bound = "at most as many predictions as the claim says are broken at once";
                format!("{}{rows}, {bound} of those of {of}", flips(&header.budget))
            }
        };
        format!("{said}; message passing {}.", shown_rules(stated.message_passing()))
    }
}

/// To which values attributes are moved.
fn deployed(f: &mut fmt::Formatter, execution: Option<&impl fmt::Display>) -> fmt::Result {
    execution.map_or(Ok(()), |execution| writeln!(f, "            as deployed, for every execution in {execution}"))
}

/// In which arithmetic a statement about attributes holds.
fn arithmetic(header: &Header) -> String {
    match &header.deployed {
        Some(deployed) => format!(", in every execution in {deployed}"),
        None => ", in exact arithmetic".into(),
    }
}

fn moved(ranges: Option<&RangesStatement>) -> String {
    match ranges {
        Some(RangesStatement::Epsilon(radius)) => {
            let Interval { lower, upper } = Interval::around(&radius.0);
            match lower.to_f64() == upper.to_f64() {
                true => format!("by at most {}", upper.to_f64()),
                false => format!("by at most about {}", upper.to_f64()),
            }
        }
        Some(RangesStatement::Between(_)) => "within a range for each attribute".into(),
        None => String::new(),
    }
}

/// What is done to edges: before the word edges, and after a verb.
fn words(kind: ChangeKind) -> (&'static str, &'static str) {
    match kind {
        ChangeKind::Remove => ("removed", "removed"),
        ChangeKind::Insert => ("inserted", "inserted"),
        ChangeKind::Change => ("removed or inserted", "removed or inserted"),
    }
}
