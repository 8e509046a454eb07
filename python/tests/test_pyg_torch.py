"""gcnproof.torch.RobustLoss: its gradient against central differences, what it notices, what it refuses, and that it trains."""

import gc
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (scripts/python-env.sh)")
pytest.importorskip("torch_geometric", reason="PyTorch Geometric is not installed (scripts/python-env.sh)")

import gcnproof
from pyg_cases import ARCHITECTURES, ATTRIBUTES, CLASSES, HIDDEN, RELATIONS, graph, stirred
from torch import nn
from torch.nn import functional as F
from torch_geometric import nn as pyg
from torch_geometric.data import Batch, Data
from torch_geometric.nn import models

RobustLoss = gcnproof.torch.RobustLoss  # There without an import of its own.
KINDS = ("cross-entropy", "hinge", "hinge-unlabelled")
EXAMPLES = Path(__file__).parents[2] / "examples"


def labelled_graph(seed=0, **options):
    data = graph(seed, **options)
    data.train_mask = torch.arange(data.num_nodes) % 3 == 0
    return data


def made(name, seed=0):
    torch.manual_seed(seed)
    return stirred({**ARCHITECTURES, **RELATIONS}[name](), seed).double()


def loss_of(kind, bound="paper", **options):
    # Margins large enough that every hinge is at work somewhere.
    margins = {} if kind == "cross-entropy" else {"margin": 4.0, "margin_unlabelled": 3.0}
    return RobustLoss(gcnproof.Flips(Q=3, q=2), kind, bound, **margins, **options)


def targets(kind, data):
    return list(range(data.num_nodes)) if kind == "hinge-unlabelled" else [0, 3, 6, 12]


def differences(evaluate, tensor, at):
    """Central differences of two widths, and one to the right."""
    with torch.no_grad():
        flat = tensor.view(-1)
        kept = flat[at].item()

        def shifted(step):
            flat[at] = kept + step
            value = evaluate().item()
            flat[at] = kept
            return value

        fine, coarse = (shifted(1e-6) - shifted(-1e-6)) / 2e-6, (shifted(1e-5) - shifted(-1e-5)) / 2e-5
        return fine, coarse, (shifted(1e-5) - shifted(0.0)) / 1e-5


def compare(model, evaluate, most=None):
    """Every entry of every parameter (or some of each) against central differences: how many, and how many of them at kinks."""
    model.zero_grad()
    evaluate().backward()
    random, count, kinks = np.random.default_rng(0), 0, 0
    for name, parameter in model.named_parameters():
        size = parameter.numel()
        entries = range(size) if most is None or size <= most else random.choice(size, most, replace=False)
        gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        for at in map(int, entries):
            fine, coarse, right = differences(evaluate, parameter.data, at)
            count += 1
            # Between kinks all differences agree to the curvature; at one they do not.
            if abs(fine - coarse) > 1e-6 * (1 + abs(fine)) or abs(right - coarse) > 1e-2 * (1 + abs(coarse)):
                kinks += 1
                continue
            error = abs(fine - float(gradient.view(-1)[at])) / (1e-3 + abs(fine))
            assert error < 1e-5, (name, at, fine, float(gradient.view(-1)[at]))
    return count, kinks


@pytest.mark.filterwarnings("ignore::gcnproof.GcnproofWarning")
@pytest.mark.parametrize("name", [*ARCHITECTURES, *RELATIONS])
def test_gradients_are_those_of_central_differences(name):
    data = labelled_graph(relations=name in RELATIONS)
    model = made(name)
    robust = loss_of("hinge-unlabelled")
    count, kinks = compare(model, lambda: robust(model, data), most=8)
    assert kinks * 10 <= count, (count, kinks)
    assert len(robust._readings) == 1


