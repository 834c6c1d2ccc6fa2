"""Which function of this library is torch.ops.aten.NAME.

PyTorch's functions of torch, torch.linalg, torch.fft and torch.special, and the methods of Tensor,
have the arguments of the operators that they call. Those of torch.nn.functional mostly do; the
others are written here.
"""

from __future__ import annotations

import builtins
import functools
import inspect
from pathlib import Path

import functorch_core.torch as torch

from ..._missing import _missing_function
from ...operators.method_functions import _softmax_backward_data
from ...tape.node_names import rename
from .backward_operators import OWN as BACKWARD

SPACES = ("linalg", "fft", "special")
# Of torch.nn.functional, with arguments of their own there.
OTHERWISE = frozenset(
    """elu embedding_bag fractional_max_pool2d fractional_max_pool3d max_unpool2d
    max_unpool3d upsample""".split()
)
# Losses whose reduction is a number, by its place among the arguments.
LOSSES = dict.fromkeys(
    """huber_loss l1_loss mse_loss multilabel_margin_loss smooth_l1_loss
    soft_margin_loss""".split(),
    ("reduction",),
)
LOSSES["binary_cross_entropy"] = ("weight", "reduction")
LOSSES["nll_loss"] = LOSSES["nll_loss2d"] = LOSSES["nll_loss_nd"] = ("weight", "reduction", "ignore_index")
LOSSES["cross_entropy_loss"] = ("weight", "reduction", "ignore_index", "label_smoothing")
LOSSES["multi_margin_loss"] = ("p", "margin", "weight", "reduction")
LOSSES["huber_loss"] = ("reduction", "delta")
LOSSES["smooth_l1_loss"] = ("reduction", "beta")
# Those that torch has, too, where they reduce nothing by default.
NUMBERED = frozenset(
    """binary_cross_entropy_with_logits cosine_embedding_loss ctc_loss hinge_embedding_loss kl_div margin_ranking_loss
    triplet_margin_loss""".split()
)
OF_NN = {"nll_loss2d": "nll_loss", "nll_loss_nd": "nll_loss", "cross_entropy_loss": "cross_entropy"}
REDUCTIONS = ("none", "mean", "sum")


@functools.cache
def table() -> dict[str, tuple[str, ...]]:
    """The names of PyTorch's operators on tensors, with their overloads."""
    text = (Path(__file__).parent / "aten_names.txt").read_text(encoding="ascii")
    found = {}
    for line in text.replace("\n    ", " ").splitlines():  # indented lines continue
        overloads, _, names = line.partition(":")
        found.update(dict.fromkeys(names.split(), tuple(overloads.split())))
    return found


def find(name: str):
    """(function, overloads) of an operator; None if PyTorch has no operator of that name.

    The function raises NotImplementedError if PyTorch has it and this library has not.
    """
    overloads = table().get(name)
    if overloads is None:
        return None
    function = _function(name)
    if function is None or getattr(function, "is_missing", False) is True:
        function = _missing_function(f"torch.ops.aten.{name}")
    return function, overloads


def _function(name: str):
    from ....nn import functional

    if name in OWN:
        return OWN[name]
    if name in LOSSES:
        return loss_of(name)
    space, _, rest = name.partition("_")
    if space in SPACES and hasattr(getattr(torch, space), rest):
        return getattr(getattr(torch, space), rest)
    for place in (torch, torch.Tensor):
        found = getattr(place, name, None)
        if callable(found) and not getattr(found, "is_missing", False):
            return _reducing(found) if name in NUMBERED else found
    return None if name in OTHERWISE else getattr(functional, name, None)


@functools.cache
def loss_of(name: str, default: int = 1):
    """The loss of nn.functional with its reduction as a number: 0, 1 or 2."""
    parameters, function = LOSSES[name], getattr(torch.nn.functional, OF_NN.get(name, name))

    def loss(self, target, *args, reduction=default, **kwargs):
        given = {**dict(zip(parameters, args)), **kwargs}
        number = given.pop("reduction", reduction)
        return function(self, target, reduction=REDUCTIONS[number], **given)

    loss.__name__ = name
    return loss


