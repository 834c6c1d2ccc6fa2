"""torch.lobpcg: a few of the largest or smallest eigenpairs of a big symmetric matrix."""

from __future__ import annotations

import math

from ...dispatch.op import composite, registry
from ...tape.modes import no_grad
from ...tensors.types import finfo
from .factor import eigh

MOST_STEPS = 1000
TOO_SMALL = (
    "LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than "
    "3 x the number of requested eigenpairs (={n})"
)


@composite(method=False)
def lobpcg(
    A,
    k=None,
    B=None,
    X=None,
    n=None,
    iK=None,
    niter=None,
    tol=None,
    largest=None,
    method=None,
    tracker=None,
    ortho_iparams=None,
    ortho_fparams=None,
    ortho_bparams=None,
):
    """(k eigenvalues, eigenvectors as columns) with A x = e B x, by Knyazev's locally optimal
    conjugate gradients; iK approximates the inverse of A. It has no derivative here.

    >>> values, _ = torch.lobpcg(torch.diag(torch.tensor([1., 2., 3., 9.])))
    >>> round(values.item(), 3)
    9.0
    """
    if A.requires_grad or (B is not None and B.requires_grad):
        raise NotImplementedError("torch.lobpcg has no derivative here: use linalg.eigh, or detach its operands")
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = (k if X is None else X.shape[-1]) if n is None else n
    rows = A.shape[-1]
    if rows < 3 * n:
        raise ValueError(TOO_SMALL.format(m=rows, n=n))
    limit = MOST_STEPS if niter is None or niter < 0 else niter
    tol = _epsilon(A) ** 0.5 if tol is None else tol
    with no_grad():
        if A.ndim == 2:
            return _solve(A, k, B, X, n, iK, limit, tol, largest, tracker)
        lead = tuple(A.shape[:-2])
        each = [_solve(*one, limit, tol, largest, tracker) for one in _one_by_one(A, k, B, X, n, iK)]
        values, vectors = (registry["stack"]([e[i] for e in each]) for i in (0, 1))
    return values.reshape((*lead, k)), vectors.reshape((*lead, rows, k))


def _epsilon(A) -> float:
    """The distance from 1 to the next number of A's dtype."""
    return finfo(A.dtype).eps


def _one_by_one(A, k, B, X, n, iK):
    """The arguments for each matrix of a batch."""
    count = math.prod(A.shape[:-2])

    def parts(x):
        return [None] * count if x is None else list(x.reshape((count, *x.shape[-2:])))

    for a, b, x, i in zip(*map(parts, (A, B, X, iK))):
        yield a, k, b, x, n, i


def _orthonormal(S, BS):
    """A basis of S's columns with x^T B x = 1, and B times it; directions in the noise are dropped.

    By the eigenvectors of the Gram matrix (Stathopoulos and Wu's SVQB).
    """
    scale = (S * BS).sum(0).clamp(min=0).rsqrt().nan_to_num(posinf=0.0)
    gram = (S * scale).mT @ (BS * scale)
    sizes, vectors = eigh((gram + gram.mT) / 2)
    kept = sizes > sizes.max() * _epsilon(S) * len(sizes)
    mix = scale.unsqueeze(1) * vectors[:, kept] * sizes[kept].rsqrt()
    return S @ mix, BS @ mix


def _ritz(S, A, B, largest: bool, count: int):
    """The best approximations in the span of S: values, vectors, A and B times the vectors."""
    for _ in range(2):  # once more, for what the first time lost in rounding
        S, BS = _orthonormal(S, S if B is None else B @ S)
    AS = A @ S
    small = S.mT @ AS
    values, mix = eigh((small + small.mT) / 2)
    if largest:
        values, mix = values.flip(0), mix.flip(1)
    mix = mix[:, :count]
    return values[:count], S @ mix, AS @ mix, BS @ mix


def _solve(A, k, B, X, n, iK, limit, tol, largest, tracker):
    """lobpcg of one matrix."""
    largest = largest is None or largest
    if X is None:
        X = registry["randn"](A.shape[-1], n, dtype=A.dtype, device=A.device)
    values, X, AX, BX = _ritz(X, A, B, largest, n)
    size_a = (AX.norm() / X.norm()).item()
    P = X[:, :0]
    for step in range(limit):
        residual = AX - BX * values
        relative = residual.norm(dim=0) / (X.norm(dim=0) * (size_a + values.abs()))
        if tracker is not None:
            tracker({"istep": step, "residual_norms": relative, "X": X, "E": values})
        if (relative[:k] < tol).all():
            break
        W = residual if iK is None else iK @ residual
        old = X
        values, X, AX, BX = _ritz(registry["cat"]([X, W, P], 1), A, B, largest, n)
        P = X - old @ (old.mT @ BX)
    return values[:k], X[:, :k]
