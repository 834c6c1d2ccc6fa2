"""Files of images as tensors, by Pillow."""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np

import functorch_core.torch as torch

# By the number of torchvision.io.ImageReadMode; 0 leaves an image as it is.
MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}


def _pillow(name: str):
    try:
        return importlib.import_module(f"PIL.{name}")
    except ImportError as error:
        raise RuntimeError("torchvision's images need Pillow here: pip install pillow") from error


def read_file(filename: str):
    """The bytes of a file."""
    return torch.from_numpy(np.frombuffer(Path(filename).read_bytes(), np.uint8).copy())


def write_file(filename: str, data):
    """Write bytes to a file."""
    Path(filename).write_bytes(_bytes(data))


def _bytes(data) -> bytes:
    if data.dtype != torch.uint8 or data.dim() != 1:
        raise RuntimeError(
            f"Expected a 1-dimensional tensor of dtype uint8, got {data.dtype} of {data.dim()} dimensions"
        )
    return data.numpy().tobytes()


def decode_image(data, mode: int = 0, apply_exif_orientation: bool = False):
    """(channels, height, width) of an encoded image, uint8."""
    image = _pillow("Image").open(io.BytesIO(_bytes(data)))
    if apply_exif_orientation:
        image = _pillow("ImageOps").exif_transpose(image)
    return _as_tensor(image, mode)


def _as_tensor(image, mode: int):
    if mode:
        image = image.convert(MODES[mode])
    elif image.mode not in MODES.values():
        if image.mode.startswith("I"):
            raise NotImplementedError(f"images of mode {image.mode!r} (16 bits) are not implemented by functorch-core")
        image = image.convert("RGBA" if "transparency" in image.info else "RGB" if image.mode != "1" else "L")
    array = np.asarray(image, np.uint8)
    return torch.from_numpy(np.array(array.reshape(*array.shape[:2], -1).transpose(2, 0, 1), order="C"))


def decode_webp(data, mode: int = 0):
    """An image in WebP."""
    return decode_image(data, mode)


def decode_gif(data):
    """(channels, height, width), or (frames, channels, height, width) of an animated one."""
    image = _pillow("Image").open(io.BytesIO(_bytes(data)))
    frames = [_as_tensor(frame, 3) for frame in _pillow("ImageSequence").Iterator(image)]
    return frames[0] if len(frames) == 1 else torch.stack(frames)


def _encoded(image, kind: str, **options):
    if image.dtype != torch.uint8 or image.dim() != 3 or image.size(0) not in (1, 3):
        raise RuntimeError(f"Input image must be uint8 (1 or 3, H, W), got {image.dtype} {tuple(image.shape)}")
    array = image.permute(1, 2, 0).contiguous().numpy()
    found = io.BytesIO()
    _pillow("Image").fromarray(array[..., 0] if array.shape[2] == 1 else array).save(found, kind, **options)
    return torch.from_numpy(np.frombuffer(found.getvalue(), np.uint8).copy())


def encode_png(image, compression_level: int):
    """A PNG's bytes."""
    return _encoded(image, "PNG", compress_level=compression_level)


def encode_jpeg(image, quality: int):
    """A JPEG's bytes."""
    return _encoded(image, "JPEG", quality=quality)


OPERATORS: dict[str, Callable] = {
    "read_file(str filename) -> Tensor": read_file,
    "write_file(str filename, Tensor data) -> ()": write_file,
    "decode_image(Tensor data, int mode, bool apply_exif_orientation=False) -> Tensor": decode_image,
    "decode_png(Tensor data, int mode, bool apply_exif_orientation=False) -> Tensor": decode_image,
    "decode_jpeg(Tensor data, int mode, bool apply_exif_orientation=False) -> Tensor": decode_image,
    "decode_webp(Tensor data, int mode) -> Tensor": decode_webp,
    "decode_gif(Tensor data) -> Tensor": decode_gif,
    "encode_png(Tensor data, int compression_level) -> Tensor": encode_png,
    "encode_jpeg(Tensor data, int quality) -> Tensor": encode_jpeg,
}
