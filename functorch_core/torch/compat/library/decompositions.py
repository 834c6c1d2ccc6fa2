"""What PyTorch takes apart above `__torch_dispatch__`, and into which operators."""

from __future__ import annotations

import math

import functorch_core.torch as torch

from ...tensors.base import Tensor, wrap_dim
from . import ops
from .calls import COMPOSITES, FUNCTIONAL, FUNCTIONS, METHODS, TORCH, call, named_tuple
from .dispatching import computing
from .overloads import choose

a = ops.aten


def chosen(name: str, *args, **kwargs):
    """The overload of an operator that these arguments mean, called."""
    return call(*choose(name, args, kwargs))


# ---- shapes --------------------------------------------------------------------------------------


def sizes_of(args: tuple) -> list[int]:
    """Sizes that are given one by one, or as one list."""
    one = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
    return [int(n) for n in one]


def _known(shape: list[int], size: int) -> list[int]:
    """A shape with its -1 found out."""
    if -1 not in shape:
        return shape
    rest = math.prod([n for n in shape if n != -1])
    return [size // rest if n == -1 else n for n in shape] if rest else shape


def reshape(input, *shape, **kwargs):
    """A view where the elements lie in order, else a copy."""
    sizes = sizes_of(shape or (kwargs["shape"],))
    if input.is_contiguous() or list(input.shape) == sizes:
        return a.view.default(input, sizes)
    known = _known(sizes, input.numel())
    if _is_viewable(input, known):
        return a.view.default(input, sizes)
    return a._unsafe_view.default(a.clone.default(input, memory_format=torch.contiguous_format), known)


def _is_viewable(x, shape) -> bool:
    try:
        with computing():
            torch.empty_strided(tuple(x.shape), x.stride(), device="meta").view(shape)
    except RuntimeError:
        return False
    return True


def flatten(input, start_dim=0, end_dim=-1):
    """Dimensions from start_dim to end_dim as one."""
    start, end = wrap_dim(start_dim, input.ndim), wrap_dim(end_dim, input.ndim)
    if input.ndim and start == end:
        return input
    shape = list(input.shape)
    return reshape(input, [*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]])


def unflatten(input, dim, sizes):
    """One dimension as several."""
    dim, shape = wrap_dim(dim, input.ndim), list(input.shape)
    return a.view.default(input, [*shape[:dim], *_known(list(sizes), shape[dim]), *shape[dim + 1 :]])


def narrow(input, dim, start, length):
    """A part of a dimension."""
    start = int(start)
    start = start + input.shape[dim] if start < 0 else start
    return a.slice.Tensor(input, dim, start, start + length)


def movedim(input, source, destination):
    """Dimensions in other places."""
    source, destination = [[d] if isinstance(d, int) else list(d) for d in (source, destination)]
    n = input.ndim
    source, destination = [d % n for d in source], [d % n for d in destination]
    rest = iter([d for d in range(n) if d not in source])
    at = dict(zip(destination, source))
    return a.permute.default(input, [at[i] if i in at else next(rest) for i in range(n)])


def transposed(input):
    """x.T."""
    return a.permute.default(input, list(range(input.ndim))[::-1])


