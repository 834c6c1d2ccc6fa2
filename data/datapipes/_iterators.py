"""Of an iterable pipe one iterator is valid: a new one ends those before it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable

from ...annotations import lenient_signature

THROWN_BY = "thrown by __iter__ of"
CONSTRAINT = "single iterator per IterDataPipe constraint"
FEEDBACK = f"\nThis is the {CONSTRAINT}."
INVALID = (
    "This iterator has been invalidated because another iterator has been created from the "
    "same IterDataPipe: {pipe}\nThis may be caused by multiple references to the same "
    "IterDataPipe. We recommend using `.fork()` if that is necessary." + FEEDBACK
)
INVALID_CHILD = (
    "This iterator has been invalidated, because a new iterator has been created from "
    "one of the ChildDataPipes of {pipe}." + FEEDBACK
)


def described(pipe) -> str:
    """The pipe as a call: its class and the arguments it keeps."""
    names = sorted(set(lenient_signature(type(pipe)).parameters) & pipe.__dict__.keys())
    values = [getattr(pipe, name) for name in names]
    given = ", ".join(
        f"{name}={value.__name__ if inspect.isfunction(value) else repr(value)}" for name, value in zip(names, values)
    )
    return f"{type(pipe).__name__}({given})"


def counted(function: Callable) -> Callable:
    """A class's __iter__ whose iterators number the samples and end when another one begins."""
    if not inspect.isgeneratorfunction(function):
        return functools.wraps(function)(lambda pipe: _Iterator(function(pipe), pipe))

    @functools.wraps(function)
    def iterate(pipe):
        number = pipe._begin_iterator()
        forwarded = pipe._take_forwarded()
        if forwarded is not None:
            yield from forwarded
            return
        try:
            for sample in function(pipe):
                pipe._number_of_samples_yielded += 1
                yield sample
                pipe._check_iterator(number)
        except Exception as error:
            _name_pipe(error, pipe)
            raise

    return iterate


class _Iterator:
    """What iter() gives of a pipe whose __iter__ is no generator function."""

    def __init__(self, iterator, pipe):
        self.pipe, self.number = pipe, pipe._begin_iterator()
        forwarded = pipe._take_forwarded()
        self.iterator = iterator if forwarded is None else forwarded.iterator

    def __iter__(self):
        return self

    def __next__(self):
        self.pipe._check_iterator(self.number)
        sample = next(self.iterator)
        self.pipe._number_of_samples_yielded += 1
        return sample

    def __getattr__(self, name: str):
        return getattr(self.iterator, name)


def _name_pipe(error: Exception, pipe):
    """Say in an error where in the pipeline it came from."""
    said = f"\nThis exception is {THROWN_BY} {described(pipe)}"
    message = error.args[0] if error.args else None
    if not isinstance(message, str):
        error.args = (said,)
    elif THROWN_BY not in message and CONSTRAINT not in message:
        error.args = (message + said, *error.args[1:])
