"""torch.Tag: what can be said of an operator where it is defined."""

from __future__ import annotations

import enum

_NAMES = """core cudagraph_unsafe data_dependent_output dynamic_output_shape flexible_layout generated inplace
    inplace_view maybe_aliasing_or_mutating needs_contiguous_strides needs_exact_strides needs_fixed_stride_order
    nondeterministic_bitwise nondeterministic_seeded out out_variant pointwise pt2_compliant_tag reduction view_copy"""

Tag = enum.Enum("Tag", _NAMES.split(), module="torch", start=0)
Tag.__doc__ = """What can be said of an operator where it is defined.

>>> torch.Tag.pointwise
<Tag.pointwise: 16>
"""


def as_list(tags: Tag | list | tuple | None) -> list[Tag]:
    """One tag, several or none as a list."""
    return [tags] if isinstance(tags, Tag) else list(tags or ())
