"""What XLA's failures become: the operation and the user's line first, XLA's own text after."""

from __future__ import annotations

import itertools
import re
from collections import OrderedDict
from typing import NoReturn


class XLAError(RuntimeError):
    """A failure reported by XLA.

    Fields: `op` and `location` ('file:line', '' where not known) and `details` (XLA's own text).
    """

    def __init__(self, message: str, *, op: str = "", location: str = "", details: str = "") -> None:
        super().__init__(f"{message}\n\nXLA's message:\n{details}" if details else message)
        self.op = op
        self.location = location
        self.details = details


class CompileError(XLAError):
    """A module that MLIR does not accept or XLA cannot compile."""


class ExecutionError(XLAError):
    """A program that failed while it ran, or that was called with the wrong buffers."""


class OutOfHostMemory(ExecutionError, MemoryError):
    """The CPU has not enough memory."""


class OutOfMemoryError(ExecutionError, MemoryError):
    """A GPU has not enough memory: torch.OutOfMemoryError.

    >>> from functorch_core import torch
    >>> issubclass(torch.OutOfMemoryError, RuntimeError)
    True
    """


class CudaUnavailable(RuntimeError):
    """There is no CUDA device here, or the packages that reach it are missing; says which."""


# ---- compile errors ------------------------------------------------------------------------------

# XLA writes `user.py:12:3: error: text`, the bindings `error: "name"("user.py":12:3): text`.
_ERROR_LINES = (
    re.compile(r"^(?:[A-Z_]+: )?(?P<place>\S.*?): error: (?P<text>.*)$", re.M),
    re.compile(r"^\s*error: (?P<place>.*?:\d+:\d+\)*): (?P<text>.*)$", re.M),
    re.compile(r"^\s*error: (?P<place>)(?:unknown: )?(?P<text>.*)$", re.M),
)
_POSITION = re.compile(r'"?(?P<file>[^"\s()]+?)"?:(?P<line>\d+)(?::\d+)?')
_OP_NAME = re.compile(r"\b(?:stablehlo|chlo|func|sdy|mhlo)\.(?!func\b)[a-z_0-9]+")
_UNKNOWN_TARGET = re.compile(r"registered for (\w+) on a platform")
_STATUS = re.compile(r"^[A-Z_]+: (?:error: )?")
# The advice StableHLO's parser adds to every error misleads: the versions are one and the same.
_NOISE = re.compile(r"<unknown>:0: error: Failed to parse using StableHLO.*\n?")


def compile_error(error: Exception, text: str, name: str = "") -> CompileError:
    """The CompileError for what jaxlib raised on a module's text."""
    details = _NOISE.sub("", str(error)).strip()
    place, message = _first_error(details)
    op, location = _locate(place, message, text)
    where = " ".join(part for part in (op, location and f"at {location}") if part)
    program = f"program {name!r}" if name else "a program"
    prefix = f"cannot compile {program}" + (f": {where}" if where else "")
    return CompileError(f"{prefix}: {message}", op=op, location=location, details=details)


def _first_error(details: str) -> tuple[str, str]:
    """(place, message) of the first error in XLA's or MLIR's text."""
    for pattern in _ERROR_LINES:
        found = pattern.search(details)
        if found:
            return found["place"], found["text"]
    first = details.splitlines()[0] if details else "no message"
    return "", _STATUS.sub("", first)


def _locate(place: str, message: str, text: str) -> tuple[str, str]:
    """(op, 'file:line') of an error, from its place, its message and the module's locations."""
    position = _POSITION.search(place)
    named = _OP_NAME.search(message)
    op = named[0] if named else ""
    if position is None:
        target = _UNKNOWN_TARGET.search(message)
        return _locate_call(target[1], text) if target else (op, "")
    if position["file"] not in ("-", "<unknown>"):
        location = f"{position['file']}:{position['line']}"
        return op or _op_at(location, text), location
    # A position in the module's text, not in a file of the user's.
    line = _line_of(text, int(position["line"]))
    in_line = _OP_NAME.search(line)
    return op or (in_line[0] if in_line else ""), _user_location(line, _aliases(text))


