"""Recurrent layers."""

from __future__ import annotations

import math
import numbers
import weakref

from ...core.warn import warn
from ...torch import gru, gru_cell, lstm, lstm_cell, rnn_relu, rnn_relu_cell, rnn_tanh, rnn_tanh_cell, zeros
from ...torch.tensors.active import active
from ...torch.tensors.base import Tensor
from .. import init
from ..utils.rnn import PackedSequence
from .linear import new_parameter
from .module import Module

ONE_LAYER = (
    "dropout option adds dropout after all but last recurrent layer, so non-zero dropout "
    "expects num_layers greater than 1, but got dropout={} and num_layers={}"
)
WRONG_DTYPE = (
    "RNN input dtype ({found}) does not match weight dtype ({wanted}). Convert input: "
    "input.to({wanted}), or convert model: model.to({found})"
)
NO_PROJECTION = "proj_size argument is only supported for LSTM, not RNN or GRU"

GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
LAYERS = {"LSTM": lstm, "GRU": gru, "RNN_TANH": rnn_tanh, "RNN_RELU": rnn_relu}


def apply_permutation(tensor, permutation, dim: int = 1):
    """Deprecated: tensor.index_select(dim, permutation)."""
    warn("`apply_permutation` is deprecated, please use `tensor.index_select(dim, permutation)` instead", FutureWarning)
    return tensor.index_select(dim, permutation)


def _check_arguments(input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size):
    """ValueError or TypeError for arguments that make no sense."""
    is_number = isinstance(dropout, numbers.Number) and not isinstance(dropout, bool)
    if not is_number or not 0 <= dropout <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
        )
    if dropout > 0 and num_layers == 1:
        warn(ONE_LAYER.format(dropout, num_layers))
    for name, value, kind in (
        ("bias", bias, bool),
        ("batch_first", batch_first, bool),
        ("input_size", input_size, int),
        ("hidden_size", hidden_size, int),
    ):
        if not isinstance(value, kind):
            raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
        if kind is int and value <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")


