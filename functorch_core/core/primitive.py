"""A primitive: a name, its traits and its six rules.

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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from .aval import Aval, HasAval
from .errors import MISSING_RULE_MESSAGE
from .types import Function

RULES = ("shape", "reference", "lower", "jvp", "transpose", "batch")


class Reason(str):
    """Stands where a rule would, and says why there is none."""


NOT_LINEAR = Reason("it is linear in none of its operands")
NOT_DIFFERENTIABLE = Reason("its result is constant almost everywhere, or not a number of a field")


class Linear(HasAval):
    """In a transpose rule: the operand whose cotangent is wanted; it has only an aval."""

    __slots__ = ("aval",)

    def __init__(self, aval: Aval) -> None:
        self.aval = aval


FAMILIES = frozenset(
    "callback collective control convert convolution cumulative custom dot elementwise fft index linalg random "
    "reduction scatter sort special structure transcendental window".split()
)


def largest(operands: Sequence[Aval], results: Sequence[Aval], params: Mapping[str, Any]) -> float:
    """The elements of the largest operand or result: what most primitives handle."""
    return max([a.size for a in (*operands, *results)], default=1)


class Way(NamedTuple):
    """How host arrays are computed other than by NumPy: run(*arrays) -> list of arrays, in so many microseconds; None
    where it cannot be done, as in a forked process. in_programs: the part of that time that it takes in compiled
    programs, if they compute it so, too."""

    run: Function
    time: float
    in_programs: float = 0.0


# Of the avals of operands, those of results, and the params.
Estimate: TypeAlias = Callable[[Sequence[Aval], Sequence[Aval], Mapping[str, Any]], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What a primitive says of itself besides its rules; what is not said is not assumed of it.

    What it costs, for the engine's choice between NumPy and compiling:
    numpy: nanoseconds an element by NumPy, of float32 in the cache; 0 for a view, which touches none
    of_complex: the same of complex numbers of either dtype; 0 where they take what engine.cost.SLOWER says
    work: how many elements it handles, work(avals of operands, of results, params)
    compiled: the part of that time that a program takes, or a function as `work`; 1 where it calls NumPy back
    compile: microseconds that XLA takes to compile it beyond an ordinary operation; a function as `work`
    where that depends on the operands
    library: microseconds that a library takes by which NumPy's tier and programs compute it alike, a function as
    `work`; 0 where there is none
    repeats: how often it runs the graphs it holds, where no parameter `length` says so

    For derivatives, which keep values or compute them again:
    free: to compute it again costs less than to keep its result
    expensive: its result is kept rather than computed again
    conjugates: the conjugate of its result is the result of its operands' conjugates

    What it does with elements:
    elementwise: each element of a result depends on the same one of each operand
    broadcasts: its reference takes operands that NumPy has to broadcast
    moves: each element of the result is one of these operands' (a slice of them)
    updates: its result is the first operand with other elements in some places
    carries: it hands elements on as they are, whatever their bits mean
    fresh: what its reference gives shares no memory with an operand, and may be written over
    primal: the parameter with the graph it computes, where only its derivative is its own
    again: the parameter with the graph it computes, where only what it keeps for its derivative is its own
    whole: what is quicker than NumPy for all that the graph it holds computes, whole(params), if there is something
    calls_back: it runs the user's code

    sizes: the parameters that are sizes, or places along dimensions: of operands of other sizes they are others
    """

    family: str  # one of FAMILIES: where the documentation lists it
    numpy: float = 0.12
    of_complex: float = 0.0
    work: Estimate = largest
    compiled: float | Estimate = 0.2
    compile: float | Estimate = 0.0
    library: float | Estimate = 0.0
    repeats: int = 1
    free: bool = False
    expensive: bool = False
    conjugates: bool = False
    elementwise: bool = False
    broadcasts: bool = False
    moves: slice | None = None
    updates: bool = False
    carries: bool = False
    fresh: bool = False
    primal: str = ""
    again: str = ""
    whole: Callable[[Mapping[str, Any]], Way | None] | None = None
    calls_back: bool = False
    sizes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise ValueError(
                f"no family of primitives is named {self.family!r}; there are {', '.join(sorted(FAMILIES))}"
            )

    def but(self, **changes: Any) -> Traits:
        """These traits, but for those given."""
        return replace(self, **changes)


class Primitive:
    """An operation that graphs are made of. Rules may be given here or set later, once each.

    `partial_eval` is only for primitives that hold graphs (see transforms.linearize);
    `lower_on` maps a platform to a lowering of its own; `effect` keeps a node alive that no one uses.
    """

    def __init__(
        self,
        name: str,
        *,
        traits: Traits,
        shape: Function,
        reference: Any,
        lower: Function | Reason,
        jvp: Function | Reason,
        transpose: Function | Reason,
        batch: Function | Reason,
        multiple: bool = False,
        partial_eval: Function | None = None,
        lower_on: Mapping[str, Function] | None = None,
        effect: bool = False,
    ) -> None:
        self.name, self.traits, self.multiple, self.effect = name, traits, multiple, effect
        self.shape, self.reference, self.lower = shape, reference, lower
        self.jvp, self.transpose, self.batch = jvp, transpose, batch
        self.partial_eval, self.lower_on = partial_eval, dict(lower_on or {})
        if name in registry:
            raise ValueError(f"a primitive named {name!r} exists already")
        registry[name] = self

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> Any:
        return registry.__getitem__, (self.name,)

    def rule(self, name: str, platform: str = "") -> Function:
        """The rule of that name; NotImplementedError with the reason where there is none."""
        found = self.lower_on.get(platform) or self.lower if name == "lower" else getattr(self, name)
        if callable(found):
            return found
        raise NotImplementedError(
            MISSING_RULE_MESSAGE.format(name=self.name, rule=name, reason=found or "none was written")
        )


registry: dict[str, Primitive] = {}
