#!/usr/bin/env bash
# Builds the proofs and the program: check/verified/build.sh FOLDER. Fails if anything is admitted or rests on an axiom.
set -euo pipefail
from=$(cd "$(dirname "$0")" && pwd)
to=${1:?a folder to build in}
mkdir -p "$to"
to=$(cd "$to" && pwd)
cp "$from"/*.v "$from"/*.ml "$to"
cd "$to"
if grep -nE '\b(Admitted|admit|Axiom|Parameter|Conjecture|Abort)\b' ./*.v; then
    echo "verified: a proof is missing" >&2
    exit 1
fi
for file in Spec Sums Tables Rules Integers Steps Slopes Nested Checker Forward Units Rows Bends Leaf Losses Trees Sound Floats Widen Categories Menus Divided DividedLeaf DividedSound Parts Collective CollectiveWorth CollectiveParts CollectiveSound Edges EdgesSound EdgesBound EdgesBoundSound EdgesVerified Joint JointSound Ranges RangesSound Roundings RoundedRow Arranged Deployed ComputedRow ArrangedSound DeployedRows DeployedSound DeployedVerified DeployedRanges DeployedRangesSound ExactRun Ieee Operators Extract; do
    coqc -q -R . Verified "$file.v" >"$file.out"
done
for file in Sound Floats Categories DividedSound CollectiveSound EdgesVerified JointSound RangesSound DeployedVerified DeployedRangesSound ExactRun; do
    if [ "$(cat "$file.out")" != "Closed under the global context" ]; then
        echo "verified: a theorem of $file.v rests on more than Coq itself:" >&2
        cat "$file.out" >&2
        exit 1
    fi
done
ocamlfind ocamlopt -package zarith -linkpkg -inline 100 -w -a number.ml checker.mli checker.ml main.ml -o gcnproof-verified
