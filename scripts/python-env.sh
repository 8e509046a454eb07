#!/usr/bin/env bash
# Makes the Python environment with PyTorch and PyTorch Geometric, and prints its path on standard output.
#
# It lies outside the clone, because it takes 6 GB and some minutes: ${GCNPROOF_CACHE:-$HOME/.cache/gcnproof}/python-HASH, where HASH
# is that of python/requirements-torch.txt and of Python's version. If it is there, nothing is done. Exit code 1 and one line on
# standard error if it cannot be made.
#   GCNPROOF_PYTHON   the Python to make it with (python3 by default)
#   GCNPROOF_OFFLINE  if set, an environment that is not there yet is not made
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'python-env: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

python=${GCNPROOF_PYTHON:-python3}
requirements=python/requirements-torch.txt
command -v "$python" >/dev/null || fail "no $python: install Python 3.10 or newer, or name one with GCNPROOF_PYTHON"
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') || fail "$python does not run"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || fail "$python is Python $version: 3.10 or newer is needed"

hash=$("$python" -c 'import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], "rb").read() + sys.argv[2].encode()).hexdigest()[:12])' \
    "$requirements" "$version")
cache=${GCNPROOF_CACHE:-$HOME/.cache/gcnproof}
environment=$cache/python-$hash
# Written last: an environment without it was interrupted.
marker=$environment/complete

if [ -e "$marker" ]; then
    printf '%s\n' "$environment"
    exit 0
fi
[ -z "${GCNPROOF_OFFLINE:-}" ] || fail "no environment at $environment, and GCNPROOF_OFFLINE is set"
mkdir -p "$cache" || fail "cannot write to $cache: name another folder with GCNPROOF_CACHE"
# Two runs at once would write into the same folder.
if command -v flock >/dev/null; then
    exec 9>"$cache/python-$hash.lock"
    flock 9
    if [ -e "$marker" ]; then
        printf '%s\n' "$environment"
        exit 0
    fi
fi
say "making $environment (6 GB, some minutes)"
rm -rf "$environment"
"$python" -m venv "$environment" >&2 || fail "$python -m venv failed: install python3-venv"
log=$cache/python-$hash.log
if ! "$environment/bin/python" -m pip install --disable-pip-version-check --no-cache-dir -r "$requirements" >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    fail "PyTorch and PyTorch Geometric cannot be installed here (the whole output: $log)"
fi
"$environment/bin/python" -c 'import torch, torch_geometric' >>"$log" 2>&1 ||
    fail "PyTorch was installed but cannot be imported (the whole output: $log)"
touch "$marker"
printf '%s\n' "$environment"
