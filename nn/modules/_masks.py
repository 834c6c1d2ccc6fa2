"""The masks of attention, in the form that is added to scores."""

from __future__ import annotations

from ...core.warn import warn
from ...torch.tensors import types as _types

WRONG_MASK = "only bool and floating types of {name} are supported"
MISMATCH = "Support for mismatched {name} and {other} is deprecated. Use same type for both instead."


def canonical_mask(mask, name: str, other, other_name: str, dtype):
    """A bool mask as one that is added: -inf where it holds. Floating masks stay.

    AssertionError for other dtypes; a warning if the other mask is of another kind.
    """
    if mask is None:
        return None
    if mask.dtype is not _types.bool_ and not mask.is_floating_point():
        raise AssertionError(WRONG_MASK.format(name=name))
    if other is not None and other.dtype is not mask.dtype:
        warn(MISMATCH.format(name=name, other=other_name))
    if mask.is_floating_point():
        return mask
    return mask.new_zeros(mask.shape, dtype=dtype).masked_fill_(mask, float("-inf"))
