//! Words and small numbers that the program reads and prints.

use std::path::Path;
use std::time::Duration;

use gcnproof_cli::collective_summary::{counted, deeds, rest};
use gcnproof_cli::radius::percentile;
use gcnproof_cli::run::{pace, rate};
use gcnproof_results::record::attackers::{SHOWN, Uses};
use gcnproof_run::Folder;
use gcnproof_run::budgets::budgets;
use gcnproof_run::outputs::same_file;

#[test]
fn budgets_are_lists_and_ranges() {
    let list = |text: &str| budgets(text).map(|budgets| budgets.numbers().to_vec());
    assert_eq!(list("20").unwrap(), [20]);
    assert_eq!(list("0-100:50,20, 50").unwrap(), [0, 20, 50, 100]);
    assert_eq!(list("3-5").unwrap(), [3, 4, 5]);
    assert_eq!(list("0-10:4").unwrap(), [0, 4, 8]);
    let signs = ["", "x", "-1", "1-", "5-3", "0-10:0", "0-10:", "7:2", "0-10:x", "1.5"];
    for wrong in signs.into_iter().chain(["0-99999999", "99999999999999999999"]) {
        let problem = list(wrong).unwrap_err();
        assert!(problem.contains("0-1000:50"), "{wrong}: {problem}");
    }
}

#[test]
fn one_file_has_many_paths() {
    assert!(same_file(Path::new("new.csv"), Path::new("./new.csv")));
    assert!(same_file(Path::new("Cargo.toml"), Path::new("src/../Cargo.toml")));
    assert!(!same_file(Path::new("new.csv"), Path::new("src/new.csv")));
}

#[test]
fn a_folder_of_proofs_is_named_by_its_files_too() {
    let file = |named: &str| Folder::new(Path::new(named)).file_of(7);
    assert_eq!(file("proofs"), Path::new("proofs/Q-7.jsonl"));
    assert_eq!(file("proofs/Q-N.jsonl"), Path::new("proofs/Q-7.jsonl"));
    assert_eq!(file("proofs/Q-N.jsonl.zst"), Path::new("proofs/Q-7.jsonl.zst"));
    assert_eq!(file("Q-N.jsonl.zst"), Path::new("./Q-7.jsonl.zst"));
}

#[test]
fn percentiles_are_those_of_the_nearest_rank() {
    let few = [0, 3, 3, 3, 3, 3];
    assert_eq!([10, 25, 50, 100].map(|percent| percentile(&few, percent)), [Some(0), Some(3), Some(3), Some(3)]);
    let ten: Vec<u64> = (1..=10).collect();
    let found = [10, 25, 50, 75, 90, 100].map(|percent| percentile(&ten, percent));
    assert_eq!(found, [Some(1), Some(3), Some(5), Some(8), Some(9), Some(10)]);
    assert_eq!((percentile(&[7], 10), percentile(&[], 10)), (Some(7), None));
}

#[test]
fn a_pace_is_known_after_the_first_row() {
    assert_eq!(pace(0, 3.0, Duration::ZERO), "…");
    assert_eq!(pace(6, 3.0, Duration::from_secs(45)), "2.0/s  45 seconds left");
}

#[test]
fn rates_have_few_digits() {
    let told =
        [(1, 4.0), (739191, 10000.0), (7, 0.94), (0, 0.0), (1967, 1.0)].map(|(count, seconds)| rate(count, seconds));
    assert_eq!(told, ["0.25/s", "73.9/s", "7.4/s", "0.00/s", "1967/s"]);
}

#[test]
fn counts_are_told_in_words() {
    assert_eq!(counted(1, "node") + ", " + &counted(2, "node"), "1 node, 2 nodes");
    assert_eq!(deeds(Uses { added: 3, removed: 1, unknown: 0 }), "3 added, 1 removed");
    assert_eq!(deeds(Uses { added: 0, removed: 2, unknown: 0 }), "2 removed");
    assert_eq!((rest(SHOWN).as_str(), rest(SHOWN + 2).as_str()), ("", ", and 2 more"));
}
