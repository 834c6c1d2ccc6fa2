"""functorch_core.scipy.signal against SciPy: values in every tier, gradients by finite differences."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal

from functorch_core.scipy import signal
from tests.array.against import Case, check_gradient, check_values

rng = np.random.default_rng(9)
DATA = {
    "v": rng.normal(size=9),
    "w": rng.normal(size=4),
    "k": rng.integers(-5, 5, size=6),
    "x": rng.normal(size=(5, 6)),
    "y": rng.normal(size=(3, 2)),
    "z": rng.normal(size=5) + 1j * rng.normal(size=5),
    "long": rng.normal(size=(2, 40)),
    "other": rng.normal(size=(2, 40)),
    "taps": np.hanning(10)[1:-1],
    "spectra": rng.normal(size=(5, 7)) + 1j * rng.normal(size=(5, 7)),
}
CASES = """
~ convolve(v, w)
convolve(w, v, "same")
convolve(v, w, "same")
convolve(w, v, "valid")
convolve(k, k)
convolve(z, v)
~ convolve(x, y, "same")
convolve(x, y, "valid", method="fft")
~ fftconvolve(v, w)
fftconvolve(x, y, "same")
fftconvolve(x, y, "valid")
fftconvolve(x, x, axes=1)
~ correlate(v, w)
correlate(v, w, "same")
correlate(w, v, "valid")
correlate(z, z)
correlate(x, y, "same")
~ convolve2d(x, y)
convolve2d(x, y, "same", boundary="wrap")
convolve2d(x, y, "full", boundary="symm")
convolve2d(x, y, "same", fillvalue=2.0)
convolve2d(x, y, "valid")
correlate2d(x, y)
correlate2d(x, y, "same")
correlate2d(y, x, "valid")
~ detrend(x)
detrend(x, axis=0, type="constant")
detrend(long, bp=[10, 25])
stft(long[0], nperseg=8)[2]
stft(long, fs=2.0, nperseg=8)
stft(long, nperseg=8, noverlap=2, nfft=12, boundary=None, padded=False)
stft(long, window="hamming", nperseg=9, boundary="even", detrend="constant")
stft(long, nperseg=8, boundary="odd", return_onesided=False)
stft(long, window=taps, nperseg=8)
istft(spectra)
istft(spectra, window="boxcar", noverlap=6, boundary=False)
istft(stft(long, nperseg=8)[2], nperseg=8)[1]
~ welch(long, nperseg=8)[1]
welch(long, fs=10.0, nperseg=8, noverlap=3, scaling="spectrum")
welch(long, nperseg=8, average="median", detrend="linear")
welch(long, window="blackman", nperseg=9, return_onesided=False)
welch(x, nperseg=4, axis=0)
csd(long, other, nperseg=8)
csd(long, other[:, :30], nperseg=8, average="median")
""".strip().splitlines()


@pytest.mark.parametrize("line", CASES)
def test_values(line):
    mark = "!" if "taps" in line else ""  # a window is known
    check_values(Case(mark + line, DATA), signal, scipy.signal, 1e-9)


@pytest.mark.parametrize("line", [line for line in CASES if "~" in line])
def test_gradients(line):
    check_gradient(Case(line, DATA), signal, scipy.signal)


def test_what_is_wrong_says_so():
    with pytest.raises(ValueError, match="'full', 'same' or 'valid'"):
        signal.convolve(DATA["v"], DATA["w"], "all")
    with pytest.raises(ValueError, match="scipy.signal.get_window"):
        signal.welch(DATA["v"], window="tukey")
