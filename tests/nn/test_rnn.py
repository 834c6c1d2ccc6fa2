"""Recurrent layers and packed sequences against PyTorch: same seed, same everything."""

import itertools

import numpy as np
import pytest

from tests.nn.both import agree, failing, warned

LAYERS = [("RNN", {}), ("RNN", {"nonlinearity": "relu"}), ("LSTM", {}), ("LSTM", {"proj_size": 2}), ("GRU", {})]
SHAPES = [{}, {"num_layers": 2, "bidirectional": True}, {"bias": False, "batch_first": True}]


def total(x):
    if isinstance(x, (list, tuple)):
        return sum(map(total, x))
    return (x * x.detach().cos()).sum()


@pytest.mark.parametrize("kwargs", SHAPES, ids=str)
@pytest.mark.parametrize("name,own", LAYERS, ids=str)
def test_layers(name, own, kwargs):
    def program(t):
        m = getattr(t.nn, name)(3, 4, **own, **kwargs)
        x = t.randn(5, 2, 3, requires_grad=True)
        out, state = m(x)
        again, last = m(x, state)  # an initial state
        (total(out) + total(again) + total(last)).backward()
        unbatched = m(x.detach()[0])
        return [
            m,
            m.state_dict(),
            out,
            state,
            again,
            last,
            x.grad,
            unbatched,
            [p.grad for p in m.parameters()],
            [len(w) for w in m.all_weights],
        ]

    agree(program)


