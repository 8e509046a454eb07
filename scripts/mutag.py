"""A published network that classifies molecules: converted, certified against flips of attributes or changes of atoms, its proofs checked; as a table.

    python scripts/mutag.py MUTAG.npz MODEL.npz [--gcnproof target/release/gcnproof] [-Q 1 2 3 5] [-q 1] [--categories] [--verified target/release/gcnproof-check] [--threads 1] [--out FOLDER]

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

ATOMS = ["C", "N", "O", "F", "I", "Cl", "Br"]


def graph(source, target, categories):
    """Writes the molecules as a graph file: one-hot attributes, the molecule of each atom, labels of molecules."""
    with np.load(source) as file:
        category, labels = file["category"].astype(np.int64), file["label"].astype(np.int64)
        x = np.eye(category.max() + 1, dtype=np.int8)[category]
        groups = {"attr_groups": np.zeros(x.shape[1], np.int64)} if categories else {}
        edges, batch = file["edge_index"].astype(np.int64), file["batch"].astype(np.int64)
        np.savez_compressed(target, edge_index=edges, x=x, y=labels, batch=batch, attr_names=np.array(ATOMS[: x.shape[1]]), **groups)
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


def timed(command, *arguments):
    """Runs the program; its exit code, what it says, and the seconds that it takes from start to end."""
    start = time.perf_counter()
    done = subprocess.run([str(word) for word in [*command, *arguments]], stdout=subprocess.PIPE, text=True)
    return done.returncode, done.stdout, time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--gcnproof", default="target/release/gcnproof", help="the program")
    parser.add_argument("-Q", type=int, nargs="+", default=[1, 2, 3, 5], help="flips in a molecule")
    parser.add_argument("-q", default="1", help="flips in an atom")
    parser.add_argument("--categories", action="store_true", help="types of atoms are changed, instead of attributes flipped")
    parser.add_argument("--verified", help="the program gcnproof-check: proofs are shown to the verified checker as well")
    parser.add_argument("--threads", default="1", help="threads of the program")
    parser.add_argument("--out", type=pathlib.Path, help="a folder for the files")
    options = parser.parse_args()
    folder = options.out or pathlib.Path(tempfile.mkdtemp(prefix="mutag-"))
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / "mutag.npz", folder / "sage_add.safetensors"]
    labels = graph(options.data, files[0], options.categories)
    model(options.model, files[1])
    checks = {"check": ([options.gcnproof, "check"], [])}
    if options.verified:
        checks["verified"] = ([options.verified], ["--verified"])
    verdicts = ["robust", "non_robust", "undecided"]
    print("".join(f"{name:>13}" for name in ["Q", *verdicts, "certify", "with proofs", *checks, "proofs"]))
    failed, right = False, []
    for budget in options.Q:
        asked = ["-Q", budget, "-q", options.q]
        proofs = folder / f"proofs-{budget}.jsonl.zst"
        certify = [options.gcnproof, "certify", *files, *asked, "--complete", "--threads", options.threads, "--format", "json"]
        code, told, seconds = timed(certify, "--out", folder / f"rows-{budget}.jsonl", "--force")
        code_with, _, with_proofs = timed(certify, "--proofs", proofs)
        if code or code_with:
            sys.exit(code or code_with)
        rows = json.loads(told)["rows"]
        right.append(sum(row["predicted"] == labels[row["graph"]] for row in rows))
        counts = [sum(row["verdict"] == verdict for row in rows) for verdict in verdicts]
        cells = [budget, *counts, f"{seconds:.2f} s", f"{with_proofs:.2f} s"]
        failed |= right[-1] < len(labels) or counts[2] > 0
        for checker, more in checks.values():
            code, _, seconds = timed(checker, *files, proofs, *asked, *more)
            failed |= code != 0
            cells.append(f"REJECTED {code}" if code else f"{seconds:.2f} s")
        print("".join(f"{cell:>13}" for cell in [*cells, f"{proofs.stat().st_size / 1e3:.0f} kB"]))
    print(f"{len(labels)} molecules, {min(right)} predictions are those of `label`; q = {options.q}; seconds from start to end with {options.threads} threads; files in {folder}")
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
