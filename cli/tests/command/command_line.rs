//! The command line as a user meets it: formats, interruption, bad input, awkward budgets.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use gcnproof::Verdict;
use gcnproof::internals::problem::matrix::PatternRows;
use gcnproof_results::read;
use gcnproof_results::record::edges::EdgeRecord;
use gcnproof_results::record::pair::PairRecord;
use gcnproof_results::record::{NodeRecord, RadiusRecord};

use crate::{gcnproof, text};

const GRAPH: &str = "../fixtures/cora.npz";
const MODEL: &str = "../fixtures/cora_pyg.safetensors";

/// Rows without what differs from run to run.
fn rows(path: &Path) -> Vec<NodeRecord> {
    let mut rows: Vec<NodeRecord> = read(path, NodeRecord::SCHEMA).unwrap();
    rows.iter_mut().for_each(|row| row.seconds = 0.0);
    rows
}

#[test]
fn the_three_formats_hold_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let mut all = Vec::new();
    for extension in ["parquet", "jsonl", "csv"] {
        let out = folder.path().join(format!("rows.{extension}"));
        let done =
            gcnproof(&["certify", GRAPH, MODEL, "-Q", "5", "--nodes", "0-59,100", "--out", out.to_str().unwrap()]);
        assert!(done.status.success(), "{}", text(&done.stderr));
        all.push(rows(&out));
    }
    assert_eq!(all[0].len(), 61);
    assert_eq!(all[0], all[1]);
    assert_eq!(all[0], all[2]);
    assert!(all[0].iter().all(|row| row.margins.len() == 6 && row.reference == row.predicted));
    assert!(all[0].iter().any(|row| row.verdict == Verdict::Robust));
    assert!(all[0].iter().all(|row| (row.verdict == Verdict::NonRobust) || row.witness.is_empty()));
}

#[test]
fn json_on_standard_output_has_run_summary_and_rows() {
    let done = gcnproof(&["certify", GRAPH, MODEL, "-Q", "3", "-q", "2", "--nodes", "7", "--format", "json"]);
    let value: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(value["run"]["budget"]["global"], 3);
    assert_eq!(value["summary"]["all"]["nodes"], 1);
    assert_eq!(value["rows"][0]["node"], 7);
}

#[test]
fn a_killed_run_leaves_a_valid_file_and_resumes_to_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let model = "../fixtures/cora_pyg_3layer.safetensors";
    let nodes = "0-199";
    let whole = folder.path().join("whole.parquet");
    let start = Instant::now();
    let done = gcnproof(&[
        "certify",
        GRAPH,
        model,
        "-Q",
        "12",
        "--bounds-only",
        "--nodes",
        nodes,
        "--out",
        whole.to_str().unwrap(),
    ]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let duration = start.elapsed();
    for extension in ["parquet", "jsonl", "csv"] {
        let out = folder.path().join(format!("killed.{extension}"));
        let arguments =
            ["certify", GRAPH, model, "-Q", "12", "--bounds-only", "--nodes", nodes, "--out", out.to_str().unwrap()];
        let mut child = Command::new(env!("CARGO_BIN_EXE_gcnproof"))
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(duration.mul_f64(0.7).max(Duration::from_millis(300)));
        let _ = child.kill();
        child.wait().unwrap();
        let kept = if out.exists() { rows(&out).len() } else { 0 };
        println!("{extension}: killed with {kept} of 200 rows in the file");
        let resumed = gcnproof(&[&arguments[..], &["--resume"]].concat());
        assert!(resumed.status.success(), "{}", text(&resumed.stderr));
        assert_eq!(rows(&out), rows(&whole));
    }
}

/// A hub's exact margin under 60 flips takes far longer than anyone waits after Ctrl-C.
#[cfg(unix)]
#[test]
fn an_interrupted_search_ends_at_once_and_is_no_result() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("rows.jsonl");
    let mut child = Command::new(env!("CARGO_BIN_EXE_gcnproof"))
        .args(["certify", GRAPH, MODEL, "-Q", "60", "-q", "1%", "--nodes", "1,163", "--minimize", "--out"])
        .arg(&out)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(4));
    assert!(child.try_wait().unwrap().is_none(), "the search was over too soon to be interrupted");
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let start = Instant::now();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert!(rows(&out).iter().all(|row| row.node != 163), "what was cut short is no result");
}

