"""Recurrent layers: each call is one op whose loop over time is a scan, so that long sequences
compile as fast as short ones."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ....kernels.values import like
from ....transforms.by_library import by_library
from ....transforms.linear_map import linear_map
from ....transforms.scan import scan
from ....xla import Gru, Lstm, Recurrent
from ...dispatch.op import composite, torch_op
from ...dispatch.slots import MaybeTensor, Tensors
from ...tensors.active import active as switched
from ...tensors.base import Tensor, from_array
from ...tensors.types import by_name
from ...views.memory_order import with_strides
from ...views.strides import contiguous_strides
from ..linalg.matmul import MAT1_AND_MAT2
from ..values import aval_of, full_like, name_of, np, p, permuted, require_same_dtype
from .other import dropout_mask

LIBRARY_DTYPES = (by_name["float32"], by_name["bfloat16"])
NO_STEPS = "Expected sequence length to be larger than 0 in RNN"

# ---- one step ------------------------------------------------------------------------------------
# A step takes what the input contributes to the gates, the states (h, or h and c) and a product
# with the recurrent weight; it returns the new states. Under autocast products are in the precision of
# the weights, and what is made of them and of states in float32 is in float32.


def _product(x, weight):
    """x @ weight.T"""
    return p.dot_general(like(x, weight), weight, contract=((aval_of(x).ndim - 1,), (1,)))


def _affine(x, weight, bias):
    """x @ weight.T + bias"""
    out = _product(x, weight)
    if bias is None:
        return out
    a = aval_of(out)
    return p.add(out, p.broadcast_in_dim(bias, shape=a.shape, dims=(a.ndim - 1,)))


def _parts(x, n: int, dimension: int = -1) -> list:
    """The n equal parts of a dimension."""
    shape = aval_of(x).shape
    at, size = dimension % len(shape), shape[dimension] // n
    return [p.slice_in_dim(x, start=i * size, limit=(i + 1) * size, dimension=at) for i in range(n)]


def _simple(activation: Callable) -> Callable:
    def step(x, states, recurrent, project):
        return [activation(p.add(x, recurrent(states[0])))]

    return step


def _relu(x):
    return p.max(x, full_like(x, 0))


def _lstm(x, states, recurrent, project):
    h, c = states
    i, f, g, o = _parts(p.add(x, recurrent(h)), 4)
    c = p.add(p.mul(like(p.logistic(f), c), c), like(p.mul(p.logistic(i), p.tanh(g)), c))
    h = p.mul(like(p.logistic(o), c), p.tanh(c))
    return [h if project is None else _product(h, project), c]


def _gru(x, states, recurrent, project):
    (h,) = states
    (xr, xz, xn), (hr, hz, hn) = _parts(x, 3), _parts(recurrent(h), 3)
    r, z = p.logistic(p.add(xr, hr)), p.logistic(p.add(xz, hz))
    n, z = like(p.tanh(p.add(xn, p.mul(r, hn))), h), like(z, h)
    return [p.add(n, p.mul(z, p.sub(h, n)))]


STEPS = {"RNN_TANH": _simple(p.tanh), "RNN_RELU": _simple(_relu), "LSTM": _lstm, "GRU": _gru}


# ---- layers --------------------------------------------------------------------------------------


class Weights(NamedTuple):
    """The weights of one layer in one direction."""

    ih: object
    hh: object
    b_ih: object = None
    b_hh: object = None
    hr: object = None

    @classmethod
    def of(cls, params: Sequence, has_biases: bool):
        """From (w_ih, w_hh, [b_ih, b_hh], [w_hr])."""
        biases = params[2:4] if has_biases else (None, None)
        rest = params[4:] if has_biases else params[2:]
        return cls(*params[:2], *biases, *rest)


def _run_layer(x, states: list, w: Weights, mode: str, active, reverse: bool):
    """(outputs (T, B, H), last states) of one layer in one direction; x is (T, B, I).

    Where `active` (T, B) is False the states stay as they are.
    """
    if active is None and (call := _library_call(x, states, w, mode, reverse)):
        return _by_library(x, states, w, mode, call)
    return _scanned(x, states, w, mode, active, reverse)


# What a library computes whole, by mode.
_LIBRARY = {"LSTM": Lstm, "GRU": Gru}


def _library_call(x, states: list, w: Weights, mode: str, reverse: bool) -> Recurrent | None:
    """What oneDNN computes of it, if it may: of an LSTM what PyTorch does, to the last bit."""
    arrays = [v for v in (x, *states, *w) if v is not None]
    if mode not in _LIBRARY or w.hr is not None or any(aval_of(v).dtype != np.float32 for v in arrays):
        return None
    call = _LIBRARY[mode]("inference", *aval_of(x).shape, aval_of(w.hh).shape[1], reverse)
    return call if min(call.sizes) > 0 else None


def _by_library(x, states: list, w: Weights, mode: str, call: Recurrent):
    """A layer that a library may compute, and its gradients; other derivatives are XLA's loop's."""

    def layer(x, *operands):
        *states, ih, hh, bias = operands
        outputs, last = _scanned(x, states, _from_library(ih, hh, bias, mode), mode, None, call.reverse)
        return [outputs, *last[1:]]

    outputs, *rest = by_library(layer, [x, *states, *_for_library(w, mode)], call)
    at = 0 if call.reverse else call.time - 1
    h = p.squeeze(p.slice_in_dim(outputs, start=at, limit=at + 1, dimension=0), dims=(0,))
    return outputs, [h, *rest]


def _for_library(w: Weights, mode: str) -> list:
    """The two weights and the bias that the library takes."""
    if w.b_ih is None:
        bias = p.zeros(aval_of(w.hh).with_shape((4 * aval_of(w.hh).shape[1],)))
    elif mode == "GRU":
        (_, _, xn), (_, _, hn), (r, z, _) = (_parts(b, 3) for b in (w.b_ih, w.b_hh, p.add(w.b_ih, w.b_hh)))
        bias = p.concatenate(z, r, xn, hn, dimension=0)
    else:
        bias = p.add(w.b_ih, w.b_hh)
    return [_exchanged(w.ih), _exchanged(w.hh), bias] if mode == "GRU" else [w.ih, w.hh, bias]


def _from_library(ih, hh, bias, mode: str) -> Weights:
    """The weights of which these are `_for_library`."""
    if mode != "GRU":
        return Weights(ih, hh, bias)
    z, r, xn, hn = _parts(bias, 4)
    zeros = full_like(hn, 0)
    b_ih, b_hh = p.concatenate(r, z, xn, dimension=0), p.concatenate(zeros, zeros, hn, dimension=0)
    return Weights(_exchanged(ih), _exchanged(hh), b_ih, b_hh)


def _exchanged(weight):
    """A GRU's weights of r, z, n (PyTorch) as those of z, r, n (oneDNN), and back. XLA removes one after the other."""

    def exchange(x):
        first, second, last = _parts(x, 3, dimension=0)
        return p.concatenate(second, first, last, dimension=0)

    return linear_map(exchange, lambda ct: [exchange(ct)], [weight], both=True)


