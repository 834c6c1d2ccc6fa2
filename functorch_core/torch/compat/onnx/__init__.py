"""torch.onnx: there is no export; the questions whether one is going on are answered with no."""

from __future__ import annotations

import enum

from ... import _missing
from ..version import __version__ as _version

__getattr__ = _missing.getter(__name__)
producer_name, producer_version = "pytorch", _version


class TrainingMode(enum.IntEnum):
    """In which mode a model would be exported.

    >>> torch.onnx.TrainingMode.EVAL.name
    'EVAL'
    """

    EVAL, PRESERVE, TRAINING = range(3)


class OperatorExportTypes(enum.IntEnum):
    """How operators would be exported.

    >>> torch.onnx.OperatorExportTypes.ONNX.name
    'ONNX'
    """

    ONNX, ONNX_ATEN, ONNX_ATEN_FALLBACK, ONNX_FALLTHROUGH = range(4)


def is_in_onnx_export() -> bool:
    """False: nothing is exported.

    >>> torch.onnx.is_in_onnx_export()
    False
    """
    return False
