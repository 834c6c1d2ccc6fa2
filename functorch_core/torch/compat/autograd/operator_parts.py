"""What PyTorch's operators call on the CPU: rules of `sketches`, by the operators' names.

Of float32 in one thread, contiguous but where strides decide what is called. An operator without a rule calls nothing.
"""

from __future__ import annotations

import math

from ...tensors import types as _types
from ...tensors.base import wrap_dim
from .sketches import Part, Sketch, made_of

GRAIN = 32768  # of fewer elements zero_ is a memset


# ---- numbers and dtypes --------------------------------------------------------------------------


def wrapped(a: Sketch, x):
    """A number as the tensor that an operator makes of it."""
    if isinstance(x, Part):
        return x
    kind = "bool" if isinstance(x, bool) else "int64" if isinstance(x, int) else "float64"
    return Part(a, [], _types.named(kind), number=True)


def promoted(a: Sketch, x, y, inexact: bool = False) -> Part:
    """The operands converted to their common dtype; what an elementwise operator of them gives."""
    x, y = wrapped(a, x), wrapped(a, y)
    dtype = _common(x, y)
    if inexact and not (dtype.is_floating_point or dtype.is_complex):
        dtype = _types.named("float32")
    for operand in (x, y):
        if operand.dtype is not dtype:
            a.to(operand, dtype, None, None, None)
    return Part(a, _types.named("broadcast_shapes")(x.shape, y.shape), dtype)


def _common(x: Part, y: Part):
    """The dtype of both: that of the tensor with dimensions, if its category is no lower."""
    named = _types.named

    def category(dtype) -> int:
        return 3 if dtype.is_complex else 2 if dtype.is_floating_point else int(dtype is not named("bool"))

    ranks = [(category(p.dtype), not p.number, p.ndim > 0) for p in (x, y)]
    if ranks[0][1:] == ranks[1][1:]:
        return named("promote_types")(x.dtype, y.dtype)
    weak, strong = (x, y) if ranks[0][1:] < ranks[1][1:] else (y, x)
    if category(weak.dtype) <= category(strong.dtype):
        return strong.dtype
    return named("get_default_dtype")() if weak.number and category(weak.dtype) == 2 else weak.dtype


@made_of("add", "sub", "mul", "maximum", "minimum", "bitwise_and", "bitwise_or", "fmod", "remainder")
def _arithmetic(a, x, y, *, alpha=1, out=None):
    return promoted(a, x, y)


@made_of("eq", "ne", "lt", "le", "gt", "ge")
def _compared(a, x, y):
    return promoted(a, x, y).like(dtype=_types.named("bool"))


@made_of()
def div(a, x, y):
    return promoted(a, x, y, inexact=True)


@made_of()
def rsub(a, x, y):
    return a.sub(y, x)


@made_of()
def to(a, x, dtype=None, *args, **kwargs):
    """Nothing, if nothing changes; the profile's own call is judged by its result."""
    if a.changed is not None:
        return a._to_copy(x, a.result.dtype) if a.changed else x
    return x if dtype in (None, x.dtype) else a._to_copy(x, dtype)


@made_of()
def type_as(a, x, other):
    return a.to(x, other.dtype)


@made_of()
def _to_copy(a, x, dtype=None):
    return a.copy_(a.empty_strided().like(x.shape, dtype), x.like(), False)


@made_of("pow")
def power(a, x, y):
    a.result_type(x, y)
    a.to(wrapped(a, y))
    if not isinstance(y, Part) and y == 1:
        a.copy_(x, x, False)
    return x


@made_of()
def square(a, x):
    return a.pow(x, 2)


@made_of("abs")
def absolute(a, x):
    a.empty()
    with a.calling("aten::abs", x):  # the same operator into memory that is given
        pass


@made_of()
def relu(a, x):
    return a.clamp_min(x, 0)


@made_of()
def relu_(a, x, inplace=True):
    return a.clamp_min_(x, 0)


@made_of("clamp", "cumsum", "cumprod", "gather")
def _converted(a, x, *args, **kwargs):
    a.to(x)


