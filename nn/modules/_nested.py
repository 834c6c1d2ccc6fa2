"""Attention of nested tensors: of the examples padded to one size, with a mask of what is not theirs."""

from __future__ import annotations

from ... import torch

NO_MASKS = "MultiheadAttention of nested tensors takes no masks: what is no example's is left out by itself"
SECOND = "MultiheadAttention takes nested tensors with batch_first=True only: their first dimension counts the examples"


def attend_nested(module, query, key, value, attn_mask, key_padding_mask, **options):
    """What a MultiheadAttention gives of nested tensors: an output nested as the query is, and dense weights."""
    if not (key.is_nested and value.is_nested):
        raise AssertionError("MultiheadAttention: query, key and value must all be nested, or none of them")
    if attn_mask is not None or key_padding_mask is not None:
        raise AssertionError(NO_MASKS)
    if not module.batch_first:
        raise AssertionError(SECOND)
    dense = {id(x): x.to_padded_tensor(0.0) for x in (query, key, value)}  # one tensor stays one, for one projection
    q, k, v = (dense[id(x)] for x in (query, key, value))
    causal = torch.ones(q.shape[1], k.shape[1], dtype=torch.bool).triu(1) if options["is_causal"] else None
    output, weights = module(q, k, v, key_padding_mask=_absent(key, k.shape[1]), attn_mask=causal, **options)
    if weights is not None:
        absent = _absent(query, q.shape[1]).unsqueeze(-1)
        weights = weights.masked_fill(absent if weights.ndim == 3 else absent.unsqueeze(1), 0.0)
    return query._of_padded(output), weights


def _absent(x, length: int):
    """(N, length): True where an example of a nested tensor has ended."""
    sizes = torch.tensor([len(example) for example in x.unbind()])
    return torch.arange(length) >= sizes.unsqueeze(-1)
