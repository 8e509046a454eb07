"""Hand-written modules: other names, skips, norms, spellings of the same functions, layers of one's own."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (scripts/python-env.sh)")
pytest.importorskip("torch_geometric", reason="PyTorch Geometric is not installed (scripts/python-env.sh)")

import math

from gcnproof.errors import UnsupportedModel
from gcnproof.pyg import read
from numpy_logits import logits
from pyg_cases import ATTRIBUTES as D
from pyg_cases import CLASSES as C
from pyg_cases import HIDDEN as H
from pyg_cases import NODES, graph, stirred
from test_pyg_layers import agrees, rules
from torch import nn
from torch.nn import functional as F
from torch_geometric import nn as pyg
from torch_geometric.utils import add_self_loops, degree, dropout_edge, get_laplacian, scatter, spmm, to_torch_csr_tensor

SPELLINGS = {
    "F.relu": F.relu,
    "F.relu inplace": lambda z: F.relu(z, inplace=True),
    "F.relu_": F.relu_,
    "torch.relu": torch.relu,
    "torch.relu_": torch.relu_,
    "z.relu": lambda z: z.relu(),
    "z.relu_": lambda z: z.relu_(),
    "nn.ReLU": nn.ReLU(),
    "nn.ReLU inplace": nn.ReLU(inplace=True),
    "clamp": lambda z: z.clamp(min=0),
    "clamp 0.5": lambda z: torch.clamp(z, min=0.5),
    "leaky": F.leaky_relu,
    "nn.LeakyReLU": nn.LeakyReLU(0.3),
    "nn.LeakyReLU inplace": nn.LeakyReLU(0.3, inplace=True),
    "nn.PReLU": nn.PReLU(H),
    "none": lambda z: z,
    "twice": lambda z: z.relu().relu(),
    "squeezed": lambda z: z.squeeze(0).relu(),
    "viewed": lambda z: z.view(-1, H).relu().contiguous().clone(),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_spellings_of_relu(spelling):
    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.act = pyg.GCNConv(D, H), pyg.GCNConv(H, C), SPELLINGS[spelling]

        def forward(self, x, edge_index):
            return self.b(self.act(self.a(x, edge_index)), edge_index)

    agrees(stirred(Network()), graph())


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(D, H)
        self.blocks = nn.ModuleList(pyg.SAGEConv(H, H) for _ in range(4))
        self.norms = nn.ModuleList(nn.BatchNorm1d(H) for _ in range(4))
        self.leave = nn.Linear(H, C)

    def forward(self, x, edge_index):
        x = self.enter(x)
        for block, norm in zip(self.blocks, self.norms):
            x = x + F.dropout(norm(block(x, edge_index)).relu(), 0.3, self.training)
        return F.log_softmax(self.leave(x), dim=1)


class OnData(nn.Module):
    """Called with the Data object; attributes and edges under their names there."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({"one": pyg.GraphConv(D, H), "two": pyg.GraphConv(H, C)})
        self.drop = nn.Dropout()

    def forward(self, data):
        h, e = data.x, data.edge_index
        h = self.drop(self.layers["one"](h, e).relu_())
        return torch.log_softmax(self.layers["two"](h, edge_index=e), -1)


class Norms(nn.Module):
    """Norms before, after, on the attributes, and without weights of their own."""

    def __init__(self):
        super().__init__()
        self.n0, self.n1, self.n2 = nn.BatchNorm1d(D), pyg.BatchNorm(H), nn.BatchNorm1d(H, affine=False)
        self.c1, self.c2, self.c3 = pyg.GCNConv(D, H), pyg.SAGEConv(H, H, aggr="add"), pyg.GCNConv(H, C)
        self.n3 = pyg.BatchNorm(C)

    def forward(self, x, edge_index):
        x = self.c1(self.n0(x), edge_index)
        x = self.n1(x.relu())
        x = self.n2(self.c2(x, edge_index)).relu()
        return self.n3(self.c3(x, edge_index))


