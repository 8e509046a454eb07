"""What is refused: by name, with the line of the user's code and a remedy; never another network than the user's."""

import inspect
import re

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (scripts/python-env.sh)")
pytest.importorskip("torch_geometric", reason="PyTorch Geometric is not installed (scripts/python-env.sh)")

from gcnproof.errors import GcnproofError, InvalidData, MismatchedLogits, UnsupportedModel
from gcnproof.pyg import read
from numpy_logits import logits
from pyg_cases import ATTRIBUTES as D
from pyg_cases import CLASSES as C
from pyg_cases import HIDDEN as H
from pyg_cases import NODES, graph, two
from torch import nn
from torch.nn import functional as F
from torch_geometric import nn as pyg
from torch_geometric import transforms
from torch_geometric.data import Data, HeteroData


class Between(nn.Module):
    """Two convolutions with something between them."""

    def __init__(self, between, *modules):
        super().__init__()
        self.enter, self.leave = pyg.GCNConv(D, H), pyg.GCNConv(H, C)
        self.inner = nn.ModuleList(modules)
        self.between = between

    def forward(self, x, edge_index):
        x = self.enter(x, edge_index)
        x = self.between(self, x, edge_index)  # the line
        return self.leave(x, edge_index)


LINE = next(
    f"{__file__}:{number}" for number, text in enumerate(inspect.getsource(inspect.getmodule(Between)).splitlines(), 1) if text.endswith("# the line")
)


def refusal(model, data=None, call=None):
    """The error that reading and comparing ends with."""
    with pytest.raises(GcnproofError) as caught:
        reading = read(model, data if data is not None else graph(), call)
        reading.compare(lambda attributes: logits(reading.network, reading.inputs.adjacency, attributes))
    return caught.value


ACTIVATIONS = ["elu", "selu", "celu", "gelu", "silu", "mish", "softplus", "tanh", "sigmoid", "logsigmoid", "hardtanh", "relu6", "hardswish", "softsign"]


def test_several_aggregations_in_one_layer():
    error = refusal(two(pyg.SAGEConv, aggr=["mean", "sum"]))
    assert "SAGEConv with aggr=['mean', 'sum'] is not supported: several aggregations in one layer are not read" in str(error), error


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name):
    error = refusal(Between(lambda self, x, edge_index: getattr(F, name)(x)))
    assert isinstance(error, UnsupportedModel)
    assert name in error.operation.replace("_", "") and "ReLU" in str(error)
    assert error.where.startswith(f"{__file__}:"), error


def test_the_line_of_the_code_is_named():
    class Elu(nn.Module):
        def __init__(self):
            super().__init__()
            self.gc1, self.gc2, self.dropout = pyg.GCNConv(D, H), pyg.GCNConv(H, C), 0.5

        def forward(self, data):
            x, edge_index = data.x, data.edge_index
            x = F.elu(self.gc1(x, edge_index))  # here
            x = F.dropout(x, self.dropout, training=self.training)
            return self.gc2(x, edge_index)

    error = refusal(Elu())
    lines, first = inspect.getsourcelines(Elu)
    number = first + next(place for place, text in enumerate(lines) if text.endswith("# here\n"))
    assert error.where == f"{__file__}:{number}"
    assert "x = F.elu(self.gc1(x, edge_index))" in str(error) and "Remedy: train the model with ReLU" in str(error)


@pytest.mark.parametrize("act", ["elu", nn.GELU(), torch.tanh])
def test_activations_of_models(act):
    error = refusal(pyg.GCN(D, H, 2, C, act=act))
    assert re.search("elu|gelu|tanh", error.operation)


