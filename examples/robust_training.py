"""Trains a GCN of PyTorch Geometric to be certifiable, in a plain loop: CE, then RH, then RH-U of docs/training.md.

    python examples/robust_training.py [citeseer.npz] [--epochs 600] [--model gcn|sage|gin|gcn3]

Without a file it takes fixtures/cora.npz. The settings for a GCN are those of `gcnproof train`; the others need cross entropy alone
first, or they predict one class for all nodes (docs/training.md).
"""

import argparse
import math
import time
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GCN, GIN, GraphSAGE

import gcnproof

# Module, layers, steps of cross entropy, weight of the robust term, dropout.
MODELS = {"gcn": (GCN, 2, 0, 0.2, 0.0), "gcn3": (GCN, 3, 150, 0.2, 0.0), "sage": (GraphSAGE, 2, 150, 0.05, 0.5), "gin": (GIN, 2, 150, 0.05, 0.0)}


def load(path: Path, share: float, seed: int) -> Data:
    """A graph with a share of the nodes of each class labelled."""
    graph = gcnproof.load(path)
    adjacency = graph.adjacency.tocoo()
    data = Data(
        x=torch.tensor(graph.attributes.toarray(), dtype=torch.float32),
        edge_index=torch.tensor(np.stack([adjacency.col, adjacency.row]), dtype=torch.long),
        y=torch.tensor(graph.labels),
    )
    random = np.random.default_rng(seed)
    data.train_mask = torch.zeros(data.num_nodes, dtype=torch.bool)
    for label in range(int(data.y.max()) + 1):
        members = np.flatnonzero(graph.labels == label)
        data.train_mask[random.permutation(members)[: math.ceil(share * len(members))]] = True
    return data


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("graph", nargs="?", type=Path, default=Path(__file__).parents[1] / "fixtures" / "cora.npz")
    parser.add_argument("--epochs", type=int, default=600)
    parser.add_argument("--model", choices=MODELS, default="gcn")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", choices=["none", "hinge-unlabelled"], default="hinge-unlabelled")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    data = load(options.graph, 0.1, options.seed)
    kind, layers, warm_up, weight, dropout = MODELS[options.model]
    model = kind(data.num_features, 32, layers, int(data.y.max()) + 1, dropout=dropout)
    attack = gcnproof.Flips(Q=12, q=0.01)
    labelled, everybody = torch.nonzero(data.train_mask).flatten(), torch.arange(data.num_nodes)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005, weight_decay=1e-5)
    robust = {
        "labelled": gcnproof.torch.RobustLoss(attack, "hinge", weight=weight),
        "all": gcnproof.torch.RobustLoss(attack, "hinge-unlabelled", weight=weight),
    }
    stages = [("cross entropy", labelled, min(warm_up, options.epochs)), ("labelled", labelled, options.epochs // 4), ("all", everybody, options.epochs)]
    begun = time.perf_counter()
    for stage, targets, epochs in stages:
        for epoch in range(epochs):
            for group in optimizer.param_groups:
                group["lr"] = 0.005 * (1 - 0.8 * epoch / epochs) if stage in robust else 0.01
            optimizer.zero_grad()
            loss = F.cross_entropy(model(data.x, data.edge_index)[data.train_mask], data.y[data.train_mask])
            if options.kind != "none" and stage in robust:
                batch = targets[torch.randperm(len(targets))[:20]]
                loss = loss + robust[stage](model, data, batch)
            loss.backward()
            optimizer.step()
    seconds = time.perf_counter() - begun
    model.eval()
    right = (model(data.x, data.edge_index).argmax(-1) == data.y)[~data.train_mask & (data.y >= 0)].float().mean()
    share = robust["all"].certified(model, data)
    steps = sum(epochs for *_, epochs in stages)
    print(f"certified {share:.3f} by the paper's bound, accuracy of unlabelled nodes {right:.3f}, {1000 * seconds / max(steps, 1):.1f} ms a step")


if __name__ == "__main__":
    main()
