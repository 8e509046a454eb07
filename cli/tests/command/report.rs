//! Study, report and explain as a user meets them: whole results, and results that are empty, mixed, unlabelled or
//! broken.

use std::path::{Path, PathBuf};
use std::process::Output;

use gcnproof::Verdict;
use gcnproof_files::write::write_graph_npz;
use gcnproof_files::{GraphOptions, read_graph};
use gcnproof_results::record::NodeRecord;
use serde_json::Value;

use crate::{gcnproof, text};

const GRAPH: &str = "../fixtures/cora.npz";
const MODEL: &str = "../fixtures/cora_pyg.safetensors";

/// The message as one line: miette breaks lines and draws bars.
fn message(output: &Output) -> String {
    let words = text(&output.stderr).replace(['│', '×', '╰', '─', '▶'], " ");
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_string()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn certify(&self, name: &str, budget: &[&str]) -> String {
        let out = self.at(name);
        let done = gcnproof(&[&["certify", GRAPH, MODEL, "--nodes", "0-79", "--out", &out], budget].concat());
        assert!(done.status.success(), "{}", message(&done));
        out
    }

    /// Makes a report and gives back its page; standard output is JSON.
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

    fn refused(&self, arguments: &[&str]) -> String {
        let out = self.at("refused.html");
        let done = gcnproof(&[&["report", "--out", &out], arguments].concat());
        assert_eq!(done.status.code(), Some(2), "{arguments:?}");
        assert!(!Path::new(&out).exists());
        let message = message(&done);
        assert!(!message.contains("panicked"), "{message}");
        message
    }
}

/// Pictures: each is there for wide and for narrow pages.
fn svgs(page: &str) -> usize {
    page.matches("<svg ").count() / 2
}

#[test]
fn one_result_file_is_enough() {
    let folder = Folder::new();
    for extension in ["parquet", "jsonl", "csv"] {
        let results = folder.certify(&format!("rows.{extension}"), &["-Q", "5", "--complete"]);
        let (page, told) = folder.report(&[&results, "--graph", GRAPH]);
        // Shares at one Q, surroundings, flips, cost; no other model, no sample, no training log, no attack for all.
        assert_eq!((svgs(&page), told["drawn"].as_u64()), (5, Some(5)), "{extension}");
        let missing: Vec<u64> =
            told["missing"].as_array().unwrap().iter().map(|m| m["figure"].as_u64().unwrap()).collect();
        assert_eq!(missing, [2, 3, 5, 8]);
        assert!(page.contains("gcnproof validate") && page.contains("purity"));
    }
    // Without the graph less is known, and the page says so.
    let (page, _) = folder.report(&[&folder.at("rows.csv")]);
    assert!(page.contains("graph not given") && page.contains("Without the graph"));
    let csv = std::fs::read_to_string(folder.path("page-figures/fig1_shares_rows.csv")).unwrap();
    assert!(csv.starts_with("model,method,Q,") && csv.contains("exact search,5,"), "{csv}");
}

/// When, how and from what a page was made stands on it, and no caption spells a digest out.
#[test]
fn a_page_says_what_it_is_made_from() {
    let folder = Folder::new();
    let results = folder.certify("rows.parquet", &["-Q", "5", "-q", "2", "--complete"]);
    let (page, _) = folder.report(&[&results, "--graph", GRAPH, "--model", MODEL]);
    let sidecar = std::fs::read_to_string(folder.path("rows.parquet.run.json")).unwrap();
    let run: Value = serde_json::from_str(&sidecar).unwrap();
    for part in ["graph", "model"] {
        let digest = run["fingerprint"]["input"][part].as_str().unwrap();
        assert_eq!(digest.len(), 64);
        assert!(page.contains(&format!("{}…</code>", &digest[..12])), "{part}");
    }
    assert!(
        page.contains("gcnproof certify GRAPH MODEL -Q 5 -q 2 --complete") && page.contains("gcnproof report --out")
    );
    assert!(page.contains(concat!("gcnproof ", env!("CARGO_PKG_VERSION"))) && page.contains(" UTC"));
    // A training log knows its graph by its digest.
    let log = folder.at("log.jsonl");
    let heading =
        format!("{{\"gcnproof_training_log\":1,\"graph\":\"{}\",\"loss\":\"ce\"}}\n", "0123456789abcdef".repeat(4));
    std::fs::write(&log, heading + "{\"iteration\":1,\"loss\":2.5}\n{\"iteration\":2,\"loss\":1.5}\n").unwrap();
    let (page, _) = folder.report(&[&log]);
    assert!(page.contains("the graph 0123456789ab…") && !page.contains("0123456789abcdef0123456789abcdef"));
    // No box for what is not there: one list at the end.
    assert!(!page.contains("class=\"missing\""));
}