ENTRY_BY_ENTRY = {
    "GCN": lambda: models.GCN(ATTRIBUTES, 4, 2, CLASSES),
    "GraphSAGE": lambda: models.GraphSAGE(ATTRIBUTES, 4, 2, CLASSES),
    # At eps = 0 the flips of a node tie with those of its neighbours.
    "GIN": lambda: models.GIN(ATTRIBUTES, 4, 2, CLASSES, norm="batch_norm", eps=0.3, train_eps=True),
    "APPNP": lambda: ARCHITECTURES["appnp"](),
    "JumpingKnowledge and skips": lambda: Skipping(),
    "depth 3": lambda: models.GCN(ATTRIBUTES, 4, 3, CLASSES, norm="batch_norm"),
    "depth 4": lambda: models.GCN(ATTRIBUTES, 4, 4, CLASSES),
    "depth 5": lambda: models.GraphSAGE(ATTRIBUTES, 3, 5, CLASSES),
}


class Skipping(nn.Module):
    """Layers that are read again further up, side by side and added, and weights that are used twice."""

    def __init__(self):
        super().__init__()
        self.enter, self.shared = nn.Linear(ATTRIBUTES, 4), pyg.GCNConv(4, 4)
        self.norm, self.leave = nn.BatchNorm1d(4), nn.Linear(12, CLASSES)
        self.mix = nn.Parameter(torch.tensor([0.3, -0.2]))

    def forward(self, x, edge_index):
        first = self.enter(x).relu()
        second = self.norm(self.shared(first, edge_index) + first).relu()
        third = F.relu(self.shared(second, edge_index) * self.mix.softmax(0)[0]) + self.mix[1] * first
        return self.leave(torch.cat([first, second, third], -1))


@pytest.mark.parametrize("bound", ["paper", "anchored"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ENTRY_BY_ENTRY)
def test_gradients_entry_by_entry(name, kind, bound):
    data = labelled_graph(3)
    torch.manual_seed(1)
    model = stirred(ENTRY_BY_ENTRY[name](), 1).double()
    robust = loss_of(kind, bound)
    count, kinks = compare(model, lambda: robust(model, data, targets(kind, data)))
    assert kinks * 10 <= count, (count, kinks)


class Dividing(nn.Module):
    """A module that divides rows by their sums itself."""

    def __init__(self):
        super().__init__()
        self.inner = models.GraphSAGE(ATTRIBUTES, 4, 2, CLASSES)

    def forward(self, x, edge_index):
        return self.inner(x / x.sum(-1, keepdim=True).clamp(min=1), edge_index)


@pytest.mark.filterwarnings("ignore::gcnproof.GcnproofWarning")
@pytest.mark.parametrize("bound", ["paper", "anchored"])
@pytest.mark.parametrize("module", ["GCN", "GraphSAGE", "depth 3", "inside"])
def test_gradients_where_rows_are_divided_by_their_sums(module, bound):
    data = labelled_graph(3)
    torch.manual_seed(1)
    if module == "inside":
        model = stirred(Dividing(), 1).double()
    else:
        data.x = data.x / data.x.sum(-1, keepdim=True).clamp(min=1)
        model = stirred(ENTRY_BY_ENTRY[module](), 1).double()
    robust = loss_of("hinge-unlabelled", bound)
    count, kinks = compare(model, lambda: robust(model, data))
    assert kinks * 10 <= count, (count, kinks)
    share = robust.certified(model, data)
    assert share <= gcnproof.certify(model, data, Q=3, q=2, progress=False).robust.mean()


def small_graphs():
    """Trees with a few attributes."""
    result = []
    for at, nodes in enumerate([5, 1, 4, 7]):
        random = np.random.default_rng(at)
        ends = [(int(random.integers(0, node)), node) for node in range(1, nodes)]
        edges = torch.tensor([*ends, *[pair[::-1] for pair in ends]], dtype=torch.long).reshape(-1, 2).T
        x = (torch.from_numpy(random.random((nodes, ATTRIBUTES))) < 0.4).float()
        result.append(Data(x=x, edge_index=edges, y=torch.tensor([at % CLASSES]), train_mask=torch.tensor([at % 2 == 0])))
    return result


class Pooling(nn.Module):
    def __init__(self, pool):
        super().__init__()
        self.conv, self.head, self.pool = pyg.GCNConv(ATTRIBUTES, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, CLASSES)), pool

    def forward(self, x, edge_index, batch):
        return self.head(self.pool(self.conv(x, edge_index).relu(), batch))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pool", [pyg.global_add_pool, pyg.global_mean_pool])
