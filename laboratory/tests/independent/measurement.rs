//! The awkward targets of the laboratory: no neighbours, no columns, no time.

use gcnproof::{Bound, Budget, Network, Operator};
use gcnproof_files::{DenseMatrix, SparseMatrix};
use gcnproof_laboratory::measurement::{Settings, pairs};

use crate::common::{self, certifier_of};

fn settings() -> Settings {
    Settings { max_cells: 1 << 20, full_cells: 1 << 20, max_integers: 1000, seconds: 10.0, milp_seconds: 10.0 }
}

/// Two nodes, the first of which nobody sends a message; and nothing to flip when nobody is allowed to.
#[test]
fn targets_without_neighbours_and_programs_without_columns_have_rows() {
    let matrix = SparseMatrix { rows: 2, columns: 2, offsets: vec![0, 0, 1], indices: vec![0], values: vec![1.0] };
    let dense = |rows, columns, values| DenseMatrix { rows, columns, values };
    let graph = common::graph(vec![vec![1], vec![0]], vec![vec![0], vec![]], 2);
    let layers = vec![
        (dense(2, 2, vec![1.0, -1.0, 0.5, 2.0]), vec![0.25, -0.25]),
        (dense(2, 2, vec![1.0, 0.0, 0.0, 1.0]), vec![0.5, 0.0]),
    ];
    let gcn = Network::from_file(common::model(layers), &[Operator::from_plain(matrix).unwrap()], &graph).unwrap();
    for global in [0, 2] {
        let certifier = certifier_of(&graph, &gcn, Budget::uniform(&graph, global, 1), Bound::Best);
        for node in 0..2 {
            let reference = certifier.predicted(node);
            let rows = pairs(&certifier, &settings(), node, &[1 - reference]);
            assert_eq!((rows.len(), &rows[0].violation), (1, &None), "{rows:?}");
            let row = &rows[0];
            let lps = [&row.lp_highs_status, &row.lp_good_lp_status, &row.lp_minilp_status, &row.lp_clarabel_status];
            for status in lps.into_iter().chain([&row.ilp_status]) {
                assert_eq!(status.as_deref(), Some("optimal"), "{row:?}");
            }
            assert_eq!(row.milp_status.as_deref(), Some("optimal"), "{row:?}");
        }
    }
}

/// No time and no room: every row has its bounds and its witness, and says why there is nothing else.
#[test]
fn limits_leave_rows_with_a_status() {
    let (graph, gcn) = gcnproof::embedded::cora();
    let certifier = certifier_of(&graph, &gcn, Budget::uniform(&graph, 12, 14), Bound::Best);
    let reference = certifier.predicted(5);
    let classes: Vec<usize> = (0..7).filter(|&class| class != reference).collect();
    for (limits, wanted) in [
        (Settings { max_cells: 1000, ..settings() }, "too_large"),
        (Settings { seconds: 0.0, milp_seconds: 0.0, ..settings() }, "time_limit"),
    ] {
        let rows = pairs(&certifier, &limits, 5, &classes[..2]);
        assert_eq!(rows.len(), 2);
        for row in rows {
            assert_eq!(row.lp_highs_status.as_deref(), Some(wanted), "{row:?}");
            assert!(row.lp_highs.is_none() && row.violation.is_none());
            assert!(row.dual_default.is_some() && row.anchored.is_some() && row.witness.is_some());
        }
    }
}
