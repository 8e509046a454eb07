//! Hostile files: mutations by the thousand, bombs and lies. Every parser answers, none panics, and
//! memory stays bounded.

use crate::common;

use common::*;
use gcnproof_files::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// No file in these tests has a right to more than this.
const ENOUGH_MEMORY: u64 = 1 << 30;

/// Hands the bytes to every parser. What is accepted must keep its promises.
fn judge(bytes: &[u8]) -> usize {
    let mut accepted = 0;
    for all in [false, true] {
        let options = GraphOptions { binarize: all, symmetrize: all, unweight: all, directed: all, real: all };
        if let Ok(graph) = parse_graph("hostile", bytes, &options) {
            accepted += 1;
            let nodes = graph.adjacency.rows;
            assert!(nodes > 0 && nodes == graph.adjacency.columns && nodes == graph.attributes.rows);
            sound(&graph.adjacency);
            sound(&graph.attributes);
            assert_eq!(graph.adjacency, graph.adjacency.transpose());
            assert!(graph.labels.is_none_or(|labels| labels.len() == nodes));
        }
    }
    if let Ok(model) = parse_model("hostile", bytes) {
        accepted += 1;
        for layer in &model.layers {
            assert_eq!(layer.weight.values.len(), layer.weight.rows * layer.weight.columns);
            assert_eq!(layer.weight.rows % layer.operators.len().max(1), 0);
            assert_eq!(layer.bias.len() % layer.weight.columns, 0);
            assert!(!layer.operators.is_empty() || layer.bias.len() == layer.weight.columns);
            assert!(layer.linear.is_empty() || layer.linear.len() == layer.weight.columns);
            assert!(layer.weight.values.iter().chain(&layer.bias).all(|value| value.is_finite()));
        }
        assert!(!model.layers.is_empty());
        let inputs = |layer: &LayerFile| layer.weight.rows / layer.operators.len().max(1);
        assert!(model.layers.windows(2).all(|two| two[0].weight.columns == inputs(&two[1])));
        for matrix in &model.matrices {
            sound(&matrix.pattern());
            assert!(matrix.values.iter().all(|value| value.is_finite() && *value != 0.0));
        }
    }
    if let Ok(matrix) = parse_matrix("hostile", bytes) {
        accepted += 1;
        sound(&matrix.pattern());
        assert_eq!(matrix.values.len(), matrix.indices.len());
        assert!(matrix.values.iter().all(|value| value.is_finite() && *value != 0.0));
    }
    accepted += usize::from(parse_integers("hostile", bytes).is_ok());
    accepted
}

fn sound(pattern: &Pattern) {
    assert_eq!(pattern.offsets.len(), pattern.rows + 1);
    assert_eq!(pattern.offsets.last(), Some(&pattern.indices.len()));
    for row in 0..pattern.rows {
        assert!(pattern.row(row).windows(2).all(|two| two[0] < two[1]));
        assert!(pattern.row(row).iter().all(|&column| (column as usize) < pattern.columns));
    }
}

#[track_caller]
fn judged(what: &str, bytes: &[u8]) -> usize {
    match catch_unwind(AssertUnwindSafe(|| judge(bytes))) {
        Ok(accepted) => accepted,
        Err(_) => panic!("a parser panicked on {what}: {}", bytes.escape_ascii()),
    }
}

/// The most memory this process ever had, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

#[track_caller]
fn memory_stayed_bounded() {
    match peak_memory() {
        Some(peak) => assert!(peak < ENOUGH_MEMORY, "{peak} bytes were used"),
        None => eprintln!("SKIPPED: this system does not tell how much memory was used"),
    }
}

/// Every kind of file, as npz entries or as bytes.
fn archives() -> Vec<(&'static str, Npz)> {
    let names = small_graph().with("node_names", unicode(&["a", "b", "c"], 2)).with("idx_to_node", pickled());
    let model = Npz::new()
        .with("W1", dense32(2, 2, &[1.0, 2.0, 3.0, 4.0]))
        .with("b1", f32s(&[1.0, 2.0]))
        .with("W2", dense32(2, 1, &[1.0, 2.0]));
    let coo = Npz::new()
        .with("row", i32s(&[0, 1]))
        .with("col", i32s(&[1, 0]))
        .with("format", npy("'|S3'", false, &[], b"coo"))
        .with("shape", i64s(&[2, 2]))
        .with("data", f64s(&[0.5, -0.5]));
    let csc = coo
        .clone()
        .with("format", npy("'|S3'", false, &[], b"csc"))
        .with("indices", i32s(&[0, 1]))
        .with("indptr", i32s(&[0, 1, 2]));
    let list = Npz::new().with("list", i64s(&[1, 2, 3]));
    vec![("graph", names), ("model", model), ("coo", coo), ("csc", csc), ("list", list)]
}

