"""Modules of PyTorch Geometric, drawn at random, executed in float32 and held against gcnproof's bounds of the rounding error.

    python scripts/executions.py bound FILE.npz --networks 10000 [--seed 0] [--jobs 2]     the bounds, by gcnproof (docs/math.md §19)
    python scripts/executions.py run FILE.npz [--device cuda] [--executions 1000]          the executions, without gcnproof

A network is a small module on a small graph: skips from x at any depth, concatenations, sums of several convolutions, BatchNorm, scalars,
linear layers that follow each other; weights are random, or almost cancel each other. An execution is one float32 pass of the module on
attributes with admissible flips and on edges in a new order. All executions of a network run at once, as copies of the graph side by side:
on a GPU messages are added with atomic operations, in an order that nobody chooses. The reference is the same module in float64.

Prints one JSON object. Exit code 1 if an error exceeds its bound, a node that is robust as deployed breaks, or a witness fools nobody.
"""

import argparse
import json
import sys
import time

import numpy as np
import torch
from torch import nn
from torch_geometric.nn import APPNP, BatchNorm, GCN2Conv, GCNConv, GINConv, GraphConv, SAGEConv, SGConv, TAGConv

QUICK = {"gcn": GCNConv, "sage": SAGEConv, "graph": GraphConv}


class Drawn(nn.Module):
    """A module made of steps; each reads values that are there already and adds one."""

    def __init__(self, random, attributes, classes):
        super().__init__()
        self.steps, widths = [], [attributes]
        self.parts = nn.ModuleList()
        for depth in range(int(random.integers(1, 4))):
            self._layer(random, widths, int(random.integers(2, 6)), f"h{depth}")
        self._layer(random, widths, classes, "logits")

    def _layer(self, random, widths, width, name):
        """One value more: a sum of parts, each a convolution or a linear layer of any value, then BatchNorm, a number, an activation."""
        sources = []
        for _ in range(int(random.integers(1, 4))):
            # The value before, or any other: x among them.
            at = len(widths) - 1 if random.random() < 0.5 else int(random.integers(len(widths)))
            sources.append((at, self._part(random, widths[at], width)))
        if random.random() < 0.3:
            # All values so far side by side.
            sources.append(("all", self._keep(nn.Linear(sum(widths), width))))
        normed = self._keep(BatchNorm(width)) if random.random() < 0.4 else None
        scale = float(random.choice([1.0, 0.5, -0.3, 1.7])) if random.random() < 0.3 else None
        active = name != "logits" and random.random() < 0.85
        after = self._keep(BatchNorm(width)) if active and random.random() < 0.2 else None
        self.steps.append((sources, normed, scale, active, after))
        widths.append(width)

    def _keep(self, part):
        self.parts.append(part)
        return len(self.parts) - 1

    def _part(self, random, inputs, outputs):
        kind = random.choice(["gcn", "sage", "graph", "linear", "linear", "two", "gin", "tag", "sgc", "appnp", "gcn2"])
        if kind in QUICK:
            return self._keep(QUICK[kind](inputs, outputs))
        if kind == "linear":
            return self._keep(nn.Linear(inputs, outputs))
        if kind == "two":
            return self._keep(nn.Sequential(nn.Linear(inputs, 3), nn.Linear(3, outputs)))
        if kind == "gin":
            return self._keep(GINConv(nn.Sequential(nn.Linear(inputs, 4), nn.ReLU(), nn.Linear(4, outputs)), eps=0.25))
        if kind == "tag":
            return self._keep(TAGConv(inputs, outputs, K=2))
        if kind == "sgc":
            return self._keep(SGConv(inputs, outputs, K=2))
        if kind == "gcn2" and inputs == outputs:
            return self._keep(GCN2Conv(inputs, alpha=0.2, theta=0.7, layer=2))
        return self._keep(nn.ModuleList([nn.Linear(inputs, outputs), APPNP(2, 0.3)]))

    def _applied(self, part, value, edges):
        if isinstance(part, nn.ModuleList):
            return part[1](part[0](value), edges)
        if isinstance(part, GCN2Conv):
            return part(value, value, edges)
        return part(value) if isinstance(part, (nn.Linear, nn.Sequential)) else part(value, edges)

    def forward(self, x, edge_index):
        values = [x]
        for sources, normed, scale, active, after in self.steps:
            result = None
            for at, part in sources:
                value = torch.cat(values, dim=-1) if at == "all" else values[at]
                value = self._applied(self.parts[part], value, edge_index)
                result = value if result is None else result + value
            if normed is not None:
                result = self.parts[normed](result)
            if scale is not None:
                result = scale * result
            if active:
                result = result.relu()
            if after is not None:
                result = self.parts[after](result)
            values.append(result)
        return values[-1]


