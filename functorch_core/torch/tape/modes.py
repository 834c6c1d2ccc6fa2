"""Whether operations are recorded on the tape: no_grad and its kin, per thread."""

from __future__ import annotations

import functools
import inspect
import threading

from ...core.warn import warn
from ..tensors.active import active


class _State(threading.local):
    enabled = True
    inference = False
    anomaly = False
    check_nan = True
    watched = False  # anomaly mode or saved-tensor hooks are on: nodes are made with care
    saved_hooks: tuple = ()  # (pack, unpack) pairs, innermost last
    hooks_disabled: str | None = None
    forward = True  # whether forward mode computes tangents
    multithreading = True
    transforms = 0  # how many torch.func transforms are being computed


state = _State()


def watch(mode: bool):
    """Let this thread's nodes be made with care, or not."""
    state.watched = mode
    if mode:
        active.watches = True


def _set_grad_enabled(mode: bool):
    """Record operations for differentiation, or not."""
    if active.overrides is not None and active.overrides.applies(_set_grad_enabled, (mode,), {}):
        active.overrides.handle(_set_grad_enabled, (mode,), {})
    else:
        state.enabled = mode


def _set_multithreading_enabled(mode: bool):
    """Accepted for compatibility: backward passes run in the calling thread."""
    if active.overrides is not None and active.overrides.applies(_set_multithreading_enabled, (mode,), {}):
        active.overrides.handle(_set_multithreading_enabled, (mode,), {})
    else:
        state.multithreading = mode


_set_grad_enabled.__module__ = _set_multithreading_enabled.__module__ = "torch._C"


class _Mode:
    """A context manager that is also a decorator, of functions, generators and classes."""

    def __call__(self, fun):
        if inspect.isclass(fun):
            warn(
                "Decorating classes is deprecated and will be disabled in future "
                "versions. You should only decorate functions or methods. To preserve "
                "the current behavior of class decoration, you can directly decorate "
                "the `__init__` method and nothing else.",
                FutureWarning,
            )
            fun.__init__ = self._wrap(fun.__init__)
            return fun
        return self._wrap(fun)

    def _wrap(self, fun):
        if inspect.isgeneratorfunction(fun):
            return self._wrap_generator(fun)

        @functools.wraps(fun)
        def wrapped(*args, **kwargs):
            with self.clone():
                return fun(*args, **kwargs)

        return wrapped

    def _wrap_generator(self, fun):
        """The generator runs in the mode; what the caller does between two items does not."""

        @functools.wraps(fun)
        def wrapped(*args, **kwargs):
            generator = fun(*args, **kwargs)
            resume, value = generator.send, None
            while True:
                try:
                    with self.clone():
                        item = resume(value)
                except StopIteration as stop:
                    return stop.value
                try:
                    resume, value = generator.send, (yield item)
                except GeneratorExit:
                    with self.clone():
                        generator.close()
                    raise
                except BaseException as error:
                    resume, value = generator.throw, error

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
        self.saved = state.enabled
        _set_grad_enabled(self.value)

    def __exit__(self, *exc):
        _set_grad_enabled(self.saved)


class no_grad(_Switch):
    """Context and decorator: operations are not recorded for differentiation.

    >>> x = torch.ones(1, requires_grad=True)
    >>> with torch.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    __module__ = "torch"
    value = False


class enable_grad(_Switch):
    """Context and decorator: operations are recorded, also inside no_grad.

    >>> with torch.no_grad(), torch.enable_grad(): y = torch.ones(1, requires_grad=True) * 2
    >>> y.requires_grad
    True
    """

    __module__ = "torch"
    value = True


class set_grad_enabled(_Mode):
    """Switch recording on or off, at once; as a context it restores the setting.

    >>> with torch.set_grad_enabled(False): y = torch.ones(1, requires_grad=True) * 2
    >>> y.requires_grad
    False
    """

    __module__ = "torch"

    def __init__(self, mode: bool):
        self.saved, self.mode = state.enabled, bool(mode)
        _set_grad_enabled(self.mode)

    def __call__(self, fun):
        _set_grad_enabled(self.saved)  # a decorator must not switch anything now
        return super().__call__(fun)

    def __enter__(self):
        _set_grad_enabled(self.mode)

    def __exit__(self, *exc):
        _set_grad_enabled(self.saved)

    def __str__(self):
        return f"torch.set_grad_enabled(mode={self.mode})"

    __repr__ = __str__

    def clone(self):
        """A fresh context of the same setting."""
        return set_grad_enabled(self.mode)


class inference_mode(_Mode):
    """no_grad that also marks the tensors made in it as inference tensors.

    >>> with torch.inference_mode(): y = torch.ones(1) * 2
    >>> y.is_inference()
    True
    """

    __module__ = "torch"

    def __new__(cls, mode=True):
        self = super().__new__(cls)
        if isinstance(mode, bool):
            return self
        self.mode = True
        return self(mode)

    def __init__(self, mode=True):
        self.mode = bool(mode)

    def __enter__(self):
        self.saved = state.enabled, state.inference, state.forward
        state.enabled, state.inference = not self.mode, self.mode
        state.forward = not self.mode
        active.marks_inference = True

    def __exit__(self, *exc):
        state.enabled, state.inference, state.forward = self.saved

    def clone(self):
        """A fresh context of the same setting."""
        return inference_mode(self.mode)


class set_multithreading_enabled(_Mode):
    """Accepted for compatibility: backward passes run in the calling thread.

    >>> with torch.autograd.set_multithreading_enabled(False):
    ...   torch.ones(1, requires_grad=True).sum().backward()
    """

    __module__ = "torch.autograd.grad_mode"

    def __init__(self, mode: bool):
        self.saved, self.mode = state.multithreading, bool(mode)
        _set_multithreading_enabled(self.mode)

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        _set_multithreading_enabled(self.saved)

    def clone(self):
        """A fresh context of the same setting."""
        return set_multithreading_enabled(self.mode)


class grad_mode:
    """Context for internal use: recording on or off, quickly."""

    __slots__ = ("enabled", "saved")

    def __init__(self, enabled: bool):
        self.enabled = enabled

    def __enter__(self):
        self.saved, state.enabled = state.enabled, self.enabled

    def __exit__(self, *exc):
        state.enabled = self.saved


def is_grad_enabled() -> bool:
    """Whether operations are recorded for differentiation.

    >>> torch.is_grad_enabled()
    True
    """
    return state.enabled


def is_multithreading_enabled() -> bool:
    """Whether backward passes may use several threads: what was set, as they run in the calling thread."""
    return state.multithreading


def is_inference_mode_enabled() -> bool:
    """Whether inference mode is on.

    >>> torch.is_inference_mode_enabled()
    False
    """
    return state.inference


class forward_mode:
    """Context: whether tangents are computed. As PyTorch's _set_fwd_grad_enabled it is so from the construction on."""

    def __init__(self, mode: bool):
        self.saved, state.forward = state.forward, bool(mode)

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        state.forward = self.saved
