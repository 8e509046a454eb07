//! The rooms of the player: no import runs upward, and no referee imports the player.
//!
//! Read from the sources: every `crate::room::…` of a file under `src/room/` must name a room below its own in the list, or
//! the room itself.

use std::fs;
use std::path::{Path, PathBuf};

/// From the ground up. A room imports from rooms before it alone.
const ROOMS: [&str; 14] = [
    "number",
    "results",
    "chart",
    "problem",
    "bound",
    "proof",
    "search",
    "certify",
    "record",
    "train",
    "explain",
    "laboratory",
    "report",
    "command",
];

/// These import from no other room.
const ALONE: [&str; 3] = ["number", "results", "chart"];

/// A room, and the names that the library has at its root, by which the command line calls them.
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

/// The rooms that a line of code names after `crate::`, `{` included: `use crate::{a::b, c}` names `a` and `c`.
fn named(line: &str) -> Vec<String> {
    let code = line.split("//").next().unwrap_or("");
    let mut names = Vec::new();
    for after in code.split("crate::").skip(1) {
        let list = after.strip_prefix('{').map_or(vec![after], |list| list.split(',').collect());
        for item in list {
            let name: String = item.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            names.push(name);
        }
    }
    names
}

/// What is wrong with a file of a room, as `file:line: reason`.
fn upward(room: &str, file: &str, text: &str) -> Vec<String> {
    let floor = |name: &str| ROOMS.iter().position(|room| *room == name);
    let own = floor(room).unwrap_or_else(|| panic!("{file}: '{room}' is no room of the list"));
    let mut wrong = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for name in named(line) {
            let Some(other) = floor(&name) else { continue };
            if other > own || other != own && ALONE.contains(&room) {
                wrong.push(format!("{file}:{}: {room} imports {name}, which stands above it", number + 1));
            }
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
