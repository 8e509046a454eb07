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


@pytest.mark.filterwarnings("ignore:.*one direction only")
@pytest.mark.parametrize("kind", ["remove", "insert", "change"])
def test_one_way_edges_are_changed_where_they_are_directed(kind, tmp_path):
    graph, _ = small(3, nodes=9, attributes=5)
    linked = graph.adjacency.tocoo()
    keep = (linked.row < linked.col) | ((linked.row + linked.col) % 3 == 0)
    edge_index = torch.tensor(np.stack([linked.row[keep], linked.col[keep]]).astype(np.int64))
    x = torch.from_numpy(graph.attributes.toarray()).float()
    data = pyg.data.Data(x=x, edge_index=edge_index)
    torch.manual_seed(1)
    module = pyg.nn.models.GraphSAGE(5, 6, 2, 3, aggr="sum").eval()
    attack = gcnproof.Edges(**{kind: 1}, **({} if kind == "insert" else {"keep_one_edge": False}), directed=True)
    proofs = tmp_path / "proofs.jsonl"
    results = gcnproof.certify(module, data, attack, complete=True, proofs=proofs, progress=False)
    assert gcnproof.check(module, data, proofs, attack, progress=False).proved
    double, there = module.double(), {(int(a), int(b)) for a, b in edge_index.T.tolist()}
    clean = double(x.double(), edge_index).argmax(1)
    broken = torch.zeros(9, dtype=torch.bool)
    for pair in [(a, b) for a in range(9) for b in range(9) if a != b]:
        if kind in ("change", "remove" if pair in there else "insert"):
            changed = torch.tensor(sorted(there ^ {pair}), dtype=torch.long).T
            broken |= double(x.double(), changed).argmax(1) != clean
    assert (results.verdict == np.where(broken, "non_robust", "robust")).all()
    for node in results.node[results.verdict == "non_robust"].tolist():
        assert double(x.double(), results.apply(node))[node].argmax() != clean[node]
    with pytest.raises(gcnproof.InputError, match="directed=True"):
        gcnproof.certify(module, data, gcnproof.Edges(**{kind: 1}), progress=False)
    # The same from parts, and from a file.
    kept, network = gcnproof.from_pyg(module.float(), data, directed=True)
    kept.save(tmp_path / "directed.npz")
    for again in (kept, gcnproof.Graph.from_data(data, directed=True), gcnproof.Graph.load(tmp_path / "directed.npz", directed=True)):
        assert again.directed and again.digest == kept.digest
        assert (gcnproof.certify(network, again, attack, complete=True, progress=False).verdict == results.verdict).all()
    with pytest.raises(gcnproof.InputError, match="directed edges"):
        gcnproof.certify(network, kept, Q=1, q=1, progress=False)
