"""Trains GraphSAGE to be certifiable with Lightning, with the share certified for early stopping.

    python examples/robust_lightning.py [--epochs 200]        (needs lightning, torch_geometric and gcnproof)
"""

import argparse
from pathlib import Path

import lightning
import torch
from robust_training import load
from torch.nn import functional as F
from torch.utils.data import DataLoader
from torch_geometric.data import Data
from torch_geometric.nn import GraphSAGE

import gcnproof


class Certifiable(lightning.LightningModule):
    """A module whose loss has a robust term; one epoch is one step with a batch of nodes."""

    def __init__(self, data: Data):
        super().__init__()
        self.model = GraphSAGE(data.num_features, 32, 2, int(data.y.max()) + 1)
        self.robust = gcnproof.torch.RobustLoss(gcnproof.Flips(Q=12, q=0.01), "hinge-unlabelled")
        # A list: the graph is no part of the state.
        self.graph = [data]

    def training_step(self, nodes: torch.Tensor, _: int) -> torch.Tensor:
        data = self.graph[0].to(self.device)
        logits = self.model(data.x, data.edge_index)
        loss = F.cross_entropy(logits[data.train_mask], data.y[data.train_mask]) + self.robust(self.model, data, nodes)
        self.log("loss", loss)
        return loss

    def on_train_end(self) -> None:
        data = self.graph[0].to(self.device)
        self.model.eval()
        right = (self.model(data.x, data.edge_index).argmax(-1) == data.y)[~data.train_mask].float().mean()
        print(f"certified {self.robust.certified(self.model, data):.3f}, accuracy of unlabelled nodes {right:.3f}")

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=0.005, weight_decay=1e-5)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=200)
    options = parser.parse_args()
    lightning.seed_everything(1)
    data = load(Path(__file__).parents[1] / "fixtures" / "cora.npz", 0.1, 1)
    loader = DataLoader(torch.arange(data.num_nodes), batch_size=20, shuffle=True)
    trainer = lightning.Trainer(max_steps=options.epochs, max_epochs=-1, logger=False, enable_checkpointing=False, enable_progress_bar=False)
    trainer.fit(Certifiable(data), loader)


if __name__ == "__main__":
    main()
