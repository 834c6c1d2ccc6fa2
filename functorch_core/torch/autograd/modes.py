"""Whether operations are recorded on the tape: no_grad and its kin, per thread."""
from __future__ import annotations

import functools
import inspect
import threading


class _State(threading.local):
    enabled = True
    inference = False
    anomaly = False
    check_nan = True
    saved_hooks: tuple = ()


state = _State()


class _Mode:
    """A context manager that is also a decorator (for generators, too)."""

    def __call__(self, fun):
        if inspect.isgeneratorfunction(fun):
            return self._wrap_generator(fun)

        @functools.wraps(fun)
        def wrapped(*args, **kwargs):
            with self.clone():
                return fun(*args, **kwargs)
        return wrapped

    def _wrap_generator(self, fun):
        @functools.wraps(fun)
        def wrapped(*args, **kwargs):
            generator = fun(*args, **kwargs)
            value = None
            while True:
                with self.clone():
                    try:
                        item = generator.send(value)
                    except StopIteration as stop:
                        return stop.value
                value = yield item
        return wrapped

    def clone(self):
        """A fresh context of the same kind."""
        return type(self)()


class _Switch(_Mode):
    value = True

    def __new__(cls, fun=None):
        self = super().__new__(cls)
        return self if fun is None else self(fun)

    def __init__(self, fun=None):
        pass

    def __enter__(self):
        self.saved, state.enabled = state.enabled, self.value

    def __exit__(self, *exc):
        state.enabled = self.saved


class no_grad(_Switch):
    """Context and decorator: operations are not recorded for differentiation."""

    __module__ = "torch"
    value = False


class enable_grad(_Switch):
    """Context and decorator: operations are recorded, also inside no_grad."""

    __module__ = "torch"
    value = True


class set_grad_enabled(_Mode):
    """Switch recording on or off, at once; as a context it restores the setting."""

    __module__ = "torch"

    def __init__(self, mode: bool):
        self.saved, self.mode = state.enabled, bool(mode)
        state.enabled = self.mode

    def __call__(self, fun):
        state.enabled = self.saved  # a decorator must not switch anything now
        return super().__call__(fun)

    def __enter__(self):
        state.enabled = self.mode

    def __exit__(self, *exc):
        state.enabled = self.saved

    def clone(self):
        """A fresh context of the same setting."""
        return set_grad_enabled(self.mode)


class inference_mode(_Mode):
    """no_grad that also marks the tensors made in it as inference tensors."""

    __module__ = "torch"

    def __new__(cls, mode=True):
        self = super().__new__(cls)
        if callable(mode):
            self.mode = True
            return self(mode)
        return self

    def __init__(self, mode=True):
        self.mode = bool(mode)

    def __enter__(self):
        self.saved = state.enabled, state.inference
        if self.mode:
            state.enabled, state.inference = False, True
        else:
            state.inference = False
            state.enabled = True

    def __exit__(self, *exc):
        state.enabled, state.inference = self.saved

    def clone(self):
        """A fresh context of the same setting."""
        return inference_mode(self.mode)


def is_grad_enabled() -> bool:
    """Whether operations are recorded for differentiation."""
    return state.enabled


def is_inference_mode_enabled() -> bool:
    """Whether inference mode is on."""
    return state.inference
