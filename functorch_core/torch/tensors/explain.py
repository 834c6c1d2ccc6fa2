"""What an error tells besides PyTorch's text: a note with the call as it was made and the next step.

    RuntimeError: mat1 and mat2 shapes cannot be multiplied (1x3 and 4x2)
    in float32[1,3] @ float32[4,2]
    next: ...

Where an error leaves an op, a module or backward() it passes `explain`, which looks outwards for the
call that the user made: nothing of this costs anything until there is an error.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
import types
from collections.abc import Callable, Iterator

from ...core.explain import (
    OURS,
    SHOWN,
    as_function,
    as_index,
    as_method,
    as_operator,
    is_users,
    shown,
    through_user_code,
)
from .advice import next_step
from .base import Tensor

MISTAKES = (TypeError, ValueError, IndexError, RuntimeError, OverflowError, AssertionError)

OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip
UNARY = {"neg": "-", "invert": "~", "pos": "+"}
BUILTINS = frozenset("bool float int complex len iter abs format index contains reversed".split())


def explain(error: BaseException) -> BaseException:
    """The error, with its note; to be called where it leaves the library.

    It gets one, from the first call that it leaves; none if it came through the user's own code, or
    says that something is missing here. An error found late, in what an earlier call was given,
    names that call itself and gets the next step alone.
    """
    state = error.__dict__
    if "_explained" in state or not isinstance(error, MISTAKES) or through_user_code(error.__traceback__):
        return error
    if isinstance(error, NotImplementedError) and "not implemented for '" not in str(error):
        return error
    try:
        call, example = ("", "") if "__notes__" in state else _call_from(sys._getframe(1))
        advice = next_step(str(error), call) or (example and f"a call that works: {example}")
    except Exception:  # somebody's repr; the error itself is what counts
        return error
    error._explained = True
    if call or advice:
        error.add_note("\n".join([f"in {call}"] * bool(call) + [f"next: {advice}"] * bool(advice)))
    return error


# ---- the call, from the frames -------------------------------------------------------------------


def _call_from(frame: types.FrameType) -> tuple[str, str]:
    """(the call, an example of it): of a module the innermost, else what the user called."""
    call, modules = None, []
    for found in _frames_of_ours(frame):
        if found.f_code is _table().module_call:
            modules.append(found.f_locals["self"])
            if len(modules) == 1:
                call = _module_called(found.f_locals), ""
        elif not modules:
            call = _called(found) or call
    text, example = call or ("", "")
    return text + _place_in(modules), example


def _frames_of_ours(frame: types.FrameType | None) -> Iterator[types.FrameType]:
    """The frames from here to the user's, which is left out as is Python's own library."""
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(OURS):
            yield frame
        elif is_users(file):
            return
        frame = frame.f_back


def _module_called(found: dict) -> str:
    return as_function(shown(found["self"]), found["args"], found["kwargs"])


def _place_in(modules: list) -> str:
    """Where the innermost module is in the outermost."""
    if len(modules) < 2:
        return ""
    name = next((n for n, m in modules[-1].named_modules() if m is modules[0]), "")
    return f", '{name}' of {type(modules[-1]).__name__}" if name else ""


def _called(frame: types.FrameType) -> tuple[str, str] | None:
    """(the call, an example) of a frame of something public; None for any other."""
    table, found, code = _table(), frame.f_locals, frame.f_code
    if code in table.op_calls:
        op = found["self"]
        name = table.functions.get(id(op))
        return name and (as_function(name, found["args"], found["kwargs"]), _example(op))
    key = code, tuple(id(found.get(n)) for n in code.co_freevars)
    if key in table.members:
        function, write = table.members[key]
    elif key in table.plain:
        function, name = table.plain[key]
        write = functools.partial(as_function, name)
    else:
        return None
    return write(*_arguments(function, found)), _example(function)


def _arguments(function: types.FunctionType, found: dict) -> tuple[list, dict]:
    """(args, kwargs) of a call, without those that have their default value."""
    code, args, kwargs = function.__code__, [], {}
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    by_place = names[: code.co_posonlyargcount]
    defaults = dict(zip(names[: code.co_argcount][::-1], (function.__defaults__ or ())[::-1]))
    defaults |= function.__kwdefaults__ or {}
    for name in names:
        if name in defaults and found[name] is defaults[name]:
            continue
        if name in defaults and name not in by_place:
            kwargs[name] = found[name]
        else:
            args.append(found[name])
    n = len(names)
    if code.co_flags & 4:  # *args
        args += found[code.co_varnames[n]]
        n += 1
    return args, kwargs | (found[code.co_varnames[n]] if code.co_flags & 8 else {})


def _example(function) -> str:
    """The first call in the docstring of a function."""
    lines = re.findall(r"^\s*>>> (.*)$", function.__doc__ or "", re.M)
    name = re.compile(rf"\b{re.escape(function.__name__)}\(")
    return next((x for x in lines if name.search(x) and x.count("(") == x.count(")")), "")


# ---- what is public ------------------------------------------------------------------------------


class Table:
    """Public names by the code that runs under them. Made at the first error."""

    def __init__(self, torch):
        ops, module = sys.modules[f"{torch.__name__}.dispatch.op"], torch.nn.Module
        SHOWN[module] = lambda m: f"{type(m).__name__}({m.extra_repr()})"
        self.module_call = module._call_impl.__code__
        self.op_calls = {ops.TorchOp.__call__.__code__, ops.Composite.__call__.__code__}
        self.functions: dict[int, str] = {}  # id of an op -> its name
        self.plain: dict[tuple, tuple] = {}  # code, cells -> function, its name
        spaces = {"torch": torch, "F": torch.nn.functional, "torch.autograd": torch.autograd}
        spaces |= {f"torch.{n}": getattr(torch, n) for n in ("linalg", "fft", "special", "func")}
        for space, module in spaces.items():
            for name, thing in vars(module).items():
                if not name.startswith("_"):
                    self.functions.setdefault(id(thing), f"{space}.{name}")
                    if isinstance(thing, types.FunctionType):
                        self.plain.setdefault(_key(thing), (thing, f"{space}.{name}"))
        self.members: dict[tuple, tuple] = {}  # code, cells -> function, how it is written
        for name, thing in vars(Tensor).items():
            if isinstance(thing, types.FunctionType):
                # While something overrides, members ask it first; the same ones without asking are found as well.
                for function in {thing, inspect.unwrap(thing)}:
                    self.members.setdefault(_key(function), (function, _writer(name)))
            elif isinstance(thing, property):
                self._add_property(name, thing)

    def _add_property(self, name: str, found: property):
        ways = (
            (found.fget, lambda a, _: f"{shown(a[0])}.{name}"),
            (found.fset, lambda a, _: f"{shown(a[0])}.{name} = {shown(a[1])}"),
        )
        for function, write in ways:
            if isinstance(function, types.FunctionType):
                self.members.setdefault(_key(function), (function, write))


@functools.cache
def _table() -> Table:
    return Table(sys.modules[__name__.rpartition(".tensors.")[0]])


def _key(function: types.FunctionType) -> tuple:
    """What a frame shows of the function that it runs: closures of one text differ by their cells."""
    return function.__code__, tuple(id(_content(c)) for c in function.__closure__ or ())


def _content(cell):
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return None


def _writer(name: str) -> Callable[[list, dict], str]:
    """How a call of a tensor's method is written: x.sum(1), x + y, y + x for __radd__, x[i]."""
    short = name[2:-2] if name.startswith("__") else ""
    if short in BUILTINS:
        return functools.partial(as_function, "x.__index__" if short == "index" else short)
    if short in UNARY:
        return functools.partial(as_operator, UNARY[short])
    if short in OPERATORS:
        return functools.partial(as_operator, OPERATORS[short])
    if short[:1] in ("r", "i") and short[1:] in OPERATORS:
        symbol = OPERATORS[short[1:]]
        if short[0] == "r":
            return lambda args, _: as_operator(symbol, args[::-1], {})
        return functools.partial(as_operator, f"{symbol}=")
    if short == "getitem":
        return lambda args, _: as_index(*args)
    if short == "setitem":
        return lambda args, _: f"{as_index(*args[:2])} = {shown(args[2])}"
    return functools.partial(as_method, name)


def _shown(tensor: Tensor) -> str:
    place = "" if tensor.is_cpu else f" on {tensor.device}"
    return f"{tensor._aval}{place}"


SHOWN[Tensor] = _shown
