"""Sequences of several lengths: packed, and padded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ...torch import arange, as_tensor, cat, contiguous_format, empty_like, full, int64, sort, stack
from ...torch.operators.nn.padded import padded_at_once
from ...torch.operators.nn.rnn import packed_places
from ...torch.tensors.base import Tensor, from_array

NOT_ON_CPU = (
    "batch_sizes should always be on CPU. Instances of PackedSequence should never be "
    "created manually. They should be instantiated by functions like pack_sequence and "
    "pack_padded_sequences in nn.utils.rnn. "
    "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
)
UNSORTED = (
    "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You "
    "can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to "
    "sidestep this requirement if you do not need ONNX exportability."
)


class PackedSequence_(NamedTuple):
    """The fields of a PackedSequence."""

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(PackedSequence_):
    """Sequences step by step: the first elements of all, then the second elements, and so on.

    `batch_sizes` tells how many sequences have each step. The sequences are sorted by length;
    `sorted_indices` is the order, `unsorted_indices` its inverse.

    >>> packed = nn.utils.rnn.pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4])])
    >>> packed.data, packed.batch_sizes
    (tensor([1, 4, 2, 3]), tensor([2, 1, 1]))
    """

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:  # as it was once made: from a pair
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(NOT_ON_CPU)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _with_data(self, data, convert):
        orders = [None if i is None else convert(i) for i in (self.sorted_indices, self.unsorted_indices)]
        return type(self)(data, self.batch_sizes, *orders)

    def to(self, *args, **kwargs):
        """The sequence on another device or in another dtype; itself if nothing changes."""
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else self._with_data(data, lambda i: i.to(data.device))

    def cuda(self, *args, **kwargs):
        """The sequence on a GPU."""
        return self.to(*args, **(kwargs if args else {"device": "cuda", **kwargs}))

    def cpu(self, *args, **kwargs):
        """The sequence on the CPU."""
        return self.to(*args, **{"device": "cpu", **kwargs})

    def pin_memory(self):
        """The sequence in page-locked memory."""
        return self._with_data(self.data.pin_memory(), lambda i: i.pin_memory())

    def double(self):
        """The sequence in float64."""
        return self._with_data(self.data.double(), lambda i: i)

    def float(self):
        """The sequence in float32."""
        return self._with_data(self.data.float(), lambda i: i)

    def half(self):
        """The sequence in float16."""
        return self._with_data(self.data.half(), lambda i: i)

    def long(self):
        """The sequence in int64."""
        return self._with_data(self.data.long(), lambda i: i)

    def int(self):
        """The sequence in int32."""
        return self._with_data(self.data.int(), lambda i: i)

    def short(self):
        """The sequence in int16."""
        return self._with_data(self.data.short(), lambda i: i)

    def char(self):
        """The sequence in int8."""
        return self._with_data(self.data.char(), lambda i: i)

    def byte(self):
        """The sequence in uint8."""
        return self._with_data(self.data.byte(), lambda i: i)

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a GPU."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether the data is in page-locked memory."""
        return self.data.is_pinned()


