#!/usr/bin/env bash
# Fuzzes the proof parser and checker: scripts/fuzz.sh [SECONDS]. Needs a C++ compiler for libFuzzer, not cargo-fuzz.
set -euo pipefail
cd "$(dirname "$0")/../check/fuzz"
seconds="${1:-60}"
if ! command -v c++ >/dev/null; then
    echo "skipped: fuzzing needs a C++ compiler (apt-get install g++)"
    exit 0
fi
target="${CARGO_TARGET_DIR:-../../target}/fuzz"
# What `cargo fuzz` passes, without the address sanitizer: the crates forbid unsafe code.
flags="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
flags="$flags -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table"
flags="$flags -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 -Coverflow-checks -Cdebug-assertions"
host="$(rustc -vV | sed -n 's/^host: //p')"
RUSTFLAGS="$flags" CARGO_TARGET_DIR="$target" cargo build --release --quiet --target "$host"
mkdir -p "$target/corpus"
exec "$target/$host/release/proofs" "$target/corpus" seeds -max_total_time="$seconds" -max_len=4096 -rss_limit_mb=2048 \
    -print_final_stats=1
