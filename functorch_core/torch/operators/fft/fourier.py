"""torch.fft: discrete Fourier transforms."""

from __future__ import annotations

from ....kernels import fourier as kernels
from ...dispatch.op import composite, registry, torch_op
from ...dispatch.traits import Out
from ...tensors import types as _types
from ...tensors.base import Tensor, from_array
from ..shape.creation import write_range
from ..values import aval_of, dt, name_of, np, p, wrap_dim

NORMS = ("backward", "ortho", "forward")
NOT_REAL = {
    "rfft": "{name} expects a real input tensor, but got {found}",
    **dict.fromkeys(("rfft2", "rfftn"), "rfftn expects a real-valued input tensor, but got {found}"),
    **dict.fromkeys(("ihfft2", "ihfftn"), "Only supports floating-point dtypes, but found: {found}"),
}
OPPOSITE = {"backward": "forward", "forward": "backward", "ortho": "ortho"}

# ---- what they share -----------------------------------------------------------------------------


def _norm_of(norm):
    norm = "backward" if norm is None else norm
    if norm not in NORMS:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    return norm


def _promoted(x, name: str, to_complex: bool):
    dtype = aval_of(x).dtype
    if dtype not in dt.INEXACT:
        dtype = _types.defaults.dtype.numpy
    if dtype in dt.FLOATING and dtype.itemsize < 4:
        raise RuntimeError(f"Unsupported dtype {name_of(x)}")
    wanted = dt.complex_of(dtype) if to_complex else dtype
    return p.convert(x, dtype=wanted) if aval_of(x).dtype != wanted else x


def _dims_and_sizes(x, s, dim, name: str):
    """(dimensions, sizes or None for those of x), as PyTorch fills in what is missing."""
    a = aval_of(x)
    if dim is not None:
        dims = tuple(wrap_dim(d, a.ndim) for d in ((dim,) if isinstance(dim, int) else dim))
        if len(set(dims)) != len(dims):
            raise RuntimeError("FFT dims must be unique")
    if s is not None:
        s = (s,) if isinstance(s, int) else tuple(s)
        if dim is not None and len(dims) != len(s):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
        if len(s) > a.ndim:
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {a.ndim} dimensions.")
        if dim is None:
            dims = tuple(range(a.ndim - len(s), a.ndim))
        sizes = tuple(None if n == -1 else n for n in s)
    else:
        dims = tuple(range(a.ndim)) if dim is None else dims
        sizes = (None,) * len(dims)
    return dims, sizes


def _check_sizes(sizes):
    for n in sizes:
        if n < 1:
            raise RuntimeError(f"Invalid number of data points ({n}) specified")


def complex_transform(x, s, dim, norm, inverse: bool, name: str):
    """fft and ifft over any dimensions."""
    norm = _norm_of(norm)
    x = _promoted(x, name, to_complex=True)
    dims, sizes = _dims_and_sizes(x, s, dim, name)
    if not dims:
        return x
    lengths = tuple(aval_of(x).shape[d] if n is None else n for d, n in zip(dims, sizes))
    _check_sizes(lengths)
    return kernels.complex_transform(x, dims, lengths, norm, inverse)


def real_transform(x, s, dim, norm, name: str):
    """rfft over any dimensions, the last halved."""
    norm = _norm_of(norm)
    if aval_of(x).dtype in dt.COMPLEX:
        raise RuntimeError(NOT_REAL.get(name, NOT_REAL["rfft"]).format(name=name, found=name_of(x)))
    x = _promoted(x, name, to_complex=False)
    dims, sizes = _dims_and_sizes(x, s, dim, name)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    lengths = tuple(aval_of(x).shape[d] if n is None else n for d, n in zip(dims, sizes))
    _check_sizes(lengths)
    return kernels.real_transform(x, dims, lengths, norm)


