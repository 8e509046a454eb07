//! Rows of nodes and rows of graphs: in a network with a readout every unit has one of both, and nothing adds them up.
//!
//! A readout is an operator whose row `g` is graph `g`; the rows behind the last graph are empty. So layers on graphs
//! are layers like others, whose row `g` belongs to graph `g` and not to node `g`. That is sound only if no value of a
//! node is taken for one of a graph.

use crate::{LayerFile, ModelFile};

/// The rules of readouts.
const READOUTS: [&str; 2] = ["pool-sum", "pool-mean"];

/// What the rows of a unit are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rows {
    /// The unit reads nothing.
    Any,
    Nodes,
    Graphs,
}

impl LayerFile {
    /// Does one of its terms pool the nodes of each graph?
    #[must_use]
    pub fn pools(&self) -> bool {
        self.operators.iter().any(|rule| READOUTS.contains(&rule.as_str()))
    }
}

impl ModelFile {
    /// Refuses a network with a readout whose units add values of nodes and of graphs, or pass those of graphs along
    /// edges. Files are refused when they are read.
    ///
    /// # Errors
    /// In words.
    pub fn check_levels(&self) -> Result<(), String> {
        check(&self.layers)
    }
}

/// Refuses a chain in which a unit adds values of nodes and of graphs, or passes those of graphs along edges, or whose
/// logits are not those of graphs although it has a readout.
///
/// # Errors
/// In words.
pub(crate) fn check(layers: &[LayerFile]) -> Result<(), String> {
    if !layers.iter().any(LayerFile::pools) {
        return Ok(());
    }
    let mut below: Option<Vec<Rows>> = None;
    for (at, layer) in layers.iter().enumerate() {
        let wrong = |problem: String| Err(format!("layer {}: {problem}", at + 1));
        let (terms, outputs) = (layer.operators.len().max(1), layer.weight.columns);
        let inputs = layer.weight.rows / terms;
        let mut rows = vec![Rows::Any; outputs];
        for (term, rule) in layer.operators.iter().enumerate() {
            for input in 0..inputs {
                let read = below.as_ref().map_or(Rows::Nodes, |below| below[input]);
                let weights = &layer.weight.values[(term * inputs + input) * outputs..][..outputs];
                for (unit, _) in weights.iter().enumerate().filter(|weight| *weight.1 != 0.0) {
                    let given = match (rule.as_str(), read) {
                        ("identity", read) => read,
                        (rule, Rows::Graphs) if READOUTS.contains(&rule) => {
                            return wrong(format!("{rule} reads graphs that are pooled already"));
                        }
                        (rule, _) if READOUTS.contains(&rule) => Rows::Graphs,
                        (rule, Rows::Graphs) => {
                            return wrong(format!("{rule} reads graphs: behind a readout only `identity` is possible"));
                        }
                        _ => Rows::Nodes,
                    };
                    match (rows[unit], given) {
                        (Rows::Nodes, Rows::Graphs) | (Rows::Graphs, Rows::Nodes) => {
                            return wrong("it adds values of nodes to values of graphs: pool the nodes first".into());
                        }
                        (Rows::Any, given) => rows[unit] = given,
                        _ => {}
                    }
                }
            }
        }
        below = Some(rows);
    }
    match below.is_some_and(|logits| logits.contains(&Rows::Nodes)) {
        true => Err("it has a readout, but its logits are those of nodes".into()),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DenseMatrix;

    /// A layer of two inputs and two units, whose terms have these operators and weights.
    fn layer(terms: &[(&str, [f64; 4])]) -> LayerFile {
        let values = terms.iter().flat_map(|term| term.1).collect();
        let weight = DenseMatrix { rows: 2 * terms.len(), columns: 2, values };
        let operators = terms.iter().map(|term| term.0.to_owned()).collect();
        LayerFile { weight, bias: vec![0.0; 2], operators, ..LayerFile::default() }
    }

    #[test]
    fn values_of_nodes_and_of_graphs_are_not_mixed() {
        const ALL: [f64; 4] = [1.0; 4];
        let fits = |layers: &[LayerFile]| check(layers);
        let (nodes, pooled, head) = (layer(&[("sum", ALL)]), layer(&[("pool-sum", ALL)]), layer(&[("identity", ALL)]));
        assert!(fits(std::slice::from_ref(&nodes)).is_ok());
        assert!(fits(&[nodes.clone(), pooled.clone(), head.clone()]).is_ok());
        // One unit is pooled and carried while the other stays with the nodes, and is pooled then.
        let half = layer(&[("pool-mean", [1.0, 0.0, 0.0, 0.0]), ("identity", [0.0, 0.0, 0.0, 1.0])]);
        let rest = layer(&[("identity", [1.0, 0.0, 0.0, 0.0]), ("pool-sum", [0.0, 0.0, 0.0, 1.0])]);
        assert!(fits(&[half.clone(), rest.clone(), head.clone()]).is_ok());
        for (wrong, word) in [
            (vec![pooled.clone(), nodes.clone()], "only `identity`"),
            (vec![pooled.clone(), pooled.clone()], "pooled already"),
            (vec![half.clone(), head.clone()], "pool the nodes first"),
            (vec![half.clone(), pooled.clone()], "pooled already"),
            (vec![half], "those of nodes"),
            (vec![layer(&[("pool-sum", ALL), ("identity", ALL)])], "pool the nodes first"),
        ] {
            let problem = fits(&wrong).unwrap_err();
            assert!(problem.contains(word), "{word}: {problem}");
        }
    }
}
