"""Softmax over many classes of which few are frequent."""

from __future__ import annotations

from collections import namedtuple
from itertools import pairwise

from ...torch import argmax, cat
from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])
BAD_CUTOFFS = (
    "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
    "order, where each value is between 1 and n_classes-1"
)
OUT_OF_RANGE = "Target values should be in [0, {last}], but values in range [{low}, {high}] were found. "


class AdaptiveLogSoftmaxWithLoss(Module):
    """log softmax of classes sorted by frequency, in clusters (Grave et al., 2016).

    The head has the classes below cutoffs[0] and one output for each further cluster, whose classes
    have a projection of their own to in_features / div_value ** i.

    Of an input (N, in_features) and targets (N) it returns (output (N), loss). ValueError for cutoffs that do not
    rise below n_classes, RuntimeError for a class that is not there.

    >>> loss = nn.AdaptiveLogSoftmaxWithLoss(16, n_classes=10, cutoffs=[3, 6])
    >>> loss.log_prob(torch.ones(2, 16)).shape
    torch.Size([2, 10])
    """

    in_features: int
    n_classes: int
    div_value: float
    head_bias: bool

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs,
        div_value: float = 4.0,
        head_bias: bool = False,
        device=None,
        dtype=None,
    ):
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            cutoffs != sorted(set(cutoffs))
            or min(cutoffs) <= 0
            or max(cutoffs) > n_classes - 1
            or any(int(c) != c for c in cutoffs)
        ):
            raise ValueError(BAD_CUTOFFS)
        self.in_features, self.n_classes = in_features, n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        where = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **where)
        self.tail = ModuleList()
        for i, (start, stop) in enumerate(pairwise(self.cutoffs)):
            width = int(in_features // div_value ** (i + 1))
            self.tail.append(
                Sequential(
                    Linear(in_features, width, bias=False, **where), Linear(width, stop - start, bias=False, **where)
                )
            )

    def reset_parameters(self) -> None:
        """Draw all weights again."""
        self.head.reset_parameters()
        for projection in self.tail:
            for layer in projection:
                layer.reset_parameters()

    def forward(self, input_, target_):
        """(log probability of each target, mean negative log probability)"""
        _check_shapes(input_, target_)
        batched = target_.dim() > 0
        input = input_ if batched else input_.unsqueeze(0)
        target = target_ if batched else target_.unsqueeze(0)
        output, places = input.new_zeros(target.shape[0]), target.new_empty(target.shape[0])
        used = 0
        for i, (low, high) in enumerate(pairwise([0, *self.cutoffs])):
            mask = (target >= low) & (target < high)
            rows = mask.nonzero().squeeze(1)
            used += rows.numel()
            if not rows.numel():
                continue
            if i == 0:
                places = places.index_copy(0, rows, target[mask])
                continue
            places = places.index_fill(0, rows, self.shortlist_size + i - 1)
            log_probs = F.log_softmax(self.tail[i - 1](input.index_select(0, rows)), dim=1)
            own = log_probs.gather(1, (target[mask] - low).unsqueeze(1))
            output = output.index_copy(0, rows, own.squeeze(1))
        if used != target.shape[0]:
            raise RuntimeError(
                OUT_OF_RANGE.format(last=self.n_classes - 1, low=target.min().item(), high=target.max().item())
            )
        head = F.log_softmax(self.head(input), dim=1)
        output = output + head.gather(1, places.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def log_prob(self, input):
        """The log probabilities (N, n_classes)."""
        return self._get_full_log_prob(input, self.head(input))

    def _get_full_log_prob(self, input, head_output):
        head = F.log_softmax(head_output, dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i, projection in enumerate(self.tail):
            cluster = head[:, self.shortlist_size + i].unsqueeze(1)
            parts.append(F.log_softmax(projection(input), dim=1) + cluster)
        return cat(parts, dim=1)

    def predict(self, input):
        """The most probable class of each row."""
        head_output = self.head(input)
        output = argmax(head_output, dim=1)
        rare = output >= self.shortlist_size
        if rare.any():  # the full distribution, only where it is needed
            log_probs = self._get_full_log_prob(input[rare], head_output[rare])
            output[rare] = argmax(log_probs, dim=1)
        return output


def _check_shapes(input, target):
    if target.dim() == 1:
        if input.shape[0] != target.shape[0]:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if input.dim() != 2:
            raise RuntimeError(f"1D target tensor expects 2D input tensors, but found inputs with size {input.size()}")
    elif target.dim() == 0:
        if input.dim() != 1:
            raise RuntimeError(f"0D target tensor expects 1D input tensors, but found inputs with size {input.size()}")
    else:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")


__all__ = ["AdaptiveLogSoftmaxWithLoss"]
