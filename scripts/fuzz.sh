#!/usr/bin/env bash
# Fuzzes the proof parser and checker: scripts/fuzz.sh [SECONDS]. Needs a nightly toolchain and a C++ compiler, not cargo-fuzz.
set -euo pipefail
cd "$(dirname "$0")/../check/fuzz"
seconds="${1:-60}"
if ! cargo +nightly --version >/dev/null 2>&1; then
    echo "skipped: fuzzing needs a nightly toolchain (rustup toolchain install nightly --profile minimal)"
    exit 0
fi
target="${CARGO_TARGET_DIR:-../../target}/fuzz"
# What `cargo fuzz` passes, without the address sanitizer: the crates forbid unsafe code.
flags="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
flags="$flags -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table"
flags="$flags -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 -Coverflow-checks -Cdebug-assertions"
host="$(rustc -vV | sed -n 's/^host: //p')"
RUSTFLAGS="$flags" CARGO_TARGET_DIR="$target" cargo +nightly build --release --quiet --target "$host"
mkdir -p "$target/corpus"
exec "$target/$host/release/proofs" "$target/corpus" seeds -max_total_time="$seconds" -max_len=4096 -rss_limit_mb=2048 \
    -print_final_stats=1
