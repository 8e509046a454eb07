"""A published network that classifies molecules: converted, certified against flips of attributes, its proofs checked; as a table.

    python scripts/mutag.py MUTAG.npz MODEL.npz [--gcnproof target/release/gcnproof] [-Q 1 2 3 5] [-q 1] [--verified target/release/gcnproof-check] [--categories] [--out FOLDER]

MUTAG.npz has `edge_index`, `category` (the type of each atom), `batch` (the molecule of each atom) and `label`; MODEL.npz the weights that
were published with SCIP-MPNN: SAGE layers with sums over neighbours (`0.sage.nodeweights`, `0.sage.edgeweights`, `0.sage.bias`, …, ReLU
after all but the last), add pooling, and `3.dense.denseweights`, `3.dense.bias`. Needs numpy alone.

Every attribute of an atom is one of its 0/1 numbers, of which at most q are flipped in an atom and Q in a molecule; with --categories, atoms get another type. The converted files are
kept where --out says. Exit code 1 if a prediction is not that of `label`, a molecule is not decided, or a proof is not accepted.
"""

import argparse
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np


def graph(source, target, categories):
    """Writes the molecules as a graph file: one-hot attributes, the molecule of each atom, labels of molecules."""
    with np.load(source) as file:
        category, labels = file["category"].astype(np.int64), file["label"].astype(np.int64)
        x = np.eye(category.max() + 1, dtype=np.int8)[category]
        groups = {"attr_groups": np.zeros(x.shape[1], np.int64)} if categories else {}
        np.savez_compressed(target, edge_index=file["edge_index"].astype(np.int64), x=x, y=labels, batch=file["batch"].astype(np.int64), **groups)
    return labels


def model(source, target):
    """Writes the network as a model file that describes itself (docs/model-format.md)."""
    with np.load(source) as file:
        weights = {name: np.ascontiguousarray(file[name], np.float64) for name in file.files}
    convolutions = sum(name.endswith("nodeweights") for name in weights)
    layers, before = [], "x"
    for at in range(convolutions):
        terms = [
            {"from": before, "operator": operator, "weight": f"{at}.sage.{kind}weights", "transposed": True}
            for operator, kind in (("identity", "node"), ("sum", "edge"))
        ]
        activation = "none" if at + 1 == convolutions else "relu"
        layers.append({"name": f"h{at}", "activation": activation, "bias": f"{at}.sage.bias", "terms": terms})
        before = f"h{at}"
    dense = f"{convolutions}.dense"
    terms = [{"from": before, "operator": "pool-sum", "weight": f"{dense}.denseweights", "transposed": True}]
    layers.append({"name": "logits", "activation": "none", "bias": f"{dense}.bias", "terms": terms})
    text = json.dumps({"version": 1, "output": "logits", "layers": layers})
    header, at = {"__metadata__": {"gcnproof.network": text}}, 0
    for name, values in weights.items():
        header[name] = {"dtype": "F64", "shape": list(values.shape), "data_offsets": [at, at + values.nbytes]}
        at += values.nbytes
    start = json.dumps(header).encode()
    start += b" " * (-len(start) % 8)
    with open(target, "wb") as out:
        out.write(struct.pack("<Q", len(start)) + start)
        for values in weights.values():
            out.write(values.tobytes())


def timed(*command):
    start = time.perf_counter()
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    return done, time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--gcnproof", default="target/release/gcnproof", help="the program")
    parser.add_argument("-Q", type=int, nargs="+", default=[1, 2, 3, 5], help="flips in a molecule")
    parser.add_argument("-q", default="1", help="flips in an atom")
    parser.add_argument("--categories", action="store_true", help="types of atoms are changed, instead of attributes flipped")
    parser.add_argument("--verified", help="the program gcnproof-check: what it accepts is also shown to the verified checker")
    parser.add_argument("--out", type=pathlib.Path, help="a folder for the files")
    options = parser.parse_args()
    folder = options.out or pathlib.Path(tempfile.mkdtemp(prefix="mutag-"))
    folder.mkdir(parents=True, exist_ok=True)
    files = folder / "mutag.npz", folder / "sage_add.safetensors"
    labels = graph(options.data, files[0], options.categories)
    model(options.model, files[1])
    failed = False
    names = ["Q", "robust", "non-robust", "undecided", "seconds", "with proofs", "check", *(["verified"] if options.verified else []), "proofs"]
    print("".join(f"{name:>12}" for name in names))
    for budget in options.Q:
        asked = ["-Q", budget, "-q", options.q]
        done, _ = timed(options.gcnproof, "certify", *files, *asked, "--complete", "--format", "json")
        if done.returncode:
            sys.exit(done.returncode)
        told = json.loads(done.stdout)
        rows = told["rows"]
        right = sum(row["predicted"] == labels[row["graph"]] for row in rows)
        if right < len(labels):
            print(f"only {right} of {len(labels)} predictions are those of `label`")
            failed = True
        counts = [sum(row["verdict"] == verdict for row in rows) for verdict in ("robust", "non_robust", "undecided")]
        failed |= counts[2] > 0 or len(rows) < len(labels)
        proofs = folder / f"proofs-{budget}.jsonl.zst"
        proved, _ = timed(options.gcnproof, "certify", *files, *asked, "--complete", "--proofs", proofs, "--format", "json", "--out", folder / f"rows-{budget}.jsonl", "--force")
        spent = json.loads(proved.stdout)["summary"]["seconds"] if not proved.returncode else float("nan")
        checks = [timed(options.gcnproof, "check", *files, proofs, *asked)]
        if options.verified:
            checks.append(timed(options.verified, *files, proofs, *asked, "--verified"))
        words = []
        for check, seconds in checks:
            failed |= check.returncode != 0
            words.append(f"{seconds:.2f} s" if check.returncode == 0 else f"REJECTED {check.returncode}")
        size = f"{proofs.stat().st_size / 1e3:.0f} kB"
        print("".join(f"{cell:>12}" for cell in [budget, *counts, f"{told['summary']['seconds']:.3f}", f"{spent:.3f}", *words, size]))
    print(f"{len(labels)} molecules, {right} predictions reproduced; q = {options.q}; files in {folder}")
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
