"""Who still holds a value is told by counts of references, which Python counts otherwise in each version.

From 3.14 on an argument may be borrowed of the caller's variable, and is not counted. A count that is too low here is a
value that is written over though somebody has it.
"""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from functorch_core import engine, torch
from functorch_core.engine.programs import dead_inputs

EXPECTED = np.arange(90_000, dtype=np.float32).reshape(300, 300)  # large enough to be written over


def make():
    x = (torch.arange(90_000.0) + 0.0).reshape(300, 300)
    x[0, 0].item()  # computed: an input of what follows
    return x


def computed(x):
    y = x * 2
    y = torch.relu(y + 1)
    return y.numpy()


def passed_on(x):
    return computed(x)


def by_variable():
    x = make()
    return passed_on(x), x


def by_an_assignment_in_the_call():
    return passed_on(x := make()), x


def by_list():
    kept = [make()]
    return passed_on(kept[0]), kept.pop()


def by_arguments():
    kept = (make(),)
    return passed_on(*kept), kept[0]


def by_closure():
    x = make()

    def function():
        return passed_on(x)

    return function(), function.__closure__[0].cell_contents


def by_default():
    def function(x=make()):  # noqa: B008
        return passed_on(x)

    return function(), function.__defaults__[0]


def by_generator():
    def generator(x):
        yield passed_on(x)
        yield x

    return tuple(generator(make()))


def by_error():
    try:
        raise ValueError(make())
    except ValueError as error:
        return passed_on(error.args[0]), error.args[0]


def by_detached():
    x = make()
    detached = x.detach()
    return passed_on(x), detached


def by_array():
    x = make()
    array = x.numpy()
    return passed_on(x), torch.from_numpy(array)


HOLDING = [by_variable, by_an_assignment_in_the_call, by_list, by_arguments, by_closure, by_default, by_generator]
HOLDING += [by_error, by_detached, by_array]


@pytest.mark.parametrize("tier", ["reference", "per-op", "fused", "auto"])
@pytest.mark.parametrize("holding", HOLDING)
def test_what_is_held_keeps_its_numbers(holding, tier):
    with contextlib.nullcontext() if tier == "auto" else engine.forced_tier(tier):
        for _ in range(4):  # compiled meanwhile
            found, held = holding()
            np.testing.assert_array_equal(found, 2 * EXPECTED + 1)
            np.testing.assert_array_equal(held.numpy(), EXPECTED)


def test_what_nobody_holds_is_given_up():
    x = make()
    y = x + 1
    recording = y._value.recording

    def asked(x):
        return dead_inputs(recording)

    assert dead_inputs(recording) == asked(x) == ()
    del x
    assert dead_inputs(recording) == (0,)
    np.testing.assert_array_equal(y.numpy(), EXPECTED + 1)