def test_gradients_of_graphs(kind, pool):
    data = Batch.from_data_list(small_graphs())
    torch.manual_seed(1)
    model = stirred(Pooling(pool), 1).double()
    robust = loss_of(kind)
    count, kinks = compare(model, lambda: robust(model, data))
    assert kinks * 10 <= count, (count, kinks)
    assert 0.0 <= robust.certified(model, data) <= 1.0


GROUPS = [range(0, 4), range(4, 7)]


def one_hot_graph(seed=0):
    """A graph whose rows have one attribute of each group; those of the second may have none."""
    data, random = labelled_graph(seed), np.random.default_rng(seed)
    data.x = torch.zeros_like(data.x)
    for row in data.x:
        row[random.integers(0, 4)] = 1.0
        if random.random() < 0.7:
            row[random.integers(4, 7)] = 1.0
        row[7:] = torch.from_numpy((random.random(ATTRIBUTES - 7) < 0.5).astype(np.float32))
    return data


@pytest.mark.parametrize("bound", ["paper", "anchored"])
@pytest.mark.parametrize("name", ["gcn", "sage", "gin"])
def test_gradients_of_changes_of_categories(name, bound):
    data, model = one_hot_graph(), {"gcn": models.GCN, "sage": models.GraphSAGE, "gin": models.GIN}[name](ATTRIBUTES, HIDDEN, 2, CLASSES)
    model = stirred(model, 1).double()
    robust = RobustLoss(gcnproof.Categories(Q=3, q=2, groups=GROUPS), "hinge-unlabelled", bound, margin=4.0, margin_unlabelled=3.0)
    count, kinks = compare(model, lambda: robust(model, data))
    assert kinks * 10 <= count, (count, kinks)
    attack = gcnproof.Categories(Q=3, q=2, groups=GROUPS, bound=bound, margins="tight")
    results = gcnproof.certify(model, data, attack, complete=False, progress=False)
    bounds, _ = robust._reading(model, data).bounds(list(range(data.num_nodes)))
    assert name == "gin" or ((bounds > 0) == [result.verdict == "robust" for result in results]).all()


@pytest.mark.filterwarnings("ignore:the model")
@pytest.mark.filterwarnings("ignore:the model", "ignore:class 1 has a single labelled node")
def test_train_and_the_loss_have_the_same_numbers_for_categories(tmp_path):
    data, attack = one_hot_graph(2), gcnproof.Categories(Q=2, q=1, groups=GROUPS)
    common = {"layers": "sage", "hidden": 4, "batch": 1000, "decay": 1.0, "weight_decay": 0.0, "warm_up": 0, "labelled": data.train_mask, "progress": False}
    out, log = tmp_path / "model.safetensors", tmp_path / "log.jsonl"
    gcnproof.train(data, "rce", attack, epochs=5, out=out, **common)
    gcnproof.train(data, "rce", attack, epochs=6, log=log, **common)
    model = TRAINED["sage"](2)
    model.load_state_dict(tensors(out))
    value = RobustLoss(attack, "cross-entropy")(model.double(), data, data.train_mask)
    assert value.item() == pytest.approx(json.loads(log.read_text().splitlines()[6])["loss"], rel=1e-5)


def test_the_bounds_are_those_of_certify():
    data, model = labelled_graph(4), made("gcn", 2)
    for bound in ("paper", "anchored"):
        attack = gcnproof.Flips(Q=2, q=1, bound=bound, margins="tight")
        robust = RobustLoss(gcnproof.Flips(Q=2, q=1), "hinge-unlabelled", bound)
        bounds, _ = robust._reading(model, data).bounds(list(range(data.num_nodes)))
        results = gcnproof.certify(model, data, attack, complete=False, progress=False)
        certified = np.array([result.verdict == "robust" for result in results])
        assert ((bounds > 0) == certified).all()
        assert robust.certified(model, data) == certified.mean()


