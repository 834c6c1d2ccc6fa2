"""Functions that PyTorch has removed, and that say what to call instead."""

from __future__ import annotations

from ...dispatch.op import composite

REMOVED = "This function was deprecated since version 1.9 and is now removed. {advice}"

DESCRIPTION = """Removed from PyTorch: {advice}

    >>> torch.{name}(torch.eye(2))
    Traceback (most recent call last):
    RuntimeError: This function was deprecated since version 1.9 and is now removed. ...
    """


def _removed(name: str, advice: str, method: bool = True):
    def function(input, *args, **kwargs):
        raise RuntimeError(REMOVED.format(advice=advice))

    function.__name__, function.__doc__ = name, DESCRIPTION.format(name=name, advice=advice)
    return composite(method=method)(function)


eig = _removed("eig", "Call torch.linalg.eig, or torch.linalg.eigvals for the eigenvalues alone: both are complex.")
symeig = _removed("symeig", "Call torch.linalg.eigh or torch.linalg.eigvalsh; they read the lower triangle by default.")
solve = _removed("solve", "Call torch.linalg.solve(A, B), which has the arguments in the other order.")
lstsq = _removed("lstsq", "Call torch.linalg.lstsq(A, B), which has the arguments in the other order.")
matrix_rank = _removed("matrix_rank", "Call torch.linalg.matrix_rank, where symmetric= is hermitian=.", method=False)
