//! What a file of proofs needs to know of its lines, whatever the attack that they are about.

use std::fmt::Debug;
use std::io;

use gcnproof_check::edges::format as edges;
use gcnproof_check::format::{Header, Line, Unproved};

/// A line by its part in the file.
pub enum Part<'a, H> {
    /// The first one.
    Header(&'a H),
    /// A node with its proof.
    Node(u32),
    /// A node without.
    Unproved(&'a Unproved),
    /// The last one.
    End,
    /// None that we write.
    Other,
}

/// The header of a file of proofs, and with it the kind of its lines.
pub trait FileHeader: Clone + Debug + PartialEq {
    /// A line of such a file.
    type Line;

    /// The first line.
    fn line(self) -> Self::Line;

    /// The line of a node without proof.
    fn unproved(unproved: Unproved) -> Self::Line;

    /// The last line, after so many nodes.
    fn end(nodes: u64) -> Self::Line;

    /// A line by its part.
    fn part(line: &Self::Line) -> Part<'_, Self>;

    /// Reads a line without its line feed; nothing if it is none.
    fn read(bytes: &[u8]) -> Option<Self::Line>;

    /// Writes a line and a line feed.
    ///
    /// # Errors
    /// Only those of memory, which do not occur.
    fn write(line: &Self::Line, to: &mut Vec<u8>) -> io::Result<()>;
}

impl FileHeader for Header {
    type Line = Line;

    fn line(self) -> Line {
        Line::Header(self)
    }

    fn unproved(unproved: Unproved) -> Line {
        Line::Unproved(unproved)
    }

    fn end(nodes: u64) -> Line {
        Line::End(nodes)
    }

    fn part(line: &Line) -> Part<'_, Header> {
        match line {
            Line::Header(header) => Part::Header(header),
            Line::Node(proof) => Part::Node(proof.id),
            Line::Ranged(proof) => Part::Node(proof.id),
            Line::Unproved(unproved) => Part::Unproved(unproved),
            Line::End(_) => Part::End,
            Line::Bounds(_) => Part::Other,
        }
    }

    fn read(bytes: &[u8]) -> Option<Line> {
        Line::read(bytes, usize::MAX).ok()
    }

    fn write(line: &Line, to: &mut Vec<u8>) -> io::Result<()> {
        line.write(to)
    }
}

impl FileHeader for edges::Header {
    type Line = edges::Line;

    fn line(self) -> edges::Line {
        edges::Line::Header(self)
    }

    fn unproved(unproved: Unproved) -> edges::Line {
        edges::Line::Unproved(unproved)
    }

    fn end(nodes: u64) -> edges::Line {
        edges::Line::End(nodes)
    }

    fn part(line: &edges::Line) -> Part<'_, edges::Header> {
        match line {
            edges::Line::Header(header) => Part::Header(header),
            edges::Line::Node(proof) => Part::Node(proof.id),
            edges::Line::Unproved(unproved) => Part::Unproved(unproved),
            edges::Line::End(_) => Part::End,
        }
    }

    fn read(bytes: &[u8]) -> Option<edges::Line> {
        edges::Line::read(bytes, usize::MAX).ok()
    }

    fn write(line: &edges::Line, to: &mut Vec<u8>) -> io::Result<()> {
        line.write(to)
    }
}
