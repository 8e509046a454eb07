"""Trains GIN on small graphs like molecules, certifies every one of them, and breaks one.

    python examples/graphs.py        (needs torch, torch_geometric and gcnproof; a few seconds)

A graph is a ring of atoms with a tail. Its class says whether an atom of type 3 is next to one of type 4. An attacker may flip one bit of
an atom and two bits in a graph.
"""

import torch
from torch import nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GINConv, global_add_pool

import gcnproof

TYPES, WIDTH = 5, 8


def molecule(random: torch.Generator) -> Data:
    """A ring of five or six atoms, and up to four more in a tail."""
    ring = int(torch.randint(5, 7, (1,), generator=random))
    atoms = ring + int(torch.randint(0, 5, (1,), generator=random))
    ends = [(at, (at + 1) % ring) for at in range(ring)] + [(at - 1 if at > ring else 0, at) for at in range(ring, atoms)]
    edges = torch.tensor(ends).T
    types = torch.randint(0, TYPES, (atoms,), generator=random)
    sides = types[edges].sort(dim=0).values
    label = bool(((sides[0] == 3) & (sides[1] == 4)).any())
    return Data(x=torch.eye(TYPES)[types], edge_index=torch.cat([edges, edges.flip(0)], 1), y=torch.tensor([int(label)]))


class GIN(nn.Module):
    def __init__(self) -> None:
        super().__init__()

        def convolution(inputs: int) -> GINConv:
            return GINConv(nn.Sequential(nn.Linear(inputs, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)))

        self.first, self.second = convolution(TYPES), convolution(WIDTH)
        self.head = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 2))

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor, batch: torch.Tensor) -> torch.Tensor:
        h = self.first(x, edge_index).relu()
        h = self.second(h, edge_index).relu()
        return self.head(global_add_pool(h, batch))


def main() -> None:
    torch.manual_seed(1)
    random = torch.Generator().manual_seed(1)
    graphs = [molecule(random) for _ in range(120)]
    data = Batch.from_data_list(graphs)
    model = GIN()
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-3)
    for _ in range(150):
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(data.x, data.edge_index, data.batch), data.y).backward()
        optimiser.step()
    model.eval()
    results = gcnproof.certify(model, graphs, Q=2, q=1, progress=False)
    print(results)
    broken = results.graph[results.verdict == "non_robust"]
    if len(broken):
        graph = int(broken[0])
        before, after = model(data.x, data.edge_index, data.batch)[graph], model(results.apply(graph), data.edge_index, data.batch)[graph]
        print(f"graph {graph}: flips {results[graph].witness} turn class {int(before.argmax())} into {int(after.argmax())}")


if __name__ == "__main__":
    main()
