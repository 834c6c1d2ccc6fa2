"""A call of an op is looked up by the classes of its arguments from the second time on, and gives what PyTorch does."""

import functools
import math
from pathlib import Path

import numpy as np
import pytest
import torch as reference

from functorch_core import torch
from functorch_core.torch.dispatch import paths

NAMED = (Path(__file__).parent / "named_calls.txt").read_text().splitlines()

TIMES = 3
CALLS = {
    "dimension": lambda lib, x: lib.softmax(x, -1),
    "named": lambda lib, x: x.sum(dim=1, keepdim=True),
    "one and true": lambda lib, x: (x.sum(1, True), x.sum(1, False), x.sum(0, True)),
    "sizes": lambda lib, x: x.sum((0, 1)),
    "several": lambda lib, x: lib.cat([x, x.T], 0),
    "several of several kinds": lambda lib, x: (lib.stack((x, x)), lib.stack([x, x, x], dim=-1)),
    "two results": lambda lib, x: (*x.max(1), *lib.topk(x, 2)),
    "number": lambda lib, x: (x.clamp(0, 2.5), x.clamp(-0.0, 3), x.add(2), x.add(2.0), x.add(-0.0), x.add(7, alpha=3)),
    "zeros": lambda lib, x: (
        *[x.masked_fill(x > 1, z).detach().reciprocal() for z in (0.0, -0.0, 0, -1e9)],
        *[lib.where(x > 1, z, x).detach().reciprocal() for z in (0.0, -0.0, 2.5, 0)],
        x.masked_fill(x > 1, 0.0),
        *[x.clamp(a, b) for a in (0.0, -0.0, -0.25) for b in (0.0, 1.0, 0.75)],
    ),
    "where": lambda lib, x: (lib.where(x > 1, x, -x), lib.where(x > 1, x.detach(), x), lib.where(x > 1, x[0], x)),
    "negative and transposed": lambda lib, x: (-x, -x.T, x.T.T, x[1].clone().neg()),
    "conversions": lambda lib, x: (
        *(x.to("cpu"), x.to(lib.float32), x.to(lib.device("cpu")), x.float(), x.long(), x.t().contiguous()),
        *(x.clone(), x.t().clone(), x[1:].clone(), x.contiguous(), x.to(lib.float64), x.double(), x.T),
    ),
    "conversions of parts": lambda lib, x: (
        *(x[:, :1].double(), x.T.long(), x[1:].to(lib.float64), x.unsqueeze(1).half(), x[:, None].to(lib.int32)),
        *(x.to(lib.complex64).to(lib.complex128).real, x.expand(2, 3, 3).double(), x.bool().float()),
    ),
    "in place": lambda lib, x: (
        *(x.detach().clone().zero_(), x.detach().long().zero_(), x.clone().zero_(), x.detach().T.clone().zero_()),
        *(x.detach().clone()[1].zero_(), x.detach().clone().add_(x.detach()), x.detach().clone().clamp_(0, 1)),
        *(x.detach().clone().neg_(), x.clone().mul_(2.5)),
    ),
    "indices seen before": lambda lib, x: (
        *[x.gather(d, i) for i in indices(lib)[:2] for d in (1, -2, 1)],
        *[x[i] for i in indices(lib) for _ in range(2)],
        *[x.gather(0, indices(lib)[0][:0]), x[indices(lib)[2]]],
    ),
    "kept for the backward pass": lambda lib, x: (
        lib.nn.functional.cross_entropy(x, lib.tensor([0, 2, 1])),
        lib.nn.functional.nll_loss(lib.log_softmax(x, 1), lib.tensor([0, -100, 1]), reduction="none"),
        lib.nn.functional.cross_entropy(x.detach(), x.softmax(1)),
        *(lib.cumprod(x, 0), x.std(1), lib.nn.functional.group_norm(x, 1)),
    ),
    "what is no number": lambda lib, x: x.masked_fill(x > 1, math.nan),
    "static float": lambda lib, x: lib.nn.functional.layer_norm(x, (3,), x[0], None, 1e-3),
    "operators": lambda lib, x: (x * 2.5, x * x, x + x.detach(), x.detach() / x, x - 1, x * 7, 3 - x),
    "nothing": lambda lib, x: (lib.nn.functional.linear(x, x), lib.nn.functional.linear(x, x, None)),
    "permuted": lambda lib, x: (x.T @ x, x.T.softmax(0), lib.add(x.T, x)),
    "dtype": lambda lib, x: (x.sum(0, dtype=lib.float64), lib.arange(3).sum(0)),
    "parameter": lambda lib, x: lib.nn.functional.linear(x, lib.nn.Parameter(x.detach())),
    "written in between": lambda lib, x: lib.log_softmax(x.clone().mul_(2)[1:], -1),
    "not differentiable": lambda lib, x: (lib.argmax(x, 1), lib.eq(x, x)),
}


@functools.cache
def indices(lib):
    return [lib.tensor([[0, 2, 1], [1, 1, 0]]), lib.tensor([[0], [2]]), lib.tensor([[2, -3, 0]])]


def told(lib, call, on_tape):
    x = lib.tensor([[1.0, -2, 3], [0.5, 2, -0.0], [1, 1, 5]], requires_grad=on_tape)
    found = []
    for _ in range(TIMES):
        made = call(lib, x)
        for y in made if isinstance(made, tuple) else (made,):
            node = None if y.grad_fn is None else y.grad_fn.name()
            found.append((y.detach().numpy(), str(y.dtype), y.stride(), y.requires_grad, node))
            if y.requires_grad and on_tape:
                (gradient,) = lib.autograd.grad(y.sum(), x, allow_unused=True)
                found.append((gradient.numpy(),))
    return found


