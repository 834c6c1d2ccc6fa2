"""Masks of attention by blocks: which blocks of (queries, keys) are computed at all."""

from __future__ import annotations

import itertools
import math

from ...torch import arange, argsort
from ...torch.tensors import types as _types
from .. import functional as F

BLOCK = 128
SLICED = "Cannot use mask_mod from a sliced BlockMask"


def ordered(dense):
    """(how many blocks each row has, their columns, those first) of a dense mask of blocks."""
    int32 = _types.by_name["int32"]
    counts = dense.sum(dim=-1)
    columns = argsort(dense.to(int32), dim=-1, descending=True, stable=True)
    return counts.to(int32), columns.to(int32)


def dense_of(counts, columns):
    """The dense mask of blocks (int32) of an ordered one."""
    n = columns.shape[-1]
    valid = arange(n) < counts.unsqueeze(-1)
    chosen = (columns.unsqueeze(-1) == arange(n)) & valid.unsqueeze(-1)
    return chosen.any(-2).to(_types.by_name["int32"])


def _transposed(counts, columns):
    """Blocks ordered by the other dimension."""
    return ordered(dense_of(counts, columns).transpose(-2, -1))


def as_blocks(mask, size: tuple[int, int], separate_full: bool):
    """(blocks with some True, blocks with only True or None) of a mask (B, H, Q, KV), as int8.

    If they are separated the former do not contain the latter.
    """
    q, kv = size
    mask = F.pad(mask, (0, -mask.shape[-1] % kv, 0, -mask.shape[-2] % q))
    batch, heads, rows, columns = mask.shape
    count = mask.view(batch, heads, rows // q, q, columns // kv, kv).sum(dim=(3, 5))
    int8 = _types.by_name["int8"]
    if not separate_full:
        return (count > 0).to(int8), None
    return ((count > 0) & (count < q * kv)).to(int8), (count == q * kv).to(int8)


def expanded_blocks(block_mask: BlockMask, mask):
    """Where (B, H, Q, KV) is computed: all of the full blocks, what `mask` allows of the others."""

    def expand(counts, columns):
        dense = dense_of(counts, columns).to(_types.bool_)
        dense = dense.repeat_interleave(block_mask.BLOCK_SIZE[0], dim=-2)
        dense = dense.repeat_interleave(block_mask.BLOCK_SIZE[1], dim=-1)
        return dense[..., : mask.shape[-2], : mask.shape[-1]]

    allowed = expand(block_mask.kv_num_blocks, block_mask.kv_indices) & mask
    if block_mask.full_kv_num_blocks is None:
        return allowed
    return allowed | expand(block_mask.full_kv_num_blocks, block_mask.full_kv_indices)


def _sliced_mask_mod_error(batch, head, token_q, token_kv):
    """The mask function of a slice, whose positions are no longer known."""
    raise RuntimeError(SLICED)


class BlockMask:
    """The blocks of a mask that attention computes.

    For each row of blocks kv_num_blocks is how many have something to compute, and kv_indices
    which; full_kv_... the same for blocks in which mask_mod need not be asked; q_... the same by
    columns.

    >>> from torch.nn.attention.flex_attention import create_block_mask
    >>> causal = lambda b, h, q, k: q >= k
    >>> create_block_mask(causal, None, None, 256, 256, device="cpu").shape
    (1, 1, 256, 256)
    """

    __module__ = "torch.nn.attention.flex_attention"
    _TENSORS = (
        "kv_num_blocks",
        "kv_indices",
        "full_kv_num_blocks",
        "full_kv_indices",
        "q_num_blocks",
        "q_indices",
        "full_q_num_blocks",
        "full_q_indices",
    )

    def __init__(
        self,
        seq_lengths,
        kv_num_blocks,
        kv_indices,
        full_kv_num_blocks,
        full_kv_indices,
        q_num_blocks,
        q_indices,
        full_q_num_blocks,
        full_q_indices,
        BLOCK_SIZE=(BLOCK, BLOCK),
        mask_mod=None,
    ):
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        for name, a, b in (("kv", full_kv_num_blocks, full_kv_indices), ("q", full_q_num_blocks, full_q_indices)):
            if (a is None) != (b is None):
                raise AssertionError(f"full_{name}_num_blocks and full_{name}_indices must be both provided or omitted")
        self.seq_lengths, self.BLOCK_SIZE = tuple(seq_lengths), BLOCK_SIZE
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices
        from .flex_attention import noop_mask

        self.mask_mod = noop_mask if mask_mod is None else mask_mod

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks,
        kv_indices,
        full_kv_num_blocks=None,
        full_kv_indices=None,
        BLOCK_SIZE=BLOCK,
        mask_mod=None,
        seq_lengths=None,
        compute_q_blocks: bool = True,
    ):
        """A BlockMask from the blocks of each row."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        q = full_q = (None, None)
        if compute_q_blocks:
            q = _transposed(kv_num_blocks, kv_indices)
            if full_kv_num_blocks is not None:
                full_q = _transposed(full_kv_num_blocks, full_kv_indices)
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        if seq_lengths is None:
            seq_lengths = tuple(n * s for n, s in zip(kv_indices.shape[-2:], size))
        return cls(
            seq_lengths,
            kv_num_blocks,
            kv_indices,
            full_kv_num_blocks,
            full_kv_indices,
            *q,
            *full_q,
            BLOCK_SIZE=size,
            mask_mod=mask_mod,
        )

    def as_tuple(self, flatten: bool = True) -> tuple:
        """All attributes; lengths and block sizes as single numbers if `flatten`."""
        lengths = self.seq_lengths if flatten else (self.seq_lengths,)
        size = self.BLOCK_SIZE if flatten else (self.BLOCK_SIZE,)
        return (*lengths, *(getattr(self, name) for name in self._TENSORS), *size, self.mask_mod)

    @property
    def shape(self) -> tuple:
        """(B, H, queries, keys)"""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """The number of (query, key) pairs."""
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """How many percent of the pairs lie in blocks that are not computed."""
        computed = int(self.kv_num_blocks.sum())
        if self.full_kv_num_blocks is not None:
            computed += int(self.full_kv_num_blocks.sum())
        return 100 * (1 - computed * math.prod(self.BLOCK_SIZE) / self.numel())

    def to_dense(self):
        """The blocks that are computed, as a mask (B, H, rows, columns) of integers."""
        dense = dense_of(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is None:
            return dense
        return dense | dense_of(self.full_kv_num_blocks, self.full_kv_indices)

    def to(self, device) -> BlockMask:
        """The mask on another device."""
        tensors = {name: getattr(self, name) for name in self._TENSORS}
        moved = {name: x if x is None else x.to(device) for name, x in tensors.items()}
        return BlockMask(self.seq_lengths, **moved, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=self.mask_mod)

    def _adjust(self, new_q_len: int, new_kv_len: int) -> BlockMask:
        """The mask of the first queries and keys alone."""
        rows, columns = (-(-n // size) for n, size in zip((new_q_len, new_kv_len), self.BLOCK_SIZE))

        def cropped(counts, columns_of_rows):
            if counts is None:
                return None, None
            return ordered(dense_of(counts, columns_of_rows)[..., :rows, :columns])

        return BlockMask.from_kv_blocks(
            *cropped(self.kv_num_blocks, self.kv_indices),
            *cropped(self.full_kv_num_blocks, self.full_kv_indices),
            BLOCK_SIZE=self.BLOCK_SIZE,
            mask_mod=self.mask_mod,
            seq_lengths=(new_q_len, new_kv_len),
        )

    def __getitem__(self, index) -> BlockMask:
        index = index if isinstance(index, tuple) else (index,)
        index = tuple(slice(i, i + 1 or None) if isinstance(i, int) else i for i in index)
        parts = [getattr(self, name) for name in self._TENSORS[:4]]
        return BlockMask.from_kv_blocks(
            *(x if x is None else x[index] for x in parts),
            BLOCK_SIZE=self.BLOCK_SIZE,
            mask_mod=_sliced_mask_mod_error,
            seq_lengths=self.seq_lengths,
            compute_q_blocks=self.q_indices is not None,
        )

    def __repr__(self):
        def shown(name):
            x = getattr(self, name)
            return f"    {name}={None if x is None else x.shape},\n"

        return (
            "BlockMask(\n"
            + "".join(map(shown, self._TENSORS))
            + f"    BLOCK_SIZE={self.BLOCK_SIZE},\n    shape={self.shape},\n"
            f"    sparsity={self.sparsity():.2f}%,\n    mask_mod="
            f"{getattr(self.mask_mod, '__name__', self.mask_mod)}\n)"
        )

    def __str__(self):
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string().strip()}\n)"

    def to_string(self, grid_size=(20, 20), limit: int = 4) -> str:
        """A picture of the blocks: full, shaded or empty, for the first `limit` heads."""
        dense = self.to_dense().numpy()
        *lead, rows, columns = dense.shape
        if grid_size == -1:
            grid_size = rows, columns
        elif isinstance(grid_size, int):
            grid_size = grid_size, grid_size
        steps = [max(1, -(-n // most)) for n, most in zip((rows, columns), grid_size)]
        pictures = []
        for i, place in enumerate(itertools.product(*map(range, lead))):
            if i == limit:
                pictures += [
                    "...",
                    "To print out more, set BlockMask.to_string(limit=N)",
                    "You can also index (BlockMask[batch, head]) to choose a specific batch or head",
                ]
                break
            pictures.append(f"{place}\n" + _picture(dense[place], *steps))
        return "\n".join(pictures)


def _picture(blocks, row_step: int, column_step: int) -> str:
    lines = []
    for r in range(0, blocks.shape[0], row_step):
        shares = [blocks[r : r + row_step, c : c + column_step].mean() for c in range(0, blocks.shape[1], column_step)]
        lines.append("".join(2 * ("█" if s == 1 else " " if s == 0 else "░") for s in shares))
    return "\n".join(lines) + "\n"
