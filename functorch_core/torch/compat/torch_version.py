"""torch.torch_version: a version that compares by numbers."""

from __future__ import annotations

import re

_RELEASE = re.compile(r"\d+(\.\d+)*")
_NUMBERS = re.compile(r"\d+")


def _parts(version) -> tuple[tuple[int, ...], bool]:
    """((2, 7, 0), is final): enough of PEP 440 for PyTorch's versions."""
    if isinstance(version, (tuple, list)):
        version = ".".join(map(str, version))
    version = str(version).lstrip("v")
    release = _RELEASE.match(version)
    if release is None:
        raise ValueError(version)
    numbers = [int(n) for n in release.group().split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    rest = version[release.end() :].partition("+")[0]
    return tuple(numbers), not re.match(r"\.?(a|b|rc|dev|alpha|beta)", rest)


def _local(version) -> str:
    return str(version).partition("+")[2] if isinstance(version, str) else ""


class TorchVersion(str):
    """A string that compares as a version, with strings, tuples and packaging's versions.

    >>> torch.__version__ >= "2.6", torch.__version__ < (2, 10)
    (True, True)
    """

    __slots__ = ()

    def _key(self, other) -> tuple:
        return (*_parts(other), _local(other))

    def _compare(self, other, name: str):
        try:
            mine, theirs = self._key(str(self)), self._key(other)
        except ValueError:
            return getattr(str, name)(self, str(other))
        return getattr(tuple, name)(mine, theirs)

    def __gt__(self, other):
        return self._compare(other, "__gt__")

    def __lt__(self, other):
        return self._compare(other, "__lt__")

    def __eq__(self, other):
        return self._compare(other, "__eq__")

    def __ge__(self, other):
        return self._compare(other, "__ge__")

    def __le__(self, other):
        return self._compare(other, "__le__")

    def __ne__(self, other):
        return not self == other

    __hash__ = str.__hash__