def tensors(path):
    """The tensors of a safetensors file, for load_state_dict."""
    raw = Path(path).read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = {name: of for name, of in json.loads(raw[8 : 8 + length]).items() if name != "__metadata__"}
    data = raw[8 + length :]
    return {name: torch.frombuffer(bytearray(data[slice(*of["data_offsets"])]), dtype=torch.float32).reshape(of["shape"]) for name, of in header.items()}


class Residual(nn.Module):
    """A model of PyTorch Geometric in which every hidden layer is added to the next."""

    def __init__(self, model):
        super().__init__()
        self.convs = model.convs

    def forward(self, x, edge_index):
        first, *others, last = self.convs
        x = first(x, edge_index).relu()
        for conv in others:
            x = (conv(x, edge_index) + x).relu()
        return last(x, edge_index)


TRAINED = {
    "gcn": lambda depth: models.GCN(ATTRIBUTES, 4, depth, CLASSES),
    "sage": lambda depth: models.GraphSAGE(ATTRIBUTES, 4, depth, CLASSES),
    "sage-sum": lambda depth: models.GraphSAGE(ATTRIBUTES, 4, depth, CLASSES, aggr="sum"),
    "gin": lambda depth: models.GIN(ATTRIBUTES, 4, depth, CLASSES),
}


@pytest.mark.filterwarnings("ignore:the model", "ignore:class 1 has a single labelled node")
@pytest.mark.parametrize(("depth", "skip"), [(2, False), (3, False), (4, True)])
@pytest.mark.parametrize("kind", TRAINED)
def test_train_and_the_loss_have_the_same_numbers(kind, depth, skip, tmp_path):
    data, attack = labelled_graph(2), gcnproof.Flips(Q=3, q=2)
    nodes = data.train_mask.nonzero().ravel()
    common = {"layers": kind, "depth": depth, "skip": skip, "hidden": 4, "batch": 1000, "decay": 1.0, "weight_decay": 0.0, "warm_up": 0}
    common |= {"labelled": data.train_mask, "learning_rate": 0.02, "progress": False}
    for loss, kind_of_loss in (("rce", "cross-entropy"), ("rh", "hinge")):
        out, log = tmp_path / f"{loss}.safetensors", tmp_path / f"{loss}.jsonl"
        gcnproof.train(data, loss, attack, epochs=6, out=out, **common)
        # One iteration more: its loss is that of the weights that were written.
        gcnproof.train(data, loss, attack, epochs=7, log=log, **common)
        wanted = json.loads(log.read_text().splitlines()[7])
        model = TRAINED[kind](depth)
        # GINConv keeps its epsilon, which is 0, in a buffer.
        missing, unexpected = model.load_state_dict(tensors(out), strict=kind != "gin")
        assert not unexpected and all(name.endswith("eps") for name in missing)
        model = (Residual(model) if skip else model).double().eval()
        logits = model(data.x.double(), data.edge_index)
        assert np.allclose(gcnproof.logits(out, data), logits.detach().numpy(), atol=1e-9)
        value = RobustLoss(attack, kind_of_loss)(model, data, nodes).item()
        if loss == "rh":
            value += F.cross_entropy(logits[nodes], data.y[nodes]).item()
        assert wanted["iteration"] == 6
        if skip and kind != "gcn":
            # A module is read with the skip and the layer's own weights in one term, whose intervals are tighter than those of two.
            assert value <= wanted["loss"] * (1 + 1e-5)
        else:
            assert value == pytest.approx(wanted["loss"], rel=1e-5)


def test_numbers_move_and_the_module_is_read_once():
    data, robust = labelled_graph(), loss_of("hinge-unlabelled")
    torch.manual_seed(0)
    model = models.GCN(ATTRIBUTES, HIDDEN, 3, CLASSES, norm="batch_norm", dropout=0.5)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses, readings = [], []
    for _ in range(60):
        model.train()
        optimizer.zero_grad()
        model(data.x, data.edge_index)  # BatchNorm counts.
        loss = robust(model, data)
        assert loss.dtype == torch.float32 and loss.shape == () and model.training
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        readings += robust._readings
    assert len(readings) == 60 and all(reading is readings[0] for reading in readings)
    assert losses[-1] < 0.75 * losses[0]
    # The same numbers in a new reading.
    assert loss_of("hinge-unlabelled")(model, data).item() == pytest.approx(robust(model, data).item(), rel=1e-6)


