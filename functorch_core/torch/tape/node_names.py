"""What PyTorch calls the node of a call.

The node of an op is named by the op: AddBackward0. PyTorch numbers the overloads of an op
(SumBackward1 is that of a sum over given dimensions), and where it makes an op of several, the node
is that of the last. `RULES` holds what follows from neither the name nor the `node=` of a
declaration: op -> name, or a function of the call's arguments that gives the name (None: no rule).
"""

from __future__ import annotations

from types import SimpleNamespace

from ..tensors.base import Tensor
from .node_chains import chain_of


class NoGradient(str):
    """The name of a node that gives no gradient (None), as PyTorch's does."""

    __slots__ = ()


def name_of(rule, names, bound) -> str | None:
    """The name that a rule gives the node of a call."""
    return rule if isinstance(rule, str) else rule(SimpleNamespace(**dict(zip(names, bound))))


# ---- kinds of rules ------------------------------------------------------------------------------


def if_tensor(argument: str, then: str, otherwise: str | None = None):
    """By whether an argument is a tensor."""
    return lambda a: then if isinstance(getattr(a, argument), Tensor) else otherwise


def if_given(argument: str, then: str):
    """By whether an argument is given."""
    return lambda a: then if getattr(a, argument) is not None else None


def by(argument: str, names: dict, otherwise: str | None = None):
    """By the value of an argument."""
    return lambda a: names.get(getattr(a, argument), otherwise)


def reduced(otherwise, argument: str = "reduction"):
    """Of a loss: the mean's, the sum's, or the name (by the arguments) of what is not reduced."""

    def rule(a):
        found = {"mean": "MeanBackward0", "sum": "SumBackward0"}.get(getattr(a, argument))
        return found or (otherwise if isinstance(otherwise, str) else otherwise(a))

    return rule


def unbatched(ndim: int, batched: str | None = None):
    """PyTorch adds the batch dimension to an example of `ndim` dimensions and takes it off."""
    return lambda a: "SqueezeBackward1" if a.input.ndim == ndim else batched


def spatial(pattern: str):
    """By the number of spatial dimensions of a batch."""
    return lambda a: pattern.format(n=a.input.ndim - 2)


# ---- rules of more than a line -------------------------------------------------------------------


def _pow(a):
    if not isinstance(a.input, Tensor):
        return "PowBackward2"
    return "PowBackward1" if isinstance(a.exponent, Tensor) else None


def _div(a):
    if a.rounding_mode is not None:
        return "DivBackward2"
    return None if isinstance(a.input, Tensor) else "MulBackward0"  # by the reciprocal


def _matmul(a):
    ranks = a.input.ndim, a.other.ndim
    return {(1, 1): "DotBackward0", (2, 1): "MvBackward0", (1, 2): "SqueezeBackward4", (2, 2): "MmBackward0"}.get(
        ranks, "CloneBackward0" if ranks[0] == 2 else "UnsafeViewBackward0"
    )


def _linear(a):
    if a.bias is not None:
        return "AddmmBackward0" if a.input.ndim == 2 else "ViewBackward0"
    return {1: "SqueezeBackward4", 2: "MmBackward0"}.get(a.input.ndim, "UnsafeViewBackward0")


def _nll_loss(a):
    if a.input.ndim <= 2:
        return "NllLossBackward0"
    folded = a.input.ndim != 4 and a.reduction == "none"
    return "ViewBackward0" if folded else "NllLoss2DBackward0"


def _cross_entropy(a):
    if a.target.is_floating_point():
        return "DivBackward1" if a.reduction == "mean" else "NegBackward0"
    return "AddBackward0" if a.label_smoothing else _nll_loss(a)


def _kl_div(a):
    if a.reduction == "batchmean":
        return "DivBackward0"
    return {"mean": "MeanBackward0", "sum": "SumBackward0"}.get(
        a.reduction, "MulBackward0" if a.log_target else "SubBackward0"
    )


def _vector_norm(a):
    name = "LinalgVectorNormBackward0"
    return NoGradient(name) if a.p == 0 else name


def _dist(a):
    return NoGradient("DistBackward0") if a.p == 0 else None


