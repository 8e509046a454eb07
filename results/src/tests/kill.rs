//! Tests of runs that are killed at random moments, and of what is left of them. The test program starts
//! a copy of itself, which is killed.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use super::{EVERYTHING, Everything, FORMATS, node, place, sample};
use crate::{Format, Journal, Mode, ResultError, read};

/// Where the killed program finds the path of its results, its mode and its salt.
const VARIABLE: &str = "GCNPROOF_TEST_VICTIM";

/// The rows of a run; their order is scrambled as that of threads is.
const ROWS: u32 = 240;

fn fingerprint(salt: u32) -> Value {
    json!({ "salt": salt })
}

/// The run itself: all rows that are not there yet, with a checkpoint at every third one.
fn run(path: &Path, mode: Mode, salt: u32) -> Result<Vec<Everything>, ResultError> {
    let mut journal = Journal::open(path, EVERYTHING, node, fingerprint(salt), ROWS as usize, mode)?;
    for node in (0..ROWS).map(|index| index * 77 % ROWS) {
        if journal.done().contains_key(&u64::from(node)) {
            continue;
        }
        if node % 3 == 0 {
            journal.due = Duration::ZERO;
        }
        journal.push(sample(node, salt))?;
    }
    journal.finish()
}

/// Not a test of its own: this is what the killed process does.
#[test]
fn victim() {
    let Ok(order) = std::env::var(VARIABLE) else {
        return;
    };
    let (path, mode, salt) = serde_json::from_str::<(String, bool, u32)>(&order).expect("an order");
    let mode = if mode { Mode::Resume } else { Mode::Force };
    run(Path::new(&path), mode, salt).expect("a run");
}

fn start(path: &Path, mode: Mode, salt: u32) -> Child {
    let module = module_path!().split_once("::").expect("a module").1;
    let order = json!([path.to_str().expect("a plain path"), mode == Mode::Resume, salt]);
    Command::new(std::env::current_exe().expect("the test program"))
        .args([&format!("{module}::victim"), "--exact", "--test-threads=1"])
        .env(VARIABLE, order.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a victim")
}

/// A random time below `most` milliseconds.
fn moment(most: u64) -> Duration {
    Duration::from_micros(RandomState::new().build_hasher().finish() % (most * 1000))
}

/// The rows in the file, each of which must be one of the run with this salt.
fn harvest(path: &Path, salt: u32) -> usize {
    let rows: Vec<Everything> = read(path, EVERYTHING).expect("the file is whole at every moment");
    for row in &rows {
        assert_eq!(format!("{row:?}"), format!("{:?}", sample(row.node, salt)));
    }
    rows.len()
}

fn killed_runs_end_as_others_do(format: Format) {
    let (_folder, other) = place(format);
    let wanted = run(&other, Mode::Fresh, 5).expect("an uninterrupted run");
    let (folder, path) = place(format);
    let (mut kills, mut partial) = (0, 0);
    loop {
        let mut victim = start(&path, Mode::Resume, 5);
        sleep(moment(60));
        let finished = victim.try_wait().expect("its state");
        if let Some(status) = finished {
            assert!(status.success(), "{format:?}: a resumed run failed");
            break;
        }
        victim.kill().expect("its death");
        victim.wait().expect("its end");
        kills += 1;
        let rows = if path.exists() { harvest(&path, 5) } else { 0 };
        partial += usize::from(0 < rows && rows < ROWS as usize);
        if kills > 500 {
            panic!("{format:?}: the run does not get on");
        }
    }
    assert!(kills > 0 && partial > 0, "{format:?}: {kills} kills, {partial} of them in the midst of the run");
    assert!(fs::read(&other).expect("rows") == fs::read(&path).expect("rows"), "{format:?}: the files differ");
    let rows = run(&path, Mode::Resume, 5).expect("nothing left to do");
    assert_eq!(format!("{rows:?}"), format!("{wanted:?}"));
    assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 2, "leftovers");
}

#[test]
fn killed_parquet_runs_end_as_others_do() {
    killed_runs_end_as_others_do(Format::Parquet);
}

#[test]
fn killed_json_lines_runs_end_as_others_do() {
    killed_runs_end_as_others_do(Format::JsonLines);
}

#[test]
fn killed_csv_runs_end_as_others_do() {
    killed_runs_end_as_others_do(Format::Csv);
}

/// Whoever reads sees what a kill at that moment would leave.
#[test]
fn readers_never_see_half_a_file() {
    for format in FORMATS {
        let (_folder, path) = place(format);
        run(&path, Mode::Fresh, 5).expect("a first run");
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| run(&path, Mode::Force, 5).expect("a second run"));
            let mut readings = 0;
            while !writer.is_finished() || readings == 0 {
                harvest(&path, 5);
                readings += 1;
            }
        });
    }
}

#[test]
fn rows_of_an_overwritten_run_are_never_inherited() {
    for format in FORMATS {
        let (_folder, path) = place(format);
        for _ in 0..12 {
            run(&path, Mode::Force, 1).expect("the old run");
            let mut victim = start(&path, Mode::Force, 2);
            sleep(moment(25));
            victim.kill().expect("its death");
            victim.wait().expect("its end");
            match Journal::open(&path, EVERYTHING, node, fingerprint(2), ROWS as usize, Mode::Resume) {
                Ok(journal) => assert_eq!(harvest(&path, 2), journal.done().len()),
                // Too early: the old run is still there, and all of it.
                Err(ResultError::OtherRun { .. }) => assert_eq!(harvest(&path, 1), ROWS as usize),
                Err(error) => panic!("{error}"),
            }
        }
    }
}
