"""What is said where the number of a traced value is asked for: what to do, and which argument it comes from."""

from __future__ import annotations

import inspect
import os
from typing import Any

from .errors import ConcretizationError
from .types import Function

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MESSAGE = """{what} needs a number, but {value} is traced: it has a shape and a dtype, no value yet.{origin}
{advice}
If the argument is not data but configuration, make it static: fc.jit(f, static_argnums=...)."""

BRANCHES = """    wrong: if x > 0: y = x          right: y = fc.where(x > 0, x, 0.)  or  fc.cond(x > 0, f, g, x)
    wrong: for i in range(n)        right: fc.fori_loop(0, n, body, x)"""
SIZES = """    wrong: fc.jit(lambda n: fc.arange(n))(3)
    right: fc.jit(lambda n: fc.arange(n), static_argnums=0)(3)    or take it of a shape: fc.arange(x.shape[0])
    wrong: for i in range(n)        right: fc.fori_loop(0, n, body, x)"""
NUMPY = """    wrong: np.sin(x)                right: fc.sin(x), or jnp.sin(x) of functorch_core.numpy
    wrong: fc.jit(lambda x: f(np.asarray(x)))    right: fc.pure_callback(f, result, x) calls f when the program runs"""
NUMBERS = """    wrong: y = float(x)             right: y = x.astype(float)
    wrong: f(x.item())              right: f(x), with functions of arrays"""
ADVICE = {
    "bool": BRANCHES,
    "an index": SIZES,
    "np.asarray": NUMPY,
    "float()": NUMBERS,
    "int()": NUMBERS,
    "item()": NUMBERS,
}


def not_known(what: str, value: Any) -> ConcretizationError:
    """The error where `what` needs the number of a traced value (or of an array or tensor of one)."""
    advice = next((text for word, text in ADVICE.items() if what.startswith(word)), SIZES)
    return ConcretizationError(MESSAGE.format(what=what, value=value, origin=origin(value), advice=advice))


def origin(value: Any) -> str:
    """A sentence: the arguments of the traced function that a value depends on; nothing where that is not known."""
    while not hasattr(value, "builder"):
        inner = next((v for v in (getattr(value, a, None) for a in ("_value", "value")) if v is not None), None)
        if inner is None or inner is value:
            return ""
        value = inner
    builder = value.builder
    if builder.arguments is None:
        return ""
    needed = {value.slot}
    for node in reversed(builder.nodes):
        if not needed.isdisjoint(node.outputs):
            needed.update(node.inputs)
    fun, name = builder.arguments
    names = list(dict.fromkeys([name(i) for i, slot in enumerate(builder.inputs) if slot in needed]))
    if not names or None in names or len(names) > 3:
        return ""
    many = "s" if len(names) > 1 else ""
    called = getattr(fun, "__name__", builder.name)
    return f"\n    It depends on the argument{many} {', '.join(names)} of `{called}`{place_of(fun)}."


def place_of(fun: Function | None) -> str:
    """Where a function stands: " (file.py:12)"; nothing for the library's, and what is not written in Python."""
    code = getattr(inspect.unwrap(fun), "__code__", None) if callable(fun) else None
    if code is None or code.co_filename.startswith(HERE):
        return ""
    return f" ({os.path.basename(code.co_filename)}:{code.co_firstlineno})"
