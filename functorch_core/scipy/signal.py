"""jax.scipy.signal: convolutions, detrending, short-time Fourier transforms and spectra."""

from __future__ import annotations

import functools

import numpy as np

import functorch_core as fc

from .. import primitives as p
from ..array.compose import composed, missing_name, of_arrays, promoted
from ..core import dtypes as dt
from ..core.explain import explaining
from ..numpy.elementwise import as_array, floats
from ..numpy.reductions import median
from ..ops.promotion import canonical_axis

function = functools.partial(composed, space="fc.scipy.signal")

MODES = ("full", "same", "valid")


def _check_mode(name: str, mode: str):
    if mode not in MODES:
        raise ValueError(f"{name}: mode is 'full', 'same' or 'valid', got {mode!r}")


# ---- convolutions --------------------------------------------------------------------------------


def _centred(full, shape):
    """The middle of an array, of a shape."""
    starts = [(n - m) // 2 for n, m in zip(full.shape, shape)]
    return full[tuple(slice(s, s + m) for s, m in zip(starts, shape))]


def _convolved(x, y, mode: str):
    """The convolution over all dimensions, y not larger than x if mode is 'valid'."""
    if x.dtype in dt.COMPLEX:
        re, im = fc.real, fc.imag
        real = _convolved(re(x), re(y), mode) - _convolved(im(x), im(y), mode)
        return real + 1j * (_convolved(re(x), im(y), mode) + _convolved(im(x), re(y), mode))
    pads = {"full": [(m - 1, m - 1) for m in y.shape], "valid": [(0, 0)] * y.ndim}
    pads["same"] = [(m // 2, m - m // 2 - 1) for m in y.shape]
    return of_arrays(p.conv)(x[None, None], fc.flip(y)[None, None], padding=tuple(pads[mode]))[0, 0]


def _pair(name: str, in1, in2, mode: str, ndim: int | None = None):
    _check_mode(name, mode)
    in1, in2 = as_array(in1), as_array(in2)
    if in1.ndim != in2.ndim or (ndim is not None and in1.ndim != ndim):
        wanted = "arrays of equally many dimensions" if ndim is None else f"arrays of {ndim} dimensions"
        raise ValueError(f"{name} takes {wanted}, got {in1.aval} and {in2.aval}")
    if not in1.size or not in2.size:
        raise ValueError(f"{name} takes arrays with elements, got {in1.aval} and {in2.aval}")
    return promoted(in1, in2)


def _valid_order(name: str, in1, in2, mode: str):
    """Whether the second is the larger one, where mode is 'valid'."""
    if mode != "valid" or all(n >= m for n, m in zip(in1.shape, in2.shape)):
        return False
    if not all(n <= m for n, m in zip(in1.shape, in2.shape)):
        raise ValueError(f"{name}: with mode='valid' one is at least as large as the other, {in1.aval} and {in2.aval}")
    return True


@explaining
def convolve(in1, in2, mode="full", method="auto", precision=None):
    """The convolution of two arrays over all dimensions: 'full', 'same' (the size of in1) or 'valid'.

    method: 'direct', 'fft' (for long arrays), or 'auto', which is direct.

    >>> from functorch_core.scipy import signal
    >>> import functorch_core as fc
    >>> signal.convolve(fc.asarray([1., 2., 3.]), fc.asarray([1., 1.]))
    Array([1., 3., 5., 3.], dtype=float32)
    """
    if method == "fft":
        return fftconvolve(in1, in2, mode)
    if method not in ("auto", "direct"):
        raise ValueError(f"convolve: method is 'auto', 'direct' or 'fft', got {method!r}")
    return _convolve(in1, in2, mode=mode)


@function("in1 in2")
def _convolve(in1, in2, mode):
    in1, in2 = _pair("convolve", in1, in2, mode)
    if not in1.ndim:
        return in1 * in2
    if _valid_order("convolve", in1, in2, mode):
        in1, in2 = in2, in1
    if mode == "same":
        return _centred(_convolved(in1, in2, "full"), in1.shape)
    return _convolved(in1, in2, mode)


@function("in1 in2")
def fftconvolve(in1, in2, mode="full", axes=None):
    """The convolution of two arrays by Fourier transforms, over all dimensions or some.

    >>> from functorch_core.scipy import signal
    >>> import functorch_core as fc
    >>> signal.fftconvolve(fc.asarray([1., 2., 3.]), fc.asarray([1., 1.])).round(3)
    Array([1., 3., 5., 3.], dtype=float32)
    """
    in1, in2 = _pair("fftconvolve", in1, in2, mode)
    axes = range(in1.ndim) if axes is None else (axes,) if isinstance(axes, int) else axes
    axes = [canonical_axis(d, in1.ndim, "fftconvolve") for d in axes]
    if _valid_order("fftconvolve", in1, in2, mode):
        in1, in2 = in2, in1
    real = in1.dtype not in dt.COMPLEX
    full = [n + m - 1 for n, m in zip(in1.shape, in2.shape)]
    a, b = in1, in2
    for d in axes:
        a, b = fc.fft.fft(_complex(a), n=full[d], axis=d), fc.fft.fft(_complex(b), n=full[d], axis=d)
    out = a * b
    for d in axes:
        out = fc.fft.ifft(out, n=full[d], axis=d)
    out = fc.real(out) if real else out
    sizes = {"same": in1.shape, "valid": [n - m + 1 for n, m in zip(in1.shape, in2.shape)]}.get(mode)
    if sizes is None:
        return out
    return _centred(out, [n if d in axes else m for d, (n, m) in enumerate(zip(sizes, out.shape))])


def _complex(x):
    return x if x.dtype in dt.COMPLEX else x.astype(dt.complex_of(x.dtype))


def _turned(x):
    """x reversed and conjugated: convolving with it is correlating."""
    return fc.conj(fc.flip(x))


@explaining
def correlate(in1, in2, mode="full", method="auto", precision=None):
    """The sums of products of in1 with in2 moved along it, in2 conjugated; see convolve.

    >>> from functorch_core.scipy import signal
    >>> import functorch_core as fc
    >>> signal.correlate(fc.asarray([1., 2., 3.]), fc.asarray([0., 1.]))
    Array([1., 2., 3., 0.], dtype=float32)
    """
    in1, in2 = as_array(in1), as_array(in2)
    if mode == "valid" and _valid_order("correlate", in1, in2, mode):
        return _turned(convolve(in2, _turned(in1), mode, method))
    return convolve(in1, _turned(in2), mode, method)


BOUNDARIES = {"fill": "constant", "wrap": "wrap", "symm": "symmetric"}


@explaining
def convolve2d(in1, in2, mode="full", boundary="fill", fillvalue=0, precision=None):
    """The convolution of two matrices; boundary: 'fill' (with 0), 'wrap' or 'symm' (mirrored).

    >>> from functorch_core.scipy import signal
    >>> import functorch_core as fc
    >>> signal.convolve2d(fc.eye(2), fc.ones((2, 2)))
    Array([[1., 1., 0.],
           [1., 2., 1.],
           [0., 1., 1.]], dtype=float32)
    """
    return _convolve2d(in1, in2, mode=mode, boundary=boundary, fillvalue=fillvalue)


@function("in1 in2")
def _convolve2d(in1, in2, mode, boundary, fillvalue):
    in1, in2 = _pair("convolve2d", in1, in2, mode, 2)
    if boundary not in BOUNDARIES:
        raise ValueError(f"convolve2d: boundary is 'fill', 'wrap' or 'symm', got {boundary!r}")
    if _valid_order("convolve2d", in1, in2, mode):
        in1, in2 = in2, in1
    if mode == "valid" or (boundary == "fill" and not fillvalue):
        full = _convolved(in1, in2, "valid" if mode == "valid" else "full")
        return _centred(full, in1.shape) if mode == "same" else full
    widths = [(m - 1, m - 1) for m in in2.shape]
    options = {"constant_values": fillvalue} if boundary == "fill" else {}
    full = _convolved(fc.pad(in1, widths, BOUNDARIES[boundary], **options), in2, "valid")
    return _centred(full, in1.shape) if mode == "same" else full


@explaining
def correlate2d(in1, in2, mode="full", boundary="fill", fillvalue=0, precision=None):
    """The correlation of two matrices; see convolve2d.

    >>> from functorch_core.scipy import signal
    >>> import functorch_core as fc
    >>> signal.correlate2d(fc.eye(2), fc.ones((2, 2)))
    Array([[1., 1., 0.],
           [1., 2., 1.],
           [0., 1., 1.]], dtype=float32)
    """
    in1, in2 = as_array(in1), as_array(in2)
    if in1.ndim == in2.ndim == 2 and mode == "valid" and _valid_order("correlate2d", in1, in2, mode):
        return _turned(convolve2d(in2, _turned(in1), mode, boundary, fillvalue))
    if mode == "same":  # whose middle is the other one, where the size of in2 is even
        return fc.flip(convolve2d(fc.flip(in1), fc.conj(in2), mode, boundary, fillvalue))
    return convolve2d(in1, _turned(in2), mode, boundary, fillvalue)


# ---- detrending ----------------------------------------------------------------------------------


@explaining
def detrend(data, axis=-1, type="linear", bp=0, overwrite_data=None):
    """The data without its linear trend (or its mean: 'constant') along an axis, between breaks bp.

    >>> from functorch_core.scipy import signal
    >>> import functorch_core as fc
    >>> signal.detrend(fc.asarray([1., 2., 4.])).round(3)
    Array([ 0.167, -0.333,  0.167], dtype=float32)
    """
    if overwrite_data is not None:
        raise NotImplementedError("detrend: arrays are immutable\n    Leave overwrite_data out.")
    if type not in ("constant", "linear"):
        raise ValueError(f"detrend: type is 'linear' or 'constant', got {type!r}")
    breaks = tuple(int(b) for b in np.atleast_1d(bp))
    return _detrended(data, axis=axis, type=type, breaks=breaks)


@function("data")
def _detrended(data, axis, type, breaks):
    data = floats(data)
    if type == "constant":
        return data - fc.mean(data, axis=axis, keepdims=True)
    data = fc.moveaxis(data, axis, -1)
    n = data.shape[-1]
    edges = sorted({0, *breaks, n})
    if edges[-1] > n:
        raise ValueError(f"detrend: a break in {breaks} is not less than the size {n}")
    parts = []
    for start, stop in zip(edges, edges[1:]):
        x = fc.arange(1, stop - start + 1).astype(data.dtype) / (stop - start)
        part = data[..., start:stop]
        centre, x = fc.mean(part, axis=-1, keepdims=True), x - fc.mean(x)
        size = fc.sum(x * x)
        slope = fc.sum(part * x, axis=-1, keepdims=True) / fc.where(size == 0, fc.ones_like(size), size)
        parts.append(part - centre - slope * x)
    return fc.moveaxis(fc.concat(parts, axis=-1), -1, axis)


# ---- windows and segments ------------------------------------------------------------------------

WINDOWS = {
    "boxcar": (1.0,), "hann": (0.5, 0.5), "hamming": (0.54, 0.46), "blackman": (0.42, 0.5, 0.08),
}  # fmt: skip
NO_WINDOW = "window is an array, or one of {names}; got {window!r}\n    SciPy makes others: scipy.signal.get_window."


def _window(window, nperseg, size: int) -> np.ndarray:
    """A window (periodic, as spectra take it) of a name or an array."""
    if isinstance(window, str):
        if window not in WINDOWS:
            raise ValueError(NO_WINDOW.format(names=", ".join(map(repr, WINDOWS)), window=window))
        n = min(256 if nperseg is None else int(nperseg), size)
        turns = 2 * np.pi * np.arange(n) / n
        return np.asarray(sum((-1) ** k * a * np.cos(k * turns) for k, a in enumerate(WINDOWS[window])) + np.zeros(n))
    found = np.asarray(window)
    if found.ndim != 1 or found.size > size or (nperseg is not None and int(nperseg) != found.size):
        raise ValueError(f"the window has one dimension, of nperseg elements and at most {size}; got {found.shape}")
    return found


def _geometry(nperseg: int, noverlap, nfft):
    noverlap = nperseg // 2 if noverlap is None else int(noverlap)
    nfft = nperseg if nfft is None else int(nfft)
    if noverlap >= nperseg or nfft < nperseg:
        raise ValueError(f"noverlap={noverlap} is less than nperseg={nperseg}, and nfft={nfft} is not")
    return noverlap, nfft


def _segments(x, n: int, step: int):
    """Overlapping parts of the last axis: [..., number, n]."""
    count = (x.shape[-1] - n) // step + 1
    places = np.arange(count)[:, None] * step + np.arange(n)[None, :]
    return fc.reshape(fc.take(x, fc.asarray(places.ravel()), axis=-1), (*x.shape[:-1], count, n))


def _spectra(x, window, noverlap: int, nfft: int, detrending, onesided: bool):
    """The Fourier transforms of windowed segments: [..., number, frequencies]."""
    parts = _segments(x, len(window), len(window) - noverlap)
    if callable(detrending):
        parts = detrending(parts)
    elif detrending:
        parts = detrend(parts, -1, detrending)
    parts = parts * fc.asarray(window).astype(dt.real_of(parts.dtype))
    return fc.fft.rfft(parts, n=nfft) if onesided else fc.fft.fft(_complex(parts), n=nfft)


EXTENSIONS = {"even": "reflect", "odd": "reflect", "constant": "edge", "zeros": "constant", None: None}


def _extended(x, n: int, boundary):
    """x with n elements more at both ends of the last axis."""
    if boundary not in EXTENSIONS:
        raise ValueError(f"boundary is 'zeros', 'even', 'odd', 'constant' or None, got {boundary!r}")
    if boundary is None or not n:
        return x
    out = fc.pad(x, [(0, 0)] * (x.ndim - 1) + [(n, n)], EXTENSIONS[boundary])
    if boundary != "odd":
        return out
    first, last = 2 * x[..., :1] - out[..., :n], 2 * x[..., -1:] - out[..., -n:]
    return fc.concat([first, x, last], axis=-1)


def _frequencies(fs, nfft: int, onesided: bool, dtype):
    found = np.fft.rfftfreq(nfft, 1 / fs) if onesided else np.fft.fftfreq(nfft, 1 / fs)
    return fc.asarray(found).astype(dtype)


# ---- short-time Fourier transforms ---------------------------------------------------------------


@explaining
def stft(
    x,
    fs=1.0,
    window="hann",
    nperseg=256,
    noverlap=None,
    nfft=None,
    detrend=False,
    return_onesided=True,
    boundary="zeros",
    padded=True,
    axis=-1,
):
    """(frequencies, times, spectra): the Fourier transforms of overlapping windows along an axis.

    >>> from functorch_core.scipy import signal
    >>> import functorch_core as fc
    >>> signal.stft(fc.ones(16), nperseg=8)[2].shape
    (5, 5)
    """
    x = floats(x)
    axis = canonical_axis(axis, x.ndim, "stft")
    x = fc.moveaxis(x, axis, -1)
    taps = _window(window, nperseg, x.shape[-1])
    n = taps.size
    noverlap, nfft = _geometry(n, noverlap, nfft)
    step = n - noverlap
    x = _extended(x, n // 2, boundary)
    if padded:
        x = fc.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, (-(x.shape[-1] - n) % step) % n)])
    onesided = return_onesided and x.dtype not in dt.COMPLEX
    out = _spectra(x, taps, noverlap, nfft, detrend, onesided) / float(taps.sum())
    times = np.arange(n / 2, x.shape[-1] - n / 2 + 1, step) / fs - (n / 2 / fs if boundary is not None else 0)
    real = dt.real_of(out.dtype)
    out = fc.moveaxis(out, (-1, -2), (axis, -1)) if out.ndim > 2 else out.T
    return _frequencies(fs, nfft, onesided, real), fc.asarray(times).astype(real), out


@explaining
def istft(
    Zxx,
    fs=1.0,
    window="hann",
    nperseg=None,
    noverlap=None,
    nfft=None,
    input_onesided=True,
    boundary=True,
    time_axis=-1,
    freq_axis=-2,
):
    """(times, signal): the inverse of stft, by adding up overlapping windows.

    >>> from functorch_core.scipy import signal
    >>> import functorch_core as fc
    >>> signal.istft(signal.stft(fc.arange(16.), nperseg=8)[2])[1].round(3)[:3]
    Array([-0.,  1.,  2.], dtype=float32)
    """
    Zxx = _complex(floats(Zxx))
    time, freq = (canonical_axis(d, Zxx.ndim, "istft") for d in (time_axis, freq_axis))
    parts = fc.moveaxis(Zxx, (time, freq), (-2, -1))
    default = 2 * (parts.shape[-1] - 1) if input_onesided else parts.shape[-1]
    n = default if nperseg is None else int(nperseg)
    nfft = (n if not input_onesided or n != default + 1 else default) if nfft is None else int(nfft)
    taps = _window(window, n, max(n, 1))
    noverlap, _ = _geometry(n, noverlap, max(nfft, n))
    step = n - noverlap
    found = fc.fft.irfft(parts, n=nfft) if input_onesided else fc.fft.ifft(parts, n=nfft)
    weights = fc.asarray(taps).astype(dt.real_of(found.dtype))
    found = found[..., :n] * weights * float(taps.sum())
    out, norm = _overlapped(found, step), _overlapped(fc.broadcast_to(weights * weights, found.shape[-2:]), step)
    if boundary:
        out, norm = out[..., n // 2 : -(n // 2) or None], norm[n // 2 : -(n // 2) or None]
    out = out / fc.where(norm > 1e-10, norm, fc.ones_like(norm))
    times = fc.asarray(np.arange(out.shape[-1]) / fs).astype(dt.real_of(out.dtype))
    if out.ndim > 1:
        out = fc.moveaxis(out, -1, time - (freq < time))
    return times, out


def _overlapped(parts, step: int):
    """Parts [..., number, n], each `step` behind the one before, added up."""
    count, n = parts.shape[-2:]
    places = np.arange(count)[:, None] * step + np.arange(n)[None, :]
    out = fc.zeros((*parts.shape[:-2], (count - 1) * step + n), dtype=parts.dtype)
    flat = fc.reshape(parts, (*parts.shape[:-2], count * n))
    return out.at[..., fc.asarray(places.ravel())].add(flat)


# ---- spectra -------------------------------------------------------------------------------------


@explaining
def csd(
    x,
    y,
    fs=1.0,
    window="hann",
    nperseg=None,
    noverlap=None,
    nfft=None,
    detrend="constant",
    return_onesided=True,
    scaling="density",
    axis=-1,
    average="mean",
):
    """(frequencies, the cross spectrum of x and y), by Welch's method: the mean (median) of segments'.

    scaling: 'density' or 'spectrum'. y=None: of x with itself.

    >>> from functorch_core.scipy import signal
    >>> import functorch_core as fc
    >>> signal.csd(fc.ones(16), fc.ones(16), nperseg=8)[1].shape
    (5,)
    """
    if scaling not in ("density", "spectrum"):
        raise ValueError(f"csd: scaling is 'density' or 'spectrum', got {scaling!r}")
    same = y is None or y is x
    x = floats(x)
    axis = canonical_axis(axis, x.ndim, "csd")
    x = fc.moveaxis(x, axis, -1)
    y = x if same else fc.moveaxis(floats(y), axis, -1)
    if not same:
        x, y = _to_one_length(x, y)
    taps = _window(window, nperseg, x.shape[-1])
    noverlap, nfft = _geometry(taps.size, noverlap, nfft)
    onesided = return_onesided and not {x.dtype, y.dtype} & dt.COMPLEX
    first = _spectra(x, taps, noverlap, nfft, detrend, onesided)
    second = first if same else _spectra(y, taps, noverlap, nfft, detrend, onesided)
    scale = 1 / (fs * float((taps * taps).sum())) if scaling == "density" else 1 / float(taps.sum()) ** 2
    out = fc.conj(first) * second * scale
    if onesided:
        double = np.full(out.shape[-1], 2.0)
        double[0] = 1
        if nfft % 2 == 0:
            double[-1] = 1
        out = out * fc.asarray(double).astype(dt.real_of(out.dtype))
    out = _averaged(out, average)
    out = fc.real(out) if same else out
    return _frequencies(fs, nfft, onesided, dt.real_of(out.dtype)), fc.moveaxis(out, -1, axis)


def _to_one_length(x, y):
    x, y = (v + 0 for v in (x, y))
    n = max(x.shape[-1], y.shape[-1])
    x, y = (fc.pad(v, [(0, 0)] * (v.ndim - 1) + [(0, n - v.shape[-1])]) for v in (x, y))
    lead = np.broadcast_shapes(x.shape[:-1], y.shape[:-1])
    return fc.broadcast_to(x, (*lead, n)), fc.broadcast_to(y, (*lead, n))


def _averaged(spectra, average: str):
    """The mean, or the median without its bias, of segments [..., number, frequencies]."""
    if average == "mean":
        return fc.mean(spectra, axis=-2)
    if average != "median":
        raise ValueError(f"average is 'mean' or 'median', got {average!r}")
    n = spectra.shape[-2]
    twice = 2 * np.arange(1.0, (n - 1) // 2 + 1)
    bias = 1 + float(np.sum(1 / (twice + 1) - 1 / twice))
    return (median(fc.real(spectra), -2) + 1j * median(fc.imag(spectra), -2)) / bias


@explaining
def welch(
    x,
    fs=1.0,
    window="hann",
    nperseg=None,
    noverlap=None,
    nfft=None,
    detrend="constant",
    return_onesided=True,
    scaling="density",
    axis=-1,
    average="mean",
):
    """(frequencies, the power spectrum of x), by Welch's method; see csd.

    >>> from functorch_core.scipy import signal
    >>> import functorch_core as fc
    >>> signal.welch(fc.ones(16), nperseg=8)[1].shape
    (5,)
    """
    return csd(x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis, average)


__getattr__ = missing_name(
    "scipy.signal",
    {"oaconvolve": "Use signal.fftconvolve.", "get_window": "Use SciPy's, and pass the array.",
     "lfilter": "Step with fc.scan, or fc.associative_scan."},
)  # fmt: skip

__all__ = [
    "convolve", "convolve2d", "correlate", "correlate2d", "csd", "detrend", "fftconvolve", "istft", "stft", "welch",
]  # fmt: skip