def invert_permutation(permutation):
    """The permutation that undoes another.

    >>> nn.utils.rnn.invert_permutation(torch.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    inverse = empty_like(permutation)
    return inverse.scatter_(0, permutation, arange(permutation.numel(), device=permutation.device))


def pack_padded_sequence(input, lengths, batch_first: bool = False, enforce_sorted: bool = True):
    """Pack (T, B, ...), with batch_first (B, T, ...), of which sequence i has `lengths[i]` steps.

    With enforce_sorted the lengths must be decreasing; else the sequences are sorted.

    >>> packed = nn.utils.rnn.pack_padded_sequence(torch.tensor([[1, 2], [3, 0]]), [2, 1])
    >>> packed.data, packed.batch_sizes
    (tensor([1, 2, 3]), tensor([2, 1]))
    """
    lengths = lengths.to(dtype=int64) if isinstance(lengths, Tensor) else as_tensor(lengths, dtype=int64)
    order = None
    if not enforce_sorted:
        lengths, order = sort(lengths, descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    sizes = _batch_sizes(lengths.numpy(), input, batch_first)
    _, rows = packed_places(sizes)
    if batch_first:
        input = input.transpose(0, 1)
    data = input.flatten(0, 1).index_select(0, from_array(rows))
    return PackedSequence(data, from_array(sizes), order, None)


def _batch_sizes(lengths: np.ndarray, input, batch_first: bool) -> np.ndarray:
    """How many sequences have each step; RuntimeError for lengths that do not fit."""
    if not input.numel():
        raise RuntimeError("Cannot pack empty tensors.")
    batch = input.shape[0 if batch_first else 1]
    if len(lengths) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} (batch_size={batch})"
        )
    if (lengths[1:] > lengths[:-1]).any():
        raise RuntimeError(UNSORTED)
    if len(lengths) and lengths[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    return (lengths > np.arange(lengths[0])[:, None]).sum(1)


def pad_packed_sequence(
    sequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
):
    """(padded (T, B, ...), with batch_first (B, T, ...); lengths) of packed sequences.

    >>> packed = nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
    >>> nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    (tensor([[1, 2],
            [3, 0]]), tensor([2, 1]))
    """
    sizes = sequence.batch_sizes.numpy()
    if total_length is not None and total_length < len(sizes):
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence "
            f"in input, but got total_length={total_length} and max sequence length "
            f"being {len(sizes)}"
        )
    places, _ = packed_places(sizes)
    lengths = (places >= 0).sum(0)
    if total_length is not None:
        places = np.pad(places, ((0, total_length - len(sizes)), (0, 0)), constant_values=-1)
    padded = sequence.data.index_select(0, from_array(np.maximum(places, 0).reshape(-1)))
    padded = padded.unflatten(0, places.shape)
    over = from_array((places < 0).reshape(*places.shape, *(1,) * (padded.ndim - 2)))
    padded = padded.masked_fill(over, padding_value)
    padded = padded.transpose(0, 1) if batch_first else padded
    lengths, order = from_array(lengths), sequence.unsorted_indices
    if order is None:
        return padded, lengths
    return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]


def pad_sequence(sequences, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"):
    """Sequences (T_i, ...) as one tensor (T, B, ...), with batch_first (B, T, ...).

    >>> a, b = torch.ones(2), torch.ones(1)
    >>> nn.utils.rnn.pad_sequence([a, b], batch_first=True)
    tensor([[1., 1.],
            [1., 0.]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    sequences = tuple(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    made = padded_at_once(sequences, batch_first, padding_value, padding_side)
    if made is not None:
        return made
    dtype = sequences[0].dtype  # of all, as PyTorch's
    sequences = tuple([x if x.dtype == dtype else x.to(dtype) for x in sequences])
    longest = max(x.shape[0] for x in sequences)

    def padded(x):
        missing = longest - x.shape[0]
        if not missing:
            return x
        padding = full((missing, *x.shape[1:]), padding_value, dtype=x.dtype, device=x.device)
        return cat([x, padding] if padding_side == "right" else [padding, x])

    return stack([padded(x) for x in sequences], 0 if batch_first else 1)


def unpad_sequence(padded_sequences, lengths, batch_first: bool = False) -> list:
    """The sequences of a padded tensor, as copies.

    >>> nn.utils.rnn.unpad_sequence(torch.tensor([[1, 3], [2, 0]]), torch.tensor([2, 1]))
    [tensor([1, 2]), tensor([3])]
    """
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    lengths = as_tensor(lengths).tolist()
    pairs = zip(padded_sequences, lengths, strict=True)
    return [x[: max(int(n), 0)].clone(memory_format=contiguous_format) for x, n in pairs]


def pack_sequence(sequences, enforce_sorted: bool = True):
    """Pack a list of sequences (T_i, ...).

    >>> nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]).data
    tensor([1, 3, 2])
    """
    lengths = as_tensor([x.shape[0] for x in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences) -> list:
    """The sequences that were packed.

    >>> packed = nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
    >>> nn.utils.rnn.unpack_sequence(packed)
    [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]
