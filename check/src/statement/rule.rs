//! Rules of message passing as texts: which of them are the same, and how far they reach.

use crate::number::{Stored, decimal};

/// The rules of one word.
const WORDS: [&str; 7] = ["gcn", "gcn-self", "mean", "mean+self", "sum", "sum+self", "identity"];

/// The rules of readouts, which only a model names: their rows are graphs.
const READOUTS: [&str; 2] = ["pool-sum", "pool-mean"];

/// Is this a readout?
pub(crate) fn is_readout(rule: &str) -> bool {
    READOUTS.contains(&rule)
}

/// A rule, read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Rule<'r> {
    /// One word, or a matrix by its digest.
    Plain(&'r str),
    /// Coefficients of the powers of another rule, none of them trailing zeros.
    Polynomial(&'r str, Vec<Stored>),
}

impl<'r> Rule<'r> {
    /// None where the text is no rule.
    pub(crate) fn read(text: &'r str) -> Option<Rule<'r>> {
        let plain = |text: &str| WORDS.contains(&text) || text.starts_with("matrix:");
        let Some(inner) = text.strip_prefix("poly(").and_then(|rest| rest.strip_suffix(')')) else {
            return (plain(text) || is_readout(text)).then_some(Rule::Plain(text));
        };
        let (base, list) = inner.rsplit_once(';').filter(|(base, _)| plain(base))?;
        let mut coefficients = list.split(',').map(decimal).collect::<Option<Vec<Stored>>>()?;
        while coefficients.pop_if(|last| last.is_zero()).is_some() {}
        Some(Rule::Polynomial(base, coefficients))
    }

    /// Is the operator a matrix from a file, or a polynomial of one?
    pub(crate) fn has_matrix(&self) -> bool {
        let (Rule::Plain(name) | Rule::Polynomial(name, _)) = self;
        name.starts_with("matrix:")
    }

    /// Steps along edges that it takes at once.
    pub(crate) fn hops(&self) -> usize {
        match self {
            Rule::Plain(name) => usize::from(*name != "identity"),
            Rule::Polynomial(name, coefficients) => {
                usize::from(*name != "identity") * coefficients.len().saturating_sub(1)
            }
        }
    }
}

/// Are these the same rules, those of terms with ` & ` between? Coefficients are compared as the numbers that they are,
/// however they are written.
pub(crate) fn same_rules(one: &str, other: &str) -> bool {
    let (mut ours, mut theirs) = (one.split(" & "), other.split(" & "));
    loop {
        match (ours.next(), theirs.next()) {
            (None, None) => return true,
            (Some(a), Some(b)) if a == b => {}
            (Some(a), Some(b)) if Rule::read(a).is_some_and(|rule| Some(rule) == Rule::read(b)) => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_are_numbers() {
        for (one, other, same) in [
            ("poly(gcn;1.0,0.5)", "poly(gcn;1,.50)", true),
            ("poly(gcn;1e22)", "poly(gcn;10000000000000000000000)", true),
            ("poly(gcn;+1,-0,1e-1,0)", "poly(gcn;1,0,0.1)", true),
            ("poly(gcn;0.1)", "poly(gcn;0.10000000000000000555)", true),
            ("poly(gcn;0,0)", "poly(gcn;0)", true),
            ("gcn & poly(sum;1.0)", "gcn & poly(sum;1)", true),
            ("poly(gcn;0.1)", "poly(gcn;0.10000000000000002)", false),
            ("poly(gcn;0,1)", "poly(gcn;1)", false),
            ("poly(gcn;1)", "poly(gcn-self;1)", false),
            ("poly(gcn;1)", "poly(gcn;-1)", false),
            ("poly(gcn;1)", "gcn", false),
            ("gcn & gcn", "gcn", false),
            ("gcn", "gcn & gcn", false),
            ("gcn", "gcn-self", false),
            // What is no number is no rule, and the same only as a text.
            ("poly(gcn;nan)", "poly(gcn;nan)", true),
            ("poly(gcn;nan)", "poly(gcn;NaN)", false),
            ("poly(gcn;1,)", "poly(gcn;1,0)", false),
            ("poly(poly(gcn;1);1.0)", "poly(poly(gcn;1);1)", false),
        ] {
            assert_eq!(same_rules(one, other), same, "{one} {other}");
            assert_eq!(same_rules(other, one), same, "{one} {other}");
        }
    }

    #[test]
    fn powers_reach_as_far_as_their_last_coefficient() {
        for (rule, hops) in [
            ("identity", 0),
            ("gcn", 1),
            ("poly(gcn;1,0,2,0)", 2),
            ("poly(identity;0,0,1)", 0),
            ("poly(sum;0)", 0),
            ("poly(sum;1)", 0),
        ] {
            assert_eq!(Rule::read(rule).unwrap().hops(), hops, "{rule}");
        }
        assert!(Rule::read("poly(matrix:ab;1)").unwrap().has_matrix() && !Rule::read("gcn").unwrap().has_matrix());
    }
}
