"""torch.backends.cpu."""

from .....xla import processor as _processor


def get_cpu_capability() -> str:
    """The widest vector instructions of the processor, as far as Linux tells.

    >>> isinstance(torch.backends.cpu.get_cpu_capability(), str)
    True
    """
    if _processor.has_wide_vectors():
        return "AVX512"
    return "AVX2" if "avx2" in _processor.about("flags") else "DEFAULT"
