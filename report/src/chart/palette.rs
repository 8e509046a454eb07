//! Colours: the Okabe–Ito palette, which people with any kind of colour vision can tell apart.

/// A colour of a picture. Its name is also the class of the elements painted with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// Robust, and the first series.
    Blue,
    /// Non-robust.
    Vermillion,
    /// Bluish green.
    Green,
    /// Orange: what is still undecided.
    Orange,
    /// Sky blue.
    Sky,
    /// Reddish purple: the paper's bound.
    Purple,
    /// Yellow: areas only, too light for lines.
    Yellow,
    /// Brown: the path bound.
    Brown,
    /// The colour of text: black on white, white on black.
    Text,
    /// Between text and paper: published curves, notes.
    Grey,
}

impl Ink {
    /// The colour of the `n`-th series of a picture with many. Vermillion comes last: elsewhere it means non-robust.
    pub fn series(n: usize) -> Ink {
        const ORDER: [Ink; 6] = [Ink::Blue, Ink::Green, Ink::Purple, Ink::Orange, Ink::Sky, Ink::Vermillion];
        ORDER[n % ORDER.len()]
    }

    /// The colour on white paper.
    pub fn hex(self) -> &'static str {
        match self {
            Ink::Blue => "#0072B2",
            Ink::Vermillion => "#D55E00",
            Ink::Green => "#009E73",
            Ink::Orange => "#E69F00",
            Ink::Sky => "#56B4E9",
            Ink::Purple => "#CC79A7",
            Ink::Yellow => "#F0E442",
            Ink::Brown => "#8C6D31",
            Ink::Text => "#222222",
            Ink::Grey => "#666666",
        }
    }

    /// The class.
    pub fn name(self) -> &'static str {
        match self {
            Ink::Blue => "blue",
            Ink::Vermillion => "vermillion",
            Ink::Green => "green",
            Ink::Orange => "orange",
            Ink::Sky => "sky",
            Ink::Purple => "purple",
            Ink::Yellow => "yellow",
            Ink::Brown => "brown",
            Ink::Text => "text",
            Ink::Grey => "grey",
        }
    }

    /// As the attributes of a filled shape.
    pub fn fill(self) -> String {
        format!("class=\"f-{}\" fill=\"{}\"", self.name(), self.hex())
    }

    /// As the attributes of a stroke.
    pub fn stroke(self) -> String {
        format!("class=\"s-{}\" fill=\"none\" stroke=\"{}\"", self.name(), self.hex())
    }
}
