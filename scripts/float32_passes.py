"""Real float32 forward passes of a GCN against gcnproof's bounds of the rounding error (docs/guarantee.md).

    python scripts/float32_passes.py GRAPH.npz MODEL ROWS.jsonl ROWS_0.jsonl [--device cuda] [--passes 1000] [-Q 12] [-q 1%]

ROWS.jsonl is what `gcnproof certify GRAPH MODEL -Q 12 -q 1% --deployed float32 --out ROWS.jsonl` wrote, ROWS_0.jsonl the same with
-Q 0: the bounds of the unperturbed input alone. Needs torch; torch_geometric is used where it is there.

Every pass shuffles the edges and takes one of three programs in turn: GCNConv of PyTorch Geometric, or sums with index_add_, weights first
or messages first. On a GPU index_add_ adds with atomic operations, in an order that changes by itself. Every other pass is on the input
without flips; the others are on flips drawn at random, many at once, and each node counts whose neighbourhood has no more than Q of them.
Then every witness that fools every execution is replayed. The reference is a forward pass in float64 with the same entries of the operator
in float64: its own error is 2^29 times smaller. Prints one JSON object; exit code 1 if a bound or a verdict is contradicted.
"""

import argparse
import json
import struct
import sys
import time

import numpy as np
import torch

try:
    from torch_geometric.nn import GCNConv
except ImportError:
    GCNConv = None


def read_graph(path):
    """Attributes (0/1) and edges in both directions, as the file has them."""
    with np.load(path) as file:
        rows = np.repeat(np.arange(len(file["adj_indptr"]) - 1), np.diff(file["adj_indptr"]))
        x = np.zeros(file["attr_shape"], np.float32)
        x[np.repeat(np.arange(len(x)), np.diff(file["attr_indptr"])), file["attr_indices"]] = 1
        return torch.from_numpy(x), torch.from_numpy(np.stack([file["adj_indices"].astype(np.int64), rows]))


def read_model(path):
    """Weights (inputs × outputs) and biases, layer by layer, as float32."""
    tensors = {}
    if path.endswith(".npz"):
        with np.load(path) as file:
            tensors = {name: file[name] for name in file.files}
        names = [("W1", "b1"), ("W2", "b2")]
        return [(torch.from_numpy(tensors[w]).float(), torch.from_numpy(tensors[b]).float()) for w, b in names]
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    for name, entry in header.items():
        if name != "__metadata__":
            start, end = entry["data_offsets"]
            tensors[name] = np.frombuffer(data[start:end], {"F32": "<f4", "F64": "<f8"}[entry["dtype"]]).reshape(entry["shape"]).copy()
    weights = sorted(name for name in tensors if name.endswith("lin.weight"))
    biases = sorted(name for name in tensors if name.endswith("bias"))
    # A Linear of PyTorch keeps outputs × inputs.
    return [(torch.from_numpy(tensors[w]).float().T.contiguous(), torch.from_numpy(tensors[b]).float()) for w, b in zip(weights, biases)]


def read_rows(path, nodes, classes):
    """Error bounds (nodes × classes, 0 for the reference), reference classes, verdicts and witnesses."""
    bound = np.zeros((nodes, classes))
    reference, verdicts, witnesses = np.zeros(nodes, int), [None] * nodes, [None] * nodes
    with open(path) as file:
        for line in file:
            row = json.loads(line)
            if "node" not in row:
                continue
            node = row["node"]
            reference[node], verdicts[node] = row["reference"], row["deployed"]
            witnesses[node] = [tuple(flip) for flip in row["witness"]]
            for pair in row["rounding"]:
                bound[node, pair["class"]] = pair["upper"]
    return bound, reference, verdicts, witnesses


def operator(edges, nodes, dtype):
    """Self-loops and symmetric normalisation, computed as PyTorch Geometric does."""
    loops = torch.arange(nodes, device=edges.device)
    source, target = torch.cat([edges[0], loops]), torch.cat([edges[1], loops])
    degree = torch.zeros(nodes, dtype=dtype, device=edges.device).index_add_(0, target, torch.ones(len(target), dtype=dtype, device=edges.device))
    scale = degree.pow(-0.5)
    return source, target, scale[source] * scale[target]


def passed(h, source, target, entry):
    """A H, message by message."""
    return torch.zeros_like(h).index_add_(0, target, entry.unsqueeze(1) * h[source])


