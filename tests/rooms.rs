//! The rooms of the certifier and the crates around it: no import runs upward, and no checker imports the certifier.
//!
//! Read from the sources: every `crate::room::…` of a file under `src/room/` must name a room below its own in the
//! list, or the room itself; the same under `check/src/`. Circles of files, which import each other directly or by way
//! of others, are counted. Crates have a list of their own: manifests and sources name only crates below.

#[path = "rooms/circles.rs"]
mod circles;

use std::fs;
use std::path::{Path, PathBuf};

use circles::Sources;

/// From the ground up. A room imports from rooms before it alone.
const ROOMS: [&str; 11] = [
    "number",
    "problem",
    "ranges",
    "deployed",
    "bound",
    "proof",
    "search",
    "certify",
    "edges",
    "collective",
    "explain",
];

/// These import from no other room.
const ALONE: [&str; 1] = ["number"];

/// The rooms of `check/src`, folders and single files, from the ground up.
const CHECK: [&str; 20] = [
    "ids",
    "number",
    "verdict",
    "accepted",
    "work",
    "format",
    "statement",
    "rounding",
    "core",
    "edges",
    "ranges",
    "expand",
    "fast",
    "checker",
    "joint",
    "collective",
    "question",
    "file",
    "report",
    "verified",
];

/// Circles of files in these crates, at most; all others have none. The numbers may only fall.
const CIRCLES: [(&str, usize); 2] = [("report", 3), ("python", 1)];

/// The crates by their folders, from the ground up: a crate depends on crates before it alone.
const CRATES: [&str; 12] =
    ["files", "check", "verify", ".", "results", "train", "report", "run", "laboratory", "cli", "python", "hunt"];

/// All that these depend on, of our crates.
const FEW: [(&str, &[&str]); 5] = [
    ("files", &[]),
    ("check", &["files"]),
    ("verify", &[]),
    (".", &["files", "check"]),
    ("hunt", &["files", "check", "."]),
];

/// All sources of a folder, in order.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// A file without its comments, so that lines keep their numbers.
fn code(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n")
}

/// The rooms that code names after `crate::`, with the lines: `use crate::{a::b, c::{d, e}}` names `a` and `c`, over as
/// many lines as it takes.
fn named(code: &str) -> Vec<(usize, String)> {
    let mut names = Vec::new();
    for (place, _) in code.match_indices("crate::") {
        let after = &code[place + "crate::".len()..];
        let line = code[..place].matches('\n').count() + 1;
        let word = |text: &str| -> String {
            text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
        };
        if !after.starts_with('{') {
            names.push((line, word(after)));
            continue;
        }
        let (mut depth, mut start) = (0, 1);
        for (at, c) in after.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => {}
                _ => continue,
            }
            if depth == 0 || depth == 1 && c == ',' {
                names.push((line + after[..at].matches('\n').count(), word(&after[start..at])));
                start = at + 1;
            }
            if depth == 0 {
                break;
            }
        }
    }
    names
}

/// What is wrong with a file of a room, as `file:line: reason`.
fn upward(rooms: &[&str], room: &str, file: &str, text: &str) -> Vec<String> {
    let floor = |name: &str| rooms.iter().position(|room| *room == name);
    let own = floor(room).unwrap_or_else(|| panic!("{file}: '{room}' is no room of the list"));
    let mut wrong = Vec::new();
    for (line, name) in named(&code(text)) {
        let Some(other) = floor(&name) else { continue };
        if other > own || other != own && ALONE.contains(&room) {
            wrong.push(format!("{file}:{line}: {room} imports {name}, which stands above it"));
        }
    }
    wrong
}

