//! Which lines may follow each other (`FORMAT-COLLECTIVE.md` §2).

use super::line::{CollectiveClaim, CollectiveLine, MOST_SHARES, Share};
use crate::format::{BoundsLine, NodeProof};
use crate::verdict::Reason;

/// What came before a line.
pub(crate) struct Order {
    /// By node: did an earlier line speak of it?
    seen: Vec<bool>,
    /// Lines with shares, wrong ones among them.
    shares: usize,
    /// Lines between header and claim, wrong ones among them.
    pub(crate) lines: u64,
    ended: bool,
}

/// A line after the header, in its place.
pub(crate) enum Placed {
    Node(NodeProof),
    Share(Share),
    Bounds(BoundsLine),
    Claim(CollectiveClaim),
    /// It cannot be read or may not stand there; with its node, if it has one.
    Wrong(Option<u32>, Reason),
}

impl Order {
    /// Of a file about a graph with so many nodes.
    pub(crate) fn new(nodes: usize) -> Order {
        Order { seen: vec![false; nodes], shares: 0, lines: 0, ended: false }
    }

    /// Takes the next line.
    ///
    /// # Errors
    /// If nothing follows from the file because of it.
    pub(crate) fn place(&mut self, line: Result<CollectiveLine, Reason>) -> Result<Placed, Reason> {
        if self.ended {
            return Err(Reason::Order("a line follows the claim".into()));
        }
        if let Ok(CollectiveLine::Claim(claim)) = line {
            let (stated, found) = (claim.lines, self.lines);
            if stated != found {
                let problem = format!("the claim counts {stated} lines, but {found} came before");
                return Err(Reason::Order(problem));
            }
            self.ended = true;
            return Ok(Placed::Claim(claim));
        }
        self.lines += 1;
        Ok(self.before_claim(line))
    }

    fn before_claim(&mut self, line: Result<CollectiveLine, Reason>) -> Placed {
        match line {
            Ok(CollectiveLine::Node(proof)) => match self.first_of(proof.id) {
                Ok(()) => Placed::Node(proof),
                Err(reason) => Placed::Wrong(Some(proof.id), reason),
            },
            Ok(CollectiveLine::Share(share)) => {
                self.shares += 1;
                let too_many = || Reason::TooLarge(format!("more than {MOST_SHARES} lines with shares"));
                let fine = self.first_of(share.id);
                match fine.and_then(|()| if self.shares > MOST_SHARES { Err(too_many()) } else { Ok(()) }) {
                    Ok(()) => Placed::Share(share),
                    Err(reason) => Placed::Wrong(Some(share.id), reason),
                }
            }
            Ok(CollectiveLine::Bounds(_)) if self.shares > 0 => {
                Placed::Wrong(None, Reason::Order("bounds stand before the first share".into()))
            }
            Ok(CollectiveLine::Bounds(line)) => Placed::Bounds(line),
            Ok(CollectiveLine::Collective(_)) => Placed::Wrong(None, Reason::Order("a second header".into())),
            Ok(CollectiveLine::Claim(claim)) => Placed::Claim(claim),
            Err(reason) => Placed::Wrong(None, reason),
        }
    }

    /// After the last line.
    ///
    /// # Errors
    /// If there was no claim.
    pub(crate) fn end(&self) -> Result<(), Reason> {
        if self.ended { Ok(()) } else { Err(Reason::Order("the file ends before its claim".into())) }
    }

    /// Refuses a node that does not exist, or that an earlier line speaks of.
    fn first_of(&mut self, node: u32) -> Result<(), Reason> {
        let seen = self.seen.get_mut(node as usize).ok_or(Reason::Node)?;
        if std::mem::replace(seen, true) { Err(Reason::Repeated) } else { Ok(()) }
    }
}
