"""What PyTorch's operators of networks call on the CPU, as `operator_parts` has it: attention, recurrent layers,
einsum, padding, and those beside them that are made of several."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Iterator

from ...tensors import types as _types
from ...views.strides import contiguous_strides, is_dense, view_strides
from .operator_parts import in_order, promoted, reduce_loss
from .sketches import Part, Sketch, made_of

# ---- attention -----------------------------------------------------------------------------------


@made_of("scaled_dot_product_attention")
def attention(a, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """In blocks where nothing is dropped and there are heads, else operator by operator."""
    if dropout_p or query.ndim != 4 or enable_gqa:
        a._scaled_dot_product_attention_math(query, key, value, attn_mask, dropout_p, is_causal, None, None, None)
        return
    if attn_mask is not None and attn_mask.dtype is _types.named("bool"):
        attn_mask = _mask_as_number(a, attn_mask)
    with a.calling("aten::_scaled_dot_product_flash_attention_for_cpu", query, key, value, None, None, attn_mask, None):
        a.transpose(a.empty_like(query), 1, 2)
        a.empty()
        for x in (query, key, value):
            a.transpose(x, 1, 2)
        if attn_mask is not None:
            shape = [1] * (4 - attn_mask.ndim) + attn_mask.shape
            a.expand(a.view(attn_mask, shape), [*query.shape[:2], *shape[2:]])
        a.empty()
        a.empty()
        a.transpose(query, 1, 2)
        a.transpose(query, 1, 2)


def _mask_as_number(a: Sketch, mask: Part) -> Part:
    """-inf where a mask is False."""
    a.scalar_tensor()
    with a.calling("aten::where", mask, None, None):
        a.scalar_tensor()
        a.to(mask)
        with a.calling("aten::where", mask, None, None):
            a.empty()
    return mask.like(dtype=_types.named("float32"))


@made_of()
def _scaled_dot_product_attention_math(a, query, key, value, mask, dropout_p, is_causal, *rest):
    query = a.mul(query, 0.5)
    if is_causal:
        ones = a.ones(None).like([query.shape[-2], key.shape[-2]])
        mask = _mask_as_number(a, a.tril(ones))
    flipped = a.mul(a.transpose(key, -2, -1), 0.5).like([*key.shape[:-2], key.shape[-1], key.shape[-2]], ordered=False)
    scores = _batches(a, query, flipped)
    if mask is not None:
        a.add_(scores, mask)
    with a.calling("aten::_safe_softmax", scores, None, None):
        a.softmax(scores, -1)
        a.isneginf(scores)
        a.all(scores.like(dtype=_types.named("bool")), -1, True)
        a.scalar_tensor()
        with a.calling("aten::where", scores, None, scores):
            pass
    if dropout_p:
        a.dropout(scores, dropout_p, True)
    a.to(scores)
    a.to(_batches(a, scores, value))


def _batches(a: Sketch, x: Part, y: Part) -> Part:
    """A product of matrices with leading dimensions, which all can be merged without a copy."""
    made = x.like([*x.shape[:-1], y.shape[-1]])
    with a.calling("aten::matmul", x, y):
        merged = []
        for operand in (x, y):
            shape = [math.prod(operand.shape[:-2]), *operand.shape[-2:]]
            with a.calling("aten::reshape", a.expand(operand, operand.shape), None):
                a.call("view" if operand.ordered else "_reshape_alias", operand, shape)
            merged.append(operand.like(shape))
        return a._unsafe_view(a.bmm(*merged), made.shape)


# ---- recurrent layers ----------------------------------------------------------------------------


def _cut(a: Sketch, x: Part, gates: int):
    with a.calling("aten::unsafe_chunk", x, None, None), a.calling("aten::unsafe_split", x, None, None):
        for _ in range(gates):
            a.narrow(x, 1, 0, x.shape[-1] // gates)


def _multiplied(a: Sketch, x: Part, ordered: bool):
    """x.mul_(part of x), for which the part is copied."""
    with a.calling("aten::mul_", x, x), a.calling("aten::clone", x, None):
        a.empty_like(x) if ordered else a.empty_strided()
        a.copy_(x, x, False)


def _gru_gates(a: Sketch, h: Part):
    for _ in range(2):
        a.sigmoid_(a.add_(h, h))
    _multiplied(a, h, True)
    a.tanh_(a.add(h, h))
    a.sub(h, h)
    _multiplied(a, h, False)
    a.add_(h, h)


@made_of()
def lstm_cell(a, input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    gates = a.linear(input, w_ih, b_ih)
    _cut(a, a.add_(a.linear(hx[0], w_hh, b_hh), gates), 4)
    h = hx[0]
    for name in ("sigmoid_", "sigmoid_", "tanh_", "sigmoid_"):
        a.call(name, h)
    a.add_(a.mul(h, h), a.mul(h, h))
    a.mul(h, a.tanh(h))


@made_of()
def gru_cell(a, input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    for x, w, b in ((input, w_ih, b_ih), (hx, w_hh, b_hh)):
        _cut(a, a.linear(x, w, b), 3)
    _gru_gates(a, hx)


def _simple_cell(activation: str):
    @made_of(f"rnn_{activation}_cell")
    def cell(a, input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
        gates = a.linear(input, w_ih, b_ih)
        a.call(activation, a.add_(a.linear(hx, w_hh, b_hh), gates))


_simple_cell("tanh")
_simple_cell("relu")


def _gru_step(a: Sketch, gates: Part, h: Part, w: Part, b: Part | None):
    _cut(a, gates, 3)
    _cut(a, a.linear(h, w, b), 3)
    _gru_gates(a, h)


def _simple_step(activation: str, a: Sketch, gates: Part, h: Part, w: Part, b: Part | None):
    a.call(activation, a.add_(a.linear(h, w, b), gates))


def _weights(params: list, has_biases: bool) -> Iterator[list]:
    """(of the input, of the state, their biases or None) for each layer and direction."""
    n = 4 if has_biases else 2
    for at in range(0, len(params), n):
        yield [*params[at : at + n], None, None][:4]


def _layers(name: str, step: Callable):
    @made_of(name)
    def run(a, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
        """Step by step: the input's part of the gates of all steps is one product."""
        a.cudnn_is_acceptable(input)
        x = a.transpose(input, 0, 1) if batch_first else input
        a.unbind(hx, 0)
        weights, directions = list(_weights(params, has_biases)), 1 + bidirectional
        state = hx.like(hx.shape[1:])
        for layer in range(num_layers):
            for w_ih, w_hh, b_ih, b_hh in weights[layer * directions : (layer + 1) * directions]:
                gates = a.linear(x, w_ih, b_ih)
                a.unbind(gates.like([*x.shape[:2], w_ih.shape[0]]), 0)
                for _ in range(x.shape[0]):
                    step(a, state.like([*state.shape[:-1], w_ih.shape[0]]), state, w_hh, b_hh)
                a.stack([state] * x.shape[0], 0)
            x = x.like([*x.shape[:2], hx.shape[-1] * directions])
            _between(a, x, bidirectional, dropout if train and layer + 1 < num_layers else 0.0)
        a.stack([state] * hx.shape[0], 0)
        if batch_first:
            with a.calling("aten::transpose_", x, None, None):
                a.as_strided_(x, None, None)


