"""torch.backends.mha: whether multi-head attention may take another way in inference; kept."""

_fastpath = [True]


def get_fastpath_enabled() -> bool:
    """Whether the fast path is allowed.

    >>> torch.backends.mha.get_fastpath_enabled()
    True
    """
    return _fastpath[0]


def set_fastpath_enabled(value: bool) -> None:
    """Allow the fast path, or not; XLA has one way.

    >>> torch.backends.mha.set_fastpath_enabled(True)
    """
    _fastpath[0] = bool(value)
