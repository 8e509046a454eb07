//! The verified checker as a running program: one line is a question, one line is the answer.

use std::collections::HashSet;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::text;
use super::text::ReachPrices;
use crate::checker::Checker;
use crate::collective::{CollectiveClaim, CollectiveStatement, Share};
use crate::format::{BoundsLine, Claim, ClassProof, NodeProof, Step};
use crate::verdict::Verdict;

/// The name of the program.
const NAME: &str = "gcnproof-verified";

/// The program: what `GCNPROOF_VERIFIED` names, or one beside this program or where `make verified` puts it, or one on
/// the search path.
///
/// # Errors
/// If there is none, with the remedy.
pub fn find_program() -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os("GCNPROOF_VERIFIED") {
        let path = PathBuf::from(named);
        let missing = || format!("GCNPROOF_VERIFIED names {}, which is not there", path.display());
        return if path.is_file() { Ok(path) } else { Err(missing()) };
    }
    let own = std::env::current_exe().unwrap_or_default();
    // Programs are in target/release, tests in target/release/deps.
    let above = own.ancestors().skip(1).take(3);
    let mut folders: Vec<PathBuf> = above.flat_map(|folder| [folder.to_path_buf(), folder.join("verified")]).collect();
    folders.extend(std::env::var_os("PATH").iter().flat_map(std::env::split_paths));
    let found = folders.into_iter().map(|folder| folder.join(NAME)).find(|path| path.is_file());
    found.ok_or_else(|| format!("{NAME} is not installed: `make verified` builds it, GCNPROOF_VERIFIED=FILE names it"))
}

/// The program, told about one statement.
pub struct Judge {
    child: Child,
    to: BufWriter<ChildStdin>,
    from: BufReader<ChildStdout>,
    known: HashSet<(u32, u32)>,
    /// Of leaves that are expanded. Where rows are divided, only stated ones are sure to be as good.
    of_expanded: ReachPrices,
}

impl Judge {
    /// Starts the program and tells it what a checker's proofs are about.
    ///
    /// # Errors
    /// If it cannot be run, or does not understand the statement.
    pub fn start(program: &Path, checker: &Checker) -> Result<Judge, String> {
        Judge::told(program, checker, None)
    }

    /// The same where all lines of a file are about one attack; the checker is that of its lines about single nodes.
    ///
    /// # Errors
    /// If it cannot be run, or does not understand the statement.
    pub(super) fn of_one_attack(
        program: &Path,
        checker: &Checker,
        attack: &CollectiveStatement,
    ) -> Result<Judge, String> {
        Judge::told(program, checker, Some(attack))
    }

