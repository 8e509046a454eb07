//! The command `gcnproof-check` on files that prove little, and on hostile ones: what it says, and the memory it takes.
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/checker/statements").join(name)
}

fn checker(proofs: &Path, more: &[&str]) -> Output {
    let command = &mut Command::new(env!("CARGO_BIN_EXE_gcnproof-check"));
    command.arg(file("g.npz")).arg(file("m.npz")).arg(proofs).args(more).output().unwrap()
}

fn told(output: &Output) -> (i32, String) {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8(text).unwrap();
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    (output.status.code().unwrap(), text)
}

/// Each of these was accepted, or shown as something that it is not.
#[test]
fn files_that_prove_little() {
    let (code, text) = told(&checker(&file("n.jsonl"), &[]));
    assert!(code == 1 && text.contains("nothing is proved") && text.contains("3 not mentioned"), "{text}");
    let (code, text) = told(&checker(&file("z.jsonl"), &[]));
    assert!(
        code == 4 && text.contains("q = 0 for all nodes") && text.contains("no flip at all is permitted"),
        "{text}"
    );
    assert!(
        text.starts_with("The file states: whatever attributes are flipped, at most 2 in all (q = 0 for all nodes)"),
        "{text}"
    );
    assert!(text.contains("no question was asked"), "{text}");
    let (code, text) = told(&checker(&file("esc.jsonl"), &[]));
    assert!(code == 1 && text.contains(r"gcn\u{1b}[2J\u{1b}[Haccepted"), "{text}");
    let (code, text) = told(&checker(&file("e901.jsonl"), &[]));
    assert!(code == 1 && text.contains("the exponent 901 is out of range"), "{text}");
    let right = std::fs::read_to_string(file("e901.jsonl")).unwrap().replace("901", "900");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("right.jsonl");
    std::fs::write(&path, right).unwrap();
    let (code, text) = told(&checker(&path, &["--expect-Q", "2", "--expect-q", "2", "--expect-nodes", "0"]));
    assert!(code == 0 && text.contains("1 robust"), "{text}");
}

#[test]
fn exit_codes() {
    for (more, code, text) in [
        (&["--expect-Q", "3", "--expect-nodes", "2"][..], 1, "asked about q = 1 at node 0, stated q = 0"),
        (&["-Q", "2", "-q", "1", "--nodes", "2"], 1, "asked about q = 1 at node 0, stated q = 0"),
        (&["-Q", "2", "-q", "0", "--nodes", "2"], 0, "proved: the file answers the question"),
        (&["-Q", "2", "-q", "0"], 1, "2 of 3 nodes asked about have no proof that answers: 0, 1"),
        (
            &["-Q", "0", "--expect-nodes", "2", "--expect-classes", "predicted", "--message-passing", "gcn"],
            0,
            "1 robust",
        ),
        (&["-Q", "0", "--nodes=2", "--local=7%"], 0, "1 robust"),
        (&["-Q", "0", "--expect-classes", "labels"], 1, "asked about the label of a node"),
        (&["-Q", "0", "--nodes", "2", "--message-passing", "mean"], 1, "asked about message passing mean,mean, stated"),
        (&["-E", "1", "--keep-one-edge=false"], 1, "asked about changed edges"),
        (&["-E", "1", "--keep-one-edge"], 1, "asked about changed edges"),
        (
            &["--message-passing", "gcn & poly(gcn-self;1,2),gcn"],
            1,
            "asked about message passing gcn & poly(gcn-self;1,2),gcn",
        ),
        (&["--message-passing", "gcn,gcn"], 4, "1 robust"),
        (&["--message-passing", "nonsense"], 2, "'nonsense' is none of gcn"),
        (&["--matrix", "no such file"], 2, "no such file"),
        (&["--expect-direction", "add"], 2, "a question needs a budget"),
        (&["--expect-nodes", "all"], 2, "a question needs a budget"),
        (&["-Q", "1", "--expect-nodes", "3"], 2, "there is no node 3: there are 3"),
        (&["-Q", "1", "--expect-nodes", "x"], 2, "expected ids and ranges"),
        (&["--expect-Q", "-1"], 2, "needs a whole number"),
        (&["--expect-Q"], 2, "--expect-Q needs a value"),
        (&["-Q", "1", "-Q", "2"], 2, "given twice"),
        (&["--exact=1"], 2, "--exact takes no value"),
        (&["-Q", "1", "--flush-subnormals=1"], 2, "takes no value"),
        (&["-Q", "1", "--expect-classes", "\u{1b}[2J"], 2, "expected predicted or labels"),
        (&["--expect\u{1b}[2J"], 2, r"unknown option --expect\u{1b}[2J"),
        (&["more"], 2, "GRAPH, MODEL and PROOFS are needed"),
    ] {
        let (found, told) = told(&checker(&file("z.jsonl"), more));
        assert!(found == code && told.contains(text), "{more:?}: {found} {told}");
    }
    assert_eq!(told(&checker(&file("no such file"), &[])).0, 2);
    let (code, text) = told(&checker(&file("g.npz"), &[]));
    assert!(code == 2 && text.contains("is an npz file, such as a graph or a model"), "{text}");
    // It can be opened, but not read.
    assert_eq!(told(&checker(&file(""), &[])).0, 2);
}