def test_a_change_of_structure_is_noticed():
    data, robust = labelled_graph(), loss_of("hinge-unlabelled")
    torch.manual_seed(0)

    class Choosing(nn.Module):
        def __init__(self):
            super().__init__()
            self.convs, self.skip = nn.ModuleList([pyg.GCNConv(ATTRIBUTES, 4), pyg.GCNConv(4, CLASSES)]), True
            self.side = nn.Linear(ATTRIBUTES, CLASSES)
            self.register_buffer("share", torch.tensor(0.5))

        def forward(self, x, edge_index):
            out = self.convs[1](self.convs[0](x, edge_index).relu(), edge_index)
            return out + self.share * self.side(x) if self.skip else out

    model = Choosing()
    def fresh():
        return float(loss_of("hinge-unlabelled")(model, data))

    first = float(robust(model, data))
    model.skip = False
    assert float(robust(model, data)) == pytest.approx(fresh()) != pytest.approx(first)
    model.skip = True
    model.share.fill_(0.25)
    assert float(robust(model, data)) == pytest.approx(fresh())
    model.convs[0] = pyg.SAGEConv(ATTRIBUTES, 4)
    assert float(robust(model, data)) == pytest.approx(fresh())
    data.x[0, 0] = 1 - data.x[0, 0]
    assert float(robust(model, data)) == pytest.approx(fresh())
    data.edge_index = data.edge_index[:, :-2]
    assert float(robust(model, data)) == pytest.approx(fresh())


def test_frozen_and_shared_parameters():
    data, robust, model = labelled_graph(), loss_of("hinge-unlabelled"), made("gcn")
    model.first.lin.weight.requires_grad_(False)
    robust(model, data).backward()
    assert model.first.lin.weight.grad is None and model.first.bias.grad.abs().sum() > 0 and model.second.lin.weight.grad.abs().sum() > 0
    with torch.no_grad():
        assert not robust(model, data).requires_grad
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    assert not robust(model, data).requires_grad


def test_the_weight_scales_and_nodes_average():
    data, model = labelled_graph(), made("gcn")
    whole = float(loss_of("hinge", weight=1.0)(model, data, [0, 3]))
    parts = [float(loss_of("hinge", weight=1.0)(model, data, [node])) for node in (0, 3)]
    assert whole == pytest.approx(np.mean(parts)) and float(loss_of("hinge", weight=0.5)(model, data, [0, 3])) == pytest.approx(whole / 2)
    mask = torch.zeros(data.num_nodes, dtype=torch.bool)
    mask[[0, 3]] = True
    assert float(loss_of("hinge", weight=1.0)(model, data, mask)) == whole
    assert (robust := RobustLoss(gcnproof.Flips(Q=1, q=1))).weight == 0.2 and robust.margin == pytest.approx(np.log(9))


@pytest.mark.parametrize("kind", ["hinge", "hinge-unlabelled"])
@pytest.mark.parametrize("name", ["gcn", "GraphSAGE", "GIN", "GCN norm"])
def test_the_cross_entropy_of_the_logits_in_the_same_call(kind, name):
    """Value and gradient are those of a loop that calls the module itself."""
    data, found = labelled_graph(), []
    for together in (True, False):
        model = made(name)
        nodes = [0, 3, 6] if kind == "hinge" else range(data.num_nodes)
        loss = loss_of(kind, cross_entropy=together)(model, data, nodes, labelled=data.train_mask)
        if not together:
            model.eval()
            loss = loss + nn.functional.cross_entropy(model(data.x.double(), data.edge_index)[data.train_mask], data.y[data.train_mask])
        loss.backward()
        found.append([loss.item(), *(parameter.grad for parameter in model.parameters())])
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-12)
    assert all(torch.allclose(one, two, rtol=1e-10, atol=1e-12) for one, two in zip(found[0][1:], found[1][1:]))