fn files() -> Vec<(String, Vec<u8>)> {
    let mut files = vec![
        ("safetensors".into(), safetensors("{\"a\":\"b\"}", &small_model())),
        ("described".into(), described(DESCRIPTION, &tensors_described())),
        ("npy".into(), dense32(2, 2, &[1.0, 2.0, 3.0, 4.0])),
        ("text".into(), b"1\n2 # two\n".to_vec()),
    ];
    for (name, npz) in archives() {
        files.push((format!("deflated {name}"), npz.bytes()));
        files.push((format!("stored {name}"), npz.stored().bytes()));
    }
    files
}

#[test]
fn every_truncation_is_answered() {
    for (name, bytes) in files() {
        assert!(judged(&name, &bytes) > 0, "{name} itself must be accepted");
        for length in 0..bytes.len() {
            let accepted = judged(&format!("{name} cut to {length}"), &bytes[..length]);
            // Shorter pieces may be text, and text may be a list of integers.
            assert!(name == "text" || length < 9 || accepted == 0, "{name} cut to {length} was accepted");
        }
    }
    memory_stayed_bounded();
}

#[test]
fn flipped_bytes_are_answered() {
    let mut dice = Dice(1);
    for (name, bytes) in files() {
        for round in 0..2000 {
            let mut mutant = bytes.clone();
            for _ in 0..=dice.below(4) {
                let at = dice.below(mutant.len());
                mutant[at] = match dice.below(3) {
                    0 => mutant[at] ^ (1 << dice.below(8)),
                    1 => [0x00, 0x01, 0x7f, 0x80, 0xff][dice.below(5)],
                    _ => dice.roll() as u8,
                };
            }
            judged(&format!("{name}, round {round}"), &mutant);
        }
    }
    memory_stayed_bounded();
}

/// Mutations of the description alone: most flips of a file hit its numbers.
#[test]
fn changed_descriptions_are_answered() {
    let mut dice = Dice(3);
    let mut accepted = 0;
    let words =
        ["x", "hidden", "logits", "relu", "none", "gcn", "matrix:P", "1e999", "NaN", "null", "-1", "[]", "{}", "W1"];
    for round in 0..6000 {
        let mut text = DESCRIPTION.to_owned();
        for _ in 0..=dice.below(2) {
            let quoted: Vec<(usize, usize)> = text
                .match_indices('"')
                .map(|at| at.0)
                .collect::<Vec<_>>()
                .chunks_exact(2)
                .map(|two| (two[0] + 1, two[1]))
                .collect();
            if quoted.is_empty() {
                break;
            }
            let (from, to) = quoted[dice.below(quoted.len())];
            match dice.below(4) {
                0 => text.replace_range(from..to, words[dice.below(words.len())]),
                1 => text.replace_range(from - 1..to + 1, words[dice.below(words.len())]),
                2 => text.replace_range(from - 1..to + 1, ""),
                _ => {
                    let (first, last) = quoted[dice.below(quoted.len())];
                    let other = text[first..last].to_owned();
                    text.replace_range(from..to, &other);
                }
            }
        }
        accepted += judged(&format!("description {round}: {text}"), &described(&text, &tensors_described()));
    }
    assert!(accepted > 50, "the mutations are so crude that nothing is accepted");
    memory_stayed_bounded();
}

/// The checksum of a zip entry hides most flips from the parsers, so here the arrays are mutated
/// first and packed afterwards.
#[test]
fn flipped_bytes_under_a_valid_checksum_are_answered() {
    let mut dice = Dice(2);
    let mut accepted = 0;
    for (name, npz) in archives() {
        for round in 0..1500 {
            let mut mutant = npz.clone();
            for _ in 0..=dice.below(3) {
                let entry = dice.below(mutant.entries.len());
                let array = &mut mutant.entries[entry].1;
                if array.is_empty() {
                    continue;
                }
                let at = dice.below(array.len());
                array[at] = match dice.below(4) {
                    0 => array[at] ^ (1 << dice.below(8)),
                    1 => [0x00, 0x01, 0x7f, 0x80, 0xff][dice.below(5)],
                    2 => b"0123456789(),'<>|fiubOUS"[dice.below(24)],
                    _ => dice.roll() as u8,
                };
                if dice.below(8) == 0 {
                    array.truncate(at);
                }
            }
            mutant.deflated = dice.below(2) == 0;
            accepted += judged(&format!("{name}, round {round}"), &mutant.bytes());
        }
    }
    assert!(accepted > 100, "the mutations are so crude that nothing gets past the headers");
    memory_stayed_bounded();
}