def _matrix_norm(a):
    if a.ord in ("fro", None):
        return "LinalgVectorNormBackward0"
    if a.keepdim and a.ord in ("nuc", 2, -2):
        return "PermuteBackward0"
    if a.ord == "nuc":
        return "SumBackward1"
    return "AminBackward0" if a.ord < 0 else "AmaxBackward0"


def _matrix_power(a):
    if a.n in (0, 1, -1):
        return "LinalgInvExBackward0" if a.n < 0 else "CopyBackwards"
    return "MmBackward0" if a.input.ndim == 2 else "UnsafeViewBackward0"


def _upsample(a):
    kind = "".join(part.title() for part in a.mode.split("-"))
    return f"Upsample{kind}{a.input.ndim - 2}DBackward0"


def _pad(a):
    kind = {"reflect": "Reflection", "replicate": "Replication"}.get(a.mode)
    if kind is None:
        return "CopySlices" if a.mode == "circular" else None
    return f"{kind}Pad{len(a.pad) // 2}DBackward0"


def _index_write(a):
    if a.combine != "set":
        return None
    if not isinstance(a.source, Tensor):
        return "IndexFillBackward0"
    return "IndexCopyBackward0" if a.source.ndim else "IndexFillBackward1"


def _scatter(a):
    if a.how != "set":
        return "ScatterReduceBackward0"
    return None if isinstance(a.src, Tensor) else "ScatterBackward1"


def _adaptive_average(n: int):
    def rule(a):
        size = a.output_size if isinstance(a.output_size, tuple) else (a.output_size,)
        is_mean = all(m == 1 for m in size)
        return "MeanBackward1" if is_mean else f"AdaptiveAvgPool{n}DBackward0"

    return rule


def _transformed(of_real: str, of_complex: str = "FftC2CBackward0"):
    """By whether the input of a Fourier transform is real."""
    return lambda a: of_complex if a.input.is_complex() else of_real


def _transformed_back(a):
    """Of ihfft2 and ihfftn: one dimension needs no complex transform."""
    dims = a.dim if isinstance(a.dim, (tuple, list)) else (a.dim,)
    one = a.dim is not None and len(dims) == 1 or a.input.ndim == 1
    return "ConjBackward0" if one else "FftC2CBackward0"


def _inner(a):
    return "ViewBackward0" if a.input.ndim and a.other.ndim else "MulBackward0"