def half_transform(x, s, dim, norm, name: str, last=None):
    """irfft over any dimensions: from the first half of a Hermitian array to a real one."""
    norm = _norm_of(norm)
    x = _promoted(x, name, to_complex=True)
    dims, sizes = _dims_and_sizes(x, s, dim, name)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    shape = aval_of(x).shape
    whole = sizes[-1] if sizes[-1] is not None else 2 * (shape[dims[-1]] - 1)
    lengths = tuple(shape[d] if n is None else n for d, n in zip(dims[:-1], sizes)) + (whole,)
    _check_sizes(lengths)
    return kernels.inverse_real_transform(x, dims, lengths, norm)


def _one(n):
    return None if n is None else (n,)


def _conj(x):
    return p.conj(x) if aval_of(x).dtype in dt.COMPLEX else x


# ---- the transforms ------------------------------------------------------------------------------

DOCS = {
    "fft": "The discrete Fourier transform along a dimension.",
    "ifft": "The inverse of fft.",
    "rfft": "The transform of a real tensor: the first half, which determines the rest.",
    "irfft": "The inverse of rfft.",
    "hfft": "The transform of a Hermitian signal, given by its first half: real.",
    "ihfft": "The inverse of hfft.",
}
EXAMPLES = {  # kind: operand and result along a dimension, and over two
    "fft": (
        ("[1., 2., 3., 4.]", "[10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j]"),
        ("[[1., 2.], [3., 4.]]", "[[10.+0.j, -2.+0.j], [-4.+0.j,  0.+0.j]]"),
    ),
    "ifft": (
        ("[10, -2 + 2j, -2, -2 - 2j]", "[1.+0.j, 2.+0.j, 3.+0.j, 4.+0.j]"),
        ("[[10., -2.], [-4., 0.]]", "[[1.+0.j, 2.+0.j], [3.+0.j, 4.+0.j]]"),
    ),
    "rfft": (
        ("[1., 2., 3., 4.]", "[10.+0.j, -2.+2.j, -2.+0.j]"),
        ("[[1., 2.], [3., 4.]]", "[[10.+0.j, -2.+0.j], [-4.+0.j,  0.+0.j]]"),
    ),
    "irfft": (("[10, -2 + 2j, -2]", "[1., 2., 3., 4.]"), ("[[10., -2.], [-4., 0.]]", "[[1., 2.], [3., 4.]]")),
    "hfft": (("[1, 1j, 2]", "[ 3.,  1.,  3., -3.]"), ("[[1., 2.], [3., 4.]]", "[[10., -2.], [-4.,  0.]]")),
    "ihfft": (
        ("[1., 2., 3., 4.]", "[ 2.5000-0.0000j, -0.5000-0.5000j, -0.5000-0.0000j]"),
        ("[[1., 2.], [3., 4.]]", "[[ 2.5000-0.j, -0.5000-0.j], [-1.0000+0.j,  0.0000+0.j]]"),
    ),
}


def _doc(kind: str, end: str, what: str) -> str:
    """What a transform does, `what` being over which dimensions, and an example."""
    x, result = EXAMPLES[kind][bool(end)]
    call = f"torch.fft.{kind}{end}(torch.tensor({x}))"
    result = result.replace("], [", "],\n            [")  # as a tensor prints its rows
    return f"""{DOCS[kind].replace("along a dimension", what)}

    >>> {call}
    tensor({result})
    """


def _hermitian(x, s, dim, norm, name: str):
    return half_transform(_conj(_promoted(x, name, True)), s, dim, OPPOSITE[_norm_of(norm)], name)


def _inverse_hermitian(x, s, dim, norm, name: str):
    return _conj(real_transform(x, s, dim, OPPOSITE[_norm_of(norm)], name))


BODIES = {
    "fft": lambda x, s, dim, norm, name: complex_transform(x, s, dim, norm, False, name),
    "ifft": lambda x, s, dim, norm, name: complex_transform(x, s, dim, norm, True, name),
    "rfft": real_transform,
    "irfft": half_transform,
    "hfft": _hermitian,
    "ihfft": _inverse_hermitian,
}


def _by_real(of_real: str):
    """The node by whether the input is real."""
    return lambda a: "FftC2CBackward0" if a.input.is_complex() else of_real


def _inverse_hermitian_node(a):
    """One dimension needs no complex transform."""
    dims = a.dim if isinstance(a.dim, (tuple, list)) else (a.dim,)
    one = a.dim is not None and len(dims) == 1 or a.input.ndim == 1
    return "ConjBackward0" if one else "FftC2CBackward0"


