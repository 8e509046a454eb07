#!/usr/bin/env bash
# Certifies the embedded graph and has all proofs judged by both checkers; GCNPROOF_SAMPLE=N for N of them only.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
folder=$target/verified-fixtures
rm -rf "$folder"
mkdir -p "$folder"
judge() {
    local name=$1 model=$2
    shift 2
    printf '%s: %s\n' "$name" "$*"
    "$target/release/gcnproof" certify fixtures/cora.npz "fixtures/$model" "$@" --proofs "$folder/$name.jsonl.zst" >"$folder/$name.txt" 2>&1 ||
        { cat "$folder/$name.txt" >&2; exit 1; }
    local question=()
    for word in "$@"; do [[ $word == --complete ]] || question+=("$word"); done
    "$target/release/gcnproof-check" fixtures/cora.npz "fixtures/$model" "$folder/$name.jsonl.zst" "${question[@]}" --verified ${GCNPROOF_SAMPLE:+--sample "$GCNPROOF_SAMPLE"}
}
judge standard cora_standard.safetensors -Q 12 -q 1% --complete
judge robust cora_robust.safetensors -Q 12 -q 1% --complete
judge executions cora_standard.safetensors -Q 12 -q 1% --nodes 0-99 --complete --deployed float32
judge three-layers cora_pyg_3layer.safetensors -Q 2 -q 1% --nodes 0-19 --complete
