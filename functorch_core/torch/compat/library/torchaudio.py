"""The operators of torchaudio's library in C++, which is compiled for PyTorch: filters by SciPy."""

from __future__ import annotations

from collections.abc import Callable

from scipy.signal import lfilter

import functorch_core.torch as torch

from ..._missing import MESSAGE
from .custom_ops import define, operators


def _lfilter_core_loop(input_signal_windows, a_coeff_flipped, padded_output_waveform):
    """Write y[t] = x[t] - a[1] y[t - 1] - ... of each channel of (N, C, T) behind the padding of the output."""
    x, coefficients = input_signal_windows.detach().numpy(), a_coeff_flipped.detach().numpy()[:, ::-1]
    order = coefficients.shape[1]
    for channel, a in enumerate(coefficients):
        found = lfilter(a[:1], a, x[:, channel])
        padded_output_waveform[:, channel, order - 1 :] = torch.from_numpy(found.astype(x.dtype))


def _overdrive_core_loop(waveform, temp, last_in, last_out, output_waveform):
    """Write half of the waveform and three quarters of its high-passed distortion to the output, (C, T) each."""
    distorted = temp.detach().numpy()
    before = 0.995 * last_out.detach().numpy() - last_in.detach().numpy()
    filtered, _ = lfilter([1.0, -1.0], [1.0, -0.995], distorted, zi=before[:, None])
    output_waveform.copy_(waveform * 0.5 + torch.from_numpy(filtered.astype(distorted.dtype)) * 0.75)


def _refusing(name: str) -> Callable:
    def function(*args, **kwargs):
        raise NotImplementedError(MESSAGE.format(name=f"torch.ops.torchaudio.{name}"))

    return function


# By the operator's namespace and schema.
OPERATORS: dict[tuple[str, str], Callable] = {
    ("_torchaudio", "is_align_available() -> bool"): lambda: False,
    ("_torchaudio", "cuda_version() -> int?"): lambda: None,
    (
        "torchaudio",
        "_lfilter_core_loop(Tensor input_signal_windows, Tensor a_coeff_flipped,"
        " Tensor(a!) padded_output_waveform) -> ()",
    ): _lfilter_core_loop,
    (
        "torchaudio",
        "_overdrive_core_loop(Tensor waveform, Tensor temp, Tensor(a!) last_in, Tensor(b!) last_out,"
        " Tensor(c!) output_waveform) -> ()",
    ): _overdrive_core_loop,
    (
        "torchaudio",
        "rnnt_loss_forward(Tensor logits, Tensor targets, Tensor logit_lengths, Tensor target_lengths, int blank,"
        " float clamp, bool fused_log_softmax) -> (Tensor, Tensor?)",
    ): _refusing("rnnt_loss_forward"),
    (
        "torchaudio",
        "forced_align(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank)"
        " -> (Tensor, Tensor)",
    ): _refusing("forced_align"),
}
LIBRARIES = ("_torchaudio", "libtorchaudio")


def define_operators(library: str) -> None:
    """Define the operators; its two libraries have them together."""
    for (namespace, schema), function in OPERATORS.items():
        if (namespace, schema.partition("(")[0]) not in operators:
            define(namespace, schema).kernels["CPU" if "!" in schema else "CompositeImplicitAutograd"] = function