def _declare(kind: str, node, node_of_one=None):
    """NAME, NAME2 and NAMEn of torch.fft."""
    body = BODIES[kind]

    def along(input: Tensor, n=None, dim=-1, norm=None, *, out=None):
        return body(input, _one(n), dim, norm, kind)

    def over_two(input: Tensor, s=None, dim=(-2, -1), norm=None, *, out=None):
        return body(input, s, dim, norm, f"{kind}2")

    def over_many(input: Tensor, s=None, dim=None, norm=None, *, out=None):
        return body(input, s, dim, norm, f"{kind}n")

    for fun, end, what in (
        (along, "", "along a dimension"),
        (over_two, "2", "over two dimensions"),
        (over_many, "n", "over any dimensions"),
    ):
        fun.__doc__ = _doc(kind, end, what)
    what = "floating point" if kind in ("hfft", "irfft") else "complex"
    return [
        torch_op(
            fun,
            name=f"fft_{kind}{end}",
            method=False,
            function=False,
            out=Out(lower=f"{kind}{'n' * bool(end)} expects a {what} output tensor, but got {{wanted}}"),
            node=node if end or node_of_one is None else node_of_one,
            autocast=None if end and kind in ("hfft", "ihfft") else {"cpu": "full"},
        )
        for fun, end in ((along, ""), (over_two, "2"), (over_many, "n"))
    ]


fft, fft2, fftn = _declare("fft", "FftC2CBackward0", _by_real("FftR2CBackward0"))
ifft, ifft2, ifftn = _declare("ifft", "FftC2CBackward0", _by_real("ConjBackward0"))
rfft, rfft2, rfftn = _declare("rfft", "FftR2CBackward0")
irfft, irfft2, irfftn = _declare("irfft", "FftC2RBackward0")
hfft, hfft2, hfftn = _declare("hfft", "FftC2RBackward0")
ihfft, ihfft2, ihfftn = _declare("ihfft", _inverse_hermitian_node, "ConjBackward0")


# ---- frequencies and shifts ----------------------------------------------------------------------


def _frequencies(array, out, dtype, device, requires_grad):
    wanted = _types.numpy_dtype(dtype, _types.defaults.dtype.numpy)
    result = from_array(array.astype(wanted))
    if device is not None:
        result = result.to(device)
    if out is not None:
        return write_range("fftfreq", out, result)
    return result.requires_grad_() if requires_grad else result


@composite(name="fft_fftfreq", method=False, function=False)
def fftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """The frequencies of fft's elements, for n samples d apart.

    >>> torch.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    k = np.arange(n)
    return _frequencies(np.where(k < (n + 1) // 2, k, k - n) / (n * d) if n else k, out, dtype, device, requires_grad)


@composite(name="fft_rfftfreq", method=False, function=False)
def rfftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """The frequencies of rfft's elements, for n samples d apart.

    >>> torch.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    k = np.arange(n // 2 + 1)
    return _frequencies(k / (n * d) if n else k, out, dtype, device, requires_grad)


def _rolled(input, dim, sign: int):
    dims = tuple(range(input.ndim)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if not dims:
        return input.clone()
    shifts = tuple(input.shape[d] // 2 if sign > 0 else -(input.shape[d] // 2) for d in dims)
    return registry["roll"](input, shifts, dims)


@composite(name="fft_fftshift", method=False, function=False)
def fftshift(input, dim=None):
    """The element of frequency 0 moved to the middle.

    >>> torch.fft.fftshift(torch.tensor([0., 1., -2., -1.]))
    tensor([-2., -1.,  0.,  1.])
    """
    return _rolled(input, dim, 1)


@composite(name="fft_ifftshift", method=False, function=False)
def ifftshift(input, dim=None):
    """The inverse of fftshift.

    >>> torch.fft.ifftshift(torch.tensor([-2., -1., 0., 1.]))
    tensor([ 0.,  1., -2., -1.])
    """
    return _rolled(input, dim, -1)
