#!/usr/bin/env bash
# Makes the environment target/python (without torch) and the wheel, and prints the wheel's path.
#   scripts/python-wheel.sh              pure Rust
#   scripts/python-wheel.sh laboratory   with validate (HiGHS, see verify/install-highs.sh)
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'python: %s\n' "$*" >&2; }

python=${PYTHON:-python3}
command -v "$python" >/dev/null || { say "python3 is missing (3.10 or newer): install it, or set PYTHON"; exit 3; }
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { say "$("$python" --version) is too old: 3.10 or newer is needed; set PYTHON"; exit 3; }
environment=target/python
wanted=$(cat python/requirements-test.txt; "$python" --version)
# The mark is written last: an installation that was interrupted is begun again.
if [ "$(cat "$environment/mark" 2>/dev/null)" != "$wanted" ]; then
    say "installing what the tests need into $environment"
    rm -rf "$environment"
    mkdir -p target
    "$python" -m venv "$environment" || { say "no environment can be made: install python3-venv"; exit 3; }
    "$environment/bin/pip" install --quiet --disable-pip-version-check -r python/requirements-test.txt >&2 || { say "the packages of python/requirements-test.txt cannot be installed"; exit 3; }
    printf '%s\n' "$wanted" >"$environment/mark"
fi
features=()
[ $# -eq 0 ] || features=(--features "$1")
rm -rf target/wheels
"$environment/bin/maturin" build --release --manifest-path python/Cargo.toml --out target/wheels "${features[@]}" >&2
ls target/wheels/*.whl
