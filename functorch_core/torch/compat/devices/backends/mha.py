"""torch.backends.mha: whether multi-head attention may take another way in inference; kept."""

_fastpath = [True]


def get_fastpath_enabled() -> bool:
    """Whether the fast path is allowed."""
    return _fastpath[0]


def set_fastpath_enabled(value: bool) -> None:
    """Allow the fast path, or not; XLA has one way."""
    _fastpath[0] = bool(value)
