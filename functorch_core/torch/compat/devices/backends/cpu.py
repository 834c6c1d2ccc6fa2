"""torch.backends.cpu."""


def get_cpu_capability() -> str:
    """The widest vector instructions of the processor, as far as Linux tells.

    >>> isinstance(torch.backends.cpu.get_cpu_capability(), str)
    True
    """
    from .....xla.processor import about, has_wide_vectors

    if has_wide_vectors():
        return "AVX512"
    return "AVX2" if "avx2" in about("flags") else "DEFAULT"