class RNNBase(Module):
    """What RNN, LSTM and GRU share.

    Weights are called weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, weight_hr_l0, with
    _reverse at the end for the backward direction.

    >>> isinstance(nn.LSTM(2, 3), nn.RNNBase)
    True
    """

    mode: str
    input_size: int
    hidden_size: int
    num_layers: int
    bias: bool
    batch_first: bool
    dropout: float
    bidirectional: bool
    proj_size: int

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device=None,
        dtype=None,
    ):
        super().__init__()
        _check_arguments(input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size)
        if mode not in GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode, self.input_size, self.hidden_size = mode, input_size, hidden_size
        self.num_layers, self.bias, self.batch_first = num_layers, bias, batch_first
        self.dropout, self.bidirectional, self.proj_size = float(dropout), bidirectional, proj_size
        self._all_weights = []
        where = {"device": device, "dtype": dtype}
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[: self._num_directions]:
                shapes = self._shapes(layer)
                self._all_weights.append([f"{name}_l{layer}{suffix}" for name in shapes])
                for name, shape in zip(self._all_weights[-1], shapes.values()):
                    setattr(self, name, new_parameter(*shape, **where))
        self._flat_weights_names = [name for group in self._all_weights for name in group]
        self._init_flat_weights()
        self.reset_parameters()

    @property
    def _num_directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def _state_size(self) -> int:
        return self.proj_size or self.hidden_size

    def _shapes(self, layer: int) -> dict[str, tuple[int, ...]]:
        """The weights of a layer in one direction, in PyTorch's order."""
        gates = GATES[self.mode] * self.hidden_size
        below = self.input_size if layer == 0 else self._state_size * self._num_directions
        shapes = {"weight_ih": (gates, below), "weight_hh": (gates, self._state_size)}
        if self.bias:
            shapes.update(bias_ih=(gates,), bias_hh=(gates,))
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        return shapes

    def reset_parameters(self):
        """Draw all weights uniformly, within 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    # ---- the flat list of weights

    def _init_flat_weights(self):
        self._flat_weights = [getattr(self, name, None) for name in self._flat_weights_names]
        self._flat_weight_refs = [None if w is None else weakref.ref(w) for w in self._flat_weights]

    def _update_flat_weights(self):
        """Look the weights up again if others took their places (a parametrization, for one)."""
        for ref, name in zip(self._flat_weight_refs, self._flat_weights_names):
            weight = getattr(self, name, None)
            if weight is not None and ref is not None and ref() is not weight:
                self._init_flat_weights()
                return

    def __setattr__(self, attr, value):
        names = self.__dict__.get("_flat_weights_names", ())
        if attr in names and "_flat_weights" in self.__dict__:
            self._flat_weights[names.index(attr)] = value
        super().__setattr__(attr, value)

    def flatten_parameters(self) -> None:
        """Does nothing: weights need not lie next to each other."""

    def _apply(self, fn, recurse=True):
        self._flat_weight_refs = []
        super()._apply(fn, recurse)
        self._init_flat_weights()
        return self

    @property
    def all_weights(self) -> list[list]:
        """The weights, by layer and direction."""
        return [[getattr(self, name) for name in group] for group in self._all_weights]

    def __getstate__(self):
        self._update_flat_weights()
        state = super().__getstate__()
        del state["_flat_weight_refs"]
        return state

    def __setstate__(self, state):
        super().__setstate__({"proj_size": 0, **state})
        self._flat_weight_refs = [None if w is None else weakref.ref(w) for w in self._flat_weights]

    def _replicate_for_data_parallel(self):
        replica = super()._replicate_for_data_parallel()
        replica._flat_weights = replica._flat_weights[:]
        replica._flat_weights_names = replica._flat_weights_names[:]
        return replica

    # ---- checks

    def check_input(self, input, batch_sizes) -> None:
        """ValueError or RuntimeError for inputs of another dtype, rank or width."""
        wanted = self._flat_weights[0].dtype
        if input.dtype is not wanted and active.autocast is None:
            raise ValueError(WRONG_DTYPE.format(found=input.dtype, wanted=wanted))
        ndim = 3 if batch_sizes is None else 2
        if input.dim() != ndim:
            raise RuntimeError(f"input must have {ndim} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def _batch_size(self, input, batch_sizes) -> int:
        if batch_sizes is not None:
            return int(batch_sizes[0])
        return input.shape[0 if self.batch_first else 1]

    def get_expected_hidden_size(self, input, batch_sizes) -> tuple[int, int, int]:
        """The shape of h: (layers * directions, batch, size)."""
        return (self.num_layers * self._num_directions, self._batch_size(input, batch_sizes), self._state_size)

    def check_hidden_size(self, hx, expected_hidden_size, msg: str = "Expected hidden size {}, got {}") -> None:
        """RuntimeError for a state of another shape."""
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input, hidden, batch_sizes) -> None:
        """Check the input and the initial state."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx, permutation):
        """The state with its batch in another order."""
        return hx if permutation is None else hx.index_select(1, permutation)

    # ---- forward

    def forward(self, input, hx=None):
        """(output, last state) of (L, N, I), with batch_first (N, L, I), of (L, I), or packed.

        The state is (layers * directions, N, H), without N for unbatched inputs; zeros by default.
        """
        self._update_flat_weights()
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        if input.dim() not in (2, 3):
            raise ValueError(self._bad_rank(input))
        batched, batch_dim = input.dim() == 3, 0 if self.batch_first else 1
        if hx is not None:
            self._check_ranks(hx, batched)
        if not batched:
            input = input.unsqueeze(batch_dim)
            hx = None if hx is None else self._each(hx, lambda h: h.unsqueeze(1))
        if hx is None:
            hx = self._zeros(input, None)
        self.check_forward_args(input, hx, None)
        output, *last = LAYERS[self.mode](
            input,
            hx,
            self._flat_weights,
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
            self.batch_first,
        )
        if not batched:
            output, last = output.squeeze(batch_dim), [h.squeeze(1) for h in last]
        return output, self._as_state(last)

    def _forward_packed(self, input, hx):
        data, batch_sizes, sorted_indices, unsorted_indices = input
        hx = self._zeros(data, batch_sizes) if hx is None else self.permute_hidden(hx, sorted_indices)
        self.check_forward_args(data, hx, batch_sizes)
        output, *last = LAYERS[self.mode](
            data,
            batch_sizes,
            hx,
            self._flat_weights,
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
        )
        output = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
        return output, self.permute_hidden(self._as_state(last), unsorted_indices)

    def _bad_rank(self, input) -> str:
        return f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.dim()}D instead"

    def _zeros(self, input, batch_sizes):
        return zeros(self.get_expected_hidden_size(input, batch_sizes), dtype=input.dtype, device=input.device)

    def _check_ranks(self, hx, batched: bool):
        kind, ndim = ("batched", 3) if batched else ("unbatched", 2)
        if hx.dim() != ndim:
            raise RuntimeError(f"For {kind} {ndim}-D input, hx should also be {ndim}-D but got {hx.dim()}-D tensor")

    def _each(self, hx, fun):
        return fun(hx)

    def _as_state(self, last: list):
        return last[0]

    def extra_repr(self):
        shown = f"{self.input_size}, {self.hidden_size}"
        for name, usual in (
            ("proj_size", 0),
            ("num_layers", 1),
            ("bias", True),
            ("batch_first", False),
            ("dropout", 0),
            ("bidirectional", False),
        ):
            value = getattr(self, name)
            if value != usual:
                shown += f", {name}={value}"
        return shown


