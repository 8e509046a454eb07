//! Radii of a list of nodes, each row as soon as it is done.

use std::collections::BTreeMap;
use std::time::Instant;

use gcnproof::edges::{EdgeCertifier, edge_radius};
use gcnproof::{Certifier, Radius as NodeRadius, radii};
use gcnproof_results::record::RadiusRecord;
use gcnproof_results::record::edges::EdgeRadiusRecord;
use rayon::prelude::*;

use super::edges::Contradictions;

/// Nodes searched together: large enough to share activation bounds, small enough that an interruption loses little.
const BATCH: usize = 4096;

/// Searches the radii of the open nodes in removed edges, and hands each row on as soon as it is done.
pub fn search_edges(
    certifier: &EdgeCertifier,
    open: &[u64],
    limit: usize,
    contradictions: &Contradictions,
    done: &(dyn Fn(EdgeRadiusRecord) + Sync),
) {
    let graph = certifier.problem().graph();
    open.par_iter().with_max_len(1).for_each(|&node| {
        let start = Instant::now();
        if contradictions.is_stopped() {
            return;
        }
        let radius = contradictions.none_in(edge_radius(certifier, node as usize, limit));
        if let Some(radius) = radius.filter(|_| !contradictions.is_stopped()) {
            done(EdgeRadiusRecord::new(graph, node as usize, radius, start.elapsed().as_secs_f64()));
        }
    });
}

/// Searches the radii of the open nodes in batches, and hands each row on as soon as it is done.
pub fn search(certifier: &Certifier, open: &[u64], limit: usize, done: &(dyn Fn(RadiusRecord) + Sync)) {
    let graph = certifier.graph();
    for batch in open.chunks(BATCH) {
        let batch: Vec<usize> = batch.iter().map(|&n| n as usize).collect();
        let known: BTreeMap<usize, (usize, usize)> =
            batch.iter().map(|&n| (n, (certifier.predicted(n), certifier.neighbourhood(n)))).collect();
        let found = radii(
            certifier,
            &batch,
            limit,
            || certifier.stop().is_set(),
            |node, radius: &NodeRadius| {
                let (predicted, neighbourhood) = known[&node];
                done(RadiusRecord {
                    node: node as u64,
                    label: graph.label(node).map(u64::from),
                    predicted: predicted as u64,
                    degree: graph.degree(node) as u64,
                    neighbourhood: neighbourhood as u64,
                    certified_q_global: radius.certified.map(|q| q as u64),
                    attacked_q_global: radius.attacked.map(|q| q as u64),
                    witness: radius.witness.clone(),
                    seconds: radius.seconds,
                    contradiction: radius.contradiction.clone(),
                });
            },
        );
        debug_assert!(found.is_ok(), "nodes are read with the graph");
        if certifier.stop().is_set() {
            break;
        }
    }
}
