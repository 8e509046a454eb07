//! Files of proofs, and files that are none.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;

use crate::question::{Attack, Question};

/// Opens a file of proofs.
///
/// # Errors
/// If it cannot be read, or is a graph, a model, a table of results or a folder instead, of which the file of the
/// budget asked about is named.
pub fn open_proofs(path: &Path, question: Option<&Question>) -> Result<impl Read + Send + use<>, String> {
    let unreadable = |error| format!("{}: cannot be read: {error}", path.display());
    if let Some(problem) = folder(path, question) {
        return Err(format!("{}: {problem}", path.display()));
    }
    let mut file = File::open(path).map_err(unreadable)?;
    let mut start = Vec::new();
    file.by_ref().take(64).read_to_end(&mut start).map_err(unreadable)?;
    if start.starts_with(b"\x1f\x8b") {
        // `gunzip FILE` wants a name that ends in .gz.
        let plain = path.with_extension("plain.jsonl");
        return Err(format!(
            "{0}: is compressed with gzip, and proofs are read plain or as zstd: unpack it with `gunzip < {0} > {1}`",
            path.display(),
            plain.display()
        ));
    }
    if start.starts_with(b"\xef\xbb\xbf") {
        let problem = "begins with a byte order mark, which an editor has added: save it as UTF-8 without one";
        return Err(format!("{}: {problem}", path.display()));
    }
    match other(&start) {
        Some(what) => Err(format!(
            "{}: is {what}, but a file of proofs is expected here: the graph comes first, then the model, then what `certify \
             --proofs` wrote",
            path.display()
        )),
        // What was read cannot be read again where the file is a pipe.
        None => Ok(Cursor::new(start).chain(file)),
    }
}

/// Why a folder is no file of proofs; `collective` writes one for each budget into a folder.
fn folder(path: &Path, question: Option<&Question>) -> Option<String> {
    let names = path.is_dir().then(|| std::fs::read_dir(path).into_iter().flatten().flatten())?;
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let budget = |name: &str| name.strip_prefix("Q-")?.split('.').next()?.parse::<u64>().ok();
    let asked = question.and_then(|question| match &question.attack {
        Attack::Flips(budget, _) | Attack::Collective { budget, .. } => Some(budget.global),
        Attack::Ranges(..) | Attack::Removals(_) | Attack::Joint(..) => None,
    });
    let found = names.filter_map(|name| Some((budget(&name)?, name)));
    Some(match found.min_by_key(|(budget, _)| (Some(*budget) != asked, *budget)) {
        Some((budget, name)) => format!(
            "is a folder of `collective`, with a file of proofs for each budget: give {} {}",
            if Some(budget) == asked { "that of yours," } else { "one of them, such as" },
            path.join(name).display()
        ),
        None => "cannot be read: it is a folder".into(),
    })
}

/// What a file is that begins so and has no proofs.
fn other(start: &[u8]) -> Option<&'static str> {
    // Rows of results begin with the number of a node, or of flips where they are about one attack.
    let number = |name: &[u8]| start.strip_prefix(name).and_then(<[u8]>::first).is_some_and(u8::is_ascii_digit);
    let is_tensors = start.len() > 8 && start[8] == b'{' && start[4..8] == [0; 4];
    if start.starts_with(b"PK\x03\x04") {
        Some("an npz file, such as a graph or a model")
    } else if is_tensors {
        Some("a model (safetensors)")
    } else if start.starts_with(b"PAR1") {
        Some("a table of results (Parquet)")
    } else if number(br#"{"node":"#) || number(br#"{"q_global":"#) {
        Some("a table of results (JSON lines)")
    } else if start.starts_with(b"node,") || start.starts_with(b"q_global,") {
        Some("a table of results (CSV)")
    } else {
        None
    }
}
