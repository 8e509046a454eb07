"""Budgets of proofs that are checked, shares of attributes, and witnesses applied to the attributes that were certified."""

import numpy as np
import pytest
from conftest import small

import gcnproof
from gcnproof.attack import local


def proved(tmp_path, **options):
    """A problem with nodes that are robust within one flip but not within two, its proofs for two, and these nodes."""
    for seed in range(30):
        graph, network = small(seed)
        one, two = (gcnproof.certify(network, graph, Q=count, q=count, complete=True, progress=False) for count in (1, 2))
        between = [int(node) for node in one.node if one[node].verdict == "robust" and two[node].verdict == "non_robust"]
        if between and two.robust.any():
            path = tmp_path / "proofs.jsonl"
            gcnproof.certify(network, graph, Q=2, q=2, complete=True, progress=False, proofs=path, **options)
            return graph, network, path, two, between
    raise AssertionError("no such problem was found")


def test_only_robustness_carries_over_to_a_smaller_budget(tmp_path):
    graph, network, path, two, between = proved(tmp_path)
    same = gcnproof.check(network, graph, path, Q=2, q=2, progress=False)
    assert same and same.verdicts == gcnproof.check(network, graph, path, progress=False).verdicts and between[0] in same.verdicts
    robust = set(two.node[two.robust].tolist())
    for smaller in ({"Q": 1, "q": 1}, {"Q": 1}, {"Q": 2, "q": 1}):
        found = gcnproof.check(network, graph, path, **smaller, progress=False)
        assert {node for node, verdict in found.verdicts.items() if verdict == "robust"} == robust
        # Other witnesses do not fit the smaller budget.
        fit = {node for node in set(found.verdicts) - robust if len(two[node].witness) > smaller["Q"]}
        assert not fit
        assert gcnproof.check(network, graph, path, **smaller, nodes=sorted(robust), progress=False)
    asked = gcnproof.check(network, graph, path, Q=1, nodes=between, progress=False)
    assert not asked and str(between[0]) in asked.unmet[-1]


def test_proofs_with_a_budget_for_each_node(tmp_path):
    graph, network = small(3)
    path, q = tmp_path / "proofs.jsonl", np.full(graph.node_count, 2)
    gcnproof.certify(network, graph, Q=2, q=q, complete=True, progress=False, proofs=path)
    same = gcnproof.check(network, graph, path, Q=2, q=q, progress=False)
    assert same.proved
    found = gcnproof.check(network, graph, path, Q=2, q=1, progress=False)
    for node, verdict in found.verdicts.items():
        assert same.verdicts[node] == verdict
    assert not gcnproof.check(network, graph, path, Q=3, q=q, progress=False).proved


@pytest.mark.filterwarnings("ignore:nothing can be attacked")
def test_shares_are_what_they_are_written_as():
    assert local(np.float32(0.7), 5) == 0.7 and local(np.float16(0.1), 5) == 0.1 and local(np.float64(0.7), 5) == 0.7
    graph, network = small(0, attributes=10)
    for share, flips in ((np.float32(0.7), 7), (0.7, 7), (0.01, 1), (0.0, 0)):
        assert gcnproof.certify(network, graph, Q=2, q=share, progress=False).run["budget"]["local"] == flips


def broken(results):
    return int(results.node[results.verdict == "non_robust"][0])


def test_witnesses_of_another_graph_are_not_applied(tmp_path):
    graph, network, _, two, _ = proved(tmp_path)
    two.save(tmp_path / "results.parquet")
    node = broken(two)
    assert (gcnproof.load(tmp_path / "results.parquet", graph=graph).apply(node) != two.apply(node)).nnz == 0
    with pytest.raises(gcnproof.InputError, match="another graph"):
        gcnproof.load(tmp_path / "results.parquet", graph=small(99)[0]).apply(node)


def test_apply_with_tensors():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (scripts/python-env.sh)")
    pytest.importorskip("torch_geometric", reason="PyTorch Geometric is not installed (scripts/python-env.sh)")
    from pyg_cases import ATTRIBUTES, CLASSES
    from pyg_cases import graph as drawn
    from torch_geometric.nn import GCNConv

    torch.manual_seed(0)
    for kind in (torch.bool, torch.float32, torch.int64):
        data = drawn()
        data.x = data.x.to(kind)
        results = gcnproof.certify(GCNConv(ATTRIBUTES, CLASSES), data, Q=6, q=4, complete=True, progress=False)
        node, before = broken(results), data.x.clone()
        # What is done to the data afterwards does not matter: the witness is one of the attributes that were certified.
        data.x[:3] = 0
        changed = results.apply(node)
        assert changed.dtype == kind
        assert {tuple(place) for place in (changed != before).nonzero().tolist()} == set(results[node].witness)
