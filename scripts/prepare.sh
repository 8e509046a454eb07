#!/usr/bin/env bash
# What the project's commands need beyond cargo: a C linker, and for the laboratory a prebuilt HiGHS.
#   scripts/prepare.sh          for the demo and the pure-Rust build
#   scripts/prepare.sh solvers  for the laboratory as well
#   scripts/prepare.sh browser  for the test of the report's page
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'prepare: %s\n' "$*" >&2; }

# Installs Debian packages where that is possible without asking.
install() {
    command -v apt-get >/dev/null || return 1
    local sudo=
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null && sudo -n true 2>/dev/null || return 1
        sudo=sudo
    fi
    say "installing $*"
    # The list of packages may be missing or old on a new machine.
    $sudo apt-get install -y --no-install-recommends "$@" >/dev/null 2>&1 ||
        { $sudo apt-get update >/dev/null && $sudo apt-get install -y --no-install-recommends "$@" >/dev/null; }
}

if ! command -v cargo >/dev/null; then
    [ -x "$HOME/.cargo/bin/cargo" ] || { say "cargo is missing: install Rust 1.89 or newer from https://rustup.rs"; exit 1; }
    say "cargo is in ~/.cargo/bin but not on PATH: add it"; exit 1
fi
if ! command -v cc >/dev/null; then
    install gcc libc6-dev || { say "a C linker is missing: install gcc and libc6-dev (apt-get install gcc libc6-dev)"; exit 1; }
fi
wants() { case " $wanted " in *" $1 "*) return 0 ;; esac; return 1; }
wanted="$*"
has_browser() {
    [ -n "${GCNPROOF_BROWSER:-}" ] && return 0
    for name in chromium chromium-browser google-chrome google-chrome-stable; do command -v "$name" >/dev/null && return 0; done
    return 1
}
if wants browser && ! has_browser; then
    install chromium || say "Chromium is missing (apt-get install chromium): the browser test will be skipped"
fi
if wants solvers; then
    # The prebuilt HiGHS comes as a Python wheel; nothing of it is installed into Python.
    python3 -m pip --version >/dev/null 2>&1 || install python3 python3-pip || say "python3 with pip is missing: HiGHS will be built from source"
    command -v pkg-config >/dev/null || install pkg-config || say "pkg-config is missing: HiGHS will be built from source"
    verify/install-highs.sh
fi
