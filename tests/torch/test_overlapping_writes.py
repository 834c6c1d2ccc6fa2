"""Writes to some elements of tensors that overlap themselves, against PyTorch."""

import warnings

import pytest

from functorch_core import torch as ours
from tests.nn.both import agree, failing

EXPANDED, ROWS, PARTIAL = "expanded", "rows", "partial"
MADE = {
    EXPANDED: lambda t: t.zeros(1).expand(4),
    ROWS: lambda t: t.zeros(1, 4).expand(3, 4),
    PARTIAL: lambda t: t.arange(5.0).as_strided((2, 4), (1, 1)),
    "gaps": lambda t: t.zeros(20).as_strided((2, 4), (9, 2)),
    "reversed": lambda t: t.zeros(4, 2).as_strided((3, 4), (0, 1), 2),
}
WRITES = {
    "number": lambda t, x: x.index_fill_(0, t.tensor([1, 0]), 3.0),
    "tensor": lambda t, x: x.index_fill_(-1, t.tensor(2), t.tensor(3, dtype=t.int)),
    "put": lambda t, x: x.index_put_((t.tensor([-1]),), t.arange(4.0)[-1:]),
    "added": lambda t, x: x.index_put_((t.tensor([0, 1, 1]),), t.tensor(2.0), accumulate=True),
    "mask": lambda t, x: x.masked_fill_(t.arange(4) % 3 == 1, 4.0),
    "mask, tensor": lambda t, x: x.masked_fill_(t.arange(x.numel()).reshape(x.shape) < 2, t.tensor(4)),
    "x[i] =": lambda t, x: x.__setitem__(t.tensor([1]), 5.0),
    "x[..., i] =": lambda t, x: x.__setitem__((..., t.tensor([1, 3])), t.tensor([[[6.0, 7.0]]])),
    "x[mask] =": lambda t, x: x.__setitem__(t.arange(x.numel()).reshape(x.shape) == 1, t.tensor(8)),
    "x[:1, i] =": lambda t, x: x.__setitem__((slice(1), t.tensor([1])) if x.ndim == 2 else t.tensor([1]), 1.0),
}


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.filterwarnings("ignore:Use of")
def test_writes(made, write):
    def program(t):
        x = MADE[made](t)
        WRITES[write](t, x)
        return x, x.as_strided((x.untyped_storage().nbytes() // 4,), (1,), 0)

    agree(program)


def test_gradients():
    def program(t):
        results = []
        for where in ((0, t.tensor([1, 2])), (slice(1), t.tensor([0, 3]))):
            x, v = t.ones(1, 4, requires_grad=True), t.full((1,), 2.0, requires_grad=True)
            rows = (x * 2).expand(3, 4)
            rows[where] = v * 3
            (rows * t.arange(12.0).reshape(3, 4)).sum().backward()
            results.append((x.grad, v.grad))
        return results

    agree(program)


@pytest.mark.filterwarnings("ignore:Use of")
def test_gradients_that_pytorch_does_not_give():
    """Its backward pass writes to the expanded gradient; of a mask of all rows they are sums over what is left."""
    x, v = ours.ones(1, 4, requires_grad=True), ours.tensor(5.0, requires_grad=True)
    rows = (x * 2).expand(3, 4)
    rows.masked_fill_(ours.eye(3, 4, dtype=ours.bool), v)  # the first three of the four places
    (rows * ours.arange(12.0).reshape(3, 4)).sum().backward()
    assert x.grad.tolist() == [[0, 0, 0, 2 * (3 + 7 + 11)]] and v.grad.item() == 66 - 21


def test_what_is_refused_and_warned_of():
    def program(t):
        def row():
            return t.zeros(1, 4).expand(3, 4)

        calls = [
            lambda: row().index_put_((t.tensor([1]),), t.ones(4, dtype=t.int)),
            lambda: row().masked_fill_(t.ones(3, 4), 2),
            lambda: row().scatter_(0, t.tensor([[0]]), 1.0),
            lambda: row().add_(1),
            lambda: t.zeros(1, 4, requires_grad=True).expand(3, 4).index_fill_(0, t.tensor([1]), 1.0),
            lambda: t.arange(4).index_fill_(0, t.arange(4)[:2], 1).index_put_((t.tensor([0]),), t.tensor([9])),
        ]
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            failed = [failing(call) for call in calls[:-1]] + [calls[-1]()]
            row().index_fill_(0, t.tensor([1]), 1.0)
            row().index_put_((t.tensor([1]),), t.ones(1))
        told = {str(w.message).partition(" (Trig")[0] for w in seen if str(w.message).startswith("Use of index")}
        return failed, sorted(told)

    agree(program)
