"""__torch_dispatch__: what modes and wrapper subclasses are given, compared with PyTorch's in the same process."""

import importlib
from pathlib import Path

import numpy as np
import pytest
import torch as real

from functorch_core import torch

from .agree import agree

PROGRAMS = (Path(__file__).parent / "dispatch_programs.txt").read_text().splitlines()


def mode_of(face):
    """The class TorchDispatchMode of one of the two."""
    return importlib.import_module(f"{face.__name__}.utils._python_dispatch").TorchDispatchMode


class Logs:
    """What is dispatched to tensors of one class, as text: tensors are numbered as they are met."""

    def __init__(self, face):
        self.face, self.lines, self.numbers, self.alive = face, [], {}, []
        self.kind = self.subclass(face, self)

    def shown(self, x) -> str:
        """An argument or a result."""
        if isinstance(x, self.face.Tensor):
            self.alive.append(x)
            number = self.numbers.setdefault(id(x), len(self.numbers)) if type(x) is self.kind else None
            return f"T{list(x.shape)}" if number is None else f"${number}"
        if isinstance(x, (list, tuple)):
            return f"[{', '.join(map(self.shown, x))}]"
        return repr(x)

    @staticmethod
    def subclass(face, logs):
        """A wrapper subclass that tells `logs` of each call."""

        class Logging(face.Tensor):
            @staticmethod
            def __new__(cls, elem, requires_grad=False):
                made = face.Tensor._make_wrapper_subclass(
                    cls, elem.shape, strides=elem.stride(), dtype=elem.dtype, requires_grad=requires_grad
                )
                made.elem = elem
                return made

            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                tree_map = face.utils._pytree.tree_map
                kwargs = kwargs or {}
                inner_args, inner = tree_map(lambda t: t.elem if isinstance(t, cls) else t, (args, kwargs))
                made = tree_map(lambda t: cls(t) if isinstance(t, face.Tensor) else t, func(*inner_args, **inner))
                given = [logs.shown(x) for x in args] + [f"{k}={logs.shown(x)}" for k, x in kwargs.items()]
                logs.lines.append(
                    f"{logs.shown(made)} = {func}({', '.join(given)})".replace("device(type='cpu')", "cpu")
                )
                return made

        return Logging


def run(face, text: str, shapes: list):
    """(the log, the result and the gradients) of an expression of x, y and z."""
    logs, rng = Logs(face), np.random.default_rng(0)
    xs = [logs.kind(face.tensor(rng.uniform(0.3, 1.5, s).astype("float32")), requires_grad=True) for s in shapes]
    for x in xs:
        logs.shown(x)
    out = eval(text, {"torch": face, "F": face.nn.functional, **dict(zip("xyz", xs))})
    found = [out]
    if getattr(out, "requires_grad", False):
        cotangent = logs.kind(face.ones(tuple(out.shape)))
        logs.shown(cotangent)
        found += face.autograd.grad(out, xs, cotangent, allow_unused=True)
        logs.lines.append(", ".join(["None" if g is None else logs.shown(g) for g in found[1:]]))
    return logs.lines, [x.elem.detach().numpy() if isinstance(x, face.Tensor) else x for x in found]


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_log_of_a_program_is_pytorchs(program):
    """Programs with ~ in front have another log, but the same values."""
    text, _, sizes = program.rpartition("|")
    shapes = [tuple(map(int, s.split(","))) for s in sizes.split(";")]
    wanted, found = run(real, text.strip(" ~"), shapes), run(torch, text.strip(" ~"), shapes)
    if not text.startswith("~"):
        assert found[0] == wanted[0]
    for x, y in zip(found[1], wanted[1], strict=True):
        if y is None or x is None:
            assert x is y
        else:
            np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)


# ---- modes ---------------------------------------------------------------------------------------


def log_mode(face, names: list, mark=""):
    """A mode that appends the names of operators."""

    class Log(mode_of(face)):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            names.append(f"{mark}{func}")
            return func(*args, **(kwargs or {}))

    return Log()


def in_modes(face, body):
    """(the names, what the body gives) inside of two modes."""
    names: list = []
    with log_mode(face, names, "a:"), log_mode(face, names, "b:"):
        made = body(face)
    return names, made


def forward(t):
    """Arithmetic, factories, views and writes."""
    x = t.arange(6.0).reshape(2, 3)
    y = t.ones(3)
    y[0] = 5
    y.add_(1)
    return (x * y + t.full((2, 1), 3.0)).sum(1).tolist(), t.eye(2).t().tolist(), t.add(x, x, out=t.empty(2, 3)).tolist()


def backward(t):
    """A gradient through a product."""
    w = t.ones(2, 3, requires_grad=True)
    (t.arange(6.0).view(2, 3) * w).relu().sum().backward()
    return w.grad.tolist()


