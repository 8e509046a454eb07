//! Proofs about the parts of a graph as proofs about the whole.
//!
//! A part has the rows of the whole graph in their order, and all that the logits of its own nodes depend on. So a
//! proof about an own node becomes one about the whole graph by naming nodes as they are called there; what ascends
//! still does. Nothing is taken on trust: the joined file states the whole graph, and is checked against it.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use gcnproof_check::format::{
    BudgetStatement, Claim, Envelope, Header, Hints, Leaf, Line, Local, Multiplier, Prices, RangeClaim, RangeLines,
    RangeStep, Step,
};
use gcnproof_check::{Accepted, LONGEST_LINE};
use gcnproof_files::PartFile;

use super::error::ProofError;
use super::file::{ProofFile, is_compressed, name, next_piece};
use super::mode::Mode;

/// The finished proofs of one part.
#[derive(Debug)]
pub struct Member {
    path: PathBuf,
    header: Header,
    part: PartFile,
}

impl Member {
    /// The proofs in a file that states this, of a part whose digest it has.
    ///
    /// # Errors
    /// If the file cannot be read, is not finished, or is about nodes that the part does not answer for.
    pub fn new(path: &Path, header: Header, part: PartFile) -> Result<Member, ProofError> {
        let member = Member { path: path.to_owned(), header, part };
        each_line(&member, |_| Ok(()))?;
        Ok(member)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The part that it is about.
    pub fn part(&self) -> &PartFile {
        &self.part
    }
}

/// A header has a budget for each node, if need be.
const LONGEST_HEADER: usize = 1 << 30;

/// What a file of proofs states; nothing, if it is no file of proofs.
///
/// # Errors
/// If the file cannot be read.
pub fn read_header(path: &Path) -> Result<Option<Header>, ProofError> {
    let (mut source, compressed) = open(path)?;
    let Some(text) = next_piece(&mut source, compressed, LONGEST_HEADER) else { return Ok(None) };
    let first = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
    Ok(match Line::read(first, usize::MAX) {
        Ok(Line::Header(header)) => Some(header),
        _ => None,
    })
}

fn open(path: &Path) -> Result<(BufReader<File>, bool), ProofError> {
    let file = File::open(path).map_err(|source| ProofError::Unreadable { file: name(path), source })?;
    Ok((BufReader::new(file), is_compressed(path)))
}

/// Writes the proofs of parts as one file about the whole graph. Returns how many nodes have a line.
///
/// # Errors
/// If they do not belong together, or a file cannot be read or written.
pub fn join_proofs(members: &[Member], to: &Path, mode: Mode) -> Result<usize, ProofError> {
    let header = joined_header(members)?;
    let mut file = ProofFile::open(to, &header, mode)?;
    for member in members {
        // The parts' own runs have shown every proof to the checker; who is given the joined file has the whole graph,
        // and checks it.
        each_line(member, |line| file.push(&Accepted::copied(line)))?;
    }
    file.finish(true)?;
    Ok(file.done().len())
}

fn foreign(member: &Member, problem: String) -> ProofError {
    ProofError::Unjoinable { file: name(&member.path), problem }
}

/// Hands on every line about a node, in the words of the whole graph.
fn each_line(member: &Member, mut each: impl FnMut(Line) -> Result<(), ProofError>) -> Result<(), ProofError> {
    let (mut source, compressed) = open(&member.path)?;
    let mut finished = false;
    let (mut first, mut number) = (true, 0);
    while let Some(text) = next_piece(&mut source, compressed, if first { LONGEST_HEADER } else { LONGEST_LINE }) {
        first = false;
        for line in text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            number += 1;
            let wrong = |problem: String| foreign(member, format!("line {number}: {problem}"));
            match Line::read(line, usize::MAX).map_err(|reason| wrong(reason.to_string()))? {
                Line::Header(_) => {}
                Line::End(_) => finished = true,
                Line::Bounds(_) => {
                    return Err(wrong(
                        "it was written out by `check --expand`: join the files as certify wrote them".into(),
                    ));
                }
                mut line => {
                    let id = match &line {
                        Line::Node(proof) => proof.id,
                        Line::Ranged(proof) => proof.id,
                        Line::Unproved(unproved) => unproved.id,
                        _ => continue,
                    };
                    if !member.part.owns(id as usize) {
                        return Err(wrong(format!("row {id} is none that {} answers for", member.part.words())));
                    }
                    translate(&mut line, &member.part)
                        .ok_or_else(|| wrong("it names a row that the part does not have".into()))?;
                    each(line)?;
                }
            }
        }
    }
    if !finished || source.fill_buf().is_ok_and(|rest| !rest.is_empty()) {
        return Err(foreign(
            member,
            "it has no last line: its run is not finished, and --resume goes on with it".into(),
        ));
    }
    Ok(())
}

/// What all of them state, of the whole graph.
fn joined_header(members: &[Member]) -> Result<Header, ProofError> {
    let [first, others @ ..] = members else {
        return Err(ProofError::Unjoinable { file: String::new(), problem: "there are no proofs to join".into() });
    };
    let rest = |header: &Header| Header {
        graph: String::new(),
        budget: BudgetStatement { local: Local::Uniform(0), ..header.budget.clone() },
        ..header.clone()
    };
    for other in others {
        if rest(&other.header) != rest(&first.header) || other.part.whole != first.part.whole {
            return Err(foreign(other, format!("it states something else than {}", name(&first.path))));
        }
    }
    let mut locals: Vec<Option<u64>> = vec![None; first.part.of];
    for member in members {
        for &row in &member.part.own {
            let local = match &member.header.budget.local {
                Local::Uniform(local) => Some(*local),
                Local::PerNode(locals) => locals.get(row as usize).copied(),
            };
            locals[member.part.node(row as usize) as usize] = local;
        }
    }
    let local = match known(&locals, members) {
        Some(local) => local,
        None => {
            return Err(foreign(first, "budgets differ from node to node, and a part is missing that has some".into()));
        }
    };
    let budget = BudgetStatement { local, ..first.header.budget.clone() };
    Ok(Header { graph: first.part.whole.clone(), budget, ..first.header.clone() })
}

