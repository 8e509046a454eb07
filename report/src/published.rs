//! The paper's published curves, drawn beside ours where graph and budget are the same.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::group::Group;
use super::landscape::Landscape;

/// The curves of one graph.
#[derive(Clone, Debug, Deserialize)]
pub struct Published {
    /// The graph's name.
    pub name: String,
    nodes: usize,
    attributes: usize,
    classes: u32,
    local: u64,
    /// Average largest certified `Q`, by training method.
    pub average_radius: BTreeMap<String, f64>,
    /// Certified robust, percent of nodes by `Q`, by training method.
    pub certified: BTreeMap<String, Vec<(f64, f64)>>,
    /// Not certified non-robust, percent of nodes by `Q`, by training method.
    pub not_attacked: BTreeMap<String, Vec<(f64, f64)>>,
}

#[derive(Deserialize)]
struct File {
    graphs: Vec<Published>,
}

/// The curves for the graph and budget of a group, if there are any.
pub fn find(landscape: Option<&Landscape>, group: &Group) -> Option<Published> {
    let graph = landscape?.graph();
    let classes = graph.labels()?.iter().flatten().max()? + 1;
    let file: File = serde_json::from_str(include_str!("../data/published_curves.json")).ok()?;
    file.graphs.into_iter().find(|published| {
        (published.nodes, published.attributes, published.classes)
            == (graph.node_count(), graph.attribute_count(), classes)
            && group.local == Some(published.local)
    })
}

/// Which of the published training methods a model's name speaks of; standard training, if of none.
pub fn training_of(name: &str) -> &'static str {
    let name = name.to_lowercase().replace(['-', '.', ' '], "_");
    let has = |word: &str| name.split('_').any(|part| part == word);
    if name.contains("rh_u") || has("rhu") || has("robust") {
        "RH-U"
    } else if has("rce") {
        "RCE"
    } else if has("rh") {
        "RH"
    } else {
        "CE"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_reads_and_falls() {
        let file: File = serde_json::from_str(include_str!("../data/published_curves.json")).unwrap();
        let curves = &file.graphs[0].certified;
        assert_eq!(curves.len(), 4);
        for (method, curve) in curves {
            assert!(curve.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 >= w[1].1), "{method}");
        }
        // Every node has a largest certified Q: their mean is the area under the curve.
        let area: f64 = curves["CE"].iter().filter(|p| p.0 >= 1.0).map(|p| p.1 / 100.0).sum();
        assert!((area - file.graphs[0].average_radius["CE"]).abs() < 0.05, "{area}");
    }

    #[test]
    fn names_speak_of_training() {
        let expected =
            [("cora_ml_ce", "CE"), ("cora_ml_robust", "RH-U"), ("x-RH-U", "RH-U"), ("rh", "RH"), ("gcn_RCE.2", "RCE")];
        for (name, method) in expected {
            assert_eq!(training_of(name), method, "{name}");
        }
    }
}