def _between(a: Sketch, x: Part, bidirectional: bool, dropout: float):
    """What is done with the output of a layer: put together of both directions, parts left out."""
    if bidirectional:
        a.cat([x, x], 2)
    if dropout:
        a.dropout(x, dropout, True)


_layers("gru", _gru_step)
_layers("rnn_tanh", functools.partial(_simple_step, "tanh"))
_layers("rnn_relu", functools.partial(_simple_step, "relu"))


@made_of()
def lstm(a, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    """By oneDNN, a layer and direction at a time."""
    a.cudnn_is_acceptable(input)
    x = a.transpose(input, 0, 1) if batch_first else input
    if not x.ordered:
        with a.calling("aten::contiguous", x, None):
            x = in_order(a, x)
    state, directions = hx[0].like(hx[0].shape[1:]), 1 + bidirectional
    for layer in range(num_layers):
        for w_ih, w_hh, *_ in list(_weights(params, has_biases))[layer * directions : (layer + 1) * directions]:
            for h in hx:
                a.select(h, 0, layer)
            _onednns_layer(a, x, w_ih, w_hh, state, has_biases)
        x = x.like([*x.shape[:2], w_hh.shape[-1] * directions])
        _between(a, x, bidirectional, dropout if train and layer + 1 < num_layers else 0.0)
    for _ in range(2):
        a.stack([state] * hx[0].shape[0], 0)
    if batch_first:
        a.transpose(x, 0, 1)


def _onednns_layer(a: Sketch, x: Part, w_ih: Part, w_hh: Part, state: Part, has_biases: bool):
    biases = w_ih.like(w_ih.shape[:1])
    for _ in range(0 if has_biases else 2):
        a.zeros(biases.shape)
    with a.calling("aten::mkldnn_rnn_layer", x, w_ih, w_hh, biases, biases, state, state, *[None] * 9):
        for _ in range(3):
            a.empty()
        a.add(biases, biases) if has_biases else a.zeros(biases.shape)
        a.empty()


# ---- einsum --------------------------------------------------------------------------------------


class _Strided:
    """An operand of einsum: its sizes and strides by labels."""

    def __init__(self, a: Sketch, x: Part, shape: list[int], strides: list[int]):
        self.a, self.x, self.shape, self.strides = a, x, list(shape), list(strides)

    def permuted(self, order: list[int]) -> _Strided:
        """Its dimensions in another order."""
        self.a.permute(self.x.like(self.shape), None)
        return _Strided(self.a, self.x, [self.shape[i] for i in order], [self.strides[i] for i in order])

    def reshaped(self, *sizes: int) -> Part:
        """A view where one can be, else a copy."""
        made = self.x.like(list(sizes))
        with self.a.calling("aten::reshape", self.x.like(self.shape), None):
            if is_dense(self.shape, self.strides, contiguous_strides(self.shape)):
                self.a.view(made, sizes)
            elif view_strides(self.shape, self.strides, sizes) is not None:
                self.a._reshape_alias(made, sizes, None)
            else:
                self.a._unsafe_view(in_order(self.a, self.x.like(self.shape)), sizes)
        return made


@made_of()
def einsum(a, equation, *operands, path=None):
    """Operands with a dimension for each label; the product of two. In which order more are taken opt_einsum says."""
    operands = list(operands[0]) if isinstance(operands[0], (list, tuple)) else list(operands)
    if len(operands) > 2 or not all([x.ordered for x in operands]):
        raise ValueError("whose reshapes are copies is not known")
    terms, output, labels = _labels(equation.replace(" ", ""), operands)
    given = [_aligned(a, x, term, labels) for x, term in zip(operands, terms)]
    counts = [sum([x.shape[i] != 1 for x in given]) for i in range(len(labels))]
    summed = len(labels) > len(output)
    if len(given) == 2:
        shape = _contracted(a, *given, counts, len(output))
        a.view(given[0].x.like(shape), shape[: len(output)]) if summed else None
    elif summed:
        a.sum(given[0].x.like(given[0].shape), list(range(len(output), len(labels))))


def _labels(equation: str, operands: list[Part]) -> tuple[list[str], str, str]:
    """(the labels of each operand, of the result, all in the order of the result); those of an ellipsis are digits."""
    inputs, arrow, output = equation.partition("->")
    terms = inputs.split(",")
    widths = [x.ndim - len(term.replace("...", "")) for x, term in zip(operands, terms)]
    broadcast = "0123456789"[: max([w for w, term in zip(widths, terms) if "." in term], default=0)]
    terms = [term.replace("...", broadcast[len(broadcast) - w :] if w else "") for w, term in zip(widths, terms)]
    used = Counter("".join(terms))
    if not arrow:
        output = broadcast + "".join(sorted([x for x, n in used.items() if n == 1 and x not in broadcast]))
    output = output.replace("...", broadcast)
    return terms, output, output + "".join(sorted(set(used) - set(output)))


def _aligned(a: Sketch, x: Part, term: str, labels: str) -> _Strided:
    sizes: dict[str, tuple[int, int]] = {}
    for label, n, stride in zip(term, x.shape, contiguous_strides(x.shape)):
        if label in sizes:
            a.movedim(a.diagonal(x), None, None)
            stride += sizes[label][1]
        sizes[label] = n, stride
    missing = [label for label in labels if label not in sizes]
    for label in missing:
        x = a.unsqueeze(x, 0)
        sizes[label] = 1, 1
    kept = list(sizes)
    whole = _Strided(a, x, *zip(*sizes.values())) if kept else _Strided(a, x, [], [])
    return whole.permuted([kept.index(label) for label in labels])


def _contracted(a: Sketch, x: _Strided, y: _Strided, counts: list[int], kept: int) -> list[int]:
    """The product of two operands, summed over the labels that both have and the result has not; its shape."""
    summed = [i for i in range(kept, len(counts)) if counts[i] == 2]
    if any([counts[i] == 1 for i in range(kept, len(counts))]):
        raise ValueError("sums of one operand are not known")
    shape = list(_types.named("broadcast_shapes")(x.shape, y.shape))
    if not summed:
        a.mul(x.x.like(x.shape), y.x.like(y.shape))
        return shape
    for i in summed:
        shape[i] = 1
    _as_batches(a, x, y, summed, shape)
    return shape


def _as_batches(a: Sketch, x: _Strided, y: _Strided, summed: list[int], shape: list[int]):
    """By bmm: labels of both, of the first alone, that are summed, of the second alone."""
    groups: dict[str, list[int]] = {"both": [], "first": [], "sum": summed, "second": []}
    for i, (n, m) in enumerate(zip(x.shape, y.shape)):
        if i not in summed:
            groups["both" if n > 1 and m > 1 else "first" if n > 1 else "second"].append(i)
    both, first, total, second = groups.values()
    sizes = [math.prod([max(x.shape[i], y.shape[i]) for i in group]) for group in groups.values()]
    left = x.permuted(both + first + total + second).reshaped(sizes[0], sizes[1], sizes[2])
    right = y.permuted(both + total + second + first).reshaped(sizes[0], sizes[2], sizes[3])
    made = a.bmm(left, right)
    a.permute(a.view(made, [shape[i] for i in both + first + total + second]), None)


@made_of()
def tensordot(a, x, y, dims=2, out=None):
    """Over the last dimensions of one and the first of the other."""
    if not isinstance(dims, int):
        raise ValueError("whose reshapes are copies is not known")
    rows, columns = x.shape[: x.ndim - dims], y.shape[dims:]
    left = a.reshape(a.permute(x, None).like(x.shape), [math.prod(rows), -1])
    right = a.reshape(a.permute(y, None).like(y.shape), [-1, math.prod(columns)])
    a.reshape(a.mm(left, right), [*rows, *columns])


@made_of()
def kron(a, x, y):
    for operand in (x, y):
        a._unsafe_view(operand, operand.shape)
    a._unsafe_view(a.mul(x, y), [-1])


@made_of("ger")
def _outer(a, x, y):
    a.outer(x, y)


# ---- padding, pooling, convolutions --------------------------------------------------------------


@made_of("pad")
def padded(a, input, pad, mode="constant", value=None):
    if mode == "circular":
        a._pad_circular(input, pad)
    elif mode == "constant":
        a.constant_pad_nd(input, pad, None)
    else:
        kind = {"reflect": "reflection", "replicate": "replication"}[mode]
        with a.calling(f"aten::{kind}_pad{len(pad) // 2}d", input, None):
            if len(pad) == 4:
                a.empty() if kind == "reflection" else None
                a.resize_(input, None)


@made_of()
def constant_pad_nd(a, input, pad, value):
    for n in pad:
        if n < 0:
            a.narrow(input, 0, 0, 1)
    made = a.fill_(a.empty().like(input.shape), None)
    for n in pad:
        if n > 0:
            a.narrow(made, 0, 0, 1)
    a.copy_(made, input, False)


@made_of()
def _pad_circular(a, input, pad):
    made = a.new_empty(input)
    for _ in pad:
        a.slice(made, None)
    a.copy_(made, input, False)
    for n in pad:
        if n > 0:
            a.copy_(a.slice(made, None), a.slice(made, None), False)


@made_of()
def max_pool3d(a, input, *args, **options):
    with a.calling("aten::max_pool3d_with_indices", input, *[None] * 5):
        new = [a.empty(), a.empty()]
        for made in new:
            a.resize_(made, None)


@made_of("max_pool1d", "where")
def _into_new_memory(a, *args, **options):
    a.empty()


@made_of()
def pixel_shuffle(a, input, upscale_factor):
    a.resize_(a.empty(), None)


@made_of()
def instance_norm(a, input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, *rest):
    rows = a.view(input, [1, -1, *input.shape[2:]])
    a.batch_norm(rows, running_mean, running_var, weight, bias, use_input_stats)
    a.view(rows, input.shape)


# ---- activations and losses ----------------------------------------------------------------------


@made_of()
def relu6(a, input):
    a.hardtanh(input)


@made_of("selu", "celu")
def _by_elu(a, input, *args, **options):
    a.elu(input)


@made_of()
def glu(a, input, dim=-1):
    for _ in range(2):
        a.narrow(input, dim, 0, input.shape[dim] // 2)


@made_of()
def prelu(a, input, weight):
    with a.calling("aten::_prelu_kernel", input, a.reshape(weight, weight.shape)):
        a.empty_like(input)


@made_of()
def hardtanh(a, input, *args, **options):
    a.empty_like(input)
    with a.calling("aten::hardtanh", input):
        a.clamp(input)


@made_of()
def binary_cross_entropy(a, input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    made = a.empty_like(input)
    for x in (made, input, target):
        a.squeeze(x)
    if reduction != "none":
        reduce_loss(a, made, reduction)
        with a.calling("aten::resize_as_", made, made, None):
            a.resize_(made, None)
        a.copy_(made, made, False)


@made_of()
def cosine_similarity(a, x1, x2, dim=1, eps=1e-8):
    a.result_type(x1, x2)
    norms = []
    for x in (x1, x2):
        norms.append(a.linalg_vector_norm(x, 2, dim, True))
        a.clone(norms[-1])
    a.scalar_tensor()
    for n in norms:
        a.clamp_min_(n, None)
    a.sum(a.mul(a.div(x1, norms[0]), a.div(x2, norms[1])), dim)


@made_of()
def baddbmm(a, input, batch1, batch2, *, beta=1, alpha=1):
    a.copy_(input, input, False)
    a.resolve_conj(input)
    a.resolve_conj(batch2)


@made_of()
def roll(a, x, shifts, dims=()):
    if isinstance(dims, int):
        a.cat([a.narrow(x, dims, 0, 1), a.narrow(x, dims, 0, 1)], dims)


@made_of()
def masked_select(a, x, mask):
    a.empty()
    a.item(a.sum(mask.like(dtype=_types.named("bool"))))
    a.as_strided(promoted(a, x, x), None, None, None)


@made_of()
def nonzero(a, x, **options):
    a.as_strided_(a.empty())
