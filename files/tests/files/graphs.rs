//! Graph files: what is read, what is told, and what is refused.

use crate::common;

use common::*;
use gcnproof_files::{FileError, GraphFile, GraphOptions, Normalisation, parse_graph};

fn parse(npz: &Npz) -> Result<GraphFile, FileError> {
    parse_graph("test.npz", &npz.bytes(), &GraphOptions::default())
}

#[track_caller]
fn refused(npz: Npz, mentions: &[&str]) -> FileError {
    let error = parse(&npz).expect_err("must be refused");
    complete(&error, "test.npz", mentions);
    error
}

#[track_caller]
fn same_content(npz: Npz) {
    let (expected, found) = (parse(&small_graph()).unwrap(), parse(&npz).unwrap());
    assert_eq!(expected.digest, found.digest);
    assert_eq!(expected.adjacency, found.adjacency);
    assert_eq!(expected.attributes, found.attributes);
    assert_eq!(expected.labels, found.labels);
}

#[test]
fn a_small_graph_is_what_it_says() {
    let graph = parse(&small_graph()).unwrap();
    assert_eq!((graph.adjacency.rows, graph.adjacency.columns), (3, 3));
    assert_eq!(graph.adjacency.offsets, [0, 1, 3, 4]);
    assert_eq!(graph.adjacency.indices, [1, 0, 2, 1]);
    assert_eq!(graph.attributes.row(0), [1, 3]);
    assert!(graph.attributes.row(1).is_empty());
    assert!(graph.attributes.contains(2, 0) && !graph.attributes.contains(2, 1));
    assert_eq!(graph.attributes.entries(), 3);
    assert_eq!(graph.labels, Some(vec![Some(0), None, Some(1)]));
    assert_eq!(graph.notes, Vec::<String>::new());
    assert_eq!(graph.digest.len(), 64);
    let turned = graph.attributes.transpose();
    assert_eq!((turned.rows, turned.columns), (4, 3));
    assert_eq!(turned.offsets, [0, 1, 2, 2, 3]);
    assert_eq!(turned.indices, [2, 0, 0]);
    assert_eq!(turned.transpose(), graph.attributes);
}

#[test]
fn compression_and_entry_order_do_not_matter() {
    same_content(small_graph().stored());
    let mut reversed = small_graph();
    reversed.entries.reverse();
    same_content(reversed);
}

#[test]
fn the_digest_is_the_documented_one() {
    use sha2::{Digest, Sha256};
    let mut bytes = b"gcnproof-graph-v1\n".to_vec();
    let u64s = |numbers: &[u64]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>();
    let u32s = |numbers: &[u32]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>();
    bytes.extend(u64s(&[3, 4]));
    bytes.extend(u64s(&[0, 1, 3, 4]));
    bytes.extend(u32s(&[1, 0, 2, 1]));
    bytes.extend(u64s(&[0, 2, 2, 3]));
    bytes.extend(u32s(&[1, 3, 0]));
    bytes.extend(u64s(&[1, 0, u64::MAX, 1]));
    let expected: String = Sha256::digest(&bytes).iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(parse(&small_graph()).unwrap().digest, expected);
    // And it notices every kind of change.
    let mut digests = vec![expected];
    for changed in [
        small_graph().without("labels"),
        small_graph().with("labels", i64s(&[0, 0, 1])),
        small_graph().with("attr_indices", i32s(&[1, 2, 0])),
        small_graph().with("attr_shape", i64s(&[3, 5])),
        small_graph().with("adj_indices", i32s(&[0, 1, 2, 1])),
    ] {
        digests.push(parse(&changed).unwrap().digest);
    }
    digests.sort();
    digests.dedup();
    assert_eq!(digests.len(), 6);
}

