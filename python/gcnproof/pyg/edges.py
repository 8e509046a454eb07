"""The edges that a layer is given, and the matrices that its options make of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch_geometric.nn.aggr import MeanAggregation, SumAggregation
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from . import words
from .arithmetic import matrix_of
from .functions import array
from .operators import Operator
from .values import Recorded


class Edges:
    """Edges from senders to receivers with their weights, from an edge_index or a sparse adjacency (adj_t)."""

    def __init__(self, recorder: Any, edge_index: Any, edge_weight: Any = None, flow: str = "source_to_target"):
        self.recorder = recorder
        self.flow = flow
        if isinstance(edge_index, Recorded) and recorder.is_attributes(edge_index):
            raise recorder.refuse(
                "a layer that is given the attributes as its edges", recorder.called or "`data.x` arrives where it takes edge_index",
                "say how the model is called: `call=lambda model, data: model(data.edge_index, data.x)`, if its forward takes the edges first",
            )
        if isinstance(edge_index, Recorded) or isinstance(edge_weight, Recorded):
            raise recorder.refuse("edges or edge weights that depend on the attributes", words.ATTENTION, words.RETRAIN_LAYER)
        if not isinstance(edge_index, torch.Tensor):
            raise recorder.refuse(
                f"edges as a {type(edge_index).__name__}", "an edge_index tensor of 2 × edges or a sparse tensor of PyTorch is expected",
                "give data.edge_index",
            )
        edge_index = edge_index.detach().cpu()
        self.adjacency = None
        if edge_index.layout != torch.strided:
            coo = edge_index.to_sparse_coo().coalesce()
            # The row of a transposed adjacency is the receiver.
            self.adjacency = torch.sparse_coo_tensor(coo.indices(), coo.values().double(), coo.shape).coalesce()
            self.index = coo.indices().flip(0)
            self.weight = coo.values().double()
        else:
            self.index = torch.as_tensor(edge_index.as_tensor() if hasattr(edge_index, "as_tensor") else edge_index).long()
            self.weight = None if edge_weight is None else edge_weight.detach().cpu().double()
        if self.weight is not None and self.weight.dim() and self.weight.shape[0] != self.index.shape[1]:
            raise recorder.refuse(
                f"a layer with weights of {self.weight.shape[0]} edges on {self.index.shape[1]} edges", "every edge has one", "give one number for each column of edge_index"
            )
        if self.weight is not None and self.weight.dim() > 1:
            if self.weight.numel() != self.index.shape[1]:
                raise recorder.refuse("edge attributes", "only one weight per edge is a fixed message passing", "give one number per edge")
            self.weight = self.weight.reshape(-1)

    def plain(self, aggregation: str) -> Operator:
        """The sum or mean of the messages, weighted if there are weights."""
        return self._operator(self.index, self.weight, aggregation, "mean" if aggregation == "mean" else "sum")

    def normalised(self, aggregation: str, improved: bool = False, add_self_loops: bool = True) -> Operator:
        """The symmetric normalisation of GCNConv, by PyTorch Geometric itself, in float64."""
        nodes, rule = self.recorder.nodes, "gcn" if add_self_loops else "gcn-self"
        if self.adjacency is not None:
            matrix, _ = gcn_norm(self.adjacency, None, nodes, improved, add_self_loops, self.flow, torch.float64)
            return self.recorder.operators.of(matrix_of(matrix), rule)
        index, weight = gcn_norm(self.index, self.weight, nodes, improved, add_self_loops, self.flow, torch.float64)
        return self._operator(index, weight, aggregation, rule)

    def masked(self, mask: torch.Tensor, aggregation: str) -> Operator:
        """Some of the edges alone."""
        return self._operator(self.index[:, mask], None if self.weight is None else self.weight[mask], aggregation)

    def weighted(self, index: torch.Tensor, weight: torch.Tensor, aggregation: str, meant: str) -> Operator:
        """Other edges, with weights of their own."""
        return self._operator(index, weight, aggregation, meant)

    def _operator(self, index: torch.Tensor, weight: torch.Tensor | None, aggregation: str, meant: str | None = None) -> Operator:
        nodes = self.recorder.nodes
        sender, receiver = (0, 1) if self.flow == "source_to_target" else (1, 0)
        rows, columns = index[receiver].numpy(), index[sender].numpy()
        values = np.ones(len(rows)) if weight is None else array(weight).copy()
        if aggregation == "mean":
            values /= np.maximum(np.bincount(rows, minlength=nodes), 1)[rows]
        # Edges that stand twice are added up.
        return self.recorder.operators.of(sparse.coo_array((values, (rows, columns)), shape=(nodes, nodes)), meant)


def aggregation(recorder: Any, layer: Any) -> str:
    """`add` or `mean`; other aggregations are refused."""
    kind = type(getattr(layer, "aggr_module", None))
    if isinstance(layer.aggr, (list, tuple)) or kind.__name__ == "MultiAggregation":
        shown = f"aggr={list(layer.aggr)!r}" if isinstance(layer.aggr, (list, tuple)) else kind.__name__
        raise recorder.refuse(
            f"{type(layer).__name__} with {shown}", "several aggregations in one layer are not read",
            f"{words.RETRAIN_AGGREGATION}, or with a layer for each, whose results are added or concatenated", layer,
        )
    if kind is SumAggregation or layer.aggr in ("add", "sum"):
        return "add"
    if kind is MeanAggregation or layer.aggr == "mean":
        return "mean"
    raise recorder.refuse(
        f"{type(layer).__name__} with aggr={layer.aggr!r}" if layer.aggr else f"{type(layer).__name__} with {kind.__name__}",
        words.EXTREME, words.RETRAIN_AGGREGATION, layer,
    )