#[track_caller]
fn refused(error: Result<impl std::fmt::Debug, FileError>, mentions: &[&str]) {
    complete(&error.expect_err("must be refused"), "hostile", mentions);
}

fn graph(npz: Npz) -> Result<GraphFile, FileError> {
    parse_graph("hostile", &npz.bytes(), &GraphOptions::default())
}

#[test]
fn an_entry_that_inflates_beyond_its_header() {
    // 256 MiB of zeros behind a header that promises 24 bytes.
    let honest = i64s(&[0, 1, 1]);
    let mut bomb = honest.clone();
    bomb.resize(256 << 20, 0);
    let mut bytes = Npz::new().with("labels", bomb).bytes();
    assert!(bytes.len() < 1 << 20, "it is a bomb only if it is small");
    refused(parse_integers("hostile", &bytes), &["labels", "24 bytes", "268435456"]);
    // The same with a zip directory that lies as the header does.
    let lie = (honest.len() as u32).to_le_bytes();
    let mut patched = 0;
    for at in 0..bytes.len() - 4 {
        if bytes[at..at + 4] == (256u32 << 20).to_le_bytes() {
            bytes[at..at + 4].copy_from_slice(&lie);
            patched += 1;
        }
    }
    assert_eq!(patched, 2, "the size stands in the local and in the central header");
    refused(parse_integers("hostile", &bytes), &["labels", "larger than"]);
    memory_stayed_bounded();
}

#[test]
fn headers_that_promise_the_sky() {
    for shape in ["1152921504606846976,", "4294967296, 4294967296", "9223372036854775807, 9223372036854775807, 0"] {
        for descr in ["<f8", "<U4000000000", "|S18446744073709551615"] {
            let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
            let array = raw_npy(&header, &[0; 64]);
            refused(graph(small_graph().with("attr_data", array.clone())), &["attr_data"]);
            refused(parse_matrix("hostile", &array), &["the array"]);
        }
    }
    // 600 million booleans or names would fit as bytes, but not as the numbers and strings they become.
    for (descr, count) in [("'|b1'", 600 << 20), ("'|S1'", 200 << 20)] {
        let array = npy(descr, false, &[count], &[0; 64]);
        refused(graph(small_graph().with("adj_data", array.clone())), &["adj_data", "beyond 4294967296"]);
        refused(parse_matrix("hostile", &array), &["more than 4294967296"]);
    }
    let mut long = b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec();
    long.extend([b' '; 100]);
    refused(parse_matrix("hostile", &long), &["claims"]);
    let short = b"\x93NUMPY\x01\x00\x00\x00{}".to_vec();
    refused(parse_matrix("hostile", &short), &["damaged"]);
    refused(graph(small_graph().with("labels", short)), &["labels", "damaged"]);
    for header in [
        "",
        "{",
        "{}",
        "{'descr': '<f8'}",
        "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': 1}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)} or more",
        "{'descr': '<f8, 'fortran_order': False, 'shape': (1,)}",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}",
        "{'descr': [[[[', 'fortran_order': False, 'shape': (1,)}",
        "{'other': 1}",
        "{'descr': '\u{e9}', 'fortran_order': False, 'shape': (1,)}",
    ] {
        let array = raw_npy(header, &1f64.to_le_bytes());
        assert!(parse_matrix("hostile", &array).is_err(), "{header}");
        refused(graph(small_graph().with("attr_data", array)), &["attr_data"]);
    }
    // Brackets without end must not cost a stack.
    let deep = format!("{{'descr': {}", "[(".repeat(30_000));
    refused(parse_matrix("hostile", &raw_npy(&deep, b"")), &["open bracket"]);
    memory_stayed_bounded();
}

