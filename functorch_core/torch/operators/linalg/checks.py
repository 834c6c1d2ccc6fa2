"""What torch.linalg asks of its operands, and how it reports that something failed."""

from __future__ import annotations

from ...tape.meta import is_readable
from ..value_checks import NUMBERS
from ..value_checks import require as require_elements
from ..values import aval_of, dt, name_of

DECOMPOSED = frozenset({dt.float32, dt.float64, dt.complex64, dt.complex128})


class LinAlgError(RuntimeError):
    """A matrix that cannot be factorised, inverted or solved with.

    >>> torch.linalg.inv(torch.zeros(2, 2))
    Traceback (most recent call last):
    torch.linalg.LinAlgError: linalg.inv: ...
    """

    __module__ = "torch.linalg"


# What PyTorch says of integers comes from these kernels where it does not look at dtypes before.
KERNELS = {
    "torch.cholesky": "cholesky_cpu",
    "linalg.eigh": "linalg_eigh_cpu",
    "linalg.eigvalsh": "linalg_eigh_cpu",
    "linalg.lu": "lu_cpu",
    "linalg.solve_triangular": "triangular_solve_cpu",
    "torch.geqrf": "geqrf_cpu",
    "torch.linalg.lu_factor_ex": "lu_cpu",
}

# What PyTorch's errors call the kernels that have no half precision; of integers others speak first.
HALVES = KERNELS | {
    "linalg.cholesky": "cholesky_cpu",
    "cholesky_inverse": "cholesky_inverse_out_cpu",
    "linalg.det": "lu_cpu",
    "linalg.eig": "linalg_eig_out_cpu",
    "linalg.qr": "geqrf_cpu",
    "linalg.solve": "lu_cpu",
    "linalg.svd": "linalg_svd_cpu",
    "torch.linalg.ldl_factor_ex": "ldl_factor_kernel_cpu",
}


def require_inexact(name: str, x, what: str = "input"):
    """RuntimeError for dtypes that LAPACK does not know, or its NotImplementedError where PyTorch names a kernel."""
    dtype = aval_of(x).dtype
    if dtype not in dt.INEXACT and name in KERNELS:
        raise NotImplementedError(f"\"{KERNELS[name]}\" not implemented for '{name_of(x)}'")
    if dtype not in dt.INEXACT:
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {name_of(x)}")
    if dtype not in DECOMPOSED and name in HALVES:
        raise NotImplementedError(f"\"{HALVES[name]}\" not implemented for '{name_of(x)}'")
    if dtype not in DECOMPOSED:
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {name_of(x)}")


def matrices(x, name: str, square: bool = False, letter: str = "A"):
    """x itself, checked to be (square) matrices of a dtype that LAPACK knows."""
    a = aval_of(x)
    if a.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {letter} must have at least 2 dimensions.")
    if square and a.shape[-1] != a.shape[-2]:
        raise RuntimeError(
            f"{name}: {letter} must be batches of square matrices, but they are {a.shape[-2]} by {a.shape[-1]} matrices"
        )
    require_inexact(name, x)
    return x


def require_matrices_of_numbers(x, name: str = "linalg.svd"):
    """LinAlgError, now or when something is read, for matrices with NaN, as LAPACK refuses them."""
    batch = "(Batch element {index}): " if x.dim() > 2 else ""
    message = f"{name}: {batch}The algorithm failed to converge because the input matrix contained non-finite values."
    if x.dim() >= 2:
        require_elements(x, NUMBERS, name, message, error=LinAlgError, ndim=2)


def check_info(name: str, info, message: str):
    """LinAlgError if some matrix failed; inside func transforms and on meta nobody can know yet."""
    if not is_readable(info):
        return
    array = info._array()
    if not array.any():
        return
    index = int(array.reshape(-1).nonzero()[0][0])
    place = f"(Batch element {index}): " if array.ndim else ""
    number = int(array.reshape(-1)[index])
    raise LinAlgError(f"{name}: {place}{message.format(info=number)}")
