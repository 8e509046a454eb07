//! scratch timing
use gcnproof::{budget::Budget, certifier::*, graph::Graph, model::*};
use rayon::prelude::*;
use std::path::Path;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let t = std::time::Instant::now();
    let graph = Graph::new(gcnproof_files::read_graph(Path::new(&a[1]), &Default::default()).unwrap());
    let model = gcnproof_files::read_model(Path::new(&a[2])).unwrap();
    let gcn = Gcn::new(model, &[MessagePassing::Gcn], &graph).unwrap();
    let bound = match a.get(4).map(|s| s.as_str()) {
        Some("paper") => Bound::Paper,
        Some("anchored") => Bound::Anchored,
        _ => Bound::Best,
    };
    let big_q: usize = a.get(3).map_or(12, |s| s.parse().unwrap());
    let q = (graph.attribute_count() / 100).max(1);
    println!("read {:?}", t.elapsed());
    let t = std::time::Instant::now();
    let c = Certifier::new(&graph, &gcn, Budget::uniform(&graph, big_q, q), bound);
    println!("prepare {:?}", t.elapsed());
    let t = std::time::Instant::now();
    let r: Vec<_> =
        (0..graph.node_count()).into_par_iter().map_init(Workspace::default, |w, n| c.certify(n, w)).collect();
    println!("certify {:?}", t.elapsed());
    let mut m = std::collections::BTreeMap::new();
    for x in &r {
        *m.entry(format!("{:?} {:?}", x.verdict, x.reason)).or_insert(0) += 1;
    }
    println!("{m:#?}");
    println!(
        "paper {} anchored {}",
        r.iter().filter(|x| x.paper_certifies == Some(true)).count(),
        r.iter().filter(|x| x.anchored_certifies == Some(true)).count()
    );
}