@made_of()
def scatter_add(a, x, dim, index, src):
    a.copy_(x, x, False)
    a.to(src)


@made_of()
def isnan(a, x):
    a.ne(x, x)


@made_of()
def masked_fill(a, x, mask, value):
    a.masked_fill_(in_order(a, x), mask, value)


@made_of()
def masked_fill_(a, x, mask, value):
    return x


@made_of()
def flip(a, x, *dims):
    return view_of(a, x.shape, of=a.empty_like(x))


@made_of()
def equal(a, x, other):
    a.is_same_size(x, other)


@made_of()
def bernoulli(a, x, *args, **kwargs):
    made = empty_in_order(a, x)
    with a.calling("aten::bernoulli_", made, x, None):
        a.to(made)


@made_of()
def bernoulli_(a, x, *args, **kwargs):
    return x


@made_of()
def sort(a, x, dim=-1, descending=False, **options):
    a.copy_(x, x, False)
    a.arange()
    a.as_strided(x, None, None, None)
    a.copy_(x, x, False)


@made_of()
def argsort(a, x, dim=-1, descending=False, **options):
    a.sort(x, dim, descending)


@made_of("index")
def _indexed(a, x, index):
    """By tensors of indices; what masks select is not told beforehand."""
    found = [i for i in (index if isinstance(index, (tuple, list)) else [index]) if isinstance(i, Part)]
    if found and not any([i.dtype is _types.named("bool") for i in found]):
        a.as_strided(x, None, None, None)
        for i in found:
            a.reshape(i, i.shape)


@made_of()
def is_nonzero(a, x):
    a.item(x)


@made_of()
def item(a, x):
    a._local_scalar_dense(x)


# ---- views ---------------------------------------------------------------------------------------


def view_of(a: Sketch, shape, ordered: bool = False, of: Part | None = None) -> Part:
    """A view, made by as_strided."""
    return a.as_strided(of, None, None, None).like(shape, ordered=ordered)


@made_of("slice", "select", "unsqueeze", "squeeze", "diagonal", "unfold", "permute")
def _by_strides(a, x, *args):
    shape = a.result.shape if isinstance(a.result, Part) else x.shape
    return view_of(a, shape, len(shape) < 2, of=x)


@made_of()
def transpose(a, x, dim0, dim1):
    shape = list(x.shape)
    shape[dim0], shape[dim1] = shape[dim1], shape[dim0]
    return view_of(a, shape, not x.ordered, of=x)


@made_of()
def t(a, x):
    return a.transpose(x, 0, 1) if x.ndim == 2 else x


@made_of()
def expand(a, x, *sizes):
    shape = list(sizes[0]) if isinstance(sizes[0], (tuple, list)) else list(sizes)
    return view_of(a, shape, shape == x.shape and x.ordered, of=x)


@made_of("expand_as")
def _expand_as(a, x, other):
    return a.expand(x, other.shape)


@made_of()
def broadcast_to(a, x, *size):
    return a.expand(x, *size)


@made_of()
def view_as(a, x, other):
    return a.view(x, other.shape)


@made_of()
def narrow(a, x, dim, start, length):
    return a.slice(x, dim, start, start + length, 1)


@made_of()
def movedim(a, x, source, destination):
    return a.permute(x, None)


@made_of()
def split(a, x, size, dim=0):
    dim = wrap_dim(dim, x.ndim)
    sizes = list(size) if isinstance(size, (tuple, list)) else _equal(x.shape[dim], size)
    return [a.narrow(x, dim, 0, n).like([*x.shape[:dim], n, *x.shape[dim + 1 :]]) for n in sizes]


def _equal(n: int, size: int) -> list[int]:
    return [min(size, n - at) for at in range(0, max(n, 1), size)]


