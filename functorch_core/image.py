"""jax.image: images in another size, by sampling along each dimension."""

from __future__ import annotations

import enum
from collections.abc import Callable

import numpy as np

import functorch_core as fc

from .array.compose import composed, missing_name


class ResizeMethod(enum.Enum):
    """How elements between samples are made."""

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """The method of a name; ValueError for an unknown one."""
        if s not in NAMES:
            raise ValueError(f"the method of resizing is one of {', '.join(map(repr, NAMES))}, got {s!r}")
        return NAMES[s]


NAMES = {
    "nearest": ResizeMethod.NEAREST,
    "linear": ResizeMethod.LINEAR, "bilinear": ResizeMethod.LINEAR, "trilinear": ResizeMethod.LINEAR,
    "triangle": ResizeMethod.LINEAR,
    "lanczos3": ResizeMethod.LANCZOS3, "lanczos5": ResizeMethod.LANCZOS5,
    "cubic": ResizeMethod.CUBIC, "bicubic": ResizeMethod.CUBIC, "tricubic": ResizeMethod.CUBIC,
}  # fmt: skip


def _triangle(x):
    return fc.maximum(0.0, 1.0 - x)


def _cubic(x):
    """Keys' kernel with a = -0.5."""
    near = ((1.5 * x - 2.5) * x) * x + 1.0
    far = ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
    return fc.where(x < 1.0, near, fc.where(x < 2.0, far, 0.0))


def _lanczos(radius: float) -> Callable:
    def kernel(x):
        return fc.where(x < radius, fc.sinc(x) * fc.sinc(x / radius), 0.0)

    return kernel


KERNELS = {
    ResizeMethod.LINEAR: _triangle,
    ResizeMethod.CUBIC: _cubic,
    ResizeMethod.LANCZOS3: _lanczos(3.0),
    ResizeMethod.LANCZOS5: _lanczos(5.0),
}


def _weights(size: int, wanted: int, scale, translation, kernel: Callable, antialias: bool):
    """The matrix (size, wanted) of what each sample has in each result; results outside of the image are 0."""
    step = 1.0 / scale
    width = fc.maximum(step, 1.0) if antialias else 1.0
    places = (fc.arange(wanted, dtype=step.dtype) + 0.5) * step - translation * step - 0.5
    weights = kernel(fc.abs(places[None, :] - fc.arange(size, dtype=step.dtype)[:, None]) / width)
    total = fc.sum(weights, axis=0, keepdims=True)
    small = fc.abs(total) <= 1000.0 * float(np.finfo(np.float32).eps)
    weights = fc.where(small, 0.0, weights / fc.where(small, 1.0, total))
    inside = (places >= -0.5) & (places <= size - 0.5)
    return fc.where(inside[None, :], weights, 0.0)


@composed("image scale translation", space="fc.image")
def scale_and_translate(image, shape, spatial_dims, scale, translation, method, antialias=True):
    """The image in a shape: the sample at x goes to x * scale + translation along each of the spatial dimensions.

    method: "linear", "cubic", "lanczos3", "lanczos5". antialias: kernels grow as the image shrinks.

    >>> import functorch_core as fc
    >>> fc.image.scale_and_translate(fc.arange(4.), (4,), (0,), fc.ones(1), fc.ones(1), "linear")
    Array([0., 0., 1., 2.], dtype=float32)
    """
    method = method if isinstance(method, ResizeMethod) else ResizeMethod.from_string(method)
    if method not in KERNELS:
        raise ValueError("scale_and_translate does not take 'nearest', which fc.image.resize does")
    if len(shape) != image.ndim:
        raise ValueError(
            f"scale_and_translate: the image has {image.ndim} dimensions, shape={tuple(shape)} {len(shape)}"
        )
    image = image if fc.isdtype(image.dtype, "real floating") else fc.astype(image, fc.float32)
    scale, translation = (fc.broadcast_to(fc.asarray(x), (len(spatial_dims),)) for x in (scale, translation))
    for i, d in enumerate(spatial_dims):
        weights = _weights(
            image.shape[d], shape[d], fc.astype(scale[i], image.dtype), fc.astype(translation[i], image.dtype),
            KERNELS[method], antialias,
        )  # fmt: skip
        image = fc.moveaxis(fc.tensordot(image, weights, axes=((d,), (0,))), -1, d)
    return image


@composed("image", space="fc.image")
def resize(image, shape, method, antialias=True):
    """The image in a shape; dimensions whose size stays are left alone.

    method: "nearest", "linear", "cubic", "lanczos3", "lanczos5", or a ResizeMethod.
    Integers come back as floats, but by "nearest".

    >>> import functorch_core as fc
    >>> fc.image.resize(fc.asarray([[0., 1.]]), (1, 4), "linear")
    Array([[0.  , 0.25, 0.75, 1.  ]], dtype=float32)
    """
    method = method if isinstance(method, ResizeMethod) else ResizeMethod.from_string(method)
    if len(shape) != image.ndim:
        raise ValueError(f"resize: the image has {image.ndim} dimensions, shape={tuple(shape)} has {len(shape)}")
    dims = [d for d in range(image.ndim) if image.shape[d] != shape[d]]
    if method is ResizeMethod.NEAREST:
        for d in dims:
            n, m = image.shape[d], shape[d]
            image = fc.take(image, fc.asarray((np.arange(m) + 0.5) * n // m, dtype=fc.int64), axis=d)
        return image
    out = image if fc.isdtype(image.dtype, "real floating") else fc.astype(image, fc.float32)
    if dims:
        scale = fc.asarray([shape[d] / image.shape[d] for d in dims], dtype=out.dtype)
        out = scale_and_translate(
            out, shape, tuple(dims), scale, fc.zeros(len(dims), dtype=out.dtype), method, antialias
        )
    return out


__getattr__ = missing_name("image", {})
__all__ = ["ResizeMethod", "resize", "scale_and_translate"]
