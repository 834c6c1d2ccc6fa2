"""complex32, which XLA has not: the same in every tier, and promoted as PyTorch promotes it.

What PyTorch computes with it is compared by scripts/complex32.py.
"""

import itertools
import warnings

import numpy as np
import pytest

from functorch_core import engine, torch
from functorch_core.core import dtypes as dt

TIERS = ("auto", "reference", "per-op", "fused", "immediate")
Z = np.random.default_rng(0).normal(size=(2, 2, 3, 2)) @ [1, 1j] * 2

PROGRAMS = {
    "arithmetic": lambda x, y: (x * y + 1 - x / y) ** 2,
    "transcendental": lambda x, y: (x.exp(), y.sqrt().tanh(), x.angle(), (y / 4).cos()),
    "sums": lambda x, y: (x.sum(0), y.mean(), x.prod(), x.cumsum(1), x.norm(), torch.var(y)),
    "products": lambda x, y: (x @ y.T, torch.einsum("ij,ij->", x, y), torch.outer(x[0], y[1])),
    "places": lambda x, y: (
        x.flip(0),
        x.gather(1, torch.tensor([[2, 0], [1, 1]])),
        y.T.clone(),
        torch.cat([x, y])[1::2],
        x.index_select(1, torch.tensor([2])),
    ),
    "ordered": lambda x, y: (torch.fft.fft(x), x.roll(1), torch.nn.functional.pad(y, (1, 2))),
    "written": lambda x, y: x.clone().index_put_((torch.tensor([1]),), y[0]).real.mul_(2),
    "overflow": lambda x, y: (x * 30000 * 3, x * 6e-8, torch.tensor(6e-8).chalf() * 1.5),
    "vmap": lambda x, y: torch.func.vmap(lambda u, v: (u * v).abs())(x, y),
    "grad": lambda x, y: torch.func.grad(lambda u: (u * y).abs().sum() + (u / 3).exp().real.sum())(x),
}


def results(name: str) -> list:
    x, y = torch.tensor(Z[0]).chalf(), torch.tensor(Z[1] + Z[0]).chalf()
    found = PROGRAMS[name](x, y)
    found = found if isinstance(found, tuple) else (found,)
    return [(t.dtype, t.to(torch.complex128).numpy()) for t in found]


@pytest.mark.parametrize("name", PROGRAMS)
def test_tiers_agree(name):
    found = []
    for tier in TIERS:
        with engine.forced_tier(tier):
            found.append(results(name))
    for other in found[1:]:
        for (dtype, a), (other_dtype, b) in zip(found[0], other, strict=True):
            assert dtype is other_dtype
            np.testing.assert_allclose(a, b, rtol=4e-3, atol=4e-3)


@pytest.mark.parametrize("tier", TIERS)
def test_each_operation_rounds_to_half(tier):
    with engine.forced_tier(tier):
        x = torch.tensor([1.0 + 1j, 1024 + 0j]).chalf()
        assert (x * (1 + 2**-12) - x).tolist() == [0, 0]
        assert torch.isinf((x * 1000 * 1000).real / 1000)[1]
        tiny = torch.tensor([6e-8 - 3e-7j, -0.0]).chalf()
        assert (tiny + 0).real.tolist() == [2**-24, 0]
        assert (tiny * 2).imag.tolist() == [-10 * 2**-24, 0]


def test_bits_on_a_device():
    x = torch.tensor(Z[0]).chalf()
    held = torch.compile(lambda t: t * 1)(x)
    with engine.forced_tier("fused"):
        assert torch.equal((x + 0).view(torch.int32), held.view(torch.int32))
        assert x.nbytes == (x + 0).nbytes == 24


# ---- promotion -----------------------------------------------------------------------------------

NAMES = sorted(d.name for d in dt.ALL if d in torch.tensors.types._by_numpy)
NUMBERS = (True, 2, 1.5, 1j)


def answers(library) -> dict:
    """Every pair of dtypes and ranks, every number: what they promote to, or the error."""
    found = {}

    def ask(*question):
        name, *operands = question
        try:
            found[question] = str(getattr(library, name)(*[value_of(library, x) for x in operands]))
        except RuntimeError as error:
            found[question] = str(error).split("\n")[0]

    for a, b in itertools.product(NAMES, NAMES):
        ask("promote_types", (a,), (b,))
        ask("can_cast", (a,), (b,))
        for m, n in itertools.product(((), (2,)), ((), (2,))):
            ask("result_type", (a, m), (b, n))
    for default in ("float32", "float16", "bfloat16", "float64"):
        library.set_default_dtype(getattr(library, default))
        for a, n, number in itertools.product(NAMES, ((), (2,)), NUMBERS):
            ask("result_type", (a, n), number)
    library.set_default_dtype(library.float32)
    return found


def value_of(library, what):
    """A dtype, an empty tensor, or a number."""
    if not isinstance(what, tuple):
        return what
    dtype = getattr(library, what[0])
    return dtype if len(what) == 1 else library.empty(what[1], dtype=dtype)


def test_promotion():
    reference = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = answers(reference)
    found = answers(torch)
    assert {q: (found[q], wanted[q]) for q in wanted if found[q] != wanted[q]} == {}


@pytest.mark.parametrize("number", [1j, 2.5, 3])
@pytest.mark.parametrize("shape", [(), (2,)])
def test_half_and_numbers(number, shape):
    x = torch.ones(shape, dtype=torch.half)
    for result in (x * number, number + x, x - number, torch.where(x > 0, x, number)):
        assert result.dtype is (torch.complex32 if isinstance(number, complex) else torch.half)
