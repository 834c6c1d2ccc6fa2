"""What PyTorch's graph looks like where it makes several nodes of what is one op here.

`CHAINS` has for such an op the nodes as a text, or a function of the call's arguments that gives
one:

    AddmmBackward0(bias, input, TBackward0(weight))     "Addmm0(bias, input, T0(weight))"

The first node is the op's own. A lower-case name is the edge of that argument, none if it is no
tensor that requires grad; `-` is an edge that is never there; `#1` after a node means its second
output. The same text is the same node. Nothing is made of it until somebody reads `next_functions`:
the nodes made then are there to be looked at. The pass that computes gradients goes through the
op's own node only.
"""

from __future__ import annotations

import functools
import math
import re
from types import SimpleNamespace

import numpy as np

from ..tensors.base import Tensor
from .einsum_nodes import einsum_chain

# ---- products ------------------------------------------------------------------------------------


def _linear(a):
    bias = a.bias is not None
    if a.input.ndim == 2:
        return "Addmm0(bias, input, T0(weight))" if bias else "Mm0(input, T0(weight))"
    if bias:
        return "View0(Addmm0(bias, View0(input), T0(weight)))"
    if a.input.ndim == 1:
        return "Squeeze4(Mm0(Unsqueeze0(input), T0(weight)))"
    return "UnsafeView0(Mm0(View0(input), T0(weight)))"


def _matmul(a):
    n, m = a.input.ndim, a.other.ndim
    if max(n, m) <= 2:
        return "Squeeze4(Mm0(Unsqueeze0(input), other))" if (n, m) == (1, 2) else None
    if n >= 3 and m <= 2:
        kind = "Mv0" if m == 1 else "Mm0"
        return f"UnsafeView0({kind}({flattened(a.input, 'input')}, other))"
    if n <= 2:
        return _matrix_times_batch(a)
    one, two = batched(a.input, a.other, "input"), batched(a.other, a.input, "other")
    return f"UnsafeView0(Bmm0({one}, {two}))"


def _matrix_times_batch(a):
    """PyTorch multiplies the transposes."""
    if a.input.ndim == 1:
        return "UnsafeView0(Mv0(View0(Transpose0(other)), input))"
    return None


