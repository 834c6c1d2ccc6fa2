"""What the processor is, as far as Linux tells."""

from __future__ import annotations

import functools
import re
from pathlib import Path


@functools.cache
def about(field: str) -> frozenset[str]:
    """The words of a field of the first processor in /proc/cpuinfo; none elsewhere."""
    try:
        found = re.search(rf"^{field}\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        return frozenset()
    return frozenset(found[1].split()) if found else frozenset()


def has_wide_vectors() -> bool:
    """Whether it has vectors of 512 bits, for which NumPy has functions of its own."""
    return "avx512f" in about("flags")
