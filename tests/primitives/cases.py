"""A case for every primitive: which dtypes it takes, and a call of it for each of them.

    CASES[name].fun(*values)          written with primitives; its graph contains the primitive
    CASES[name].arrays(dtype)         operands for a dtype of CASES[name].dtypes

test_coverage.py sends every case through the checker and fails for a primitive without one;
test_cuda.py compiles every case for a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

import numpy as np

from functorch_core import primitives as p
from functorch_core.core import dtypes as dt
from functorch_core.core.aval import aval
from functorch_core.primitives.linalg_matrices import adjoint
from functorch_core.primitives.reduce_window import make_window
from functorch_core.transforms import by_library, callback, cond, custom, remat, scan, while_loop
from functorch_core.transforms.linear_map import linear_map
from functorch_core.xla import Lstm

# One dtype for each class that lowerings and rules distinguish.
CLASSES = (
    dt.bool_,
    dt.int8,
    dt.int32,
    dt.uint16,
    dt.float8_e4m3fn,
    dt.float16,
    dt.bfloat16,
    dt.float32,
    dt.float64,
    dt.complex32,
    dt.complex64,
    dt.complex128,
)
WIDE_ENOUGH = dt.FLOATING - dt.FLOAT8
LINALG = {dt.float32, dt.float64, dt.complex64, dt.complex128}
BITS = dt.INTEGER | {dt.bool_}


class Case(NamedTuple):
    """See the module's docstring. `diff`: the operands with a derivative (None: all that can)."""

    fun: Callable
    arrays: Callable
    dtypes: Collection[np.dtype]
    diff: tuple[int, ...] | None = None
    rules: tuple[str, ...] = ("lower", "jvp", "transpose", "batch")
    on_cuda: bool = True


def sample(shape, dtype, low=0.15, high=0.85, seed=0):
    """Numbers of a dtype: between low and high, 1 to 5 for integers, both parts if complex."""
    rng = np.random.default_rng([seed, len(shape)])
    if dtype == dt.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    if dtype in dt.INTEGER:
        return rng.integers(1, 6, shape).astype(dtype)
    x = rng.uniform(low, high, shape)
    if dtype in dt.COMPLEX:
        x = x + 1j * rng.uniform(low, high, shape)
    return x.astype(dtype)


def operands(*shapes, low=0.15, high=0.85):
    """arrays(dtype): operands of these shapes, all of the dtype."""
    return lambda dtype: [sample(s, dtype, low, high, i) for i, s in enumerate(shapes)]


def with_indices(shape, indices, *more):
    """arrays(dtype): an operand, integer indices, and further operands of the dtype."""
    return lambda dtype: [sample(shape, dtype), np.array(indices), *(sample(s, dtype, seed=9) for s in more)]


CASES: dict[str, Case] = {}


def elementwise(dtypes, names: str, count: int = 1, diff=None, **domain):
    """Cases of elementwise primitives of `count` operands."""
    for name in names.split():
        fun = getattr(p, f"{name}_" if name in ("and", "or", "not") else name)
        CASES[name] = Case(fun, operands(*[(2, 3)] * count, **domain), dtypes, diff)


# ---- elementwise, of one operand -----------------------------------------------------------------

elementwise(BITS, "not")
elementwise(dt.INTEGER, "population_count clz")
elementwise(dt.NUMERIC, "neg abs sign")
elementwise(dt.FLOATING, "is_finite floor ceil trunc cbrt")
elementwise(dt.COMPLEX, "real imag conj")
elementwise(
    dt.INEXACT,
    "sqrt rsqrt exp exp2 expm1 logistic log log1p log2 log10 sin cos tan asin acos atan sinh cosh tanh asinh atanh",
)
elementwise(dt.INEXACT, "acosh", low=1.2, high=2.5)
elementwise(WIDE_ENOUGH, "erf erfc erfcx erf_inv erf_inv_of_drawn ndtri log_ndtr lgamma digamma trigamma")
elementwise(
    WIDE_ENOUGH,
    "bessel_j0 bessel_j1 bessel_y0 bessel_y1 bessel_i0e bessel_i1e bessel_i0 "
    "bessel_i1 bessel_k0 bessel_k1 bessel_k0e bessel_k1e spherical_bessel_j0 "
    "spherical_bessel_j1 airy_ai airy_ai_prime",
)
CASES |= {
    "round": Case(lambda x: p.round(x, method="to_even"), operands((2, 3)), dt.FLOATING),
    "integer_pow": Case(lambda x: p.integer_pow(x, y=3), operands((2, 3)), dt.NUMERIC),
    "convert": Case(lambda x: p.convert(x, dtype=dt.complex128), operands((2, 3)), dt.ALL),
    "bitcast": Case(
        lambda x: p.bitcast(x, dtype=np.dtype(f"uint{8 * x.dtype.itemsize}")),
        operands((2, 3)),
        (dt.INTEGER | dt.FLOATING),
    ),
    "reduce_precision": Case(
        lambda x: p.reduce_precision(x, exponent_bits=5, mantissa_bits=2), operands((2, 3)), WIDE_ENOUGH, diff=()
    ),
}