def flattened(x: Tensor, name: str) -> str:
    """The node of x.reshape(-1, n): a view, or a copy where it must be one."""
    from ..views.cells import layout_of, view_strides

    shape, strides, _ = layout_of(x)
    flat = (-1 if 0 in shape else x.numel() // shape[-1], shape[-1])
    if view_strides(shape, strides, flat) is not None:
        return f"View0({name})"
    return f"UnsafeView0(Clone0({name}))"


def batched(x: Tensor, other: Tensor, name: str) -> str:
    """The node of x.expand(batch of both, -1, -1).reshape(-1, n, m)."""
    from ..views.cells import contiguous_strides, layout_of, view_strides

    batch = np.broadcast_shapes(x.shape[:-2], other.shape[:-2])
    shape, strides, _ = layout_of(x)
    lead = len(batch) + 2 - len(shape)
    strides = (0,) * lead + tuple(strides)
    sizes = (1,) * lead + tuple(shape)
    strides = [0 if n == 1 and n != m else s for n, m, s in zip(sizes, batch, strides)] + list(strides[-2:])
    full, merged = (*batch, *shape[-2:]), (int(np.prod(batch)), *shape[-2:])
    if view_strides(full, strides, merged) is None:
        return f"UnsafeView0(Clone0(Expand0({name})))"
    whole = tuple(strides) == contiguous_strides(full)
    return f"{'View0' if whole else 'ReshapeAlias0'}(Expand0({name}))"


def _multi_dot(a, argument: str = "tensors"):
    """Of two or three; of more the order of products is decided by their sizes."""
    tensors = getattr(a, argument)
    n = len(tensors)
    if n > 3:
        return None
    names = [f"{argument}{i}" for i in range(n)]
    for i in (0, n - 1):
        if tensors[i].ndim == 1:
            names[i] = f"Unsqueeze0({names[i]})"
    if n == 2:
        return f"View0(Mm0({names[0]}, {names[1]}))"
    rows, inner = tensors[0].shape if tensors[0].ndim == 2 else (1, tensors[0].shape[0])
    last, columns = tensors[2].shape if tensors[2].ndim == 2 else (tensors[2].shape[0], 1)
    if rows * last * (inner + columns) > inner * columns * (rows + last):
        return f"View0(Mm0({names[0]}, Mm0({names[1]}, {names[2]})))"
    return f"View0(Mm0(Mm0({names[0]}, {names[1]}), {names[2]}))"


def _tensordot(a):
    rows = [d for d in range(a.input.ndim) if d not in a.dims_self]
    columns = [d for d in range(a.other.ndim) if d not in a.dims_other]
    one = reshaped(a.input, [rows, a.dims_self], "input")
    two = reshaped(a.other, [a.dims_other, columns], "other")
    return f"View0({'Mm0' if rows or columns else 'Dot0'}({one}, {two}))"


def reshaped(x: Tensor, groups, name: str) -> str:
    """The node of x.permute(all dimensions of the groups).reshape(one dimension a group)."""
    from ..views.cells import contiguous_strides, layout_of, view_strides

    shape, strides, _ = layout_of(x)
    order = [d for group in groups for d in group]
    shape, strides = tuple(shape[d] for d in order), tuple(strides[d] for d in order)
    merged = tuple(math.prod(x.shape[d] for d in group) for group in groups)
    if strides == contiguous_strides(shape):
        return f"View0(Permute0({name}))"
    if view_strides(shape, strides, merged) is not None:
        return f"ReshapeAlias0(Permute0({name}))"
    return f"UnsafeView0(Clone0(Permute0({name})))"


def _matrix_power(a):
    if a.input.ndim != 2 or a.n < 2 or a.n > 3:
        return None
    return "Mm0(input, input)" if a.n == 2 else "Mm0(Mm0(input, input), input)"


def _bilinear(a):
    product = "View0(Trilinear0(View0(input1), weight, View0(input2)))"
    return product if a.bias is None else f"Add0({product}, bias)"


# ---- losses --------------------------------------------------------------------------------------


def reduced(text, argument: str = "reduction"):
    """Of a loss: its mean, its sum, or what is not reduced."""

    def rule(a):
        found = text if isinstance(text, str) else text(a)
        return {"mean": f"Mean0({found})", "sum": f"Sum0({found})"}.get(getattr(a, argument), found)

    return rule


def _cross_entropy(a):
    if a.input.ndim > 2:
        return None
    logs = "LogSoftmax0(input)"
    if a.target.is_floating_point():
        total = "Mul0({logs}, target)" if a.weight is None else None
        if total is None or a.label_smoothing:
            return None
        total = total.format(logs=logs)
        if a.reduction == "none":
            return f"Neg0(Sum1({total}))"
        summed = f"Neg0(Sum0({total}))"
        return f"Div1({summed})" if a.reduction == "mean" else summed
    if not a.label_smoothing:
        return f"NllLoss0({logs})"
    smooth = f"MaskedFill0(Neg0(Sum1({logs})))"
    if a.weight is not None or a.reduction == "none":
        return None
    smooth = f"Sum0({smooth})"
    smooth = f"Div0({smooth}, -)" if a.reduction == "mean" else smooth
    return f"Add0(Mul1(NllLoss0({logs})), Mul1({smooth}))"


def _gaussian_nll(a):
    terms = "Add0(Log0(Clone0(var)), Div0(Pow0(Sub0(input, target)), Clone0(var)))"
    return f"Add0(Mul0({terms}, -), -)" if a.full else f"Mul0({terms}, -)"


def _poisson_nll(a):
    if a.full:
        return None
    if a.log_input:
        return "Sub0(Exp0(input), Mul0(target, input))"
    return "Sub0(input, Mul0(target, Log0(Add0(input))))"


def _triplet(a):
    if a.swap:
        return None

    def distance(name):
        return f"Norm1(Add1(Sub0(anchor, {name})))"

    return f"ClampMin0(Sub0(Add1({distance('positive')}), {distance('negative')}))"


def _cosine_embedding(a):
    dots = "Sum1(Mul0(input1, input2))"
    norms = "Sqrt0(Mul0(Add1(Sum1(Mul0(input1, input1))), Add1(Sum1(Mul0(input2, input2)))))"
    cosine = f"Div0({dots}, {norms})"
    return f"Add0(Where0(Sub0(-, {cosine}), -), Where0(ClampMin0(Sub1({cosine})), -))"


def _kl_div(a):
    if a.log_target or a.reduction == "batchmean":
        return None
    return "Sub0(Xlogy0(target, target), Mul0(target, input))"


# ---- layers --------------------------------------------------------------------------------------


def single(inner: str, ndim: int, others: str = ""):
    """An example of `ndim` dimensions gets a batch dimension, which is taken off again."""
    return lambda a: f"Squeeze1({inner}(Unsqueeze0(input){others}))" if a.input.ndim == ndim else None


def _pooled(inner: str):
    """One dimension is pooled as two are."""
    return f"Squeeze1({inner}(Unsqueeze0(input)))"


def _average(a):
    size = a.output_size if isinstance(a.output_size, tuple) else (a.output_size,)
    return _pooled("Mean1" if all(n == 1 for n in size) else "AdaptiveAvgPool2D0")


def _rms_norm(a):
    scaled = "Mul0(input, Rsqrt0(Add1(Mean1(Pow0(input)))))"
    return scaled if a.weight is None else f"Mul0({scaled}, weight)"


def _instance_norm(a):
    if a.input.ndim < 3:
        return None
    weight, bias = ("-" if x is None else f"Repeat0({name})" for x, name in ((a.weight, "weight"), (a.bias, "bias")))
    return f"View0(NativeBatchNorm0(View0(input), {weight}, {bias}))"


def _response_norm(a):
    squares = "Mul0(input, input)"
    if a.input.ndim == 3:
        means = f"Squeeze1(AvgPool2D0(ConstantPadNd0(Unsqueeze0({squares}))))"
    else:
        means = f"View0(Squeeze1(AvgPool3D0(ConstantPadNd0(View0({squares})))))"
    return f"Div0(input, Pow0(Add0(Mul0({means}, -), -)))"


def _lp_pool(average: str):
    mean = f"{average}(Pow0(input))"
    return f"Pow0(Mul0(Mul0(Sign0({mean}), Relu0(Abs0({mean}))), -))"


def _rnn(a):
    """PyTorch has one node for a layer of an LSTM in float32, and many for each step of others."""
    n, per = a.states[0].shape[0], 4 if a.has_biases else 2
    if (
        a.mode != "LSTM"
        or a.masks
        or len(a.params) != n * per
        or any(x.requires_grad for x in a.states)
        or a.input.dtype.itemsize != 4
    ):
        return None
    directions = 2 if a.bidirectional else 1
    text = "Clone0(Transpose0(input))" if a.batch_first else "input"
    for first in range(0, n, directions):
        parts = []
        for i in range(first, first + directions):
            names = [f"params{i * per + j}" if j < per else "-" for j in range(4)]
            parts.append(f"MkldnnRnnLayer0({', '.join([text, *names])}, -, -)")
        text = f"Cat0({', '.join(parts)})" if len(parts) > 1 else parts[0]
    return f"Transpose0({text})" if a.batch_first else text


def _cell(activation: str):
    def rule(a):
        return None if a.b_ih is None else f"{activation}(Add0({_gate('h')}, {_gate('i')}))"

    return rule


def _gate(which: str) -> str:
    x = {"h": "hx", "i": "input"}[which]
    return f"Addmm0(b_{which}h, {x}, T0(w_{which}h))"


def _gru_cell(a):
    if a.b_ih is None:
        return None
    new, old = f"UnsafeSplit0({_gate('i')})", f"UnsafeSplit0({_gate('h')})"
    reset = f"Sigmoid0(Add0({old}, {new}))"
    update = f"Sigmoid0(Add0({old}#1, {new}#1))"
    candidate = f"Tanh0(Add0({new}#2, Mul0({old}#2, {reset})))"
    return f"Add0(Mul0(Sub0(hx, {candidate}), {update}), {candidate})"


# ---- matrices, statistics ------------------------------------------------------------------------


def _cov(a):
    if a.fweights is not None or a.aweights is not None or a.input.ndim != 2:
        return None
    centred = "Sub0(input, Unsqueeze0(Div0(Sum1(input), -)))"
    return f"Squeeze0(Div0(Mm0({centred}, T0({centred})), -))"


def _trapezoid(a):
    if a.x is not None:
        return None
    return "Mul1(Sub0(Sum1(y), Mul1(Add0(Select0(y), Select0(y)))))"


def _diff(a):
    if a.n != 1 or a.prepend is not None or a.append is not None:
        return None
    return "Sub0(Slice0(input), Slice0(input))"


def _quantile(a):
    if a.dim is not None or a.interpolation != "linear":
        return None
    at = "Gather0(View0(Sort0(View0(input))))"
    return f"Squeeze4(Lerp1({at}, {at}, -))" if not isinstance(a.q, Tensor) else None


def _cosine_similarity(a):
    one, two = (f"Div0({x}, Clone0(LinalgVectorNorm0({x})))" for x in ("x1", "x2"))
    return f"Sum1(Mul0({one}, {two}))"


def _normalized(a):
    return "Div0(input, Expand0(ClampMin0(LinalgVectorNorm0(input))))"


CHAINS: dict = {
    # -- pointwise --
    "_tanhshrink": "Sub0(input, Tanh0(input))",
    "_where": "Where0(input, other)",
    "div": lambda a: (
        None if isinstance(a.input, Tensor) or a.rounding_mode is not None else "Mul0(Reciprocal0(other), -)"
    ),
    "softsign": "Div0(input, Add0(Abs0(input), -))",
    # -- products --
    "bilinear": _bilinear,
    "kron": "UnsafeView0(Mul0(UnsafeView0(input), UnsafeView0(other)))",
    "linear": _linear,
    "matmul": _matmul,
    "matrix_power": _matrix_power,
    "_chain": lambda a: _multi_dot(a, "matrices"),
    "linalg_multi_dot": _multi_dot,
    "_einsum": einsum_chain,
    "_tensordot": _tensordot,
    "outer": "Mul0(View0(input), vec2)",
    "_reshape_copy": "UnsafeView0(Clone0(input))",
    # -- layers --
    "adaptive_avg_pool1d": _average,
    "adaptive_max_pool1d": _pooled("AdaptiveMaxPool2D0"),
    "avg_pool1d": _pooled("AvgPool2D0"),
    "max_pool1d": _pooled("MaxPool2DWithIndices0"),
    "max_pool1d_with_indices": _pooled("MaxPool2DWithIndices0"),
    **{
        f"conv{kind}{n}d": single("Convolution0", n + 1, ", weight, bias")
        for kind in ("", "_transpose")
        for n in (1, 2, 3)
    },
    "_instance_norm": _instance_norm,
    "local_response_norm": _response_norm,
    "lp_pool2d": _lp_pool("AvgPool2D0"),
    "rms_norm": _rms_norm,
    "_rnn": _rnn,
    "gru_cell": _gru_cell,
    "_masked_scale": "Mul0(input, -)",
    "rnn_relu_cell": _cell("Relu0"),
    "rnn_tanh_cell": _cell("Tanh0"),
    "_fractional_max_pool": lambda a: f"FractionalMaxPool{len(a.kernel)}D0(input)",
    # -- distances and losses --
    "cosine_similarity": _cosine_similarity,
    "_normalized": _normalized,
    "pairwise_distance": "Norm1(Add1(Sub0(x1, x2)))",
    "_cosine_embedding": reduced(_cosine_embedding),
    "_cross_entropy": _cross_entropy,
    "_ctc": lambda a: "Mean0(Div0(CtcLoss0(log_probs), -))" if a.reduction == "mean" and not a.zero_infinity else None,
    "_gaussian_nll": reduced(_gaussian_nll),
    "_hinge_embedding": reduced("Add0(Where0(ClampMin0(Sub0(-, input)), -), Where0(input, -))"),
    "_kl_div": reduced(_kl_div),
    "_l1_loss": reduced(lambda a: "Abs0(Sub0(input, target))" if a.weight is None else None),
    "_margin_ranking": reduced("ClampMin0(Add1(Mul0(target, Sub0(input1, input2))))"),
    "_multilabel_soft_margin": reduced(
        lambda a: (
            None
            if a.weight is not None
            else ("Div0(Sum1(Neg0(Add0(Mul0(target, LogSigmoid0(input)), Mul0(-, LogSigmoid0(Neg0(input)))))), -)")
        )
    ),
    "_poisson_nll": reduced(_poisson_nll),
    "_soft_margin": "SoftMarginLoss0(input)",
    "_triplet": reduced(_triplet),
    # -- matrices, statistics --
    "_cov": _cov,
    "diff": _diff,
    "logdet": "Where0(-, LinalgSlogdet0(input)#1)",
    "linalg_cond": lambda a: (
        "Squeeze1(Div0(Slice0(LinalgSvd0(input)#1), Slice0(LinalgSvd0(input)#1)))" if a.order in (None, 2) else None
    ),
    "nanmean": "Div0(Nansum0(input), -)",
    "_quantile": _quantile,
    "trapezoid": _trapezoid,
}


def chain_of(op_name: str, names, bound) -> str | None:
    """The text of a call, None if PyTorch makes one node of it, too."""
    rule = CHAINS.get(op_name)
    if rule is None or isinstance(rule, str):
        return rule
    text = rule(SimpleNamespace(**dict(zip(names, bound))))
    return None if text is None or "None" in text else text


def name_of_chain(text: str) -> str:
    """The name of the op's own node."""
    return parsed(text)[0]


def chain_of_box(spec, news) -> str | None:
    """PyTorch takes the parts of an index x[0, :, 1:, None] one after the other."""
    steps, news = [], [dim for _, dim in news]
    for dim, (start, _, step, stays) in enumerate(spec):
        steps += ["Unsqueeze0"] * news.count(dim)
        if not stays:
            steps.append("Select0")
        elif start != 0 or step != 1:
            steps.append("Slice0")
    steps += ["Unsqueeze0"] * news.count(len(spec))
    if len(steps) < 2:
        return None
    return functools.reduce(lambda inner, name: f"{name}({inner})", steps, "input")


# ---- making the nodes ----------------------------------------------------------------------------

_TOKEN = re.compile(r"[A-Za-z_]\w*|[(),#-]|\d+")


@functools.lru_cache(1024)
def parsed(text: str):
    """A text as a tree: None, the name of an argument, or (name of the class, trees, output)."""
    tokens = _TOKEN.findall(text)

    def tree(at: int):
        word = tokens[at]
        if word == "-":
            return None, at + 1
        if at + 1 == len(tokens) or tokens[at + 1] != "(":
            return word, at + 1
        children = []
        at += 1
        while tokens[at] != ")":
            child, at = tree(at + 1)
            children.append(child)
        at, output = at + 1, 0
        if at < len(tokens) and tokens[at] == "#":
            at, output = at + 2, int(tokens[at + 1])
        return (f"{word[:-1]}Backward{word[-1]}", tuple(children), output), at

    return tree(0)[0]


def edges_of_chain(text: str, edge_of) -> list:
    """The edges of the outermost node of a text; `edge_of` gives those of the arguments."""
    made: dict = {}
    return [_edge(child, edge_of, made) for child in parsed(text)[1]]


def _edge(tree, edge_of, made: dict):
    if tree is None:
        return None
    if isinstance(tree, str):
        return edge_of(tree)
    name, children, output = tree
    if (name, children) not in made:
        edges = [_edge(child, edge_of, made) for child in children]
        made[name, children] = None if all(e is None for e in edges) else _shown(name, edges)
    node = made[name, children]
    return None if node is None else (node, output)


def _shown(name: str, edges: list):
    from .apply import node_class_of

    cls = node_class_of(name)
    node = cls.__new__(cls)
    node.show(edges)
    return node