/// The most memory that a command had, in MiB, where the system says so.
#[cfg(target_os = "linux")]
fn peak(proofs: &Path) -> (i32, String, u64) {
    // A process keeps its peak only while it lives, so that the shell hands on what it measured of its child.
    let script = r#""$@" > "$0.out" 2>&1 & child=$!; peak=0
        while kill -0 $child 2>/dev/null; do
            now=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' /proc/$child/status 2>/dev/null)
            [ -n "$now" ] && [ "$now" -gt "$peak" ] && peak=$now
            sleep 0.01
        done; wait $child; code=$?; cat "$0.out"; echo "peak $peak"; exit $code"#;
    let command = &mut Command::new("bash");
    command.args(["-c", script]).arg(proofs).arg(env!("CARGO_BIN_EXE_gcnproof-check"));
    let output = command.arg(file("g.npz")).arg(file("m.npz")).arg(proofs).output().unwrap();
    let (code, text) = told(&output);
    let peak = text.lines().last().and_then(|line| line.strip_prefix("peak ")?.parse::<u64>().ok()).unwrap();
    (code, text, peak >> 10)
}

/// Files whose text is far larger than the graph: most of it is never held, and what is held does not grow beyond
/// bounds.
#[cfg(target_os = "linux")]
#[test]
fn hostile_files_take_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let good = std::fs::read_to_string(file("n.jsonl")).unwrap();
    let (header, _) = good.split_once('\n').unwrap();
    let proof = r#"{"node":{"id":0,"class":1,"claim":{"robust":[{"class":0,"tree":["#;
    type Writer<'a> = &'a dyn Fn(&mut dyn Write) -> std::io::Result<()>;
    // `count` bytes of repetitions in a line that would end rightly.
    let line = |piece: &'static str, bytes: usize| {
        move |to: &mut dyn Write| {
            writeln!(to, "{header}")?;
            write!(to, "{proof}")?;
            (0..bytes / piece.len()).try_for_each(|_| write!(to, "{piece}"))?;
            writeln!(to, "{{\"leaf\":{{}}}}]}}]}}}}}}\n{{\"end\":1}}")
        }
    };
    const MIB: usize = 1 << 20;
    let (split, leaf) = (r#"{"unit":[2,0,0]},"#, r#"{"leaf":{}},"#);
    let cases: [(&str, Writer, &str); 6] = [
        (
            "30 million local budgets",
            &|to| {
                let (before, after) = header.split_once(r#""local":2"#).unwrap();
                write!(to, r#"{before}"local":["#)?;
                (0..30_000_000).try_for_each(|_| write!(to, "0,"))?;
                writeln!(to, "0]{after}\n{{\"end\":0}}")
            },
            "a line of more than",
        ),
        ("64 MiB of leaves", &line(leaf, 64 * MIB), "a line of more than 8388608 bytes"),
        ("almost 8 MiB of leaves", &line(leaf, 8 * MIB - 400), "the tree is complete before this node"),
        ("almost 8 MiB of splits", &line(split, 8 * MIB - 400), "the path already splits here"),
        (
            "multipliers",
            &|to| {
                write!(to, "{header}\n{proof}{{\"leaf\":{{\"weight\":[[0,0,0,0]")?;
                (0..8 * MIB / 10 - 50).try_for_each(|_| write!(to, ",[0,0,0,0]"))?;
                writeln!(to, "]}}}}]}}]}}}}}}\n{{\"end\":1}}")
            },
            "is no hidden unit",
        ),
        (
            "many lines of leaves",
            &|to| {
                writeln!(to, "{header}")?;
                for _ in 0..64 {
                    write!(to, "{proof}")?;
                    (0..MIB / leaf.len()).try_for_each(|_| write!(to, "{leaf}"))?;
                    writeln!(to, "{leaf}{{\"leaf\":{{}}}}]}}]}}}}}}")?;
                }
                writeln!(to, "{{\"end\":64}}")
            },
            "the tree is complete before this node",
        ),
    ];
    for (name, write, expected) in cases {
        let path = folder.path().join("hostile.jsonl");
        let mut to = BufWriter::new(std::fs::File::create(&path).unwrap());
        write(&mut to).unwrap();
        to.flush().unwrap();
        drop(to);
        let (code, text, peak) = peak(&path);
        println!("{name}: {peak} MiB");
        assert!(code == 1 && text.contains(expected), "{name}: {text}");
        assert!(peak < 300, "{name}: {peak} MiB");
    }
}

/// A reader that goes away and a disk that is full are told by the exit code, not by a panic.
#[cfg(target_os = "linux")]
#[test]
fn closed_and_full_outputs() {
    let command = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gcnproof-check"));
        command.args(more);
        command
    };
    let (graph, model, proofs) = (file("g.npz"), file("m.npz"), file("z.jsonl"));
    let files = [&graph, &model, &proofs].map(|path| path.to_str().unwrap());
    for arguments in [&files[..], &["--help"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = command(arguments).stdout(full).output().unwrap();
        let (code, text) = told(&output);
        assert!(
            code == 2 && text.contains("standard output cannot be written") && !text.contains("panicked"),
            "{text}"
        );
        // Closed before the program starts: it must not depend on who is faster.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let (code, text) = told(&command(arguments).stdout(writer).output().unwrap());
        assert!(code == 141 && text.is_empty(), "{code}: {text}");
    }
    // Layers are named as for the certifier.
    let (code, text) = told(&command(&[&files[..], &["--layers", "nosuch"]].concat()).output().unwrap());
    assert!(code == 2 && text.contains("nosuch"), "{text}");
}
