//! Which graph each node belongs to, where a file holds many small graphs: PyTorch Geometric's `batch`.

use crate::parts::Reader;
use crate::{FileError, Pattern};

/// How many graphs there are: they are numbered from 0 without gaps.
pub(crate) fn count(batch: &[u32]) -> usize {
    batch.last().map_or(0, |&last| last as usize + 1)
}

/// Numbers of graphs as rows: none in the rows that are left.
pub(crate) fn padded(mut labels: Vec<Option<u32>>, graphs: usize, rows: usize) -> Vec<Option<u32>> {
    labels.truncate(graphs);
    labels.resize(rows.max(graphs), None);
    labels
}

/// Reads `batch`, if the file has it.
pub(crate) fn read(reader: &mut Reader, adjacency: &Pattern) -> Result<Option<Vec<u32>>, FileError> {
    let Some(array) = reader.optional("batch")? else { return Ok(None) };
    let (length, nodes) = (array.flat()?, adjacency.rows);
    if length != nodes {
        return Err(array.misshapen(
            format!("has {length} numbers, but the file has {nodes} nodes"),
            "save for each node the number of its graph, as `batch` of PyTorch Geometric's Batch has it".into(),
        ));
    }
    let number = |(node, of): (usize, i64)| {
        u32::try_from(of).map_err(|_| {
            array.element(node, format!("is {of}, which numbers no graph"), "number the graphs from 0".into())
        })
    };
    let batch = array.integers()?.into_iter().enumerate().map(number).collect::<Result<Vec<u32>, _>>()?;
    match check(&batch, adjacency) {
        Ok(()) => Ok(Some(batch)),
        Err((node, problem, remedy)) => Err(array.element(node, problem, remedy.into())),
    }
}

/// Are the graphs numbered in the order of their nodes, without gaps, and does no edge lead from one to another?
///
/// # Errors
/// With the first node at which it is otherwise, in words, and a remedy.
pub(crate) fn check(batch: &[u32], adjacency: &Pattern) -> Result<(), (usize, String, &'static str)> {
    const GAPS: &str = "number the graphs 0, 1, 2, … without gaps: every graph has a node";
    if batch.len() != adjacency.rows {
        let problem = format!("ends, but there are {} nodes", adjacency.rows);
        return Err((batch.len(), problem, "save one number for each node"));
    }
    let mut before = None;
    for (node, &of) in batch.iter().enumerate() {
        match before {
            None if of != 0 => return Err((node, format!("is {of}, but the first graph has the number 0"), GAPS)),
            Some(before) if of < before => {
                let problem = format!("is {of}, after {before}: the numbers of graphs must not fall");
                return Err((node, problem, "sort the nodes by graph, as PyTorch Geometric's Batch has them"));
            }
            Some(before) if of > before + 1 => {
                return Err((node, format!("is {of}, after {before}: graph {} has no node", before + 1), GAPS));
            }
            _ => before = Some(of),
        }
    }
    for (node, &of) in batch.iter().enumerate() {
        if let Some(&to) = adjacency.row(node).iter().find(|&&to| batch[to as usize] != of) {
            let problem = format!("is {of}, but an edge leads to node {to} of graph {}", batch[to as usize]);
            return Err((
                node,
                problem,
                "save graphs that have no edges between them; where nodes are classified, leave `batch` out",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_are_numbered_in_the_order_of_their_nodes() {
        let line = Pattern { rows: 3, columns: 3, offsets: vec![0, 1, 2, 2], indices: vec![1, 0] };
        assert!(check(&[0, 0, 1], &line).is_ok() && check(&[0, 0, 0], &line).is_ok());
        for (wrong, at, word) in [
            (vec![0, 0], 2, "ends"),
            (vec![1, 1, 1], 0, "first"),
            (vec![0, 0, 2], 2, "no node"),
            (vec![0, 1, 0], 2, "fall"),
            (vec![0, 1, 1], 0, "edge"),
        ] {
            let (node, problem, _) = check(&wrong, &line).unwrap_err();
            assert!(node == at && problem.contains(word), "{wrong:?}: {node} {problem}");
        }
        let empty = Pattern { rows: 0, columns: 0, offsets: vec![0], indices: Vec::new() };
        assert!(check(&[], &empty).is_ok() && count(&[]) == 0 && count(&[0, 0, 1]) == 2);
    }
}