@made_of()
def chunk(a, x, chunks, dim=0):
    return a.split(x, -(-x.shape[dim] // chunks), dim)


@made_of()
def unbind(a, x, dim=0):
    return [a.select(x, dim, i) for i in range(x.shape[dim])]


@made_of("view", "_unsafe_view", "_reshape_alias")
def _viewed(a, x, *shape):
    shape = shape[0] if shape and isinstance(shape[0], (tuple, list)) else shape
    return x.like(_known(shape, x.numel()))


def _known(shape, size: int) -> list[int]:
    rest = math.prod([n for n in shape if n != -1])
    return [size // rest if n == -1 and rest else n for n in shape]


@made_of()
def reshape(a, x, *shape):
    """A view where the elements lie in order, else a copy."""
    given = shape[0] if shape and isinstance(shape[0], (tuple, list)) else shape
    known = _known(given, x.numel())
    if x.ordered:
        return a.view(x, known)
    if known == x.shape:
        return a._reshape_alias(x, known, None).like(known, ordered=False)
    return a._unsafe_view(in_order(a, x), known)


def in_order(a: Sketch, x: Part) -> Part:
    """A contiguous copy."""
    with a.calling("aten::clone", x, None):
        a.copy_(empty_in_order(a, x), x, False)
    return x.like()


def empty_in_order(a: Sketch, x: Part) -> Part:
    """empty_like(x, memory_format=torch.contiguous_format)."""
    with a.calling("aten::empty_like", x):
        a.empty()
    return x.like()


@made_of()
def flatten(a, x, start_dim=0, end_dim=-1):
    start, end = wrap_dim(start_dim, x.ndim), wrap_dim(end_dim, x.ndim)
    if start == end and x.ndim:
        return x
    shape = [*x.shape[:start], math.prod(x.shape[start : end + 1]), *x.shape[end + 1 :]]
    return a.view(x, shape) if x.ordered else a._unsafe_view(in_order(a, x), shape)


@made_of()
def detach(a, x):
    with a.calling("detach", x):  # of no library
        pass


@made_of()
def detach_(a, x):
    with a.calling("detach_", x):
        pass


@made_of()
def clone(a, x, *, memory_format=None):
    a.empty_strided()
    a.copy_(x.like(), x, False)
    return x.like()


# ---- new memory ----------------------------------------------------------------------------------


RANDOM = {"rand": "uniform_", "randn": "normal_", "randint": "random_", "ones": "fill_", "full": "fill_"}


def _new(name: str, fill: str):
    @made_of(name)
    def made(a, *sizes, **options):
        new = a.empty().like([] if a.result is None else a.result.shape)
        return getattr(a, fill)(new, None)

    @made_of(f"{name}_like")
    def like(a, x, *args, **options):
        return getattr(a, fill)(a.empty_like(x), None)


for _name, _fill in RANDOM.items():
    _new(_name, _fill)


@made_of("empty", "scalar_tensor", "empty_strided")
def _empty(a, *sizes, **options):
    return Part(a, [], _types.named("float32"))


@made_of()
def empty_like(a, x, **options):
    a.empty_strided()
    return x.like()


@made_of()
def zeros(a, *sizes, **options):
    return a.zero_(a.empty().like(a.result.shape if isinstance(a.result, Part) else sizes[0]))


@made_of()
def zeros_like(a, x, **options):
    return a.zero_(a.empty_like(x))


@made_of()
def new_zeros(a, x, *sizes, **options):
    shape = a.result.shape if isinstance(a.result, Part) else sizes[0]
    return a.zero_(a.new_empty(x).like(shape))


@made_of()
def new_empty(a, x):
    a.empty()


@made_of()
def zero_(a, x):
    if x.numel() >= GRAIN:
        a.fill_(x, None)
    return x


def _filled_by(name: str, *calls: str):
    @made_of(name)
    def made(a, *args, **options):
        new = a.empty()
        with a.calling(f"aten::{name}"):  # into memory that is given
            for called in calls:
                a.call(called, *([] if called == "scalar_tensor" else [new]))
        return new


_filled_by("arange", "resize_")
_filled_by("eye", "resize_", "zero_")
_filled_by("linspace")
_filled_by("randperm", "scalar_tensor", "resize_", "resize_")


# ---- reductions ----------------------------------------------------------------------------------


def reduced(a: Sketch, x: Part, dim=None, keepdim: bool = False, dtype=None) -> Part:
    """One by the loop over elements that reductions have; the result has no dimensions that are reduced."""
    dims = range(x.ndim) if dim is None or dim == () else [dim] if isinstance(dim, int) else dim
    dims = {wrap_dim(d, x.ndim) for d in dims}
    full = [1 if i in dims else n for i, n in enumerate(x.shape)]
    shape = full if keepdim else [n for i, n in enumerate(x.shape) if i not in dims]
    if not keepdim and x.ndim:
        a.as_strided(x.like(shape), None, None, None)
    if dtype is not None and dtype is not x.dtype:
        a.to(x, dtype)
    a.fill_(x.like(full), None)
    return x.like(shape, dtype)


@made_of("sum", "nansum")
def summed(a, x, dim=None, keepdim=False, dtype=None):
    integral = not (x.dtype.is_floating_point or x.dtype.is_complex)
    return reduced(a, x, dim, keepdim, dtype or (_types.named("int64") if integral else x.dtype))


@made_of("amax", "amin")
def _extremes(a, x, dim=(), keepdim=False):
    return reduced(a, x, dim, keepdim)


@made_of("all", "any")
def _whether(a, x, dim=None, keepdim=False):
    return reduced(a, x, dim, keepdim, _types.named("bool"))


@made_of()
def mean(a, x, dim=None, keepdim=False, dtype=None):
    found = a.sum(x, dim, keepdim, dtype)
    return a.div_(found, x.numel() // max(found.numel(), 1))


@made_of()
def argmax(a, x, dim=None, keepdim=False):
    if dim is None:
        x = a.reshape(x, [-1])
    if not keepdim:
        a.as_strided(x.like(a.result.shape if isinstance(a.result, Part) else []), None, None, None)


@made_of("argmin")
def argmin(a, x, dim=None, keepdim=False):
    argmax(a, x, dim, keepdim)


@made_of("max", "min")
def _extreme(a, x, dim=None, keepdim=False):
    if dim is None:
        a.empty()
        a.fill_(x.like([]), None)
    elif isinstance(dim, Part):
        promoted(a, x, dim)
    elif not keepdim:
        for name in ("unsqueeze_", "unsqueeze_", "squeeze_", "squeeze_"):
            with a.calling(f"aten::{name}", x, None):
                a.as_strided_(x)


@made_of()
def prod(a, x, dim=None, keepdim=False, dtype=None):
    a.empty()
    reduced(a, x, dim, keepdim)


@made_of("std", "var")
def _spread(a, x, dim=None, *args, keepdim=False, **options):
    a.empty()
    if not keepdim:
        a.as_strided(x.like([]), None, None, None)
    if dim is None:
        a.item(a.mean(x))
        a.fill_(x.like([]), None)


@made_of()
def linalg_vector_norm(a, x, ord=2, dim=None, keepdim=False, *, dtype=None):
    if not keepdim:
        a.as_strided(x.like([]), None, None, None)


# ---- products ------------------------------------------------------------------------------------


def resolved(a: Sketch, made: Part, *operands: Part) -> Part:
    """PyTorch asks for the conjugates of the operands that it hands to BLAS as they lie, and of one more."""
    for x in (made, *[x for x in reversed(operands) if x.ordered]):  # BLAS takes the second first
        a.resolve_conj(x)
    return made


@made_of()
def mm(a, x, y):
    return resolved(a, x.like([x.shape[0], y.shape[1]]), x, y)


@made_of()
def addmm(a, bias, x, y, *, beta=1, alpha=1):
    made = x.like([x.shape[0], y.shape[1]])
    if bias.shape != made.shape:
        bias = a.expand(bias, made.shape, None)
    a.copy_(made, bias.like(made.shape), False)
    return resolved(a, made, x, y)


@made_of()
def bmm(a, x, y):
    made = x.like([*x.shape[:2], y.shape[2]])
    a.resolve_conj(made)
    a.resolve_conj(y)
    return made


@made_of()
def mv(a, x, v):
    made = a.empty().like(x.shape[:1], x.dtype)
    return a.addmv_(made, x, v)


@made_of()
def dot(a, x, y):
    return a.fill_(a.empty().like([], x.dtype), None)


@made_of()
def outer(a, x, y):
    return a.mul(a.reshape(x, [*x.shape, 1]), y)


@made_of("matmul")
def product(a, x, y):
    n, m = x.ndim, y.ndim
    if n == 1 and m == 1:
        return a.dot(x, y)
    if n == 2 and m == 1:
        return a.mv(x, y)
    if n == 1 and m == 2:
        return a.squeeze_(a.mm(a.unsqueeze(x, 0).like([1, *x.shape]), y), 0)
    if n == 2 and m == 2:
        return a.mm(x, y)
    if n >= 3 and m <= 2:
        rows = a.reshape(x, [math.prod(x.shape[:-1]), x.shape[-1]])
        found = a.mm(rows, y) if m == 2 else a.mv(rows, y)
        return a._unsafe_view(found, [*x.shape[:-1], *y.shape[1:]])
    return _batches(a, x, y)


def _batches(a: Sketch, x: Part, y: Part) -> Part:
    lead = list(_types.named("broadcast_shapes")(x.shape[:-2], y.shape[:-2]))
    folded = []
    for operand in (x, y):
        shape = [*lead, *operand.shape[-2:]]
        folded.append(a.reshape(a.expand(operand, shape), [math.prod(lead), *shape[-2:]]))
    return a._unsafe_view(a.bmm(*folded), [*lead, x.shape[-2], y.shape[-1]])


@made_of()
def linear(a, input, weight, bias=None):
    ordered = input.ordered and input.ndim >= 3 and bias is not None
    if ordered:
        rows = a.view(input, [math.prod(input.shape[:-1]), input.shape[-1]])
        found = a.addmm(bias, rows, a.t(weight))
        return a.view(found, [*input.shape[:-1], weight.shape[0]])
    weight = a.t(weight)
    if bias is not None and input.ndim == 2:
        return a.addmm(bias, input, weight)
    found = a.matmul(input, weight)
    return found if bias is None else a.add_(found, bias)


# ---- networks ------------------------------------------------------------------------------------


@made_of("softmax")
def _normalised(a, input, dim=None, dtype=None, **options):
    _softmax(a, "softmax", input, dtype)


def _softmax(a: Sketch, name: str, input: Part, dtype=None):
    if dtype is not None and dtype is not input.dtype:
        input = a.to(input, dtype)
    return a.call(f"_{name}", input, None, None)


@made_of("log_softmax")
def _log_normalised(a, input, dim=None, dtype=None, **options):
    _softmax(a, "log_softmax", input, dtype)


@made_of()
def dropout(a, input, p=0.5, training=True, inplace=False):
    if training and p:
        noise = a.bernoulli_(a.empty_like(input), None, None)
        a.call("mul_" if inplace else "mul", input, a.div_(noise, 1 - p))


@made_of()
def layer_norm(a, input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    a.native_layer_norm(input, normalized_shape, weight, bias, None)


@made_of()
def native_layer_norm(a, input, normalized_shape, weight, bias, eps):
    if not input.ordered:
        with a.calling("aten::contiguous", input, None):
            in_order(a, input)
    for _ in range(3):
        a.empty()
    rows = input.like([input.numel() // max(math.prod(normalized_shape), 1)])
    a.view(rows, rows.shape)
    a.view(rows, rows.shape)


@made_of()
def batch_norm(
    a, input, running_mean=None, running_var=None, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5
):
    a._batch_norm_impl_index(input, weight, bias, running_mean, running_var, training, None, None, None)


@made_of()
def _batch_norm_impl_index(a, input, weight, bias, running_mean, running_var, training, *how):
    a.empty()
    a.native_batch_norm(input, weight, bias, running_mean, running_var, training, None, None)


@made_of()
def native_batch_norm(a, input, weight, bias, running_mean, running_var, training, *how):
    empty_in_order(a, input)
    for _ in range(6 if training else 4):
        a.empty()


@made_of()
def group_norm(a, input, num_groups, weight=None, bias=None, *rest):
    a.native_group_norm(input, weight, bias, *[None] * 5)


@made_of("native_group_norm")
def _three_results(a, *args):
    for _ in range(3):
        a.empty()


@made_of()
def embedding(a, weight, indices, *rest, **options):
    """Called as torch.nn.functional has it: of the indices and the table."""
    indices, weight = (weight, indices) if isinstance(indices, Part) else (weight, weight)
    flat = indices if indices.ndim == 1 else a.reshape(indices, [-1])
    found = a.index_select(weight, 0, flat)
    if indices.ndim != 1:
        a.view(found, [*indices.shape, weight.shape[-1]])


@made_of()
def index_select(a, x, dim, index):
    a.empty()
    for _ in range(2):
        a.select(x, dim, 0)
    return x.like([*x.shape[:dim], *index.shape, *x.shape[dim + 1 :]])


@made_of()
def max_pool2d(a, input, *args, **options):
    a.max_pool2d_with_indices(input, *[None] * 5)


@made_of()
def adaptive_avg_pool2d(a, input, output_size):
    if output_size in (1, (1, 1), [1, 1]):
        a.mean(input, [-1, -2], True)
    else:
        a._adaptive_avg_pool2d(input, output_size)


@made_of()
def _adaptive_avg_pool2d(a, input, output_size):
    a.resize_(a.empty(), None)


@made_of()
def stack(a, tensors, dim=0):
    like = tensors[0]
    dim = wrap_dim(dim, like.ndim + 1)
    if dim < like.ndim:
        found = a.cat(tensors, dim)
        return a.view(found.like([*like.shape[:dim], len(tensors) * like.shape[dim], *like.shape[dim + 1 :]]), [-1])
    shape = [*like.shape, 1]
    return a.cat([a.unsqueeze(x, dim).like(shape) for x in tensors], dim)


# ---- losses --------------------------------------------------------------------------------------


@made_of()
def cross_entropy_loss(
    a, input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean",
    label_smoothing=0.0,
):  # fmt: skip
    with a.calling("aten::log_softmax", input):
        a.to(input, *[None] * 7)
        a._log_softmax(input, None, None)
    if not (target.dtype.is_floating_point or label_smoothing):
        a.nll_loss_nd(input, target, weight, None, None)
        return
    found = a.sum(a.mul(input, target))
    if reduction == "mean":
        a.div(a.neg(found), input.numel() // input.shape[1])


@made_of("nll_loss_nd")
def _nll_loss_nd(a, input, target, weight=None, *rest, **options):
    if input.ndim <= 2:
        a.nll_loss(input, target, weight, None, None)


@made_of()
def nll_loss(a, input, target, weight=None, *rest):
    a.nll_loss_forward(input, target, weight, None, None)


def reduce_loss(a: Sketch, x: Part, reduction: str):
    """The mean or the sum of a loss."""
    if reduction != "none":
        a.call(reduction, x)


@made_of()
def huber_loss(a, input, target, reduction="mean", delta=1.0, weight=None):
    if reduction != "none":
        a.empty_like(input)
        reduce_loss(a, input, reduction)


@made_of()
def kl_div(a, input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    if not log_target:
        scaled = a.mul(target, input)
        a.sub(a.xlogy(target, target), scaled)
        if reduction != "batchmean":
            reduce_loss(a, input, reduction)


@made_of()
def binary_cross_entropy_with_logits(
    a, input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
):
    if weight is not None or pos_weight is not None:
        return
    with a.calling("aten::log_sigmoid", input), a.calling("aten::log_sigmoid_forward", input):
        empty_in_order(a, input)
        empty_in_order(a, input)
    ones = a.fill_(a.empty_like(input), None)
    a.mul_(a.sub_(ones, target), input)
    reduce_loss(a, a.sub_(ones, input), reduction)


@made_of("mse_loss", "smooth_l1_loss")
def _of_differences(a, input, target, size_average=None, reduce=None, reduction="mean", *rest, **options):
    if reduction != "none":
        a.resize_(input, None)
        a.empty()
        reduce_loss(a, input, reduction)


@made_of()
def l1_loss(a, input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    reduce_loss(a, a.abs(a.sub(input, target)), reduction)
