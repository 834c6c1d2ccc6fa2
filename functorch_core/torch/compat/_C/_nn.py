"""torch._C._nn: torch.nn.functional under the names that PyTorch's pickles use."""

import functools
import math

import numpy as _np

from ....nn import functional
from ....nn.modules._names import parse_to as _parse_to
from ..._missing import getter as _getter
from ...dispatch.op import write_out
from ...operators.nn import resize as _resize
from ...operators.values import c_name as _c_name
from ..library import aten

_missing_or_error = _getter(__name__)


def __getattr__(name: str):
    if name in aten.LOSSES:
        return aten.loss_of(name, 0)  # reducing nothing by default
    found = getattr(functional, "logsigmoid" if name == "log_sigmoid" else name, None)
    return _missing_or_error(name) if found is None else found


# ---- padding by the names of PyTorch's kernels -----------------------------------------------------


def _padded(mode: str, n: int, input, padding, *, out=None):
    """The last n dimensions padded by 2 n numbers."""
    if len(padding) != 2 * n:
        raise RuntimeError(f"padding size is expected to be {2 * n}, but got: {len(padding)}")
    return write_out(f"{mode}_pad{n}d", out, functional.pad(input, tuple(padding), mode))


for _n in (1, 2, 3):
    globals()[f"reflection_pad{_n}d"] = functools.partial(_padded, "reflect", _n)
    globals()[f"replication_pad{_n}d"] = functools.partial(_padded, "replicate", _n)


# ---- resizing by the names of PyTorch's kernels ----------------------------------------------------


def _resized(name: str, mode: str, n: int, input, output_size, *rest, align_corners=False, out=None, **named):
    """The last n dimensions resized to output_size, or by factors: a list of them, or one argument each."""
    if rest and isinstance(rest[0], bool) and not mode.startswith("nearest"):
        align_corners, *rest = rest
    factors = named.get("scale_factors")
    if factors is None and len(rest) == 1 and isinstance(rest[0], (list, tuple)):
        (factors,) = rest
    if factors is None:
        letters = ["scales"] if n == 1 else ["scales_d", "scales_h", "scales_w"][-n:]
        factors = [*rest, *(named.get(letter) for letter in letters[len(rest) :])]
    if output_size is None:
        output_size = [math.floor(size * f) for size, f in zip(input.shape[-n:], factors)]
    for what, found, wanted in (("output_size", len(output_size), n), ("input_size", input.ndim, n + 2)):
        if found != wanted:
            raise RuntimeError(f"It is expected {what} equals to {wanted}, but got size {found}")
    if out is not None:
        _check_out(input, out)
    made = _resize._upsample(input, tuple(output_size), mode, tuple(factors), align_corners, False)
    return write_out(name, out, made)


def _check_out(input, out):
    if out.device != input.device:
        raise RuntimeError(
            f"Attempting to copy from device {input.device} to device {out.device}, but cross-device copies are not "
            "allowed!"
        )
    if out.dtype is not input.dtype:
        kinds = str(input.dtype), str(out.dtype)
        if not input.is_meta:
            kinds = tuple(_c_name(_np.empty(0, x.dtype.numpy)) for x in (input, out))
        raise RuntimeError(
            f"Expected out tensor to have dtype {kinds[0]}{_COMMA[input.is_meta]} but got {kinds[1]} instead"
        )


_COMMA = {False: ",", True: ""}  # before "but", as PyTorch's kernels and its rules for the meta device have it
for _mode, _n in (("nearest", 1), ("nearest", 2), ("nearest", 3), ("linear", 1), ("bilinear", 2), ("bicubic", 2)):
    globals()[f"upsample_{_mode}{_n}d"] = functools.partial(_resized, f"upsample_{_mode}{_n}d", _mode, _n)
upsample_trilinear3d = functools.partial(_resized, "upsample_trilinear3d", "trilinear", 3)
for _n in (1, 2, 3):
    _name = f"_upsample_nearest_exact{_n}d"
    globals()[_name] = functools.partial(_resized, _name, "nearest-exact", _n)