def _scanned(x, states: list, w: Weights, mode: str, active, reverse: bool):
    """`_run_layer` by a loop of XLA's."""
    step = STEPS[mode]
    # The inputs' part of all steps is one product; a GRU needs the recurrent bias inside its gate.
    inputs = _affine(x, w.ih, w.b_ih)

    def body(carry, slices):
        new = step(slices[0], carry, lambda h: _affine(h, w.hh, w.b_hh), w.hr)
        if active is not None:
            new = [_where_active(slices[1], a, b) for a, b in zip(new, carry)]
        return new, [new[0]]

    last, (outputs,) = scan(body, states, [inputs, *([] if active is None else [active])], reverse=reverse)
    return outputs, last


def _where_active(active, new, old):
    return p.select(p.broadcast_in_dim(active, shape=aval_of(new).shape, dims=(0,)), new, old)


def _run_layers(x, states: list, params: list, masks: list, active, mode, bidirectional, keep):
    """All layers: (outputs of the last (T, B, D * H), last states as (layers * D, B, H) each)."""
    directions, lasts = 2 if bidirectional else 1, []
    n_layers = len(params) // directions
    for layer in range(n_layers):
        outputs = []
        for d in range(directions):
            i = layer * directions + d
            own = [p.squeeze(p.slice_in_dim(s, start=i, limit=i + 1, dimension=0), dims=(0,)) for s in states]
            out, last = _run_layer(x, own, params[i], mode, active, reverse=d == 1)
            outputs.append(out)
            lasts.append(last)
        x = outputs[0] if directions == 1 else p.concatenate(*outputs, dimension=2)
        if masks and layer < n_layers - 1:
            mask = like(masks[layer], x)
            scaled = p.div(mask, full_like(mask, keep))
            x = p.mul(x, scaled)
    stacked = [p.concatenate(*[p.expand_dims(h, dims=(0,)) for h in kind], dimension=0) for kind in zip(*lasts)]
    return x, stacked