/// Starts the program, interrupts it after a while, and says how long it took to end; `None` if it was over before.
#[cfg(unix)]
fn interrupted(arguments: &[&str], after: Duration) -> Option<Duration> {
    let command = &mut Command::new(env!("CARGO_BIN_EXE_gcnproof"));
    let mut child = command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(after);
    if child.try_wait().unwrap().is_some() {
        return None;
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let start = Instant::now();
    let code = child.wait().unwrap().code();
    assert!(code == Some(130), "{arguments:?} after {after:?}: {code:?}");
    Some(start.elapsed())
}

/// Wherever a study or a demo stands, Ctrl-C ends it at once; what is done is kept, and --resume goes on.
#[cfg(unix)]
#[test]
fn study_and_demo_end_at_once_and_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let (study, demo) = (folder.path().join("study"), folder.path().join("demo"));
    // A hub whose class pairs are measured for a minute each, after everything else.
    let slow = ["--nodes", "163", "-Q", "40", "--Q-max", "3", "--sample", "1", "--complete", "--time-limit", "60"];
    let whole = ["study", GRAPH, MODEL, "--complete", "--resume", "--out", study.to_str().unwrap()];
    let sample = [&["study", GRAPH, MODEL, "--out", study.to_str().unwrap()], &slow[..]].concat();
    let demo = ["demo", "--resume", "--out", demo.to_str().unwrap()];
    let kept =
        |name: &str| read::<NodeRecord>(&folder.path().join(name), NodeRecord::SCHEMA).map_or(0, |rows| rows.len());
    for (arguments, file) in
        [(&demo[..], "demo/standard.complete-Q12.parquet"), (&whole, "study/cora_pyg.complete-Q12.parquet")]
    {
        let mut done = 0;
        for after in [700, 3000, 8000] {
            let Some(took) = interrupted(arguments, Duration::from_millis(after)) else { continue };
            println!("{} after {after} ms: {took:.2?}, {} rows", arguments[0], kept(file));
            assert!(took < Duration::from_secs(3), "{arguments:?} after {after} ms: {took:?}");
            // How soon there are rows depends on how busy the machine is; what is there stays.
            assert!(kept(file) >= done, "{arguments:?}: {} rows after {done}", kept(file));
            done = kept(file);
        }
        assert!(kept(file) > 0, "{arguments:?} kept nothing");
    }
    std::fs::remove_dir_all(&study).unwrap();
    let took = interrupted(&sample, Duration::from_secs(6)).expect("a hub takes longer");
    assert!(took < Duration::from_secs(3), "{took:?}");
    let pairs = study.join("cora_pyg.pairs.parquet");
    let rows: Vec<PairRecord> = read(&pairs, PairRecord::SCHEMA).unwrap_or_default();
    assert!(rows.is_empty(), "what was cut short is no result");
}

