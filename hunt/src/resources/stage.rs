//! Graphs and models on which small files can be expensive: large stars, complete graphs, deep and wide networks, many
//! attributes.

use std::io;
use std::path::{Path, PathBuf};

use gcnproof_files::write::{graph_npz, model_safetensors};
use gcnproof_files::{DenseMatrix, GraphFile, LayerFile, Precision, parse_graph, parse_model};

use crate::case::{bare, pattern};
use crate::random::Random;

/// A graph and a model as files.
#[derive(Clone, Debug)]
pub struct Stage {
    /// What it is.
    pub name: &'static str,
    /// Its files.
    pub graph: PathBuf,
    pub model: PathBuf,
    /// Their digests.
    pub digests: (String, String),
    /// Nodes, attributes, hidden units of each layer, classes.
    pub nodes: usize,
    pub attributes: usize,
    /// Units of each layer, the last being classes.
    pub widths: Vec<usize>,
}

/// Writes all stages into a folder.
///
/// # Errors
/// If they cannot be written.
pub fn write_all(folder: &Path) -> io::Result<Vec<Stage>> {
    std::fs::create_dir_all(folder)?;
    let star = |n: usize| -> Vec<Vec<u32>> {
        std::iter::once((1..n as u32).collect()).chain((1..n).map(|_| vec![0])).collect()
    };
    let complete = |n: u32| -> Vec<Vec<u32>> { (0..n).map(|i| (0..n).filter(|&j| j != i).collect()).collect() };
    let ring = |n: u32| -> Vec<Vec<u32>> {
        (0..n)
            .map(|i| {
                let mut row = vec![(i + n - 1) % n, (i + 1) % n];
                row.sort_unstable();
                row
            })
            .collect()
    };
    // Two hubs that share all leaves: everything is two steps from everything.
    let hubs =
        |n: u32| -> Vec<Vec<u32>> { (0..n).map(|i| if i < 2 { (2..n).collect() } else { vec![0, 1] }).collect() };
    let all = [
        ("a star of 30,001 nodes", star(30_001), 3, vec![4, 2]),
        ("a star of 100 nodes and 4 layers", star(100), 50, vec![8, 8, 8, 3]),
        ("two hubs with 2,000 leaves", hubs(2_002), 20, vec![16, 4]),
        ("a complete graph of 150 nodes", complete(150), 100, vec![16, 4]),
        ("a ring of 20,000 nodes", ring(20_000), 10, vec![4, 2]),
        ("a star of 100 nodes with 700 attributes", star(100), 700, vec![16, 7]),
        ("a ring of 300 nodes with 3,000 attributes and 3 layers", ring(300), 3_000, vec![32, 32, 6]),
    ];
    let mut stages = Vec::new();
    for (number, (name, rows, attributes, widths)) in all.into_iter().enumerate() {
        let mut random = Random::new(7, number as u64);
        let nodes = rows.len();
        let present: Vec<Vec<u32>> =
            (0..nodes).map(|_| (0..attributes as u32).filter(|_| random.percent(20)).collect()).collect();
        let graph = GraphFile { adjacency: pattern(nodes, &rows), attributes: pattern(attributes, &present), ..bare() };
        let mut inputs = attributes;
        let mut layers = Vec::new();
        for &outputs in &widths {
            let values = (0..inputs * outputs).map(|_| f64::from((random.unit() * 2.0 - 1.0) as f32)).collect();
            layers.push(LayerFile {
                weight: DenseMatrix { rows: inputs, columns: outputs, values },
                bias: (0..outputs).map(|_| f64::from((random.unit() - 0.5) as f32)).collect(),
                ..LayerFile::default()
            });
            inputs = outputs;
        }
        let graph = graph_npz("g.npz", &graph).map_err(io::Error::other)?;
        let model = model_safetensors("m.safetensors", &layers, Precision::F32, &Default::default());
        let model = model.map_err(io::Error::other)?;
        let digests = (
            parse_graph("g.npz", &graph, &Default::default()).map_err(io::Error::other)?.digest,
            parse_model("m.safetensors", &model).map_err(io::Error::other)?.digest,
        );
        let paths = [format!("g{number}.npz"), format!("m{number}.safetensors")].map(|name| folder.join(name));
        std::fs::write(&paths[0], graph)?;
        std::fs::write(&paths[1], model)?;
        let [graph, model] = paths;
        stages.push(Stage { name, graph, model, digests, nodes, attributes, widths });
    }
    Ok(stages)
}