/// A mean over nodes that are certified up to the largest Q tried is a lower bound, and says so.
#[test]
fn a_capped_mean_is_told_as_one() {
    let folder = Folder::new();
    let study = folder.at("study");
    let model = "../fixtures/cora_robust.safetensors";
    let base = ["study", GRAPH, model, "--nodes", "0-39", "-Q", "2", "--Q-max", "2", "--sample", "2", "--out", &study];
    let done = gcnproof(&base);
    assert!(done.status.success() && text(&done.stdout).contains("bounds ≥ "), "{}", text(&done.stdout));
    let (page, _) = folder.report(&[&study]);
    for part in [
        "% of the nodes at the cap, Q = 2",
        "<br><small",
        "mean certified Q at least",
        "at the cap, Q = 2)",
        "withstand at least that many",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(page.contains("\"cap\":2"));
    // The witness strip is nothing but zero: it is said, not drawn.
    assert!(!page.contains("zero on 100 %"));
    // Every tick of Q is there, the last one too, and lines are steps.
    let svg = std::fs::read_to_string(folder.path("page-figures/fig1_shares_cora_robust.svg")).unwrap();
    for q in ["0", "1", "2"] {
        assert!(svg.contains(&format!(">{q}</text>")), "{q}");
    }
}

/// A study keeps graph and model for its report; a report without them is made all the same.
#[test]
fn removed_edges_are_reported_in_their_own_words() {
    let folder = Folder::new();
    let run = |name: &str, words: &[&str]| {
        let out = folder.at(name);
        let edges = ["--nodes", "0-79", "--edges", "remove", "-e", "3", "--complete", "--out", &out];
        let done = gcnproof(&[&[words[0], GRAPH, MODEL], &words[1..], &edges[..]].concat());
        assert!(done.status.success(), "{}", message(&done));
        out
    };
    let (two, five) = (run("edges-2.parquet", &["certify", "-E", "2"]), run("edges-5.csv", &["certify", "-E", "5"]));
    let radii = run("edges-radii.jsonl", &["radius", "--max-E", "8"]);
    for files in [&[&*five][..], &[&*two, &*five], &[&*two, &*five, &*radii]] {
        for more in [&["--graph", GRAPH, "--model", MODEL][..], &["--graph", GRAPH], &[]] {
            let (page, summary) = folder.report(&[files, more].concat());
            assert!(summary["drawn"].as_u64().unwrap() >= 3, "{summary}");
            assert!(page.contains("Which edges attackers remove") && page.contains("E, removed edges in all"));
            assert!(page.contains("data-edges=\"remove\"") && !page.contains("Q, flips in all"));
            let visible = page.split("<script").next().unwrap();
            assert!(!visible.contains("Q = ") && !visible.contains("flips"), "{files:?}");
            assert!(page.contains("certify GRAPH MODEL --edges remove -E 5 -e 3 --complete"));
        }
    }
    let numbers = std::fs::read_to_string(folder.path("page-figures").join("fig6_cuts_edges.csv")).unwrap();
    assert!(numbers.contains("at the target") && numbers.lines().count() > 6, "{numbers}");
    let flips = folder.certify("flips.csv", &["-Q", "2"]);
    let refused = folder.refused(&[&five, &flips]);
    assert!(refused.contains("different attacks") && refused.contains("flips.csv"), "{refused}");
}

/// An edge that is inserted is called so, in the figure and in the data of the table; where both are allowed, the graph
/// tells.
#[test]
fn inserted_edges_are_not_called_removed() {
    let folder = Folder::new();
    let run = |name: &str, attack: &str| {
        let out = folder.at(name);
        let edges = ["certify", GRAPH, MODEL, "--nodes", "0-29", "--edges", attack, "-E", "1", "--out", &out];
        let done = gcnproof(&[&edges[..], &["--candidates-within", "2"]].concat());
        assert!(done.status.success(), "{}", message(&done));
        out
    };
    let changes = |page: &str| -> Vec<u64> {
        let data = page.split("\"kind\":\"attack\",\"values\":").nth(1).expect("a column of attacks");
        let lists: Vec<serde_json::Value> =
            serde_json::Deserializer::from_str(data).into_iter().next().unwrap().unwrap();
        let edges =
            lists.iter().filter_map(serde_json::Value::as_array).flat_map(|list| list.iter().skip(1).step_by(2));
        edges.map(|edge| edge.as_u64().unwrap() % 3).collect()
    };
    let (inserted, changed) = (run("inserted.csv", "insert"), run("changed.csv", "change"));
    let (page, _) = folder.report(&[&inserted, "--graph", GRAPH]);
    assert!(page.contains("Which edges attackers insert") && page.contains("E, inserted edges in all"));
    assert!(page.contains("data-edges=\"insert\"") && page.contains("Removed edges, changes of attributes"));
    let kinds = changes(&page);
    assert!(!kinds.is_empty() && kinds.iter().all(|&kind| kind == 1), "{kinds:?}");
    let (page, _) = folder.report(&[&changed, "--graph", GRAPH]);
    let kinds = changes(&page);
    assert!(kinds.contains(&0) && kinds.contains(&1) && !kinds.contains(&2), "{kinds:?}");
    let (page, _) = folder.report(&[&changed]);
    assert!(changes(&page).iter().all(|&kind| kind == 2));
    let refused = folder.refused(&[&inserted, &changed]);
    assert!(refused.contains("different attacks"), "{refused}");
}

/// Flips and changed edges at once: both figures, both parts of an attack, and the budget of flips on the slider.
#[test]
fn both_attackers_at_once_are_reported_and_summed_up() {
    let folder = Folder::new();
    let out = folder.at("both.jsonl");
    let base = ["certify", GRAPH, MODEL, "--nodes", "0-29", "-Q", "2", "-q", "1", "--edges", "remove", "-E", "1"];
    let done = gcnproof(&[&base[..], &["--out", &out]].concat());
    assert!(done.status.success(), "{}", message(&done));
    for more in [&["--graph", GRAPH, "--model", MODEL][..], &["--graph", GRAPH], &[]] {
        let (page, summary) = folder.report(&[&[&*out], more].concat());
        assert!(summary["drawn"].as_u64().unwrap() >= 3, "{summary}");
        for words in
            ["data-both", "data-edges=\"remove\"", "Which edges attackers remove", "What attackers flip", "\"edges\":["]
        {
            assert!(page.contains(words), "{words}");
        }
        assert!(page.contains("q = 1; at the same time removed edges, E = 1"));
        assert!(page.contains("Q, flips in all"));
    }
    let told = gcnproof(&["summary", &out]);
    assert!(told.status.success(), "{}", message(&told));
    assert!(text(&told.stdout).contains("robust") && text(&told.stdout).contains("--edges remove -Q 2 -q 1 -E 1"));
}

#[test]
fn moved_attributes_are_reported_in_their_own_words() {
    let folder = Folder::new();
    let run = |name: &str, words: &[&str]| {
        let out = folder.at(name);
        let moved = ["--nodes", "4-6", "--epsilon", "0.5", "-q", "1", "--out", &out];
        let done = gcnproof(&[&[words[0], GRAPH, MODEL], &words[1..], &moved[..]].concat());
        assert!(done.status.success(), "{}", message(&done));
        out
    };
    let rows = run("moved.parquet", &["certify", "-Q", "2", "--deployed", "float32"]);
    let radii = run("radii.jsonl", &["radius", "--max-Q", "2", "--deployed", "float32"]);
    for files in [&[&*rows][..], &[&*radii], &[&*rows, &*radii]] {
        for more in [&["--graph", GRAPH, "--model", MODEL][..], &["--graph", GRAPH], &[]] {
            let (page, summary) = folder.report(&[files, more].concat());
            assert!(summary["drawn"].as_u64().unwrap() >= 1, "{summary}");
            assert!(page.contains("Q, changes in all") && page.contains("data-moves"), "{files:?}");
            assert!(page.contains("attributes moved by at most 0.5"), "{files:?}");
            let visible = page.split("<script").next().unwrap();
            assert!(!visible.contains("flip"), "{files:?}: {visible}");
        }
    }
    let (page, _) = folder.report(&[&rows, "--graph", GRAPH]);
    assert!(page.contains("What attackers move") && page.contains("\"moved\":["));
    let numbers = std::fs::read_to_string(folder.path("page-figures").join("fig6_moves_moved.csv")).unwrap();
    assert!(numbers.contains("raised,lowered,moved") && numbers.contains("attribute "), "{numbers}");
    let flips = folder.certify("flips.csv", &["-Q", "2"]);
    let refused = folder.refused(&[&rows, &flips]);
    assert!(refused.contains("different attacks") && refused.contains("--epsilon"), "{refused}");
}

#[test]
fn a_study_keeps_what_its_report_needs() {
    let folder = Folder::new();
    let study = folder.at("study");
    let base = ["study", GRAPH, MODEL, "--nodes", "0-39", "-Q", "3", "--Q-max", "3", "--sample", "0", "--out", &study];
    assert!(gcnproof(&base).status.success());
    let manifest: Value = serde_json::from_slice(&std::fs::read(folder.path("study/study.json")).unwrap()).unwrap();
    assert_eq!(manifest["models"][0]["model"], "cora_pyg.model.safetensors");
    assert!(manifest["commands"][0].as_str().unwrap().starts_with("gcnproof study "));
    let (page, _) = folder.report(&[&study]);
    assert!(page.contains("id=\"graph\"") && page.contains("\"effects\":") && page.contains("gcnproof study "));
    std::fs::remove_file(folder.path("study/cora_pyg.model.safetensors")).unwrap();
    let (page, _) = folder.report(&[&study]);
    assert!(page.contains("id=\"graph\"") && !page.contains("\"effects\":"));
    std::fs::remove_file(folder.path("study/graph.npz")).unwrap();
    let (page, _) = folder.report(&[&study]);
    assert!(!page.contains("id=\"graph\"") && page.contains("No map and no neighbourhoods are drawn"));
    // The same from single files.
    let results = folder.certify("rows.parquet", &["-Q", "3"]);
    let (page, _) = folder.report(&[&results, "--graph", GRAPH, "--model", MODEL]);
    assert!(page.contains("\"effects\":"));
    let other = "../fixtures/cora_standard.safetensors";
    assert!(folder.refused(&[&results, "--graph", GRAPH, "--model", other]).contains("none of the results"));
    assert!(folder.refused(&[&results, "--model", MODEL]).contains("needs the graph"));
}

/// Results with exact margins are results, and the page has the exact value of every class pair.
#[test]
fn exact_margins_are_reported() {
    let folder = Folder::new();
    let results = folder.at("rows.parquet");
    let options = ["-Q", "2", "--minimize", "--exact-margins", "--nodes", "0-4", "--out", &results];
    let done = gcnproof(&[&["certify", GRAPH, MODEL], &options[..]].concat());
    assert!(done.status.success(), "{}", message(&done));
    let (page, _) = folder.report(&[&results, "--graph", GRAPH]);
    let data = page.split("class=\"table\">").nth(1).unwrap().split("</script>").next().unwrap();
    let table: Value = serde_json::from_str(data).unwrap();
    assert_eq!(table["explorer"]["margins"]["exact"].as_array().unwrap().len(), 5 * 6);
    std::fs::remove_file(folder.path("rows.parquet.run.json")).unwrap();
    assert!(folder.report(&[&results]).0.contains("budget is not known"));
}

#[test]
fn an_empty_result_file_is_named() {
    let folder = Folder::new();
    let empty = folder.at("empty.jsonl");
    std::fs::write(&empty, "").unwrap();
    let message = folder.refused(&[&empty]);
    assert!(message.contains("nothing to report") && message.contains("empty.jsonl"), "{message}");
    // Beside others it is a notice.
    let full = folder.certify("full.parquet", &["-Q", "3"]);
    let (page, _) = folder.report(&[&empty, &full]);
    assert!(page.contains("empty.jsonl holds no rows") && svgs(&page) >= 3);
    // A run that was stopped before its first row.
    let rows: Vec<gcnproof_results::record::NodeRecord> = Vec::new();
    let none = folder.path("none.parquet");
    gcnproof_results::write(&none, gcnproof_results::record::NodeRecord::SCHEMA, &rows).unwrap();
    assert!(folder.refused(&[none.to_str().unwrap()]).contains("no rows"));
}

#[test]
fn different_budgets_are_told_apart() {
    let folder = Folder::new();
    // The curve of the paper's bound needs that bound for every node.
    let one = folder.certify("a.parquet", &["-Q", "3", "-q", "1", "--margins", "tight"]);
    let two = folder.certify("b.parquet", &["-Q", "3", "-q", "5", "--flips", "add"]);
    let (page, _) = folder.report(&[&one, &two, "--graph", GRAPH]);
    assert!(page.contains("different budgets") && page.contains("q = 1") && page.contains("q = 5, only additions"));
    assert!(page.contains("<option value=\"1\">b (q = 5, only additions)</option>"));
    // Two Q of one budget are one curve.
    let three = folder.certify("c.parquet", &["-Q", "6", "-q", "1", "--margins", "tight"]);
    let (page, told) = folder.report(&[&one, &three]);
    assert!(!page.contains("different budgets"));
    assert_eq!(told["drawn"], 5);
    let csv = std::fs::read_to_string(folder.path("page-figures/fig1_shares_a.csv")).unwrap();
    assert!(
        csv.contains("exact search,3,") && csv.contains("exact search,6,") && csv.contains("the paper's bound,6,"),
        "{csv}"
    );
    // A description with words of a later version is not guessed at.
    let sidecar = folder.path("a.parquet.run.json");
    let written = std::fs::read_to_string(&sidecar).unwrap();
    let later = written.replace("\"level\": \"complete\"", "\"level\": \"oracle\"");
    assert_ne!(later, written);
    std::fs::write(&sidecar, later).unwrap();
    let (page, _) = folder.report(&[&one]);
    assert!(page.contains("not understood") && page.contains("oracle") && page.contains("Q not known"));
    // Without its sidecar nobody knows the budget.
    std::fs::remove_file(folder.path("a.parquet.run.json")).unwrap();
    let (page, _) = folder.report(&[&one]);
    assert!(page.contains("budget is not known") && page.contains("Q not known"));
}

#[test]
fn results_without_labels_have_no_accuracy() {
    let folder = Folder::new();
    let mut file = read_graph(Path::new(GRAPH), &GraphOptions::default()).unwrap();
    (file.labels, file.class_names, file.node_names) = (None, None, None);
    file.attribute_names = Some((0..file.attributes.columns).map(|d| format!("<w{d}> & \"co\"")).collect());
    let graph = folder.at("unlabelled.npz");
    write_graph_npz(Path::new(&graph), &file).unwrap();
    let results = folder.at("rows.parquet");
    let done = gcnproof(&["certify", &graph, MODEL, "-Q", "12", "--nodes", "0-49", "--out", &results]);
    assert!(done.status.success(), "{}", message(&done));
    let (page, _) = folder.report(&[&results, "--graph", &graph]);
    assert!(page.contains("no labels") && !page.contains("\"label\"") && page.contains("class 3"));
    // Names are data, never markup.
    assert!(page.contains("&lt;w") && !page.contains("<w1"));
}

#[test]
fn broken_and_foreign_files_are_refused_by_name() {
    let folder = Folder::new();
    let results = folder.certify("rows.parquet", &["-Q", "3"]);
    let bytes = std::fs::read(&results).unwrap();
    std::fs::write(folder.path("cut.parquet"), &bytes[..bytes.len() / 2]).unwrap();
    assert!(folder.refused(&[&folder.at("cut.parquet")]).contains("cut.parquet"));
    let lines = folder.certify("rows.jsonl", &["-Q", "3"]);
    let content = std::fs::read_to_string(&lines).unwrap();
    std::fs::write(folder.path("cut.jsonl"), &content[..content.len() - 40]).unwrap();
    let message = folder.refused(&[&folder.at("cut.jsonl")]);
    assert!(message.contains("cut.jsonl") && message.contains("line 80"), "{message}");
    std::fs::write(folder.path("foreign.csv"), "a,b\n1,2\n").unwrap();
    assert!(folder.refused(&[&folder.at("foreign.csv")]).contains("neither results"));
    std::fs::write(folder.path("notes.txt"), "hello").unwrap();
    assert!(folder.refused(&[&folder.at("notes.txt")]).contains("notes.txt"));
    assert!(folder.refused(&[&folder.at("absent.parquet")]).contains("absent.parquet"));
    assert!(folder.refused(&[folder.0.path().to_str().unwrap()]).contains("study.json"));
    // Another graph than that of the results.
    let mut file = read_graph(Path::new(GRAPH), &GraphOptions::default()).unwrap();
    file.labels = None;
    write_graph_npz(&folder.path("other.npz"), &file).unwrap();
    assert!(folder.refused(&[&results, "--graph", &folder.at("other.npz")]).contains("another graph"));
    let done = gcnproof(&["report", &results, "--out", "page.pdf"]);
    assert_eq!(done.status.code(), Some(2));
}

#[test]
fn a_study_is_resumed_and_reported_with_a_training_log() {
    let folder = Folder::new();
    let study = folder.at("study");
    let base = ["study", GRAPH, MODEL, "--nodes", "0-39", "-Q", "3", "--Q-max", "5", "--sample", "3", "--out", &study];
    let done = gcnproof(&[&base[..], &["--format", "json"]].concat());
    assert!(done.status.success(), "{}", message(&done));
    let told: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(told["models"][0]["nodes"], 40);
    // Everything is there: nothing is computed again, and no byte changes.
    let file = folder.path("study/cora_pyg.bounds.parquet");
    let before = std::fs::read(&file).unwrap();
    let refused = gcnproof(&base);
    let told = message(&refused);
    assert!(refused.status.code() == Some(2) && told.contains("--resume") && told.contains("--force"), "{told}");
    let base = [&base[..], &["--resume"]].concat();
    assert!(gcnproof(&base).status.success());
    assert_eq!(std::fs::read(&file).unwrap(), before);
    // With the exact curve the rest is added beside.
    let done = gcnproof(&[&base[..], &["--complete"]].concat());
    assert!(done.status.success(), "{}", message(&done));
    // Another budget is another study.
    let done = gcnproof(&[&base[..], &["-q", "2"]].concat());
    assert!(done.status.code() == Some(2) && message(&done).contains("--force"), "{}", message(&done));
    // So is another graph, whose copy must not replace the first one.
    let mut file = read_graph(Path::new(GRAPH), &GraphOptions::default()).unwrap();
    file.labels = None;
    let unlabelled = folder.at("unlabelled.npz");
    write_graph_npz(Path::new(&unlabelled), &file).unwrap();
    let done = gcnproof(&["study", &unlabelled, MODEL, "--nodes", "0", "--resume", "--out", &study]);
    assert!(done.status.code() == Some(2) && message(&done).contains("another graph"), "{}", message(&done));
    let log = folder.at("log.jsonl");
    std::fs::write(
        &log,
        "{\"gcnproof_training_log\":1,\"graph\":\"cora\",\"loss\":\"rh-u\",\"bound\":\"paper\",\"local\":14,\"global\":12,\"seed\":1}\n\
         {\"iteration\":1,\"seconds\":0.1,\"stage\":\"rh\",\"loss\":3.0,\"margin_labelled\":-1.5,\"margin_unlabelled\":null,\"certified\":0.1,\"accuracy_labelled\":0.5}\n\
         {\"iteration\":2,\"seconds\":0.2,\"stage\":\"rh-u\",\"loss\":2.0,\"margin_labelled\":0.5,\"margin_unlabelled\":-2.0,\"certified\":null,\"accuracy_labelled\":0.7}\n",
    )
    .unwrap();
    let (page, told) = folder.report(&[&study, &log]);
    assert!(page.contains("Training dynamics: log") && page.contains("RH-U begins") && page.contains("exact search"));
    // One model, and nothing about one attack for all nodes.
    assert_eq!(told["missing"].as_array().unwrap().len(), 2, "{told}");
    for figure in ["fig1_shares", "fig3_tightness", "fig4_surroundings", "fig6_flips", "fig7_cost"] {
        for extension in ["svg", "csv"] {
            let path = folder.path(&format!("page-figures/{figure}_cora_pyg.{extension}"));
            assert!(std::fs::metadata(&path).unwrap().len() > 100, "{}", path.display());
        }
    }
    // A step that is missing is told, not missed.
    std::fs::remove_file(folder.path("study/cora_pyg.pairs.parquet")).unwrap();
    let (page, _) = folder.report(&[&study]);
    assert!(page.contains("study is not finished: cora_pyg.pairs.parquet"));
    // A training log alone makes a page as well.
    let (page, _) = folder.report(&[&log]);
    assert_eq!(svgs(&page), 1);
}

#[test]
fn a_node_is_explained() {
    let explain = |node: &str, budget: &[&str]| {
        let done = gcnproof(&[&["explain", GRAPH, MODEL, "--node", node], budget].concat());
        assert!(done.status.success(), "{}", message(&done));
        text(&done.stdout)
    };
    let broken = explain("194", &["-Q", "3"]);
    for part in
        ["non-robust", "neighbourhood: its logits depend on 2 nodes", "add word 552 to the node itself", "unstable"]
    {
        assert!(broken.contains(part), "{part}: {broken}");
    }
    assert!(explain("163", &["-Q", "12"]).contains("the class is kept all the same"));
    assert!(explain("163", &["-Q", "0"]).contains("no flip is possible"));
    let json: Value = serde_json::from_str(&explain("0", &["-Q", "12", "--format", "json"])).unwrap();
    let told = &json["explanation"];
    assert_eq!((told["verdict"].as_str(), told["attack"]["breaks"].as_bool()), (Some("non_robust"), Some(true)));
    let steps = told["attack"]["steps"].as_array().unwrap();
    let margins: Vec<f64> = steps.iter().map(|step| step["margin"].as_f64().unwrap()).collect();
    assert!(margins.len() <= 12 && margins.last().unwrap() <= &0.0);
    let deep = gcnproof(&["explain", GRAPH, "../fixtures/cora_pyg_3layer.safetensors", "--node", "5", "-Q", "2"]);
    assert!(deep.status.success() && text(&deep.stdout).contains("layers above"), "{}", text(&deep.stdout));
    let done = gcnproof(&["explain", GRAPH, MODEL, "--node", "2708"]);
    assert!(done.status.code() == Some(2) && message(&done).contains("2707"));
}

/// Results about other nodes are never added up: each set of nodes has its own figures, and each figure says which
/// nodes and commands.
#[test]
fn every_number_is_about_one_set_of_nodes() {
    let folder = Folder::new();
    let verdicts = folder.certify("verdicts.parquet", &["-Q", "4"]);
    let radii = folder.at("radii.parquet");
    let few = ["radius", GRAPH, MODEL, "--nodes", "0-29", "--max-Q", "5", "--out", &radii];
    assert!(gcnproof(&few).status.success());
    let (page, told) = folder.report(&[&verdicts, &radii, "--graph", GRAPH]);
    assert!(page.contains("are about different nodes (30 of 2708 nodes (0-29); 80 of 2708 nodes (0-79))"), "{told}");
    // Two groups, and none of them has both verdicts and radii.
    for (csv, nodes) in [
        ("fig4_surroundings_verdicts__80_of_2708_nodes__0-79", 80),
        ("fig4_surroundings_radii__30_of_2708_nodes__0-29", 30),
    ] {
        let numbers = std::fs::read_to_string(folder.path("page-figures").join(format!("{csv}.csv"))).unwrap();
        assert_eq!(numbers.lines().count(), nodes + 1, "{csv}");
    }
    let overview = page.split("<table id=\"overview\"").nth(1).unwrap().split("</table>").next().unwrap();
    assert!(overview.contains("80 of 2708 nodes (0-79)") && overview.contains("robust and correct"), "{overview}");
    // The mean of what is certified stands in the line of the nodes that it is the mean of.
    let line = |nodes: &str| overview.split("<tr>").find(|line| line.contains(nodes)).expect(nodes);
    assert!(line("80 of 2708").contains("data-label=\"mean certified Q\">–"), "{overview}");
    assert!(
        line("30 of 2708").contains("Q up to 5") && line("30 of 2708").contains("data-label=\"robust\">–"),
        "{overview}"
    );
    // Beside every figure: how many nodes, which, and the whole command.
    let figures: Vec<&str> = page.split("<figure ").skip(1).collect();
    assert!(figures.len() >= 7);
    for figure in figures {
        let figure = figure.split("</figure>").next().unwrap();
        let made = figure.split("<div class=\"made\">").nth(1).expect(figure);
        let one = |nodes: &str, command: &str| made.contains(nodes) && made.contains(command);
        assert!(
            one("80 of 2708 nodes (0-79)", "gcnproof certify GRAPH MODEL -Q 4 -q 14 --nodes 0-79</code>")
                || one("30 of 2708 nodes (0-29)", "gcnproof radius GRAPH MODEL --max-Q 5 -q 14 --nodes 0-29</code>"),
            "{made}"
        );
        assert!(figure.contains("<a href=\"page-figures/fig"), "the numbers are a link");
    }
    // The same nodes are one population.
    let same = folder.at("same.parquet");
    assert!(gcnproof(&["radius", GRAPH, MODEL, "--nodes", "0-79", "--max-Q", "5", "--out", &same]).status.success());
    let (page, _) = folder.report(&[&verdicts, &same, "--graph", GRAPH]);
    assert!(!page.contains("are about different nodes") && page.contains("mean certified Q"));
}

/// Verdicts for the network as it runs are in the table, the figures and the commands.
#[test]
fn verdicts_as_deployed_are_reported() {
    let folder = Folder::new();
    let results = folder.certify("rows.parquet", &["-Q", "4", "--deployed", "float32", "--unit-roundoff", "2^-8"]);
    let (page, _) = folder.report(&[&results, "--graph", GRAPH]);
    for part in [
        "as deployed in a format with unit roundoff 2^-8",
        "that depend on rounding",
        "--deployed float32 --unit-roundoff 2^-8 --nodes 0-79",
        "\"title\":\"as deployed\"",
        "<b>As deployed.</b>",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let rows = gcnproof(&["summary", &results, "--format", "json"]);
    let told: Value = serde_json::from_slice(&rows.stdout).unwrap();
    let deployed = &told[0]["verdicts"][0]["deployed"];
    let sum: u64 = ["robust", "non_robust", "rounding_dependent", "undecided"]
        .iter()
        .map(|key| deployed[key].as_u64().unwrap())
        .sum();
    assert_eq!(sum, 80);
    // In so coarse a format less holds than exactly.
    assert!(deployed["robust"].as_u64() < told[0]["verdicts"][0]["robust"].as_u64(), "{told}");
}

#[test]
fn nothing_is_overwritten_without_force() {
    let folder = Folder::new();
    let results = folder.certify("rows.parquet", &["-Q", "2"]);
    folder.report(&[&results]);
    let before = std::fs::read(folder.path("page.html")).unwrap();
    let again = gcnproof(&["report", &results, "--out", &folder.at("page.html")]);
    assert!(again.status.code() == Some(2) && message(&again).contains("--force"), "{}", message(&again));
    assert_eq!(std::fs::read(folder.path("page.html")).unwrap(), before);
    let again = gcnproof(&["report", &results, "--force", "--title", "Anew", "--out", &folder.at("page.html")]);
    assert!(again.status.success() && std::fs::read(folder.path("page.html")).unwrap() != before);
}

/// `summary` counts what is in a file: by correctness, class and split.
#[test]
fn a_summary_has_classes_splits_and_correctness() {
    let folder = Folder::new();
    let results = folder.certify("rows.parquet", &["-Q", "3"]);
    let rows: Vec<NodeRecord> = gcnproof_results::read(Path::new(&results), NodeRecord::SCHEMA).unwrap();
    let asked = ["summary", &results, "--graph", GRAPH, "--split", "train=0-9", "--split", "none=2000"];
    let done = gcnproof(&[&asked[..], &["--format", "json"]].concat());
    assert!(done.status.success(), "{}", message(&done));
    let told: Value = serde_json::from_slice(&done.stdout).unwrap();
    let lines = told[0]["verdicts"].as_array().unwrap();
    let line = |part: &str| lines.iter().find(|line| line["part"] == part).unwrap_or_else(|| panic!("{part}: {told}"));
    let count = |fits: &dyn Fn(&NodeRecord) -> bool| rows.iter().filter(|row| fits(row)).count();
    assert_eq!(line("all")["nodes"], 80);
    assert_eq!(line("all")["robust"], count(&|row| row.verdict == Verdict::Robust));
    let right = |row: &NodeRecord| row.label == Some(row.predicted);
    assert_eq!(line("predicted correctly")["nodes"], count(&right));
    assert_eq!(line("predicted wrongly")["nodes"], 80 - count(&right));
    let both = count(&|row| right(row) && row.verdict == Verdict::Robust) as f64 / 80.0;
    assert!((line("all")["robust_and_correct"].as_f64().unwrap() - both).abs() < 1e-12);
    assert_eq!((line("split train")["nodes"].as_u64(), line("split none")["nodes"].as_u64()), (Some(10), Some(0)));
    let classes = lines.iter().filter(|line| line["part"].as_str().unwrap().starts_with("label "));
    assert_eq!(classes.map(|line| line["nodes"].as_u64().unwrap()).sum::<u64>(), 80);
    // For people.
    let told = gcnproof(&asked);
    let table = text(&told.stdout);
    for part in [
        "made by gcnproof certify GRAPH MODEL -Q 3 -q 14 --nodes 0-79",
        "80 of 2708 nodes (0-79)",
        "label Neural_Networks",
        "split train",
        "robust and correct",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let radii = folder.at("radii.csv");
    assert!(gcnproof(&["radius", GRAPH, MODEL, "--nodes", "0-29", "--max-Q", "5", "--out", &radii]).status.success());
    let told = gcnproof(&["summary", &radii]);
    assert!(
        text(&told.stdout).contains("mean certified Q") && text(&told.stdout).contains("at Q = 5"),
        "{}",
        text(&told.stdout)
    );
    let wrong = gcnproof(&["summary", &results, "--split", "0-9"]);
    assert!(wrong.status.code() == Some(2) && message(&wrong).contains("train=0-139"), "{}", message(&wrong));
}

/// A witness has no flip that could be left out, whatever the budget: with less of it, the class is kept.
#[test]
fn witnesses_do_not_grow_with_the_budget() {
    let folder = Folder::new();
    let results = folder.certify("rows.jsonl", &["-Q", "12"]);
    let rows: Vec<NodeRecord> = gcnproof_results::read(Path::new(&results), NodeRecord::SCHEMA).unwrap();
    let broken: Vec<&NodeRecord> = rows.iter().filter(|row| row.verdict == Verdict::NonRobust).collect();
    assert!(broken.len() > 10);
    let sizes: std::collections::BTreeSet<usize> = broken.iter().map(|row| row.witness.len()).collect();
    assert!(sizes.len() > 3 && sizes.iter().any(|size| *size < 4), "{sizes:?}");
    // The page's slider therefore knows when each of them breaks.
    let (page, _) = folder.report(&[&results, "--graph", GRAPH, "--model", MODEL]);
    assert!(page.contains("\"attacked\":["));
}