def test_the_cross_entropy_needs_labels_and_a_hinge():
    data, model = labelled_graph(), made("gcn")
    with pytest.raises(gcnproof.InputError, match="takes the place of the cross entropy"):
        loss_of("cross-entropy", cross_entropy=True)
    with pytest.raises(gcnproof.InputError, match="cross_entropy='yes'"):
        loss_of("hinge", cross_entropy="yes")
    robust = loss_of("hinge-unlabelled", cross_entropy=True)
    with pytest.raises(gcnproof.InputError, match="no node is labelled"):
        robust(model, data, labelled=[])
    del data.train_mask
    with pytest.raises(gcnproof.InputError, match="not said which nodes are labelled.*\n.*train_mask\\)$"):
        robust(model, data)
    data.y = None
    with pytest.raises(gcnproof.InputError, match="cross_entropy=True needs some"):
        robust(model, data)


def test_a_module_that_predicts_one_class_is_warned_of():
    nodes = torch.arange(120)
    edges = torch.stack([torch.cat([nodes[:-1], nodes[1:]]), torch.cat([nodes[1:], nodes[:-1]])])
    data = Data(x=torch.eye(120, ATTRIBUTES), edge_index=edges)
    model = models.GCN(ATTRIBUTES, 4, 2, CLASSES)
    with torch.no_grad():
        model.convs[1].lin.weight.zero_()
        model.convs[1].bias[1] = 1.0
    with pytest.warns(gcnproof.GcnproofWarning, match="predicts class 1 for 100.0%"):
        assert loss_of("hinge").certified(model, data) == 1.0


def test_one_result_on_any_number_of_threads():
    data = labelled_graph()
    gradients = []
    for threads in (1, 3):
        model = made("GraphSAGE")
        loss_of("hinge-unlabelled", threads=threads)(model, data).backward()
        gradients.append([parameter.grad.clone() for parameter in model.parameters()])
    assert all(torch.equal(one, two) for one, two in zip(*gradients))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_a_module_on_a_gpu():
    data, model = labelled_graph(), made("GCN norm").float()
    expected = loss_of("hinge-unlabelled")(model, data)
    found = loss_of("hinge-unlabelled")(model.cuda(), data.to("cuda"))
    assert found.is_cuda and float(found) == pytest.approx(float(expected), rel=1e-5)
    found.backward()
    assert all(parameter.grad.is_cuda for parameter in model.parameters())


def test_what_cannot_be_trained_is_refused_at_the_first_call():
    data = labelled_graph()
    with pytest.raises(gcnproof.UnsupportedModel, match="GATConv"):
        loss_of("hinge")(pyg.GATConv(ATTRIBUTES, CLASSES), data, [0])
    with pytest.raises(gcnproof.InputError, match="no attack that there is a loss for"):
        RobustLoss(gcnproof.Edges(remove=1))
    with pytest.raises(gcnproof.InputError, match="Categories without groups"):
        RobustLoss(gcnproof.Categories(Q=1, q=1), "hinge")(made("gcn"), data, [0])
    with pytest.raises(gcnproof.InputError, match="q is missing"):
        RobustLoss(gcnproof.Flips(Q=1))
    for kind in ("hinges", None, 3):
        with pytest.raises(gcnproof.InputError, match="kind=.*\n  help: give 'cross-entropy', 'hinge' or 'hinge-unlabelled'"):
            RobustLoss(gcnproof.Flips(Q=1, q=1), kind)
    with pytest.raises(gcnproof.InputError, match="bound="):
        RobustLoss(gcnproof.Flips(Q=1, q=1), bound="best")

    class Learned(nn.Module):
        """Message passing whose entries are trained."""

        def __init__(self):
            super().__init__()
            self.conv, self.edges = pyg.GCNConv(ATTRIBUTES, CLASSES, normalize=False), nn.Parameter(torch.rand(data.edge_index.shape[1]))

        def forward(self, x, edge_index):
            return self.conv(x, edge_index, self.edges)

    with pytest.raises(gcnproof.UnsupportedModel, match="message passing"):
        loss_of("hinge")(Learned(), data, [0])

    class Written(nn.Module):
        """Weights that are changed in place."""

        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.rand(ATTRIBUTES, CLASSES))

        def forward(self, x, edge_index):
            weight = self.weight * 2
            weight.clamp_(max=0.5)
            return x @ weight

    with pytest.raises(gcnproof.UnsupportedModel, match="clamp_"):
        loss_of("hinge")(Written(), data, [0])


