"""Short-time Fourier transforms and their inverse."""

from __future__ import annotations

import numpy as np

from ....core.warn import warn, warn_once
from ...dispatch.op import composite, registry
from ...tape.meta import is_readable
from ...tensors.base import from_array
from ..nn.vision import pad
from .fourier import fft, ifft, irfft, rfft

NEEDS_RETURN_COMPLEX = (
    "stft requires the return_complex parameter be given for real inputs, and will further require "
    "that return_complex=True in a future PyTorch release."
)
# Below this a sample is divided by next to nothing: PyTorch's limit.
LEAST_OVERLAP = 1e-11


def _lengths(name: str, n_fft, hop_length, win_length) -> tuple[int, int]:
    """(hop, window length), with PyTorch's defaults and errors."""
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if hop <= 0:
        raise RuntimeError(f"{name}: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= n_fft:
        raise RuntimeError(f"{name}: expected 0 < win_length <= n_fft, but got win_length={length}")
    return hop, length


def _window(name: str, window, length: int, n_fft: int):
    """The window in the middle of n_fft points; None if there is none that matters."""
    if window is not None and tuple(window.shape) != (length,):
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to "
            f"win_length={length}, but got window with size {list(window.shape)}"
        )
    if length == n_fft:
        return window
    left = (n_fft - length) // 2
    window = registry["ones"](length) if window is None else window
    return registry["constant_pad_nd"](window, (left, n_fft - length - left))


# ---- stft ----------------------------------------------------------------------------------------


NO_WINDOW = (
    "A window was not provided. A rectangular window will be applied,which is known to cause spectral leakage. Other "
    "windows such as torch.hann_window or torch.hamming_window are recommended to reduce spectral leakage.To suppress "
    "this warning and use a rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`."
)
NO_SYNTHESIS_WINDOW = (
    "A window was not provided. A rectangular window will be applied.Please provide the same window used by stft to "
    "make the inversion lossless.To suppress this warning and use a rectangular window, explicitly set "
    "`window=torch.ones(n_fft, device=<device>)`."
)
REAL_STFT = (
    "stft with return_complex=False is deprecated. In a future pytorch release, stft will return complex tensors for "
    "all inputs, and return_complex=False will raise an error.\n"
    "Note: you can still call torch.view_as_real on the complex output to recover the old return format."
)


