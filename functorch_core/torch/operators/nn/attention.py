"""Attention."""

from __future__ import annotations

import math

from ....kernels.attention_on_host import Attention
from ....kernels.reductions import softmax
from ....transforms.remat import remat
from ...dispatch.op import registry, torch_op
from ...dispatch.slots import MaybeTensor
from ...tensors.active import active, overridable
from ...tensors.base import Tensor
from ...views.memory_order import attended
from ..linalg.matmul import baddbmm, bmm, broadcast_lead, product
from ..values import (
    aval_of,
    c_name,
    dt,
    expanded,
    full_like,
    iota_along,
    like,
    p,
    permuted,
    require_floating,
    wide,
    wrap_dim,
)
from .other import dropout_mask

# ---- scaled dot product --------------------------------------------------------------------------


def _grouped(x, heads: int):
    """Fewer heads of keys or values repeated, each for a group of query heads."""
    shape = aval_of(x).shape
    own = shape[-3]
    if own == heads:
        return x
    split = (*shape[:-2], heads // own, *shape[-2:])
    kept = tuple(d for d in range(len(split)) if d != len(shape) - 2)
    return p.reshape(p.broadcast_in_dim(x, shape=split, dims=kept), shape=(*shape[:-3], heads, *shape[-2:]))


def _attention_weights(query, key, mask, is_causal: bool, factor: float, first: int = 0):
    """softmax(query @ key^T * factor + mask), rows without any key 0. `first`: the number of the first query."""
    n = aval_of(key).ndim
    scores = product(p.mul(query, full_like(query, factor)), permuted(key, (*range(n - 2), n - 1, n - 2)))
    shape = aval_of(scores).shape
    if is_causal:
        rows, columns = (iota_along(shape, len(shape) - i, dt.int32) for i in (2, 1))
        rows = p.add(rows, first) if first else rows
        scores = p.select(p.le(columns, rows), scores, full_like(scores, -math.inf))
    if mask is not None and aval_of(mask).dtype == dt.bool_:
        scores = p.select(expanded(mask, shape), scores, full_like(scores, -math.inf))
    elif mask is not None:
        scores = p.add(scores, expanded(like(mask, scores), shape))
    return _softmax_or_zero(scores) if mask is not None else softmax(scores, (len(shape) - 1,))


# Of queries under a causal mask: pieces, rows of one at least. 64 heads of 256 x 32 with gradients: ms of the processor
# 49 -> 26; 4 of 1024 x 32 40 -> 25 (with 8 pieces 21). It takes 1.3 s more to compile (busy), and is for many scores.
PIECES, ROWS, MANY_SCORES = 4, 64, 1 << 22


def _attended_causally(query, key, value, factor: float):
    """The queries in pieces, each with the keys up to its last one: of four, 5/8 of the scores are computed."""
    ndim, length = aval_of(query).ndim, max(aval_of(query).shape[-2], 1)
    many = math.prod(aval_of(query).shape[:-1]) * aval_of(key).shape[-2] >= MANY_SCORES
    size = max(ROWS, -(-length // PIECES)) if many else length
    found = []
    for first in range(0, length, size):
        rows = _rows(query, first, first + size)
        k, v = (_rows(x, 0, first + size) for x in (key, value))
        found.append(product(_attention_weights(rows, k, None, True, factor, first), v))
    return found[0] if len(found) == 1 else p.concatenate(*found, dimension=ndim - 2)


def _rows(x, first: int, end: int):
    """x[..., first:end, :]."""
    shape = aval_of(x).shape
    if first == 0 and end >= shape[-2]:
        return x
    lead = len(shape) - 2
    return p.slice(x, start=(0,) * lead + (first, 0), limit=(*shape[:lead], min(end, shape[-2]), shape[-1]))


def _softmax_or_zero(scores):
    """softmax over the last dimension; zeros where everything is -inf, as PyTorch's attention."""
    shape = aval_of(scores).shape
    top = p.reduce_max(scores, axes=(len(shape) - 1,))
    nothing = p.eq(top, full_like(top, -math.inf))
    nothing = p.broadcast_in_dim(nothing, shape=shape, dims=tuple(range(len(shape) - 1)))
    safe = p.select(nothing, p.zeros(aval_of(scores)), scores)
    return p.select(nothing, p.zeros(aval_of(scores)), softmax(safe, (len(shape) - 1,)))


MASK_SHAPES = {0: "be (L, L)", 1: "be (B, L)", 2: "match input shape"}
MASK_TYPES = "Mask Type should be 0 (src_mask) or 1 (src_key_padding_mask), or 2 (default_mask)"


@torch_op(function=True)
def _masked_softmax(input: Tensor, mask: Tensor, dim=None, mask_type=None):
    """softmax of what is not masked (True), NaN where everything is; `mask_type` 0: (L, L), 1: (B, L) for (B, H, L, L).

    >>> torch._masked_softmax(torch.zeros(3), torch.tensor([False, True, False]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    shape, own = aval_of(input).shape, aval_of(mask).shape
    if aval_of(mask).dtype != dt.bool_:
        raise RuntimeError("Mask should be a boolean tensor")
    kind = 2 if mask_type is None else mask_type
    if kind not in MASK_SHAPES:
        raise RuntimeError(MASK_TYPES)
    require_floating("masked_softmax", input)
    if own != shape:
        if kind == 2 or len(shape) != 4 or own != (shape[0] if kind else shape[2], shape[2]):
            raise RuntimeError(f"For mask_type == {kind} mask shape should {MASK_SHAPES[kind]}")
        mask = p.broadcast_in_dim(mask, shape=shape, dims=(0, 3) if kind else (2, 3))
    x = wide(input)
    scores = p.select(mask, full_like(x, -math.inf), x)
    return like(softmax(scores, (wrap_dim(-1 if dim is None else dim, len(shape)),)[: len(shape)]), input)


@torch_op(node="ScaledDotProductFlashAttentionForCpuBackward0", autocast="low", layout=attended)
def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: MaybeTensor,
    keep: MaybeTensor,
    is_causal,
    factor,
    enable_gqa,
    rescale,
):
    """One op whose backward pass computes the weights again: they are not kept."""
    for x in (key, value):
        if aval_of(x).dtype != aval_of(query).dtype:
            raise RuntimeError(
                "Expected query, key, and value to have the same dtype, but got "
                f"query.dtype: {c_name(query)} key.dtype: {c_name(key)} and "
                "value.dtype: "
                f"{c_name(value)} instead."
            )
    if mask is not None and aval_of(mask).dtype not in (dt.bool_, dt.float32, aval_of(query).dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, "
            f"but got attn_mask.dtype: {c_name(mask)} and  query.dtype: {c_name(query)} "
            "instead."
        )
    operands = [query, key, value, *(x for x in (mask, keep) if x is not None)]

    def attend(q, k, v, *rest):
        rest = list(rest)
        bias = rest.pop(0) if mask is not None else None
        if enable_gqa:
            k, v = (_grouped(x, aval_of(q).shape[-3]) for x in (k, v))
        if is_causal and not rest and bias is None:
            return [like(_attended_causally(wide(q), wide(k), wide(v), factor), q)]
        weights = _attention_weights(wide(q), wide(k), bias, is_causal, factor)
        if rest:
            kept = like(rest[0], weights)
            weights = p.mul(weights, p.div(kept, full_like(kept, rescale)))
        return [like(product(weights, wide(v)), q)]

    on_host = None if enable_gqa or keep is not None else Attention(factor, is_causal, mask is not None)
    return remat(attend, operands, on_host=on_host)[0]


@overridable
def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    """softmax(query @ key^T * scale + mask) @ value over the last two dimensions.

    A bool mask says what takes part; a floating one is added. is_causal masks what comes later.
    With enable_gqa key and value may have fewer heads.

    >>> x = torch.ones(1, 2, 3)
    >>> nn.functional.scaled_dot_product_attention(x, x, x).shape
    torch.Size([1, 2, 3])
    """
    if attn_mask is not None and is_causal:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but "
            "got "
            f"query.dim(): {query.ndim}, key.dim(): {key.ndim} and value.dim(): "
            f"{value.ndim} instead."
        )
    factor = 1 / math.sqrt(max(query.shape[-1], 1)) if scale is None else float(scale)
    keep = None
    rescale = 1.0
    if dropout_p > 0:
        lead = broadcast_lead(tuple(query.shape[:-2]), tuple((key if not enable_gqa else query).shape[:-2]))
        shape = (*lead, query.shape[-2], key.shape[-2])
        keep = dropout_mask(shape, query, dropout_p)
        rescale = 1.0 - dropout_p if dropout_p < 1 else 1.0
    return _attention(query, key, value, attn_mask, keep, is_causal, factor, enable_gqa, rescale)


# ---- multi-head ----------------------------------------------------------------------------------

# Its parts are what nn.functional has at the call (`active.functional`): packages replace functions there.

NEEDS_MASK = (
    "Need attn_mask if specifying the is_causal hint. You may use the "
    "Transformer module method `generate_square_subsequent_mask` to create "
    "this mask."
)


@overridable
def multi_head_attention_forward(
    query,
    key,
    value,
    embed_dim_to_check,
    num_heads,
    in_proj_weight,
    in_proj_bias,
    bias_k,
    bias_v,
    add_zero_attn,
    dropout_p,
    out_proj_weight,
    out_proj_bias,
    training=True,
    key_padding_mask=None,
    need_weights=True,
    attn_mask=None,
    use_separate_proj_weight=False,
    q_proj_weight=None,
    k_proj_weight=None,
    v_proj_weight=None,
    static_k=None,
    static_v=None,
    average_attn_weights=True,
    is_causal=False,
):
    """Multi-head attention of (L, N, E) or (L, E): (output, weights or None).

    >>> rest = 2, torch.eye(2).repeat(3, 1), None, None, None, False, 0.0, torch.eye(2), None
    >>> F.multi_head_attention_forward(*torch.ones(3, 1, 1, 2), 2, *rest)[0]
    tensor([[[1., 1.]]])
    """
    batched = query.ndim == 3
    _check_ranks(query, key, value, key_padding_mask, attn_mask, num_heads)
    if is_causal and attn_mask is None:
        raise RuntimeError(NEEDS_MASK)
    if not batched:
        query, key, value, key_padding_mask = _as_batch(query, key, value, key_padding_mask)
    length, batch, width = query.shape
    _check_widths(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    key_padding_mask = _as_float(key_padding_mask, query.dtype)
    is_causal = is_causal and key_padding_mask is None and not need_weights
    attn_mask = None if is_causal else _as_float(attn_mask, query.dtype)
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    q, k, v = _projected(query, key, value, separate, in_proj_weight, in_proj_bias)
    if attn_mask is not None:
        attn_mask = _full_mask(attn_mask, batch, num_heads, length, key.shape[0])
    sizes, masks = (batch, num_heads, width // num_heads), (attn_mask, key_padding_mask)
    k, v, masks = _keys_and_values((k, v), sizes, (bias_k, bias_v), (static_k, static_v), add_zero_attn, masks)
    q, mask = _by_heads(q, *sizes), _merged(*masks, batch, num_heads, k.shape[1])
    dropout_p, shown = dropout_p if training else 0.0, None
    if need_weights:
        out, weights = _attend_with_weights(q, k, v, mask, dropout_p)
        shown = _shown_weights(weights, num_heads, average_attn_weights)
    else:
        out = _attend(q, k, v, mask, dropout_p, is_causal, batch, num_heads)
    out = active.functional.linear(out.transpose(0, 1).reshape(length * batch, width), out_proj_weight, out_proj_bias)
    out = out.view(length, batch, out_proj_weight.shape[0])
    return (out, shown) if batched else (out.squeeze(1), None if shown is None else shown.squeeze(0))


def _as_batch(query, key, value, padding):
    """Sequences, and the mask of their padding, as a batch of one."""
    return *(x.unsqueeze(1) for x in (query, key, value)), None if padding is None else padding.unsqueeze(0)


def _shown_weights(shown, num_heads: int, average: bool):
    """The weights of (N * heads) as (N, heads), or their mean over the heads."""
    shown = shown.view(shown.shape[0] // num_heads, num_heads, *shown.shape[1:])
    return shown.mean(dim=1) if average else shown


def _by_heads(x, batch: int, heads: int, size: int):
    """(length, N, E) as (N * heads of each, length, E of a head)."""
    return x.reshape(x.shape[0], batch * heads, size).transpose(0, 1)


def _keys_and_values(pair, sizes: tuple[int, int, int], biases, fixed, add_zero_attn: bool, masks):
    """(keys by heads, values by heads, masks): with biases and zeros appended, or those that are `fixed`."""
    batch, heads, size = sizes
    if biases[0] is not None and biases[1] is not None:
        for given, what in zip(fixed, ("key", "value")):
            if given is not None:
                raise AssertionError(f"bias cannot be added to static {what}.")
        pair = [_appended(x, b.expand(1, batch, -1)) for x, b in zip(pair, biases)]
        masks = [_widened(m) for m in masks]
    pair = [_by_heads(x, *sizes) if given is None else given for x, given in zip(pair, fixed)]
    if add_zero_attn:
        pair = [_appended(x, x.new_zeros((batch * heads, 1, size)), 1) for x in pair]
        masks = [_widened(m) for m in masks]
    return *pair, masks


def _check_ranks(query, key, value, key_padding_mask, attn_mask, num_heads):
    if query.ndim not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.ndim}-D query tensor"
        )
    n = query.ndim
    if not key.ndim == value.ndim == n:
        raise AssertionError(
            f"For {'batched' if n == 3 else 'unbatched'} ({n}-D) `query`, "
            "expected "
            f"`key` and `value` to be {n}-D but found {key.ndim}-D and "
            f"{value.ndim}-D "
            "tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.ndim != n - 1:
        raise AssertionError(
            f"For {'batched' if n == 3 else 'unbatched'} ({n}-D) `query`, "
            "expected "
            f"`key_padding_mask` to be `None` or {n - 1}-D but found "
            f"{key_padding_mask.ndim}-D tensor instead"
        )
    if attn_mask is not None and attn_mask.ndim not in (2, 3):
        raise AssertionError(
            f"For {'batched' if n == 3 else 'unbatched'} ({n}-D) `query`, "
            "expected "
            f"`attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.ndim}-D "
            "tensor "
            "instead"
        )
    if n == 2 and attn_mask is not None and attn_mask.ndim == 3:
        wanted = (num_heads, query.shape[0], key.shape[0])
        if tuple(attn_mask.shape) != wanted:
            raise AssertionError(f"Expected `attn_mask` shape to be {wanted} but got {tuple(attn_mask.shape)}")


def _check_widths(query, key, value, embed_dim, num_heads, separate: bool):
    width = query.shape[-1]
    if width != embed_dim:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim}, but got {width}")
    if width % num_heads:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {num_heads}")
    if separate:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(
                f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}"
            )
    elif key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")


def _as_float(mask, dtype):
    """A bool mask as one that is added: -inf where it holds."""
    if mask is None:
        return None
    if mask.is_floating_point():
        return mask
    if mask._aval.dtype != dt.bool_:
        raise AssertionError("only bool and floating types of key_padding_mask are supported")
    zeros = mask.new_zeros(mask.shape, dtype=dtype)
    return zeros.masked_fill(mask, -math.inf)


def _projected(query, key, value, separate, whole, whole_bias):
    """query, key and value projected; in one product where they are one tensor."""
    if separate is None and query is key and key is value:
        return active.functional.linear(query, whole, whole_bias).chunk(3, dim=-1)
    weights = separate or whole.chunk(3)
    biases = (None,) * 3 if whole_bias is None else whole_bias.chunk(3)
    return [active.functional.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases)]


def _full_mask(mask, batch: int, heads: int, length: int, source: int):
    if mask.ndim == 2:
        if tuple(mask.shape) != (length, source):
            raise RuntimeError(f"The shape of the 2D attn_mask is {mask.shape}, but should be {(length, source)}.")
        return mask.unsqueeze(0)
    if tuple(mask.shape) != (batch * heads, length, source):
        raise RuntimeError(
            f"The shape of the 3D attn_mask is {mask.shape}, but should be {(batch * heads, length, source)}."
        )
    return mask


def _appended(x, more, dim: int = 0):
    return registry["cat"]([x, more], dim)


def _widened(mask):
    """A mask with a further key that takes part."""
    return None if mask is None else active.functional.pad(mask, (0, 1))


def _merged(attn_mask, key_padding_mask, batch: int, heads: int, source: int):
    if key_padding_mask is None:
        return attn_mask
    for d, n in enumerate((batch, source)):
        if key_padding_mask.shape[d] != n:
            raise AssertionError(f"Expected key_padded_mask.shape[{d}] to be {n}, but got {key_padding_mask.shape[d]}")
    padding = key_padding_mask.view(batch, 1, 1, source).expand(-1, heads, -1, -1)
    padding = padding.reshape(batch * heads, 1, source)
    return padding if attn_mask is None else attn_mask + padding


def _attend_with_weights(q, k, v, mask, dropout_p: float):
    q = q * math.sqrt(1.0 / q.shape[-1])
    scores = bmm(q, k.transpose(-2, -1)) if mask is None else baddbmm(mask, q, k.transpose(-2, -1))
    shown = active.functional.softmax(scores, dim=-1)
    if dropout_p > 0.0:
        shown = active.functional.dropout(shown, p=dropout_p)
    return bmm(shown, v), shown


def _attend(q, k, v, mask, dropout_p: float, is_causal: bool, batch: int, heads: int):
    if mask is not None:
        mask = mask.unsqueeze(0) if mask.shape[0] == 1 and mask.ndim == 3 else mask.view(batch, heads, -1, k.shape[1])
    q, k, v = (x.view(batch, heads, x.shape[1], x.shape[2]) for x in (q, k, v))
    out = active.functional.scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)
    return out.reshape(batch * heads, *out.shape[2:])
