"""LAPACK calls against what they are meant to satisfy, in every dtype, batched."""

import numpy as np
import pytest

from functorch_core import xla

from .programs import aval, module, run_python

DTYPES = ["float32", "float64", "complex64", "complex128"]
REAL = {"complex64": "float32", "complex128": "float64"}
COMPLEX = {"float32": "complex64", "float64": "complex128"}
BATCH, N = (3,), 6


def random(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return (x if np.dtype(dtype).kind == "c" else x.real).astype(dtype)


def adjoint(x):
    return x.conj().swapaxes(-1, -2)


def run(routine, arrays, results, attributes=""):
    """The routine's results for arrays; results are (shape, dtype) pairs."""
    takes = [aval(x.shape, x.dtype) for x in arrays]
    gives = [aval(shape, dtype) for shape, dtype in results]
    operands = [f"%a{i}" for i in range(len(takes))]
    call, names = xla.lapack_call(routine, operands, takes, gives, attributes, result="%r")
    text = module(takes, gives, call)
    for index, name in enumerate(names):
        text = text.replace(f"%r{index}", name)
    program = xla.compile(text, inputs=takes, outputs=gives, options=xla.FAST_COMPILE)
    return [xla.to_numpy(y) for y in program([xla.put(x) for x in arrays])]


def close(x, y):
    tolerance = 1e-3 if x.dtype in (np.float32, np.complex64) else 1e-10
    return x.shape == y.shape and np.abs(x - y).max() < tolerance


@pytest.fixture(params=DTYPES)
def dtype(request):
    return request.param


@pytest.fixture
def general(dtype):
    return random((*BATCH, N, N), dtype)


@pytest.fixture
def definite(general):
    return general @ adjoint(general) + N * np.eye(N, dtype=general.dtype)


INFO = (BATCH, "int32")
MATRIX = (*BATCH, N, N)
VECTOR = (*BATCH, N)


# ---- factorisations ------------------------------------------------------------------------------


def test_potrf(dtype, definite):
    factor, info = run("potrf", [definite], [(MATRIX, dtype), INFO], xla.flag("uplo", "L"))
    factor = np.tril(factor)
    assert close(factor @ adjoint(factor), definite) and not info.any()


def test_potrf_of_an_indefinite_matrix_says_so():
    bad = -np.eye(2)
    _, info = run("potrf", [bad], [((2, 2), "float64"), ((), "int32")], xla.flag("uplo", "L"))
    assert info == 1


def test_getrf(dtype, general):
    factors, pivots, info = run("getrf", [general], [(MATRIX, dtype), (VECTOR, "int32"), INFO])
    lower, upper = np.tril(factors, -1) + np.eye(N, dtype=dtype), np.triu(factors)
    for index in range(BATCH[0]):
        order = np.arange(N)
        for row, pivot in enumerate(pivots[index] - 1):
            order[[row, pivot]] = order[[pivot, row]]
        assert close(lower[index] @ upper[index], general[index][order])


def test_geqrf_orgqr_ormqr(dtype, general):
    factors, tau = run("geqrf", [general], [(MATRIX, dtype), (VECTOR, dtype)])
    (q,) = run("orgqr", [factors, tau], [(MATRIX, dtype)])
    assert close(q @ np.triu(factors), general)
    other = random((*BATCH, N, 2), dtype, 1)
    arrays = [factors, tau, other]
    (product,) = run("ormqr", arrays, [(other.shape, dtype)], "left = true, transpose = true")
    assert close(product, adjoint(q) @ other)


def test_geqp3(dtype, general):
    zeros = np.zeros(VECTOR, "int32")
    results = [(MATRIX, dtype), (VECTOR, "int32"), (VECTOR, dtype)]
    factors, pivots, tau = run("geqp3", [general, zeros], results)
    (q,) = run("orgqr", [factors, tau], [(MATRIX, dtype)])
    permuted = np.take_along_axis(general, (pivots - 1)[:, None, :].astype(int), -1)
    assert close(q @ np.triu(factors), permuted)


# ---- eigenvalues and singular values -------------------------------------------------------------


def test_syevd(dtype, definite):
    real = REAL.get(dtype, dtype)
    attributes = f"{xla.flag('mode', 'V')}, {xla.flag('uplo', 'L')}"
    results = [(MATRIX, dtype), (VECTOR, real), INFO]
    vectors, values, _ = run("syevd", [definite], results, attributes)
    assert close(vectors * values[:, None, :] @ adjoint(vectors), definite)


def test_geev(dtype, general):
    complex_dtype = COMPLEX.get(dtype, dtype)
    values = [(VECTOR, dtype)] * (2 if dtype in COMPLEX else 1)
    vectors = [(MATRIX, complex_dtype)] * 2
    attributes = f"{xla.flag('compute_left', 'V')}, {xla.flag('compute_right', 'V')}"
    results = run("geev", [general], [*values, *vectors, INFO], attributes)
    eigenvalues = results[0] + 1j * results[1] if dtype in COMPLEX else results[0]
    right = results[-2]
    assert close(general @ right, right * eigenvalues[:, None, :])


@pytest.mark.parametrize("routine", ["gesdd", "gesvd"])
@pytest.mark.parametrize("mode", ["A", "S"])
def test_svd(dtype, routine, mode):
    x = random((*BATCH, 8, N), dtype)
    columns = 8 if mode == "A" else N
    results = [(x.shape, dtype), (VECTOR, REAL.get(dtype, dtype)), ((*BATCH, 8, columns), dtype), (MATRIX, dtype), INFO]
    _, s, u, vt, _ = run(routine, [x], results, xla.flag("mode", mode))
    assert close(u[..., :N] * s[:, None, :] @ vt, x)


def test_gees(dtype, general):
    values = [(VECTOR, dtype)] * (2 if dtype in COMPLEX else 1)
    attributes = f"{xla.flag('mode', 'V')}, {xla.flag('sort', 'N')}"
    results = [(MATRIX, dtype), (MATRIX, dtype), *values, INFO, INFO]
    t, z = run("gees", [general], results, attributes)[:2]
    assert close(z @ t @ adjoint(z), general)


# ---- reductions and solves -----------------------------------------------------------------------


def test_gehrd(dtype, general):
    results = [(MATRIX, dtype), ((*BATCH, N - 1), dtype), INFO]
    attributes = f"low = 1 : i32, high = {N} : i32"
    reduced, _, info = run("gehrd", [general], results, attributes)
    hessenberg = np.triu(reduced, -1)
    assert not info.any()
    assert close(np.trace(hessenberg, axis1=-2, axis2=-1), np.trace(general, axis1=-2, axis2=-1))


def test_sytrd(dtype, definite):
    real = REAL.get(dtype, dtype)
    short = (*BATCH, N - 1)
    results = [(MATRIX, dtype), (VECTOR, real), (short, real), (short, dtype), INFO]
    _, diagonal, off, _, _ = run("sytrd", [definite], results, xla.flag("uplo", "L"))
    for index in range(BATCH[0]):
        tridiagonal = np.diag(diagonal[index]) + np.diag(off[index], 1) + np.diag(off[index], -1)
        expected = np.linalg.eigvalsh(definite[index])
        assert close(np.linalg.eigvalsh(tridiagonal) / 10, expected / 10)


def test_trsm(dtype, definite):
    b = random((*BATCH, N, 2), dtype, 1)
    flags = {"side": "L", "uplo": "L", "trans_x": "N", "diag": "N"}
    attributes = ", ".join(xla.flag(*item) for item in flags.items())
    (x,) = run("trsm", [definite, b], [(b.shape, dtype)], attributes)
    assert close(np.tril(definite) @ x, b)


def test_gtsv(dtype):
    b = random((*BATCH, N, 2), dtype, 1)
    ones, fours = np.ones(VECTOR, dtype), np.full(VECTOR, 4, dtype)
    results = [*[(VECTOR, dtype)] * 3, (b.shape, dtype), INFO]
    x = run("gtsv", [ones, fours, ones, b], results)[3]
    matrix = 4 * np.eye(N, dtype=dtype) + np.eye(N, k=1, dtype=dtype) + np.eye(N, k=-1, dtype=dtype)
    assert close(matrix @ x, b)


# ---- shapes, names, cache ------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [(), (0,), (2, 3)])
def test_batches(batch):
    eye = np.broadcast_to(4 * np.eye(3), (*batch, 3, 3))
    results = [(eye.shape, "float64"), (batch, "int32")]
    factor, _ = run("potrf", [eye], results, xla.flag("uplo", "L"))
    assert np.array_equal(factor, eye / 2)


def test_targets():
    assert xla.lapack_target("syevd", "float32") == "lapack_ssyevd_ffi"
    assert xla.lapack_target("syevd", "complex64") == "lapack_cheevd_ffi"
    assert xla.lapack_target("orgqr", "complex128") == "lapack_zungqr_ffi"
    assert xla.lapack_target("potrf", "float64") == "lapack_dpotrf_ffi"
    with pytest.raises(TypeError, match="LAPACK has no float16"):
        xla.lapack_target("potrf", "float16")
    with pytest.raises(ValueError, match="no LAPACK routine 'potato'"):
        xla.lapack_target("potato", "float32")


def test_wrong_number_of_results():
    x = aval((2, 2))
    with pytest.raises(ValueError, match="1 operands and 2 results, got 1 and 1"):
        xla.lapack_call("potrf", ["%a0"], [x], [x], result="%r")


def test_from_the_disk_in_a_new_process():
    """LAPACK must be loaded before such a program is run; without, it is a segmentation fault."""
    code = """
import numpy as np, programs
from functorch_core import xla
x = programs.aval((3, 3), "float64")
avals = [x, programs.aval((), "int32")]
call, _ = xla.lapack_call("potrf", ["%a0"], [x], avals, xla.flag("uplo", "L"), result="%r")
text = programs.module([x], avals, call).replace("%r0", "%r#0").replace("%r1", "%r#1")
program = xla.compile(text, inputs=[x], outputs=avals)
print(program.from_disk_cache, xla.to_numpy(program([xla.put(4 * np.eye(3))])[0]).diagonal())
"""
    assert run_python(code) == "False [2. 2. 2.]\n"
    assert run_python(code) == "True [2. 2. 2.]\n"


TWO_IMPORTS = """
import importlib.abc, sys, threading
from functorch_core.xla import lapack

started, entered = threading.Event(), threading.Event()

class Slow(importlib.abc.MetaPathFinder):
    # Holds the package back, whose import has begun, until the other thread has begun, too.
    def find_spec(self, name, path, target=None):
        if name == "scipy.linalg" and threading.current_thread() is threading.main_thread():
            entered.set()
            started.wait(10)
            threading.Event().wait(0.5)

def load():
    entered.wait(10)
    started.set()
    lapack.initialize()

sys.meta_path.insert(0, Slow())
thread = threading.Thread(target=load)
thread.start()
import scipy.linalg
thread.join()
print("both" if lapack._initialized else "one")
"""


def test_lapack_is_loaded_while_scipy_is_imported():
    """SciPy's package before its parts: an import of a part waits for the package with the part's lock held."""
    assert run_python(TWO_IMPORTS) == "both\n"
