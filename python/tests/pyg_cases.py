"""Graphs and modules of PyTorch Geometric for the tests: every layer that is supported, with its options."""

import torch
from torch import nn
from torch.nn import functional as F
from torch_geometric import nn as pyg
from torch_geometric.data import Data
from torch_geometric.nn import models

NODES, ATTRIBUTES, HIDDEN, CLASSES = 13, 9, 6, 3


def graph(seed=0, directed=False, loops=False, weights=False, twice=False, relations=False, nodes=NODES):
    """A random graph whose last node is isolated, the others with 4 neighbours on average."""
    random = torch.Generator().manual_seed(seed)
    x = (torch.rand(nodes, ATTRIBUTES, generator=random) < 0.4).float()
    pairs = torch.combinations(torch.arange(nodes - 1))
    pairs = pairs[torch.rand(len(pairs), generator=random) < 4.0 / nodes].T
    edges = pairs if directed else torch.cat([pairs, pairs.flip(0)], 1)
    if loops:
        edges = torch.cat([edges, torch.tensor([[2, 5], [2, 5]])], 1)
    if twice:
        edges = torch.cat([edges, edges[:, :4]], 1)
    data = Data(x=x, edge_index=edges, y=torch.randint(0, CLASSES, (nodes,), generator=random))
    if weights:
        data.edge_weight = torch.rand(edges.shape[1], generator=random) + 0.1
    if relations:
        data.edge_type = torch.randint(0, 2, (edges.shape[1],), generator=random)
    return data


def stirred(module, seed=0):
    """Random biases and running statistics, so that nothing is 0 or 1 by chance."""
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for norm in module.modules():
            if isinstance(norm, nn.BatchNorm1d) and norm.running_mean is not None:
                norm.running_mean.normal_(0.0, 0.3, generator=random)
                norm.running_var.uniform_(0.4, 2.0, generator=random)
                if norm.weight is not None:
                    norm.weight.uniform_(0.5, 1.5, generator=random)
        for name, parameter in module.named_parameters():
            if "bias" in name:
                parameter.normal_(0.0, 0.3, generator=random)
    return module


class Two(nn.Module):
    """Two layers with a ReLU between them."""

    def __init__(self, first, second):
        super().__init__()
        self.first, self.second = first, second

    def forward(self, x, edge_index):
        return self.second(F.relu(self.first(x, edge_index)), edge_index)


class Spread(nn.Module):
    """A network per node, then a layer without weights."""

    def __init__(self, spread):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(ATTRIBUTES, HIDDEN), nn.ReLU(), nn.Dropout(0.5), nn.Linear(HIDDEN, CLASSES))
        self.spread = spread

    def forward(self, x, edge_index):
        return self.spread(self.mlp(x), edge_index)


class Deep(nn.Module):
    """GCN2Conv, several times."""

    def __init__(self, **options):
        super().__init__()
        self.enter, self.leave = nn.Linear(ATTRIBUTES, HIDDEN), pyg.Linear(HIDDEN, CLASSES)
        self.steps = nn.ModuleList(pyg.GCN2Conv(HIDDEN, 0.2, layer=place + 1, **options) for place in range(3))

    def forward(self, x, edge_index):
        x = x_0 = self.enter(x).relu()
        for step in self.steps:
            x = F.relu(step(F.dropout(x, 0.6, self.training), x_0, edge_index), inplace=True)
        return self.leave(x).log_softmax(dim=-1)


class Relations(nn.Module):
    """RGCNConv, twice."""

    def __init__(self, kind=pyg.RGCNConv, **options):
        super().__init__()
        self.first = kind(ATTRIBUTES, HIDDEN, 2, **({"num_blocks": 3} | options if options.get("num_blocks") else options))
        self.second = kind(HIDDEN, CLASSES, 2, **({**options, "num_blocks": None} if options.get("num_blocks") else options))

    def forward(self, x, edge_index, edge_type):
        return self.second(self.first(x, edge_index, edge_type).relu(), edge_index, edge_type)


def two(kind, *args, **options):
    """Two layers of one kind."""
    return Two(kind(ATTRIBUTES, HIDDEN, *args, **options), kind(HIDDEN, CLASSES, *args, **options))


def gin(inputs, outputs, **options):
    """A GINConv with a norm inside."""
    inner = nn.Sequential(nn.Linear(inputs, HIDDEN), nn.BatchNorm1d(HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, outputs))
    return pyg.GINConv(inner, **options)