#[test]
fn another_run_is_not_resumed_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("rows.jsonl");
    let with = |global: &str, extra: &[&str]| {
        let base = ["certify", GRAPH, MODEL, "-Q", global, "--nodes", "0-9", "--out", out.to_str().unwrap()];
        gcnproof(&[&base[..], extra].concat())
    };
    assert!(with("2", &[]).status.success());
    let before = std::fs::read(&out).unwrap();
    let refused = with("3", &["--resume"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("-Q 2"), "{}", text(&refused.stderr));
    assert_eq!(std::fs::read(&out).unwrap(), before);
    assert!(with("3", &["--force"]).status.success());
    // A file that is not ours is not overwritten.
    let foreign = folder.path().join("thesis.csv");
    std::fs::write(&foreign, "do not lose me\n").unwrap();
    let refused = gcnproof(&["certify", GRAPH, MODEL, "-Q", "1", "--nodes", "0", "--out", foreign.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(&foreign).unwrap(), "do not lose me\n");
}

/// The same entries in other rows are another matrix: a run with the one is not gone on with by the other.
#[test]
fn matrices_are_told_apart_by_their_rows() {
    let (graph, model) = ("../fixtures/exact/radius_panic_graph.npz", "../fixtures/exact/radius_panic_model.npz");
    let folder = tempfile::tempdir().unwrap();
    let matrix = |name: &str, row: usize| {
        let mut entries = [[1.0, 0.0], [0.0, 0.0]];
        entries[row][1] = 0.5;
        let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }}{:58}\n", "");
        let mut bytes = [&b"\x93NUMPY\x01\x00"[..], &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat();
        bytes.extend(entries.as_flattened().iter().flat_map(|entry: &f64| entry.to_le_bytes()));
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_string()
    };
    let matrices = [matrix("one.npy", 0), matrix("other.npy", 1)];
    let out = folder.path().join("rows.jsonl");
    let proofs = folder.path().join("proofs.jsonl");
    let run = |matrix: &str, more: &[&str]| {
        let out = out.to_str().unwrap();
        gcnproof(&[&["certify", graph, model, "-Q", "1", "--message-passing", matrix, "--out", out], more].concat())
    };
    let done = run(&matrices[0], &["--proofs", proofs.to_str().unwrap()]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(run(&matrices[0], &["--resume"]).status.success());
    let refused = run(&matrices[1], &["--resume"]);
    let message = text(&refused.stderr);
    assert!(refused.status.code() == Some(2) && message.contains("--message-passing"), "{message}");
    // Nor does the one stand for the other in a proof.
    let check = |matrix: &str| {
        gcnproof(&["check", graph, model, proofs.to_str().unwrap(), "--message-passing", matrix]).status.code()
    };
    assert_eq!((check(&matrices[0]), check(&matrices[1])), (Some(4), Some(1)));
}

#[test]
fn awkward_budgets_mean_what_they_say() {
    let certify = |budget: &[&str]| {
        let done = gcnproof(&[&["certify", GRAPH, MODEL, "--nodes", "0-5", "--format", "json"], budget].concat());
        assert!(done.status.success(), "{budget:?}: {}", text(&done.stderr));
        let value: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        serde_json::from_value::<Vec<NodeRecord>>(value["rows"].clone()).unwrap()
    };
    // No flips at all: the clean margins, exactly.
    for budget in [&["-Q", "0"][..], &["-Q", "5", "-q", "0"], &["-Q", "5", "--freeze-nodes", "0-2707"]] {
        for row in certify(budget) {
            assert_eq!(row.verdict, Verdict::Robust, "{budget:?}");
            for margin in row.margins {
                let (lower, upper) = (margin.lower.unwrap(), margin.upper.unwrap());
                assert!(lower <= upper && upper - lower < 1e-9, "{budget:?}: {lower} {upper}");
            }
        }
    }
    // q > D and Q > Σq are as good as no limit at all, and a larger budget never helps the defender.
    let unlimited = certify(&["-Q", "99999999", "-q", "1433"]);
    assert_eq!(
        unlimited.iter().map(|r| (r.verdict, r.margins.clone())).collect::<Vec<_>>(),
        certify(&["-Q", "99999999", "-q", "18446744073709551615"])
            .iter()
            .map(|r| (r.verdict, r.margins.clone()))
            .collect::<Vec<_>>()
    );
    assert!(unlimited.iter().all(|row| row.verdict == Verdict::NonRobust));
    // Only additions, only removals.
    let graph = gcnproof::embedded::cora().0;
    for (direction, present) in [("add", false), ("remove", true)] {
        for row in certify(&["-Q", "12", "--flips", direction]) {
            for flip in row.witness {
                assert_eq!(graph.attributes().contains(flip.node as usize, flip.attribute), present);
            }
        }
    }
}

#[test]
fn radius_agrees_with_certify() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("radius.csv");
    let done = gcnproof(&["radius", GRAPH, MODEL, "--nodes", "0-29", "--max-Q", "20", "--out", out.to_str().unwrap()]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let radii: Vec<RadiusRecord> = read(&out, RadiusRecord::SCHEMA).unwrap();
    let graph = gcnproof::embedded::cora().0;
    let model = gcnproof_files::read_model(Path::new(MODEL)).unwrap();
    let gcn = gcnproof::Network::from_file(model, &[gcnproof::Operator::Gcn], &graph).unwrap();
    let mut workspace = gcnproof::internals::bound::workspace::Workspace::default();
    for row in radii {
        let verdict = |q: u64, workspace: &mut _| {
            let budget = gcnproof::Budget::uniform(&graph, q as usize, 14);
            let problem = gcnproof::Problem::new(graph.clone(), gcn.clone(), budget).unwrap();
            let certifier = gcnproof::Certifier::builder(problem)
                .effort(gcnproof::Effort::Complete(gcnproof::Limits::default()))
                .build();
            certifier.certify_node(row.node as usize, workspace).verdict
        };
        if row.node < 4 {
            assert_eq!(verdict(row.certified.unwrap(), &mut workspace), Verdict::Robust);
            if let Some(q) = row.attacked {
                assert_eq!(verdict(q, &mut workspace), Verdict::NonRobust);
            }
        }
        assert!(row.attacked.is_none_or(|q| q > row.certified.unwrap() && row.witness.len() == q as usize));
    }
}

/// Broken on purpose: a clear error with exit code 2, never a panic.
#[test]
fn broken_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| -> PathBuf {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let graph = std::fs::read(GRAPH).unwrap();
    let model = std::fs::read(MODEL).unwrap();
    let mut cases: Vec<(PathBuf, PathBuf)> = Vec::new();
    for cut in [0, 1, 10, 1000, 50_000] {
        cases.push((write(&format!("g{cut}.npz"), &graph[..cut]), MODEL.into()));
        cases.push((GRAPH.into(), write(&format!("m{cut}.safetensors"), &model[..cut])));
    }
    let mut flipped = model.clone();
    flipped[200] ^= 0xff;
    let mut not_a_number = model.clone();
    let end = not_a_number.len();
    not_a_number[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    cases.push((GRAPH.into(), write("flipped.safetensors", &flipped)));
    cases.push((GRAPH.into(), write("nan.safetensors", &not_a_number)));
    cases.push((MODEL.into(), GRAPH.into()));
    cases.push(("does/not/exist.npz".into(), MODEL.into()));
    for (graph, model) in cases {
        let done = gcnproof(&["certify", graph.to_str().unwrap(), model.to_str().unwrap(), "-Q", "1", "--nodes", "0"]);
        let message = text(&done.stderr);
        // A flipped header byte may leave a valid file; everything else must be refused.
        if !model.ends_with("flipped.safetensors") {
            assert_eq!(done.status.code(), Some(2), "{graph:?} {model:?}: {message}");
            let broken = if graph == Path::new(GRAPH) { &model } else { &graph };
            let name = broken.file_name().unwrap().to_str().unwrap();
            assert!(message.replace(['\n', ' ', '│'], "").contains(name), "{name}: {message}");
        }
        assert!(!message.contains("panicked"), "{message}");
    }
    for arguments in [
        &["certify", GRAPH, MODEL, "-Q", "1", "--nodes", "99999"][..],
        &["certify", GRAPH, MODEL, "-Q", "1", "--nodes", "x"],
        &["certify", GRAPH, MODEL, "-Q", "1", "-q", "x%"],
        &["certify", GRAPH, MODEL, "-Q", "1", "--message-passing", "gcn,gcn,gcn"],
        &["certify", GRAPH, MODEL, "-Q", "1", "--message-passing", "nonsense"],
        &["certify", GRAPH, MODEL, "-Q", "1", "--freeze-attributes", "1433"],
        &["certify", GRAPH, MODEL, "-Q", "1", "--out", "rows.txt"],
        &["certify", GRAPH, MODEL],
    ] {
        let done = gcnproof(arguments);
        assert_eq!(done.status.code(), Some(2), "{arguments:?}");
        assert!(!done.stderr.is_empty() && !text(&done.stderr).contains("panicked"), "{arguments:?}");
    }
}

#[test]
fn the_demo_and_inspect_say_what_they_are_about() {
    let demo = gcnproof(&["demo"]);
    assert!(demo.status.success() && text(&demo.stdout).contains("trained for this budget"), "{}", text(&demo.stderr));
    let inspect = gcnproof(&["inspect", GRAPH, MODEL, "--format", "json"]);
    let value: serde_json::Value = serde_json::from_slice(&inspect.stdout).unwrap();
    assert_eq!((value[0]["nodes"].as_u64(), value[0]["edges"].as_u64()), (Some(2708), Some(5278)));
    assert_eq!(value[0]["two_hop_size"]["max"], 426);
    assert!((value[2]["accuracy_on_labels"].as_f64().unwrap() - 0.837).abs() < 0.001);
}

/// Verdicts, radii and explanations of removed edges; and what is refused, by name.
#[test]
fn removed_edges_on_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (rows, proofs) = (path("rows.parquet"), path("proofs.jsonl"));
    let asked = ["certify", GRAPH, MODEL, "--edges", "remove", "-E", "3", "-e", "2", "--nodes", "0-99"];
    let more = ["--complete", "--out", &rows, "--proofs", &proofs, "--format", "json"];
    let done = gcnproof(&[&asked[..], &more].concat());
    assert!(done.status.success(), "{}", text(&done.stderr));
    let value: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(value["run"]["command"], "certify edges");
    assert_eq!(value["run"]["edges"]["global"], 3);
    assert_eq!(value["run"]["edges"]["keep_one"], true);
    assert_eq!(value["summary"]["undecided"], 0);
    assert!(value["summary"]["non_robust"].as_u64().unwrap() > 5);
    let read: Vec<EdgeRecord> = read(Path::new(&rows), EdgeRecord::schema(false, false)).unwrap();
    assert_eq!(read.len(), 100);
    assert!(read.iter().all(|row| (row.verdict == Verdict::NonRobust) != row.witness.is_empty()));
    let lines: Vec<serde_json::Value> =
        std::fs::read_to_string(&proofs).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["header"]["attack"], "edge_removals");
    assert_eq!(lines[0]["header"]["version"], 3);
    assert_eq!(lines.last().unwrap()["end"], 100);
    assert!(lines[1..101].iter().all(|line| line["node"]["claim"].is_object()));
    // A file of proofs that was cut off is gone on with, and says the same in the end.
    let whole = std::fs::read_to_string(&proofs).unwrap();
    let kept: String = whole.lines().take(41).map(|line| format!("{line}\n")).collect();
    std::fs::write(&proofs, kept + "{\"node\":{\"id\"").unwrap();
    let done = gcnproof(&[&asked[..], &more, &["--resume"]].concat());
    assert!(done.status.success(), "{}", text(&done.stderr));
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(String::from).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&std::fs::read_to_string(&proofs).unwrap()), sorted(&whole));
    let check = |question: &[&str]| gcnproof(&[&["check", GRAPH, MODEL, &proofs], question].concat());
    let done = check(&["--edges", "remove", "-E", "3", "-e", "2", "--nodes", "0-99"]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stdout));
    assert_eq!(check(&["--expect-E", "3", "--expect-e", "2", "--expect-nodes", "0-99"]).status.code(), Some(0));
    // A smaller budget: some witnesses do not fit it. A larger one: some nodes need not be robust.
    for question in [["-E", "1", "--nodes", "0-99"], ["-E", "4", "--nodes", "0-99"]] {
        let done = check(&question);
        assert_eq!(done.status.code(), Some(1), "{}", text(&done.stdout));
    }
    let other = ["certify", GRAPH, MODEL, "--edges", "remove", "-E", "4", "-e", "2", "--nodes", "0-99", "--complete"];
    let done = gcnproof(&[&other[..], &["--proofs", &proofs, "--out", &path("other.csv"), "--resume"]].concat());
    assert!(text(&done.stderr).contains("its proofs are of another run"), "{}", text(&done.stderr));
    let frozen = path("frozen.txt");
    let witness = &read.iter().find(|row| !row.witness.is_empty()).unwrap();
    let ends: Vec<String> = witness.witness.iter().map(|edge| format!("{}\n{}\n", edge.1, edge.0)).collect();
    std::fs::write(&frozen, ends.concat()).unwrap();
    let node = witness.node.to_string();
    let budget = ["--edges", "remove", "-E", "3", "-e", "2", "--freeze-edges", &frozen];
    let done = gcnproof(&[&["certify", GRAPH, MODEL, "--nodes", &node, "--format", "json"], &budget[..]].concat());
    let value: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let again = value["rows"][0]["witness"].as_array().unwrap();
    assert!(again.iter().all(|edge| !witness.witness.iter().any(|old| edge[0] == old.0 && edge[1] == old.1)));
    let done = gcnproof(&[
        "radius",
        GRAPH,
        MODEL,
        "--edges",
        "remove",
        "-e",
        "2",
        "--nodes",
        "0-9",
        "--complete",
        "--format",
        "json",
    ]);
    let value: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    for row in value["rows"].as_array().unwrap() {
        let (certified, attacked) = (row["certified"].as_u64().unwrap(), row["attacked"].as_u64());
        assert!(attacked.map_or(certified == 1000, |attacked| attacked == certified + 1), "{row}");
    }
    let done = gcnproof(&["explain", GRAPH, MODEL, "--node", &node, "--edges", "remove", "-E", "3", "-e", "2"]);
    assert!(text(&done.stdout).contains("the class changes"), "{}", text(&done.stdout));
    let refused = |arguments: &[&str], words: &[&str]| {
        let done = gcnproof(&[&["certify", GRAPH, MODEL][..], arguments].concat());
        let told = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(words.iter().all(|word| told.contains(word)), "{arguments:?}: {told}");
    };
    refused(&["--edges", "add", "-E", "3"], &["--edges add", "--edges insert"]);
    refused(&["--edges", "remove", "-E", "3", "--candidates-within", "2"], &["--edges remove", "may be inserted"]);
    let both = ["--edges", "remove", "-E", "3", "-Q", "2", "-q", "1"];
    refused(&[&both[..], &["--minimize"]].concat(), &["--minimize", "at once"]);
    refused(&["--edges", "remove", "-E", "3", "-q", "2", "-Q"], &["a value is required", "--global"]);
    let joint = path("joint.jsonl");
    let of_ten = ["--nodes", "0-9", "--complete", "--format", "json", "--proofs", &joint];
    let done = gcnproof(&[&["certify", GRAPH, MODEL][..], &of_ten, &both].concat());
    assert!(done.status.success(), "{}", text(&done.stderr));
    // One question is answered, that about both; more of either kind, or one of both alone, is another one.
    let check = |question: &[&str]| {
        gcnproof(&[&["check", GRAPH, MODEL, &joint, "--nodes", "0-9"], question].concat()).status.code()
    };
    assert_eq!(check(&both), Some(0));
    let more = ["-E", "4", "-Q", "2", "-q", "1"];
    let alone = [&["-E", "3"][..], &["-Q", "2", "-q", "1"]];
    assert!([&more[..], alone[0], alone[1]].iter().all(|question| check(question) == Some(1)));
    let told: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    for row in told["rows"].as_array().unwrap() {
        let changes = row["witness"].as_array().unwrap().len() + row["witness_edges"].as_array().unwrap().len();
        assert!(row["verdict"] != "undecided" && row["witness_size"].as_u64().unwrap_or(0) == changes as u64, "{row}");
    }
    refused(&["--edges", "remove", "-E", "3", "-q", "2"], &["--edges together with -q"]);
    refused(&["--edges", "remove"], &["how many edges"]);
    // Otherwise the option would be ignored: what --deployed excludes does not need it.
    refused(&["--edges", "remove", "-E", "3", "--unit-roundoff", "2^-8"], &["--unit-roundoff", "--edges"]);
    refused(&["-Q", "1", "--epsilon", "0.1", "--flush-subnormals"], &["--flush-subnormals needs --deployed"]);
    refused(&["-E", "3", "-Q", "2"], &["--edges"]);
    refused(&["--edges", "remove", "-E", "3", "--message-passing", "poly(gcn;0,1)"], &["layer 1", "poly(gcn;0,1)"]);
    refused(&["--edges", "remove", "-E", "3", "--freeze-edges", "../fixtures/none.txt"], &["../fixtures/none.txt"]);
    std::fs::write(&frozen, "0\n1\n5\n").unwrap();
    refused(&["--edges", "remove", "-E", "3", "--freeze-edges", &frozen], &["line 1: has one id"]);
    let deep = "../fixtures/cora_pyg_3layer.safetensors";
    let done =
        gcnproof(&["certify", GRAPH, deep, "--edges", "remove", "-E", "1", "--nodes", "0-4", "--format", "json"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let told: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert!(told["rows"].as_array().unwrap().iter().all(|row| row["verdict"] != "undecided"), "{told}");
}
