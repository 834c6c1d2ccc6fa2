"""torch._C._fft: torch.fft under the names that PyTorch's pickles use."""

from ...namespaces import fft


def __getattr__(name: str):
    return getattr(fft, name.removeprefix("fft_"))