def _rnn_node(a):
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


@torch_op(returns=tuple, node=_rnn_node)
def _rnn(
    input: Tensor,
    states: Tensors,
    params: Tensors,
    masks: Tensors,
    mode,
    has_biases,
    bidirectional,
    batch_first,
    keep,
    autocast,
):
    """All layers of a padded batch."""
    _require_dtype(input, states, params, autocast)
    x = permuted(input, (1, 0, 2)) if batch_first else input
    if not aval_of(x).shape[0]:
        raise RuntimeError(NO_STEPS)
    layers = _by_layer(params, has_biases, aval_of(states[0]).shape[0])
    out, last = _run_layers(x, list(states), layers, list(masks), None, mode, bidirectional, keep)
    return (permuted(out, (1, 0, 2)) if batch_first else out, *last)


@torch_op(returns=tuple)
def _packed_rnn(
    data: Tensor,
    places: Tensor,
    rows: Tensor,
    states: Tensors,
    params: Tensors,
    masks: Tensors,
    mode,
    has_biases,
    bidirectional,
    keep,
    autocast,
):
    """All layers of packed sequences: data (N, I); places (T, B) of a step in data, -1 where there
    is none; rows (N) of a datum in the padded (T * B)."""
    _require_dtype(data, states, params, autocast)
    length, batch = aval_of(places).shape
    layers = _by_layer(params, has_biases, aval_of(states[0]).shape[0])
    active = p.ge(places, full_like(places, 0))
    at = p.reshape(places, shape=(length * batch,))

    def padded(x):
        x = p.take(x, p.max(at, full_like(at, 0)), axis=0)
        return p.reshape(x, shape=(length, batch, aval_of(x).shape[-1]))

    out, last = _run_layers(
        padded(data), list(states), layers, [padded(m) for m in masks], active, mode, bidirectional, keep
    )
    out = p.reshape(out, shape=(length * batch, aval_of(out).shape[-1]))
    return (p.take(out, rows, axis=0), *last)


def _require_dtype(x, states: Sequence, params: Sequence, autocast: bool):
    """RuntimeError for weights of another dtype than the input, and for states, which autocast may leave wider."""
    for y in (*params, *(() if autocast else states)):
        require_same_dtype(x, y, MAT1_AND_MAT2, name_of)


def _by_layer(params: Sequence, has_biases: bool, n: int) -> list[Weights]:
    """The flat weights as n groups."""
    each = len(params) // n
    return [Weights.of(params[i * each : (i + 1) * each], has_biases) for i in range(n)]


# ---- torch.lstm, gru, rnn_tanh, rnn_relu ---------------------------------------------------------


def _declare(name: str, mode: str):
    def layers(*args, **kwargs):
        # Packed: (data, batch_sizes, hx, params, ...), otherwise (input, hx, params, ...).
        packed = "batch_sizes" in kwargs or (len(args) > 3 and isinstance(args[3], (list, tuple)))
        return (_packed if packed else _padded)(mode, *args, **kwargs)

    gates, state = {"lstm": (4, "(h, h)"), "gru": (3, "h")}.get(name, (1, "h"))
    layers.__doc__ = f"""The layers of nn.{name.upper() if "_" not in name else "RNN"}: (output, last states).

    >>> h, weights = torch.zeros(1, 1, 1), [torch.ones({gates}, 1), torch.ones({gates}, 1)]
    >>> torch.{name}(torch.ones(2, 1, 1), {state}, weights, False, 1, 0.0, False, False, False)[0].shape
    torch.Size([2, 1, 1])
    """
    return composite(layers, name=name, method=False)


