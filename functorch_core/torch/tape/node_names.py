"""What PyTorch calls the node of a call, and what it shows of it.

The node of an op is named by the op: AddBackward0. PyTorch numbers the overloads of an op (SumBackward1 is that of a
sum over given dimensions), and where it makes an op of several, the node is that of the last. What follows from the
name of neither the op nor another is declared: `@torch_op(node=...)` takes a name, the text of several nodes (see
`node_chains`), or a function of the call's arguments, by their names, that gives one of these or None for the op's own.
Of a composite, which is several nodes here and one in PyTorch, it is a name or a function of the result and the
positional arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

from ..tensors.base import Tensor


class NoGradient(str):
    """The name of a node that gives no gradient (None), as PyTorch's does."""

    __slots__ = ()


def told(node, names, bound) -> str | None:
    """What a declaration says of the node of a call."""
    return node(SimpleNamespace(**dict(zip(names, bound)))) if callable(node) else node


# ---- kinds of rules ------------------------------------------------------------------------------


def if_tensor(argument: str, then: str, otherwise: str | None = None):
    """By whether an argument is a tensor."""
    return lambda a: then if isinstance(getattr(a, argument), Tensor) else otherwise


def if_given(argument: str, then: str):
    """By whether an argument is given."""
    return lambda a: then if getattr(a, argument) is not None else None


def loss_node(text: str | Callable):
    """Of a loss: the mean or the sum of what is not reduced, or that itself."""

    def rule(a):
        found = text if isinstance(text, str) else text(a)
        outer = {"mean": "Mean", "sum": "Sum"}.get(a.reduction)
        if outer is None:
            return found
        return f"{outer}0({found})" if "(" in found else f"{outer}Backward0"

    return rule


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


class Call:
    """The arguments of an op at one signature, as its nodes tell of them.

    `edges` are the places among the operands of what next_functions lists, None for an argument
    that PyTorch has an edge for and that is no tensor here; `places` and `static` are the operands
    and other arguments by name; `has_number` is whether a number stands for a tensor.
    `node` names the node; it is also the `chain`, a text of `node_chains`, where PyTorch has several.
    """

    __slots__ = ("chain", "edges", "has_number", "node", "places", "static")

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
        numbers_last = sorted(listed, key=lambda name: listed[name] == [None])
        self.edges = tuple(i for name in numbers_last for i in listed[name])
        self.has_number = any(
            [
                slot is not None and slot.name == "Operand" and value is not None and not isinstance(value, Tensor)
                for slot, value in zip(op.slots, bound)
            ]
        )
        self.node = told(op.traits.node, op.names, bound) or op.name
        self.chain = self.node if "(" in self.node else None


def _edges_of(op, name: str, kind: str, value, places: range) -> list:
    if isinstance(value, Tensor):
        integer = not (value.is_floating_point() or value.is_complex())
        hidden = name in WITHOUT_EDGE or integer and name in ("target", "targets")
        return [] if hidden or not kind or kind == "Number" else list(places)
    if kind == "Tensors":
        return [] if name in WITHOUT_EDGE else list(places)
    if kind == "Operand" and value is not None and op.traits.number == "shown":
        return [] if op.name == "sub" and name == "input" else [None]
    if kind == "MaybeTensor" and name in ("weight", "bias") and op.traits.absent_edges:
        return [None]
    return []