# ---- elementwise, of several operands ------------------------------------------------------------

elementwise(BITS, "and or xor", 2)
elementwise(dt.INTEGER, "shift_left shift_right_logical shift_right_arithmetic", 2)
elementwise(dt.ALL, "eq ne add mul", 2)
elementwise(dt.ORDERED, "lt le gt ge max min", 2)
elementwise(dt.NUMERIC, "sub div pow", 2)
elementwise(dt.REAL, "rem", 2)
elementwise(dt.FLOATING, "floor_div", 2)
elementwise(dt.FLOATING, "atan2", 2)
elementwise(WIDE_ENOUGH, "nextafter", 2, diff=())
elementwise({dt.float16, dt.float32, dt.float64}, "complex", 2)
elementwise(WIDE_ENOUGH, "igamma igammac", 2, low=0.5, high=2.5)
elementwise(WIDE_ENOUGH, "igamma_grad_a random_gamma_grad", 2, diff=(), low=0.5, high=2.5)
elementwise(WIDE_ENOUGH, "betainc", 3)
elementwise(WIDE_ENOUGH, "betainc_grad_a random_dirichlet_grad", 3, diff=())


def order_and_place(dtype):
    """Operands of zeta and polygamma; an order n >= 1 that is not differentiated by."""
    return [np.full((2, 3), 2, dtype), sample((2, 3), dtype, 1.2, 2.5)]


CASES |= {
    "zeta": Case(p.zeta, lambda d: [sample((2, 3), d, 1.5, 3), sample((2, 3), d, 0.5, 2, 1)], WIDE_ENOUGH, diff=(1,)),
    "polygamma": Case(p.polygamma, order_and_place, WIDE_ENOUGH, diff=(1,)),
    "select": Case(p.select, lambda d: [np.array([[True, False, True]] * 2), *operands((2, 3), (2, 3))(d)], dt.ALL),
    "clamp": Case(
        lambda x: p.clamp(p.full((2, 3), 1, x.dtype), x, p.full((2, 3), 3, x.dtype)), operands((2, 3)), dt.REAL
    ),
}

# ---- structure -----------------------------------------------------------------------------------

