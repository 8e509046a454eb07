//! Proofs on the command line.

/// The two commands: proofs are written beside the rows, resumed with them, checked, and noticed when changed.
#[test]
fn the_commands_write_resume_and_check() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["../fixtures/cora.npz", "../fixtures/cora_pyg.safetensors"];
    let (rows, proofs) = (folder.path().join("rows.jsonl"), folder.path().join("proofs.jsonl.zst"));
    let run = |arguments: &[&str]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_gcnproof")).args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    let certify = |extra: &[&str]| {
        let written = ["--out", rows.to_str().unwrap(), "--proofs", proofs.to_str().unwrap()];
        run(&[&["certify", files[0], files[1], "-Q", "4", "--nodes", "0-149"], &written[..], extra].concat())
    };
    let check = || run(&["check", files[0], files[1], proofs.to_str().unwrap(), "--format", "json"]);
    let (code, text) = certify(&[]);
    assert!(code == Some(0) && text.contains("proofs, "), "{text}");
    let (code, text) = check();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &value["rejected"]), (Some(4), &serde_json::json!(0)), "{text}");
    let whole = value["accepted"].clone();
    // Cut short, it is rejected as incomplete, what is there is accepted, and a resumed run completes it.
    let bytes = std::fs::read(&proofs).unwrap();
    std::fs::write(&proofs, &bytes[..bytes.len() * 2 / 3]).unwrap();
    assert_eq!(check().0, Some(1));
    let (code, text) = certify(&[]);
    assert!(code == Some(2) && text.contains("--resume"), "an unfinished file is not overwritten: {text}");
    assert_eq!(certify(&["--resume"]).0, Some(0));
    let (code, text) = check();
    assert_eq!((code, &serde_json::from_str::<serde_json::Value>(&text).unwrap()["accepted"]), (Some(4), &whole));
    // Other weights, other proofs.
    let (code, text) = run(&["check", files[0], "../fixtures/cora_pyg_3layer.safetensors", proofs.to_str().unwrap()]);
    assert!(code == Some(1) && text.contains("another model"), "{text}");
    assert_eq!(run(&["check", files[0], files[1], "missing.jsonl"]).0, Some(2));
}
