"""Every primitive compiles for a GPU, on machines that have none.

Needs the packages of the `cuda` extra (not their NVIDIA libraries); skipped without them.
"""

from __future__ import annotations

import numpy as np
import pytest

from functorch_core import xla
from functorch_core.core.lowering import lower
from functorch_core.primitives import sort
from tests.primitives.cases import CASES, CLASSES
from tests.primitives.check import graph_of


@pytest.fixture(scope="module")
def compiler():
    try:
        return xla.deviceless_cuda_compiler()
    except xla.CudaUnavailable as error:
        pytest.skip(f"no deviceless compilation for CUDA: {error}")


def module_of(name: str, dtype) -> str:
    """The module of a case, verified by the CPU's bindings."""
    case = CASES[name]
    text = lower(graph_of(case.fun, case.arrays(dtype)), "cuda").text
    xla.verify(text)
    return text


def representative(name: str) -> list:
    """float32 and complex64 where the primitive takes them; otherwise the first it takes."""
    taken = [d for d in CLASSES if d in CASES[name].dtypes] or sorted(CASES[name].dtypes, key=str)
    return [d for d in taken if d in (np.float32, np.complex64)] or taken[:1]


ON_CUDA = [name for name, case in CASES.items() if case.on_cuda]


@pytest.mark.parametrize("name", ON_CUDA)
def test_the_module_is_valid(name):
    for dtype in [d for d in CLASSES if d in CASES[name].dtypes]:
        module_of(name, dtype)


@pytest.mark.parametrize("name", ON_CUDA)
def test_compiles_for_a_gpu(name, compiler):
    for dtype in representative(name):
        assert compiler.compile(module_of(name, dtype)).hlo_text()


@pytest.mark.parametrize("name", [name for name in CASES if name not in ON_CUDA])
def test_what_a_gpu_cannot_do_says_so(name):
    with pytest.raises(NotImplementedError, match=name.removesuffix("vals")):
        module_of(name, np.dtype(np.float32))


def test_sorting_is_stable_on_a_gpu(compiler):
    x = np.zeros((2, 5), np.float32)
    text = lower(graph_of(lambda v: sort(v, dimension=1), [x]), "cuda").text
    assert "is_stable = true" in text