@composite(autocast={"cpu": "full"})
def stft(
    input,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    pad_mode="reflect",
    normalized=False,
    onesided=None,
    return_complex=None,
    align_to_window=None,
):
    """The Fourier transforms of overlapping frames: [batch,] frequencies, frames.

    >>> torch.stft(torch.ones(8), 4, center=False, return_complex=True).abs()[0]
    tensor([4., 4., 4., 4., 4.])
    """
    is_complex = input.is_complex() or (window is not None and window.is_complex())
    if window is None:
        warn_once(NO_WINDOW)
    if return_complex is None and not is_complex:
        raise RuntimeError(NEEDS_RETURN_COMPLEX)
    if not (input.is_floating_point() or input.is_complex()) or not 1 <= input.ndim <= 2:
        raise RuntimeError(
            "stft: expected a 1D or 2D tensor of floating point or complex values, "
            f"but got {input.dtype}{list(input.shape)}"
        )
    x = _centered(input, n_fft, pad_mode) if center else input
    if not 0 < n_fft <= x.shape[-1]:
        raise RuntimeError(f"stft: expected 0 < n_fft <= {x.shape[-1]}, but got n_fft={n_fft}")
    hop, length = _lengths("stft", n_fft, hop_length, win_length)
    if align_to_window and not center:
        x = x[..., (n_fft - length) // 2 :]
    window = _window("stft", window, length, n_fft)
    frames = x.unfold(-1, n_fft, hop)
    frames = frames if window is None else frames * window
    onesided = not is_complex if onesided is None else onesided
    if onesided and is_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    transform = rfft if onesided else fft
    out = transform(frames, norm="ortho" if normalized else None).transpose(-1, -2)
    if return_complex is None or return_complex:
        return out
    warn(REAL_STFT)
    return registry["view_as_real"](out)


def _centered(input, n_fft: int, pad_mode: str):
    """The input padded so that frame t is centered at t * hop."""
    batched = input.reshape((1,) * (3 - input.ndim) + tuple(input.shape))
    padded = pad(batched, (n_fft // 2, n_fft // 2), pad_mode)
    return padded.reshape((*input.shape[:-1], padded.shape[-1]))


# ---- istft ---------------------------------------------------------------------------------------


@composite
def istft(
    input,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    normalized=False,
    onesided=None,
    length=None,
    return_complex=False,
):
    """The signal whose stft is nearest to the input, by least squares.

    >>> x = torch.tensor([0., 1., 2., 3., 4., 5., 6., 7.])
    >>> torch.istft(torch.stft(x, 4, return_complex=True), 4)
    tensor([0., 1., 2., 3., 4., 5., 6., 7.])
    """
    onesided = _check_spectrum(input, n_fft, window, onesided, return_complex)
    hop, win_length = _lengths("istft", n_fft, hop_length, win_length)
    if window is None:
        warn_once(NO_SYNTHESIS_WINDOW)
    window = _window("istft", window, win_length, n_fft)
    norm = "ortho" if normalized else None
    columns = input.transpose(-1, -2)
    if return_complex:
        frames = ifft(columns, norm=norm)
    else:  # of a whole spectrum only the first half is read
        frames = irfft(columns[..., : n_fft // 2 + 1], n_fft, norm=norm)
    start, stop = _kept(n_fft, hop, frames.shape[-2], center, length)
    window = registry["ones"](n_fft, device=input.device) if window is None else window
    weights = _overlap_added((window * window).expand(frames.shape[-2:]), hop)
    _check_overlap(weights, start, stop)
    signal = _overlap_added(frames * window, hop)[..., start:stop] / weights[start:stop]
    if length is not None and signal.shape[-1] < length:
        warn(
            "The length of signal is shorter than the length parameter. Result is being "
            "padded with zeros in the tail. Please check your center and hop_length "
            "settings."
        )
        signal = registry["constant_pad_nd"](signal, (0, length - signal.shape[-1]))
    return signal


def _check_spectrum(input, n_fft: int, window, onesided, return_complex: bool) -> bool:
    """Whether the input holds half of the frequencies; errors for what is no spectrum."""
    if not input.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    if not 2 <= input.ndim <= 3 or not input.numel():
        raise RuntimeError(f"istft: expected a non-empty tensor with 2 or 3 dimensions, but got {list(input.shape)}")
    frequencies = input.shape[-2]
    if onesided is None:
        onesided = frequencies != n_fft
    wanted = n_fft // 2 + 1 if onesided else n_fft
    if frequencies != wanted:
        raise RuntimeError(
            "istft: expected the frequency dimension (3rd to the last) of the input "
            f"tensor to match n_fft / 2 + 1 when onesided=True or n_fft when "
            f"onesided=False, but got {frequencies}"
        )
    if return_complex and onesided:
        raise RuntimeError("istft: return_complex=True and onesided=True are incompatible")
    if not return_complex and window is not None and window.is_complex():
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    return onesided


def _overlap_added(frames, hop: int):
    """Frames put hop apart and added where they overlap."""
    count, size = frames.shape[-2:]
    index = (hop * np.arange(count)[:, None] + np.arange(size)).reshape(-1)
    lead = tuple(frames.shape[:-2])
    empty = frames.new_zeros((*lead, hop * (count - 1) + size))
    return empty.index_add(-1, from_array(index), frames.reshape((*lead, -1)))


def _kept(n_fft: int, hop: int, count: int, center: bool, length) -> tuple[int, int]:
    """The first and the end of the samples that are returned."""
    whole = n_fft + hop * (count - 1)
    start = n_fft // 2 if center else 0
    if length is not None:
        return start, min(start + length, whole)
    return start, whole - n_fft // 2 if center else whole


def _check_overlap(weights, start: int, stop: int):
    if is_readable(weights):
        least = np.abs(weights._array()[start:stop]).min(initial=np.inf)
        if not least > LEAST_OVERLAP:
            raise RuntimeError(f"istft: window overlap add min: {least}")
