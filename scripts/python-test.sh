#!/usr/bin/env bash
# Tests the Python package: a wheel, installed without an index; the tests without torch; and those with torch and PyTorch
# Geometric where they can be installed.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'python: %s\n' "$*" >&2; }

wheel=$(scripts/python-wheel.sh) || {
    # 3: the machine has no Python or no index, which is no fault of the package.
    [ $? -eq 3 ] || exit 1
    say "SKIPPED: all Python tests"
    exit 0
}
environment=target/python
say "installing $wheel without an index"
"$environment/bin/pip" install --quiet --disable-pip-version-check --no-index --no-deps --force-reinstall "$wheel"
"$environment/bin/python" -c 'import ray' 2>/dev/null ||
    "$environment/bin/pip" install --quiet --disable-pip-version-check -r python/requirements-distributed.txt >&2 ||
    say "SKIPPED: tests of runs over several machines (python/requirements-distributed.txt cannot be installed here)"
"$environment/bin/pytest" -q python/tests --ignore-glob='*/test_pyg_*' -p no:cacheprovider

[ -x scripts/python-env.sh ] || { say "SKIPPED: tests with torch (there is no scripts/python-env.sh)"; exit 0; }
torch=$(scripts/python-env.sh) || { say "SKIPPED: tests with torch and PyTorch Geometric, which cannot be installed here"; exit 0; }
# The environment is shared between clones: the wheel goes beside it.
site=target/python-torch
rm -rf "$site"
"$torch/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps --target "$site" "$wheel"
PYTHONPATH="$PWD/$site" "$torch/bin/python" -m pytest -q python/tests/test_pyg_*.py -p no:cacheprovider