def test_targets_and_labels_are_checked():
    data, model = labelled_graph(), made("gcn")
    with pytest.raises(gcnproof.InputError, match="no node 99"):
        loss_of("hinge")(model, data, [99])
    with pytest.raises(gcnproof.InputError, match="none is selected"):
        loss_of("hinge")(model, data, [])
    robust = loss_of("hinge-unlabelled")
    robust(model, data, [0])
    for wrong in (99, -99):
        with pytest.raises(gcnproof.InputError, match=f"labelled: there is no node {wrong}"):
            robust(model, data, labelled=[wrong])
    for nothing in (None, "data"):
        with pytest.raises(gcnproof.InputError, match="no Data object\n  help: give the Data object that the module is called with"):
            robust(model, nothing)
    y, data.y = data.y, None
    with pytest.raises(gcnproof.InputError, match="no labels, `data.y`, and kind='hinge' needs one for each of the nodes\n  help: .*'hinge-unlabelled'"):
        loss_of("hinge")(model, data, [0])
    with pytest.raises(gcnproof.InputError, match=r"labelled says whose to use\n  help: .*labelled=\[\]"):
        robust(model, data, labelled=[0])
    assert robust(model, data, labelled=[]) == robust(model, data) >= 0
    data.y = y
    data.y[3] = -1
    with pytest.raises(gcnproof.InputError, match="no label"):
        loss_of("hinge")(model, data, [0, 3])
    loss_of("hinge-unlabelled")(model, data, [0, 3])
    del data.train_mask
    with pytest.raises(gcnproof.InputError, match="which nodes are labelled"):
        loss_of("hinge-unlabelled")(model, data, [0, 3])
    loss_of("hinge-unlabelled")(model, data, [0, 3], labelled=[0])
    with torch.no_grad():
        model.first.bias[0] = float("nan")
    robust = loss_of("hinge-unlabelled")
    with pytest.raises(gcnproof.GcnproofError):
        robust(model, data, [0], labelled=[0])


def test_memory_stays_constant():
    data, robust, model = labelled_graph(), loss_of("hinge-unlabelled"), made("GCN norm")

    def held():
        gc.collect()
        return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS"))

    def steps(count):
        for _ in range(count):
            model.zero_grad()
            robust(model, data).backward()

    steps(100)
    before = held()
    steps(400)
    assert held() - before < 4_000, "kilobytes"


LOOP = """
import torch, gcnproof
from torch_geometric.nn import GCN
from torch_geometric.data import Data
torch.manual_seed(0)
nodes = 3000
x = (torch.rand(nodes, 500) < 0.05).float()
data = Data(x=x, edge_index=torch.randint(0, nodes, (2, 9000)), y=torch.zeros(nodes, dtype=torch.long), train_mask=torch.ones(nodes, dtype=torch.bool))
model, robust = GCN(500, 16, 2, 3), gcnproof.torch.RobustLoss(gcnproof.Flips(Q=5, q=5))
robust(model, data, [0])
print("begun", flush=True)
try:
    while True:
        robust(model, data, slice(0, 200)).backward()
except KeyboardInterrupt:
    print(float(robust(model, data, [0])) >= 0)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_a_loop():
    process = subprocess.Popen([sys.executable, "-c", LOOP], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 0 and out == "True\n", errors


@pytest.mark.parametrize("name", ["robust_training.py", "robust_lightning.py"])
def test_examples_run(name):
    if "lightning" in name:
        pytest.importorskip("lightning", reason="Lightning is not installed")
    run = subprocess.run([sys.executable, EXAMPLES / name, "--epochs", "3"], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0 and "certified" in run.stdout, run.stderr