class Passes:
    """Forward passes on a device."""

    def __init__(self, edges, layers, nodes, device):
        self.edges, self.nodes, self.device = edges.to(device), nodes, device
        self.layers = [(w.to(device), b.to(device)) for w, b in layers]
        self.exact = operator(self.edges, nodes, torch.float64)
        self.modules = []
        for w, b in self.layers if GCNConv else []:
            module = GCNConv(w.shape[0], w.shape[1]).to(device)
            with torch.no_grad():
                module.lin.weight.copy_(w.T)
                module.bias.copy_(b)
            self.modules.append(module)
        self.programs = (["module"] if GCNConv else []) + ["weights", "messages"]

    def reference(self, x):
        """Logits in float64."""
        h = x.double()
        for at, (w, b) in enumerate(self.layers):
            h = passed(h @ w.double(), *self.exact) + b.double()
            h = h.relu() if at + 1 < len(self.layers) else h
        return h

    def logits(self, x, program):
        """Logits in float32, with the edges in a new order."""
        order = torch.randperm(self.edges.shape[1], device=self.device)
        edges = self.edges[:, order]
        h = x
        entries = operator(edges, self.nodes, torch.float32) if program != "module" else None
        for at, (w, b) in enumerate(self.layers):
            if program == "module":
                h = self.modules[at](h, edges)
            elif program == "weights":
                h = passed(h @ w, *entries) + b
            else:
                h = passed(h, *entries) @ w + b
            h = h.relu() if at + 1 < len(self.layers) else h
        return h


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("graph", "model", "rows", "rows_0"):
        arguments.add_argument(name)
    arguments.add_argument("--device", default="cpu")
    arguments.add_argument("--passes", type=int, default=100)
    arguments.add_argument("--witnesses", type=int, default=200)
    arguments.add_argument("-Q", type=int, default=12)
    arguments.add_argument("-q", default="1%")
    asked = arguments.parse_args()
    torch.manual_seed(0)
    random = np.random.default_rng(0)
    # TF32 is no float32.
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    x, edges = read_graph(asked.graph)
    layers = read_model(asked.model)
    nodes, classes = len(x), layers[-1][1].numel()
    bound, y, verdicts, witnesses = read_rows(asked.rows, nodes, classes)
    bound_0, y_0, _, _ = read_rows(asked.rows_0, nodes, classes)
    assert (y == y_0).all(), "the two files have other reference classes"
    local = max(1, int(float(asked.q[:-1]) * x.shape[1] / 100 + 1e-9)) if asked.q.endswith("%") else int(asked.q)
    device = torch.device(asked.device)
    x = x.to(device)
    passes = Passes(edges, layers, nodes, device)
    bound, bound_0, y = (torch.from_numpy(a).to(device) for a in (bound, bound_0, y))
    robust = torch.tensor([verdict == "robust" for verdict in verdicts], device=device)
    source, target, _ = passes.exact
    one = torch.zeros(nodes, classes, dtype=torch.bool, device=device).scatter_(1, y.unsqueeze(1), True)
    known = bound_0.masked_fill(one, 1).min(dim=1).values > 0

    def margins(logits):
        return logits.double().gather(1, y.unsqueeze(1)) - logits.double()

    def drawn():
        """Flips drawn at random, and the nodes that see no more than Q of them."""
        chosen = np.flatnonzero(random.random(nodes) < 10 ** random.uniform(-3, -0.3))
        flips = np.repeat(chosen, random.integers(1, min(local, asked.Q) + 1, len(chosen)))
        attributes = random.integers(0, x.shape[1], len(flips))
        # At half of the nodes what is present is removed.
        present = has[flips + 1] - has[flips]
        removing = (random.random(nodes) < 0.5)[flips] & (present > 0)
        places = has[flips] + random.integers(0, np.maximum(present, 1))
        attributes[removing] = which[places[removing]]
        flips, attributes = np.unique(np.stack([flips, attributes]), axis=1)
        count = torch.from_numpy(np.bincount(flips, minlength=nodes).astype(np.float64))
        at = torch.from_numpy(flips).to(device), torch.from_numpy(attributes).to(device)
        flipped = x.clone()
        flipped[at] = 1 - flipped[at]
        # Which nodes see a flip, and how many flips there are among all that they see: each once.
        seen = torch.mv(reach, count)
        return flipped, (seen <= asked.Q).to(device)

    at_nodes, which = np.nonzero(x.cpu().numpy())
    has = np.concatenate([[0], np.cumsum(np.bincount(at_nodes, minlength=nodes))])
    pairs = torch.stack([target.cpu(), source.cpu()])
    sends = torch.sparse_coo_tensor(pairs, torch.ones(pairs.shape[1], dtype=torch.float64), (nodes, nodes)).coalesce()
    reach = sends
    for _ in layers[1:]:
        reach = torch.sparse.mm(reach, sends).coalesce()
    reach = torch.sparse_coo_tensor(reach.indices(), torch.ones_like(reach.values()), reach.shape)
    largest = torch.zeros(nodes, dtype=torch.float64, device=device)
    share_0 = torch.zeros(nodes, dtype=torch.float64, device=device)
    share = torch.zeros(nodes, dtype=torch.float64, device=device)
    contradictions, compared, different = [], 0, set()
    start = time.time()
    unflipped = margins(passes.reference(x))
    with torch.no_grad():
        for number in range(asked.passes):
            program = passes.programs[number // 2 % len(passes.programs)]
            if number % 2 == 0:
                exact, input_, admissible = unflipped, x, known
            else:
                input_, admissible = drawn()
                exact, admissible = margins(passes.reference(input_)), admissible & known
            logits = passes.logits(input_, program)
            computed = margins(logits)
            error = (computed - exact).abs()
            compared += int(admissible.sum()) * (classes - 1)
            ratio = (error / bound.masked_fill(one, 1)).masked_fill(one, 0).max(dim=1).values * admissible
            share = torch.maximum(share, ratio)
            if number % 2 == 0:
                largest = torch.maximum(largest, error.max(dim=1).values * admissible)
                ratio_0 = (error / bound_0.masked_fill(one, 1)).masked_fill(one, 0).max(dim=1).values * admissible
                share_0 = torch.maximum(share_0, ratio_0)
                different.add(hash(logits.cpu().numpy().tobytes()))
            if float((ratio * admissible).max()) > 1 or float((share_0 * known).max()) > 1:
                contradictions.append(f"pass {number}, {program}: an error exceeds its bound")
            broken = (computed.masked_fill(one, 1).min(dim=1).values <= 0) & robust & admissible
            if bool(broken.any()):
                contradictions.append(f"pass {number}, {program}: robust nodes break: {broken.nonzero().flatten().tolist()[:5]}")
        replayed = 0
        fooled = [node for node in range(nodes) if verdicts[node] == "non_robust" and witnesses[node]]
        for node in random.permutation(fooled)[: asked.witnesses]:
            flipped = x.clone()
            for n, d in witnesses[node]:
                flipped[n, d] = 1 - flipped[n, d]
            for program in passes.programs:
                logits = passes.logits(flipped, program)[node]
                replayed += 1
                if not bool((logits > logits[y[node]]).any()):
                    contradictions.append(f"{program}: the witness of node {node} fails")
    bounds = bound.max(dim=1).values[known].cpu().numpy()
    bounds_0 = bound_0.max(dim=1).values[known].cpu().numpy()
    seen = largest[known].cpu().numpy()
    count = {name: sum(verdict == name for verdict in verdicts) for name in ("robust", "non_robust", "rounding_dependent", "undecided")}
    print(json.dumps({
        "graph": asked.graph, "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "torch": torch.__version__, "programs": passes.programs, "passes": asked.passes, "nodes": nodes, "verdicts": count,
        "bound_median": float(np.median(bounds)), "bound_unperturbed_median": float(np.median(bounds_0)),
        "seen_median": float(np.median(seen)), "seen_largest": float(seen.max()),
        "largest_share_of_bound_unperturbed": float(share_0.max()), "largest_share_of_bound": float(share.max()),
        "median_ratio_bound_to_seen": float(np.median(bounds_0 / np.maximum(seen, 1e-12))),
        "different_outputs_without_flips": len(different), "comparisons": compared, "witness_passes": replayed,
        "contradictions": contradictions, "seconds": round(time.time() - start, 1),
    }))
    return 1 if contradictions else 0


if __name__ == "__main__":
    sys.exit(main())