class Jumping(nn.Module):
    """Concatenations of everything, the attributes too."""

    def __init__(self):
        super().__init__()
        self.c1, self.c2 = pyg.GCNConv(D, H), pyg.TAGConv(H + D, H, K=2)
        self.jk, self.out = pyg.JumpingKnowledge("cat"), nn.Linear(2 * H + D, C)

    def forward(self, feats, edges):
        one = self.c1(feats, edges).relu()
        two = torch.cat((one, feats), dim=1)
        two = self.c2(two, edges).relu()
        return self.out(self.jk([one, two, feats]))


class Arithmetic(nn.Module):
    """Sums, multiples and slices in many spellings."""

    def __init__(self):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(D, 2 * H)), nn.Parameter(torch.randn(2 * H))
        self.gate, self.mix = nn.Parameter(torch.rand(H)), nn.Parameter(torch.tensor(0.3))
        self.convs = nn.ModuleList([pyg.GCNConv(H, H), pyg.SAGEConv(H, H), pyg.GraphConv(H, H)])
        self.out = pyg.Linear(H, C)

    def forward(self, x, edge_index):
        z = x @ self.weight + self.bias
        a, b = z[:, :H], z[..., H:]
        a = torch.add(a, b, alpha=0.5).relu()
        c, d = torch.chunk(z.relu(), 2, dim=-1)
        e = (1 - self.mix) * a - c / 3 + self.gate * d
        parts = [conv(e, edge_index) for conv in self.convs]
        total = sum(parts) / len(parts) + torch.stack(parts, dim=0).mean(dim=0) - 0.1 * torch.stack(parts, -1).sum(-1)
        total += -e
        total = total.mul(2.0).sub(1.0).add_(0.25)
        return self.out(F.relu(total))


class OwnLayer(pyg.MessagePassing):
    """The layer of PyTorch Geometric's tutorial."""

    def __init__(self, inputs, outputs):
        super().__init__(aggr="add")
        self.lin, self.bias = nn.Linear(inputs, outputs, bias=False), nn.Parameter(torch.randn(outputs))

    def forward(self, x, edge_index):
        edge_index, _ = add_self_loops(edge_index, num_nodes=x.size(0))
        x = self.lin(x)
        row, col = edge_index
        deg = degree(col, x.size(0), dtype=x.dtype)
        deg_inv_sqrt = deg.pow(-0.5)
        deg_inv_sqrt[deg_inv_sqrt == float("inf")] = 0
        norm = deg_inv_sqrt[row] * deg_inv_sqrt[col]
        return self.propagate(edge_index, x=x, norm=norm) + self.bias

    def message(self, x_j, norm):
        return norm.view(-1, 1) * x_j


class Differences(pyg.MessagePassing):
    """Messages that use both ends of an edge."""

    def __init__(self, inputs, outputs):
        super().__init__(aggr="mean")
        self.one, self.two = nn.Linear(inputs, outputs), nn.Linear(inputs, outputs)

    def forward(self, x, edge_index):
        return self.propagate(edge_index, x=x) + self.two(x)

    def message(self, x_i, x_j):
        return self.one(x_j - 0.5 * x_i)

    def update(self, out):
        return 2 * out