#[test]
fn no_import_runs_upward() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut files, mut wrong) = (Vec::new(), Vec::new());
    sources(&root, &mut files);
    assert!(files.len() > 100, "{} files", files.len());
    let mut at_the_root = Vec::new();
    for path in files {
        let inside = path.strip_prefix(&root).unwrap();
        let name = inside.display().to_string();
        match inside.components().count() {
            1 => at_the_root.push(name),
            _ => {
                let room = inside.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
                wrong.extend(upward(&ROOMS, &room, &name, &fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(wrong.is_empty(), "imports that run upward:\n{}", wrong.join("\n"));
    at_the_root.retain(|name| !["lib.rs", "main.rs"].contains(&name.as_str()));
    assert!(at_the_root.len() <= 3, "files beside lib.rs and main.rs: {at_the_root:?}");
}

#[test]
fn no_import_of_the_checker_runs_upward() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("check/src");
    let (mut files, mut wrong) = (Vec::new(), Vec::new());
    sources(&root, &mut files);
    for path in files {
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        let room = name.split('/').next().unwrap().trim_end_matches(".rs");
        if !["lib", "main"].contains(&room) {
            wrong.extend(upward(&CHECK, room, &name, &fs::read_to_string(&path).unwrap()));
        }
    }
    assert!(wrong.is_empty(), "imports that run upward:\n{}", wrong.join("\n"));
}

/// The files of a crate without their comments, by their paths below `src`.
fn crate_sources(folder: &str) -> Sources {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    files.retain(|path| !path.ends_with("tests.rs") && !path.ends_with("main.rs"));
    let name = |path: &PathBuf| path.strip_prefix(&root).unwrap().display().to_string();
    Sources::new(files.iter().map(|path| (name(path), code(&fs::read_to_string(path).unwrap()))))
}

#[test]
fn few_files_import_each_other() {
    for folder in CRATES {
        let most = CIRCLES.iter().find(|(name, _)| *name == folder).map_or(0, |(_, most)| *most);
        let circles = crate_sources(folder).circles();
        assert!(circles.len() <= most, "{folder}/src has {} circles of files, not {most}: {circles:#?}", circles.len());
    }
}

#[test]
fn a_circle_is_found_and_named() {
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let files = [
        file("lib.rs", "mod a;\nmod b;\n"),
        file(
            "a/mod.rs",
            "mod inner;\npub use inner::Inner;\n\nuse crate::b::{self, Back as Other};\npub struct Outer;\n",
        ),
        file("a/inner.rs", "use std::fmt;\npub struct Inner;\n"),
        file("b.rs", "use crate::a::Inner;\npub struct Back;\n"),
    ];
    assert_eq!(Sources::new(files.clone().into_iter()).circles(), [[""; 0]; 0]);
    let mut turned = files.clone();
    turned[2].1 = "pub struct Inner;\nfn f() { crate::b::Back }\n".into();
    assert_eq!(Sources::new(turned.into_iter()).circles(), [["a/inner", "b"]]);
    let mut named = files;
    named[3].1 = "use super::a;\npub struct Back(a::Outer);\n".into();
    assert_eq!(Sources::new(named.into_iter()).circles(), [["a", "b"]]);
}

#[test]
fn an_upward_import_is_found_and_named() {
    let text = "//! crate::search is only spoken of.\nuse crate::number::dyadic::Dyadic;\nuse crate::search::tree;\n";
    assert_eq!(
        upward(&ROOMS, "bound", "bound/x.rs", text),
        ["bound/x.rs:3: bound imports search, which stands above it"]
    );
    assert_eq!(upward(&ROOMS, "certify", "certify/x.rs", text), [""; 0]);
    assert_eq!(upward(&ROOMS, "number", "number/x.rs", "let x = crate::{problem::a, number::b};").len(), 1);
    let spread = "use crate::{\n    number::{dyadic, rounding},\n    problem,\n    search::tree,\n};";
    assert_eq!(
        upward(&ROOMS, "bound", "bound/x.rs", spread),
        ["bound/x.rs:4: bound imports search, which stands above it"]
    );
}

/// The folder of one of our crates by its name in a manifest or, with `_`, in sources.
fn folder_of(name: &str) -> Option<&'static str> {
    let rest = name.strip_prefix("gcnproof")?;
    let folder = if rest.is_empty() { "." } else { rest.strip_prefix(['-', '_'])? };
    CRATES.into_iter().find(|known| *known == folder)
}

/// Our crates that a manifest depends on, with the lines; those of tests are left out.
fn depends(manifest: &str) -> Vec<(usize, &'static str)> {
    let mut section = "";
    let mut found = Vec::new();
    for (at, line) in manifest.lines().enumerate() {
        if line.starts_with('[') {
            section = line;
        } else if section == "[dependencies]" {
            let name = line.split(['.', ' ', '=']).next().unwrap_or("");
            found.extend(folder_of(name).map(|folder| (at + 1, folder)));
        }
    }
    found
}

/// Our crates that sources name, with the lines.
fn imports(code: &str) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    for (at, line) in code.lines().enumerate() {
        for (place, _) in line.match_indices("gcnproof") {
            let before = line[..place].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let name: String = line[place..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if line[place + name.len()..].starts_with("::") {
                found.extend(folder_of(&name).map(|folder| (at + 1, folder)));
            }
        }
    }
    found
}

/// What is wrong with a file of a crate, as `file:line: reason`.
fn above(folder: &str, file: &str, named: Vec<(usize, &'static str)>) -> Vec<String> {
    let floor = |name: &str| CRATES.iter().position(|known| *known == name);
    let few = FEW.iter().find(|(name, _)| *name == folder).map(|(_, few)| *few);
    let fits = |other: &str| other == folder || few.map_or(floor(other) < floor(folder), |few| few.contains(&other));
    let wrong = named.into_iter().filter(|(_, other)| !fits(other));
    wrong.map(|(line, other)| format!("{file}:{line}: {folder}/ imports {other}/")).collect()
}

#[test]
fn no_crate_imports_one_above_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut wrong = Vec::new();
    for folder in CRATES {
        let manifest = root.join(folder).join("Cargo.toml");
        let text = fs::read_to_string(&manifest).unwrap();
        wrong.extend(above(folder, &manifest.display().to_string(), depends(&text)));
        assert!(folder != "." || !text.contains("[features]"), "the certifier is built once: it has no features");
        let mut files = Vec::new();
        sources(&root.join(folder).join("src"), &mut files);
        for path in files {
            let text = code(&fs::read_to_string(&path).unwrap());
            // Unit tests may use the checkers' random numbers.
            let text = text.replace("#[cfg(test)]\npub(crate) mod tests", "#[cfg(test)]\nmod tests");
            let shipped = text.split("#[cfg(test)]\nmod tests").next().unwrap_or("");
            wrong.extend(above(folder, &path.display().to_string(), imports(shipped)));
        }
    }
    assert!(wrong.is_empty(), "crates that import what stands above them:\n{}", wrong.join("\n"));
}

#[test]
fn a_crate_above_is_found_and_named() {
    let text = "use gcnproof::internals::bound;\nuse gcnproof_run::ours;\nlet x = gcnproof_cli::run::stop();\n";
    let told = ["x.rs:2: results/ imports run/", "x.rs:3: results/ imports cli/"];
    assert_eq!(above("results", "x.rs", imports(text)), told);
    assert_eq!(above("cli", "x.rs", imports(text)), [""; 0]);
    assert_eq!(above("check", "x.rs", imports(text)).len(), 3);
    let manifest = "[dependencies]\ngcnproof.workspace = true\n[dev-dependencies]\ngcnproof-cli.workspace = true\n";
    assert_eq!(depends(manifest), [(2, ".")]);
}

/// A run is a value: what stops it and what counts its progress is its host, and it parses no arguments.
#[test]
fn runs_have_nothing_process_wide() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("run");
    let mut files = Vec::new();
    sources(&root.join("src"), &mut files);
    for path in files {
        let text = code(&fs::read_to_string(&path).unwrap());
        for (number, line) in (1..).zip(text.lines()) {
            let declared = line.trim_start().trim_start_matches("pub ").trim_start_matches("(crate) ");
            let wide = declared.starts_with("static ") || line.contains("thread_local!") || line.contains("clap::");
            assert!(!wide, "{}:{number}: {line}", path.display());
        }
    }
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    assert!(!manifest.contains("clap"), "run/Cargo.toml depends on clap");
}

/// Inside these crates, too: tables know nothing of rows, and charts nothing of the report.
#[test]
fn tables_and_charts_stand_alone() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    sources(&root.join("results/src"), &mut files);
    // Old files of rows are read by tables: tests of that need both.
    let both =
        ["results/src/record", "results/src/tests/versions.rs", "results/src/lib.rs"].map(|path| root.join(path));
    files.retain(|path| !both.iter().any(|both| path.starts_with(both)));
    sources(&root.join("report/src/chart"), &mut files);
    for path in files {
        for (line, name) in named(&code(&fs::read_to_string(&path).unwrap())) {
            let is_chart = path.starts_with(root.join("report"));
            assert!(name != "record" && !(is_chart && name != "chart"), "{}:{line}: imports {name}", path.display());
        }
    }
}

#[test]
fn no_checker_imports_the_certifier() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for checker in ["check", "verify", "files"] {
        let mut files = vec![];
        sources(&root.join(checker).join("src"), &mut files);
        for path in files {
            for (number, line) in fs::read_to_string(&path).unwrap().lines().enumerate() {
                let code = line.split("//").next().unwrap_or("");
                assert!(
                    !code.contains("gcnproof::"),
                    "{}:{}: a checker imports the certifier",
                    path.display(),
                    number + 1
                );
            }
        }
        let manifest = fs::read_to_string(root.join(checker).join("Cargo.toml")).unwrap();
        let plain = manifest.lines().any(|line| line.starts_with("gcnproof.") || line.starts_with("gcnproof ="));
        assert!(!plain, "{checker}/Cargo.toml depends on the certifier");
    }
}