@pytest.mark.parametrize("on_tape", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_as_pytorch(name, on_tape):
    for mine, other in zip(told(torch, CALLS[name], on_tape), told(reference, CALLS[name], on_tape), strict=True):
        np.testing.assert_allclose(mine[0], other[0], rtol=2e-5, atol=1e-6)
        assert mine[1:] == other[1:]


SAVING = {
    "operands": lambda x, y: x * y,
    "an operand that is on no tape": lambda x, y: x * y.detach(),
    "the result": lambda x, y: x.exp(),
    "nothing": lambda x, y: x + y,
    "a number": lambda x, y: x * 2.5,
}


@pytest.mark.parametrize("name", SAVING)
def test_what_is_saved_may_not_be_written_to(name):
    def told(lib):
        found = []
        for _ in range(TIMES):
            for written in range(3):
                x, y = (lib.tensor([1.0, 2], requires_grad=True) + 0 for _ in range(2))
                made = SAVING[name](x, y)
                (x, y, made)[written].detach().mul_(2)
                try:
                    made.sum().backward()
                    found.append("fine")
                except RuntimeError as error:
                    found.append(str(error)[:60])
        return found

    assert told(torch) == told(reference)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
def test_a_transform_sees_the_same():
    def f(lib):
        return lambda x: lib.softmax(x, -1).sum(0, keepdim=True) * lib.cat([x, x]).sum()

    found = []
    for lib in (torch, reference):
        x = lib.tensor([[1.0, 2], [3, 5]])
        for _ in range(TIMES):
            found.append([f(lib)(x), lib.func.vmap(f(lib))(x), lib.func.jvp(f(lib), (x,), (x,))[1]])
    for mine, other in zip(found[:TIMES], found[TIMES:], strict=True):
        for a, b in zip(mine, other, strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5)


def test_the_default_dtype_is_that_of_the_call():
    x = torch.arange(4)
    for _ in range(TIMES):
        assert torch.sqrt(x).dtype == torch.softmax(x, 0, dtype=None if x.is_floating_point() else torch.float32).dtype
        assert torch.true_divide(x, x).dtype == torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        for _ in range(TIMES):
            assert torch.sqrt(x).dtype == torch.true_divide(x, x).dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.sqrt(x).dtype == torch.float32


def test_errors_are_those_of_the_first_call():
    x = torch.ones(2, 3)
    for _ in range(TIMES):
        x.sum(1), x.sum((1,)), torch.cat([x, x]), torch.softmax(x, -1)
        for call in (lambda: x.sum(1.0), lambda: x.sum((1.0,)), lambda: torch.cat([x, 1]), lambda: torch.softmax(x, 2)):
            with pytest.raises((TypeError, IndexError)):
                call()


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(paths, "MOST", 8)
    seen = {}
    for i in range(100):
        paths.remember(seen, i, i)
        assert i in seen and len(seen) <= 8


def test_what_changes_nothing_is_the_tensor_itself():
    for lib in (torch, reference):
        x = lib.ones(2, 3)
        for _ in range(TIMES):
            assert x.to("cpu") is x.float() is x.contiguous() is x.to(lib.float32) is x and x.clone() is not x
            assert x.t().contiguous() is not x and (x.size(0), x.size(-1), x.T.size(0)) == (2, 3, 3)
            assert x.zero_() is x.fill_(2) is x.fill_(-0.5) is x
            for call in (lambda: x.size(2), lambda: x.to("nowhere"), lambda: x.fill_(lib.ones(2))):
                with pytest.raises((IndexError, RuntimeError)):
                    call()


def test_indices_seen_before_are_out_of_bounds_elsewhere():
    def told(lib):
        found, i = [], lib.tensor([[0, 1], [2, 2]])
        for n in (3, 3, 2, 3):
            for call in (
                lambda x: x.gather(1, i),
                lambda x: x[i],
                lambda x: x.T.gather(0, i.T),
                lambda x: x.gather(3, i),
            ):
                try:
                    found.append(call(lib.ones(n, n)).shape == (2, 2))
                except (IndexError, RuntimeError) as error:
                    found.append((type(error), str(error).split("\n")[0]))
        return found

    assert told(torch) == told(reference)


@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("call", NAMED)
def test_calls_by_name_go_the_same_way_again(call, graph):
    """Names in and out of order, of tensors and numbers; the first call is looked at, later ones are found."""
    code, random = compile(call, call, "eval"), np.random.default_rng(0)
    for rep in range(4):
        arrays = [random.standard_normal((4, 4)).astype(np.float32) for _ in range(3)]
        results = []
        for t in (torch, reference):
            x, y, z = [t.tensor(a, requires_grad=graph) for a in arrays]
            results.append(eval(code, {"t": t, "F": t.nn.functional, "x": x, "y": y, "z": z, "rep": rep}))
        found, expected = results
        assert str(found.dtype) == str(expected.dtype) and found.requires_grad == expected.requires_grad
        np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_a_wrong_name_is_an_error_after_right_ones():
    x = torch.ones(2, 3)
    for _ in range(3):
        x.sum(dim=1)
    with pytest.raises(TypeError):
        x.sum(dimension=1)
    with pytest.raises(IndexError):
        x.sum(dim=5)
    with pytest.raises(TypeError):
        x.sum(1, dim=1)