def _reducing(function):
    """A loss of torch, by default its mean."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def loss(*args, **kwargs):
        return function(*args, **({} if "reduction" in signature.bind(*args, **kwargs).arguments else MEAN), **kwargs)

    return loss


MEAN = {"reduction": 1}


# ---- operators that are no functions of torch ----------------------------------------------------


def alias(self):
    """A view of the whole tensor."""
    return self.view_as(self)


def lift_fresh(self):
    """The tensor itself."""
    return self


def sym_size(self, dim=None):
    """The shape, or one number of it."""
    return self.size() if dim is None else self.size(dim)


def sym_stride(self, dim=None):
    """The strides, or one of them."""
    return self.stride() if dim is None else self.stride(dim)


def slice(self, dim=0, start=None, end=None, step=1):
    """self[start:end:step] along a dimension."""
    where = [builtins.slice(None)] * self.ndim
    where[dim] = builtins.slice(start, end, step)
    return self[tuple(where)]


def index(self, indices):
    """self[indices]; None stands for all of a dimension."""
    return self[tuple(builtins.slice(None) if i is None else i for i in indices)]


def _softmax(self, dim, half_to_float=False):
    return torch.softmax(self, dim, dtype=torch.float32 if half_to_float else None)


def _log_softmax(self, dim, half_to_float=False):
    return torch.log_softmax(self, dim, dtype=torch.float32 if half_to_float else None)


def _log_softmax_backward_data(grad_output, output, dim, input_dtype):
    """The cotangent of a log_softmax's operand."""
    found = (grad_output - output.exp() * grad_output.sum(dim, keepdim=True)).to(input_dtype)
    rename(found, "LogSoftmaxBackwardDataBackward0", (grad_output, output))
    return found


def _safe_softmax(self, dim, dtype=None):
    """softmax, where a row of -inf alone gives zeros."""
    nothing = (self == float("-inf")).all(dim, keepdim=True)
    found = torch.softmax(self.masked_fill(nothing, 0), dim, dtype=dtype).masked_fill(nothing, 0)
    rename(found, "SafeSoftmaxBackward0", (self,))
    return found


def native_dropout_backward(grad_output, mask, scale):
    """The cotangent of a dropout's operand."""
    found = grad_output * mask * scale
    rename(found, "NativeDropoutBackwardBackward0", (grad_output,))
    return found


def _batch_norm_with_update(input, weight, bias, running_mean, running_var, momentum, eps):
    """Normalised by the batch's statistics; those, and what no CPU needs, too."""
    out, mean, inverse = torch.native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    rename(out, "BatchNormWithUpdateBackward0", (input, weight, bias))
    return out, mean, inverse, torch.empty(0, dtype=torch.uint8)


def _upsample_bilinear2d_aa(input, output_size, align_corners, scale_factors=None, *, scales_h=None, scales_w=None):
    """Images resized with antialiasing, to a size or by factors."""
    from ....nn.functional import interpolate

    if scales_h is not None or scales_w is not None:
        raise NotImplementedError(
            "torch.ops.aten._upsample_bilinear2d_aa with scales_h or scales_w "
            "beside a size is not implemented: give one of the two"
        )
    return interpolate(input, output_size, scale_factors, "bilinear", align_corners, antialias=True)


def _to_copy(self, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, memory_format=None):
    return self.to(device=device, dtype=dtype or self.dtype, copy=True)


def reflection_pad(self, padding):
    """Padded by reflections at the borders."""
    from ....nn.functional import pad

    return pad(self, tuple(padding), "reflect")


def replication_pad(self, padding):
    """Padded with the elements at the borders."""
    from ....nn.functional import pad

    return pad(self, tuple(padding), "replicate")


def elu(self, alpha=1, scale=1, input_scale=1):
    """scale * (x where x > 0, else alpha * (exp(x * input_scale) - 1))."""
    return scale * torch.where(self > 0, self, alpha * torch.expm1(self * input_scale))


def max_pool2d_with_indices_backward(grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices):
    """The cotangent of a max pool's operand: each window's goes to its maximum."""
    everywhere = torch.ones((), dtype=torch.bool)
    places = self.flatten(-2).masked_fill(everywhere, 0)  # whose gradient is zero, not missing
    return places.scatter_add(-1, indices.flatten(-2), grad_output.flatten(-2)).reshape(self.shape)


def _method(name: str):
    def method(self, *args, **kwargs):
        return getattr(self, name)(*args, **kwargs)

    method.__name__ = name
    return method


def _of_copy(name: str):
    """What a method in place makes of a copy."""

    def functional(self, *args, **kwargs):
        return getattr(self.clone(), f"{name}_")(*args, **kwargs)

    functional.__name__ = name
    return functional


OWN = {
    **BACKWARD,
    **{name: _of_copy(name) for name in ("copy", "resize", "zero")},
    **{
        f.__name__: f
        for f in (
            alias,
            lift_fresh,
            sym_size,
            sym_stride,
            slice,
            index,
            elu,
            _softmax,
            _log_softmax,
            _softmax_backward_data,
            _log_softmax_backward_data,
            _to_copy,
            _safe_softmax,
            native_dropout_backward,
            _batch_norm_with_update,
            _upsample_bilinear2d_aa,
            max_pool2d_with_indices_backward,
        )
    },
    **{f"{kind.__name__}{n}d": kind for kind in (reflection_pad, replication_pad) for n in (1, 2, 3)},
    "_local_scalar_dense": _method("item"),
    "_unsafe_view": _method("reshape"),
    "_reshape_alias": _method("reshape"),
    "_unsafe_index": index,
    "lift": lift_fresh,
    "lift_fresh_copy": _method("clone"),
    "sym_numel": _method("numel"),
    "sym_storage_offset": _method("storage_offset"),
    "unfold": _method("unfold"),
}