#[test]
fn every_element_type_reads_the_same() {
    let bytes = |descr: &str, length: usize, data: Vec<u8>| npy(descr, false, &[length], &data);
    // Values 1, 1, 1 in every type that numpy has for numbers.
    for (descr, one) in [
        ("'|b1'", vec![1]),
        ("'|i1'", vec![1]),
        ("'|u1'", vec![1]),
        ("'<i2'", vec![1, 0]),
        ("'>i2'", vec![0, 1]),
        ("'<u2'", vec![1, 0]),
        ("'>u4'", vec![0, 0, 0, 1]),
        ("'<u4'", vec![1, 0, 0, 0]),
        ("'<i4'", vec![1, 0, 0, 0]),
        ("'>i4'", vec![0, 0, 0, 1]),
        ("'<i8'", 1i64.to_le_bytes().to_vec()),
        ("'>i8'", 1i64.to_be_bytes().to_vec()),
        ("'<u8'", 1u64.to_le_bytes().to_vec()),
        ("'<f2'", vec![0x00, 0x3c]),
        ("'>f2'", vec![0x3c, 0x00]),
        ("'<f4'", 1f32.to_le_bytes().to_vec()),
        ("'>f4'", 1f32.to_be_bytes().to_vec()),
        ("'<f8'", 1f64.to_le_bytes().to_vec()),
        ("'>f8'", 1f64.to_be_bytes().to_vec()),
    ] {
        same_content(small_graph().with("attr_data", bytes(descr, 3, one.repeat(3))));
        same_content(small_graph().with("adj_data", bytes(descr, 4, one.repeat(4))));
    }
    // Indices in other integer types.
    let big: Vec<u8> = [1i32, 3, 0].iter().flat_map(|v| v.to_be_bytes()).collect();
    same_content(small_graph().with("attr_indices", bytes("'>i4'", 3, big)));
    same_content(small_graph().with("attr_indices", bytes("'|u1'", 3, vec![1, 3, 0])));
    same_content(small_graph().with("attr_indices", i64s(&[1, 3, 0])));
    same_content(small_graph().with("labels", bytes("'|i1'", 3, vec![0, 0xff, 1])));
    // One dimension has no order; Python 2 wrote lengths with an L; version 2 has a longer length.
    same_content(
        small_graph().with("labels", npy("'<i8'", true, &[3], &i64s(&[0, -1, 1])[i64s(&[0, -1, 1]).len() - 24..])),
    );
    let header = "{'descr': '<i8', 'fortran_order': False, 'shape': (3L,), }";
    let data: Vec<u8> = [0i64, -1, 1].iter().flat_map(|v| v.to_le_bytes()).collect();
    same_content(small_graph().with("labels", raw_npy(header, &data)));
    let mut second = b"\x93NUMPY\x02\x00".to_vec();
    second.extend((header.len() as u32).to_le_bytes());
    second.extend(header.as_bytes());
    second.extend(&data);
    same_content(small_graph().with("labels", second));
}

#[test]
fn dense_parts_are_read_in_both_orders() {
    let base = small_graph().without("attr_data").without("attr_indices").without("attr_indptr").without("attr_shape");
    let rows = [0., 1., 0., 1., 0., 0., 0., 0., 1., 0., 0., 0.];
    same_content(base.clone().with("attr_matrix", dense32(3, 4, &rows)));
    let columns: Vec<u8> =
        [0f32, 0., 1., 1., 0., 0., 0., 0., 0., 1., 0., 0.].iter().flat_map(|v| v.to_le_bytes()).collect();
    same_content(base.with("attr_matrix", npy("'<f4'", true, &[3, 4], &columns)));
}

#[test]
fn unsorted_indices_zeros_and_duplicates() {
    same_content(small_graph().with("attr_indices", i32s(&[3, 1, 0])));
    // A stored zero, and 0.5 twice at the same place: dropped and added up, and both told.
    let odd = small_graph()
        .with("attr_data", f32s(&[1.0, 0.5, 0.5, 0.0, 1.0]))
        .with("attr_indices", i32s(&[1, 3, 3, 2, 0]))
        .with("attr_indptr", i32s(&[0, 3, 4, 5]));
    same_content(odd.clone());
    let notes = parse(&odd).unwrap().notes.join("\n");
    assert!(notes.contains("`attr_data`: 1 duplicate") && notes.contains("1 stored zeros"), "{notes}");
    // Ones twice make a two, which is not binary.
    let twice = small_graph().with("attr_indices", i32s(&[1, 1, 0]));
    let error = refused(twice, &["attr_data", "1 of 2", "--binarize"]);
    assert!(matches!(error, FileError::NotBinary { row: 0, column: 1, value: 2.0, .. }), "{error:?}");
}

