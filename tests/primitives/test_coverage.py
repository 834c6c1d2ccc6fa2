"""Every primitive x rule x dtype class goes through the checker; one without a case fails."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from functorch_core.core.graph import subgraphs
from functorch_core.core.primitive import registry
from functorch_core.transforms import checks, custom_batch  # noqa: F401  declared when they are asked for
from tests.primitives.cases import CASES, CLASSES, ELSEWHERE
from tests.primitives.check import check, check_lowering, graph_of

TESTS = Path(__file__).resolve().parent.parent
REFUSED = [(name, dtype) for name, case in CASES.items() for dtype in CLASSES if dtype not in case.dtypes]
# One dtype of a class whose derivatives finite differences can check, else any that is taken.
BEST = ("float64", "complex128", "float32", "complex64", "int32", "uint32", "uint64", "int64", "bool")


def ids(pairs):
    return [f"{name}-{dtype}" for name, dtype in pairs]


def names_in(graph) -> set[str]:
    """The primitives of a graph and of the graphs in it."""
    return {n.primitive.name for n in graph.nodes}.union(*(names_in(g) for n in graph.nodes for g in subgraphs(n)))


def best(case):
    """The widest dtype the case takes."""
    return next(np.dtype(name) for name in BEST if np.dtype(name) in case.dtypes)


# What the library promises to have, by family; `fft` is fft, ifft, rfft and irfft, `cond` switch, too.
PROMISED = """
add sub mul div rem pow neg abs sign max min sqrt cbrt rsqrt integer_pow
eq ne lt le gt ge and or not xor shift_left shift_right_logical shift_right_arithmetic
population_count clz select clamp convert bitcast reduce_precision real imag complex conj
floor ceil round trunc exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2
sinh cosh tanh asinh acosh atanh logistic
erf erfc erf_inv lgamma digamma polygamma zeta igamma igamma_grad_a igammac betainc
bessel_i0 bessel_i0e bessel_i1 bessel_i1e bessel_j0 bessel_j1 bessel_k0 bessel_k0e bessel_k1
bessel_k1e nextafter is_finite
iota broadcast_in_dim reshape transpose slice dynamic_slice dynamic_update_slice pad concatenate
reverse gather scatter_set scatter_add scatter_mul scatter_min scatter_max
reduce_sum reduce_prod reduce_max reduce_min reduce_and reduce_or argmax argmin
reduce_window_sum reduce_window_max window_gather window_scatter
cumsum cumprod cummax cummin cumlogsumexp sort top_k dot_general conv fft
cholesky triangular_solve lu qr svd eigh eig schur
threefry2x32 philox_bits random_bits cond while scan custom_jvp custom_vjp optimization_barrier
pure_callback custom_call psum pmax all_gather axis_index
"""


def test_what_is_promised_is_there():
    promised = set(PROMISED.split())
    assert promised <= registry.keys(), promised - registry.keys()


def test_every_primitive_has_a_case():
    own = {name for name, primitive in registry.items() if not name.startswith("planted")}
    assert own == CASES.keys() | ELSEWHERE.keys()
    for name, (path, word) in ELSEWHERE.items():
        assert word in (TESTS / path).read_text(encoding="utf-8"), f"{name}: no {word} in {path}"


@pytest.mark.parametrize("name", CASES)
def test_the_case_is_of_the_primitive(name):
    case = CASES[name]
    assert name in names_in(graph_of(case.fun, case.arrays(best(case))))


@pytest.mark.parametrize("name", CASES)
def test_every_rule(name):
    """Reference, lowering, jvp, transpose and batch of each, at its widest dtype."""
    case = CASES[name]
    check(case.fun, *case.arrays(best(case)), rules=case.rules, diff=case.diff, order=1, fd_tol=1e-4)


@pytest.mark.parametrize("name", CASES)
def test_every_dtype_class(name):
    """The lowering against the reference at every class of dtypes, all in one program."""
    case = CASES[name]
    operands = [case.arrays(dtype) for dtype in CLASSES if dtype in case.dtypes]
    counts = [len(arrays) for arrays in operands]

    def every(*values):
        values, outs = iter(values), []
        for n in counts:
            out = case.fun(*itertools.islice(values, n))
            outs += out if isinstance(out, (list, tuple)) else [out]
        return outs

    arrays = [a for some in operands for a in some]
    check_lowering(graph_of(every, arrays), arrays)


@pytest.mark.parametrize("name, dtype", REFUSED, ids=ids(REFUSED))
def test_other_dtypes_are_refused(name, dtype):
    case = CASES[name]
    with pytest.raises((TypeError, ValueError)):
        graph_of(case.fun, case.arrays(dtype))
