"""The base of layers that keep their arguments as attributes and show them in their repr."""

from __future__ import annotations

from .module import Module


class Described(Module):
    """A module of named arguments; `_shown` is the format of its repr."""

    _shown = ""

    def __init__(self, **arguments):
        super().__init__()
        self.__dict__.update(arguments)

    def extra_repr(self):
        return self._shown.format(**vars(self))
