"""torch.utils._contextlib: context managers that decorate functions and generators, too."""

from __future__ import annotations

from ...tape.modes import _Mode


class _DecoratorContextManager(_Mode):
    """A base of context managers that may decorate a function: each call is made in a fresh one, of `clone`."""


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """One without parameters, which may decorate without being called."""

    def __new__(cls, orig_func=None):
        self = super().__new__(cls)
        return self if orig_func is None else self(orig_func)
