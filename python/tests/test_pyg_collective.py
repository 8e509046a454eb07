"""One attack on a module of PyTorch Geometric: the module itself loses the classes that it is said to lose, and no attack breaks more than the bound."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (scripts/python-env.sh)")
pytest.importorskip("torch_geometric", reason="PyTorch Geometric is not installed (scripts/python-env.sh)")

import gcnproof
import numpy as np
from pyg_cases import ATTRIBUTES, CLASSES, HIDDEN, graph, stirred
from torch_geometric.nn import models


def lost(module, data, x, kept):
    """The nodes whose class another one reaches."""
    with torch.no_grad():
        logits = module(x.double(), data.edge_index).numpy()
    rows = np.arange(len(kept))
    own = logits[rows, kept]
    logits[rows, kept] = -np.inf
    return np.flatnonzero(own <= logits.max(1))


@pytest.mark.parametrize("kind", ["GCN", "GraphSAGE"])
def test_the_module_itself_is_broken(kind):
    draw, total = np.random.default_rng(1), 0
    for seed in range(4):
        data = graph(seed, nodes=20)
        torch.manual_seed(seed)
        module = stirred(getattr(models, kind)(ATTRIBUTES, HIDDEN, 2, CLASSES).eval(), seed)
        curve = gcnproof.collective(module, data, [1, 3], 2, complete=True, swaps=500, progress=False)
        double = module.double()
        with torch.no_grad():
            kept = double(data.x.double(), data.edge_index).argmax(1).numpy()
        for row in curve:
            x = curve.apply(row.Q)
            assert x.dtype == data.x.dtype and int((x != data.x).sum()) == len(row.flips) <= row.Q
            assert set(row.broken_nodes) <= set(lost(double, data, x, kept).tolist())
            total += row.broken
            for _ in range(50):
                flips = draw.choice(data.x.numel(), row.Q, replace=False)
                changed = data.x.clone().flatten()
                changed[flips] = 1 - changed[flips]
                changed = changed.reshape(data.x.shape)
                if int((changed != data.x).sum(1).max()) <= 2:
                    assert len(lost(double, data, changed, kept)) <= row.bound
    assert total > 0
