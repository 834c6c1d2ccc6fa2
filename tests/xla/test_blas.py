"""NumPy's BLAS takes one thread for small products, and as many as the user asks for else."""

import os
import subprocess
import sys

import numpy as np
import pytest

import functorch_core as fc
from functorch_core.primitives.linalg_triangular import cholesky_p
from functorch_core.xla import blas, lapack


@pytest.mark.skipif(blas._blas() is None, reason="NumPy is not linked with OpenBLAS")
def test_only_middling_products_limit_threads(monkeypatch):
    library, seen = blas._blas(), []
    monkeypatch.setattr(blas, "_blas", lambda: library)
    monkeypatch.setattr(library, "threads", 4)
    monkeypatch.setattr(library, "at_rest", 4)
    monkeypatch.setattr(library, "limit", seen.append)
    for m, k, n, expected in [(2, 3, 4, []), (16, 256, 256, [1, 4]), (1, 256, 256, [1, 4]), (1024, 1024, 1024, [])]:
        seen.clear()
        x, y = np.ones((m, k), np.float32), np.ones((k, n), np.float32)
        np.testing.assert_array_equal(blas.matmul_for(m, n, k)(x, y), np.full((m, n), k, np.float32))
        assert seen == expected


@pytest.mark.parametrize("shape", [(1, 4096, 3), (1, 200, 100), (100, 200, 1), (300, 5, 1), (1, 2, 3)])
def test_vectors_that_lie_otherwise(shape):
    m, k, n = shape
    x, y = np.random.default_rng(0).standard_normal((2, 7, m, k)), np.random.default_rng(1).standard_normal((7, k, n))
    cases = [(x[0], y), (x[0][:, ::-1], y[:, ::-1]), (np.broadcast_to(x[0, :1, :1, :1], (7, m, k)), y)]
    cases += [(x[0], np.broadcast_to(y[:1, :1, :1], (7, k, n))), (x[1, 0], np.broadcast_to(y[0, 0, 0], (k, n)))]
    for a, b in cases:
        wanted = np.einsum("...mk,...kn->...mn", a, b)
        np.testing.assert_allclose(blas.matmul_for(m, n, k)(a, b), wanted, rtol=1e-10, atol=1e-10)


def test_an_error_gives_threads_back(monkeypatch):
    seen = []
    library = blas._Blas(seen.append, 4)
    monkeypatch.setattr(blas, "_blas", lambda: library)
    with pytest.raises(ValueError):
        blas._on_one_thread(np.ones((2, 3)), np.ones((2, 3)))
    assert seen == [1, 4]


def test_small_factorisations_take_one_thread(monkeypatch):
    seen = []
    library = blas._Blas(seen.append, 4)
    monkeypatch.setattr(blas, "_lapack", lambda: library)
    a = np.eye(3, dtype=np.float32)
    np.testing.assert_array_equal(cholesky_p.rule("reference")(a, minor=False), a)
    assert seen == [1, 4]
    seen.clear()
    assert blas.factorisation((2, 512, 600), lambda: 1) == 1 and seen == []


def test_programs_with_small_factorisations_hold_lapack_at_one_thread(monkeypatch):
    seen = []
    library = blas._Blas(seen.append, 4)
    monkeypatch.setattr(blas, "_lapack", lambda: library)
    small, large = (fc.jit(fc.linalg.cholesky).lower(np.eye(n, dtype=np.float32)).as_text() for n in (3, 512))
    lapack.make_used(small)
    assert seen == [1] and blas.factorisation((512, 512), lambda: list(seen)) == [1, 4]
    lapack.make_used(large)
    lapack.make_used(small)
    assert seen == [1, 4, 1, 4, 4] and library.at_rest == 4


PROGRAM = """
import os
from functorch_core import torch, xla
import functorch_core as fc
from functorch_core.primitives.linalg_triangular import cholesky_p
from functorch_core.xla import blas, lapack
first = torch.get_num_threads()
(torch.ones(3) * 2).sum().item()
xla.default_device()
library = blas._blas()
torch.set_num_threads(2)
print(first, os.environ.get("NPROC"), torch.get_num_threads(), 2 if library is None else library.threads)
"""


@pytest.mark.parametrize("wanted", ["1", "3,2"])
def test_threads_are_those_asked_for(wanted):
    env = {**os.environ, "OMP_NUM_THREADS": wanted}
    env.pop("NPROC", None)
    found = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=True)
    assert found.stdout.split() == [wanted[0], wanted[0], "2", "2"]