def layers(t):
    """A linear layer and an activation, of which the gradients by the operand are asked for."""
    x, w = t.ones(2, 3, requires_grad=True), t.full((4, 3), 0.5)
    y = t.nn.functional.gelu(t.nn.functional.linear(x, w))
    return [round(v, 4) for v in t.autograd.grad(y.sum(), x)[0].flatten().tolist()]


@pytest.mark.parametrize("body", [forward, backward, layers])
def test_nested_modes(body):
    assert in_modes(torch, body) == in_modes(real, body)


def test_a_mode_may_answer_otherwise():
    def doubled(face):
        class Doubling(mode_of(face)):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                made = func(*args, **(kwargs or {}))
                return made * 2 if func is face.ops.aten.add.Tensor else made

        x = face.ones(2, requires_grad=True)
        with Doubling():
            y = x + 1
        return y.tolist(), y.requires_grad, face.autograd.grad(y.sum(), x)[0].tolist()

    assert doubled(torch) == doubled(real)


def test_an_operator_and_its_schema():
    for text in ("add.Tensor", "sum.dim_IntList", "relu.default", "add_.Scalar", "native_layer_norm.default"):
        packet, _, overload = text.partition(".")
        wanted, found = [getattr(getattr(face.ops.aten, packet), overload) for face in (real, torch)]
        assert str(found) == str(wanted) and found.name() == wanted.name()
        assert str(found._schema) == str(wanted._schema)
        assert [a.name for a in found._schema.arguments] == [a.name for a in wanted._schema.arguments]


def test_what_is_not_known_is_refused_by_name():
    logs = Logs(torch)
    x = logs.kind(torch.ones(2, 4, 3), requires_grad=True)
    with pytest.raises(NotImplementedError, match="einsum"):
        torch.einsum("abc->a", x)
    with pytest.raises(NotImplementedError, match="prod"):
        x.prod().backward(logs.kind(torch.ones(())))
    with pytest.raises(NotImplementedError, match="view"):
        torch.vstack([logs.kind(torch.ones(2))])


def test_results_are_as_before_when_no_mode_is_on():
    names: list = []
    with log_mode(torch, names):
        torch.ones(2).add(1)
    n = len(names)
    assert (torch.ones(2) + 1).tolist() == [2.0, 2.0] and len(names) == n


def test_a_class_without_dispatch():
    kind = type("Plain", (torch.Tensor,), {"__torch_dispatch__": torch._C._disabled_torch_dispatch_impl})
    assert type(torch.ones(2).as_subclass(kind) + 1) is kind
    with pytest.raises(RuntimeError, match="__torch_dispatch__"):
        torch.Tensor._make_wrapper_subclass(kind, (2,))


def test_make_subclass_and_as_subclass():
    def program(torch):
        kind = type("Kind", (torch.Tensor,), {})
        x, plain = torch.ones(2, requires_grad=True), torch.ones(2)
        made, wanting = torch.Tensor._make_subclass(kind, x), torch.Tensor._make_subclass(kind, x, True)
        seen = x.as_subclass(kind)
        (seen * 3).sum().backward()
        torch.Tensor._make_subclass(kind, plain).add_(1)
        plain.as_subclass(kind).add_(1)
        kinds = [type(y).__name__ for y in (made, made + 1, made[0], made.detach(), seen)]
        flags = [made.requires_grad, wanting.requires_grad, wanting.is_leaf, seen.requires_grad, seen.is_leaf]
        return kinds, flags, x.grad, plain

    agree(program)
    agree(lambda torch: torch.ones(2).as_subclass(int), messages=True)


def test_factories_say_where_and_how():
    calls = """t.ones(3)\nt.zeros(2, dtype=t.int8)\nt.full((2,), 3, device="cpu")\nt.empty(2, device="meta")\nt.rand(2)
        t.randint(1, 3, (2,))\nt.arange(1, 5, 2.0)\nt.eye(3, 2)\nt.ones_like(x)\nt.full_like(x, 2)\nx.new_zeros(2)
        x.new_full((2,), 3)\nt.tril_indices(2, 2)\nt.normal(0.0, 1.0, (2,))\nt.ones(2, requires_grad=True)"""

    def logged(t):
        found = []

        class Log(mode_of(t)):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                found.append(f"{func} {[str(a) for a in args]} {kwargs}")
                return func(*args, **(kwargs or {}))

        x = t.zeros(2, 3)
        with Log():
            for call in calls.splitlines():
                eval(call.strip(), {"t": t, "x": x})
        return found

    assert logged(torch) == logged(real)


def test_what_is_not_known_in_parts_is_said():
    """A function whose operators are not known raises, and calls itself no further."""

    class Mode(mode_of(torch)):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with Mode(), pytest.raises(NotImplementedError, match="quantile below __torch_dispatch__"):
        torch.quantile(torch.ones(3), 0.5)
