//! Plain floating-point arithmetic stands in one file of this crate, where every result has a direction.

use std::fs;
use std::path::{Path, PathBuf};

/// Lines elsewhere that may name a float, because nothing is computed there: a number for display, its reader, and a
/// power of two as a question spells it.
const NAMED: [(&str, &str); 11] = [
    ("format/mod.rs", "pub bound: Option<f64>,"),
    (
        "question/lists.rs",
        "text.parse::<f64>().ok().and_then(|u| (2..=53).find(|&bits| 0.5f64.powi(bits as i32) == u))",
    ),
    ("question/lists.rs", "nor a share of the attributes (1%, or 0.01)"),
    ("format/strict.rs", "deserialize_f64"),
    ("format/strict.rs", "visitor.visit_f64(self.float()?)"),
    ("format/token.rs", "f64"),
    ("question/words.rs", "let number = |x: f64| {"),
    ("question/words.rs", "let list = |limits: &[f64]| limits.iter().copied().map(number)"),
    ("question/words.rs", "text.trim().parse::<f64>().ok().filter(|radius| radius.is_finite()"),
    ("report.rs", "upper.to_f64()"),
    // Written bit by bit.
    ("verified/text.rs", "[f64]"),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Does a line name a float type or contain a float literal?
fn names_a_float(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    let words = code.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let typed = words.into_iter().any(|word| word.ends_with("f64") || word.ends_with("f32"));
    let bytes = code.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    // `1.5`, but not `entry.0.1` or a range.
    let literal = (1..bytes.len()).any(|at| {
        let before = bytes[..at].iter().rev().find(|byte| !byte.is_ascii_digit());
        bytes[at] == b'.' && digit(at - 1) && digit(at + 1) && !matches!(before, Some(b'.' | b'a'..=b'z' | b'_' | b')'))
    });
    typed || literal
}

#[test]
fn floats_stand_in_one_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(files.len() > 20);
    let mut wrong = Vec::new();
    for path in files {
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        if name == "number/directed.rs" || name.starts_with("number/directed/") || name.ends_with("/tests.rs") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (at, line) in code.lines().enumerate().filter(|(_, line)| names_a_float(line)) {
            let allowed = NAMED.iter().any(|(file, part)| name == *file && line.contains(part))
                || name == "format/strict.rs" && line.trim_start().starts_with("bool i8");
            if !allowed {
                wrong.push(format!("{name}:{}: {}", at + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "plain floats belong in number/directed.rs:\n{}", wrong.join("\n"));
}

/// What alone defines acceptance stays short enough to be read.
#[test]
fn the_core_is_short() {
    for (folder, most) in [("src/core", 2_200), ("src/rounding", 680)] {
        let mut files = Vec::new();
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut files);
        let code = |path: &PathBuf| {
            let text = fs::read_to_string(path).unwrap();
            text.split("#[cfg(test)]").next().unwrap_or_default().lines().count()
        };
        let lines: usize = files.iter().map(code).sum();
        assert!(lines <= most, "{folder}: {lines} lines");
    }
}

#[test]
fn the_scan_sees_floats() {
    for line in ["let x: f64 = a;", "x * 0.5", "y = 1.0 + 2.0;", "a as f32", "x.to_f64()", "f(1e-3, 2.25)"] {
        assert!(names_a_float(line), "{line}");
    }
    for line in ["entry.0.1", "0..5", "self.0.0.clone()", "// 0.5 f64", "let u64 = 3;", "split.0.0 as usize"] {
        assert!(!names_a_float(line), "{line}");
    }
}