@pytest.mark.parametrize("name,own", LAYERS, ids=str)
def test_large_layers(name, own):
    """Wide enough for oneDNN, where it has them."""

    def program(t):
        m = getattr(t.nn, name)(7, 64, 2, dropout=0.3, bidirectional=True, batch_first=True, **own)
        x = t.randn(43, 5, 7, requires_grad=True)
        out, state = m(x)
        again = t.utils.checkpoint.checkpoint(lambda x: m.eval()(x)[0], x, use_reentrant=False)
        (total(out) + total(again) + total(state)).backward()
        grads = [p.grad.clone() for p in m.parameters()]
        (g,) = t.autograd.grad(total(m(x)[0]), x, create_graph=True)
        g.pow(2).sum().backward()
        short = m(x.detach()[:, :1])
        return [out, state, again, grads, g, x.grad, [p.grad for p in m.parameters()], short]

    agree(program, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("name,own", LAYERS, ids=str)
def test_packed(name, own):
    def program(t):
        rnn = t.nn.utils.rnn
        sequences = [t.randn(n, 3, requires_grad=True) for n in (2, 5, 1, 4)]
        packed = rnn.pack_sequence(sequences, enforce_sorted=False)
        m = getattr(t.nn, name)(3, 4, 2, bidirectional=True, dropout=0.4, **own)
        out, state = m(packed)
        again, last = m(packed, state)
        (total(out.data) + total(again.data) + total(last)).backward()
        return [out, state, again, last, [x.grad for x in sequences], [p.grad for p in m.parameters()]]

    agree(program)


def test_dropout_between_layers_draws_the_same():
    def program(t):
        m = t.nn.GRU(2, 3, 3, dropout=0.5, batch_first=True)
        x = t.randn(2, 4, 2)
        return [m(x), m(x), m.eval()(x)]

    agree(program)


@pytest.mark.parametrize(
    "name,args", [("RNNCell", ()), ("RNNCell", (True, "relu")), ("LSTMCell", ()), ("GRUCell", (False,))], ids=str
)
def test_cells(name, args):
    def program(t):
        m = getattr(t.nn, name)(3, 4, *args)
        x = t.randn(2, 3, requires_grad=True)
        h = m(x)
        for _ in range(2):
            h = m(x, h)
        total(h).backward()
        state = (h[0][0], h[1][0]) if name == "LSTMCell" else h[0]
        return [m, m.state_dict(), h, x.grad, [p.grad for p in m.parameters()], m(x[0]), m(x[0], state)]

    agree(program)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name,own", LAYERS, ids=str)
def test_outputs_lie_in_memory_as_they_are_computed(name, own, dtype):
    """Step after step, also with batch_first; so do the numbers that are drawn for them."""

    def program(t):
        found = []
        for layers, both, bias, batch, length in itertools.product(
            (1, 2), (False, True), (False, True), (0, 1, 2), (1, 5)
        ):
            m = getattr(t.nn, name)(
                3, 4, layers, bias=bias, batch_first=True, bidirectional=both, dtype=getattr(t, dtype), **own
            )
            x = t.randn(batch, length, 3, dtype=getattr(t, dtype))
            for m.training in (True, False):
                out, last = m(x)
                last = last if isinstance(last, tuple) else (last,)
                found += [out.stride(), out.is_contiguous(), [h.stride() for h in last], t.nn.functional.dropout(out)]
                with t.no_grad():
                    found += [m(x)[0].stride(), m(x)[0].clone().stride()]
            found += [failing(out.view, -1)[0], m(t.ones(length, 3, dtype=x.dtype))[0].stride()]
        x = t.randn(2, 3, 3, requires_grad=True)
        (getattr(t.nn, name)(3, 4, batch_first=True, **own)(x)[0] ** 2).sum().backward()
        return [found, x.grad, x.grad.stride()]

    agree(program)


@pytest.mark.parametrize("name,own", LAYERS, ids=str)
def test_nothing_is_refused_where_it_is_time(name, own):
    def program(t):
        found, layers = [], [getattr(t.nn, name)(3, 4, batch_first=first, **own) for first in (False, True)]
        for m, shape in itertools.product(layers, ((0, 2, 3), (2, 0, 3), (0, 0, 3), (0, 3))):
            failed = failing(m, t.ones(shape))
            found.append([m(t.ones(shape)), m(t.ones(shape))[0].stride()] if failed == "no error" else failed)
        return found

    agree(program)


PRECISIONS = [("float32", "float32"), ("bfloat16", "float32"), ("float32", "bfloat16"), ("float64", "float64")]


@pytest.mark.parametrize("of_input,of_weights", [*PRECISIONS, ("float64", "float32"), ("float32", "float64")])
@pytest.mark.parametrize("name,own", LAYERS, ids=str)
def test_precision_under_autocast(name, own, of_input, of_weights):
    """Of an RNN and of what oneDNN computes whole all is in bfloat16, of others the products."""

    def grad(t, m, x, autocast):
        with t.autocast("cpu", dtype=t.bfloat16, enabled=autocast):
            out = m(x)[0]
        return t.autograd.grad(total(out.float()), m.weight_hh_l0)[0]

    def program(t):
        found = []
        for layers, both, bias in itertools.product((1, 2), (False, True), (False, True)):
            m = getattr(t.nn, name)(3, 4, layers, bias=bias, bidirectional=both, dtype=getattr(t, of_weights), **own)
            x = t.randn(5, 2, 3, dtype=getattr(t, of_input))
            for given in (x, x[0], t.nn.utils.rnn.pack_padded_sequence(x, [5, 3])):
                for enabled in (True, False):
                    try:
                        with t.set_grad_enabled(enabled), t.autocast("cpu", dtype=t.bfloat16):
                            out, last = m(given)
                    except RuntimeError:
                        found.append("RuntimeError")
                        continue
                    tensors = [out.data if out.__class__.__name__ == "PackedSequence" else out]
                    tensors += last if isinstance(last, tuple) else (last,)
                    found += [[str(y.dtype) for y in tensors], [y.double() for y in tensors]]
            if of_weights == "float32" == of_input:
                exact, low = grad(t, m, x, False), grad(t, m, x, True)
                found += [str(low.dtype), bool((low - exact).norm() < 0.1 * exact.norm())]
        return found

    agree(program, rtol=0.03, atol=0.02)


@pytest.mark.parametrize("name", ["RNNCell", "LSTMCell", "GRUCell"])
def test_precision_of_cells_under_autocast(name):
    def program(t):
        m = getattr(t.nn, name)(3, 4)
        with t.autocast("cpu", dtype=t.bfloat16):
            h = m(t.randn(2, 3))
        return [[str(y.dtype), y.double()] for y in (h if isinstance(h, tuple) else (h,))]

    agree(program, rtol=0.03, atol=0.02)


def test_weights_of_another_dtype_are_refused():
    def program(t):
        found, double = [], t.float64
        for name, gates in (("rnn_tanh_cell", 1), ("rnn_relu_cell", 1), ("gru_cell", 3), ("lstm_cell", 4)):
            for wide in range(4):
                x, h, w, u = (
                    t.ones(shape, dtype=double if i == wide else t.float32)
                    for i, shape in enumerate(((1, 3), (1, 2), (2 * gates, 3), (2 * gates, 2)))
                )
                found.append(failing(getattr(t, name), x, (h, h) if name == "lstm_cell" else h, w, u))
        return found

    agree(program)


def test_functions():
    def program(t):
        m = t.nn.LSTM(2, 3)
        x, h = t.randn(4, 1, 2), t.zeros(1, 1, 3)
        w = m._flat_weights
        packed = t.nn.utils.rnn.pack_sequence([t.randn(3, 2), t.randn(1, 2)])
        zeros = t.zeros(1, 2, 3)
        return [
            t.lstm(x, (h, h), w, True, 1, 0.0, False, False, False),
            t.lstm(packed.data, packed.batch_sizes, (zeros, zeros), w, True, 1, 0.0, False, False),
            t.gru_cell(t.ones(1, 2), t.ones(1, 1), t.ones(3, 2), t.ones(3, 1)),
        ]

    agree(program)


def test_double_backward():
    def program(t):
        m = t.nn.GRU(2, 2)
        x = t.randn(3, 1, 2, requires_grad=True)
        (g,) = t.autograd.grad(total(m(x)[0]), x, create_graph=True)
        g.pow(2).sum().backward()
        return [g, x.grad, m.weight_hh_l0.grad]

    agree(program)


def test_errors():
    def program(t):
        nn, x = t.nn, t.ones(4, 2, 3)
        lstm, rnn, gru = nn.LSTM(3, 4), nn.RNN(3, 4), nn.GRU(3, 4)
        h = t.zeros(1, 2, 4)
        return [
            failing(*c)
            for c in (
                (lstm, t.ones(3)),
                (gru, t.ones(3)),
                (rnn, t.ones(3)),
                (lstm, t.ones(4, 2, 2)),
                (lstm, x, (h, t.zeros(1, 2, 5))),
                (lstm, x, (t.zeros(1, 3, 4), h)),
                (gru, x, h[0]),
                (gru, x[0], h),
                (lstm, x, (h[0], h)),
                (lstm, x.double()),
                (gru, x, t.zeros(2, 2, 4)),
                (nn.LSTM, 0, 4),
                (nn.LSTM, 3, 0),
                (nn.LSTM, 3.0, 4),
                (nn.LSTM, 3, 4, 0),
                (nn.LSTM, 3, 4, 1, 3),
                (nn.LSTM, 3, 4, 1, True, 3),
                (nn.LSTM, 3, 4, 1, True, False, 2.0),
                (nn.RNNBase, "X", 3, 4),
                (nn.RNN, 3, 4, 1, "sin"),
            )
        ] + [
            failing(lambda: nn.LSTM(3, 4, proj_size=4)),
            failing(lambda: nn.LSTM(3, 4, proj_size=-1)),
            failing(lambda: nn.GRU(3, 4, proj_size=1)),
            failing(nn.GRUCell(3, 4), t.ones(1, 1, 3)),
            failing(nn.LSTMCell(3, 4), t.ones(1, 3), (t.ones(1, 1, 4), h)),
            failing(nn.RNNCell(3, 4), t.ones(1, 2)),
            failing(nn.RNNCell(3, 4), t.ones(1, 3), h[0]),
            warned(lambda: nn.GRU(3, 4, dropout=0.1)),
        ]

    agree(program)


def test_weights_put_in_place_are_used():
    def program(t):
        m = t.nn.GRU(2, 2)
        m.weight_ih_l0 = t.nn.Parameter(t.zeros(6, 2))
        t.nn.utils.parametrizations.weight_norm(m, "weight_hh_l0")
        out = m(t.ones(3, 1, 2))[0]
        out.sum().backward()
        return [out, m.parametrizations.weight_hh_l0.original0.grad, m.double()(t.ones(1, 1, 2, dtype=t.float64))[0]]

    agree(program)


# ---- packing -------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("sort", [False, True])
def test_pack_and_pad(batch_first, sort):
    def program(t):
        rnn, lengths = t.nn.utils.rnn, [5, 3, 3, 1] if sort else [3, 5, 1, 3]
        x = t.randn(4, 5, 2, requires_grad=True)
        y = x if batch_first else x.transpose(0, 1)
        packed = rnn.pack_padded_sequence(y, lengths, batch_first, enforce_sorted=sort)
        padded, sizes = rnn.pad_packed_sequence(packed, batch_first, -1.0, 6)
        total(padded).backward()
        return [
            packed,
            padded,
            sizes,
            x.grad,
            rnn.unpack_sequence(packed),
            packed.double().data,
            packed.to(t.float32) is packed,
            packed.is_cuda,
        ]

    agree(program)


def test_pad_sequence():
    def program(t):
        rnn, xs = t.nn.utils.rnn, [t.ones(2, 3), t.ones(4, 3), t.ones(1, 3)]
        return [
            rnn.pad_sequence(xs),
            rnn.pad_sequence(xs, True, 5.0),
            rnn.pad_sequence(xs, True, 5.0, "left"),
            rnn.pad_sequence([t.arange(3), t.arange(2)]),
            rnn.unpad_sequence(rnn.pad_sequence(xs), t.tensor([2, 4, 1])),
        ]

    agree(program)


def test_unpadded_sequences_are_copies():
    def program(t):
        rnn, found = t.nn.utils.rnn, []
        for p in (t.arange(6.0).view(2, 3), t.arange(24.0).view(2, 3, 4), t.arange(24.0).view(3, 2, 4).transpose(0, 1)):
            for lengths in ([3, 2], [1, 0], [9, -1]):
                p.requires_grad_(False)
                sequences = rnn.unpad_sequence(p, t.tensor(lengths), batch_first=True)
                found += [[x.clone() for x in sequences], [x.stride() for x in sequences]]
                sequences[0].zero_()
                found.append(p.clone())
                p.requires_grad_()
                sum(total(x) for x in rnn.unpad_sequence(p, t.tensor(lengths), batch_first=True)).backward()
                found.append(p.grad.clone())
        packed = rnn.pack_sequence([t.ones(2), t.ones(1)])
        return [*found, [x.stride() for x in rnn.unpack_sequence(packed)]]

    agree(program)


SEQUENCES = {
    "integers": lambda t: [t.arange(3), t.arange(1), t.arange(5)],
    "of NumPy": lambda t: [t.from_numpy(np.ones((n, 2))) for n in (3, 1, 4)],
    "views": lambda t: [x := t.arange(30.0).reshape(10, 3), x[2:3], x[1:8:2], x[3:7].flip(0)],
    "turned": lambda t: [t.arange(6.0).reshape(2, 3).T, t.ones(1, 2)],
    "recorded": lambda t: [t.ones(n, 2) * n for n in (3, 1, 4)],
    "on the tape": lambda t: [t.ones(n, 2, requires_grad=True) for n in (3, 1, 4)],
    "several dtypes": lambda t: [t.tensor([1, 2, 3]), t.tensor([1.5])],
    "empty": lambda t: [t.ones(0), t.ones(2)],
    "bools": lambda t: [t.tensor([True]), t.tensor([False, True])],
    "halves": lambda t: [t.ones(1, dtype=t.float16), t.ones(2, dtype=t.float16)],
    "bytes": lambda t: [t.ones(1, dtype=t.uint8), t.ones(2, dtype=t.uint8)],
    "other sizes": lambda t: [t.ones(2, 3), t.ones(2, 2)],
}


@pytest.mark.parametrize("make", SEQUENCES.values(), ids=SEQUENCES)
def test_pad_sequence_of_what_is_there_and_what_is_not(make):
    """The result's memory is its own."""

    def program(t):
        found = []
        for batch_first, side, number in itertools.product((True, False), ("left", "right"), (0.0, 0.5, 1e10)):
            xs = make(t)
            try:
                made = t.nn.utils.rnn.pad_sequence(xs, batch_first, number, side)
            except RuntimeError:
                found.append(None)
                continue
            found += [made.clone(), made.stride(), made.requires_grad]
            if made.requires_grad:
                (made * made).sum().backward()
                found += [x.grad for x in xs]
            else:
                made.zero_()
                found += xs
        return found

    agree(program)


def test_packing_errors():
    def program(t):
        rnn, x = t.nn.utils.rnn, t.ones(3, 2, 1)
        return [
            failing(*c)[0]
            for c in (
                (rnn.pack_padded_sequence, x, [1, 2]),
                (rnn.pack_padded_sequence, x, [2, 0]),
                (rnn.pack_padded_sequence, x, [2]),
                (rnn.pad_sequence, 3),
            )
        ] + [failing(rnn.pad_packed_sequence, rnn.pack_sequence([t.ones(3, 1)]), False, 0.0, 2)]

    agree(program)
