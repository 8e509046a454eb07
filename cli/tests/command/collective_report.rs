//! What `collective` finds as a user meets it: in words, as JSON, and as figure 8 of a report, with radii beside it and
//! without.

use std::path::{Path, PathBuf};
use std::process::Output;

use gcnproof_files::write::write_graph_npz;
use gcnproof_files::{GraphOptions, read_graph};
use serde_json::Value;

use crate::{gcnproof, text};

const GRAPH: &str = "../fixtures/cora.npz";
const MODEL: &str = "../fixtures/cora_pyg.safetensors";

/// A message as one line.
fn message(output: &Output) -> String {
    let words = text(&output.stderr).replace(['│', '×', '╰', '─', '▶'], " ");
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn at(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_string()
    }

    fn written(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Runs `collective` on a few nodes, and gives the file and standard output.
    fn collective(&self, graph: &str, name: &str, options: &[&str]) -> (String, String) {
        let out = self.at(name);
        let base = ["collective", graph, MODEL, "--nodes", "0-29", "-q", "2", "--swaps", "300", "--out", &out];
        let done = gcnproof(&[&base[..], options].concat());
        assert!(done.status.success(), "{options:?}: {}", message(&done));
        (out, text(&done.stdout))
    }

    /// Radii of the same nodes.
    fn radii(&self, name: &str, options: &[&str]) -> String {
        let out = self.at(name);
        let base = ["radius", GRAPH, MODEL, "--nodes", "0-29", "--complete", "--out", &out];
        let done = gcnproof(&[&base[..], options].concat());
        assert!(done.status.success(), "{options:?}: {}", message(&done));
        out
    }

    /// Makes a report, and gives the page and what was said.
    fn report(&self, arguments: &[&str]) -> (String, Value) {
        let out = self.at("page.html");
        let done = gcnproof(&[&["report", "--out", &out, "--force", "--format", "json"], arguments].concat());
        assert!(done.status.success(), "{arguments:?}: {}", message(&done));
        let page = std::fs::read_to_string(out).unwrap();
        for picture in page.split("<svg ").skip(1).filter_map(|rest| rest.split("</svg>").next()) {
            assert!(!picture.contains("NaN") && !picture.contains("inf\""), "{arguments:?}: {picture}");
        }
        (page, serde_json::from_slice(&done.stdout).unwrap())
    }
}

/// The numbers behind a figure, by column.
fn column(csv: &str, name: &str) -> Vec<String> {
    let mut lines = csv.lines();
    let at = lines.next().unwrap().split(',').position(|head| head == name).unwrap();
    lines.map(|line| line.split(',').nth(at).unwrap().to_string()).collect()
}

#[test]
fn a_curve_is_drawn_from_every_format() {
    let folder = Folder::new();
    for extension in ["parquet", "csv", "jsonl"] {
        let (file, _) = folder.collective(GRAPH, &format!("curve.{extension}"), &["--budgets", "0,1,2,4,6"]);
        let (page, told) = folder.report(&[&file, "--graph", GRAPH, "--model", MODEL]);
        // Nothing else was asked for, and nothing else is missed.
        assert_eq!((told["drawn"].as_u64(), told["missing"].as_array().unwrap().len()), (Some(2), 0), "{extension}");
        assert!(page.contains("Figure 8: One attack for the whole graph") && !page.contains("href=\"#nodes\""));
        assert!(page.contains("collective GRAPH MODEL --budgets 0,1,2,4,6 -q 2"));
        assert!(page.contains("the predictions of 30 of 2708 nodes count") && page.contains("up to a few flips"));
        let table = page.split("<table class=\"cards whole\">").nth(1).unwrap().split("</table>").next().unwrap();
        assert_eq!(table.matches("<tr>").count(), 6);
        let csv = folder.written("page-figures/fig8_whole_curve.csv");
        assert_eq!(column(&csv, "Q"), ["0", "1", "2", "4", "6"]);
        let numbers = |name: &str| -> Vec<u64> { column(&csv, name).iter().map(|n| n.parse().unwrap()).collect() };
        let (certified, unknown, broken) = (numbers("certified"), numbers("unknown"), numbers("broken"));
        for (at, robust) in numbers("robust_alone").into_iter().enumerate() {
            assert_eq!(certified[at] + unknown[at] + broken[at], 30);
            assert!(robust <= certified[at]);
        }
        let uses = folder.written("page-figures/fig8_uses_curve.csv");
        let sum: usize = uses.lines().filter(|line| line.contains(",node,")).map(made).sum();
        assert_eq!(sum.to_string(), *column(&csv, "flips").last().unwrap());
    }
    // Runs that differ in their budgets are one curve, and without the graph less is known.
    let (more, _) = folder.collective(GRAPH, "curve-more.csv", &["--budgets", "3,5"]);
    let (page, told) = folder.report(&[&folder.at("curve.csv"), &more]);
    assert_eq!(told["drawn"], 2);
    assert!(page.contains("directions of flips and names are not known") && page.contains("Without the graph"));
    let csv = folder.written("page-figures/fig8_whole_curve.csv");
    assert_eq!(column(&csv, "Q"), ["0", "1", "2", "3", "4", "5", "6"]);
    // A file without its run is drawn all the same.
    std::fs::remove_file(folder.path("curve.csv.run.json")).unwrap();
    let (page, told) = folder.report(&[&folder.at("curve.csv")]);
    assert!(told["drawn"] == 2 && page.contains("There is no curve.csv.run.json") && page.contains("budget not known"));
}

/// The flips of a line: added, removed, and flipped without knowing which.
fn made(line: &str) -> usize {
    line.rsplit(',').take(3).map(|number| number.parse::<usize>().unwrap()).sum()
}

#[test]
fn radii_give_single_nodes_in_full() {
    let folder = Folder::new();
    let (curve, _) = folder.collective(GRAPH, "curve.parquet", &["--budgets", "0,2,4,6,9"]);
    let (radii, other) = (
        folder.radii("radii.jsonl", &["-q", "2", "--max-Q", "6"]),
        folder.radii("other.jsonl", &["-q", "1", "--max-Q", "2"]),
    );
    let (page, _) = folder.report(&[&curve, &radii, "--graph", GRAPH]);
    assert!(page.contains("which go up to Q = 6") && !page.contains("up to a few flips"));
    let csv = folder.written("page-figures/fig8_whole_curve.csv");
    assert_eq!(column(&csv, "Q"), ["0", "1", "2", "3", "4", "5", "6", "9"]);
    let rows: Vec<Value> =
        folder.written("radii.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (q, robust) in column(&csv, "robust_alone").iter().take(7).enumerate() {
        let count = rows.iter().filter(|row| row["certified"].as_u64().is_some_and(|r| r >= q as u64)).count();
        assert_eq!(*robust, count.to_string(), "Q = {q}");
    }
    // Radii of another local budget are results of their own.
    let (page, _) = folder.report(&[&curve, &other]);
    assert!(page.contains("up to a few flips") && !page.contains("which go up to"));
    assert_eq!(column(&folder.written("page-figures/fig8_whole_curve.csv"), "Q"), ["0", "2", "4", "6", "9"]);
    // Few budgets are bars, with the curve of single nodes beside them where it is known.
    let (few, _) = folder.collective(GRAPH, "few.jsonl", &["--budgets", "2,4"]);
    for (files, plots) in [(vec![&few], 1), (vec![&few, &radii], 2)] {
        let names: Vec<&str> = files.iter().map(|file| file.as_str()).collect();
        folder.report(&names);
        let svg = folder.written("page-figures/fig8_whole_few.svg");
        assert_eq!(svg.matches("share of predictions").count(), plots);
        assert!(svg.contains("Q = 2") && svg.contains("Q = 4"));
    }
}

#[test]
fn the_attack_is_summed_up_in_words_and_as_json() {
    let folder = Folder::new();
    let mut file = read_graph(Path::new(GRAPH), &GraphOptions::default()).unwrap();
    file.attribute_names = Some((0..file.attributes.columns).map(|d| format!("<w{d}>")).collect());
    let graph = folder.at("named.npz");
    write_graph_npz(Path::new(&graph), &file).unwrap();
    let (curve, said) = folder.collective(&graph, "curve.jsonl", &["--budgets", "0,1,5"]);
    let last = said.split("the perturbation of Q = 5: ").nth(1).unwrap_or_else(|| panic!("{said}"));
    assert!(last.contains("most flips in nodes: ") && last.contains("most flips of attributes: “<w"), "{said}");
    assert!(!said.contains("the perturbation of Q = 1"));
    let (_, said) = folder.collective(&graph, "curve.jsonl", &["--budgets", "0,1,5", "--format", "json", "--resume"]);
    let told: Value = serde_json::from_str(&said).unwrap();
    let attacks = told["summary"]["attacks"].as_array().unwrap();
    assert_eq!(attacks.len(), 3);
    for (attack, row) in attacks.iter().zip(told["rows"].as_array().unwrap()) {
        let flips = row["flips"].as_array().unwrap();
        assert_eq!((&attack["q_global"], &attack["flips"]), (&row["q_global"], &flips.len().into()));
        let count = |list: &str| -> u64 {
            let uses = attack[list].as_array().unwrap().iter();
            uses.map(|uses| uses["added"].as_u64().unwrap() + uses["removed"].as_u64().unwrap()).sum()
        };
        // So few flips that all nodes and attributes are named.
        assert_eq!((count("most_used_nodes"), count("most_used_attributes")), (flips.len() as u64, flips.len() as u64));
        for uses in attack["most_used_attributes"].as_array().unwrap() {
            assert_eq!(uses["name"], format!("<w{}>", uses["attribute"]));
        }
    }
    // Names are data, never markup.
    let (page, _) = folder.report(&[&curve, "--graph", &graph]);
    assert!(page.contains("“&lt;w") && !page.contains("<w"));
}

#[test]
fn rows_that_cannot_be_true_are_refused_by_file_and_budget() {
    let folder = Folder::new();
    let (curve, _) = folder.collective(GRAPH, "curve.jsonl", &["--budgets", "0,3"]);
    let changed = folder.written("curve.jsonl").replace("\"counted\":30", "\"counted\":0");
    std::fs::write(&curve, changed).unwrap();
    let done = gcnproof(&["report", &curve, "--force", "--out", &folder.at("page.html")]);
    let said = message(&done);
    assert_eq!(done.status.code(), Some(2));
    assert!(said.contains("curve.jsonl: the row of Q = ") && said.contains("only 0 count"), "{said}");
    assert!(said.contains("run `gcnproof collective` again") && !folder.path("page.html").exists(), "{said}");
    // Removed edges are another attack.
    let edges = folder.radii("edges.jsonl", &["--edges", "remove", "-e", "1", "--max-E", "1"]);
    let (curve, _) = folder.collective(GRAPH, "again.jsonl", &["--budgets", "0"]);
    let done = gcnproof(&["report", &curve, &edges, "--force", "--out", &folder.at("page.html")]);
    assert!(message(&done).contains("different attacks"), "{}", message(&done));
}