#[test]
fn attributes_that_are_not_binary() {
    let weighted = small_graph().with("attr_data", f32s(&[1.0, 0.25, -3.0]));
    let error = refused(weighted.clone(), &["attr_data", "2 of 3", "node 0", "attribute 3", "0.25", "--binarize"]);
    assert!(matches!(error, FileError::NotBinary { count: 2, total: 3, row: 0, column: 3, .. }));
    let options = GraphOptions { binarize: true, ..Default::default() };
    let graph = parse_graph("test.npz", &weighted.bytes(), &options).unwrap();
    assert_eq!(graph.digest, parse(&small_graph()).unwrap().digest);
    assert!(graph.notes[0].contains("2 of 3"), "{:?}", graph.notes);
    // The other options do not help.
    let options = GraphOptions { symmetrize: true, unweight: true, ..Default::default() };
    assert!(parse_graph("test.npz", &weighted.bytes(), &options).is_err());
    // A row further down is named rightly, past an empty row.
    let late = small_graph().with("attr_data", f32s(&[1.0, 1.0, 2.0]));
    assert!(matches!(refused(late, &[]), FileError::NotBinary { row: 2, column: 0, .. }));
}

#[test]
fn attributes_that_are_numbers() {
    let real = GraphOptions { real: true, ..Default::default() };
    let weighted = small_graph().with("attr_data", f32s(&[1.0, 0.25, -3.0]));
    let graph = parse_graph("test.npz", &weighted.bytes(), &real).unwrap();
    let values = graph.values.as_ref().unwrap();
    assert_eq!(values.row(0), (&[1, 3][..], &[1.0, 0.25][..]));
    assert_eq!(values.row(2), (&[0][..], &[-3.0][..]));
    // 1 and 1/4 are powers of two, and -3 is -4 + 1.
    assert_eq!(
        [graph.attributes.row(0).len(), graph.attributes.row(1).len(), graph.attributes.row(2).len()],
        [2, 0, 2]
    );
    // What is written is read as the same graph.
    let written = gcnproof_files::write::graph_npz("test.npz", &graph).unwrap();
    let again = parse_graph("test.npz", &written, &real).unwrap();
    assert_eq!((&again.digest, &again.values), (&graph.digest, &graph.values));
    assert!(parse_graph("test.npz", &written, &GraphOptions::default()).is_err());
    let other = small_graph().with("attr_data", f32s(&[1.0, 0.5, -3.0]));
    assert_ne!(parse_graph("test.npz", &other.bytes(), &real).unwrap().digest, graph.digest);
    // Zeros and ones are no numbers.
    let plain = parse_graph("test.npz", &small_graph().bytes(), &real).unwrap();
    assert_eq!((plain.values, plain.digest), (None, parse(&small_graph()).unwrap().digest));
    let tiny = small_graph().with("attr_data", f32s(&[1.0, 1e-40, 1.0]));
    assert!(parse_graph("test.npz", &tiny.bytes(), &real).is_ok());
    let huge = small_graph().with("attr_data", f64s(&[1.0, 1e200, 1.0]));
    let error = parse_graph("test.npz", &huge.bytes(), &real).unwrap_err().to_string();
    assert!(error.contains("node 0, attribute 3") && error.contains("out of range"), "{error}");
    let grouped = weighted.with("attr_groups", i32s(&[0, 0, 0, 0]));
    assert!(parse_graph("test.npz", &grouped.bytes(), &real).unwrap_err().to_string().contains("attr_groups"));
}

