"""Every layer of PyTorch Geometric that is supported, with its options: the network that is read has the module's logits."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (scripts/python-env.sh)")
pytest.importorskip("torch_geometric", reason="PyTorch Geometric is not installed (scripts/python-env.sh)")

import copy

from gcnproof.network import Polynomial
from gcnproof.pyg import read
from numpy_logits import logits
from pyg_cases import ARCHITECTURES, ATTRIBUTES, CLASSES, HIDDEN, RELATIONS, Two, graph, stirred, two
from torch_geometric import nn as pyg

# Modules with caches are read without them, and a warning says so: test_pyg_newcomers.py.
pytestmark = pytest.mark.filterwarnings("ignore:.*cached=True")


def agrees(module, data, call=None):
    """Reads a module and compares; the network."""
    reading = read(module, data, call)
    assert reading.compare(lambda attributes: logits(reading.network, reading.inputs.adjacency, attributes)) < 1e-12
    return reading.network


def rules(network):
    """The operators by name, `matrix` for matrices."""
    found = set()
    for layer in network.layers:
        for term in layer.terms:
            base = term.operator.base if isinstance(term.operator, Polynomial) else term.operator
            found.add(base if isinstance(base, str) else "matrix")
    return found


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_logits(name):
    torch.manual_seed(1)
    network = agrees(stirred(ARCHITECTURES[name]()), graph())
    # On a plain graph every operator has a name, but for those that no name describes.
    if "matrix" in rules(network):
        assert name in ("gcn improved", "gcn aggr=mean", "cheb rw", "cluster", "cluster diagonal", "le", "directed"), rules(network)


@pytest.mark.parametrize("name", ARCHITECTURES)
@pytest.mark.parametrize("kind", [{"directed": True}, {"loops": True}, {"twice": True}], ids=["directed", "loops", "twice"])
def test_logits_on_other_graphs(name, kind):
    torch.manual_seed(2)
    agrees(stirred(ARCHITECTURES[name]()), graph(**kind))


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_logits_without_edges(name):
    data = graph()
    data.edge_index = data.edge_index[:, :0]
    agrees(stirred(ARCHITECTURES[name]()), data)


def test_the_rule_is_the_one_that_is_meant_where_several_give_the_same_matrix():
    data = graph()
    ring = torch.arange(len(data.x))
    data.edge_index = torch.cat([torch.stack([ring, ring.roll(1)]), torch.stack([ring.roll(1), ring])], 1)
    for kind, rule in [(pyg.SAGEConv, "mean"), (pyg.TAGConv, "gcn-self"), (pyg.GCNConv, "gcn"), (pyg.GraphConv, "sum")]:
        assert rules(agrees(two(kind), data)) - {"identity"} == {rule}


@pytest.mark.parametrize("name", RELATIONS)
def test_relations(name):
    torch.manual_seed(3)
    agrees(stirred(RELATIONS[name]()), graph(relations=True))


@pytest.mark.parametrize("kind", [pyg.GCNConv, pyg.GraphConv, pyg.TAGConv, pyg.ARMAConv, pyg.LEConv])
def test_edge_weights(kind):
    torch.manual_seed(4)

    class Weighted(Two):
        def forward(self, x, edge_index, edge_weight):
            return self.second(self.first(x, edge_index, edge_weight).relu(), edge_index, edge_weight)

    network = agrees(stirred(Weighted(kind(ATTRIBUTES, HIDDEN), kind(HIDDEN, CLASSES))), graph(weights=True))
    assert "matrix" in rules(network)


def test_edge_weights_that_could_be_meant_or_not_are_asked_for():
    from gcnproof.errors import UnsupportedModel

    model, data = pyg.GCN(ATTRIBUTES, HIDDEN, 2, CLASSES), graph(weights=True)
    with pytest.raises(UnsupportedModel, match="edge_weight.*call=lambda model, data"):
        read(model, data)
    agrees(model, data, call=lambda model, data: model(data.x, data.edge_index))
    agrees(model, data, call=lambda model, data: model(data.x, data.edge_index, edge_weight=data.edge_weight))


def test_one_number_for_each_edge_under_another_name():
    from gcnproof.errors import UnsupportedModel

    model, data = pyg.GCN(ATTRIBUTES, HIDDEN, 2, CLASSES), graph(weights=True)
    data.edge_attr, data.edge_weight = data.edge_weight, None
    with pytest.raises(UnsupportedModel, match="`edge_attr` with one number for each edge.*call=lambda model, data.*edge_weight=data.edge_attr.flatten"):
        read(model, data)
    agrees(model, data, call=lambda model, data: model(data.x, data.edge_index))
    network = agrees(model, data, call=lambda model, data: model(data.x, data.edge_index, edge_weight=data.edge_attr.flatten()))
    assert "matrix" in rules(network)
    # A forward that takes no weights never sees them.
    agrees(stirred(Two(pyg.GCNConv(ATTRIBUTES, HIDDEN), pyg.GCNConv(HIDDEN, CLASSES))), data)
    agrees(pyg.GraphSAGE(ATTRIBUTES, HIDDEN, 2, CLASSES), data)


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
@pytest.mark.parametrize("kind", [pyg.GCNConv, pyg.SAGEConv, pyg.GraphConv, pyg.GINConv])
def test_sparse_adjacency(kind, layout):
    from pyg_cases import NODES, gin

    data = graph()
    adjacency = torch.sparse_coo_tensor(data.edge_index.flip(0), torch.ones(data.num_edges), (NODES, NODES)).coalesce()
    data.adj_t, data.edge_index = adjacency.to_sparse(layout=layout), None
    agrees(two(kind) if kind is not pyg.GINConv else Two(gin(ATTRIBUTES, HIDDEN), gin(HIDDEN, CLASSES)), data)


def test_the_module_stays_as_it_is():
    torch.manual_seed(5)
    data, model = graph(), two(pyg.GCNConv, cached=True)
    model.train()
    model(data.x, data.edge_index).sum().backward()
    before, cache = copy.deepcopy(model.state_dict()), model.first._cached_edge_index
    agrees(model, data)
    assert model.training and model.first.cached and model.first._cached_edge_index is cache
    assert all(torch.equal(before[key], value) and value.dtype == torch.float32 for key, value in model.state_dict().items())
    assert all(parameter.requires_grad and parameter.grad is not None for parameter in model.parameters())
    assert data.x.dtype == torch.float32 and type(data.x) is torch.Tensor


def test_a_filled_cache_of_other_attributes_is_dropped():
    model, data = pyg.SGConv(ATTRIBUTES, CLASSES, K=2, cached=True), graph(seed=1)
    model(torch.zeros_like(data.x) + 0.5, data.edge_index)
    agrees(model, data)


def test_names_of_layers_are_those_of_the_modules():
    network = agrees(pyg.GCN(ATTRIBUTES, HIDDEN, 3, CLASSES), graph())
    assert [layer.name for layer in network.layers] == ["convs.0", "convs.1", "logits"]