class Own(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.first, self.second = kind(D, H), kind(H, C)

    def forward(self, x, edge_index):
        return self.second(self.first(x, edge_index).relu(), edge_index)


class Pagerank(pyg.MessagePassing):
    """Learned weights of the steps."""

    def __init__(self):
        super().__init__(aggr="add")
        self.gamma = nn.Parameter(torch.rand(4))

    def forward(self, x, edge_index):
        edge_index, norm = pyg.conv.gcn_conv.gcn_norm(edge_index, num_nodes=x.size(0), dtype=x.dtype)
        hidden = x * self.gamma[0]
        for k in range(3):
            x = self.propagate(edge_index, x=x, norm=norm)
            hidden = hidden + self.gamma[k + 1] * x
        return hidden

    def message(self, x_j, norm):
        return norm.view(-1, 1) * x_j


class Gprgnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin1, self.lin2, self.prop = nn.Linear(D, H), nn.Linear(H, C), Pagerank()

    def forward(self, data):
        x, edge_index = data.x, data.edge_index
        x = F.dropout(x, p=0.5, training=self.training)
        x = F.relu(self.lin1(x))
        x = self.lin2(F.dropout(x, p=0.5, training=self.training))
        return F.softmax(self.prop(x, edge_index), dim=-1)


class ByHand(nn.Module):
    """Edges added up without a layer: gather, weigh, index_add."""

    def __init__(self):
        super().__init__()
        self.w1, self.w2 = nn.Linear(D, H), nn.Linear(H, C)

    def spread(self, h, edge_index):
        source, target = edge_index
        out = torch.zeros_like(h)
        out.index_add_(0, target, h[source])
        count = torch.zeros(h.shape[0], dtype=h.dtype).index_add_(0, target, torch.ones(len(target), dtype=h.dtype)).clamp(min=1)
        return h + out / count.unsqueeze(1)

    def forward(self, x, edge_index):
        h = self.spread(self.w1(x), edge_index).relu()
        return self.spread(self.w2(h), edge_index)


class Matrices(nn.Module):
    """Kipf's way: a normalised adjacency is multiplied."""

    def __init__(self, sparse):
        super().__init__()
        self.w1, self.w2, self.sparse = nn.Parameter(torch.randn(D, H)), nn.Parameter(torch.randn(H, C)), sparse

    def forward(self, x, edge_index):
        a = torch.eye(x.shape[0], dtype=x.dtype)
        a[edge_index[1], edge_index[0]] = 1
        d = a.sum(1).rsqrt()
        a = d[:, None] * a * d[None, :]
        if self.sparse:
            a = a.to_sparse()
        h = torch.relu(torch.spmm(a, torch.mm(x, self.w1)) if self.sparse else a @ (x @ self.w1))
        return torch.sparse.mm(a, h @ self.w2) if self.sparse else torch.matmul(a, h).matmul(self.w2)


class Wrapped(nn.Module):
    def __init__(self):
        super().__init__()
        convolution = pyg.GCNConv(H, H)
        self.enter = nn.utils.parametrizations.weight_norm(nn.Linear(D, H))
        self.layers = nn.ModuleList(
            pyg.DeepGCNLayer(pyg.SAGEConv(H, H), nn.BatchNorm1d(H), nn.ReLU(), block=block, dropout=0.1) for block in ["res+", "res", "plain"]
        )
        self.dense = pyg.DeepGCNLayer(convolution, None, nn.ReLU(inplace=True), block="dense")
        self.leave = nn.Sequential(nn.Identity(), nn.Linear(2 * H, H), nn.BatchNorm1d(H), nn.ReLU(), nn.Dropout(), nn.Linear(H, C), nn.LogSoftmax(dim=1))

    def forward(self, x, edge_index, edge_weight=None):
        x = self.enter(x)
        for layer in self.layers:
            x = layer(x, edge_index)
        return self.leave(self.dense(x, edge_index))


class Sharing(nn.Module):
    """One layer used several times, and a branch that is not used."""

    def __init__(self):
        super().__init__()
        self.enter, self.again, self.leave, self.unused = nn.Linear(D, H), pyg.GCNConv(H, H), nn.Linear(H, C), pyg.GATConv(D, H)

    def forward(self, x, edge_index, extra: bool = False):
        if extra:
            x = self.unused(x, edge_index)
        x = self.enter(x)
        for step in range(3):
            before = x
            x = self.again(x, edge_index)
            if step % 2 == 0:
                x = x.relu() + before
            assert x.shape == (len(x), x.size(-1)) and x.dim() == 2 and isinstance(x, torch.Tensor)
        return self.leave(x)


class Weighed(nn.Module):
    """A learned mixture of all representations, stacked; it keeps its last one."""

    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([pyg.GCNConv(D, H), pyg.GCNConv(H, H), pyg.GCNConv(H, H)])
        self.alpha, self.out, self.last = nn.Parameter(torch.randn(3)), nn.utils.weight_norm(nn.Linear(H, C)), None

    def forward(self, x, edge_index):
        hs = []
        for conv in self.convs:
            x = conv(x, edge_index).relu()
            hs.append(x)
        weights = F.softmax(self.alpha, dim=0)
        self.last = (torch.stack(hs, dim=1) * weights.view(1, -1, 1)).sum(dim=1) + sum(w * h for w, h in zip(weights, hs))
        return self.out(self.last)


class Utilities(nn.Module):
    """Functions of torch_geometric.utils, constants beside the attributes, an embedding of the nodes."""

    def __init__(self):
        super().__init__()
        self.lin, self.out, self.node, self.register = nn.Linear(D + 2, H), nn.Linear(2 * H, C), nn.Embedding(NODES, H), None
        self.register_buffer("position", torch.randn(NODES, 2))

    def forward(self, data):
        x, (source, target) = torch.cat([data.x, self.position.to(data.x)], dim=-1), data.edge_index
        h = self.lin(x) + self.node(torch.arange(data.num_nodes))
        h = scatter(h[source], target, dim=0, dim_size=x.size(0), reduce="mean").relu()
        adjacency = to_torch_csr_tensor(data.edge_index.flip(0), size=(x.size(0), x.size(0)))
        g = spmm(adjacency.to(h.dtype), h, reduce="sum") - 0.5 * spmm(adjacency.to(h.dtype), h, reduce="mean")
        return self.out(torch.hstack([h, g]))


class Bernstein(nn.Module):
    """Products of a Laplacian and of what it leaves."""

    def __init__(self):
        super().__init__()
        self.lin, self.out, self.temp = nn.Linear(D, H), nn.Linear(H, C), nn.Parameter(torch.rand(3))

    def forward(self, x, edge_index):
        index, weight = get_laplacian(edge_index, normalization="sym", dtype=x.dtype, num_nodes=x.size(0))
        laplacian = torch.sparse_coo_tensor(index.flip(0), weight, (x.size(0),) * 2)
        z, total = self.out(F.relu(self.lin(x))), 0
        for k, theta in enumerate(F.relu(self.temp)):
            h = z
            for _ in range(k):
                h = torch.sparse.mm(laplacian, h)
            for _ in range(2 - k):
                h = 2 * h - torch.sparse.mm(laplacian, h)
            total = total + theta * math.comb(2, k) / 4 * h
        return total


def sequential():
    return pyg.Sequential("x, edge_index", [
        (nn.Dropout(p=0.5), "x -> x"),
        (pyg.GCNConv(D, H), "x, edge_index -> x1"),
        nn.ReLU(inplace=True),
        (pyg.GCNConv(H, H), "x1, edge_index -> x2"),
        nn.ReLU(inplace=True),
        (lambda x1, x2: [x1, x2], "x1, x2 -> xs"),
        (pyg.JumpingKnowledge("cat", H, num_layers=2), "xs -> x"),
        nn.Linear(2 * H, C),
    ])


MODULES = {
    "residual": Residual, "data": OnData, "norms": Norms, "jumping": Jumping, "arithmetic": Arithmetic, "tutorial": lambda: Own(OwnLayer),
    "differences": lambda: Own(Differences), "gprgnn": Gprgnn, "by hand": ByHand, "dense matrix": lambda: Matrices(False),
    "sparse matrix": lambda: Matrices(True), "wrapped": Wrapped, "sharing": Sharing, "sequential": sequential,
    "mlp": lambda: nn.Sequential(nn.Linear(D, H), nn.ReLU(), nn.Linear(H, C)),
    "linear": lambda: nn.Linear(D, C),
    "weighed": Weighed, "utilities": Utilities, "bernstein": Bernstein,
    "linkx": lambda: pyg.LINKX(NODES, D, H, C, num_layers=2, num_edge_layers=2, num_node_layers=2),
    "nested": lambda: pyg.Sequential("x, edge_index", [(Own(OwnLayer), "x, edge_index -> x"), (nn.Softmax(dim=-1), "x -> x")]),
}


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("kind", [{}, {"directed": True, "loops": True}], ids=["plain", "directed"])
def test_modules(name, kind):
    torch.manual_seed(0)
    agrees(stirred(MODULES[name]()), graph(**kind))


@pytest.mark.parametrize("name, expected", [("tutorial", {"gcn"}), ("gprgnn", {"gcn", "identity"}), ("by hand", {"mean"}),
                                            ("sparse matrix", {"gcn"}), ("dense matrix", {"gcn"})])
def test_rules_are_recognised_in_layers_of_ones_own(name, expected):
    torch.manual_seed(0)
    assert rules(agrees(MODULES[name](), graph())) == expected


def test_hidden_sizes_stay_small():
    """A skip over many layers carries units, not copies of the attributes."""
    network = agrees(stirred(Residual()), graph())
    assert all(network.units[layer.name] <= H for layer in network.layers)
    assert len(network.layers) == 5


def test_attributes_are_not_multiplied_by_an_identity():
    network = agrees(stirred(Jumping()), graph())
    assert network.units.keys() == {"c1", "c2", "logits"}


def test_a_module_on_float64_and_in_training_mode():
    model = Residual().double().train()
    agrees(model, graph())
    assert model.training


def test_what_a_module_keeps_from_its_last_run_is_no_hindrance():
    model, data = Weighed(), graph()
    model(data.x, data.edge_index).sum().backward()
    assert model.last.grad_fn is not None
    agrees(model, data)


def test_outputs_of_several_parts_are_picked_by_call():
    class Both(OnData):
        def forward(self, data):
            out = super().forward(data)
            return out.exp if False else (out, data.x)

    agrees(Both(), graph(), call=lambda model, data: model(data)[0])


def test_sparse_attributes():
    data = graph()
    data.x = data.x.to_sparse()

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.conv = nn.Parameter(torch.randn(D, H)), pyg.GCNConv(H, C)

        def forward(self, x, edge_index):
            return self.conv(torch.sparse.mm(x, self.w).relu(), edge_index)

    agrees(Network(), data)


class Casts(nn.Module):
    """Asks for float32 on its way."""

    def __init__(self, how):
        super().__init__()
        self.one, self.two, self.how = pyg.SAGEConv(D, H), pyg.SAGEConv(H, C), how

    def forward(self, edges, feats):
        h = self.one(self.how(feats), edges)
        scale = torch.full((H,), 0.3) @ torch.ones(H, H, dtype=torch.float32)
        return self.two(F.relu(h * scale), edges)


@pytest.mark.parametrize("how", [lambda x: x.float(), lambda x: x.to(torch.float32), lambda x: x.type(torch.float32), lambda x: x.to("cpu", dtype=torch.float)])
def test_casts_to_float32_are_taken_as_casts_to_float64(how):
    agrees(Casts(how), graph())
    assert torch.get_default_dtype() == torch.float32


def test_arguments_are_known_by_their_names():
    class Renamed(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = pyg.GraphConv(D, C)

        def forward(self, edge_list, node_features, *, verbose=False):
            return self.conv(node_features, edge_list)

    agrees(Renamed(), graph())

    class Dense(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(D, C)

        def forward(self, x, adj):
            return adj @ self.lin(x)

    with pytest.raises(UnsupportedModel, match="`adj`, which the data does not have"):
        read(Dense(), graph())
    data = graph()
    data.adj = torch.rand(NODES, NODES)
    agrees(Dense(), data)


def test_edges_are_prepared_in_the_module():
    class Prepared(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.edge = pyg.GCNConv(D, C, normalize=False), nn.Linear(1, 1)

        def forward(self, data):
            edge_index, weight = pyg.conv.gcn_conv.gcn_norm(data.edge_index, num_nodes=data.num_nodes, dtype=data.x.dtype)
            edge_index, mask = dropout_edge(edge_index, p=0.5, training=self.training)
            weight = torch.sigmoid(self.edge(weight[mask][:, None])).squeeze(-1)
            return self.conv(data.x, edge_index, weight)

    agrees(Prepared(), graph())


def test_wrappers_are_taken_off():
    model = Residual()
    agrees(nn.DataParallel(model), graph())
    agrees(torch.compile(model), graph())


def test_the_network_is_the_same_on_another_seed_of_flips():
    reading = read(stirred(Norms()), graph())
    for seed in range(5):
        assert reading.compare(lambda attributes: logits(reading.network, reading.inputs.adjacency, attributes), seed) < 1e-12
    assert reading.inputs.attributes.shape == (NODES, D)
