"""A primitive: a name and its six rules.

    shape(*avals, **params) -> aval, or a tuple of avals if `multiple`
    reference(*arrays, **params) -> array or tuple           NumPy, on host arrays
    lower(ctx, *operands, **params) -> operand or tuple      StableHLO text, see core.lowering
    jvp(primals, tangents, **params) -> outs, out_tangents   None stands for a zero tangent
    transpose(cotangents, *args, **params) -> one per arg    linear args come as `Linear(aval)`
    batch(axis, args, dims, **params) -> outs, out_dims      None stands for "not batched"

`jvp`, `transpose` and `batch` are written with primitives (they run while a graph is built).
`outs`, `out_tangents`, `cotangents` and `out_dims` are tuples if the primitive is `multiple`,
bare otherwise. Arrays are positional, static parameters keyword, everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .aval import Aval
from .errors import MISSING_RULE_MESSAGE

RULES = ("shape", "reference", "lower", "jvp", "transpose", "batch")


class Reason(str):
    """Stands where a rule would, and says why there is none."""


NOT_LINEAR = Reason("it is linear in none of its operands")
NOT_DIFFERENTIABLE = Reason("its result is constant almost everywhere, or not a number of a field")


class Linear:
    """In a transpose rule: the operand whose cotangent is wanted; it has only an aval."""

    __slots__ = ("aval",)

    def __init__(self, aval: Aval):
        self.aval = aval


class Primitive:
    """An operation that graphs are made of. Rules may be given here or set later, once each.

    `partial_eval` is only for primitives that hold graphs (see transforms.linearize);
    `lower_on` maps a platform to a lowering of its own; `feature` is what the choice of compile
    options looks at ('dot', 'conv', 'scatter', ...); `effect` keeps a node alive that no one uses.
    """

    def __init__(
        self,
        name: str,
        *,
        shape,
        reference,
        lower,
        jvp,
        transpose,
        batch,
        multiple: bool = False,
        partial_eval: Callable | None = None,
        lower_on: Mapping[str, Callable] | None = None,
        feature: str = "",
        effect: bool = False,
        family: str = "",
    ):
        self.name, self.multiple, self.feature, self.effect = name, multiple, feature, effect
        self.shape, self.reference, self.lower = shape, reference, lower
        self.jvp, self.transpose, self.batch = jvp, transpose, batch
        self.partial_eval, self.lower_on = partial_eval, dict(lower_on or {})
        self.family = family
        if name in registry:
            raise ValueError(f"a primitive named {name!r} exists already")
        registry[name] = self

    def __repr__(self):
        return self.name

    def __reduce__(self):
        return registry.__getitem__, (self.name,)

    def rule(self, name: str, platform: str = "") -> Callable:
        """The rule of that name; NotImplementedError with the reason where there is none."""
        found = self.lower_on.get(platform) or self.lower if name == "lower" else getattr(self, name)
        if callable(found):
            return found
        raise NotImplementedError(
            MISSING_RULE_MESSAGE.format(name=self.name, rule=name, reason=found or "none was written")
        )


registry: dict[str, Primitive] = {}
