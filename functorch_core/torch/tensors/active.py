"""What is switched on, in one place: most programs use none of it, and pay one test for each.

Hot paths read these fields instead of asking the rooms that fill them, which lie higher. They hold
for all threads; what is on in one of them is that room's to know.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

MEANINGS = ("intercepts", "autocast", "levels", "births", "meets_meta")
OF_PLACES = ("intercepts", "levels", "births")  # that change x[i] and x[i] = y of tensors with data, too
CARES = ("marks_inference", "watches", "loses_views")


class Active:
    """Each field is None, 0 or False until what it stands for is used."""

    __slots__ = (
        "overrides",
        "intercepts",
        "autocast",
        "levels",
        "births",
        "marks_inference",
        "watches",
        "loses_views",
        "careful",
        "meets_meta",
        "rewrites",
        "distributed",
        "lay_out",
        "like_parameter",
        "functional",
        "observer",
        "vmap",
        "plain",
        "places_plain",
        "marks_uninitialized",
    )
    plain: bool  # whether nothing is on that changes what a call means: a hot path asks this alone
    places_plain: bool  # whether nothing is on that changes what x[i] and x[i] = y mean of tensors with data
    careful: bool  # whether nodes are to be looked at when they are made, for what the CARES stand for

    def __setattr__(self, name: str, value):
        object.__setattr__(self, name, value)
        if name in MEANINGS:
            object.__setattr__(self, "plain", not any(map(self.__getattribute__, MEANINGS)))
            object.__setattr__(self, "places_plain", not any(map(self.__getattribute__, OF_PLACES)))
        if name in CARES:
            object.__setattr__(self, "careful", any(map(self.__getattribute__, CARES)))

    def __init__(self):
        for field in MEANINGS + CARES:
            object.__setattr__(self, field, None)
        # dispatch/overrides.py, while a class, mode or proxy with __torch_function__ exists: ops ask
        # `overrides.applies(op, args, kwargs)` and then return `overrides.handle(...)`.
        self.overrides = None
        # the same, while calls may be taken over of which no argument overrides: a mode is on, or calls are observed.
        self.intercepts = False
        # dispatch/autocast.py, while autocast is on in some thread: `autocast.cast(op, bound)`.
        self.autocast = None
        # levels/levels.py, in transforms of torch.func and while their tensors live: the room `levels`, to which
        # operands with a level are given.
        self.levels = None
        # levels/levels.py, while transforms that differentiate compute: the mark of new tensors, which
        # is the depth of the innermost; else 0.
        self.births = 0
        # tape/modes.py, from the first inference mode on: results ask whether they are of one.
        self.marks_inference = False
        # tape/modes.py, from the first anomaly mode or saved-tensor hook on: nodes ask whether there is one in their
        # thread (0.03 us).
        self.watches = False
        # views/cells.py, from the first view on whose history is lost: nodes ask whether they are of one.
        self.loses_views = False
        # tape/meta.py, while there are tensors on the meta device: views and writes ask for those.
        self.meets_meta = False
        # whether tensors are there whose writes are to be changed: those of the meta device, and distributed ones
        self.rewrites = False
        # compat/distributed/tensor, from the first tensor over a mesh on: what knows of these
        self.distributed = None
        # views/memory_order.py, always: gives a result the strides that follow from its operands'.
        self.lay_out = None
        # views/memory_order.py, always: lets a fresh gradient lie in memory as its leaf does.
        self.like_parameter = None
        # nn/functional.py, always: itself, for what calls the functions that it has at the time, which may be others.
        self.functional = None
        # compat/autograd/collecting.py, while a profile is taken: `observer.call(op, args, kwargs)`, `.node(...)`,
        # `.range(name)` are told what is called.
        self.observer = None
        # levels/vmap.py, always: the vmap of a batched backward pass, where None passes.
        self.vmap = None
        # compat/settings.py, while deterministic algorithms are on: empty tensors hold NaN, or the largest integer.
        self.marks_uninitialized = False


active = Active()
# By the names of ops what they declare (dispatch/traits.py), which is filled as they are declared.
declared: dict[str, Any] = {}


def overridable(function: Callable) -> Callable:
    """Let a function that is no op ask whether somebody overrides it.

    Where nobody does, it costs 0.05 us a call; where there are classes that do, but no argument is of one, 0.1.
    Therefore what asks has the function's own parameters: to pass on *args and **kwargs would cost 0.3 us, a tenth of
    F.softmax.
    """
    parameters = [*inspect.signature(function).parameters.values()]
    n = sum(q.default is q.empty and q.kind is not q.KEYWORD_ONLY for q in parameters)

    def ask(*given):
        args, optional = given[:n], zip(parameters[n:], given[n:])
        kwargs = {q.name: x for q, x in optional if x is not q.default}
        overrides = active.overrides
        if overrides is not None and overrides.applies(asking, args, kwargs):
            return overrides.handle(asking, args, kwargs)
        return function(*args, **kwargs)

    asking = functools.wraps(function)(_asking_first(*_parameter_lists(parameters))(function, active, ask, SIMPLE))
    defaults = [q for q in parameters if q.default is not q.empty]
    asking.__defaults__ = tuple([q.default for q in defaults if q.kind is not q.KEYWORD_ONLY])
    asking.__kwdefaults__ = {q.name: q.default for q in defaults if q.kind is q.KEYWORD_ONLY}
    return asking


def _parameter_lists(parameters) -> tuple[str, str, str]:
    """Parameters as text: as they are declared, passed to a function, and passed in their order."""
    names = [q.name for q in parameters]
    first = next((i for i, q in enumerate(parameters) if q.kind is q.KEYWORD_ONLY), len(names))
    star = ["*"] if first < len(names) else []
    passed = [*names[:first], *[f"{name}={name}" for name in names[first:]]]
    return ", ".join([*names[:first], *star, *names[first:]]), ", ".join(passed), ", ".join(names)


# Classes of arguments that override nothing; a Tensor's and a Parameter's are among them (dispatch/paths.py).
SIMPLE: set[type] = {int, float, bool, str, type(None)}


@functools.cache
def _asking_first(declared: str, passed: str, in_order: str) -> Callable:
    """A maker of functions of these parameters that ask before they call another of the same."""
    simple = " and ".join([f"{name}.__class__ in SIMPLE" for name in in_order.split(", ") if name])
    nobody = f"active.overrides is None or not active.intercepts and {simple or True}"
    text = f"lambda {declared}: function({passed}) if {nobody} else ask({in_order})"
    # Under this file's name, by which errors tell the library's frames from the user's.
    return eval(compile(f"lambda function, active, ask, SIMPLE: {text}", __file__, "eval"))
