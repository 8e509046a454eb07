"""Flips and changed edges at once: against each attacker alone, against all joint changes, in a module of torch; and what is refused."""

import itertools

import numpy as np
import pytest
from conftest import small
from scipy import sparse
from test_certify import forward

import gcnproof
from gcnproof import Edges, Flips

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")


def joint(graph, network, flips, edges, **more):
    return gcnproof.certify(network, graph, [flips, edges], complete=True, progress=False, **more)


def changed(graph, pairs):
    """The graph after some pairs of nodes are linked or separated."""
    linked = graph.adjacency.toarray()
    for a, b in pairs:
        linked[a, b] = linked[b, a] = 1 - linked[a, b]
    return gcnproof.Graph(sparse.csr_matrix(linked), graph.attributes, graph.labels)


@pytest.mark.parametrize("seed", range(4))
def test_every_joint_change_is_tried(seed):
    graph, network = small(seed, nodes=6, attributes=3)
    x = graph.attributes.toarray().astype(float)
    kept = forward(graph, network, x).argmax(1)
    lowest = np.full(forward(graph, network, x).shape, np.inf)
    entries = list(itertools.product(range(6), range(3)))
    pairs = list(itertools.combinations(range(6), 2))
    degree = np.asarray(graph.adjacency.sum(1)).ravel()
    for edge in [(), *((pair,) for pair in pairs)]:
        removal = [pair for pair in edge if graph.adjacency[pair] != 0]
        if any(degree[end] <= 1 for pair in removal for end in pair):
            continue
        after = changed(graph, edge)
        for flips in [(), *((entry,) for entry in entries), *itertools.combinations(entries, 2)]:
            if len({node for node, _ in flips}) < len(flips):
                continue
            flipped = x.copy()
            for node, attribute in flips:
                flipped[node, attribute] = 1 - flipped[node, attribute]
            logits = forward(after, network, flipped)
            lowest = np.minimum(lowest, logits[np.arange(6), kept][:, None] - logits)
    lowest[np.arange(6), kept] = np.inf
    found = joint(graph, network, Flips(Q=2, q=1), Edges(change=1))
    assert (found.robust == (lowest.min(1) > 0)).all() and not (found.verdict == "undecided").any()
    for row in found:
        if not row.robust:
            attributes, adjacency = found.apply(row.node)
            logits = forward(gcnproof.Graph(adjacency, attributes), network, attributes.toarray().astype(float))
            assert logits[row.node].argmax() != row.reference
            assert len(row.witness) <= 2 and row.witness_edges is not None and len(row.witness_edges) <= 1


def test_without_one_of_both_the_other_alone_says_the_same():
    graph, network = small(3)
    flips, edges = Flips(Q=2, q=1), Edges(change=2, candidates=2)
    alone = gcnproof.certify(network, graph, flips, complete=True, progress=False)
    assert (joint(graph, network, flips, Edges(change=0)).verdict == alone.verdict).all()
    alone = gcnproof.certify(network, graph, edges, complete=True, progress=False)
    assert (gcnproof.certify(network, graph, [edges, Flips(Q=0, q=1)], complete=True, progress=False).verdict == alone.verdict).all()


def test_a_witness_breaks_the_module(tmp_path):
    from torch_geometric.data import Data
    from torch_geometric.nn import GCNConv

    torch.manual_seed(0)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = GCNConv(8, 6), GCNConv(6, 3)

        def forward(self, x, edge_index):
            return self.second(self.first(x, edge_index).relu(), edge_index)

    x = (torch.rand(14, 8) < 0.4).float()
    linked = torch.triu(torch.rand(14, 14) < 0.25, 1)
    edge_index = (linked | linked.T).nonzero().T.contiguous()
    data, model = Data(x=x, edge_index=edge_index), Net().eval()
    with torch.no_grad():
        # Classes that are about as large: some nodes are broken.
        model.second.bias -= model(x, edge_index).median(0).values
    out = tmp_path / "rows.parquet"
    found = gcnproof.certify(model, data, [Flips(Q=2, q=1), Edges(change=1)], complete=True, progress=False, out=out)
    broken = found.node[found.verdict == "non_robust"].tolist()
    assert broken and found.complete and "Q = 2, q = 1; removed or inserted edges: E = 1" in repr(found)
    with torch.no_grad():
        for node in broken:
            attributes, edges = found.apply(node)
            assert model(attributes, edges)[node].argmax() != found[node].reference or found[node].reason == "tie"
    loaded = gcnproof.load(out, graph=data)
    assert loaded.witness_edges == found.witness_edges and loaded.witness == found.witness
    assert "witness_edges" in found.to_pandas().columns


def test_proofs_answer_the_question_about_both_alone(tmp_path):
    graph, network = small(3)
    flips, edges, file = Flips(Q=2, q=1), Edges(change=1), tmp_path / "proofs.jsonl"
    found = gcnproof.certify(network, graph, [flips, edges], complete=True, progress=False, proofs=file)
    told = gcnproof.check(network, graph, file, [flips, edges], progress=False)
    assert told.proved and {node for node, verdict in told.verdicts.items() if verdict == "robust"} == set(found.node[found.robust].tolist())
    assert found.robust.any() and not found.robust.all()
    # One attacker alone is another question; more flips or more edges than were proved about are answered by witnesses only.
    for attack in (flips, edges, [Flips(Q=3, q=2), edges], [flips, Edges(change=2)]):
        assert not gcnproof.check(network, graph, file, attack, progress=False).proved
    with pytest.raises(gcnproof.InputError, match="without Q or E"):
        gcnproof.check(network, graph, file, [flips, Edges()], progress=False)


def test_what_is_not_decided_is_refused():
    graph, network = small(0)
    both = [Flips(Q=1, q=1), Edges(remove=1)]

    def refused(match, attack=both, call=gcnproof.certify, **more):
        with pytest.raises(gcnproof.InputError, match=match):
            call(network, graph, attack, **{"progress": False, **more})

    refused("Edges, Edges", [Edges(remove=1), Edges(insert=1)])
    refused("Flips", [Flips(Q=1, q=1)])
    refused("q is missing", [Flips(Q=1), Edges(remove=1)])
    refused("E is missing", [Flips(Q=1, q=1), Edges()])
    refused("bound together", [Flips(Q=1, q=1, bound="paper"), Edges(remove=1)])
    refused("at once", minimize=True)
    refused("together with edges", deployed="float32")
    refused("one attacker", call=gcnproof.radius)
    refused("a list of both", attack=None, Q=1, q=1, E=1, edges="remove")
