//! The rooms of the player: no import runs upward, and no referee imports the player.
//!
//! Read from the sources: every `crate::room::…` of a file under `src/room/` must name a room below its own in the list, or
//! the room itself. The command line stands above all: it is a program of its own, and reaches them through the library.

use std::fs;
use std::path::{Path, PathBuf};

/// From the ground up. A room imports from rooms before it alone.
const ROOMS: [&str; 17] = [
    "number",
    "results",
    "chart",
    "problem",
    "deployed",
    "bound",
    "proof",
    "search",
    "certify",
    "edges",
    "collective",
    "record",
    "train",
    "explain",
    "laboratory",
    "report",
    "command",
];

/// These import from no other room.
const ALONE: [&str; 3] = ["number", "results", "chart"];

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

/// The rooms that code names after `crate::`, with the lines: `use crate::{a::b, c::{d, e}}` names `a` and `c`, over as many lines
/// as it takes.
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
fn upward(room: &str, file: &str, text: &str) -> Vec<String> {
    let floor = |name: &str| ROOMS.iter().position(|room| *room == name);
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
                wrong.extend(upward(&room, &name, &fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(wrong.is_empty(), "imports that run upward:\n{}", wrong.join("\n"));
    at_the_root.retain(|name| !["lib.rs", "main.rs"].contains(&name.as_str()));
    assert!(at_the_root.len() <= 3, "files beside lib.rs and main.rs: {at_the_root:?}");
}

#[test]
fn an_upward_import_is_found_and_named() {
    let text = "//! crate::search is only spoken of.\nuse crate::number::dyadic::Dyadic;\nuse crate::search::tree;\n";
    assert_eq!(upward("bound", "bound/x.rs", text), ["bound/x.rs:3: bound imports search, which stands above it"]);
    assert_eq!(upward("certify", "certify/x.rs", text), [""; 0]);
    assert_eq!(upward("results", "results/x.rs", "let x = crate::{number::a, results::b};").len(), 1);
    let spread = "use crate::{\n    number::{dyadic, rounding},\n    problem,\n    search::tree,\n};";
    assert_eq!(upward("bound", "bound/x.rs", spread), ["bound/x.rs:4: bound imports search, which stands above it"]);
}

#[test]
fn no_referee_imports_the_player() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for referee in ["check", "verify", "files"] {
        let mut files = vec![];
        sources(&root.join(referee).join("src"), &mut files);
        for path in files {
            for (number, line) in fs::read_to_string(&path).unwrap().lines().enumerate() {
                let code = line.split("//").next().unwrap_or("");
                assert!(
                    !code.contains("gcnproof::"),
                    "{}:{}: a referee imports the player",
                    path.display(),
                    number + 1
                );
            }
        }
        let manifest = fs::read_to_string(root.join(referee).join("Cargo.toml")).unwrap();
        let plain = manifest.lines().any(|line| line.starts_with("gcnproof.") || line.starts_with("gcnproof ="));
        assert!(!plain, "{referee}/Cargo.toml depends on the player");
    }
}