def _locate_call(target: str, text: str) -> tuple[str, str]:
    """(op, 'file:line') of the first custom call to a target."""
    lines = (line for line in text.splitlines() if f"custom_call @{target}(" in line)
    return f"stablehlo.custom_call @{target}", _user_location(next(lines, ""), _aliases(text))


def _line_of(text: str, number: int) -> str:
    lines = text.splitlines()
    return lines[number - 1] if 0 < number <= len(lines) else ""


_ALIAS_LINE = re.compile(r"^(#loc\d*) = loc\((.*)\)$", re.M)
_ALIAS_USE = re.compile(r"#loc\d*\b")
_FILE_LINE = re.compile(r'"([^"]+)":(\d+)')
_LOCATION_OF_LINE = re.compile(r"loc\((.*)\)")


def _aliases(text: str) -> dict[str, str]:
    return dict(_ALIAS_LINE.findall(text))


def _user_location(line: str, aliases: dict[str, str]) -> str:
    """'file:line' of the location that ends a line of MLIR, aliases followed; '' without one."""
    found = _LOCATION_OF_LINE.search(line)
    location = found[1] if found else ""
    for _ in range(8):  # deeper than locations are nested
        direct = _FILE_LINE.search(location)
        if direct:
            return f"{direct[1]}:{direct[2]}"
        location = _ALIAS_USE.sub(lambda use: aliases.get(use[0], ""), location)
    return ""


def _op_at(location: str, text: str) -> str:
    """The first operation in the module's text whose location is this 'file:line'."""
    aliases = _aliases(text)
    for line in text.splitlines():
        op = _OP_NAME.search(line)
        if op and _user_location(line, aliases) == location:
            return op[0]
    return ""


# ---- exceptions of Python callbacks --------------------------------------------------------------
# XLA turns an exception in a callback into text. The callback leaves the exception here and raises
# a ticket instead; whoever sees the ticket in XLA's text raises the exception itself.

_TICKET = re.compile(r"<functorch callback error (\d+)>")
_MAX_WAITING = 64
_numbers = itertools.count()
_waiting: OrderedDict[int, BaseException] = OrderedDict()


class CallbackTicket(Exception):
    """Stands for an exception that a callback raised."""


def ticket_for(error: BaseException) -> CallbackTicket:
    """Keep a callback's exception and return what to raise into XLA in its place."""
    number = next(_numbers)
    _waiting[number] = error
    while len(_waiting) > _MAX_WAITING:
        _waiting.popitem(last=False)
    return CallbackTicket(f"<functorch callback error {number}>")


def fail(error: RuntimeError, platform: str) -> NoReturn:
    """Raise what a failure of an execution on a platform means: a callback's own exception, or an ExecutionError."""
    text = str(error)
    ticket = _TICKET.search(text)
    original = _waiting.pop(int(ticket[1]), None) if ticket else None
    if original is not None:
        raise original from original.__cause__
    message = _STATUS.sub("", text.splitlines()[0] if text else "no message")
    on_host = _OUT_OF_HOST_MEMORY.search(text) if platform == "cpu" else None
    if on_host is not None:
        raise OutOfHostMemory(OUT_OF_HOST_MEMORY.format(nbytes=on_host[1]), details=text) from None
    if text.startswith("RESOURCE_EXHAUSTED: Out of memory"):
        raise OutOfMemoryError(f"CUDA out of memory: {message}", details=text) from None
    raise ExecutionError(f"the program failed: {message}", details=text) from None


_OUT_OF_HOST_MEMORY = re.compile(r"Out of memory allocating (\d+) bytes")
OUT_OF_HOST_MEMORY = (
    "DefaultCPUAllocator: can't allocate memory: you tried to allocate {nbytes} bytes. "
    "Error code 12 (Cannot allocate memory)"
)