#[test]
fn directed_and_weighted_edges() {
    let directed = small_graph()
        .with("adj_data", f32s(&[1.0; 2]))
        .with("adj_indices", i32s(&[1, 2]))
        .with("adj_indptr", i32s(&[0, 1, 2, 2]));
    let error = refused(directed.clone(), &["adj_data", "2 of 2", "0 -> 1", "--symmetrize"]);
    assert!(matches!(error, FileError::NotSymmetric { count: 2, total: 2, row: 0, column: 1, .. }));
    let options = GraphOptions { symmetrize: true, ..Default::default() };
    let graph = parse_graph("test.npz", &directed.bytes(), &options).unwrap();
    assert_eq!(graph.digest, parse(&small_graph()).unwrap().digest);
    assert!(graph.notes[0].contains("mirror"));

    let weighted = small_graph().with("adj_data", f32s(&[1.0, 1.0, 7.0, 1.0]));
    let error = refused(weighted.clone(), &["adj_data", "1 of 4", "1 -> 2", "weight 7", "--unweight"]);
    assert!(matches!(error, FileError::Weighted { count: 1, total: 4, row: 1, column: 2, .. }));
    let options = GraphOptions { unweight: true, ..Default::default() };
    let graph = parse_graph("test.npz", &weighted.bytes(), &options).unwrap();
    assert_eq!(graph.digest, parse(&small_graph()).unwrap().digest);
    assert!(graph.notes[0].contains("1 of 4"));
}

#[test]
fn self_loops_are_kept_and_told() {
    let looped = small_graph()
        .with("adj_data", f32s(&[1.0; 6]))
        .with("adj_indices", i32s(&[0, 1, 0, 2, 1, 2]))
        .with("adj_indptr", i32s(&[0, 2, 4, 6]));
    let graph = parse(&looped).unwrap();
    assert_eq!(graph.adjacency.entries(), 6);
    assert!(graph.notes[0].contains("2 nodes have a self-loop"), "{:?}", graph.notes);
}

#[test]
fn names_are_read_and_pickles_are_told() {
    let named = small_graph()
        .with("node_names", unicode(&["a", "bü", ""], 3))
        .with("attr_names", npy("'|S3'", false, &[4], b"w\0\0xy\0abc\0\0\0"))
        .with("class_names", unicode(&["left", "right"], 5))
        .with("idx_to_node", pickled())
        .with("planetoid_train", i64s(&[1]));
    let graph = parse(&named).unwrap();
    assert_eq!(graph.node_names.as_deref().unwrap(), ["a", "bü", ""]);
    assert_eq!(graph.attribute_names.as_deref().unwrap(), ["w", "xy", "abc", ""]);
    assert_eq!(graph.class_names.as_deref().unwrap(), ["left", "right"]);
    let notes = graph.notes.join("\n");
    assert!(notes.contains("pickled") && notes.contains("idx_to_node"), "{notes}");
    assert!(notes.contains("planetoid_train"), "{notes}");
    // Pickled names are ignored, and told.
    let graph = parse(&small_graph().with("node_names", pickled())).unwrap();
    assert_eq!(graph.node_names, None);
    assert!(graph.notes[0].contains("node_names"));
    // Names of the wrong number would be names of other things.
    refused(small_graph().with("node_names", unicode(&["a"], 1)), &["node_names", "1 names", "3 nodes"]);
    refused(small_graph().with("attr_names", unicode(&["a"], 1)), &["attr_names", "4 attributes"]);
    refused(small_graph().with("class_names", unicode(&["a"], 1)), &["labels", "[2]", "class_names"]);
    refused(small_graph().with("node_names", npy("'<U0'", false, &[3], b"")), &["node_names"]);
    let surrogate = npy("'<U1'", false, &[3], &[0, 0xd8, 0, 0].repeat(3));
    refused(small_graph().with("node_names", surrogate), &["node_names[0]", "unicode"]);
}