CASES |= {
    "constant": Case(lambda x: p.constant(np.zeros((2, 3), x.dtype)), operands((2, 3)), dt.ALL),
    "iota": Case(lambda x: p.add(x, p.iota(shape=(2, 3), dtype=x.dtype, dimension=1)), operands((2, 3)), dt.NUMERIC),
    "copy": Case(p.copy, operands((2, 3)), dt.ALL),
    "name": Case(lambda x: p.name(x, name="hidden"), operands((2, 3)), dt.ALL),
    "stop_gradient": Case(custom.stop_gradient, operands((2, 3)), dt.ALL, diff=()),
    "optimization_barrier": Case(p.optimization_barrier, operands((2, 3), (2,)), dt.ALL),
    "reshape": Case(lambda x: p.reshape(x, shape=(3, 2)), operands((2, 3)), dt.ALL),
    "transpose": Case(lambda x: p.transpose(x, permutation=(1, 0)), operands((2, 3)), dt.ALL),
    "broadcast_in_dim": Case(lambda x: p.broadcast_in_dim(x, shape=(4, 2, 3), dims=(1, 2)), operands((2, 3)), dt.ALL),
    "reverse": Case(lambda x: p.reverse(x, dims=(1,)), operands((2, 3)), dt.ALL),
    "concatenate": Case(lambda *xs: p.concatenate(*xs, dimension=0), operands((2, 3), (1, 3)), dt.ALL),
    "stack": Case(lambda *xs: p.stack(*xs, dimension=1), operands((2, 3), (2, 3)), dt.ALL),
    "unstack": Case(lambda x: p.unstack(x, dimension=1), operands((2, 3)), dt.ALL),
    "slice": Case(lambda x: p.slice(x, start=(0, 1), limit=(2, 5), strides=(1, 2)), operands((2, 6)), dt.ALL),
    "pad": Case(lambda x, v: p.pad(x, v, low=(0, -1), high=(2, 1), interior=(1, 0)), operands((2, 3), ()), dt.ALL),
    "dynamic_slice": Case(lambda x, i: p.dynamic_slice(x, i, i, sizes=(1, 2)), with_indices((2, 3), 1), dt.ALL),
    "dynamic_update_slice": Case(
        lambda x, i, u: p.dynamic_update_slice(x, u, i, i), with_indices((2, 3), 1, (1, 2)), dt.ALL
    ),
}

# ---- indexing ------------------------------------------------------------------------------------

PLACES = [2, 0, 1, 3]


def scattering(combine: str, dtypes) -> Case:
    """Four rows, each at a place of its own, into four."""

    def fun(x, i, u):
        return p.scatter_axis(x, i, u, axis=0, combine=combine, unique=combine == "mul")

    return Case(fun, with_indices((4, 2), PLACES, (4, 2)), dtypes)


CASES |= {
    "gather": Case(lambda x, i: p.take(x, i, axis=0), with_indices((4, 2), PLACES), dt.ALL),
    "scatter_set": scattering("set", dt.ALL),
    "scatter_add": scattering("add", dt.ALL),
    "scatter_mul": scattering("mul", dt.ALL),
    "scatter_min": scattering("min", dt.ORDERED),
    "scatter_max": scattering("max", dt.ORDERED),
}

# ---- reductions, windows, running results, sorting -----------------------------------------------


def along(fun, **params):
    """A function of one array with these parameters."""
    return lambda x: fun(x, **params)


WINDOW = dict(window=(1, 2), strides=(1, 2), padding=((0, 0), (1, 1)))
PLACED = make_window(2, (1, 2), (1, 2), None, None, None)

CASES |= {
    f"reduce_{name}": Case(along(getattr(p, f"reduce_{name}"), axes=(1,)), operands((2, 3)), dtypes)
    for name, dtypes in {
        "sum": dt.NUMERIC,
        "prod": dt.NUMERIC,
        "max": dt.ORDERED,
        "min": dt.ORDERED,
        "max_loose": dt.FLOATING,
        "and": BITS,
        "or": BITS,
        "xor": BITS,
    }.items()
}
CASES |= {
    name: Case(along(getattr(p, name), axis=1, index_dtype=dt.int32), operands((2, 5)), dt.ORDERED)
    for name in ("argmax", "argmin")
}
CASES |= {
    f"reduce_window_{name}": Case(along(getattr(p, f"reduce_window_{name}"), **WINDOW), operands((2, 6)), dtypes)
    for name, dtypes in {
        "sum": dt.NUMERIC,
        "max": dt.ORDERED,
        "min": dt.ORDERED,
        "argmax": dt.ORDERED,
        "argmin": dt.ORDERED,
    }.items()
}
CASES |= {
    "window_gather": Case(
        lambda x, at: p.window_gather(x, at, window=PLACED),
        lambda d: [sample((2, 6), d), np.array([[0, 1, 1], [1, 0, 1]], np.int32)],
        dt.ALL,
    ),
    "window_scatter": Case(
        lambda ct, at: p.window_scatter(ct, at, shape=(2, 6), window=PLACED),
        lambda d: [sample((2, 3), d), np.array([[0, 1, 1], [1, 0, 1]], np.int32)],
        dt.ALL,
    ),
    "linear_recurrence": Case(lambda a, b: p.linear_recurrence(a, b, axis=1), operands((2, 5), (2, 5)), dt.NUMERIC),
    "cumsum": Case(along(p.cumsum, axis=1), operands((2, 5)), dt.NUMERIC),
    "cumprod": Case(along(p.cumprod, axis=1), operands((2, 5)), dt.NUMERIC),
    "cummax": Case(along(p.cummax, axis=1), operands((2, 5)), dt.ORDERED),
    "cummin": Case(along(p.cummin, axis=1), operands((2, 5)), dt.ORDERED),
    "cumlogsumexp": Case(along(p.cumlogsumexp, axis=1), operands((2, 5)), dt.FLOATING),
    "sort": Case(lambda x, y: p.sort(x, y, dimension=1), operands((2, 5), (2, 5)), dt.ALL),
    "top_k": Case(along(p.top_k, k=2), operands((2, 5)), dt.ORDERED),
}

