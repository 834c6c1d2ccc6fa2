"""Lookups in a table whose gradient is sparse: only the rows that were used."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...tape.modes import state
from ...tape.node import Node
from ...tensors.base import Tensor, from_array, new_tensor
from ..nn.other import torch_embedding
from .tensor import SparseTensor

BY_FREQUENCY = "embedding_backward: scale_grad_by_freq not supported with sparse gradients"


class EmbeddingBackward0(Node):
    """The node of a lookup: its gradient has the rows of the incoming one at the indices."""

    __slots__ = ("indices", "shape", "padding_idx", "by_frequency")
    __module__ = "torch.autograd"

    def __init__(self, weight: Tensor, indices: Tensor, padding_idx: int, by_frequency: bool):
        super().__init__((weight._edge(),))
        self.indices, self.shape = indices.detach(), tuple(weight.shape)
        self.padding_idx, self.by_frequency = padding_idx, by_frequency

    def apply(self, grads: Sequence, create_graph: bool) -> tuple:
        """The sparse gradient of the table, uncoalesced."""
        if self.by_frequency:
            raise RuntimeError(BY_FREQUENCY)
        if grads[0] is None:
            return (None,)
        index = self.indices._array().reshape(-1).astype(np.int64)
        rows = grads[0].reshape(index.size, self.shape[1])
        if self.padding_idx >= 0 and (index == self.padding_idx).any():
            kept = np.flatnonzero(index != self.padding_idx)
            index, rows = index[kept], rows.index_select(0, from_array(kept))
        return (SparseTensor(from_array(index.reshape(1, -1)), rows, self.shape, False),)


def sparse_embedding(weight: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool = False) -> Tensor:
    """weight[indices], whose gradient by the weight is sparse."""
    rows = torch_embedding(weight.detach(), indices, padding_idx)
    if not (weight.requires_grad and state.enabled):
        return rows
    node = EmbeddingBackward0(weight, indices, padding_idx, scale_grad_by_freq)
    return new_tensor(rows._read(), (node, 0))


def used_rows(weight: Tensor, indices: Tensor, padding_idx: int, by_frequency: bool) -> tuple:
    """weight[indices] for 1-d indices with a sparse gradient; where each index finds its row in it,
    and where those find it that are the padding index (-1 if none is)."""
    rows = sparse_embedding(weight, indices, padding_idx, by_frequency)
    places, padded = np.arange(rows.shape[0]), np.flatnonzero(indices._array() == padding_idx)
    if not padded.size:
        return rows, from_array(places), -1
    places[padded] = padded[0]
    return rows, from_array(places), int(padded[0])