def _padded(mode, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    shape = tuple(input.shape[1::-1] if batch_first else input.shape[:2])
    input, states, params, autocast = _cast(mode, input, _states(hx), params, padded=True)
    masks = _masks(shape, input, states[0], dropout, train, num_layers, bidirectional)
    output, *last = _rnn(
        input,
        states,
        params,
        masks,
        mode,
        has_biases,
        bidirectional,
        batch_first,
        1.0 - dropout if masks and dropout < 1 else 1.0,
        autocast,
    )
    return (with_strides(output, _by_time(output.shape)) if batch_first else output, *last)


@functools.lru_cache(4096)
def _by_time(shape: tuple[int, int, int]) -> tuple[int, int, int]:
    """The strides of an output (B, T, H), which lies in memory as PyTorch computes it: step after step."""
    batch, length, size = shape
    of_step, of_sequence, of_feature = contiguous_strides((length, batch, size))
    return of_sequence, of_step, of_feature


def _packed(mode, data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional):
    places, rows = packed_places(batch_sizes.numpy())
    data, states, params, autocast = _cast(mode, data, _states(hx), params, padded=False)
    masks = _masks(data.shape[:1], data, states[0], dropout, train, num_layers, bidirectional)
    keep = 1.0 - dropout if masks and dropout < 1 else 1.0
    return _packed_rnn(
        data,
        from_array(places),
        from_array(rows),
        states,
        params,
        masks,
        mode,
        has_biases,
        bidirectional,
        keep,
        autocast,
    )


def _states(hx) -> list:
    return list(hx) if isinstance(hx, (list, tuple)) else [hx]


def _cast(mode: str, input, states: list, params, padded: bool) -> tuple:
    """(input, states, params, whether autocast is on), in low precision what PyTorch has in it: all of an RNN and of
    what a library computes whole, of others the operands of products. States that are no product keep theirs."""
    caster, params = switched.autocast, list(params)
    kind = None if caster is None else caster.kind([input])
    if kind is None:
        return input, states, params, False
    is_lstm, h, rest = mode == "LSTM", states[:1], states[1:]
    projects = is_lstm and h[0].shape[2] != rest[0].shape[2]
    by_library = padded and is_lstm and not projects and input.dtype in LIBRARY_DTYPES
    if kind != "cpu" or by_library or mode.startswith("RNN"):
        states = caster.low(kind, states)
    else:
        states = [*(caster.low if projects else caster.promoted)(kind, h), *caster.promoted(kind, rest)]
    return *caster.low(kind, [input]), states, caster.low(kind, params), True


def _masks(shape, input, h, dropout: float, train: bool, num_layers: int, bidirectional) -> list:
    """For each layer but the last, where its output stays: drawn in PyTorch's order."""
    if not (train and dropout > 0):
        return []
    shape = (*shape, h.shape[-1] * (2 if bidirectional else 1))
    if dropout == 1:  # PyTorch draws nothing then
        return [from_array(np.zeros(shape, input._aval.dtype))] * (num_layers - 1)
    return [dropout_mask(shape, input, dropout) for _ in range(num_layers - 1)]


def packed_places(batch_sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(places (T, B), rows (N)): where in packed data a step of a sequence is, -1 if it is over;
    and which element of the flattened (T, B) a datum is."""
    batch_sizes = np.asarray(batch_sizes, np.int64)
    columns = np.arange(batch_sizes[0] if len(batch_sizes) else 0)
    starts = np.cumsum(batch_sizes) - batch_sizes
    active = columns < batch_sizes[:, None]
    places = np.where(active, starts[:, None] + columns, -1)
    return places, np.flatnonzero(active)


for _name, _mode in (("lstm", "LSTM"), ("gru", "GRU"), ("rnn_tanh", "RNN_TANH"), ("rnn_relu", "RNN_RELU")):
    _declare(_name, _mode)


# ---- cells ---------------------------------------------------------------------------------------


def _check_cell(input, states: Sequence, w_hh):
    """RuntimeError unless input and states fit the weights."""
    a, width = aval_of(input), aval_of(w_hh).shape[1]
    for i, state in enumerate(states):
        h = aval_of(state)
        name = i if len(states) > 1 else 0
        if h.shape[0] != a.shape[0]:
            raise RuntimeError(f"Input batch size {a.shape[0]} doesn't match hidden{name} batch size {h.shape[0]}")
        if h.shape[1] != width:
            raise RuntimeError(f"hidden{name} has inconsistent hidden_size: got {h.shape[1]}, expected {width}")


def _cell(mode: str, input, states: list, w_ih, w_hh, b_ih, b_hh) -> list:
    found, expected = aval_of(input).shape[1], aval_of(w_ih).shape[1]
    if found != expected:
        raise RuntimeError(f"input has inconsistent input_size: got {found} expected {expected}")
    _check_cell(input, states, w_hh)
    require_same_dtype(input, w_ih)
    require_same_dtype(states[0], w_hh)
    inputs = _affine(input, w_ih, b_ih)
    return STEPS[mode](inputs, states, lambda h: _affine(h, w_hh, b_hh), None)


def _gate_node(which: str) -> str:
    x = {"h": "hx", "i": "input"}[which]
    return f"Addmm0(b_{which}h, {x}, T0(w_{which}h))"


def _cell_node(activation: str):
    return lambda a: None if a.b_ih is None else f"{activation}(Add0({_gate_node('h')}, {_gate_node('i')}))"


def _gru_node(a):
    if a.b_ih is None:
        return None
    new, old = f"UnsafeSplit0({_gate_node('i')})", f"UnsafeSplit0({_gate_node('h')})"
    reset = f"Sigmoid0(Add0({old}, {new}))"
    update = f"Sigmoid0(Add0({old}#1, {new}#1))"
    candidate = f"Tanh0(Add0({new}#2, Mul0({old}#2, {reset})))"
    return f"Add0(Mul0(Sub0(hx, {candidate}), {update}), {candidate})"


@torch_op(method=False, autocast="low", node=_cell_node("Tanh0"))
def rnn_tanh_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: MaybeTensor = None, b_hh: MaybeTensor = None
):
    """tanh(input @ w_ih.T + b_ih + hx @ w_hh.T + b_hh)

    >>> torch.rnn_tanh_cell(torch.ones(1, 1), torch.zeros(1, 1), torch.ones(1, 1), torch.ones(1, 1))
    tensor([[0.7616]])
    """
    return _cell("RNN_TANH", input, [hx], w_ih, w_hh, b_ih, b_hh)[0]


@torch_op(method=False, autocast="low", node=_cell_node("Relu0"))
def rnn_relu_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: MaybeTensor = None, b_hh: MaybeTensor = None
):
    """relu(input @ w_ih.T + b_ih + hx @ w_hh.T + b_hh)

    >>> torch.rnn_relu_cell(torch.ones(1, 1), torch.zeros(1, 1), torch.ones(1, 1), torch.ones(1, 1))
    tensor([[1.]])
    """
    return _cell("RNN_RELU", input, [hx], w_ih, w_hh, b_ih, b_hh)[0]


@torch_op(method=False, autocast={"cuda": "low"}, node=_gru_node)
def gru_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: MaybeTensor = None, b_hh: MaybeTensor = None):
    """One step of a GRU: the new h.

    >>> torch.gru_cell(torch.ones(1, 1), torch.zeros(1, 1), torch.ones(3, 1), torch.ones(3, 1))
    tensor([[0.2048]])
    """
    return _cell("GRU", input, [hx], w_ih, w_hh, b_ih, b_hh)[0]


@torch_op(method=False, returns=tuple, autocast={"cuda": "low"})
def lstm_cell(
    input: Tensor, hx: Tensors, w_ih: Tensor, w_hh: Tensor, b_ih: MaybeTensor = None, b_hh: MaybeTensor = None
):
    """One step of an LSTM: the new (h, c).

    >>> state = torch.zeros(1, 1), torch.zeros(1, 1)
    >>> torch.lstm_cell(torch.ones(1, 1), state, torch.ones(4, 1), torch.ones(4, 1))
    (tensor([[0.3696]]), tensor([[0.5568]]))
    """
    return tuple(_cell("LSTM", input, list(hx), w_ih, w_hh, b_ih, b_hh))


__all__ = ["gru_cell", "lstm_cell", "packed_places", "rnn_relu_cell", "rnn_tanh_cell"]
