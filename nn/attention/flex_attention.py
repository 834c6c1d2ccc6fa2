"""Attention with scores and masks that are functions of positions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from ...annotations import lenient_signature
from ...core.warn import warn
from ...torch import arange, full, isneginf, logsumexp, softmax, zeros
from ...torch.levels.vmap import vmap
from ...torch.tensors import types as _types
from .._names import publish
from .block_mask import BLOCK, BlockMask, as_blocks, expanded_blocks, ordered

WRONG_LENGTH = (
    "block_mask was created for block_mask.shape={shape} but got q_len={q} and "
    "kv_len={kv}. As the block mask was created for a {kind} length than you're using "
    "it for, you likely need to create a new block mask."
)
HEADS = (
    "Expect query and key/value to have the same number of heads but got Hq={} and Hkv={}. "
    "Try setting enable_gqa=True for GQA."
)
GROUPS = "Expect number of query heads to be a multiple of kv heads for GQA but got Hq={} and Hkv={}."
BATCHES = (
    "Expect query and key/value to have the same batch size, or non-none block_mask, but "
    "got block_mask=None, Bq={}, and Bkv={}."
)
_DEFAULT_SPARSE_BLOCK_SIZE = BLOCK
DEPRECATED = (
    "return_lse is deprecated and will be removed in v2.10. Please use return_aux=AuxRequest(lse=True) instead."
)


class AuxRequest(NamedTuple):
    """What flex_attention shall return beside its output.

    >>> from torch.nn.attention.flex_attention import AuxRequest, flex_attention
    >>> q = torch.ones(1, 1, 4, 8)
    >>> output, aux = flex_attention(q, q, q, return_aux=AuxRequest(lse=True))
    >>> aux.lse.shape
    torch.Size([1, 1, 4])
    """

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What flex_attention returns beside its output.

    >>> from torch.nn.attention.flex_attention import AuxRequest, flex_attention
    >>> q = torch.ones(1, 1, 4, 8)
    >>> output, aux = flex_attention(q, q, q, return_aux=AuxRequest(lse=True))
    >>> type(aux).__name__
    'AuxOutput'
    """

    lse: object = None
    max_scores: object = None


FlexKernelOptions = dict  # tuning of PyTorch's kernels; accepted, without effect


# ---- masks as functions --------------------------------------------------------------------------


def noop_mask(batch, head, token_q, token_kv):
    """The mask function of which everything attends to everything.

    >>> from torch.nn.attention.flex_attention import noop_mask
    >>> noop_mask(torch.tensor(0), torch.tensor(0), torch.tensor(1), torch.tensor(2))
    tensor(True)
    """
    return batch.new_ones(size=(), dtype=_types.bool_)


def or_masks(*mask_mods: Callable) -> Callable:
    """The mask function that holds where one of several does.

    >>> from torch.nn.attention.flex_attention import or_masks
    >>> mask = or_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: k < 2)
    >>> zero = torch.tensor(0)
    >>> bool(mask(zero, zero, zero, torch.tensor(1)))
    True
    """
    return _combined(mask_mods, lambda a, b: a | b, False)


def and_masks(*mask_mods: Callable) -> Callable:
    """The mask function that holds where all of several do.

    >>> from torch.nn.attention.flex_attention import and_masks
    >>> mask = and_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: q - k < 2)
    >>> zero = torch.tensor(0)
    >>> bool(mask(zero, zero, torch.tensor(3), zero))
    False
    """
    return _combined(mask_mods, lambda a, b: a & b, True)


def _combined(mask_mods, join: Callable, start: bool) -> Callable:
    if not all(map(callable, mask_mods)):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def combined(b, h, q_idx, kv_idx):
        result = b.new_full((), start, dtype=_types.bool_)
        for mask in mask_mods:
            result = join(result, mask(b, h, q_idx, kv_idx))
        return result

    combined.__name__ = "and_mask" if start else "or_mask"
    return combined


def _over_positions(fun: Callable, with_score: bool) -> Callable:
    """A function of (score,) b, h, q, kv mapped over all positions: (B, H, Q, KV)."""
    score = (0,) if with_score else ()
    for dims in ((None, None, None, 0), (None, None, 0, None), (None, 0, None, None), (0, None, None, None)):
        fun = vmap(fun, in_dims=(*score, *dims))
    return fun


def _positions(*sizes: int, device=None) -> list:
    return [arange(n, device=device) for n in sizes]


def _takes_score(mod_fn: Callable) -> bool:
    """Whether a function is a score_mod, of five arguments, rather than a mask_mod, of four."""
    parameters = lenient_signature(mod_fn).parameters.values()
    count = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty for p in parameters)
    if count not in (4, 5):
        raise AssertionError(f"Expected 4 or 5 positional args, got {count}")
    return count == 5


def create_mask(mod_fn: Callable, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device=None):
    """The mask (B, H, Q_LEN, KV_LEN) of a mask_mod, or of where a score_mod is not -inf.

    >>> from functorch_core.nn.attention.flex_attention import create_mask
    >>> create_mask(lambda b, h, q, kv: q >= kv, 1, 1, 2, 2)[0, 0]
    tensor([[ True, False],
            [ True,  True]])
    """
    sizes = 1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN
    positions = _positions(*sizes, device=device)
    if _takes_score(mod_fn):
        scores = _over_positions(mod_fn, True)(zeros(sizes, device=device), *positions)
        return ~isneginf(scores)
    return _over_positions(mod_fn, False)(*positions).expand(sizes)


