"""torch.nn.backends.thnn: kept for old pickles."""


def _get_thnn_function_backend() -> None:
    """What old pickles of modules refer to."""