# ---- products, transforms ------------------------------------------------------------------------

CASES |= {
    "dot_general": Case(
        lambda x, y: p.dot_general(x, y, contract=((2,), (1,)), batch=((0,), (0,))),
        operands((2, 3, 4), (2, 4, 2)),
        dt.NUMERIC,
    ),
    "conv": Case(
        lambda x, w: p.conv(x, w, strides=(1, 2), padding=((1, 1), (0, 1)), feature_groups=2),
        operands((2, 4, 5, 6), (4, 2, 3, 2)),
        dt.NUMERIC,
    ),
    "fft": Case(lambda x: p.fft(x, kind="fft", lengths=(6,)), operands((2, 6)), dt.COMPLEX),
}

# ---- linear algebra ------------------------------------------------------------------------------


def positive_definite(dtype):
    """A stack of two well-conditioned positive definite matrices."""
    x = sample((2, 3, 3), dtype)
    return [(x @ x.conj().swapaxes(-1, -2) + 2 * np.eye(3)).astype(dtype)]


def distinct(dtype):
    """A stack of two matrices with eigenvalues and singular values well apart."""
    return [(sample((2, 3, 3), dtype) + np.diag([1, 4, 9])).astype(dtype)]


def with_right_side(dtype):
    """A matrix and two right-hand sides, stacked."""
    return distinct(dtype) + [sample((2, 3, 2), dtype)]


def reflectors(dtype):
    """What geqrf returns: computed by NumPy for two matrices."""
    raw = [np.linalg.qr(a, mode="raw") for a in distinct(np.float64)[0]]
    return [np.stack([h.swapaxes(-1, -2) for h, _ in raw]).astype(dtype), np.stack([t for _, t in raw]).astype(dtype)]


CASES |= {
    "cholesky": Case(p.cholesky, positive_definite, LINALG, rules=("lower", "batch")),
    "triangular_solve": Case(lambda a, b: p.triangular_solve(a, b, lower=True), with_right_side, LINALG),
    "pivots_to_permutation": Case(
        lambda x: p.pivots_to_permutation(x, size=4), lambda d: [np.array([[2, 1, 2], [0, 3, 2]], d)], {dt.int32}
    ),
    "lu": Case(p.lu, distinct, LINALG),
    "solve": Case(p.solve, with_right_side, LINALG),
    "inv": Case(p.inv, distinct, LINALG),
    "det": Case(p.det, distinct, LINALG),
    "geqrf": Case(p.geqrf, distinct, LINALG, diff=()),
    "householder_product": Case(p.householder_product, reflectors, LINALG, diff=()),
    "qr": Case(p.qr, distinct, LINALG),
    "eigh": Case(lambda a: p.eigvalsh(p.add(a, adjoint(a))), distinct, LINALG),
    "svd": Case(along(p.svd, compute_uv=False), distinct, LINALG),
    "eig": Case(p.eigvals, distinct, LINALG),
    "schur": Case(p.schur, distinct, LINALG, diff=(), on_cuda=False),
}

# ---- random numbers ------------------------------------------------------------------------------

WORD = {dt.uint32}

CASES |= {
    "threefry2x32": Case(p.threefry2x32, operands(*[(4,)] * 4), WORD),
    "random_bits": Case(lambda key: p.random_bits(key, shape=(3, 2), bits=32), operands((2,)), WORD),
    "philox_bits": Case(
        lambda state: p.philox_bits(state, shape=(3, 2), bits=32), lambda d: [np.array([1, 2, 3], d)], {dt.uint64}
    ),
}

