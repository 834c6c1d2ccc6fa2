"""Attention."""

from __future__ import annotations

import math

from ...transforms.remat import remat
from .._op import torch_op
from .matmul import broadcast_lead, linear, product
from .nn_activation import softmax_of
from .nn_other import dropout, dropout_mask
from .values import aval_of, c_name, dt, expanded, full_like, iota_along, like, p, permuted, wide

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


def _attention_weights(query, key, mask, is_causal: bool, factor: float):
    """softmax(query @ key^T * factor + mask), rows without any key 0."""
    n = aval_of(key).ndim
    scores = product(p.mul(query, full_like(query, factor)), permuted(key, (*range(n - 2), n - 1, n - 2)))
    shape = aval_of(scores).shape
    if is_causal:
        rows, columns = (iota_along(shape, len(shape) - i, dt.int32) for i in (2, 1))
        scores = p.select(p.le(columns, rows), scores, full_like(scores, -math.inf))
    if mask is not None and aval_of(mask).dtype == dt.bool_:
        scores = p.select(expanded(mask, shape), scores, full_like(scores, -math.inf))
    elif mask is not None:
        scores = p.add(scores, expanded(like(mask, scores), shape))
    return _softmax_or_zero(scores) if mask is not None else softmax_of(scores, len(shape) - 1)


def _softmax_or_zero(scores):
    """softmax over the last dimension; zeros where everything is -inf, as PyTorch's attention."""
    shape = aval_of(scores).shape
    top = p.reduce_max(scores, axes=(len(shape) - 1,))
    nothing = p.eq(top, full_like(top, -math.inf))
    nothing = p.broadcast_in_dim(nothing, shape=shape, dims=tuple(range(len(shape) - 1)))
    safe = p.select(nothing, p.zeros(aval_of(scores)), scores)
    return p.select(nothing, p.zeros(aval_of(scores)), softmax_of(safe, len(shape) - 1))


@torch_op(name="_attention", method=False, function=False, node="scaled_dot_product_attention")
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
    operands = [query, key, value, *(x for x in (mask, keep) if x is not None)]

    def attend(q, k, v, *rest):
        rest = list(rest)
        bias = rest.pop(0) if mask is not None else None
        if enable_gqa:
            k, v = (_grouped(x, aval_of(q).shape[-3]) for x in (k, v))
        weights = _attention_weights(wide(q), wide(k), bias, is_causal, factor)
        if rest:
            kept = like(rest[0], weights)
            weights = p.mul(weights, p.div(kept, full_like(kept, rescale)))
        return [like(product(weights, wide(v)), q)]

    return remat(attend, operands)[0]


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
    if attn_mask is not None and attn_mask._aval.dtype not in (dt.bool_, *dt.FLOATING):
        names = [c_name(x._read()) for x in (attn_mask, query)]
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, "
            f"but got attn_mask.dtype: {names[0]} and  query.dtype: {names[1]} "
            "instead."
        )
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else float(scale)
    if scale is None and query.shape[-1] == 0:
        factor = 0.0
    keep = None
    rescale = 1.0
    if dropout_p > 0:
        lead = broadcast_lead(tuple(query.shape[:-2]), tuple((key if not enable_gqa else query).shape[:-2]))
        shape = (*lead, query.shape[-2], key.shape[-2])
        keep = dropout_mask(shape, query, dropout_p)
        rescale = 1.0 - dropout_p if dropout_p < 1 else 1.0
    return _attention(query, key, value, attn_mask, keep, is_causal, factor, enable_gqa, rescale)


# ---- multi-head ----------------------------------------------------------------------------------


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
    """Multi-head attention of (L, N, E) or (L, E): (output, weights or None)."""
    batched = query.ndim == 3
    _check_ranks(query, key, value, key_padding_mask, attn_mask, num_heads)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the "
            "Transformer module method `generate_square_subsequent_mask` to create "
            "this mask."
        )
    if not batched:
        query, key, value = (x.unsqueeze(1) for x in (query, key, value))
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    _check_widths(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    key_padding_mask = _as_float(key_padding_mask, query.dtype)
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None
    else:
        attn_mask, is_causal = _as_float(attn_mask, query.dtype), False
    weights = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else in_proj_weight.chunk(3)
    biases = (None,) * 3 if in_proj_bias is None else in_proj_bias.chunk(3)
    q, k, v = _projected(query, key, value, weights, biases, use_separate_proj_weight, in_proj_weight, in_proj_bias)
    if attn_mask is not None:
        attn_mask = _full_mask(attn_mask, batch, num_heads, length, key.shape[0])
    if bias_k is not None and bias_v is not None:
        k, v = _appended(k, bias_k.expand(1, batch, -1)), _appended(v, bias_v.expand(1, batch, -1))
        attn_mask, key_padding_mask = _widened(attn_mask), _widened(key_padding_mask)
    heads, size = batch * num_heads, width // num_heads
    q = q.reshape(length, heads, size).transpose(0, 1)
    k = static_k if static_k is not None else k.reshape(k.shape[0], heads, size).transpose(0, 1)
    v = static_v if static_v is not None else v.reshape(v.shape[0], heads, size).transpose(0, 1)
    if add_zero_attn:
        k, v = (_appended(x, x.new_zeros((heads, 1, size)), 1) for x in (k, v))
        attn_mask, key_padding_mask = _widened(attn_mask), _widened(key_padding_mask)
    mask = _merged(attn_mask, key_padding_mask, batch, num_heads, k.shape[1])
    dropout_p = dropout_p if training else 0.0
    if need_weights:
        out, shown = _attend_with_weights(q, k, v, mask, dropout_p)
    else:
        out, shown = _attend(q, k, v, mask, dropout_p, is_causal, batch, num_heads), None
    out = out.transpose(0, 1).reshape(length * batch, width)
    out = linear(out, out_proj_weight, out_proj_bias).view(length, batch, -1)
    if shown is not None:
        shown = shown.view(batch, num_heads, length, k.shape[1])
        shown = shown.mean(dim=1) if average_attn_weights else shown
        shown = shown if batched else shown.squeeze(0)
    return (out if batched else out.squeeze(1)), shown


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


def _projected(query, key, value, weights, biases, separate: bool, whole, whole_bias):
    """query, key and value projected; in one product where they are one tensor."""
    if not separate and query is key and key is value:
        return linear(query, whole, whole_bias).chunk(3, dim=-1)
    return [linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases)]


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
    from .._op import registry

    return registry["cat"]([x, more], dim)


def _widened(mask):
    """A mask with a further key that takes part."""
    from .nn_vision import pad

    return None if mask is None else pad(mask, (0, 1))


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
    from .matmul import baddbmm, bmm
    from .nn_activation import torch_softmax

    q = q * math.sqrt(1.0 / q.shape[-1])
    scores = bmm(q, k.transpose(-2, -1)) if mask is None else baddbmm(mask, q, k.transpose(-2, -1))
    shown = torch_softmax(scores, -1)
    if dropout_p > 0.0:
        shown = dropout(shown, dropout_p)
    return bmm(shown, v), shown


def _attend(q, k, v, mask, dropout_p: float, is_causal: bool, batch: int, heads: int):
    if mask is not None:
        mask = mask.unsqueeze(0) if mask.shape[0] == 1 and mask.ndim == 3 else mask.view(batch, heads, -1, k.shape[1])
    q, k, v = (x.view(batch, heads, x.shape[1], x.shape[2]) for x in (q, k, v))
    out = scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)
    return out.reshape(batch * heads, *out.shape[2:])