/// The local budgets of the whole graph, one for all where they are the same.
fn known(locals: &[Option<u64>], members: &[Member]) -> Option<Local> {
    let uniform = members.iter().all(|member| matches!(member.header.budget.local, Local::Uniform(_)));
    let mut stated = locals.iter().flatten();
    let first = *stated.next()?;
    if stated.all(|&local| local == first) && (uniform || locals.iter().all(Option::is_some)) {
        return Some(Local::Uniform(first));
    }
    locals.iter().copied().collect::<Option<Vec<u64>>>().map(Local::PerNode)
}

/// Names nodes as the whole graph does; `None` if a row does not exist.
fn translate(line: &mut Line, part: &PartFile) -> Option<()> {
    let names = Names(&part.nodes);
    match line {
        Line::Node(proof) => {
            names.one(&mut proof.id)?;
            match &mut proof.claim {
                Claim::NonRobust(witness) => witness.flips.iter_mut().try_for_each(|flip| names.one(&mut flip.0)),
                Claim::Robust(trees) => {
                    trees.iter_mut().flat_map(|tree| &mut tree.tree).try_for_each(|step| names.step(step))
                }
            }
        }
        Line::Ranged(proof) => {
            names.one(&mut proof.id)?;
            match &mut proof.claim {
                RangeClaim::NonRobust(witness) => {
                    witness.entries.iter_mut().try_for_each(|entry| names.one(&mut entry.0))
                }
                RangeClaim::Robust(trees) => {
                    trees.iter_mut().flat_map(|tree| &mut tree.tree).try_for_each(|step| names.range_step(step))
                }
            }
        }
        Line::Unproved(unproved) => names.one(&mut unproved.id),
        _ => Some(()),
    }
}

/// A tree about a part of a graph, whose nodes these are in the whole; `None` if it names another.
pub(crate) fn renamed(mut tree: Vec<Step>, nodes: &[u32]) -> Option<Vec<Step>> {
    tree.iter_mut().try_for_each(|step| Names(nodes).step(step)).map(|()| tree)
}

struct Names<'a>(&'a [u32]);

impl Names<'_> {
    fn one(&self, row: &mut u32) -> Option<()> {
        *row = *self.0.get(*row as usize)?;
        Some(())
    }

    fn step(&self, step: &mut Step) -> Option<()> {
        match step {
            Step::Unit(_, node, _) | Step::Flip(node, _) | Step::Row(node, ..) => self.one(node),
            Step::Leaf(leaf) => self.leaf(leaf),
            Step::Hints(hints) => self.hints(hints),
        }
    }

    fn range_step(&self, step: &mut RangeStep) -> Option<()> {
        match step {
            RangeStep::Unit(_, node, _) | RangeStep::Entry(node, _) | RangeStep::Value(node, ..) => self.one(node),
            RangeStep::Lines(lines) => {
                let RangeLines { slopes, prices } = &mut **lines;
                slopes.iter_mut().chain(prices).try_for_each(|number| self.one(&mut number.1))
            }
        }
    }

    fn leaf(&self, leaf: &mut Leaf) -> Option<()> {
        let Leaf { exponent: _, dual: _, cap: _, nested: _, envelope, weight, slope, beta, bound: _ } = leaf;
        let lists: [&mut Vec<Multiplier>; 3] = [weight, slope, beta];
        lists.into_iter().flatten().try_for_each(|multiplier| self.one(&mut multiplier.1))?;
        let Some(envelope) = envelope else { return Some(()) };
        let Envelope { exponent: _, nodes, flips, units } = &mut **envelope;
        nodes.iter_mut().try_for_each(|node| self.one(node))?;
        flips.iter_mut().try_for_each(|flip| self.one(&mut flip.0))?;
        units.iter_mut().try_for_each(|unit| self.one(&mut unit.0))
    }

    fn prices(&self, prices: &mut Prices) -> Option<()> {
        prices.1.iter_mut().try_for_each(|price| self.one(&mut price.0))
    }

    fn hints(&self, hints: &mut Hints) -> Option<()> {
        let Hints { slopes, lines, reach, levels, envelopes, supports, nested, price, grid: _ } = hints;
        slopes.iter_mut().try_for_each(|slope| self.one(&mut slope.1))?;
        lines.iter_mut().try_for_each(|line| self.one(&mut line.0))?;
        for (node, _, up, down) in reach {
            self.one(node)?;
            self.prices(up)?;
            self.prices(down)?;
        }
        for (node, _, _, _, prices) in levels.iter_mut().chain(supports).chain(nested) {
            self.one(node)?;
            self.prices(prices)?;
        }
        for (node, _, _, _, nodes, flips) in envelopes {
            self.one(node)?;
            nodes.iter_mut().try_for_each(|price| self.one(&mut price.0))?;
            flips.iter_mut().try_for_each(|price| self.one(&mut price.0))?;
        }
        self.prices(price)
    }
}