ARCHITECTURES = {
    "gcn": lambda: two(pyg.GCNConv),
    "gcn improved": lambda: two(pyg.GCNConv, improved=True),
    "gcn normalize=False": lambda: two(pyg.GCNConv, normalize=False),
    "gcn add_self_loops=False": lambda: two(pyg.GCNConv, add_self_loops=False),
    "gcn bias=False": lambda: two(pyg.GCNConv, bias=False),
    "gcn cached": lambda: two(pyg.GCNConv, cached=True),
    "gcn aggr=mean": lambda: two(pyg.GCNConv, aggr="mean"),
    "gcn flow": lambda: two(pyg.GCNConv, flow="target_to_source"),
    "sage mean": lambda: two(pyg.SAGEConv),
    "sage add": lambda: two(pyg.SAGEConv, aggr="add"),
    "sage sum": lambda: two(pyg.SAGEConv, aggr="sum"),
    "sage no root": lambda: two(pyg.SAGEConv, root_weight=False),
    "sage project": lambda: two(pyg.SAGEConv, project=True),
    "sage aggregation module": lambda: two(pyg.SAGEConv, aggr=pyg.MeanAggregation()),
    "graphconv add": lambda: two(pyg.GraphConv),
    "graphconv mean": lambda: two(pyg.GraphConv, aggr="mean"),
    "sgc": lambda: pyg.SGConv(ATTRIBUTES, CLASSES, K=2),
    "sgc cached": lambda: pyg.SGConv(ATTRIBUTES, CLASSES, K=3, cached=True, add_self_loops=False),
    "ssgc": lambda: pyg.SSGConv(ATTRIBUTES, CLASSES, alpha=0.3, K=3),
    "appnp": lambda: Spread(pyg.APPNP(K=5, alpha=0.15)),
    "appnp dropout": lambda: Spread(pyg.APPNP(K=2, alpha=0.15, dropout=0.5, cached=True)),
    "appnp normalize=False": lambda: Spread(pyg.APPNP(K=2, alpha=0.4, normalize=False)),
    "tag": lambda: two(pyg.TAGConv),
    "tag K=1 normalize=False": lambda: two(pyg.TAGConv, K=1, normalize=False),
    "cheb": lambda: two(pyg.ChebConv, K=4),
    "cheb K=1": lambda: two(pyg.ChebConv, K=1),
    "cheb rw": lambda: two(pyg.ChebConv, K=3, normalization="rw"),
    "gin": lambda: Two(gin(ATTRIBUTES, 4, eps=0.3, train_eps=True), gin(4, CLASSES)),
    "cluster": lambda: two(pyg.ClusterGCNConv),
    "cluster diagonal": lambda: two(pyg.ClusterGCNConv, diag_lambda=0.7),
    "gcn2": lambda: Deep(theta=0.5),
    "gcn2 two weights": lambda: Deep(theta=1.0, shared_weights=False),
    "arma": lambda: two(pyg.ARMAConv),
    "arma stacks": lambda: Two(pyg.ARMAConv(ATTRIBUTES, HIDDEN, num_stacks=2, num_layers=3), pyg.ARMAConv(HIDDEN, CLASSES, 2, 2, True, act=None)),
    "mixhop": lambda: Two(pyg.MixHopConv(ATTRIBUTES, 2, powers=[0, 1, 3]), pyg.MixHopConv(6, CLASSES, powers=[1])),
    # Layers without a formula of their own: their messages are followed.
    "lg": lambda: Spread(pyg.LGConv()),
    "simple": lambda: Spread(pyg.SimpleConv(aggr="mean", combine_root="self_loop")),
    "le": lambda: two(pyg.LEConv),
    "directed": lambda: Two(pyg.DirGNNConv(pyg.GCNConv(ATTRIBUTES, HIDDEN)), pyg.DirGNNConv(pyg.SAGEConv(HIDDEN, CLASSES), 0.3, False)),
    # Models.
    "GCN": lambda: models.GCN(ATTRIBUTES, HIDDEN, 3, CLASSES, dropout=0.5),
    "GCN norm": lambda: models.GCN(ATTRIBUTES, HIDDEN, 3, CLASSES, norm="batch_norm"),
    "GCN norm after": lambda: models.GCN(ATTRIBUTES, HIDDEN, 3, CLASSES, norm="batch_norm", act_first=True),
    "GCN jk=cat": lambda: models.GCN(ATTRIBUTES, HIDDEN, 2, CLASSES, jk="cat", norm="batch_norm", act_first=True),
    "GCN jk=last": lambda: models.GCN(ATTRIBUTES, HIDDEN, 2, CLASSES, jk="last"),
    "GCN leaky": lambda: models.GCN(ATTRIBUTES, HIDDEN, 2, CLASSES, act="leaky_relu", act_kwargs={"negative_slope": 0.2}),
    "GCN prelu": lambda: models.GCN(ATTRIBUTES, HIDDEN, 2, CLASSES, act="prelu"),
    "GCN no activation": lambda: models.GCN(ATTRIBUTES, HIDDEN, 3, CLASSES, act=None),
    "GCN no out_channels": lambda: models.GCN(ATTRIBUTES, HIDDEN, 2),
    "GraphSAGE": lambda: models.GraphSAGE(ATTRIBUTES, HIDDEN, 2, CLASSES, jk="cat"),
    "GraphSAGE project": lambda: models.GraphSAGE(ATTRIBUTES, HIDDEN, 2, CLASSES, project=True),
    "GIN": lambda: models.GIN(ATTRIBUTES, HIDDEN, 2, CLASSES, norm="batch_norm"),
    "GIN train_eps": lambda: models.GIN(ATTRIBUTES, HIDDEN, 2, CLASSES, train_eps=True, jk="cat"),
    "MLP": lambda: models.MLP([ATTRIBUTES, HIDDEN, CLASSES], norm="batch_norm"),
}
"""Makers of modules that are called with x and edge_index (or x alone)."""

RELATIONS = {
    "rgcn": lambda: Relations(),
    "rgcn add": lambda: Relations(aggr="add"),
    "rgcn bases": lambda: Relations(num_bases=3),
    "rgcn blocks": lambda: Relations(num_blocks=3),
    "rgcn no root": lambda: Relations(root_weight=False),
    "fast rgcn": lambda: Relations(pyg.FastRGCNConv),
}
"""Makers of modules that are called with x, edge_index and edge_type."""
