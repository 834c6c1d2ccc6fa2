"""torch.backends.cpu."""


def get_cpu_capability() -> str:
    """The widest vector instructions of the processor, as far as Linux tells.

    >>> isinstance(torch.backends.cpu.get_cpu_capability(), str)
    True
    """
    try:
        with open("/proc/cpuinfo") as f:
            flags = next((line for line in f if line.startswith("flags")), "")
    except OSError:
        flags = ""
    if "avx512f" in flags:
        return "AVX512"
    return "AVX2" if "avx2" in flags else "DEFAULT"
