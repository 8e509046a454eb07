"""Removed edges of a module of PyTorch Geometric: its own class changes without the edges of a witness."""

import numpy as np
import pytest
from conftest import small

import gcnproof

torch = pytest.importorskip("torch")
pyg = pytest.importorskip("torch_geometric")


@pytest.mark.parametrize("kind", ["GCN", "GraphSAGE"])
def test_the_module_itself_loses_the_class(kind):
    broken = 0
    for seed in range(6):
        graph, _ = small(seed, nodes=14, attributes=6)
        linked = graph.adjacency.tocoo()
        x = torch.from_numpy(graph.attributes.toarray()).float()
        data = pyg.data.Data(x=x, edge_index=torch.tensor(np.stack([linked.row, linked.col]).astype(np.int64)))
        torch.manual_seed(seed)
        module = getattr(pyg.nn.models, kind)(6, 8, 2, 3).eval()
        results = gcnproof.certify(module, data, edges="remove", E=3, e=2, complete=True, progress=False)
        assert (results.verdict != "undecided").all()
        double = module.double()
        for node in results.node[results.verdict == "non_robust"].tolist():
            left = results.apply(node)
            assert left.shape[1] == data.edge_index.shape[1] - 2 * len(results[node].witness)
            assert int(double(x.double(), left)[node].argmax()) != results[node].reference
            broken += 1
    assert broken > 0