class RNN(RNNBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu, for each step; num_layers of them.

    RNN(input_size, hidden_size, num_layers=1, nonlinearity='tanh', bias=True, batch_first=False,
    dropout=0.0, bidirectional=False, device=None, dtype=None)

    The input is (L, N, input_size), with batch_first (N, L, input_size), or (L, input_size) without a batch; the
    result is the output (L, N, D * hidden_size) and the state after the last step, (D * num_layers, N,
    hidden_size), D being 2 if bidirectional, else 1. RuntimeError for another input_size, ValueError for another
    number of dimensions or a dropout outside of [0, 1].

    >>> out, last = nn.RNN(3, 4)(torch.ones(5, 2, 3))
    >>> out.shape, last.shape
    (torch.Size([5, 2, 4]), torch.Size([1, 2, 4]))
    """

    def __init__(self, *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError(NO_PROJECTION)
        if len(args) > 3:
            nonlinearity, args = args[3], args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = nonlinearity

    def _bad_rank(self, input):
        return f"RNN: Expected input to be 2D or 3D, got {input.dim()}D tensor instead"


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997); its state is (h, c).

    LSTM(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
    bidirectional=False, proj_size=0, device=None, dtype=None)

    The input is (L, N, input_size), with batch_first (N, L, input_size), or (L, input_size) without a batch; the
    result is the output (L, N, D * H_out) and the state after the last step, h (D * num_layers, N, H_out) and
    c (D * num_layers, N, hidden_size), H_out being proj_size or else hidden_size, D being 2 if bidirectional, else 1.
    RuntimeError for another input_size, ValueError for another number of dimensions or a dropout outside of [0, 1].

    >>> output, (h, c) = nn.LSTM(10, 20, 2)(torch.randn(5, 3, 10))
    >>> output.shape, h.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input, batch_sizes) -> tuple[int, int, int]:
        """The shape of c."""
        return (*self.get_expected_hidden_size(input, batch_sizes)[:2], self.hidden_size)

    def check_forward_args(self, input, hidden, batch_sizes):
        """Check the input and the initial states."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(
            hidden[0], self.get_expected_hidden_size(input, batch_sizes), "Expected hidden[0] size {}, got {}"
        )
        self.check_hidden_size(
            hidden[1], self.get_expected_cell_size(input, batch_sizes), "Expected hidden[1] size {}, got {}"
        )

    def permute_hidden(self, hx, permutation):
        """The states with their batch in another order."""
        return hx if permutation is None else tuple(h.index_select(1, permutation) for h in hx)

    def _zeros(self, input, batch_sizes):
        where = {"dtype": input.dtype, "device": input.device}
        return (
            zeros(self.get_expected_hidden_size(input, batch_sizes), **where),
            zeros(self.get_expected_cell_size(input, batch_sizes), **where),
        )

    def _check_ranks(self, hx, batched: bool):
        kind, ndim = ("batched", 3) if batched else ("unbatched", 2)
        if hx[0].dim() != ndim or hx[1].dim() != ndim:
            raise RuntimeError(
                f"For {kind} {ndim}-D input, hx and cx should also be {ndim}-D but "
                f"got ({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
            )

    def _each(self, hx, fun):
        return fun(hx[0]), fun(hx[1])

    def _as_state(self, last: list):
        return tuple(last)


