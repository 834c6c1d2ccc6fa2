"""torch.__future__: switches of how nn.Module converts its parameters."""

_overwrite = _swap = False


def set_overwrite_module_params_on_conversion(value: bool):
    """Whether module.to(...) assigns new parameters instead of changing the old ones' data."""
    global _overwrite
    _overwrite = bool(value)


def get_overwrite_module_params_on_conversion() -> bool:
    """What set_overwrite_module_params_on_conversion has set."""
    return _overwrite


def set_swap_module_params_on_conversion(value: bool):
    """Whether module.to(...) swaps parameters with new ones."""
    global _swap
    _swap = bool(value)


def get_swap_module_params_on_conversion() -> bool:
    """What set_swap_module_params_on_conversion has set."""
    return _swap