RULES: dict = {
    # -- Fourier transforms: named by what they take to what --
    "fft_fft": _transformed("FftR2CBackward0"),
    "fft_ifft": _transformed("ConjBackward0"),
    "fft_fft2": "FftC2CBackward0",
    "fft_fftn": "FftC2CBackward0",
    "fft_ifft2": "FftC2CBackward0",
    "fft_ifftn": "FftC2CBackward0",
    "fft_rfft": "FftR2CBackward0",
    "fft_rfft2": "FftR2CBackward0",
    "fft_rfftn": "FftR2CBackward0",
    "fft_irfft": "FftC2RBackward0",
    "fft_irfft2": "FftC2RBackward0",
    "fft_irfftn": "FftC2RBackward0",
    "fft_hfft": "FftC2RBackward0",
    "fft_hfft2": "FftC2RBackward0",
    "fft_hfftn": "FftC2RBackward0",
    "fft_ihfft": "ConjBackward0",
    "fft_ihfft2": _transformed_back,
    "fft_ihfftn": _transformed_back,
    # -- renamed --
    "corrcoef": lambda a: "ClampBackward1" if a.input.ndim > 1 else "DivBackward0",
    "cosine_similarity": "SumBackward1",
    "cross": "LinalgCrossBackward0",
    "_elu_op": "EluBackward0",
    "floor_divide": "NotImplemented",
    "heaviside": "NotImplemented",
    "inner": _inner,
    "kron": "UnsafeViewBackward0",
    "linalg_cond": "SqueezeBackward1",
    "linalg_eigvals": "LinalgEigBackward0",
    "linalg_multi_dot": "ViewBackward0",
    "_linalg_vander": "CatBackward0",
    "logdet": "WhereBackward0",
    "logsigmoid": "LogSigmoidBackward0",
    "nanmean": "DivBackward0",
    "outer": "MulBackward0",
    "pairwise_distance": "NormBackward1",
    "prelu": "PreluKernelBackward0",
    "_nanquantile": "SqueezeBackward4",
    "_quantile": "SqueezeBackward4",
    "rms_norm": "MulBackward0",
    "_rrelu": "RreluWithNoiseBackward0",
    "_instance_norm": "ViewBackward0",
    "local_response_norm": "DivBackward0",
    "softsign": "DivBackward0",
    "special_ndtr": "MulBackward1",
    "square": "PowBackward0",
    "sum_to_size": "SumBackward1",
    "_take": "TakeBackward0",
    "_tanhshrink": "SubBackward0",
    "_tensordot": "ViewBackward0",
    "true_divide": "DivBackward0",
    "_vector_norm": _vector_norm,
    "dist": _dist,
    "_cov": "SqueezeBackward0",
    # -- overloads --
    "_max_overall": "MaxBackward1",
    "_min_overall": "MinBackward1",
    "_median_dim": "MedianBackward1",
    "_nanmedian_dim": "NanmedianBackward1",
    "mean": if_given("dim", "MeanBackward1"),
    "sum": if_given("dim", "SumBackward1"),
    "prod": if_given("dim", "ProdBackward1"),
    "nansum": None,
    "clamp": lambda a: None if isinstance(a.min, Tensor) or isinstance(a.max, Tensor) else "ClampBackward1",
    "clamp_max": if_tensor("max", "ClampMaxBackward1"),
    "clamp_min": if_tensor("min", "ClampMinBackward1"),
    "copysign": if_tensor("other", "CopysignBackward0", "CopysignBackward1"),
    "fmod": if_tensor("other", "FmodBackward1"),
    "remainder": lambda a: (
        ("RemainderBackward1" if isinstance(a.other, Tensor) else None)
        if isinstance(a.input, Tensor)
        else "NotImplemented"
    ),
    "lerp": if_tensor("weight", "LerpBackward1"),
    "masked_fill": if_tensor("value", "MaskedFillBackward1"),
    "round": by("decimals", {0: None}, "RoundBackward1"),
    "rsub": if_tensor("other", "RsubBackward0", "RsubBackward1"),
    "sub": if_tensor("input", "SubBackward0", "RsubBackward1"),
    "pow": _pow,
    "div": _div,
    # -- named by the number of dimensions --
    "adaptive_avg_pool1d": "SqueezeBackward1",
    "adaptive_avg_pool2d": _adaptive_average(2),
    "adaptive_avg_pool3d": _adaptive_average(3),
    "adaptive_max_pool1d": "SqueezeBackward1",
    "avg_pool1d": "SqueezeBackward1",
    "max_pool1d": "SqueezeBackward1",
    "max_pool1d_with_indices": "SqueezeBackward1",
    "conv1d": unbatched(2),
    "conv2d": unbatched(3),
    "conv3d": unbatched(4),
    "conv_transpose1d": unbatched(2),
    "conv_transpose2d": unbatched(3),
    "conv_transpose3d": unbatched(4),
    "grid_sampler": spatial("GridSampler{n}DBackward0"),
    "_upsample": _upsample,
    "_pad": _pad,
    "_max_unpool": lambda a: (
        "SqueezeBackward1" if len(a.output_size) == 1 else f"MaxUnpool{len(a.output_size)}DBackward0"
    ),
    "_fractional_max_pool": lambda a: f"FractionalMaxPool{len(a.kernel)}DBackward0",
    # -- losses --
    "_cross_entropy": _cross_entropy,
    "_nll_loss": _nll_loss,
    "_kl_div": _kl_div,
    "_cosine_embedding": reduced("AddBackward0"),
    "_ctc": reduced(by("zero_infinity", {True: "WhereBackward0"})),
    "_gaussian_nll": reduced(lambda a: "AddBackward0" if a.full else "MulBackward0"),
    "_hinge_embedding": reduced("AddBackward0"),
    "_l1_loss": reduced("AbsBackward0"),
    "_margin_ranking": reduced("ClampMinBackward0"),
    "_poisson_nll": reduced(lambda a: "AddBackward0" if a.full else "SubBackward0"),
    "_triplet": reduced("ClampMinBackward0"),
    # -- products and factorisations --
    "bilinear": by("bias", {None: "ViewBackward0"}, "AddBackward0"),
    "cumulative_trapezoid": if_tensor("x", "DivBackward1", "MulBackward1"),
    "_einsum": lambda a: "ViewBackward0" if len(a.operands) > 1 else None,
    "linalg_matrix_norm": _matrix_norm,
    "linalg_vecdot": lambda a: "VdotBackward0" if a.input.ndim == 1 else "SumBackward1",
    "linear": _linear,
    "matmul": _matmul,
    "matrix_power": _matrix_power,
    "trapezoid": if_tensor("x", "DivBackward1", "MulBackward1"),
    "diff": by("n", {0: "CopyBackwards"}, "SubBackward0"),
    # -- writing at indices --
    "_index_write": _index_write,
    "_scatter": _scatter,
    "_attention": "ScaledDotProductFlashAttentionForCpuBackward0",
}
RULES = {name: rule for name, rule in RULES.items() if rule is not None}