#[test]
fn zip_archives_that_two_tools_would_read_differently() {
    // Two entries with one name.
    let npz = Npz::new().with("aa", i64s(&[1])).with("ab", i64s(&[2])).stored();
    let mut bytes = npz.bytes();
    while let Some(at) = bytes.windows(6).position(|six| six == b"ab.npy") {
        bytes[at..at + 6].copy_from_slice(b"aa.npy");
    }
    refused(parse_integers("hostile", &bytes), &["zip directory", "duplicate"]);
    // A local header that names another array than the directory.
    let mut bytes = npz.bytes();
    let at = bytes.windows(6).position(|six| six == b"ab.npy").unwrap();
    bytes[at..at + 6].copy_from_slice(b"ac.npy");
    refused(parse_matrix("hostile", &bytes), &["zip directory"]);
    // A flipped bit in stored data, which only the checksum can notice.
    let mut bytes = Npz::new().with("aa", i64s(&[1, 1 << 40])).stored().bytes();
    let at = bytes.windows(8).position(|eight| eight == (1i64 << 40).to_le_bytes()).unwrap();
    bytes[at] ^= 1;
    refused(parse_integers("hostile", &bytes), &["aa", "damaged"]);
}

#[test]
fn safetensors_headers_that_lie() {
    let parse = |header: &str, data: &[u8]| parse_model("hostile", &raw_safetensors(header, data));
    let tensor = |name: &str, shape: &str, offsets: &str| {
        format!("\"{name}\":{{\"dtype\":\"F32\",\"shape\":{shape},\"data_offsets\":{offsets}}}")
    };
    // The one honest header, to show that the others fail for their lies.
    let honest = format!("{{{}}}", tensor("W1", "[1,2]", "[0,8]"));
    assert!(parse(&honest, &[0; 8]).is_ok());
    refused(parse(&honest, &[0; 7]), &["W1", "7 bytes"]);
    refused(parse(&honest, &[0; 9]), &["safetensors header"]);
    refused(parse(&format!("{{{}}}", tensor("W1", "[1,3]", "[0,8]")), &[0; 8]), &["safetensors header"]);
    let twice = format!("{{{},{}}}", tensor("W1", "[1,2]", "[0,8]"), tensor("W1", "[2,1]", "[0,8]"));
    refused(parse(&twice, &[0; 8]), &["W1", "occurs twice"]);
    // Sums that would overflow inside the safetensors crate.
    let chain: Vec<String> = (0..8u64)
        .map(|i| {
            let (start, size) = (i * ((1 << 61) - 1), (1u64 << 61) - 1);
            let (end, name) = (start + size, format!("W{i}"));
            format!("\"{name}\":{{\"dtype\":\"U8\",\"shape\":[{size}],\"data_offsets\":[{start},{end}]}}")
        })
        .collect();
    refused(parse(&format!("{{{}}}", chain.join(",")), &[0; 8]), &["ends beyond"]);
    for header in [
        "{",
        "{}x",
        "{\"W1\":1}",
        "{\"W1\":{\"dtype\":\"F32\",\"shape\":[1,2]}}",
        "{\"W1\":{\"dtype\":\"F99\",\"shape\":[1,2],\"data_offsets\":[0,8]}}",
        "{\"W1\":{\"dtype\":\"F32\",\"shape\":[-1,2],\"data_offsets\":[0,8]}}",
        "{\"W1\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[8,0]}}",
        "{\"W1\":{\"dtype\":\"F32\",\"shape\":[18446744073709551615,2],\"data_offsets\":[0,8]}}",
        "{\"__metadata__\":{\"a\":1}}",
    ] {
        refused(parse(header, &[0; 8]), &[]);
    }
    let deep = format!("{{\"W1\":{}", "[".repeat(100_000));
    refused(parse(&deep, &[0; 8]), &["safetensors header"]);
    let mut endless = u64::MAX.to_le_bytes().to_vec();
    endless.extend(b"{}");
    refused(parse_model("hostile", &endless), &["claims 18446744073709551615"]);
    memory_stayed_bounded();
}

#[test]
fn a_folder_and_a_missing_file_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("hostile");
    let options = GraphOptions::default();
    refused(read_graph(&missing, &options), &["cannot be read"]);
    refused(read_model(&missing), &["cannot be read"]);
    refused(read_matrix(&missing), &["cannot be read"]);
    refused(read_integers(&missing), &["cannot be read"]);
    std::fs::create_dir(&missing).unwrap();
    refused(read_graph(&missing, &options), &["cannot be read"]);
}
