"""Modules put together at random from what is supported: all are read, and have the module's logits."""

import random

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (scripts/python-env.sh)")
pytest.importorskip("torch_geometric", reason="PyTorch Geometric is not installed (scripts/python-env.sh)")

from pyg_cases import ATTRIBUTES, CLASSES, graph, stirred
from test_pyg_layers import agrees
from torch import nn
from torch.nn import functional as F
from torch_geometric import nn as pyg

# Modules with caches are read without them, and a warning says so: test_pyg_newcomers.py.
pytestmark = pytest.mark.filterwarnings("ignore:.*cached=True")

CONVOLUTIONS = [
    lambda i, o: pyg.GCNConv(i, o),
    lambda i, o: pyg.GCNConv(i, o, add_self_loops=False),
    lambda i, o: pyg.SAGEConv(i, o),
    lambda i, o: pyg.SAGEConv(i, o, aggr="add", project=True),
    lambda i, o: pyg.GraphConv(i, o),
    lambda i, o: pyg.SGConv(i, o, K=2),
    lambda i, o: pyg.SSGConv(i, o, alpha=0.2, K=2),
    lambda i, o: pyg.TAGConv(i, o, K=2),
    lambda i, o: pyg.ChebConv(i, o, K=3),
    lambda i, o: pyg.ClusterGCNConv(i, o),
    lambda i, o: pyg.ARMAConv(i, o, num_stacks=2, num_layers=2),
    lambda i, o: pyg.LEConv(i, o),
    lambda i, o: pyg.GINConv(nn.Sequential(nn.Linear(i, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, o)), train_eps=True),
    lambda i, o: pyg.GINConv(nn.Linear(i, o), eps=0.5),
]
SPREADS = [lambda: pyg.APPNP(2, 0.3), lambda: pyg.LGConv(), lambda: pyg.SimpleConv(aggr="mean")]
ACTIVATIONS = [F.relu, torch.relu, lambda h: h.clone().relu_(), lambda h: F.leaky_relu(h, 0.2), lambda h: h.clamp(min=0), lambda h: h]


class Random(nn.Module):
    """Steps that add a representation each to those that are there; the last ones give the logits."""

    def __init__(self, seed):
        super().__init__()
        self.steps, self.parts = [], nn.ModuleList()
        draw = random.Random(seed)
        widths = [ATTRIBUTES]
        for _ in range(draw.randint(2, 7)):
            # Mostly the newest is used further.
            source = len(widths) - 1 if draw.random() < 0.6 else draw.randrange(len(widths))
            width = widths[source]
            kind = draw.choice(["conv", "conv", "conv", "linear", "spread", "norm", "act", "act", "cat", "add", "mix", "slice", "scale", "shift", "mean"])
            if kind in ("conv", "linear"):
                outputs = draw.randint(2, 6)
                part = draw.choice(CONVOLUTIONS)(width, outputs) if kind == "conv" else draw.choice([nn.Linear, pyg.Linear])(width, outputs)
                self.put(kind, source, part)
                widths.append(outputs)
                if draw.random() < 0.6:
                    self.put("act", len(widths) - 1, None, draw.choice(ACTIVATIONS))
                    widths.append(outputs)
            elif kind == "spread":
                self.put("conv", source, draw.choice(SPREADS)())
                widths.append(width)
            elif kind == "norm":
                self.put("plain", source, draw.choice([nn.BatchNorm1d, pyg.BatchNorm])(width))
                widths.append(width)
            elif kind == "act":
                self.put("act", source, None, draw.choice(ACTIVATIONS))
                widths.append(width)
            elif kind == "cat":
                other = draw.randrange(len(widths))
                self.put("cat", (source, other), None)
                widths.append(width + widths[other])
            elif kind in ("add", "mix", "mean"):
                others = [place for place, found in enumerate(widths) if found == width]
                self.put(kind, (source, draw.choice(others)), None, draw.uniform(-1, 1))
                widths.append(width)
            elif kind == "slice" and width > 1:
                stop = draw.randint(1, width)
                self.put("slice", source, None, slice(draw.randrange(stop), stop))
                widths.append(stop - self.steps[-1][3].start)
            elif kind in ("scale", "shift"):
                self.put(kind, source, None, torch.randn(width, dtype=torch.float64) if draw.random() < 0.5 else draw.uniform(-2, 2))
                widths.append(width)
        last = min(2, len(widths) - 1)
        self.taken = list(range(len(widths) - last, len(widths)))
        self.out = draw.choice([nn.Linear, pyg.GCNConv])(sum(widths[place] for place in self.taken), CLASSES)
        self.final = draw.choice([lambda z: z, lambda z: F.log_softmax(z, dim=-1), lambda z: z.softmax(1)])

    def put(self, kind, source, part, extra=None):
        if part is not None:
            self.parts.append(part)
        self.steps.append((kind, source, len(self.parts) - 1, extra))

    def forward(self, x, edge_index):
        values = [x]
        for kind, source, part, extra in self.steps:
            if kind in ("cat", "add", "mix", "mean"):
                first, second = values[source[0]], values[source[1]]
            else:
                first = values[source]
            if kind == "conv":
                value = self.parts[part](first, edge_index)
            elif kind in ("linear", "plain"):
                value = self.parts[part](first)
            elif kind == "act":
                value = extra(first)
            elif kind == "cat":
                value = torch.cat([first, second], dim=-1)
            elif kind == "add":
                value = first + second
            elif kind == "mix":
                value = torch.add(first, second, alpha=extra) - extra * first
            elif kind == "mean":
                value = torch.stack([first, second, first]).mean(0)
            elif kind == "slice":
                value = first[:, extra]
            elif kind == "scale":
                value = first * extra
            else:
                value = extra - first
            values.append(value)
        joined = torch.cat([values[place] for place in self.taken], dim=1)
        return self.final(self.out(joined, edge_index) if isinstance(self.out, pyg.GCNConv) else self.out(joined))


@pytest.mark.parametrize("block", range(8))
def test_random_modules(block):
    for seed in range(25 * block, 25 * block + 25):
        torch.manual_seed(seed)
        kinds = [{}, {}, {"directed": True}, {"loops": True}, {"twice": True}]
        try:
            agrees(stirred(Random(seed), seed), graph(seed=seed, **kinds[seed % 5]))
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error}") from error