def _filled(name: str, number: int):
    """By whether the value, the second argument, is a tensor."""
    return lambda made, args: f"{name}Backward{number + any(isinstance(x, Tensor) for x in args[1:2])}"


def _normal(made, args):
    """By which of mean and standard deviation are tensors."""
    kinds = [isinstance(x, Tensor) for x in args[:2]]
    return f"NormalBackward{kinds[0] + 2 * kinds[1] if all(kinds) else 1 + kinds[-1]}"


def _squeezed(made, args):
    if len(args) == 1:
        return "SqueezeBackward3"
    return "SqueezeBackward5" if isinstance(args[1], tuple) else "SqueezeBackward4"


# Functions made of several ops here, of which PyTorch makes one node: name, or a function of the
# result and the positional arguments.
COMPOSITES: dict = {
    # -- new tensors --
    "as_strided_scatter": "AsStridedScatterBackward0",
    "bernoulli": "BernoulliBackward0",
    "cholesky": "CholeskyBackward0",
    "combinations": "StackBackward0",
    "diag": lambda made, args: "DiagonalBackward0_copy" if made.ndim == 1 else None,
    "fill": _filled("Fill", 0),
    "unfold": "UnfoldBackward0",
    "diagonal_scatter": "DiagonalScatterBackward0",
    "index_reduce": "IndexReduceBackward0",
    "masked_select": "MaskedSelectBackward0",
    "normal": _normal,
    "poisson": "PoissonBackward0",
    "real": lambda made, args: "SelectBackward0" if args[0].is_complex() else None,
    "imag": "SelectBackward0",
    "rot90": "Rot90Backward0",
    "scatter_add": "ScatterAddBackward0",
    "segment_reduce": "SegmentReduceBackward0",
    "select_scatter": "SelectScatterBackward0",
    "slice_scatter": "SliceScatterBackward0",
    "unsafe_chunk": "UnsafeSplitBackward0",
    "unsafe_split": "UnsafeSplitBackward0",
    # -- in place --
    "bernoulli_": lambda made, args: f"BernoulliBackward{1 if len(args) > 1 and isinstance(args[1], Tensor) else 2}",
    "cauchy_": "CauchyBackward0",
    "exponential_": "ExponentialBackward0",
    "fill_": _filled("Fill", 2),
    "geometric_": "GeometricBackward0",
    "log_normal_": "LogNormalBackward0",
    "normal_": "NormalBackward0",
    "squeeze_": _squeezed,
    "swapaxes_": "TransposeBackward1",
    "swapdims_": "TransposeBackward1",
    "t_": "TBackward1",
    "transpose_": "TransposeBackward1",
    "uniform_": "UniformBackward0",
    "unsqueeze_": "UnsqueezeBackward1",
}