#[test]
fn required_arrays() {
    for name in
        ["adj_data", "adj_indices", "adj_indptr", "adj_shape", "attr_data", "attr_indices", "attr_indptr", "attr_shape"]
    {
        let error = refused(small_graph().without(name), &[name, "np.savez"]);
        assert!(matches!(error, FileError::MissingArray { .. }), "{error:?}");
        let error = refused(small_graph().with(name, pickled()), &[name, "allow_pickle"]);
        assert!(matches!(error, FileError::ObjectArray { .. }), "{error:?}");
        let complex = npy("'<c8'", false, &[1], &[0; 8]);
        refused(small_graph().with(name, complex), &[name, "<c8", ".real`"]);
    }
    assert_eq!(parse(&small_graph().without("labels")).unwrap().labels, None);
    refused(small_graph().with("labels", pickled()), &["labels", "allow_pickle"]);
}

#[test]
fn shapes_that_do_not_fit() {
    refused(small_graph().with("adj_shape", i64s(&[3, 4])), &["adj_shape", "3 by 4", "square"]);
    refused(small_graph().with("adj_shape", i64s(&[3])), &["adj_shape", "two sides"]);
    refused(small_graph().with("adj_shape", i64s(&[0, 0])), &["adj_shape[0]", "is 0"]);
    refused(small_graph().with("attr_shape", i64s(&[3, 0])), &["attr_shape[1]", "is 0"]);
    refused(small_graph().with("attr_shape", i64s(&[3, -4])), &["attr_shape[1]", "negative"]);
    refused(small_graph().with("attr_shape", f64s(&[3.0, 4.0])), &["attr_shape", "<f8", "integers"]);
    refused(
        small_graph().with("attr_indptr", i32s(&[0, 2, 3])).with("attr_shape", i64s(&[2, 4])),
        &["attr_data", "2 rows", "3 nodes"],
    );
    refused(small_graph().with("labels", i64s(&[0, 1])), &["labels", "2 numbers", "3 nodes"]);
    let one_hot = npy("'|u1'", false, &[3, 2], &[1, 0, 0, 1, 1, 0]);
    refused(small_graph().with("labels", one_hot), &["labels", "[3, 2]", "argmax"]);
    refused(small_graph().with("labels", f32s(&[0.0, 1.0, f32::NAN])), &["labels", "NaN"]);
    refused(small_graph().with("labels", i64s(&[0, 1, 1 << 40])), &["labels[2]", "too large"]);
    refused(small_graph().with("adj_data", dense32(2, 2, &[1.0; 4])), &["adj_data", "[2, 2]", "one dimension"]);
}

#[test]
fn index_arrays_that_lie() {
    refused(small_graph().with("adj_indptr", i32s(&[0, 1, 4])), &["adj_indptr", "3 numbers"]);
    refused(small_graph().with("adj_indptr", i32s(&[])), &["adj_indptr", "0 numbers"]);
    refused(small_graph().with("adj_indptr", i32s(&[0, 3, 1, 4])), &["adj_indptr[2]", "less than 3"]);
    refused(small_graph().with("adj_indptr", i32s(&[1, 1, 3, 4])), &["adj_indptr[0]", "must be 0"]);
    refused(small_graph().with("adj_indptr", i32s(&[0, 1, 3, 3])), &["adj_indptr[3]", "4 entries"]);
    refused(small_graph().with("adj_indptr", i32s(&[0, 1, 9, 9])), &["adj_indptr[2]", "is 9"]);
    refused(small_graph().with("adj_indptr", i32s(&[0, -1, 3, 4])), &["adj_indptr[1]", "is -1"]);
    refused(small_graph().with("adj_indices", i32s(&[1, 0, 3, 1])), &["adj_indices[2]", "is 3", "0 to 2"]);
    refused(small_graph().with("attr_indices", i32s(&[1, -3, 0])), &["attr_indices[1]", "is -3"]);
    refused(small_graph().with("attr_indices", i64s(&[1, 1 << 32, 0])), &["attr_indices[1]"]);
    refused(small_graph().with("attr_indices", i32s(&[1, 3])), &["attr_indices", "2 numbers", "3 entries"]);
}

