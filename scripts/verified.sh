#!/usr/bin/env bash
# Builds the checker that is proved correct: target/verified/gcnproof-verified, from Debian's coq, flocq, ocaml and zarith (1 GB, a minute).
# Exit code 3 and one line on standard error where these packages are missing and cannot be installed; 1 if a proof fails.
#   GCNPROOF_OFFLINE  if set, nothing is installed
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'verified: %s\n' "$*" >&2; }

packages="coq libcoq-flocq libzarith-ocaml-dev ocaml-findlib ocaml-nox"
complete() { command -v coqc >/dev/null && [ -e "$(coqc -where)/user-contrib/Flocq/IEEE754/Bits.vo" ] && command -v ocamlfind >/dev/null && ocamlfind query zarith >/dev/null 2>&1; }
install() {
    [ -z "${GCNPROOF_OFFLINE:-}" ] && command -v apt-get >/dev/null || return 1
    local sudo=
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null && sudo -n true 2>/dev/null || return 1
        sudo=sudo
    fi
    say "installing $packages (1 GB)"
    # shellcheck disable=SC2086
    $sudo apt-get install -y --no-install-recommends $packages >/dev/null 2>&1 ||
        { $sudo apt-get update >/dev/null 2>&1 && $sudo apt-get install -y --no-install-recommends $packages >/dev/null 2>&1; }
}

complete || install || true
if ! complete; then
    say "Coq, Flocq, OCaml and Zarith are missing and cannot be installed here (apt-get install $packages)"
    exit 3
fi

to=${CARGO_TARGET_DIR:-target}/verified
hash=$(cat check/verified/*.v check/verified/*.ml check/verified/build.sh | sha256sum | cut -c1-16)-$(coqc --print-version | tr ' ' '-')
if [ -x "$to/gcnproof-verified" ] && [ "$(cat "$to/built" 2>/dev/null)" = "$hash" ]; then
    exit 0
fi
say "checking the proofs and building $to/gcnproof-verified (half a minute)"
rm -rf "$to"
check/verified/build.sh "$to"
printf '%s\n' "$hash" >"$to/built"
