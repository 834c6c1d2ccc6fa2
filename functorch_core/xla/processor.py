"""What the processor is, as far as Linux tells."""

from __future__ import annotations

import functools
import itertools


@functools.cache
def first_of_all() -> list[str]:
    """The lines on the first processor in /proc/cpuinfo; none elsewhere. Of the others there may be hundreds."""
    try:
        with open("/proc/cpuinfo") as lines:
            return [line.rstrip("\n") for line in itertools.takewhile(str.strip, lines)]
    except OSError:
        return []


@functools.cache
def about(field: str) -> frozenset[str]:
    """The words of a field of it."""
    found = [line.partition(":")[2].split() for line in first_of_all() if line.partition(":")[0].strip() == field]
    return frozenset(found[0]) if found else frozenset()


def has_wide_vectors() -> bool:
    """Whether it has vectors of 512 bits, for which NumPy has functions of its own."""
    return "avx512f" in about("flags")