#[test]
fn values_that_are_no_numbers() {
    let error = refused(small_graph().with("attr_data", f32s(&[1.0, f32::NAN, 1.0])), &["attr_data[1]", "NaN"]);
    assert!(matches!(error, FileError::NonFinite { .. }));
    refused(small_graph().with("adj_data", f32s(&[1.0, 1.0, 1.0, f32::INFINITY])), &["adj_data[3]", "inf"]);
    // --binarize and --unweight read weights, not nonsense.
    let options = GraphOptions { binarize: true, symmetrize: true, unweight: true, ..GraphOptions::default() };
    let nan = small_graph().with("attr_data", f32s(&[1.0, f32::NAN, 1.0])).bytes();
    assert!(matches!(parse_graph("test.npz", &nan, &options), Err(FileError::NonFinite { .. })));
    refused(small_graph().with("attr_data", npy("'|b1'", false, &[3], &[1, 2, 1])), &["attr_data[1]", "boolean"]);
    let half_nan = npy("'<f2'", false, &[3], &[0, 0x3c, 0, 0x7e, 0, 0x3c]);
    refused(small_graph().with("attr_data", half_nan), &["attr_data[1]", "NaN"]);
}

/// The arrays of PyTorch Geometric and of its datasets' npz files are the same graph.
#[test]
fn edge_lists_and_dense_attributes() {
    let x = dense32(3, 4, &[0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
    let pairs = |by_side: bool| {
        let ends: [[i64; 2]; 4] = [[0, 1], [1, 0], [1, 2], [2, 1]];
        let at = |i: usize| if by_side { ends[i % 4][i / 4] } else { ends[i / 2][i % 2] };
        let data: Vec<u8> = (0..8).flat_map(|i| at(i).to_le_bytes()).collect();
        npy("'<i8'", false, if by_side { &[2, 4] } else { &[4, 2] }, &data)
    };
    let expected = parse(&small_graph()).unwrap().digest;
    let labels = i64s(&[0, -1, 1]);
    for (edges, by_side, attributes, classes) in [
        ("edge_index", true, "x", "y"),
        ("edges", false, "features", "target"),
        ("edges", false, "node_features", "node_labels"),
    ] {
        let file = Npz::new().with(edges, pairs(by_side)).with(attributes, x.clone()).with(classes, labels.clone());
        assert_eq!(parse(&file).unwrap().digest, expected, "{edges}");
        refused(file.clone().with(edges, pairs(!by_side)), &[edges, ".T`"]);
        let weights = file.clone().with("edge_weight", f32s(&[1.0, 1.0, 0.5, 0.5]));
        refused(weights, &[edges, "2 of 4 edges have a weight"]);
        refused(file.without(attributes), &["x", "edge_index=data.edge_index"]);
    }
    let far: Vec<u8> = [0i64, 3].iter().flat_map(|id| id.to_le_bytes()).collect();
    let file = Npz::new().with("edge_index", npy("'<i8'", false, &[2, 1], &far)).with("x", x);
    refused(file, &["edge_index[1, 0]", "is 3", "0 to 2"]);
}

/// What is refused is never what the remedy proposes.
#[test]
fn remedies_work() {
    let error = refused(small_graph().with("labels", f64s(&[0.0, 1.0, 2.0])), &["labels", "<f8", "np.int64"]);
    assert!(!miette::Diagnostic::help(&error).unwrap().to_string().contains("float64"), "{error:?}");
    // A scipy matrix alone in an array: `np.asarray` would give it back as it is.
    let whole = npy("'|O'", false, &[], b"\x80\x04\x95nonsense.");
    let error = refused(small_graph().with("adj_data", whole), &["adj_data", ".item()", "adj_indptr=m.indptr"]);
    assert!(!miette::Diagnostic::help(&error).unwrap().to_string().contains("asarray"), "{error:?}");
    let planetoid = gcnproof_files::parse_graph("ind.cora.x", b"\x80\x02cscipy.sparse.csr", &Default::default());
    let error = planetoid.unwrap_err();
    assert!(error.to_string().contains("pickle"), "{error}");
    assert!(miette::Diagnostic::help(&error).unwrap().to_string().contains("np.savez"), "{error:?}");
}

#[test]
fn a_batch_of_graphs_is_read_digested_and_written() {
    let one_graph = || small_graph().with("labels", i64s(&[2])).with("batch", i64s(&[0, 0, 0]));
    let graph = parse(&one_graph()).unwrap();
    assert_eq!((graph.graphs(), graph.targets()), (Some(1), 1));
    assert_eq!(graph.labels, Some(vec![Some(2), None, None]));
    // Three graphs without edges; labels are those of graphs, in as many rows as there are nodes.
    let apart = || {
        let empty = small_graph().with("adj_data", f32s(&[])).with("adj_indices", i32s(&[]));
        empty.with("adj_indptr", i32s(&[0, 0, 0, 0])).with("batch", i64s(&[0, 1, 1])).with("labels", i64s(&[1, -1]))
    };
    let apart = parse(&apart()).unwrap();
    assert_eq!((apart.targets(), &apart.labels), (2, &Some(vec![Some(1), None, None])));
    // The digest knows the batch, and without one it is what it was.
    let plain = parse(&small_graph().without("labels")).unwrap();
    let batched = parse(&small_graph().without("labels").with("batch", i64s(&[0, 0, 0]))).unwrap();
    assert_ne!(plain.digest, batched.digest);
    assert_eq!(plain.clone().batched(vec![0, 0, 0]).unwrap(), batched);
    for graph in [graph, apart, batched] {
        let again = gcnproof_files::write::graph_npz("again.npz", &graph).unwrap();
        let again = parse_graph("again.npz", &again, &GraphOptions::default()).unwrap();
        assert_eq!((again.digest, again.batch, again.labels), (graph.digest, graph.batch, graph.labels));
    }
    let batch = |numbers: &[i64]| small_graph().without("labels").with("batch", i64s(numbers));
    refused(batch(&[0, 0]), &["batch", "2 numbers", "3 nodes"]);
    refused(batch(&[1, 1, 1]), &["batch", "the first graph has the number 0"]);
    refused(batch(&[0, 0, 2]), &["batch", "graph 1 has no node"]);
    refused(batch(&[0, 1, 0]), &["batch", "must not fall"]);
    refused(batch(&[0, 0, 1]), &["batch", "an edge leads to node 2 of graph 1"]);
    refused(batch(&[0, 0, -1]), &["batch", "-1", "numbers no graph"]);
    refused(small_graph().with("batch", i64s(&[0, 0, 0])), &["labels", "3 numbers", "1 graphs"]);
    refused(small_graph().with("batch", f32s(&[0.0; 3])), &["batch", "integers are needed"]);
}

/// Halves are the same in both precisions: the type of the array says in which rows are divided.
#[test]
fn the_type_of_quotients_says_in_which_precision_rows_are_divided() {
    let read = |data: Vec<u8>| parse(&small_graph().without("attr_data").with("attr_data", data)).unwrap();
    let single = read(f32s(&[0.5, 0.5, 1.0]));
    let double = read(f64s(&[0.5, 0.5, 1.0]));
    assert_eq!((single.normalisation, double.normalisation), (Normalisation::Float32, Normalisation::Float64));
    assert_ne!(single.digest, double.digest);
    // A third of float32 stays one, whatever it is stored as.
    let third = f64::from(1f32 / 3.0);
    let dense = |values: &[f64]| {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        npy("'<f8'", false, &[3, 4], &bytes)
    };
    let rows = [third, third, third, 0.0, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let parts = ["attr_data", "attr_indices", "attr_indptr", "attr_shape"];
    let graph = parts.into_iter().fold(small_graph(), |graph, part| graph.without(part)).with("x", dense(&rows));
    assert_eq!(parse(&graph).unwrap().normalisation, Normalisation::Float32);
}
