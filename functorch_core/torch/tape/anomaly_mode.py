"""Anomaly mode: which forward call made the node whose backward failed."""

from __future__ import annotations

import traceback

from ...core.warn import warn
from .modes import state, watch

FAILED = "Error detected in {name}. Traceback of forward call that caused the error:\n{trace}"
UNKNOWN = (
    "Error detected in {name}. No forward pass information available. Enable detect anomaly "
    "during forward pass for more information."
)


def is_anomaly_enabled() -> bool:
    """Whether backward passes are watched.

    >>> torch.is_anomaly_enabled()
    False
    >>> with torch.autograd.set_detect_anomaly(True):
    ...     torch.is_anomaly_enabled()
    True
    """
    return state.anomaly


def is_anomaly_check_nan_enabled() -> bool:
    """Whether a NaN in a backward pass is an error while they are watched.

    >>> torch.is_anomaly_check_nan_enabled()
    True
    """
    return state.check_nan


class set_detect_anomaly:
    """Switch anomaly detection on or off; a context that restores the setting.

    >>> x = torch.tensor(0., requires_grad=True)
    >>> with torch.autograd.set_detect_anomaly(True):
    ...     try:
    ...         (x / x).backward()
    ...     except RuntimeError as error:
    ...         print(error)
    Function 'DivBackward0' returned nan values in its 1th output.
    """

    __module__ = "torch.autograd.anomaly_mode"

    def __init__(self, mode: bool, check_nan: bool = True):
        self.saved = state.anomaly, state.check_nan
        self._set(bool(mode), bool(check_nan))

    @staticmethod
    def _set(mode: bool, check_nan: bool):
        state.anomaly, state.check_nan = mode, check_nan
        watch(mode or bool(state.saved_hooks))

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        self._set(*self.saved)


class detect_anomaly(set_detect_anomaly):
    """Context: a backward pass that fails, or makes NaN, says which forward call is to blame.

    >>> with torch.autograd.detect_anomaly():
    ...     loss = torch.ones(1, requires_grad=True).sum()
    ...     loss.backward()
    """

    def __init__(self, check_nan: bool = True):
        self.check_nan = check_nan
        warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and "
            "should only be enabled for debugging."
        )

    def __enter__(self):
        super().__init__(True, self.check_nan)


def remember(node):
    """Keep the stack of the forward call in the node's metadata.

    >>> from torch.autograd.anomaly_mode import remember
    >>> y = torch.ones(2, requires_grad=True) * 2
    >>> remember(y.grad_fn)
    >>> type(y.grad_fn.metadata["traceback_"]).__name__
    'list'
    """
    node.metadata["traceback_"] = traceback.format_stack()[:-4]


def explain(node):
    """Warn with the forward call that made the node whose backward is failing.

    >>> from torch.autograd.anomaly_mode import explain
    >>> import warnings
    >>> y = torch.ones(2, requires_grad=True) * 2
    >>> with warnings.catch_warnings(record=True) as told:
    ...   warnings.simplefilter("always")
    ...   explain(y.grad_fn)
    >>> "MulBackward0" in str(told[0].message)
    True
    """
    trace = node.metadata.get("traceback_")
    name = node.name()
    warn(UNKNOWN.format(name=name) if trace is None else FAILED.format(name=name, trace="".join(trace)))


def check_nan(node, outs):
    """RuntimeError if a gradient has a NaN.

    >>> from torch.autograd.anomaly_mode import check_nan
    >>> y = torch.ones(2, requires_grad=True) * 2
    >>> check_nan(y.grad_fn, (torch.tensor([1., float("nan")]),))
    Traceback (most recent call last):
    RuntimeError: Function 'MulBackward0' returned nan values in its 0th output.
    """
    for i, grad in enumerate(outs or ()):
        if grad is not None and (grad.is_floating_point() or grad.is_complex()) and bool(grad.isnan().any()):
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")
