//! The published results of robust training, for comparison with ours.

use serde::Deserialize;

use super::losses::Loss;

/// One cell of the published table: means of five splits, `Q = 12`, `q = 1 %`, one hidden layer of 32.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Published {
    /// Largest certified `Q`, averaged over all nodes.
    pub mean_largest_global: f64,
    /// Share of nodes certified at `Q = 12`.
    pub certified: f64,
    /// Accuracy on labelled nodes.
    pub accuracy_labelled: f64,
    /// Accuracy on unlabelled nodes.
    pub accuracy_unlabelled: f64,
}

#[derive(Deserialize)]
struct Row {
    graph: String,
    loss: Loss,
    #[serde(flatten)]
    figures: Published,
}

#[derive(Deserialize)]
struct Table {
    rows: Vec<Row>,
}

/// What was published for a graph and a loss.
///
/// # Panics
/// Never: the figures are part of the program, and a test reads them.
pub fn published(graph: &str, loss: Loss) -> Option<Published> {
    let table: Table = serde_json::from_str(include_str!("../data/table1.json")).expect("the figures read");
    table.rows.into_iter().find(|row| row.graph == graph && row.loss == loss).map(|row| row.figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_is_there() {
        for graph in ["citeseer", "cora_ml", "pubmed"] {
            for loss in Loss::ALL {
                let figures = published(graph, loss).unwrap();
                assert!(figures.certified > 0.1 && figures.certified < 1.0, "{graph} {loss}");
            }
        }
        assert_eq!(published("cora", Loss::Ce), None);
        assert_eq!(published("citeseer", Loss::RhU).unwrap().mean_largest_global, 18.48);
    }
}