class GRU(RNNBase):
    """Gated recurrent units (Cho et al., 2014).

    GRU(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
    bidirectional=False, device=None, dtype=None)

    The input is (L, N, input_size), with batch_first (N, L, input_size), or (L, input_size) without a batch; the
    result is the output (L, N, D * hidden_size) and the state after the last step, (D * num_layers, N,
    hidden_size), D being 2 if bidirectional, else 1. RuntimeError for another input_size, ValueError for another
    number of dimensions or a dropout outside of [0, 1].

    >>> out, last = nn.GRU(3, 4, num_layers=2)(torch.ones(5, 2, 3))
    >>> out.shape, last.shape
    (torch.Size([5, 2, 4]), torch.Size([2, 2, 4]))
    """

    def __init__(self, *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError(NO_PROJECTION)
        super().__init__("GRU", *args, **kwargs)


# ---- cells ---------------------------------------------------------------------------------------


class RNNCellBase(Module):
    """What the cells share: one step, of (N, I) and (N, H), or (I) and (H).

    >>> isinstance(nn.GRUCell(2, 3), nn.RNNCellBase)
    True
    """

    input_size: int
    hidden_size: int
    bias: bool

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device=None, dtype=None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        gates, where = num_chunks * hidden_size, {"device": device, "dtype": dtype}
        self.weight_ih = new_parameter(gates, input_size, **where)
        self.weight_hh = new_parameter(gates, hidden_size, **where)
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, new_parameter(gates, **where) if bias else None)
        self.reset_parameters()

    reset_parameters = RNNBase.reset_parameters

    def extra_repr(self):
        shown = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            shown += f", bias={self.bias}"
        if self.__dict__.get("nonlinearity", "tanh") != "tanh":
            shown += f", nonlinearity={self.nonlinearity}"
        return shown

    def forward(self, input, hx=None):
        """The next state."""
        self._check(input, hx)
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
            hx = None if hx is None else self._each(hx, lambda h: h.unsqueeze(0))
        if hx is None:
            state = zeros(input.shape[0], self.hidden_size, dtype=input.dtype, device=input.device)
            hx = self._initial(state)
        new = self._step(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return new if batched else self._each(new, lambda h: h.squeeze(0))

    def _check(self, input, hx):
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        several = hx is not None and not isinstance(hx, Tensor)
        for i, h in enumerate(() if hx is None else hx if several else (hx,)):
            if h.dim() not in (1, 2):
                which = f"hx[{i}]" if several else "hidden"
                raise ValueError(f"{name}: Expected {which} to be 1D or 2D, got {h.dim()}D instead")

    def _each(self, hx, fun):
        return fun(hx)

    def _initial(self, state):
        return state


class RNNCell(RNNCellBase):
    """tanh(W_ih x + b_ih + W_hh h + b_hh), or relu.

    (N, input_size) and the state (N, hidden_size), zeros by default, or both without N; the result is the next
    state. RuntimeError for other sizes, ValueError for more dimensions.

    >>> nn.RNNCell(3, 4)(torch.ones(2, 3)).shape
    torch.Size([2, 4])
    """

    nonlinearity: str

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device=None, dtype=None
    ):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def _step(self, *args):
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return (rnn_tanh_cell if self.nonlinearity == "tanh" else rnn_relu_cell)(*args)


class LSTMCell(RNNCellBase):
    """One step of an LSTM; the state is (h, c).

    (N, input_size) and the states (N, hidden_size), zeros by default, or all without N; the result is (h, c).
    RuntimeError for other sizes, ValueError for more dimensions.

    >>> h, c = nn.LSTMCell(3, 4)(torch.ones(2, 3))
    >>> h.shape, c.shape
    (torch.Size([2, 4]), torch.Size([2, 4]))
    """

    _step = staticmethod(lstm_cell)

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def _each(self, hx, fun):
        return fun(hx[0]), fun(hx[1])

    def _initial(self, state):
        return state, state


class GRUCell(RNNCellBase):
    """One step of a GRU.

    (N, input_size) and the state (N, hidden_size), zeros by default, or both without N; the result is the next
    state. RuntimeError for other sizes, ValueError for more dimensions.

    >>> nn.GRUCell(3, 4)(torch.ones(2, 3)).shape
    torch.Size([2, 4])
    """

    _step = staticmethod(gru_cell)

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)


__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]
