"""Modules of PyTorch Geometric, certified: every witness breaks the module itself, and no attack through it breaks a robust node."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (scripts/python-env.sh)")
pytest.importorskip("torch_geometric", reason="PyTorch Geometric is not installed (scripts/python-env.sh)")

import gcnproof
import numpy as np
from gcnproof.pyg.inputs import call_of, copied
from pyg_cases import ARCHITECTURES, CLASSES, HIDDEN, RELATIONS, graph, stirred
from test_pyg_modules import MODULES
from torch_geometric.data import Data

# Modules with caches are read without them, and a warning says so: test_pyg_newcomers.py.
pytestmark = pytest.mark.filterwarnings("ignore:.*cached=True")

SIZE, Q, LOCAL = 60, 4, 2
TIE = 1e-9


def margins(logits, classes):
    """How far the class of each row lies above the best other one."""
    rows = torch.arange(len(logits))
    own = logits[rows, classes]
    others = logits.clone()
    others[rows, classes] = -torch.inf
    return own - others.max(1).values


class Copies:
    """A module in float64 on many copies of a graph side by side, so that many attacks run at once."""

    def __init__(self, module, data, count):
        self.module = copied(module)
        self.nodes, self.count, self.x = data.num_nodes, count, data.x.double()
        offsets = torch.arange(count).repeat_interleave(data.num_edges) * self.nodes
        self.data = Data(x=self.x.repeat(count, 1), edge_index=data.edge_index.repeat(1, count) + offsets)
        if "edge_type" in data:
            self.data.edge_type = data.edge_type.repeat(count)
        self.call = call_of(self.module, self.data)

    def logits(self, x):
        """What the module gives: copies × nodes × classes; `x` is copies × nodes × attributes."""
        self.data.x = x.reshape(self.count * self.nodes, -1)
        return self.call(self.module, self.data).reshape(self.count, self.nodes, -1)

    def flipped(self, flips):
        """The attributes, with the flips of each copy made."""
        x = self.x.repeat(self.count, 1, 1)
        for place, pairs in enumerate(flips):
            for node, attribute in pairs:
                x[place, node, attribute] = 1 - x[place, node, attribute]
        return x

    def margins(self, x, targets, kept):
        """The margin of one node in each copy."""
        return margins(self.logits(x)[torch.arange(self.count), targets], kept[targets])

    def attacked(self, targets, kept):
        """The least margins that a search along the gradients finds: flip by flip, and all at once."""
        with torch.no_grad():
            least = self.margins(self.flipped([[] for _ in targets]), targets, kept)
        for at_once in (False, True):
            flips = [[] for _ in targets]
            for count in [Q] if at_once else range(1, Q + 1):
                x = self.flipped(flips).requires_grad_(True)
                (gradient,) = torch.autograd.grad(self.margins(x, targets, kept).sum(), x)
                gain = (gradient * (2 * x.detach() - 1)).flatten(1)
                for place, order in enumerate(torch.topk(gain, min(gain.shape[1], 8 * Q)).indices.tolist()):
                    for flip in (divmod(at, x.shape[2]) for at in order):
                        if len(flips[place]) < count and flip not in flips[place] and sum(n == flip[0] for n, _ in flips[place]) < LOCAL:
                            flips[place].append(flip)
                with torch.no_grad():
                    least = torch.minimum(least, self.margins(self.flipped(flips), targets, kept))
        return least


def certified(module, data):
    """Certifies the module on every node, replays and attacks; how many nodes are robust, broken and undecided in the time given."""
    results = gcnproof.certify(module, data, Q=Q, q=LOCAL, complete=True, time_limit=0.3, progress=False)
    assert len(results) == data.num_nodes and set(results.verdict) <= {"robust", "non_robust", "undecided"}
    kept = torch.from_numpy(np.asarray(results.predicted).astype(np.int64))
    nodes = torch.arange(data.num_nodes)
    with torch.no_grad():
        alone = Copies(module, data, 1)
        assert (margins(alone.logits(alone.x)[0], kept) >= -TIE).all()
    robust = nodes[torch.from_numpy(np.asarray(results.robust))]
    if len(robust):
        least = Copies(module, data, len(robust)).attacked(robust, kept)
        assert (least > 0).all(), f"node {robust[least.argmin()]} is called robust"
    broken = [row for row in results if row.verdict == "non_robust"]
    for row in broken:
        per_node = np.bincount([node for node, _ in row.witness], minlength=data.num_nodes)
        assert len(row.witness) <= Q and per_node.max(initial=0) <= LOCAL
    if broken:
        copies, targets = Copies(module, data, len(broken)), torch.tensor([row.node for row in broken])
        with torch.no_grad():
            left = copies.margins(copies.flipped([row.witness for row in broken]), targets, kept)
        assert (left <= TIE).all(), f"the witness of node {targets[left.argmax()]} leaves a margin of {left.max()}"
    return len(robust), len(broken), data.num_nodes - len(robust) - len(broken)


def sharpened(module):
    """Larger differences between classes, so that some nodes are robust."""
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if "bias" in name and parameter.numel() in (CLASSES, HIDDEN):
                parameter.copy_(torch.linspace(-1.0, 1.0, parameter.numel()).reshape(parameter.shape) * 0.6)
    return module


TOTAL = {"robust": 0, "broken": 0, "undecided": 0}


ALL = ARCHITECTURES | RELATIONS | MODULES
# These belong to a graph of one size.
ALL = {name: make for name, make in ALL.items() if name not in ("utilities", "linkx")}


@pytest.mark.parametrize("name", ALL)
def test_certified(name):
    torch.manual_seed(11)
    module = sharpened(stirred(ALL[name](), 11))
    data = graph(seed=11, nodes=SIZE, relations=name in RELATIONS)
    for verdict, count in zip(TOTAL, certified(module, data)):
        TOTAL[verdict] += count


def test_both_verdicts_were_met():
    if sum(TOTAL.values()) > 10 * SIZE:
        assert min(TOTAL["robust"], TOTAL["broken"]) > 0.1 * sum(TOTAL.values()), TOTAL


@pytest.mark.parametrize("kind", ["directed", "loops", "twice"])
def test_other_graphs(kind):
    torch.manual_seed(12)
    for name in ["gcn", "sage mean", "tag", "gin"]:
        certified(sharpened(stirred(ARCHITECTURES[name](), 12)), graph(seed=12, nodes=24, **{kind: True}))


def test_results_apply_to_the_data():
    """What a witness does is seen with the user's own module, in its own precision."""
    torch.manual_seed(13)
    model, data = ARCHITECTURES["sage mean"]().eval(), graph(seed=13, nodes=SIZE)
    results = gcnproof.certify(model, data, Q=6, q=3, complete=True, progress=False)
    broken = [row.node for row in results if row.verdict == "non_robust"]
    with torch.no_grad():
        before = model(data.x, data.edge_index).argmax(1)
        after = torch.stack([model(results.apply(node), data.edge_index)[node].argmax() for node in broken])
    # Ties and margins within float32's rounding aside, every one of them is seen to fail.
    assert len(broken) > 10 and (after != before[broken]).float().mean() > 0.9
