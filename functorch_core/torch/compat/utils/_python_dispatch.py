"""torch.utils._python_dispatch: what there is of it. Operators are not dispatched here."""

import contextlib as _contextlib

from ..._missing import getter as _getter
from ...dispatch.overrides import NO_DISPATCH as _NO_DISPATCH

__getattr__ = _getter(__name__)


class TorchDispatchMode:
    """A mode that would be given every operator: it can be defined, and raises when it is entered."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self):
        raise NotImplementedError(_NO_DISPATCH.format(name=type(self).__name__))

    def __exit__(self, *exc):
        pass


def is_traceable_wrapper_subclass(t) -> bool:
    """False: there are none."""
    return False


@_contextlib.contextmanager
def _disable_current_modes():
    """A context: no mode is on."""
    yield []


def _get_current_dispatch_mode():
    """None: no mode is on."""
    return None
