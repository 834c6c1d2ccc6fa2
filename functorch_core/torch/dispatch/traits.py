"""What is known of one op besides what it computes, given where the op is declared.

@torch_op(inplace=True, out=Out("heaviside is not ...", recorded=True), node="NotImplemented")
def heaviside(input: Tensor, values: Tensor, *, out=None): ...
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import get_type_hints

from ..views.memory_order import pointwise

# ---- what is said of `out` -----------------------------------------------------------------------

CANNOT_CAST = "result type {found} can't be cast to the desired output type {wanted}"
EXACT = "Expected out tensor to have dtype {c_found}, but got {c_wanted} instead"
EXPECTED = "Found dtype {wanted} but expected {found}"
SAME_TYPE = "{op}(): self and result must have the same scalar type"
SCALAR_TYPE = "expected scalar type {found} but found {wanted}"
SORTED = (
    "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or "
    "Long(int64) depending on whether out_int32 flag is True, but we got output tensor's dtype "
    "{wanted} and out_int32 flag is {int32}"
)


def castable(op: str, what: str = "result") -> str:
    """The message of most of linear algebra."""
    return f"{op}: Expected {what} to be safely castable from {{found}} dtype, but got {what} with dtype {{wanted}}"


@dataclass(frozen=True)
class Out:
    """What `out=` may be: by default, of a dtype of no lower category than the result's.

    The messages know {found} and {wanted}, the dtypes of the result and of `out` ({c_found} and
    {c_wanted} as C++ calls them), {op} and {int32}.
    """

    dtype: str | tuple | None = None  # said if the dtype is another than the result's (of each of several results)
    lower: str | None = None  # said if its category is lower
    of_number: str | None = None  # said for `dtype` of a result without dimensions
    error: type = RuntimeError
    also: frozenset = frozenset()  # dtypes that are taken all the same
    kernel: tuple = ()  # the name of the kernel that computes in the dtype of `out`, and the dtypes it has
    decides: frozenset = frozenset()  # the dtypes of `out` that are those of the reduction if it has no dtype=
    single: bool = False  # PyTorch looks at it before there is a result
    silent: bool = False  # resized without a warning
    counted: bool = False  # of as many elements as the result keeps its shape, another is resized silently
    overlapping: bool = False  # written to although several of its elements are one place
    idempotent: bool = False  # so is an operand in place
    # Writes in place to some elements of what overlaps itself, too: f(places, *args) gives from the numbers of all
    # elements' places those that are written to, and what to.
    places: Callable | None = None
    recorded: bool = False  # gets the history of the result; others refuse operands that require grad
    apart: bool = False  # must share no memory with operands; where it may be written in place, but the first
    # In place, where that is not all: f(*args) gives the operands it must share no memory with, and those that may be
    # all of it; the others are numbers, which are read before.
    beside: Callable | None = None
    whole: bool | None = None  # may be an operand, but no part of one; None: for elementwise ops


outs: dict[str, Out] = {}  # by the names that `write_out` is given


def takes_out(name: str, out: Out) -> Callable:
    """Declare what `out` a function takes that is no op."""
    outs[name] = out
    return lambda fun: fun


def one_way(*_: object) -> None:
    """Of a function that goes the same way at all sizes."""


# ---- all of it -----------------------------------------------------------------------------------


PRECISIONS = {None, "low", "full", "widest", "banned"}
KNOWN = {
    "saves": {"all", "operands", "result", "nothing"},
    "number": {"wrapped", "shown", "taken"},
    "devices": {"scalars", "same", "any", "moved"},
}


@dataclass(frozen=True)
class Traits:
    """What a declaration says of an op."""

    out: Out = Out()
    # What autocast computes it in: "low" precision, "full" (float32), the "widest" among its operands; or by the
    # kind of device, {"cuda": "full"}. "banned" is an error.
    autocast: str | dict | None = None
    # The order in memory of a result, a rule of views/memory_order.py; None: contiguous.
    layout: Callable | None = pointwise
    # PyTorch's node, where its name does not follow from the op's; see tape/node_names.py.
    node: str | Callable | None = None
    # way(*arguments): which way its function goes, where that depends on sizes: what it does at some of them is taken
    # for what it does at others of the same way (transforms/sizes.py).
    way: Callable = one_way
    absent_edges: bool = False  # its node has edges for a weight and a bias that are not given
    # What PyTorch makes of a number in the place of a tensor: a tensor ("wrapped"), one for which the node has an
    # edge, to nothing ("shown"), or nothing ("taken").
    number: str = "wrapped"
    saves_number: bool = False  # its node does, too: a second backward pass is an error
    # What its node saves where that is less than what the gradient is computed from here, which may be written to then:
    # "operands" alone, the "result" alone, or "nothing" of either.
    saves: str = "all"
    commutative: bool = False  # f(x, y) = f(y, x): 2 + x is told to overriding classes as x + 2
    # What operands may be on another device than the first: "scalars", nothing ("same"), "any" if that is on the meta
    # device (indices, above all), anything ("moved": the result is where one of them is).
    devices: str = "scalars"
    in_place: str | None = None  # what PyTorch's dispatcher calls its in-place form, if not by its name
    # The error, as (class, message), of a function that would look at the elements of a tensor on the meta device; by
    # default that it has no kernel.
    without_data: tuple | None = None
    former: tuple = ()  # orders of arguments that were once, as "input alpha other"; see dispatch.former
    # What its operator gives of a tensor and a NumPy array, x == array; None: what NumPy makes of it.
    with_array: Callable | None = None
    sparse: bool = False  # a factory of nothing or zeros, which may be of layout sparse_coo

    def __post_init__(self):
        for field in fields(self):
            if not isinstance(getattr(self, field.name), TYPES[field.name]):
                raise TypeError(f"{field.name}= must be {TYPES[field.name]}, not {getattr(self, field.name)!r}")
        for name, known in KNOWN.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{name}= must be of {known}, not {getattr(self, name)!r}")
        said = self.autocast if isinstance(self.autocast, dict) else {"cpu": self.autocast}
        if not (said.keys() <= {"cpu", "cuda"} and set(said.values()) <= PRECISIONS):
            raise ValueError(f"autocast= must be of {PRECISIONS}, for cpu or cuda, not {self.autocast!r}")

    def precision(self, kind: str) -> str | None:
        """What autocast computes the op in on a kind of device; others are as CUDA's."""
        said = self.autocast
        return said.get("cpu" if kind == "cpu" else "cuda") if isinstance(said, dict) else said


TYPES = get_type_hints(Traits)