def chunk(input, chunks, dim=0):
    """Parts of equal size."""
    size = -(-input.shape[dim] // chunks)
    return tuple(a.split.Tensor(input, size, dim))


def split(tensor, split_size_or_sections, dim=0):
    """Parts of a size, or of sizes."""
    how = split_size_or_sections
    return tuple(chosen("split" if isinstance(how, int) else "split_with_sizes", tensor, how, dim))


def contiguous(input, memory_format=torch.contiguous_format):
    """The tensor itself, if it lies in order, else a copy."""
    return (
        input
        if input.is_contiguous(memory_format=memory_format)
        else a.clone.default(input, memory_format=memory_format)
    )


# ---- indexing ------------------------------------------------------------------------------------

END = (1 << 63) - 1


def getitem(self, index):
    """x[index] by select, slice, unsqueeze and index."""
    x, indices = _parts(self, index)
    if any([i is not None for i in indices]):
        return a.index.Tensor(x, indices)
    return a.alias.default(x) if x is self else x


def setitem(self, index, value):
    """x[index] = value, by copying into the part, or index_put_."""
    if not isinstance(value, Tensor):
        value = lifted(value, dtype=self.dtype)
    part, indices = _parts(self, index)
    if any([i is not None for i in indices]):
        a.index_put_.default(part, indices, value)
    else:
        a.copy_.default(part, value)


def _parts(x, index) -> tuple:
    """(the part of x that plain indices show, the tensors that index it)."""
    index = list(index) if isinstance(index, tuple) else [index]
    index = [torch.tensor(i) if isinstance(i, list) else i for i in index]
    taken = sum([0 if i is None or i is Ellipsis else i.ndim if _is_mask(i) else 1 for i in index])
    dim, indices = 0, []
    for i in index:
        if i is Ellipsis:
            n = x.ndim - dim - (taken - sum([0 if j is None or j is Ellipsis else 1 for j in index[: index.index(i)]]))
            dim, indices = dim + n, indices + [None] * n
        elif i is None:
            x, dim = a.unsqueeze.default(x, dim), dim + 1
            indices.append(None)
        elif isinstance(i, slice):
            x, dim = _sliced(x, dim, i), dim + 1
            indices.append(None)
        elif isinstance(i, Tensor):
            indices += [i]
            dim += i.ndim if _is_mask(i) else 1
        elif isinstance(i, bool):
            raise NotImplementedError("x[bool] below __torch_dispatch__ is not implemented by functorch-core")
        else:
            x = a.select.int(x, dim, int(i))
    return x, indices


def _is_mask(i) -> bool:
    return isinstance(i, Tensor) and i.dtype in (torch.bool, torch.uint8)


def _sliced(x, dim: int, i: slice):
    start, stop, step = i.start, i.stop, i.step
    if start is None and stop is None and step in (None, 1):
        return x
    return a.slice.Tensor(x, dim, 0 if start is None else int(start), END if stop is None else int(stop), step or 1)


# ---- products ------------------------------------------------------------------------------------


def matmul(input, other):
    """x @ y by dot, mv, mm or bmm."""
    n, m = input.ndim, other.ndim
    if n == 1 and m == 1:
        return a.dot.default(input, other)
    if n == 2 and m == 1:
        return a.mv.default(input, other)
    if n == 1 and m == 2:
        return a.squeeze_.dim(a.mm.default(a.unsqueeze.default(input, 0), other), 0)
    if n == 2 and m == 2:
        return a.mm.default(input, other)
    if n >= 3 and m in (1, 2):
        rows = a.view.default(input, [math.prod(input.shape[:-1]), input.shape[-1]])
        if m == 1:
            return a._unsafe_view.default(a.mv.default(rows, other), list(input.shape[:-1]))
        return a._unsafe_view.default(a.mm.default(rows, other), [*input.shape[:-1], other.shape[-1]])
    return _batches(input, other)


def _batches(input, other):
    x = a.unsqueeze.default(input, 0) if input.ndim == 1 else input
    y = a.unsqueeze.default(other, 1) if other.ndim == 1 else other
    lead = list(torch.broadcast_shapes(tuple(x.shape[:-2]), tuple(y.shape[:-2])))
    (n, k), m, b = x.shape[-2:], y.shape[-1], math.prod(lead)
    x = reshape(a.expand.default(x, [*lead, n, k]), [b, n, k])
    y = reshape(a.expand.default(y, [*lead, k, m]), [b, k, m])
    shape = [*lead, *([n] if input.ndim > 1 else []), *([m] if other.ndim > 1 else [])]
    return a._unsafe_view.default(a.bmm.default(x, y), shape)


def linear(input, weight, bias=None):
    """input @ weight.T + bias."""
    if bias is None:
        weight = a.t.default(weight)
        return matmul(input, weight)
    if input.ndim == 2:
        return a.addmm.default(bias, input, a.t.default(weight))
    if input.ndim >= 3 and input.is_contiguous():
        rows = a.view.default(input, [math.prod(input.shape[:-1]), input.shape[-1]])
        found = a.addmm.default(bias, rows, a.t.default(weight))
        return a.view.default(found, [*input.shape[:-1], weight.shape[0]])
    return a.add.Tensor(matmul(input, a.t.default(weight)), bias)


def outer(input, vec2):
    """The product of each element with each."""
    return a.mul.Tensor(reshape(input, [input.shape[0], 1]), vec2)


def _convolution(n: int):
    def convolved(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        if isinstance(padding, str):
            raise NotImplementedError(
                f"conv{n}d(padding={padding!r}) below __torch_dispatch__ is not implemented by functorch-core"
            )
        batched = input.ndim == n + 2
        x = input if batched else a.unsqueeze.default(input, 0)
        how = _each(stride, n), _each(padding, n), _each(dilation, n), False, [0] * n, groups
        found = a.convolution.default(x, weight, bias, *how)
        return found if batched else a.squeeze.dim(found, 0)

    return convolved


def _each(x, n: int) -> list[int]:
    found = [x] if isinstance(x, int) else list(x)
    return found * n if len(found) == 1 else found


# ---- arithmetic ----------------------------------------------------------------------------------


def rdiv(self, other):
    """other / self."""
    return chosen("mul", a.reciprocal.default(self), other)


def rpow(self, other):
    """other ** self."""
    return chosen("pow", other, self)


def square(input):
    """x ** 2."""
    return a.pow.Tensor_Scalar(input, 2)


def _reduced(name: str):
    """max and min: of two tensors, along a dimension, of all."""

    def reduced(input, *args, **kwargs):
        other = kwargs.get("other", args[0] if args else None)
        if isinstance(other, Tensor):
            return chosen(f"{name}imum", input, other)
        return named_tuple(_op(name, args, kwargs), chosen(name, input, *args, **kwargs))

    return reduced


class _Returns:
    def __init__(self, cls):
        self.forms = {"returns": cls}


def _op(name: str, args, kwargs):
    return _Returns(getattr(torch.return_types, name) if args or kwargs else None)


def _spread(name: str):
    """var and std, whose one overload has a correction."""

    def spread(input, dim=None, unbiased=None, keepdim=False, *, correction=None, out=None):
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if unbiased is not None:
            correction = int(unbiased)
        elif correction is None and dim is not None:
            correction = 1
        dims = dim if dim is None or not isinstance(dim, int) else [dim]
        return chosen(name, input, dims, correction=correction, keepdim=keepdim)

    return spread


def softmax(input, dim, dtype=None, *, name: str = "_softmax"):
    """softmax, in another dtype of an operand converted to it."""
    x = input if dtype is None or dtype is input.dtype else to(input, dtype)
    return getattr(a, name).default(x, dim, False)


def log_softmax(input, dim, dtype=None):
    """log_softmax, likewise."""
    return softmax(input, dim, dtype, name="_log_softmax")


def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """A norm of vectors, if it is one."""
    if p in ("fro", None, 2, 2.0) or not isinstance(p, str):
        order = 2 if p in ("fro", None) else p
        dims = dim if dim is None or not isinstance(dim, int) else [dim]
        return chosen("linalg_vector_norm", input, order, dims, keepdim, dtype=dtype)
    raise NotImplementedError(f"norm(p={p!r}) below __torch_dispatch__ is not implemented by functorch-core")


def where(condition, self, other):
    """A choice of which a side, or both, is a number: as a tensor of the result's dtype."""
    with computing():
        dtype = torch.result_type(self, other)
    device = next(x for x in (self, other, condition) if isinstance(x, Tensor)).device
    options = {"dtype": dtype, "layout": torch.strided, "device": device}
    other, self = [x if isinstance(x, Tensor) else a.scalar_tensor.default(x, **options) for x in (other, self)]
    self, other = [x if x.dtype is dtype else a._to_copy.default(x, dtype=dtype) for x in (self, other)]
    return a.where.self(condition, self, other)


# ---- copies --------------------------------------------------------------------------------------


def to(self, *args, dtype=None, device=None, non_blocking=False, copy=False, memory_format=None):
    """The tensor itself, if nothing changes, else a copy."""
    rest = list(args)
    if rest and isinstance(rest[0], Tensor):
        other = rest.pop(0)
        dtype, device = other.dtype, other.device
    for kind in ("device", "dtype"):
        if rest and isinstance(rest[0], torch.dtype if kind == "dtype" else (str, torch.device)):
            found = rest.pop(0)
            dtype, device = (found, device) if kind == "dtype" else (dtype, torch.device(found))
    if rest:
        non_blocking, copy = rest[0], rest[1] if len(rest) > 1 else copy
    device = None if device is None else torch.device(device)
    same = (dtype is None or dtype is self.dtype) and (device is None or device == self.device)
    if same and not copy and memory_format is None:
        return self
    kwargs = {"dtype": dtype, "device": device, "non_blocking": non_blocking, "memory_format": memory_format}
    return a._to_copy.default(self, **{k: v for k, v in kwargs.items() if v is not None and v is not False})


def _in(name: str):
    def converted(self, memory_format=None):
        return to(self, getattr(torch, name), memory_format=memory_format)

    return converted


def item(self):
    """The number of a tensor of one element."""
    return a._local_scalar_dense.default(self)


def _number(kind: type):
    def number(self):
        return kind(item(self))

    return number


def detach(self):
    """The same memory, without history."""
    return a.detach.default(self)


# ---- torch.nn.functional -------------------------------------------------------------------------


def _one(name: str):
    """A function of torch.nn.functional that is one operator of the same arguments, but for inplace=."""

    def function(input, *args, inplace=False, **kwargs):
        return chosen(name + ("_" if inplace else ""), input, *args, **kwargs)

    return function


REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The mean of squares."""
    if weight is not None or size_average is not None or reduce is not None:
        raise NotImplementedError("mse_loss(weight=...) below __torch_dispatch__ is not implemented by functorch-core")
    return chosen("mse_loss", input, target, REDUCTIONS[reduction])


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The mean of absolute differences."""
    found = a.abs.default(chosen("sub", input, target))
    return found if reduction == "none" else chosen(reduction, found)


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """The mean of negative logarithms."""
    if input.ndim > 2:
        raise NotImplementedError("nll_loss of images below __torch_dispatch__ is not implemented by functorch-core")
    return a.nll_loss_forward.default(input, target, weight, REDUCTIONS[reduction], ignore_index)[0]


def cross_entropy(
    input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0
):
    """nll_loss of log_softmax."""
    if label_smoothing or target.is_floating_point():
        raise NotImplementedError(
            "cross_entropy of probabilities below __torch_dispatch__ is not implemented by functorch-core"
        )
    logs = log_softmax(input, 1 if input.ndim > 1 else 0)
    return nll_loss(logs, target, weight, None, ignore_index, None, reduction)


def bce_logits(input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
    """Binary cross entropy of logits."""
    return a.binary_cross_entropy_with_logits.default(input, target, weight, pos_weight, REDUCTIONS[reduction])


def dropout(input, p=0.5, training=True, inplace=False):
    """A product with random zeros, where something is dropped."""
    if not training or p == 0:
        return input
    noise = a.empty_like.default(input)
    a.bernoulli_.float(noise, 1 - p)
    a.div_.Scalar(noise, 1 - p)
    return (a.mul_ if inplace else a.mul).Tensor(input, noise)


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None, out=None):
    """torch.linalg.vector_norm."""
    dims = dim if dim is None or not isinstance(dim, int) else [dim]
    return chosen("linalg_vector_norm", x, ord, dims, keepdim, dtype=dtype)


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """input / max(norm, eps)."""
    size = chosen("linalg_vector_norm", input, p, [dim], True)
    return a.div.Tensor(input, a.expand.default(a.clamp_min.default(size, eps), list(input.shape)))


def pad(input, pad, mode="constant", value=None):
    """Padded by a number."""
    if mode != "constant":
        raise NotImplementedError(f"pad(mode={mode!r}) below __torch_dispatch__ is not implemented by functorch-core")
    return a.constant_pad_nd.default(input, list(pad), float(value or 0))


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """Squares of small differences, absolute values of large ones."""
    return a.smooth_l1_loss.default(input, target, REDUCTIONS[reduction], beta)


def adaptive_avg_pool2d(input, output_size):
    """The mean of images, if it is one number."""
    if _each(output_size, 2) != [1, 1]:
        return a._adaptive_avg_pool2d.default(input, _each(output_size, 2))
    return a.mean.dim(input, [-1, -2], True)


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """native_batch_norm."""
    how = weight, bias, running_mean, running_var, training, momentum, eps
    return a.native_batch_norm.default(input, *how)[0]


def lifted(data, **kwargs):
    """torch.tensor(data): made apart, and let in."""
    with computing():
        made = torch.tensor(data, **kwargs)
    return a.lift_fresh.default(made)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    """native_layer_norm."""
    return a.native_layer_norm.default(input, list(normalized_shape), weight, bias, eps)[0]


def logsigmoid(input):
    """log_sigmoid_forward."""
    return a.log_sigmoid_forward.default(input)[0]


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """max_pool2d_with_indices."""
    stride = [] if stride is None else _each(stride, 2)
    how = _each(kernel_size, 2), stride, _each(padding, 2), _each(dilation, 2), ceil_mode
    found = a.max_pool2d_with_indices.default(input, *how)
    return tuple(found) if return_indices else found[0]


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """Rows of a table."""
    if max_norm is not None or sparse:
        raise NotImplementedError(
            "embedding(max_norm=, sparse=) below __torch_dispatch__ is not implemented by functorch-core"
        )
    padding = -1 if padding_idx is None else padding_idx % weight.shape[0]
    return a.embedding.default(weight, input, padding, scale_grad_by_freq, sparse)


def elu(input, alpha=1.0, inplace=False):
    """elu."""
    return chosen("elu_" if inplace else "elu", input, alpha)


FUNCTIONS.update({
    "tensor": lifted,
    "vector_norm": vector_norm,
    "linalg_vector_norm": vector_norm,
    "special_expit": lambda input: a.sigmoid.default(input),
    "expit": lambda input: a.sigmoid.default(input),
    "dropout": dropout,
    "batch_norm": lambda input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn: batch_norm(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    ),
    "__getitem__": getitem,
    "getitem": getitem,
    "__rpow__": rpow,
    "__rsub__": lambda self, other: chosen("rsub", self, other),
    "__rtruediv__": rdiv,
    "__rdiv__": rdiv,
    "__setitem__": setitem,
    "setitem": setitem,
    "chunk": chunk,
    "contiguous": contiguous,
    "expand_as": lambda input, other: a.expand.default(input, list(other.shape)),
    "flatten": flatten,
    "linear": linear,
    "log_softmax": log_softmax,
    "matmul": matmul,
    "max": _reduced("max"),
    "min": _reduced("min"),
    "movedim": movedim,
    "narrow": narrow,
    "norm": norm,
    "outer": outer,
    "reshape": reshape,
    "reshape_as": lambda input, other: reshape(input, list(other.shape)),
    "softmax": softmax,
    "split": split,
    "square": square,
    "std": _spread("std"),
    "to": to,
    "type_as": lambda input, other: to(input, other.dtype, device=other.device),
    "unflatten": unflatten,
    "var": _spread("var"),
    "view_as": lambda input, other: a.view.default(input, list(other.shape)),
    "layer_norm": layer_norm,
    **{f"conv{n}d": _convolution(n) for n in (1, 2, 3)},
    **{name: _in(dtype) for name, dtype in (
        ("float", "float32"), ("double", "float64"), ("half", "float16"), ("bfloat16", "bfloat16"), ("int", "int32"),
        ("long", "int64"), ("short", "int16"), ("char", "int8"), ("byte", "uint8"), ("bool", "bool"),
    )},
})  # fmt: skip
TORCH.update((torch.tensor, torch.linalg.vector_norm))
METHODS.update({"item": item, "detach": detach})
METHODS.update({f"__{kind.__name__}__": _number(kind) for kind in (bool, float, int, complex)})
FUNCTIONAL.update(
    {
        "cross_entropy": cross_entropy,
        "dropout": dropout,
        "elu": elu,
        "embedding": embedding,
        "l1_loss": l1_loss,
        "layer_norm": layer_norm,
        "logsigmoid": logsigmoid,
        "adaptive_avg_pool2d": adaptive_avg_pool2d,
        "batch_norm": batch_norm,
        "normalize": normalize,
        "pad": pad,
        "smooth_l1_loss": smooth_l1_loss,
        "max_pool2d": max_pool2d,
        "mse_loss": mse_loss,
        "nll_loss": nll_loss,
        "binary_cross_entropy_with_logits": bce_logits,
        **{name: _one(name) for name in "silu gelu mish hardswish hardsigmoid leaky_relu softplus relu".split()},
        "hardtanh": lambda input, min_val=-1.0, max_val=1.0, inplace=False: chosen(
            "hardtanh_" if inplace else "hardtanh", input, min_val, max_val
        ),
        "relu6": lambda input, inplace=False: chosen("hardtanh_" if inplace else "hardtanh", input, 0, 6),
    }
)
COMPOSITES.update(
    {
        "linear": linear,
        "matmul": matmul,
        "reshape": reshape,
        "narrow": narrow,
        "chunk": chunk,
        "square": square,
        "layer_norm": lambda input, shape, weight=None, bias=None, eps=1e-5, enable=True: layer_norm(
            input, shape, weight, bias, eps
        ),
        **dict.fromkeys(("where.ScalarSelf", "where.ScalarOther", "where.Scalar"), where),
        "softmax.int": softmax,
        "log_softmax.int": log_softmax,
    }
)
