"""The errors of processes that work together."""


class DistError(RuntimeError):
    """An error of processes that work together.

    >>> issubclass(torch.distributed.DistError, RuntimeError)
    True
    """

    __module__ = "torch.distributed"


class DistBackendError(DistError):
    """An error of the backend.

    >>> issubclass(torch.distributed.DistBackendError, torch.distributed.DistError)
    True
    """

    __module__ = "torch.distributed"


class DistNetworkError(DistError):
    """A connection to another process failed.

    >>> issubclass(torch.distributed.DistNetworkError, torch.distributed.DistError)
    True
    """

    __module__ = "torch.distributed"


class DistStoreError(DistError):
    """A value did not come within the timeout, or a store is not there.

    >>> issubclass(torch.distributed.DistStoreError, torch.distributed.DistError)
    True
    """

    __module__ = "torch.distributed"


class QueueEmptyError(DistStoreError):
    """A store's queue has no value.

    >>> torch.distributed.HashStore().queue_len("none")
    0
    """

    __module__ = "torch.distributed"