def draw(seed):
    """A module, attributes, edges in both directions, budgets: all numbers from numpy, so that every machine draws the same."""
    random = np.random.default_rng(seed)
    nodes, attributes, classes = int(random.integers(4, 13)), int(random.integers(3, 8)), int(random.integers(2, 4))
    torch.manual_seed(seed)
    module = Drawn(random, attributes, classes).eval()
    # Almost cancelling weights make sums whose errors are large beside their values.
    cancelling, size = random.random() < 0.5, float(random.choice([1.0, 1.0, 30.0, 1e-3]))
    with torch.no_grad():
        for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
            if not tensor.is_floating_point() or name.endswith("eps"):
                continue
            values = random.normal(size=tuple(tensor.shape)) * size
            if cancelling and values.ndim == 2 and values.shape[1] > 1:
                values[:, 1::2] = -values[:, 0 : values.shape[1] - 1 : 2] * (1 + 1e-4 * random.normal(size=values[:, 1::2].shape))
            if name.endswith("running_var"):
                values = np.abs(values) + 0.01
            tensor.copy_(torch.from_numpy(np.asarray(values, np.float32)))
    pairs = [(i, j) for i in range(nodes) for j in range(i) if random.random() < 0.4]
    edges = np.array([*pairs, *[(j, i) for i, j in pairs]], np.int64).reshape(-1, 2).T
    x = (random.random((nodes, attributes)) < 0.4).astype(np.float32)
    return module, x, edges, int(random.integers(0, 4)), int(random.integers(1, 3)), random


def bound(seed):
    """What gcnproof says of a network: bounds (nodes × classes), reference classes, verdicts, witnesses; or why it is refused."""
    import gcnproof
    from torch_geometric.data import Data

    module, x, edges, Q, q, _ = draw(seed)
    data = Data(x=torch.from_numpy(x), edge_index=torch.from_numpy(edges))
    try:
        results = gcnproof.certify(module, data, Q=Q, q=q, deployed="float32", complete=True, time_limit=2.0, threads=1, progress=False)
    except gcnproof.UnsupportedModel as error:
        return str(error)
    classes = module(data.x, data.edge_index).shape[1]
    limits, verdicts, witnesses = np.full((len(x), classes), np.inf), [], {}
    reference = np.zeros(len(x), np.int64)
    for row in results:
        reference[row.node] = row.reference
        limits[row.node, row.reference] = 0.0
        for pair in row.rounding or []:
            limits[row.node, pair.class_] = np.inf if pair.upper is None else pair.upper
        verdicts.append(["robust", "non_robust", "rounding_dependent", "undecided"].index(row.deployed))
        if row.deployed == "non_robust":
            witnesses[row.node] = row.witness
    return limits, reference, np.array(verdicts), witnesses


def bounds(arguments):
    """Writes the bounds of many networks."""
    from concurrent.futures import ProcessPoolExecutor

    torch.set_num_threads(1)
    seeds, kept, refused = range(arguments.seed, arguments.seed + arguments.networks), {}, {}
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for seed, found in zip(seeds, pool.map(bound, seeds, chunksize=20)):
            if isinstance(found, str):
                refused[found[:80]] = refused.get(found[:80], 0) + 1
                continue
            limits, reference, verdicts, witnesses = found
            flips = [(node, *flip) for node, of in witnesses.items() for flip in of]
            kept[f"{seed}.limits"], kept[f"{seed}.reference"], kept[f"{seed}.verdicts"] = limits, reference, verdicts
            kept[f"{seed}.witnesses"] = np.array(flips, np.int64).reshape(-1, 3)
            kept[f"{seed}.fooled"] = np.array(sorted(witnesses), np.int64)
    np.savez_compressed(arguments.file, **kept)
    verdicts = np.concatenate([values for name, values in kept.items() if name.endswith("verdicts")])
    counts = dict(zip(["robust", "non_robust", "rounding_dependent", "undecided"], np.bincount(verdicts, minlength=4).tolist()))
    print(json.dumps({"networks": len(seeds), "refused": refused, "nodes": len(verdicts), **counts}))
    return 0


