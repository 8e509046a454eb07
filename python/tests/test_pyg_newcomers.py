"""What newcomers to the package do with modules of PyTorch Geometric, and what they are told."""

import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest
from conftest import small

import gcnproof
from gcnproof import Edges, Flips

torch = pytest.importorskip("torch", reason="PyTorch is not installed (scripts/python-env.sh)")
pyg = pytest.importorskip("torch_geometric", reason="PyTorch Geometric is not installed (scripts/python-env.sh)")

from torch_geometric.data import Data, HeteroData
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GAE, DeepGCNLayer, GCNConv, SGConv, global_mean_pool

QUIET = {"progress": False}


def graph(seed=0, **options):
    """A small graph as PyTorch Geometric has it."""
    made, _ = small(seed)
    linked = made.adjacency.tocoo()
    x = torch.from_numpy(made.attributes.toarray()).float()
    return Data(x=x, edge_index=torch.tensor(np.stack([linked.row, linked.col]).astype(np.int64)), y=torch.tensor(made.labels), **options)


class Net(torch.nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.first, self.second = GCNConv(6, 5, **options), GCNConv(5, 3, **options)

    def forward(self, x, edge_index):
        return self.second(self.first(x, edge_index).relu(), edge_index)


def _replayed(model, results, data):
    """Which nodes with a witness keep their class where the module itself runs on it."""
    with torch.no_grad():
        made = {node: results.apply(node) for node in results.node[results.verdict == "non_robust"].tolist()}
        found = {node: model(*((data.x, one) if one.dtype == torch.long else (one, data.edge_index))) for node, one in made.items()}
    assert found
    return [int(logits[node].argmax()) == results[node].predicted for node, logits in found.items()]


@pytest.mark.parametrize(
    ("make", "attack", "told", "answers"),
    [
        (lambda: SGConv(6, 3, K=1, cached=True), Flips(Q=4, q=2), [("model (SGConv)", "a witness is replayed")], True),
        (lambda: SGConv(6, 3, K=1, cached=True), Edges(remove=4), [("model (SGConv)", "a witness is replayed")], True),
        (lambda: Net(cached=True), Flips(Q=4, q=2), [], False),
        (lambda: Net(cached=True), Edges(remove=4), [(f"model.{name} (GCNConv)", "changed edges are replayed") for name in ("first", "second")], True),
    ],
)
def test_layers_with_a_cache_are_named_where_it_answers(make, attack, told, answers):
    """Layers keep what they have propagated, or the edges alone: then flips are replayed rightly, and nothing is said."""
    torch.manual_seed(2)
    model, data = make().eval(), graph(7)
    with torch.no_grad():
        for bias in [one for name, one in model.named_parameters() if "bias" in name]:
            bias.zero_()
        model(data.x, data.edge_index)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        results = gcnproof.certify(model, data, attack, complete=True, **QUIET)
    said = [one for one in found if "cached=True" in str(one.message)]
    assert [str(one.message).split(" has ")[0] for one in said] == [name for name, _ in told]
    assert all(words in str(one.message) for one, (_, words) in zip(said, told))
    assert {str(one.filename) for one in found} <= {__file__}
    assert all(_replayed(model, results, data)) if answers else not any(_replayed(model, results, data))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gcnproof.certify(Net(), data, attack, **QUIET)


def test_a_verifier_reads_a_module_once_and_call_goes_everywhere(tmp_path):
    runs = []

    class Odd(Net):
        def forward(self, edges, features, scale):
            runs.append(1)
            return super().forward(features * scale, edges)

    torch.manual_seed(1)
    model, data = Odd(), graph(1)
    way = {"call": lambda model, data: model(data.edge_index, data.x, 1.0)}
    v = gcnproof.Verifier(model, data, **way)
    read = len(runs)
    results, radii = v.certify(gcnproof.Flips(2, 1), **QUIET), v.radius(1, max_Q=2, **QUIET)
    v.explain(0, Q=2, q=1)
    v.collective([1], q=1, **QUIET)
    assert read > 0 and len(runs) == read
    assert (gcnproof.certify(model, data, 2, 1, **way, **QUIET).margin == results.margin).all()
    assert (gcnproof.radius(model, data, 1, max_Q=2, **way, **QUIET).certified == radii.certified).all()
    assert gcnproof.explain(model, data, 0, Q=2, q=1, **way)["node"] == 0
    assert len(gcnproof.collective(model, data, [1], q=1, **way, **QUIET)) == 1
    assert (gcnproof.logits(model, data, **way) == v.logits()).all()
    proofs = tmp_path / "proofs.jsonl"
    v.certify(Q=2, q=1, complete=True, proofs=proofs, **QUIET)
    assert gcnproof.check(model, data, proofs, Q=2, q=1, **way, **QUIET) and v.check(proofs, Q=2, q=1, **QUIET)
    told = gcnproof.study({"odd": model}, data, tmp_path / "study", Q=1, q=1, max_Q=1, sample=0, **way, **QUIET)
    assert told.models[0]["nodes"] == 9


@pytest.mark.parametrize("kind", [gcnproof.Flips(4, 3), gcnproof.Edges(3)])
def test_loaded_results_are_applied_to_data(kind, tmp_path):
    torch.manual_seed(2)
    model, data = Net(), graph(2)
    # One direction of an edge may be left out in the data; the attributes are those of the graph all the same.
    results = gcnproof.certify(model, data, kind, complete=True, **QUIET)
    results.save(tmp_path / "rows.parquet")
    loaded = gcnproof.load(tmp_path / "rows.parquet", graph=data)
    broken = results.node[results.verdict == "non_robust"]
    assert len(broken)
    for node in broken:
        one, other = loaded.apply(node), results.apply(node)
        assert isinstance(one, torch.Tensor) and one.dtype == other.dtype and torch.equal(one, other)
    with pytest.raises(gcnproof.InputError, match="another graph"):
        gcnproof.load(tmp_path / "rows.parquet", graph=graph(5)).apply(broken[0])


def refused(words, model, data, kind=gcnproof.InputError, **options):
    with pytest.raises(kind, match="(?s)" + words):
        gcnproof.certify(model, data, **{"Q": 1, "q": 1, **QUIET, **options})


def test_what_newcomers_give_is_named():
    torch.manual_seed(3)
    model, data = Net(), graph()
    source, receiver = data.edge_index
    directed = Data(x=data.x, edge_index=data.edge_index[:, source < receiver])
    refused("directed.*ToUndirected", model, directed, edges="remove", E=1, Q=None, q=None)
    refused("the model comes first", data, model)
    refused("tuple is no graph.*Data\\(x=x", model, (data.x, data.edge_index))

    class NeighborLoader:
        pass

    loader = NeighborLoader()
    loader.data = data
    refused("NeighborLoader gives parts of a graph(.|\n)*loader.data", model, loader)
    refused("DataLoader gives parts of a graph(.|\n)*loader.dataset\\[0\\]", model, DataLoader([data]))
    refused("state dict", model.state_dict(), data)
    mask = torch.zeros(9, dtype=torch.bool)
    mask[2:4] = True
    data.test_mask = mask
    refused("nodes=data.test_mask", model, data, nodes="test_mask")
    refused("nonzero\\(\\) gives ids with one side too many", model, data, nodes=mask.nonzero())
    assert gcnproof.certify(model, data, 1, 1, nodes=mask.nonzero().flatten(), **QUIET).node.tolist() == [2, 3]
    unsupported = gcnproof.UnsupportedModel
    refused("GAE is an autoencoder.*no classes", GAE(Net()), data, unsupported)
    refused("DeepGCNLayer is one layer", DeepGCNLayer(GCNConv(6, 6)), data, unsupported)
    refused("attributes are continuous", model, Data(x=torch.randn(9, 6), edge_index=data.edge_index), gcnproof.InvalidData)

    class Pooled(Net):
        def forward(self, x, edge_index, batch):
            return global_mean_pool(super().forward(x, edge_index), batch)

    # All nodes of one graph, with a batch or without.
    data.y = None
    assert len(gcnproof.certify(Pooled().eval(), data, 1, 1, **QUIET)) == 1
    data.batch = torch.tensor([0] * 4 + [1] * 5)
    refused("no edges between them", Pooled().eval(), data, gcnproof.InvalidData)


def test_numbers_have_remedies_that_work():
    """No remedy for attributes that are numbers leads to another refusal, whatever call is asked."""
    torch.manual_seed(3)
    model, data = Net(), graph()
    numbers = Data(x=torch.rand(9, 6), edge_index=data.edge_index, y=data.y)
    loss = gcnproof.torch.RobustLoss
    flips = gcnproof.Flips(Q=1, q=1)
    for call, name in (
        (lambda: loss(flips)(model, numbers), "RobustLoss"),
        (lambda: gcnproof.collective(model, numbers, [1], flips.q), "collective"),
        (lambda: gcnproof.study(model, numbers, "study"), "study"),
    ):
        with pytest.raises(gcnproof.InvalidData, match=rf"Remedy: {name} is about flips of 0/1 attributes alone; certify\(model, data, …\) takes Ranges\(epsilon=0.01\) or Edges\(remove=5\)"):
            call()
    for call in (lambda: gcnproof.explain(model, numbers, 0), lambda: gcnproof.certify(model, numbers, flips)):
        with pytest.raises(gcnproof.InvalidData, match=r"Remedy: give Ranges\(epsilon=0.01\) or Edges\(remove=5\)"):
            call()
    with pytest.raises(gcnproof.InvalidData, match=r"Remedy: say real=True, from_pyg\(model, data, real=True\)"):
        gcnproof.from_pyg(model, numbers)
    made, network = gcnproof.from_pyg(model, numbers, real=True)
    for attack in (gcnproof.Ranges(epsilon=0.01), gcnproof.Edges(remove=5)):
        assert len(gcnproof.certify(model, numbers, attack, **QUIET)) == len(gcnproof.certify(network, made, attack, **QUIET)) == 9
        assert gcnproof.explain(model, numbers, 0, attack)
        with pytest.raises(gcnproof.InputError, match=r"help: give Flips\(Q=12, q=0.01\); certify decides other attacks"):
            loss(attack)


def test_losses_say_where_things_are_said():
    torch.manual_seed(3)
    model, data = Net(), graph()
    loss = gcnproof.torch.RobustLoss
    flips = gcnproof.Flips(Q=1, q=1)
    for named, words in (
        ({"labelled": [0]}, r"robust\(model, data, nodes, labelled=mask\), is meant"),
        ({"nodes": [0]}, r"robust\(model, data, nodes\), is meant"),
        ({"q": 1}, r"RobustLoss\(Flips\(Q=…, q=…\)\), is meant"),
        ({"margins": 1}, "margin is meant"),
    ):
        with pytest.raises(TypeError, match=words):
            loss(flips, **named)
    with pytest.raises(gcnproof.InputError, match=r"help: say it where the loss is computed: robust\(model, data, labelled=data.train_mask\)"):
        loss(flips)(model, data)
    with pytest.raises(gcnproof.InputError, match="help: labels are data.y, and labelled=mask says whose"):
        loss(flips)(model, data, [0], data.y)
    assert loss(flips)(model, data, [0, 1], labelled=[0]) >= 0


def test_results_of_another_model_or_graph(tmp_path):
    torch.manual_seed(3)
    model, data = Net(), graph()
    rows = tmp_path / "rows.parquet"
    results = gcnproof.certify(model, data, 3, 2, out=rows, **QUIET)
    with pytest.raises(gcnproof.InputError, match="as it is now\n  help: give the one that was certified .*trained since is another one"):
        gcnproof.report(results, model=Net(), out=tmp_path / "page.html")
    other = Data(x=1 - data.x, edge_index=data.edge_index, y=data.y)
    with pytest.raises(gcnproof.InputError, match="another graph: its edges, attributes or labels differ"):
        gcnproof.load(rows, graph=other)
    with pytest.raises(gcnproof.InputError, match=r"help: of results that were loaded, give it to load: gcnproof.load\(path, graph=data\).apply\(node\)"):
        gcnproof.load(rows).apply(0, data)


def test_data_that_is_none():
    torch.manual_seed(3)
    model, data, invalid = Net(), graph(), gcnproof.InvalidData
    parts = {"x": data.x, "edge_index": data.edge_index, "y": data.y}
    several = HeteroData()
    several["a"].x = data.x
    several["a", "to", "a"].edge_index = data.edge_index
    refused("several types of nodes", model, several, invalid)
    refused("a HeteroData has several kinds of nodes", small()[1], several)
    for name, value, words in (
        ("x", data.x.numpy(), "`data.x` is a ndarray, and a tensor is needed. Remedy: `data.x = torch.from_numpy"),
        ("x", data.x.tolist(), r"`data.x = torch.tensor\(data.x\)`"),
        ("x", torch.zeros(0, 6), "the graph has no nodes"),
        ("x", data.x.to("meta"), "has no numbers"),
        ("edge_index", data.edge_index.numpy(), r"`data.edge_index = torch.from_numpy\(data.edge_index\)`"),
        ("edge_index", data.edge_index.float(), r"\(float32\).*data.edge_index.long\(\)"),
        ("edge_index", data.edge_index.T, r"data.edge_index.T.contiguous\(\)"),
        ("edge_index", data.edge_index + 1, "use `edge_index - 1`"),
        ("y", data.y + 0.5, "`data.y` has the type torch.float32"),
        ("y", data.y[:5], "`data.y` has 5 entries, but the graph has 9 nodes.*of several graphs, give a list of them or a Batch"),
    ):
        refused(words, model, Data(**{**parts, name: value}), invalid)
    refused(r"`mask.bool\(\)`", model, data, nodes=torch.ones(9, dtype=torch.uint8))
    refused("the parameter first.bias has no numbers", Net().to("meta"), data, gcnproof.UnsupportedModel)


def test_a_call_that_is_none():
    torch.manual_seed(3)
    model, data = Net(), graph()
    refused("call='forward': a str cannot be called", model, data, call="forward")
    refused("called with two arguments, and cannot take them", model, data, call=lambda: 0)
    refused("call is the module itself", model, data, call=model)
    refused("call is the module itself", model, data, call=model.forward)
    for outside in (lambda given, data: given(graph().x, data.edge_index), lambda given, data: model(data.x, data.edge_index)):
        with pytest.raises(gcnproof.UnsupportedModel, match="not with tensors or modules from outside"):
            gcnproof.certify(model, data, 1, 1, call=outside, **QUIET)
    assert len(gcnproof.certify(model, data, 1, 1, call=lambda *both: both[0](both[1].x, both[1].edge_index), **QUIET)) == 9


SCRIPT = """
import sys, torch, gcnproof
sys.path.insert(0, sys.argv[2])
from test_pyg_newcomers import Net, graph

class Kept(Net):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(9, 5))
        self.weight = torch.nn.Parameter(torch.zeros(9, 5))

    def forward(self, x, edge_index):
        h = self.first(x, edge_index).relu()
        if sys.argv[1] == "buffer":
            self.kept.data = h
            return self.second(self.kept, edge_index)
        if sys.argv[1] == "parameter":
            self.weight.data = h
            return self.second(self.weight, edge_index)
        self.weight.grad = h
        return self.second(self.weight.grad + 1, edge_index)

try:
    gcnproof.certify(Kept(), graph(), Q=1, q=1, progress=False)
except gcnproof.UnsupportedModel as error:
    print(error)
"""


@pytest.mark.parametrize("what", ["buffer", "parameter", "grad"])
def test_writing_into_a_tensor_never_ends_the_interpreter(what, tmp_path):
    folder = __file__.rsplit("/", 1)[0]
    words = [sys.executable, "-c", textwrap.dedent(SCRIPT), what, folder]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0 and "assignment to `." in done.stdout and "self.h = h" in done.stdout, (done.returncode, done.stdout, done.stderr[-2000:])


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_weights_of_16_bits_are_named(kind):
    torch.manual_seed(0)
    model, data = Net().eval().to(kind), graph(7)
    with pytest.warns(gcnproof.GcnproofWarning, match=rf"model.first.* is {kind}: unless `deployed` says otherwise, the network has these very weights") as told:
        results = gcnproof.certify(model, data, Q=1, q=1, **QUIET)
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = gcnproof.certify(model.float(), data, Q=1, q=1, **QUIET)
    assert (results.verdict == again.verdict).all()


def test_an_edge_that_is_listed_twice_is_named_where_edges_are_attacked():
    data = graph(1)
    source, receiver = data.edge_index[:, 3].tolist()
    data.edge_index = torch.cat([data.edge_index, data.edge_index[:, 3:4]], 1)
    with pytest.raises(gcnproof.InputError, match=rf"the edge {source} -> {receiver} is listed 2 times.*\n  help: .*data.edge_index = torch_geometric.utils.coalesce\(data.edge_index\)"):
        gcnproof.certify(Net(), data, Edges(remove=1), **QUIET)
    assert len(gcnproof.certify(Net(), data, Flips(Q=1, q=1), **QUIET)) == 9
    data.edge_index = pyg.utils.coalesce(data.edge_index)
    assert len(gcnproof.certify(Net(), data, Edges(remove=1), **QUIET)) == 9


@pytest.mark.filterwarnings("ignore:.*one direction only")
def test_a_module_that_makes_its_edges_undirected():
    class Both(Net):
        def forward(self, x, edge_index):
            return super().forward(x, pyg.utils.to_undirected(edge_index))

    data = graph(1)
    data.edge_index = data.edge_index[:, data.edge_index[0] < data.edge_index[1]]
    for directed in (False, True):
        with pytest.raises(gcnproof.InputError, match=r"the module makes its edges undirected by itself.*\n  help: .*data = torch_geometric.transforms.ToUndirected\(\)\(data\)") as told:
            gcnproof.certify(Both(), data, Edges(remove=1, directed=directed), **QUIET)
        assert ("leave directed=True out" in str(told.value)) == directed
    assert len(gcnproof.certify(Both(), pyg.transforms.ToUndirected()(data), Edges(remove=1), **QUIET)) == 9
    # A module on directed edges is told to say so, and never twice.
    assert len(gcnproof.certify(Net(), data, Edges(remove=1, directed=True), **QUIET)) == 9
    weighted = Data(**{key: data[key] for key in ("x", "edge_index", "y")}, edge_weight=torch.rand(data.edge_index.shape[1]))
    with pytest.raises(gcnproof.InputError, match="a matrix of its own") as told:
        way = {"call": lambda model, data: model.first(data.x, data.edge_index, data.edge_weight)}
        gcnproof.certify(Net(), weighted, Edges(remove=1, directed=True), **way, **QUIET)
    assert "directed=True" not in str(told.value)


class Written(Net):
    """A module whose forward does something first."""

    def __init__(self, first):
        super().__init__()
        self.prepare = first

    def forward(self, x, edge_index):
        return super().forward(*self.prepare(x, edge_index))


def _kept(x, edge_index):
    return x, edge_index


def _of_float32(x, edge_index):
    assert x.dtype == torch.float32
    return x, edge_index


def _of_any_type(x, edge_index):
    assert x.dtype in (torch.float32, torch.float64)
    return x, edge_index


def _moved(x, edge_index):
    return x.to("cuda"), edge_index.to("cuda")


def _moved_alone(x, edge_index):
    return x.cuda(), edge_index


def _chosen(x, edge_index):
    if x.sum() > 3:
        return x, edge_index
    return 2 * x, edge_index


def _chosen_by_readout(x, edge_index):
    if global_mean_pool(x, None).sum() > 3:
        return x, edge_index
    return 2 * x, edge_index


def _chosen_by_shape(x, edge_index):
    if x.shape[0] > 3:
        return x, edge_index
    return 2 * x, edge_index


@pytest.mark.parametrize(
    ("first", "words", "instead"),
    [
        (_of_float32, r"Line: .*`assert x.dtype == torch.float32`. Remedy: a copy of the module is read that runs in float64", _of_any_type),
        (_moved, r"Remedy: a copy of the module is read that runs on the CPU: leave moves to a device out of forward, or .*next\(self.parameters\(\)\).device", _kept),
        (_moved_alone, "Remedy: a copy of the module is read that runs on the CPU", _kept),
        (_chosen, r"a choice by a sum or mean of values is not supported.*`if x.sum\(\) > 3:`.*such as their shape", _chosen_by_shape),
        (_chosen_by_readout, "a choice by a sum or mean of values is not supported", _chosen_by_shape),
        (lambda x, e: (x / x.sum(), e), "one number for all nodes and units is not supported.*statistics of all nodes", _kept),
        (lambda x, e: (x - x.mean(0), e), "`mean` over all nodes as a vector is not supported.*what is subtracted from nodes or divides them is not followed", _kept),
        (lambda x, e: (x - x.mean(0, keepdim=True), e), "what each node has and what all nodes have together is not supported.*BatchNorm", _kept),
    ],
)
def test_what_a_forward_does_first(first, words, instead):
    """The cause is named, and what the remedy says is taken."""
    if "CPU" in words and torch.cuda.is_available():
        pytest.skip("there is a device to move to")
    with pytest.raises(gcnproof.UnsupportedModel, match=words) as told:
        gcnproof.certify(Written(first), graph(), Q=1, q=1, **QUIET)
    assert "global_add_pool" not in str(told.value) or "choice by a sum" not in str(told.value)
    assert len(gcnproof.certify(Written(instead), graph(), Q=1, q=1, **QUIET)) == 9


def test_edges_before_attributes():
    class Swapped(Net):
        def forward(self, a, b):
            return super().forward(b, a)

    class Wide(Swapped):
        def __init__(self):
            super().__init__()
            self.lin = torch.nn.Linear(6, 6)

        def forward(self, a, b):
            return super().forward(a, self.lin(b))

    words = r"forward\(a, b\) was called with \(x, edge_index\)"
    with pytest.raises(gcnproof.UnsupportedModel, match=rf"given the attributes as its edges is not supported: {words}.*call=lambda model, data: model\(data.edge_index, data.x\)"):
        gcnproof.certify(Swapped(), graph(), Q=1, q=1, **QUIET)
    with pytest.raises(gcnproof.UnsupportedModel, match=words):
        gcnproof.certify(Wide(), graph(), Q=1, q=1, **QUIET)
    for model in (Swapped(), Wide()):
        assert len(gcnproof.certify(model, graph(), Q=1, q=1, call=lambda model, data: model(data.edge_index, data.x), **QUIET)) == 9
    with pytest.raises(gcnproof.UnsupportedModel, match="`data.x` arrives where it takes edge_index"):
        gcnproof.certify(Net(), graph(), Q=1, q=1, call=lambda model, data: model(data.edge_index, data.x), **QUIET)


def test_weights_of_other_edges():
    data = graph()
    edges = data.edge_index.shape[1]
    with pytest.raises(gcnproof.InvalidData, match=rf"`data.edge_weight` has 5 entries, but `data.edge_index` has {edges} edges"):
        gcnproof.certify(Net(), graph(edge_weight=torch.rand(5)), Q=1, q=1, **QUIET)
    way = {"call": lambda model, data: model.second(model.first(data.x, data.edge_index, data.lengths).relu(), data.edge_index)}
    with pytest.raises(gcnproof.UnsupportedModel, match=f"weights of 5 edges on {edges} edges"):
        gcnproof.certify(Net(), graph(lengths=torch.rand(5)), Q=1, q=1, **way, **QUIET)
    assert len(gcnproof.certify(Net(), graph(lengths=torch.rand(edges)), Q=1, q=1, **way, **QUIET)) == 9


@pytest.mark.filterwarnings("ignore:.*have a label that the model cannot predict")
def test_one_output_has_one_remedy():
    class Single(torch.nn.Module):
        def __init__(self, end):
            super().__init__()
            self.conv, self.end = GCNConv(6, 1), end

        def forward(self, x, edge_index):
            return self.end(self.conv(x, edge_index))

    with pytest.raises(gcnproof.UnsupportedModel, match=r"Remedy: return `torch.cat\(\[0 \* z, z\], dim=1\)` of it") as told:
        gcnproof.certify(Single(lambda z: z.squeeze(-1)), graph(), Q=1, q=1, **QUIET)
    assert "BatchNorm" not in str(told.value)
    assert len(gcnproof.certify(Single(lambda z: torch.cat([0 * z, z], dim=1)), graph(), Q=1, q=1, **QUIET)) == 9
