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


_symbolic: dict[tuple[str, int], object] = {}  # what exporting would write operators with


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn, opset_version: int, custom_opset_version: int = 1):
    """Keep a function that writes a custom operator in ONNX. Exporting itself is not there.

    Args:
        symbolic_name: the operator, "namespace::name".
        symbolic_fn: the function, of a graph and the operator's arguments.
        opset_version: the version of ONNX's operators that it is for.

    >>> torch.onnx.register_custom_op_symbolic("mine::op", lambda g, x: x, 11)
    >>> torch.onnx.unregister_custom_op_symbolic("mine::op", 11)
    """
    namespace, _, name = symbolic_name.partition("::")
    if not namespace or not name:
        raise ValueError(
            f"Failed to register operator {symbolic_name}. The symbolic name must match the format 'domain::name'"
        )
    _symbolic[symbolic_name, opset_version] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int):
    """Forget what `register_custom_op_symbolic` keeps.

    >>> torch.onnx.unregister_custom_op_symbolic("mine::nothing", 11)
    """
    _symbolic.pop((symbolic_name, opset_version), None)
