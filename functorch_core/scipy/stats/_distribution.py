"""What the functions of a distribution have in common: location and scale, and those that follow from others."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable

import functorch_core as fc

from ...array.compose import composed

WORDS = {
    "logpdf": "The logarithm of the density", "pdf": "The density", "logpmf": "The logarithm of the probability",
    "pmf": "The probability", "cdf": "The probability of at most x", "logcdf": "The logarithm of the cdf",
    "sf": "The probability of more than x", "logsf": "The logarithm of sf",
    "ppf": "The quantile: the inverse of cdf", "isf": "The inverse of sf",
}  # fmt: skip

# How a function follows from another one, where a distribution does not give it.
FOLLOWS: dict[str, tuple[tuple[str, Callable], ...]] = {
    "pdf": (("logpdf", lambda f: lambda *z: fc.exp(f(*z))),),
    "pmf": (("logpmf", lambda f: lambda *z: fc.exp(f(*z))),),
    "cdf": (("logcdf", lambda f: lambda *z: fc.exp(f(*z))),),
    "sf": (("logsf", lambda f: lambda *z: fc.exp(f(*z))), ("cdf", lambda f: lambda *z: 1 - f(*z))),
    "logcdf": (("cdf", lambda f: lambda *z: fc.log(f(*z))),),
    "logsf": (("sf", lambda f: lambda *z: fc.log(f(*z))), ("cdf", lambda f: lambda *z: fc.log1p(-f(*z)))),
    "isf": (("ppf", lambda f: lambda q, *z: f(1 - q, *z)),),
}


def distribution(name: str, parameters: str, names: str, first: dict[str, str] | None = None, **given: Callable):
    """The functions of a distribution in the order of `names`: "cdf logpdf pdf".

    parameters: "x, a, loc=0, scale=1"; `given` take x standardised, (x - loc) / scale, and the others.
    Those that are not given follow from the others. first: what the first parameter of a function
    is called, if not x (q of quantiles).
    """
    made = []
    for kind in names.split():
        fun = given.get(kind) or _following(kind, given)
        made.append(_public(name, kind, fun, parameters, (first or {}).get(kind)))
    return tuple(made)


def _following(kind: str, given: dict[str, Callable]) -> Callable:
    for source, make in FOLLOWS[kind]:
        if source in given:
            return make(given[source])
        if any(s in given for s, _ in FOLLOWS.get(source, ())):
            return make(_following(source, given))
    raise KeyError(f"{kind} does not follow from {', '.join(given)}")


def _public(name, kind, fun, parameters, first):
    start, _, rest = parameters.partition(",")
    start = first or ("q" if kind in ("ppf", "isf") else start)
    signature = inspect.signature(eval(f"lambda {start}, {rest.strip()}: None" if rest else f"lambda {start}: None"))
    arrays = list(signature.parameters)
    shapes = [n for n in arrays[1:] if n not in ("loc", "scale")]

    def call(*arguments):
        values = dict(zip(arrays, arguments))
        loc, scale = values.get("loc"), values.get("scale")
        others = [values[n] for n in shapes]
        if kind in ("ppf", "isf"):
            out = fun(arguments[0], *others)
            out = out if scale is None else out * scale
            return out if loc is None else out + loc
        z = arguments[0] if loc is None else arguments[0] - loc
        out = fun(z if scale is None else z / scale, *others)
        if scale is None or kind not in ("pdf", "logpdf"):
            return out
        return out - fc.log(scale) if kind == "logpdf" else out / scale

    call.__name__, call.__signature__ = kind, signature
    call.__doc__ = f"""{WORDS[kind]} of the {name} distribution, elementwise.

    >>> from functorch_core.scipy import stats
    >>> found = stats.{name}.{kind}({", ".join(["0.5"] * (1 + len(shapes)))})
    """
    call.__module__ = f"functorch_core.scipy.stats.{name}"
    return composed(" ".join(arrays), space=f"fc.scipy.stats.{name}", inexact=True)(call)


def inside(condition, value, outside=-math.inf):
    """A value where a condition holds, a number elsewhere."""
    return fc.where(condition, value, fc.full_like(value, outside))


def safe(condition, x, otherwise):
    """x where a condition holds, elsewhere a number that is inside: its slopes stay finite."""
    return fc.where(condition, x, fc.full_like(x, otherwise))
