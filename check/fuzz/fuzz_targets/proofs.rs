//! Bytes that libFuzzer chooses, as a proofs file.

#![no_main]

#[path = "../../tests/checker/bytes/judge.rs"]
mod judge;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| judge::judge(data));
