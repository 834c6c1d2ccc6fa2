"""Random tensors by keys of `fc.random`: what torch's ops draw inside of traced functions.

The numbers are drawn on the host when the program runs, by PyTorch's generator, which is started from the key.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Sequence

import numpy as np

from ....array import random as fc_random
from ....array.array import Array, wrap
from ....array.custom import pure_callback
from ....array.keys import key_data
from ....array.tracing import ShapeDtype
from ....core.trace import open_traces
from ....core.trace import state as trace_state
from ....ops.op import strong
from ....transforms.custom import stop_gradient
from ...tensors.base import Tensor, new_tensor
from .generator import Mt19937Generator
from .seeds import drawing

WITHOUT_KEY = """random numbers of torch's generator in {what}, which is traced once and may run again: every run
    would have the same ones. Draw by a key, which the function is given:
    with functorch_core.faces.random_numbers(key): ...    (key = fc.random.key(0); fc.random.split(key) for others)
    or draw before the call and pass the tensor."""


class _Given(threading.local):
    key: Array | None = None
    count = 0


_given = _Given()


@contextlib.contextmanager
def random_numbers(key):
    """Context: torch's ops draw by a key of fc.random, and no longer from the default generator.

    The same key gives the same numbers, in traced functions and outside; the default generator stays
    where it is. Draws inside are numbered: each has its own key.

    >>> import functorch_core as fc
    >>> from functorch_core import faces, torch
    >>> @fc.jit
    ... def noisy(key, x):
    ...     with faces.random_numbers(key):
    ...         return x + torch.rand(2)
    >>> first, second = fc.random.split(fc.random.key(0))
    >>> x = torch.zeros(2)
    >>> bool((noisy(first, x) == noisy(first, x)).all()), bool((noisy(first, x) == noisy(second, x)).any())
    (True, False)
    """
    before = _given.key, _given.count
    _given.key, _given.count = key, 0
    try:
        yield
    finally:
        _given.key, _given.count = before


def given() -> bool:
    """Whether a key is what this thread draws by."""
    return _given.key is not None


def drawn(draw, shape: Sequence[int], parameters: Sequence[Tensor]) -> Tensor | None:
    """draw(shape, *arrays of the parameters) by the key; None where the generator is what draws."""
    key = _given.key
    if key is None:
        if open_traces and trace_state.builder is not None:
            _check_runs_once()
        return None
    spare, drawing.bits = drawing.bits, Mt19937Generator()
    try:
        ones = [np.ones(x._value.aval.shape, x._value.aval.dtype) for x in parameters]
        dtype = np.asarray(draw(tuple(shape), *ones)).dtype  # to know the dtype
    finally:
        drawing.bits = spare
    key = key_data(fc_random.fold_in(key, _given.count))
    _given.count += 1
    operands = [wrap(stop_gradient(x._read())) for x in parameters]
    spec = ShapeDtype(tuple(shape), dtype)
    made = pure_callback(
        functools.partial(_on_host, draw, tuple(shape)), spec, key, *operands, vmap_method="sequential"
    )
    return new_tensor(strong(made._value))


def _on_host(draw, shape: tuple, key, *arrays) -> np.ndarray:
    bits = Mt19937Generator()
    bits._set_words(np.random.RandomState(np.asarray(key)).get_state(legacy=False)["state"]["key"], 624)
    before, drawing.bits = drawing.bits, bits
    try:
        return np.asarray(draw(shape, *map(np.array, arrays)))
    finally:
        drawing.bits = before


def _check_runs_once():
    """RuntimeError unless what is traced runs with these operands alone, as an eager derivative."""
    builder = trace_state.builder
    while builder is not None:
        if builder.operands is None:
            raise RuntimeError(WITHOUT_KEY.format(what=f"`{builder.name}`"))
        builder = builder.parent