    fn told(program: &Path, checker: &Checker, attack: Option<&CollectiveStatement>) -> Result<Judge, String> {
        if checker.statement().deployed.is_some() {
            let why = "the verified checker knows the network in exact arithmetic";
            return Err(format!(
                "{why}, and these proofs are about the network as it runs: check them without --verified"
            ));
        }
        let failed = |error: io::Error| format!("{} cannot be run: {error}", program.display());
        let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(format!("{} has no input or output", program.display()));
        };
        let (to, from) = (BufWriter::with_capacity(1 << 16, input), BufReader::new(output));
        let divided = checker.statement().network.is_normalised();
        let of_expanded = if divided { ReachPrices::Stated } else { ReachPrices::Best };
        let mut judge = Judge { child, to, from, known: HashSet::new(), of_expanded };
        let told = text::statement(checker.statement(), attack, &mut judge.to).and_then(|()| judge.to.flush());
        let answer = told.map_err(|error| judge.gone(&error)).and_then(|()| judge.answer())?;
        if answer == "ready" { Ok(judge) } else { Err(format!("{NAME} answers '{answer}' to a statement")) }
    }

    /// Are these bounds accepted? Each pair of layer and node counts once.
    ///
    /// # Errors
    /// If the program does not answer.
    pub fn bounds(&mut self, line: &BoundsLine) -> Result<bool, String> {
        self.bounds_at(line, ReachPrices::Stated)
    }

    fn bounds_at(&mut self, line: &BoundsLine, prices: ReachPrices) -> Result<bool, String> {
        self.known.insert((line.layer, line.node));
        self.question(&text::bounds(line, prices)).map(|answer| answer == "bounds")
    }

    /// The verdict on a proof, `None` if it is rejected; and how many lines of bounds it needed. Short leaves are
    /// expanded first: into the hints that the other checker accepts, or, where it accepts none, into any.
    ///
    /// # Errors
    /// If the program does not answer, or bounds are not accepted.
    pub fn ask(&mut self, checker: &Checker, proof: &NodeProof) -> Result<(Option<Verdict>, usize), String> {
        let Ok(expanded) = checker.expand(proof).or_else(|_| checker.expand_unjudged(proof)) else {
            return Ok((None, 0));
        };
        let prices = |class: u32, at: usize| match &proof.claim {
            Claim::Robust(trees) if trees.iter().any(|one| one.class == class && is_short(one, at)) => self.of_expanded,
            _ => ReachPrices::Stated,
        };
        let Some(line) = text::node(&expanded, prices) else { return Ok((None, 0)) };
        let bounds = match proof.claim {
            Claim::Robust(_) => self.expanded_bounds(checker, proof.id)?,
            Claim::NonRobust(_) => 0,
        };
        let verdict = match self.question(&line)?.as_str() {
            "robust" => Some(Verdict::Robust),
            "non-robust" => Some(Verdict::NonRobust),
            "tie" => Some(Verdict::Tie),
            rejected if rejected.starts_with("rejected") => None,
            other => return Err(format!("{NAME} answers '{other}' to a proof")),
        };
        Ok((verdict, bounds))
    }

    /// Is a share line accepted? And how many lines of bounds did it need?
    ///
    /// # Errors
    /// If the program does not answer, or bounds are not accepted.
    pub(super) fn share(&mut self, checker: &Checker, share: &Share) -> Result<(bool, usize), String> {
        let classes = checker.statement().network.classes();
        if share.class as usize >= classes || share.require_leaves(classes).is_err() {
            return Ok((false, 0));
        }
        let Ok(written) = checker.session(share.id, |session| session.written_share(share)) else {
            return Ok((false, 0));
        };
        let bounds = self.expanded_bounds(checker, share.id)?;
        Ok((self.question(&text::share(share, &written))? == "share", bounds))
    }

    /// Is the claim accepted, after these lines?
    ///
    /// # Errors
    /// If the program does not answer.
    pub(super) fn claim(&mut self, claim: &CollectiveClaim) -> Result<bool, String> {
        self.question(&text::claim(claim)).map(|answer| answer == "holds")
    }

    /// The lines of bounds that short leaves of a node rest on, unless they are known; says how many.
    fn expanded_bounds(&mut self, checker: &Checker, node: u32) -> Result<usize, String> {
        let mut bounds = 0;
        for line in checker.expanded_bounds(node) {
            if self.known.contains(&(line.layer, line.node)) {
                continue;
            }
            bounds += 1;
            if !self.bounds_at(&line, self.of_expanded)? {
                return Err(format!("{NAME} rejects the bounds of layer {}, node {}", line.layer, line.node));
            }
        }
        Ok(bounds)
    }

    fn question(&mut self, line: &str) -> Result<String, String> {
        let sent = writeln!(self.to, "{line}").and_then(|()| self.to.flush());
        sent.map_err(|error| self.gone(&error)).and_then(|()| self.answer())
    }

    fn answer(&mut self) -> Result<String, String> {
        let mut line = String::new();
        match self.from.read_line(&mut line) {
            Ok(read) if read > 0 => Ok(line.trim_end().into()),
            Ok(_) => Err(self.gone(&io::Error::from(io::ErrorKind::UnexpectedEof))),
            Err(error) => Err(self.gone(&error)),
        }
    }

    fn gone(&mut self, error: &io::Error) -> String {
        let status = self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        format!("{NAME} has ended ({status}; {error})")
    }
}

/// Is this step of a tree a leaf that is to be expanded?
fn is_short(of: &ClassProof, at: usize) -> bool {
    matches!(of.tree.get(at), Some(Step::Leaf(_)))
}

impl Drop for Judge {
    fn drop(&mut self) {
        // It may be in the middle of something.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
