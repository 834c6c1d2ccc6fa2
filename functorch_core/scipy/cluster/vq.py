"""jax.scipy.cluster.vq: assigning observations to codes."""

from __future__ import annotations

import functorch_core as fc

from ...array.compose import composed, missing_name


@composed("obs code_book", space="fc.scipy.cluster.vq", inexact=True)
def vq(obs, code_book, check_finite=True):
    """(the number of the nearest code, the distance to it) of observations [n, d], codes [k, d].

    >>> from functorch_core.scipy.cluster import vq
    >>> import functorch_core as fc
    >>> vq.vq(fc.asarray([[0., 1.]]), fc.asarray([[5., 5.], [0., 0.]]))
    (Array([1], dtype=int64), Array([1.], dtype=float32))
    """
    if obs.ndim != code_book.ndim or obs.ndim not in (1, 2):
        raise ValueError(f"vq takes observations [n, d] and codes [k, d], got {obs.aval} and {code_book.aval}")
    if obs.ndim == 1:
        obs, code_book = obs[:, None], code_book[:, None]
    if obs.shape[1] != code_book.shape[1]:
        raise ValueError(f"vq: observations {obs.aval} and codes {code_book.aval} have another number of columns")
    off = obs[:, None, :] - code_book[None, :, :]
    distance = fc.sqrt(fc.sum(fc.real(off * fc.conj(off)), axis=-1))
    return fc.argmin(distance, axis=1), fc.min(distance, axis=1)


__getattr__ = missing_name("scipy.cluster.vq", {"kmeans kmeans2 whiten": "Use SciPy's on np.asarray(x)."})

__all__ = ["vq"]