# ---- those that hold graphs, functions or axes ---------------------------------------------------


def doubled(x):
    """x + x by a custom rule's side: what custom_jvp and custom_vjp are given."""
    return [p.mul(x, p.add(x, x))]


SQUARE_JVP = custom.JvpRule(
    lambda primals, tangents: (doubled(*primals), [p.mul(p.mul(tangents[0], primals[0]), 4.0)]), "square"
)
SQUARE_VJP = custom.VjpRule(
    lambda x: (doubled(x), [x]), lambda residuals, cts: [p.mul(p.mul(cts[0], residuals[0]), 4.0)], "square"
)
NOWHERE = Lstm("inference", 0, 0, 0, 0, False)  # what no library computes


def look(*arrays):
    """What debug_callback calls: nothing happens."""


CASES |= {
    "cond": Case(
        lambda i, x: cond.switch(i, (lambda v: [p.sin(v)], lambda v: [p.neg(v)]), [x]),
        lambda d: [np.int32(1), sample((2, 3), d)],
        dt.INEXACT,
    ),
    "scan": Case(
        lambda x: scan.scan(
            lambda c, v: ([p.mul(c[0], v[0])], [c[0]]),
            [p.slice(x, start=(0,), limit=(1,))],
            [p.reshape(x, shape=(3, 1))],
        )[1],
        operands((3,)),
        dt.ALL,
    ),
    "note_failure": Case(
        lambda state, worst: p.note_failure(state, worst, limit=4, shift=2),
        lambda d: [np.array([-1, 0]).astype(d), np.uint64(5)],
        [dt.int64],
        rules=("lower",),
    ),
    "while": Case(
        lambda x: while_loop.while_loop(lambda c: p.lt(c, 5.0), lambda c: [p.add(c, c)], [x]),
        operands(()),
        dt.ORDERED,
        rules=("lower", "jvp", "batch"),
    ),
    "remat": Case(lambda x: remat.remat(lambda v: [p.sin(v)], [x]), operands((2, 3)), dt.INEXACT),
    "by_library": Case(lambda x: by_library.by_library(doubled, [x], NOWHERE), operands((2, 3)), dt.ALL),
    "custom_jvp": Case(lambda x: custom.custom_jvp(doubled, SQUARE_JVP, [x]), operands((2, 3)), dt.ALL),
    "custom_vjp": Case(lambda x: custom.custom_vjp(doubled, SQUARE_VJP, [x]), operands((2, 3)), dt.ALL, diff=()),
    "linear_map": Case(
        lambda x: linear_map(lambda v: p.add(v, v), lambda ct: [p.add(ct, ct)], [x]), operands((2, 3)), dt.ALL
    ),
    "pure_callback": Case(
        lambda x: callback.pure_callback(np.sort, [aval(x.shape, x.dtype)], [x], vmap_method="sequential"),
        operands((3,)),
        dt.ALL,
        diff=(),
    ),
    "debug_callback": Case(lambda x: (callback.debug_callback(look, [x]), p.neg(x))[1], operands((3,)), dt.NUMERIC),
}


# Primitives that no graph can hold which runs: the tests of what makes them, and how it is called.
COLLECTIVES = "transforms/test_collectives.py"
ELSEWHERE = {
    "check": ("array/test_checkify.py", "checkify.check"),
    "custom_vmap": ("array/test_custom_batching.py", "custom_vmap"),
    "io_callback": ("array/test_checkify.py", "io_callback"),
    "psum": (COLLECTIVES, "psum"),
    "pmax": (COLLECTIVES, "pmax"),
    "all_gather": (COLLECTIVES, "all_gather"),
    "axis_index": (COLLECTIVES, "axis_index"),
    "all_to_all": ("array/test_collectives.py", "all_to_all"),
    "ppermute": ("array/test_collectives.py", "ppermute"),
    "sharding_constraint": ("array/four_devices.py", "with_sharding_constraint"),
    "custom_call": ("transforms/test_callback.py", "custom_call"),
    "custom_lin": ("transforms/test_custom.py", "custom_vjp"),
    "library_dot": ("engine/test_products.py", "library_dot"),
}
