"""The operators of torchvision's libraries in C++, which are compiled for PyTorch, written with torch functions.

`torch.ops.load_library` of torchvision's `_C` and `image` defines them, so that torchvision's own Python runs.
"""

from __future__ import annotations

from collections.abc import Callable

from ...._missing import MESSAGE
from ..custom_ops import define, operators
from . import deformable, images, regions

_ROIS = "Tensor rois, {}float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_SIZES = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
# Torchvision registers formulas for these; nothing calls the backward ones, as derivatives follow from the others.
_NOT_COMPUTED = [
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qroi_align(Tensor input, Tensor rois, float input_scale, int input_zero_point, float rois_scale, "
    "int rois_zero_point, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio, "
    "bool aligned) -> Tensor",
    "box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor",
    f"_roi_align_backward(Tensor grad, {_ROIS.format('')}, {_SIZES}, int sampling_ratio, bool aligned) -> Tensor",
    f"_roi_pool_backward(Tensor grad, {_ROIS.format('Tensor argmax, ')}, {_SIZES}) -> Tensor",
    f"_ps_roi_align_backward(Tensor grad, {_ROIS.format('Tensor channel_mapping, ')}, int sampling_ratio, {_SIZES})"
    " -> Tensor",
    f"_ps_roi_pool_backward(Tensor grad, {_ROIS.format('Tensor channel_mapping, ')}, {_SIZES}) -> Tensor",
    "_deform_conv2d_backward(Tensor grad, " + deformable.ARGUMENTS + ") -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
]


def _refusing(schema: str) -> Callable:
    name = f"torch.ops.torchvision.{schema.partition('(')[0]}"

    def function(*args, **kwargs):
        raise NotImplementedError(MESSAGE.format(name=name))

    return function


# By the name of the library's file: schemas, and what computes them.
LIBRARIES: dict[str, dict[str, Callable]] = {
    "_C": {
        **regions.OPERATORS,
        **deformable.OPERATORS,
        "_cuda_version() -> int": lambda: -1,
        **{s: _refusing(s) for s in _NOT_COMPUTED},
    },
    "image": images.OPERATORS,
}
LIBRARIES["_C_stable"] = LIBRARIES["_C"]  # its name in later versions
NAMESPACES = {"image": "image"}


def define_operators(library: str) -> None:
    """Define the operators of one of torchvision's libraries."""
    namespace = NAMESPACES.get(library, "torchvision")
    for schema, function in LIBRARIES[library].items():
        if (namespace, schema.partition("(")[0]) not in operators:
            define(namespace, schema).kernels["CompositeImplicitAutograd"] = function
