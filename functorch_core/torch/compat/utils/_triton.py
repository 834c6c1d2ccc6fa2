"""torch.utils._triton: Triton is never used here: XLA compiles."""


def has_triton() -> bool:
    """False."""
    return False


has_triton_package = has_triton_tma = has_triton_tma_device = has_triton