def rename(made, rule, given=()):
    """Let the nodes of new results have the rule's name; results that are one of `given` stay."""
    from .apply import OpNode, node_class_of

    if isinstance(made, (tuple, list)):
        for x in made:
            rename(x, rule, given)
        return
    edge = made._ge if isinstance(made, Tensor) else None
    name = rule if edge is None or isinstance(rule, str) else rule(made, given)
    if edge is None or name is None or type(edge[0]).__base__ is not OpNode:
        return
    if not any(isinstance(x, Tensor) and x is not made and x._ge is not None and x._ge[0] is edge[0] for x in given):
        edge[0].__class__ = node_class_of(name)


# ---- nodes of backward passes that are themselves on the tape ------------------------------------

# Kinds whose gradient PyTorch computes by a function of its own, TanhBackwardBackward0.
WITH_BACKWARD = frozenset(
    """AdaptiveAvgPool2D AdaptiveAvgPool3D AdaptiveMaxPool2D AdaptiveMaxPool3D
    AvgPool2D AvgPool3D BinaryCrossEntropy Convolution Diagonal Elu FractionalMaxPool2D
    FractionalMaxPool3D Gelu Glu GridSampler2D GridSampler3D Hardshrink Hardswish Hardtanh HuberLoss
    LeakyRelu LogSigmoid MaxPool2DWithIndices MaxPool3DWithIndices MseLoss NativeBatchNorm
    NativeLayerNorm NllLoss PreluKernel ReflectionPad1D ReflectionPad2D ReflectionPad3D
    ReplicationPad1D ReplicationPad2D ReplicationPad3D RreluWithNoise Select Sigmoid Slice
    SmoothL1Loss SoftMarginLoss Softplus Softshrink Tanh Threshold Unfold UpsampleBicubic2D
    UpsampleBilinear2D UpsampleLinear1D UpsampleNearest1D UpsampleNearest2D UpsampleNearest3D
    UpsampleTrilinear3D""".split()
)
# Kinds whose gradient is computed by an ordinary op that is no product.
BY_OTHERS = {
    "Addbmm": "Bmm",
    "Addmm": "Mm",
    "Atan": "Div",
    "Atanh": "Div",
    "Baddbmm": "Bmm",
    "Bmm": "Bmm",
    "Cat": "Slice",
    "Celu": "EluBackward",
    "Clamp": "Where",
    "ClampMax": "Where",
    "ClampMin": "Where",
    "Complex": "Select",
    "ConstantPadNd": "ConstantPadNd",
    "Cummax": "ScatterAdd",
    "Cummin": "ScatterAdd",
    "Cumprod": "Div",
    "Cumsum": "Flip",
    "DiagEmbed": "Diagonal",
    "Div": "Div",
    "Embedding": "EmbeddingDenseBackward",
    "FftC2C": "Select",
    "FftC2R": "Select",
    "Flip": "Flip",
    "Gather": "ScatterAdd",
    "Hypot": "Div",
    "Im2Col": "Col2Im",
    "Index": "IndexPutImpl",
    "IndexPut": "IndexPut",
    "IndexSelect": "IndexAdd",
    "Kthvalue": "Scatter",
    "LinalgInvEx": "Neg",
    "LinalgSvd": "Mm",
    "Log": "Div",
    "Log10": "Div",
    "Log1P": "Div",
    "Log2": "Div",
    "LogSoftmax": "LogSoftmaxBackwardData",
    "Logaddexp": "Div",
    "Logcumsumexp": "Sub",
    "MaskedFill": "MaskedFill",
    "MaskedSelect": "MaskedScatter",
    "Max": "Scatter",
    "Maximum": "MaskedFill",
    "Min": "Scatter",
    "Minimum": "MaskedFill",
    "Mm": "Mm",
    "Mode": "Scatter",
    "Neg": "Neg",
    "Permute": "Permute",
    "Relu": "ThresholdBackward",
    "Roll": "Roll",
    "Scatter": "Scatter",
    "Selu": "EluBackward",
    "Softmax": "SoftmaxBackwardData",
    "Sort": "Scatter",
    "Split": "Cat",
    "SplitWithSizes": "Cat",
    "Sqrt": "Div",
    "Squeeze": "Unsqueeze",
    "Stack": "Select",
    "Sub": "Neg",
    "Rsub": "Neg",
    "T": "T",
    "Take": "Put",
    "ToCopy": "ToCopy",
    "Topk": "Scatter",
    "Trace": "View",
    "Transpose": "Transpose",
    "Tril": "Tril",
    "Triu": "Triu",
    "Unbind": "Stack",
    "UnsafeView": "View",
    "View": "View",
    "Where": "Where",
}
NUMBERED = {"Expand": "SumBackward1", "Mean": "DivBackward1", "Unsqueeze": "SqueezeBackward1"}