def create_block_mask(
    mask_mod: Callable,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device=None,
    BLOCK_SIZE=BLOCK,
    _compile: bool = False,
    separate_full_blocks: bool = True,
    compute_dq_write_order: bool = False,
    dq_kv_order: bool = True,
) -> BlockMask:
    """The blocks of which a mask_mod is True somewhere, and those where it is True everywhere.

    >>> from torch.nn.attention.flex_attention import create_block_mask
    >>> mask = create_block_mask(lambda b, h, q, k: q >= k, 1, 1, 256, 256, device="cpu")
    >>> mask.sparsity()
    25.0
    """
    if _takes_score(mask_mod):
        raise AssertionError(f"create-block_mask requires a mask_mod function! Got {mask_mod}")
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    partial, full = as_blocks(mask, size, separate_full_blocks)
    return BlockMask.from_kv_blocks(
        *ordered(partial),
        *((None, None) if full is None else ordered(full)),
        BLOCK_SIZE=size,
        mask_mod=mask_mod,
        seq_lengths=(Q_LEN, KV_LEN),
    )


def _create_empty_block_mask(query, key) -> BlockMask:
    """The mask of one block, of any lengths, in which everything is allowed: what no block mask amounts to."""
    integers = {"dtype": _types.by_name["int32"], "device": query.device}
    count, index = full((1, 1, 1), 1, **integers), full((1, 1, 1, 1), 0, **integers)
    return BlockMask.from_kv_blocks(count, index, BLOCK_SIZE=1 << 30, seq_lengths=(1, 1))


# ---- attention -----------------------------------------------------------------------------------


def flex_attention(
    query,
    key,
    value,
    score_mod=None,
    block_mask=None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options=None,
    *,
    return_aux: AuxRequest | None = None,
):
    """softmax(score_mod(query @ key.T * scale)) @ value, where the block mask allows it.

    query is (B, Hq, L, E), key (B, Hkv, S, E), value (B, Hkv, S, Ev). score_mod(score, b, h, q, kv)
    changes single scores. Queries that may attend to nothing get 0.

    >>> from torch.nn.attention.flex_attention import flex_attention
    >>> q = torch.ones(1, 1, 4, 8)
    >>> flex_attention(q, q, q, score_mod=lambda score, b, h, i, j: score - (i - j)).shape
    torch.Size([1, 1, 4, 8])
    """
    _check(query, key, value, block_mask, enable_gqa)
    if return_lse:
        if return_aux is not None:
            raise ValueError(
                "Cannot specify both return_lse and return_aux. return_lse is "
                "deprecated, please use return_aux=AuxRequest(lse=True) instead."
            )
        warn(DEPRECATED, FutureWarning)
    scores = _scores(query, key, score_mod, block_mask, scale)
    lse = logsumexp(scores, -1)
    nothing = isneginf(lse).unsqueeze(-1)
    weights = softmax(scores.masked_fill(nothing, 0.0), -1).masked_fill(nothing, 0.0)
    out = weights.to(value.dtype) @ _for_heads(value, query.shape[1])
    out = out.to(query.dtype)
    if return_aux is not None:
        highest = scores.amax(-1) if return_aux.max_scores else None
        return out, AuxOutput(lse if return_aux.lse else None, highest)
    return (out, lse) if return_lse else out


def _scores(query, key, score_mod, block_mask, scale):
    """(B, Hq, L, S), -inf where the mask forbids."""
    batch, heads, length, width = query.shape
    exact = query.dtype if query.dtype is _types.float64 else _types.float32
    scale = 1.0 / math.sqrt(width) if scale is None else scale
    scores = (query @ _for_heads(key, heads).transpose(-2, -1)).to(exact) * scale
    positions = _positions(scores.shape[0], heads, length, key.shape[-2], device=query.device)
    if score_mod is not None:
        scores = _over_positions(score_mod, True)(scores, *positions).to(exact)
    if block_mask is None:
        return scores
    mask = _over_positions(block_mask.mask_mod, False)(*positions).expand(scores.shape)
    return scores.masked_fill(~expanded_blocks(block_mask, mask), -math.inf)


def _for_heads(x, heads: int):
    """Keys or values, each head for a group of query heads."""
    return x if x.shape[1] == heads else x.repeat_interleave(heads // x.shape[1], dim=1)


def _check(query, key, value, block_mask, enable_gqa: bool):
    """ValueError for operands that do not fit each other."""
    if not query.dim() == key.dim() == value.dim() == 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            "Expect query and key/value to have the same embedding dimension but got "
            f"E={query.shape[-1]} and E={key.shape[-1]}."
        )
    heads = query.shape[1], key.shape[1]
    if not enable_gqa and heads[0] != heads[1]:
        raise ValueError(HEADS.format(*heads))
    if heads[0] % heads[1]:
        raise ValueError(GROUPS.format(*heads))
    if query.shape[0] != key.shape[0] and block_mask is None:
        raise ValueError(BATCHES.format(query.shape[0], key.shape[0]))
    if block_mask is None:
        return
    q, kv = query.shape[-2], key.shape[-2]
    wanted = block_mask.shape[-2:]
    if (q, kv) != tuple(wanted):
        kind = "smaller" if q > wanted[0] or kv > wanted[1] else "larger"
        raise ValueError(WRONG_LENGTH.format(shape=block_mask.shape, q=q, kv=kv, kind=kind))


__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "FlexKernelOptions",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]

publish()
