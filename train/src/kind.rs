//! The kinds of layers that are trained, as PyTorch Geometric has them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What the layers of a network are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LayerKind {
    /// `GCNConv`: one term, by default with the operator of GCNs.
    #[default]
    Gcn,
    /// `SAGEConv`: the mean over the neighbours and the node itself, each with weights of its own.
    Sage,
    /// `SAGEConv` with the sum over the neighbours.
    SageSum,
    /// `GINConv`: the sum over the neighbours and the node itself, and a network of two layers behind it.
    Gin,
}

impl LayerKind {
    /// All of them.
    pub const ALL: [LayerKind; 4] = [LayerKind::Gcn, LayerKind::Sage, LayerKind::SageSum, LayerKind::Gin];

    /// As it is written on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            LayerKind::Gcn => "gcn",
            LayerKind::Sage => "sage",
            LayerKind::SageSum => "sage-sum",
            LayerKind::Gin => "gin",
        }
    }

    /// Is it GCN, whose files say nothing of it?
    pub fn is_gcn(&self) -> bool {
        *self == LayerKind::Gcn
    }
}

impl fmt::Display for LayerKind {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for LayerKind {
    type Err = String;
    fn from_str(text: &str) -> Result<LayerKind, String> {
        let found = LayerKind::ALL.into_iter().find(|kind| kind.name() == text);
        found.ok_or_else(|| format!("'{text}' is none of gcn, sage, sage-sum, gin"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for kind in LayerKind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        assert!("gat".parse::<LayerKind>().is_err());
    }
}