def backward_name(name: str) -> str:
    """The name of the node of a gradient, from that of the node it is a gradient of. By the chain
    rule most gradients are products."""
    kind = name.partition("Backward")[0]
    if kind in WITH_BACKWARD:
        return f"{kind}BackwardBackward0"
    return NUMBERED.get(kind) or f"{BY_OTHERS.get(kind, 'Mul')}Backward0"


# ---- what a node shows of the call: next_functions, _saved_self ----------------------------------

# Tensors that PyTorch's formulas take as given: no edge of a node is theirs.
WITHOUT_EDGE = frozenset(
    {
        "condition",
        "index",
        "indices",
        "input_lengths",
        "mask",
        "offsets",
        "running_mean",
        "running_var",
        "target_lengths",
    }
)
OPTIONAL_EDGES = ("conv", "layer_norm", "group_norm", "_batch_norm", "native_")
ORDER = {"linear": ("bias", "input", "weight")}


class Call:
    """The arguments of an op at one signature, as its nodes tell of them.

    `edges` are the places among the operands of what next_functions lists, None for an argument
    that PyTorch has an edge for and that is no tensor here; `places` and `static` are the operands
    and other arguments by name; `has_number` is whether a number stands for a tensor.
    `chain` is the text of `node_chains` where PyTorch has several nodes.
    """

    __slots__ = ("chain", "edges", "has_number", "places", "static")

    @classmethod
    def of(cls, *edges: int, chain: str | None = None) -> Call:
        """Of something that is no declared op; `input` is its first operand in a chain."""
        made = cls.__new__(cls)
        made.edges, made.places, made.static, made.chain = edges, {"input": 0}, {}, chain
        made.has_number = False
        return made

    def __init__(self, op, bound: list):
        self.places: dict[str, int] = {}
        self.static: dict = {}
        listed: dict[str, list] = {}
        operands: list = []
        for name, slot, value in zip(op.names, op.slots, bound):
            first = len(operands)
            kind = "" if slot is None else slot.name
            if slot is not None:
                slot.key(op, value, operands)
            if isinstance(value, Tensor) and kind:
                self.places[name] = first
            elif kind == "Tensors":  # in a chain: tensors0, tensors1
                self.places.update({f"{name}{i}": first + i for i in range(len(value))})
            else:
                self.static[name] = value
            listed[name] = _edges_of(op, name, kind, value, range(first, len(operands)))
        order = ORDER.get(op.name, listed) if bound[-1] is not None else listed
        numbers_last = sorted(order, key=lambda name: listed[name] == [None])
        self.edges = tuple(i for name in numbers_last for i in listed[name])
        self.has_number = any(
            [
                slot is not None and slot.name == "Operand" and value is not None and not isinstance(value, Tensor)
                for slot, value in zip(op.slots, bound)
            ]
        )
        self.chain = chain_of(op.name, op.names, bound)


def _edges_of(op, name: str, kind: str, value, places: range) -> list:
    if isinstance(value, Tensor):
        integer = not (value.is_floating_point() or value.is_complex())
        hidden = name in WITHOUT_EDGE or integer and name in ("target", "targets")
        return [] if hidden or not kind or kind == "Number" else list(places)
    if kind == "Tensors":
        return [] if name in WITHOUT_EDGE else list(places)
    if kind == "Operand" and value is not None and op.traits.number == "shown":
        return [] if op.name == "sub" and name == "input" else [None]
    if kind == "MaybeTensor" and name in ("weight", "bias") and op.name.startswith(OPTIONAL_EDGES):
        return [None]
    return []
