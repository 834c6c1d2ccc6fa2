"""DataPipes, which are not implemented: their names exist, and raise when they are used."""
from __future__ import annotations

MISSING = ("torch.utils.data.{} is not implemented: DataPipes are deprecated in PyTorch. Write the "
           "pipeline as a Dataset or IterableDataset.")


class _Unavailable(type):
    def __call__(cls, *args, **kwargs):
        raise NotImplementedError(MISSING.format(cls.__name__))


class IterDataPipe(metaclass=_Unavailable):
    """Not implemented."""


class MapDataPipe(metaclass=_Unavailable):
    """Not implemented."""


class DFIterDataPipe(metaclass=_Unavailable):
    """Not implemented."""


class DataChunk(metaclass=_Unavailable):
    """Not implemented."""


def _unavailable(name: str):
    def function(*args, **kwargs):
        raise NotImplementedError(MISSING.format(name))
    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Not implemented."
    return function


argument_validation, functional_datapipe, guaranteed_datapipes_determinism, non_deterministic, \
    runtime_validation, runtime_validation_disabled = map(_unavailable, (
        "argument_validation", "functional_datapipe", "guaranteed_datapipes_determinism",
        "non_deterministic", "runtime_validation", "runtime_validation_disabled"))