LAYERS = {
    "GATConv": lambda: pyg.GATConv(H, H),
    "GATv2Conv": lambda: pyg.GATv2Conv(H, H),
    "TransformerConv": lambda: pyg.TransformerConv(H, H),
    "AGNNConv": lambda: pyg.AGNNConv(),
    "SuperGATConv": lambda: pyg.SuperGATConv(H, H),
    "EdgeConv": lambda: pyg.EdgeConv(nn.Linear(2 * H, H)),
    "GatedGraphConv": lambda: pyg.GatedGraphConv(H, 2),
    "ResGatedGraphConv": lambda: pyg.ResGatedGraphConv(H, H),
    "GENConv": lambda: pyg.GENConv(H, H),
    "FiLMConv": lambda: pyg.FiLMConv(H, H),
    "GPSConv": lambda: pyg.GPSConv(H, pyg.GCNConv(H, H), heads=1),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_by_name(name):
    error = refusal(Between(lambda self, x, edge_index: self.inner[0](x, edge_index), LAYERS[name]()))
    assert error.operation == name and name in str(error) and "inner.0" in str(error)
    assert error.where.startswith(__file__) and "Remedy: train with a layer of fixed message passing" in str(error)


def test_a_class_of_ones_own_that_only_renames_a_layer():
    class Mine(pyg.GATConv):
        pass

    error = refusal(Between(lambda self, x, edge_index: self.inner[0](x, edge_index), Mine(H, H)))
    assert error.operation == "GATConv" and "inner.0 (Mine)" in str(error)


def test_attention_of_two_representations():
    error = refusal(Between(lambda self, x, edge_index: self.inner[0](x, x, edge_index), pyg.FAConv(H)))
    assert error.operation == "FAConv"


def test_pna():
    layer = pyg.PNAConv(H, H, ["mean", "max"], ["identity"], deg=torch.ones(5, dtype=torch.long))
    assert refusal(Between(lambda self, x, edge_index: self.inner[0](x, edge_index), layer)).operation == "PNAConv"


@pytest.mark.parametrize("aggregation", ["max", "min", "std", "median", "softmax", ["mean", "max"]])
def test_aggregations(aggregation):
    error = refusal(Between(lambda self, x, edge_index: self.inner[0](x, edge_index), pyg.SAGEConv(H, H, aggr=aggregation)))
    assert "SAGEConv" in error.operation and "aggr='mean'" in str(error) and error.where.startswith(__file__)


def test_max_aggregation_in_models():
    error = refusal(pyg.GraphSAGE(D, H, 2, C, aggr="max"))
    assert "SAGEConv with aggr='max'" in str(error) and "convs.0" in str(error)


def test_max_aggregation_in_a_layer_of_ones_own():
    class Largest(pyg.MessagePassing):
        def __init__(self):
            super().__init__(aggr="max")

        def forward(self, x, edge_index):
            return self.propagate(edge_index, x=x)

    error = refusal(Between(lambda self, x, edge_index: self.inner[0](x, edge_index), Largest()))
    assert "Largest with MaxAggregation" in error.operation and "maximum" in str(error) and error.where.startswith(__file__)


NORMS = {
    "torch LayerNorm": nn.LayerNorm(H), "LayerNorm": pyg.LayerNorm(H), "GraphNorm": pyg.GraphNorm(H), "PairNorm": pyg.PairNorm(),
    "InstanceNorm": pyg.InstanceNorm(H), "MeanSubtractionNorm": pyg.MeanSubtractionNorm(), "GroupNorm": nn.GroupNorm(2, H),
    "DiffGroupNorm": pyg.DiffGroupNorm(H, 2),
}


@pytest.mark.parametrize("name", NORMS)
def test_norms(name):
    error = refusal(Between(lambda self, x, edge_index: self.inner[0](x), NORMS[name]))
    assert error.operation == name.split()[-1] and "BatchNorm" in str(error)


@pytest.mark.parametrize("name", ["layer", "graph", "pair"])
def test_norms_of_models(name):
    assert "Norm" in refusal(pyg.GCN(D, H, 3, C, norm=f"{name}_norm")).operation


def test_functional_norms():
    assert "layer_norm" in refusal(Between(lambda self, x, edge_index: F.layer_norm(x, (H,)))).operation
    assert "normalize" in refusal(Between(lambda self, x, edge_index: F.normalize(x))).operation
    assert "normalize=True" in str(refusal(two(pyg.SAGEConv, normalize=True)))


def test_batchnorm_without_statistics():
    error = refusal(Between(lambda self, x, edge_index: self.inner[0](x), nn.BatchNorm1d(H, track_running_stats=False)))
    assert "track_running_stats=True" in str(error)


def test_dropout_that_stays_on():
    error = refusal(Between(lambda self, x, edge_index: F.dropout(x, 0.5)))
    assert "training=self.training" in str(error)


def test_randomness():
    error = refusal(Between(lambda self, x, edge_index: x + torch.randn(H)))
    assert "random" in str(error)


def test_products_of_values():
    error = refusal(Between(lambda self, x, edge_index: x * torch.relu(x)))
    assert "product of two values" in error.operation


@pytest.mark.parametrize("mode", ["max", "lstm"])
def test_jumping_knowledge(mode):
    assert refusal(pyg.GCN(D, H, 2, C, jk=mode)) is not None


def test_a_maximum_over_the_nodes_of_a_graph():
    pool = pyg.global_max_pool

    class Whole(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.lin = pyg.GCNConv(D, H), nn.Linear(H, C)

        def forward(self, x, edge_index, batch=None):
            return self.lin(pool(self.conv(x, edge_index).relu(), batch))

    error = refusal(Whole())
    assert error.where.startswith(__file__)
    error = refusal(Whole(), call=lambda model, data: model(data.x, data.edge_index, torch.zeros(NODES, dtype=torch.long)))
    assert "maximum" in str(error)


def test_outputs():
    assert "for some of the nodes" in str(refusal(Between(lambda s, x, e: x), call=lambda m, d: m(d.x, d.edge_index)[:4]))
    assert "tuple" in str(refusal(Between(lambda s, x, e: x), call=lambda m, d: (m(d.x, d.edge_index), d.x)))
    assert "argmax" in refusal(Between(lambda s, x, e: x), call=lambda m, d: m(d.x, d.edge_index).argmax(-1)).operation
    assert "one number per node" in str(refusal(two(pyg.GCNConv), call=lambda m, d: m(d.x, d.edge_index)[:, :1]))
    assert "dim=-1" in str(refusal(two(pyg.GCNConv), call=lambda m, d: m(d.x, d.edge_index).log_softmax(0)))
    assert "what follows `log_softmax`" in str(refusal(Between(lambda s, x, e: x.log_softmax(-1))))


def test_a_model_on_another_number_of_attributes():
    for model in [pyg.GCN(D + 4, H, 2, C), nn.Linear(D + 4, C), two(pyg.GCNConv).__class__(pyg.SAGEConv(D + 4, H), pyg.SAGEConv(H, C))]:
        error = refusal(model)
        assert f"takes {D + 4} attributes" in str(error) and f"has {D}" in str(error), error


def test_choices_by_the_attributes_values():
    assert refusal(Between(lambda self, x, edge_index: x if x.sum() > 0 else -x)) is not None
    assert refusal(Between(lambda self, x, edge_index: torch.where(x > 0, x, x * 2))) is not None
    assert refusal(Between(lambda self, x, edge_index: x[x[:, 0] > 0])) is not None


def test_a_module_that_does_more_than_it_shows_is_a_mismatch():
    model = two(pyg.GCNConv)
    reading = read(model, graph())
    with pytest.raises(MismatchedLogits, match="node 3") as caught:
        def other(attributes):
            values = logits(reading.network, reading.inputs.adjacency, attributes)
            values[3, 1] += 1e-6
            return values
        reading.compare(other)
    assert caught.value.node == 3


@pytest.mark.parametrize("change", [lambda x: x.reshape(-1), lambda x: x.T, lambda x: x.view(H, -1), lambda x: x.t(), lambda x: x.long(), lambda x: x.to(torch.int64),
                                    lambda x: x**2, lambda x: x.abs(), lambda x: x.detach().numpy(), lambda x: float(x[0, 0]) * x, lambda x: x.unsqueeze(0),
                                    lambda x: x.bool(), lambda x: torch.einsum("ij,kj->ik", x, x), lambda x: list(x), lambda x: 1 / x])
def test_other_functions_are_refused_while_the_module_is_read(change):
    with pytest.raises(UnsupportedModel) as caught:
        read(Between(lambda self, x, edge_index: change(x)), graph())
    assert caught.value.where.startswith(f"{__file__}:")


def test_small_probabilities_are_compared_as_well():
    class Certain(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = pyg.GCNConv(D, C)

        def forward(self, x, edge_index):
            return F.softmax(60 * self.conv(x, edge_index) + torch.tensor([0.0, 100.0, 0.0]), dim=1)

    reading = read(Certain(), graph())
    assert reading.compare(lambda attributes: logits(reading.network, reading.inputs.adjacency, attributes)) < 1e-12
    with pytest.raises(MismatchedLogits):
        reading.compare(lambda attributes: logits(reading.network, reading.inputs.adjacency, attributes) + np.array([1e-3, 0.0, 0.0]))


def test_edge_weights_from_attributes():
    error = refusal(Between(lambda self, x, e: self.inner[0](x, e, (x[e[0]] - x[e[1]]).sum(-1, keepdim=True)), pyg.GCNConv(H, H)))
    assert "edges or edge weights that depend on the attributes" in str(error)


def test_arguments_that_the_data_does_not_have():
    class Positions(nn.Module):
        def forward(self, x, edge_index, positions):
            return x

    assert "`positions`, which the data does not have" in str(refusal(Positions()))


def test_modules_without_code_or_sizes():
    assert "torch.jit" in str(refusal(torch.jit.trace(nn.Linear(D, C), graph().x)))
    assert "run the model once" in str(refusal(pyg.GCN(-1, H, 2, C)))


def test_not_a_module():
    assert "not a torch.nn.Module" in str(refusal(lambda x, edge_index: x))


# Data.


def test_rows_that_are_almost_normalised():
    data = transforms.NormalizeFeatures()(graph())
    data.x[2] = torch.nextafter(data.x[2], torch.ones(())) * (data.x[2] > 0)
    error = refusal(two(pyg.GCNConv), data)
    assert isinstance(error, InvalidData)
    assert "not to the last bit" in str(error) and "node 2" in str(error) and "(data.x > 0).float()" in str(error)


def test_weighted_attributes():
    data = graph()
    data.x = data.x * torch.rand(NODES, D)
    error = refusal(two(pyg.GCNConv), data)
    assert isinstance(error, InvalidData) and "weighted" in str(error) and "node 0" in str(error)
    data.x = graph().x * 2
    assert "0 and 2 instead of 0 and 1" in str(refusal(two(pyg.GCNConv), data))


def test_data_without_parts():
    data = graph()
    data.edge_index = None
    assert "no edges" in str(refusal(two(pyg.GCNConv), data))
    data = graph()
    data.x = None
    assert "no attributes" in str(refusal(two(pyg.GCNConv), data))
    data = graph()
    data.edge_index = data.edge_index + 5
    assert f"has {NODES} rows" in str(refusal(two(pyg.GCNConv), data))
    assert "HeteroData" in str(refusal(two(pyg.GCNConv), HeteroData()))
    assert "place 0 is a str" in str(refusal(two(pyg.GCNConv), ["graph"]))
    data = graph()
    data.x[2, 3] = float("nan")
    assert "node 2 has nan at attribute 3" in str(refusal(two(pyg.GCNConv), data))
    assert "the model comes first" in str(refusal(graph(), two(pyg.GCNConv)))
    data = graph()
    data.edge_index = data.edge_index.T
    assert "instead of 2 × edges" in str(refusal(two(pyg.GCNConv), data))


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (lambda y: y[:5], "has 5 entries, but the graph has"),
        (lambda y: y.float(), r"data.y = data.y.long\(\)"),
        (lambda y: y > 0, r"data.y = data.y.long\(\)"),
        (lambda y: y.tolist(), "is a list"),
    ],
)
def test_labels_that_are_none_are_refused(y, words):
    data = Data(x=torch.eye(6), edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.arange(6) % 2)
    data.y = y(data.y)
    with pytest.raises(InvalidData, match=words):
        read(pyg.GCNConv(6, 2), data)


@pytest.mark.parametrize("wrong", [-1, 99])
def test_edges_of_nodes_that_are_not_there_are_named(wrong):
    data = Data(x=torch.eye(6), edge_index=torch.tensor([[0, 1], [1, wrong]]))
    with pytest.raises(InvalidData, match=rf"`edge_index\[1, 1\]` is {wrong}, but `x` has 6 rows: nodes 0 to 5. Remedy"):
        read(pyg.GCNConv(6, 2), data)


def test_a_module_that_returns_several_things():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = pyg.GCNConv(6, 2)

        def forward(self, x, edge_index):
            return "embedding", self.first(x, edge_index)

    data = Data(x=torch.eye(6), edge_index=torch.tensor([[0, 1], [1, 0]]))
    with pytest.raises(UnsupportedModel, match=r"returns a tuple of 2, .*\[1\]"):
        read(Two(), data)


def test_what_follows_the_logits():
    """A function of each class alone keeps the largest; log_softmax runs over the classes."""
    error = refusal(Ending(torch.sigmoid))
    assert "at the end, return the logits themselves" in str(error)
    error = refusal(Ending(lambda x: F.log_softmax(x, dim=0)))
    assert "`log_softmax` with dim=0 is not supported: it is taken over the nodes" in str(error) and str(error).endswith("Remedy: take it over the classes: `log_softmax` with dim=-1.")
    # Without a side it runs over the classes of a matrix.
    with pytest.warns(UserWarning, match="Implicit dimension"):
        reading = read(Ending(F.log_softmax), graph())
        assert reading.compare(lambda attributes: logits(reading.network, reading.inputs.adjacency, attributes)) < 1e-9


class Ending(nn.Module):
    """Two convolutions with something behind them."""

    def __init__(self, ending):
        super().__init__()
        self.enter, self.leave = pyg.GCNConv(D, H), pyg.GCNConv(H, C)
        self.ending = ending

    def forward(self, x, edge_index):
        return self.ending(self.leave(self.enter(x, edge_index).relu(), edge_index))


def test_logits_among_other_things():
    """The remedy that is named is one that works."""
    for ending, picked in ((lambda z: (z, z + 1), "[0]"), (lambda z: {"logits": z}, "['logits']"), (lambda z: (3, z), "[1]")):
        model = Ending(ending)
        message = str(refusal(model))
        remedy = re.search("`call=(lambda model, data: [^`]*)`", message)[1]
        assert remedy.endswith(picked), message
        reading = read(model, graph(), eval(remedy))
        assert reading.compare(lambda attributes: logits(reading.network, reading.inputs.adjacency, attributes)) < 1e-9
    for ending in (lambda z: z[:3], lambda z: z[0]):
        assert "call=" not in str(refusal(Ending(ending)))


def test_a_module_that_counts_its_calls():
    class Counting(Ending):
        calls = 0.0

        def forward(self, x, edge_index):
            self.calls += 1.0
            return super().forward(x, edge_index) * self.calls

    message = str(refusal(Counting(lambda z: z)))
    assert "keeps something from one call to the next, such as a counter" in message and "self.training" in message


def test_attributes_that_are_scaled():
    """The remedy leads to attributes that are taken, and to the same logits."""
    data = graph()
    model = Ending(lambda z: z).eval()
    data.x = data.x * torch.tensor(1 / 3)
    message = str(refusal(model, data))
    assert "`data.x = (data.x != 0).float()`" in message
    scale = float(re.search(r"multiplied by ([0-9.]+)\.$", message)[1])
    before = model(data.x, data.edge_index)
    data.x = (data.x != 0).float()
    with torch.no_grad():
        model.enter.lin.weight *= scale
    assert torch.allclose(model(data.x, data.edge_index), before, atol=1e-5)
    read(model, data)


def test_weights_of_torch():
    """Parameters are taken as they are, with a gradient and in any precision."""
    from gcnproof import Layer, Network, Term

    weight = nn.Parameter(torch.ones(D, C))
    for one in (weight, weight.detach().half(), weight.detach().bfloat16()):
        network = Network([Layer("out", [Term("x", "gcn", one)], nn.Parameter(torch.zeros(C)), "none")])
        assert (network.layers[0].terms[0].weight == 1).all()
    assert weight.requires_grad


@pytest.mark.parametrize(
    ("between", "words"),
    [
        (lambda x: torch.max(x, torch.zeros_like(x)), "the maximum of x and 0 is `F.relu(x)`"),
        (lambda x: x.abs(), "write `F.relu(x) + F.relu(-x)`"),
        (lambda x: x.half(), "leave the cast out"),
        (lambda x: x.T, "keep tensors of nodes × units"),
        (lambda x: x[0], "`[…]` is not supported"),
    ],
)
def test_remedies_name_what_works(between, words):
    assert words in str(refusal(Between(lambda self, x, edge_index: between(x))))


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        (lambda edges: edges.double(), r"Remedy: `data.edge_index = data.edge_index.long\(\)`"),
        (lambda edges: edges + 0.5, r"`data.edge_index\[0, 0\]` is .*\.5, and ids of nodes are whole numbers. Remedy: correct it"),
        (lambda edges: edges.T, r"data.edge_index.T.contiguous\(\)"),
        (lambda edges: [["a", "b"], ["b", "a"]], "texts, and ids of nodes are numbers of rows of `x`"),
    ],
)
def test_edges_that_are_none(edges, words):
    """Remedies that neither round nor renumber."""
    from gcnproof.errors import InvalidData

    data = graph()
    data.edge_index = edges(data.edge_index)
    with pytest.raises(InvalidData, match=words):
        read(Between(lambda self, x, edge_index: x), data)
    data = graph()
    data.x = [["a"]] * data.x.shape[0]
    with pytest.raises(InvalidData, match="texts or other objects"):
        read(Between(lambda self, x, edge_index: x), data)
