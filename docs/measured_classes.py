"""What is measured for the pages of optimizers and distributions, which have no result: by making and using them.

tests/test_measured.py makes the same of real PyTorch.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from measured import Measured, grouped, outcome, refused, sample, shown

FLOATS = "float16 bfloat16 float32 float64 complex64".split()
WRONG = (-1.0, float("nan"))  # for a number


def is_optimizer(thing, lib) -> bool:
    """Whether it is an optimizer to be made of parameters."""
    return inspect.isclass(thing) and issubclass(thing, lib.optim.Optimizer) and thing is not lib.optim.Optimizer


def is_distribution(thing, lib) -> bool:
    """Whether it is a distribution to be made of its parameters."""
    base = lib.distributions.Distribution
    return inspect.isclass(thing) and issubclass(thing, base) and bool(vars(thing).get("arg_constraints"))


# ---- optimizers --------------------------------------------------------------------------------------


def of_optimizer(cls: type, lib) -> Measured:
    """The state that it keeps for a parameter, by the parameter's dtype and shape, and what it refuses."""
    found = Measured(["the parameter"], ["the parameter"], heads=("dtypes of the state", "shapes of the state"))
    found.dtypes = grouped((name, outcome(lambda n=name: _state(cls, lib, n, (2, 3)), _dtypes)) for name in FLOATS)
    found.shapes = [
        (str(shape), outcome(lambda s=shape: _state(cls, lib, "float32", s), _shapes)) for shape in ((2, 3), (4,), ())
    ]
    found.errors = [*refused("no parameters", lambda: _no_result(cls([]))), *_wrong_numbers(cls, lib)]
    return found


def _state(cls: type, lib, dtype: str, shape: tuple) -> dict:
    """What it keeps for a parameter after a step."""
    parameter = lib.nn.Parameter(lib.ones(shape, dtype=getattr(lib, dtype)))
    optimizer = cls([parameter])
    gradient = lib.ones(shape, dtype=parameter.dtype)

    def closure():
        parameter.grad = gradient.to_sparse() if cls.__name__ == "SparseAdam" else gradient
        return lib.ones(())

    closure()
    optimizer.step(closure)
    return {key: x for key, x in sorted(optimizer.state[parameter].items()) if x is not None}


def _dtypes(state: dict) -> str:
    return _kept(state, lambda x: str(x.dtype).removeprefix("torch."))


def _shapes(state: dict) -> str:
    return _kept(state, lambda x: str(tuple(x.shape)))


def _kept(state: dict, of) -> str:
    """A state as text; numbers and lists by their class."""
    return (
        "; ".join(f"{key} {of(x) if hasattr(x, 'shape') else type(x).__name__}" for key, x in state.items()) or "none"
    )


def _wrong_numbers(cls: type, lib) -> Iterator[tuple[str, str]]:
    weights = [lib.nn.Parameter(lib.ones(2, 3))]
    for name, parameter in inspect.signature(cls).parameters.items():
        if isinstance(parameter.default, (int, float)) and not isinstance(parameter.default, bool):
            wrong = -1 if isinstance(parameter.default, int) else -1.0
        elif isinstance(parameter.default, tuple) and all(isinstance(x, float) for x in parameter.default):
            wrong = (-1.0, *parameter.default[1:])
        else:
            continue
        yield from refused(f"{name}={wrong}", lambda n=name, w=wrong: _no_result(cls(weights, **{n: w})))


def _no_result(made: object) -> list:
    return []


# ---- distributions -----------------------------------------------------------------------------------


def of_distribution(name: str, cls: type, text: str, known: dict, lib) -> Measured | None:
    """Shapes and dtypes of what its example makes, and what its parameters may not be; None without an example."""
    call = sample(name, cls, text, known, of_numbers=True)
    if call is None or call.call is not cls:
        return None
    for parameter in list(call.given):
        if isinstance(call.given[parameter], float):
            call.given[parameter] = lib.tensor(call.given[parameter])
            call.places.append((parameter,))
    operands = [x.detach() for x in call.operands()]
    if isinstance(outcome(lambda: call.again(operands), lambda made: made), str):
        return None
    names = call.names()
    found = Measured(names, names, heads=("dtype of samples", "samples of `(5,)`, `batch_shape` and `event_shape`"))
    if all(x.dtype.is_floating_point for x in operands):
        told = ((dtype, outcome(lambda d=dtype: call.again(_cast(operands, lib, d)), _drawn)) for dtype in FLOATS[:-1])
        found.dtypes = grouped(told)
    batched = [x[None][[0, 0, 0]] for x in operands]
    found.shapes = [(shown(xs), outcome(lambda xs=xs: call.again(xs), _laid_out)) for xs in (operands, batched)]
    found.errors = [row for i in range(len(operands)) for row in _outside(call, operands, i, cls)]
    return found


def _cast(operands: list, lib, dtype: str) -> list:
    return [x.to(getattr(lib, dtype)) for x in operands]


def _drawn(made) -> str:
    return str(made.sample().dtype).removeprefix("torch.")


def _laid_out(made) -> str:
    return f"{tuple(made.sample((5,)).shape)}, {tuple(made.batch_shape)}, {tuple(made.event_shape)}"


def _outside(call, operands: list, i: int, cls: type) -> Iterator[tuple[str, str]]:
    """The errors for an operand of values that a parameter may not have."""
    name = call.names()[i]
    for value in WRONG:
        new = [*operands[:i], operands[i] * 0 + value, *operands[i + 1 :]]
        yield from refused(f"{name} of {value:g}", lambda new=new: _no_result(call.again(new, validate_args=True)))