def perturbed(random, x, Q, q, copies):
    """Attributes with admissible flips, one copy after the other; every fourth has none."""
    result = np.repeat(x[None], copies, axis=0)
    for copy in range(copies):
        left = np.full(len(x), q)
        for place in random.permutation(x.size)[: int(random.integers(0, Q + 1)) if copy % 4 else 0]:
            node, attribute = divmod(int(place), x.shape[1])
            if left[node] > 0:
                left[node] -= 1
                result[copy, node, attribute] = 1 - result[copy, node, attribute]
    return result


def side_by_side(random, edges, nodes, copies):
    """The edges of many copies of a graph, in a random order."""
    moved = edges[:, None, :] + nodes * np.arange(copies)[None, :, None]
    return random.permutation(moved.reshape(2, -1), axis=1)


def passes(module, x, edges, device):
    """Logits in float32 on a device, and in float64."""
    with torch.no_grad():
        module, index = module.float().to(device), torch.from_numpy(np.ascontiguousarray(edges)).to(device)
        found = module(torch.from_numpy(x).to(device), index).double().cpu().numpy()
        exact = module.double()(torch.from_numpy(x).double().to(device), index).cpu().numpy()
    return found, exact


def margins(logits, reference):
    """Of the reference class over every class, node by node of every copy."""
    return np.take_along_axis(logits, np.broadcast_to(reference[None, :, None], (*logits.shape[:2], 1)), 2) - logits


def run(arguments):
    """Executes all networks of a file."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.set_num_threads(1)
    with np.load(arguments.file) as file:
        kept = {name: file[name] for name in file.files}
    seeds = sorted({int(name.split(".")[0]) for name in kept})[arguments.part :: arguments.parts]
    start, share, wrong, executions, compared, broken, fooled = time.time(), 0.0, [], 0, 0, 0, 0
    for seed in seeds:
        module, x, edges, Q, q, random = draw(seed)
        limits, reference, verdicts = (kept[f"{seed}.{name}"] for name in ("limits", "reference", "verdicts"))
        copies = arguments.executions
        inputs = perturbed(random, x, Q, q, copies)
        found, exact = passes(module, inputs.reshape(-1, x.shape[1]), side_by_side(random, edges, len(x), copies), arguments.device)
        found, exact = (margins(values.reshape(copies, len(x), -1), reference) for values in (found, exact))
        # The reference has rounding errors of its own, 2^29 times smaller.
        allowed = limits[None] * (1 + 1e-6) + 1e-300
        error = np.abs(found - exact)
        shares = np.where(limits[None] > 0, error / np.maximum(allowed, 1e-300), 0.0)
        share = max(share, float(shares[np.isfinite(shares)].max(initial=0.0)))
        executions, compared = executions + copies, compared + error.size
        if (error > allowed).any():
            wrong.append({"network": seed, "bound exceeded": float(shares.max())})
        others = np.arange(found.shape[2])[None, None] != reference[None, :, None]
        falls = ((found <= 0) & others).any(axis=2)[:, verdicts == 0]
        if falls.any():
            broken += int(falls.sum())
            wrong.append({"network": seed, "robust nodes that broke": int(falls.any(axis=0).sum())})
        for node in kept[f"{seed}.fooled"]:
            attacked = x.copy()
            for _, at, attribute in kept[f"{seed}.witnesses"][kept[f"{seed}.witnesses"][:, 0] == node]:
                attacked[at, attribute] = 1 - attacked[at, attribute]
            index = side_by_side(random, edges, len(x), 8)
            found, _ = passes(module, np.repeat(attacked[None], 8, axis=0).reshape(-1, x.shape[1]), index, arguments.device)
            own = margins(found.reshape(8, len(x), -1), reference)[:, node]
            own[:, reference[node]] = np.inf
            fooled += 1
            if (own.min(axis=1) >= 0).any():
                wrong.append({"network": seed, "witness that fools not every execution": int(node)})
    print(json.dumps({"device": arguments.device, "torch": torch.__version__, "networks": len(seeds), "executions": executions, "margins compared": compared,
                      "largest share of a bound": share, "witnesses replayed": fooled, "contradictions": len(wrong), "first": wrong[:5],
                      "seconds": round(time.time() - start, 1)}))
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["bound", "run"])
    parser.add_argument("file")
    parser.add_argument("--networks", type=int, default=1000)
    parser.add_argument("--executions", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--part", type=int, default=0, help="which share of the networks, from 0")
    parser.add_argument("--parts", type=int, default=1, help="into how many shares they are divided")
    arguments = parser.parse_args()
    return bounds(arguments) if arguments.what == "bound" else run(arguments)


if __name__ == "__main__":
    sys.exit(main())
