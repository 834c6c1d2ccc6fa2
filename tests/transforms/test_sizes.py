"""What was derived of graphs at some sizes, for others: the same as if it were derived again."""

import random
import threading

import numpy as np
import pytest

import functorch_core as fc
import functorch_core.torch as torch
from functorch_core import primitives as p
from functorch_core.core.aval import aval
from functorch_core.core.dtypes import float32
from functorch_core.core.trace import trace_closed
from functorch_core.torch.dispatch import op as ops
from functorch_core.torch.tape import node as tape
from functorch_core.transforms import sizes

F = torch.nn.functional


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch):
    monkeypatch.setattr(sizes, "_forms", {})
    monkeypatch.setattr(sizes, "_kinds", set())
    monkeypatch.setattr(sizes, "_unplaced", [0])


class Derivation:
    """Of a graph of its size, another one: counts how often it was asked for."""

    def __init__(self, of):
        self.of, self.calls = of, 0

    def at(self, n, m=8):
        graph = trace_closed(lambda x: [self.of(x)], [aval((4, n, m), float32)], "g")

        def derive():
            self.calls += 1
            return graph, "static"

        before = self.calls
        made = sizes.resized(graph, "what", derive)
        assert sizes._same(made, (graph, "static"))
        return self.calls == before  # whether it was served


def flat(x):
    return p.reshape(x, shape=(4 * x.aval.shape[1], x.aval.shape[2]))


def known(of, *lengths):
    derivation = Derivation(of)
    assert not any([derivation.at(n) for n in (5, *lengths)])  # the first of a kind is not looked at
    return derivation


def test_is_served_after_three_that_agree():
    derivation = known(flat, 10, 17, 21)
    assert all([derivation.at(n) for n in (10, 11, 12, 19, 21, 22, 32)])


def test_is_not_served_beyond_twice_the_range_which_grows():
    derivation = known(flat, 20, 27, 31)
    assert derivation.at(42) and not derivation.at(43)
    assert derivation.at(66) and not derivation.at(67)


def test_is_not_served_far_below_the_range_which_grows():
    derivation = known(lambda x: p.reshape(x, shape=(x.aval.shape[1] * 8, 4)), 40, 47, 51)
    assert derivation.at(29) and not derivation.at(28)
    assert derivation.at(6) and not derivation.at(75)


def shortened(x):
    lead, n, width = x.aval.shape
    return p.slice(x, start=(0, 0, 0), limit=(lead, n - 3, width))


def test_is_not_served_below_where_something_would_be_short():
    derivation = known(shortened, 10, 17, 21)
    assert derivation.at(9) and derivation.at(5) and not derivation.at(4)


def test_large_arrays_are_not_served_beyond_what_was_compared():
    derivation = known(flat, 100_000, 110_001, 130_000)
    assert derivation.at(130_001) and derivation.at(131_072) and not derivation.at(131_073)
    assert derivation.at(131_072) and derivation.at(120_000)


def test_what_depends_on_a_remainder_is_not_taken_for_the_rule():
    derivation = known(flat, 10, 20, 30)
    assert derivation.at(40) and not derivation.at(15)
    assert derivation.at(25) and not derivation.at(12)


@pytest.mark.parametrize("n", [8, 4, 1, 0, 2])
def test_sizes_that_happen_to_be_equal_to_others_are_not_served(n):
    derivation = known(flat, 3, 17, 21)
    assert derivation.at(n) == (n not in (8, 4, 1, 0, 2))


def test_another_constant_size_is_another_line():
    derivation = known(flat, 10, 17, 21)
    assert not derivation.at(11, m=9)
    assert derivation.at(11)


def test_graphs_of_another_form_are_derived():
    def of(x):
        n = x.aval.shape[1]
        return flat(x) if n < 20 else p.neg(flat(x))

    derivation = known(of, 10, 15, 19)
    assert derivation.at(18) and not derivation.at(21)


def test_what_is_no_linear_function_is_not_served():
    derivation = known(lambda x: p.mul(x, p.full(x.aval.shape, x.aval.shape[1] ** 2, float32)), 10, 17, 21)
    assert not derivation.at(12)


def test_reciprocals_of_sizes_are_served():
    derivation = known(lambda x: p.mul(x, p.full(x.aval.shape, np.float32(1 / x.aval.shape[1]), float32)), 10, 17, 21)
    assert derivation.at(12) and derivation.at(19)


def area(x):
    return p.reshape(x, shape=(4 * x.aval.shape[1] * x.aval.shape[2],))


def test_is_served_of_two_sizes_after_five_that_agree():
    derivation = known(area, 9)
    assert not any([derivation.at(n, m) for n, m in ((10, 17), (13, 28), (21, 19), (15, 33))])
    assert all([derivation.at(n, m) for n, m in ((11, 29), (10, 17), (20, 58), (33, 16), (22, 5))])
    assert not derivation.at(11, 59) and not derivation.at(34, 20)  # beyond twice the range of one
    assert not derivation.at(12, 12) and not derivation.at(4, 30)  # equal to another one


def test_sizes_that_always_changed_together_say_nothing_of_others():
    derivation = known(area, 9)
    for n in (10, 13, 21, 15, 24, 30, 17, 28):
        derivation.at(n, 2 * n)
    assert derivation.at(12, 24) and not derivation.at(12, 25)


def test_each_remainder_has_its_own():
    """As of a convolution of stride 2."""

    def served(n, m):
        calls = []

        def make():
            calls.append(1)
            return aval(((n + 1) // 2, m // 2), float32), "static"

        assert sizes.made_at(("op", aval((4, n, m), float32)), make) == (
            aval(((n + 1) // 2, m // 2), float32),
            "static",
        )
        return not calls

    draw = random.Random(0)
    for _ in range(50):
        served(draw.randrange(10, 40), draw.randrange(12, 45))
    assert all([served(n, m) for n, m in ((12, 17), (15, 33), (20, 25), (25, 22))])


def test_a_result_that_differs_ends_it():
    calls = []

    def at(n):
        graph = trace_closed(lambda x: [flat(x)], [aval((4, n, 8), float32)], "g")
        other = trace_closed(lambda x: [flat(x) if n < 30 else p.neg(flat(x))], [aval((4, n, 8), float32)], "h")
        return sizes.resized(graph, "what", lambda: calls.append(n) or (other,))

    for n in (5, 10, 17, 21, 12, 40, 13):
        at(n)
    assert calls == [5, 10, 17, 21, 40, 13]


def test_what_is_kept_is_bounded(monkeypatch):
    monkeypatch.setattr(sizes, "MOST", 8)
    for k in range(100):
        for n in (5, 6):
            graph = trace_closed(lambda x: [p.neg(x)], [aval((4, n), float32)], f"g{k}")
            sizes.resized(graph, "what", lambda: (graph,))
    assert len(sizes._forms) <= 9 and len(sizes._kinds) <= 16 * 9


# ---- ops -----------------------------------------------------------------------------------------------


@pytest.fixture
def compared(monkeypatch):
    """Whatever is served is compared with what would have been derived; how often that was."""
    served = {"made_at": 0, "resized": 0}

    def comparing(name, module):
        original = getattr(sizes, name)

        def wrapped(*args):
            *given, derive = args
            calls = []
            made = original(*given, lambda: calls.append(1) or derive())
            if not calls:
                served[name] += 1
                assert sizes._same(made, derive()), given
            return made

        monkeypatch.setattr(module, name, wrapped)

    comparing("made_at", ops)
    comparing("resized", tape)
    return served


def randn(*shape):
    return torch.randn(*shape, requires_grad=True)


PROGRAMS = {
    "linear": lambda n: F.linear(randn(3, n, 5), randn(7, 5), randn(7)),
    "attention": lambda n: F.scaled_dot_product_attention(*[randn(2, 3, n, 4) for _ in range(3)], is_causal=n % 2 > 0),
    "layer norm": lambda n: F.layer_norm(randn(3, n, 5), (5,), randn(5), randn(5)),
    "norm over the size": lambda n: F.layer_norm(randn(3, n), (n,)),
    "softmax": lambda n: torch.softmax(randn(3, n), 1) * torch.log_softmax(randn(3, n), 0),
    "cross entropy": lambda n: F.cross_entropy(randn(n, 5), torch.randint(5, (n,))),
    "embedding": lambda n: F.embedding(torch.randint(6, (3, n)), randn(6, 5)),
    "mean": lambda n: randn(3, n).mean(1) + randn(n, 3).var(0, correction=0),
    "cat": lambda n: torch.cat([randn(3, n), randn(3, n + 2), randn(3, 4)], 1),
    "stack": lambda n: torch.stack([randn(3, n), randn(3, n)], 2).flatten(1),
    "parts": lambda n: randn(3, n)[:, 1:] * randn(3, n)[:, : n - 1],
    "gather": lambda n: randn(3, n).gather(1, torch.randint(n, (3, 2))),
    "index": lambda n: randn(n, 4)[torch.randint(n, (5,))],
    "scatter": lambda n: randn(3, n).scatter_add(1, torch.randint(n, (3, 2)), randn(3, 2)),
    "pool": lambda n: F.avg_pool1d(randn(2, 3, n), 2) + F.max_pool1d(randn(2, 3, n), 2),
    "convolution": lambda n: F.conv1d(randn(2, 3, n), randn(4, 3, 3), padding=1),
    "group norm": lambda n: F.group_norm(randn(2, 4, n), 2, randn(4), randn(4)),
    "cumsum": lambda n: randn(3, n).cumsum(1),
    "maximum": lambda n: randn(3, n).max(1).values + randn(3, n).amax(1),
    "sort": lambda n: randn(3, n).sort(1).values,
    "product": lambda n: randn(3, n, 4) @ randn(3, 4, n),
    "einsum": lambda n: torch.einsum("bnd,bmd->bnm", randn(2, n, 5), randn(2, 7, 5)),
    "pad": lambda n: F.pad(randn(3, n), (2, 1)) + F.pad(randn(1, 3, n), (2, 1), mode="reflect")[0],
    "where": lambda n: torch.where(randn(3, n) > 0, randn(3, n), randn(n)),
    "masked fill": lambda n: randn(n, n).masked_fill(torch.ones(n, n).triu(1).bool(), -1e9).softmax(1),
    "dropout": lambda n: F.dropout(randn(3, n), 0.5),
    "interpolate": lambda n: F.interpolate(randn(1, 2, n), scale_factor=2.0, mode="linear"),
    "gru": lambda n: torch.nn.GRU(3, 4, batch_first=True)(randn(2, n, 3))[0],
    "norms": lambda n: randn(3, n).norm(dim=1) / n + torch.logsumexp(randn(3, n), 1),
    "fft": lambda n: torch.fft.rfft(randn(3, n)).abs(),
}  # fmt: skip
LENGTHS = (31, 23, 40, 36, 9, 28, 33, 12, 64, 48, 57, 7, 35, 5, 4, 3, 2, 1)


@pytest.mark.parametrize("name", PROGRAMS)
def test_ops_are_traced_and_differentiated_alike(name, compared):
    for n in LENGTHS:
        try:
            PROGRAMS[name](n).sum().backward()
        except RuntimeError:  # too short for a kernel
            assert n < 4


PLANES = {
    "elements": lambda n, m: randn(n, m) * randn(n, m) + randn(m),
    "products": lambda n, m: randn(n, m) @ randn(m, 3),
    "outer": lambda n, m: randn(n, 1) * randn(m),
    "flat": lambda n, m: randn(2, n, m).flatten(1).softmax(1),
    "cat": lambda n, m: torch.cat([randn(3, n), randn(3, m)], 1),
    "attention": lambda n, m: F.scaled_dot_product_attention(randn(2, 3, n, 4), randn(2, 3, m, 4), randn(2, 3, m, 4)),
    "rows": lambda n, m: randn(n, 4)[torch.randint(n, (m,))],
    "messages": lambda n, m: torch.zeros(n, 4).index_add(0, torch.randint(n, (m,)), randn(m, 4)),
    "segments": lambda n, m: torch.zeros(7, 4).index_add_(0, torch.randint(7, (n,)), randn(n, 4)) / m,
    "strided": lambda n, m: F.conv2d(randn(1, 3, n, m), randn(5, 3, 3, 3), stride=2, padding=1),
    "transposed": lambda n, m: F.conv_transpose2d(randn(1, 3, n, m), randn(3, 5, 4, 4), stride=2, padding=1),
    "group norm": lambda n, m: F.group_norm(randn(2, 8, n, m), 4, randn(8), randn(8)),
    "batch norm": lambda n, m: F.batch_norm(randn(2, 8, n, m), None, None, training=True),
    "pool": lambda n, m: F.max_pool2d(randn(1, 3, n, m), 2) + F.avg_pool2d(randn(1, 3, n, m), 2),
    "mean": lambda n, m: randn(3, n, m).mean((1, 2)),
    "interpolate": lambda n, m: F.interpolate(randn(1, 2, n, m), scale_factor=2),
    "pixels": lambda n, m: F.cross_entropy(randn(2, 5, n, m), torch.randint(5, (2, n, m))),
    "edges": lambda n, m: randn(n, m)[1:, :-1] - randn(n, m)[:-1, 1:],
}  # fmt: skip
PAIRS = ((31, 23), (40, 36), (9, 28), (33, 12), (64, 48), (57, 7), (20, 21), (35, 50), (16, 16), (44, 29), (27, 18),
         (13, 45), (38, 10), (22, 31), (5, 9), (12, 60), (29, 14), (51, 26), (8, 4), (18, 39),
         (46, 33), (3, 3))  # fmt: skip


@pytest.mark.parametrize("name", PLANES)
def test_ops_of_two_sizes_are_traced_and_differentiated_alike(name, compared):
    for n, m in PAIRS:
        PLANES[name](n, m).sum().backward()
    assert compared["made_at"] + compared["resized"] >= 10


def test_most_lengths_of_a_program_are_served(compared):
    for n in LENGTHS[:13]:
        F.cross_entropy(F.linear(randn(n, 11), randn(13, 11), randn(13)), torch.randint(13, (n,))).backward()
    assert compared["made_at"] >= 12 and compared["resized"] >= 12


def test_sizes_that_do_not_fit_are_refused_as_ever(compared):
    for n in LENGTHS[:12]:
        F.linear(randn(n, 6), randn(5, 6)).sum().backward()
        (randn(n, 5) + randn(n, 5)).sum().backward()
    for n in (30, 32):
        with pytest.raises(RuntimeError):
            F.linear(randn(n, 7), randn(5, 6))
        with pytest.raises(RuntimeError):
            randn(n, 5) + randn(n + 1, 5)


def test_gradients_of_many_lengths_are_those_of_the_functional_transforms():
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)
    given = {k: v.detach() for k, v in layer.named_parameters()}

    def loss(params, x):
        return torch.func.functional_call(layer, params, (x,)).square().mean()

    for n in (5, 13, 9, 21, 11, 7, 16, 8, 30, 19):
        x = torch.randn(3, n, 8)
        layer.zero_grad()
        layer(x).square().mean().backward()
        wanted = torch.func.grad(loss)(given, x)
        for name, parameter in layer.named_parameters():
            np.testing.assert_allclose(parameter.grad.numpy(), wanted[name].numpy(), rtol=2e-4, atol=2e-6)


def test_second_derivatives_of_many_lengths():
    for n in LENGTHS[:10]:
        x = torch.linspace(0.1, 1.0, n, requires_grad=True)
        (first,) = torch.autograd.grad((x.sin() * x.mean()).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), x)
        a = fc.asarray(x.detach().numpy())
        wanted = fc.grad(lambda y: fc.grad(lambda z: (fc.sin(z) * z.mean()).sum())(y).sum())(a)
        np.testing.assert_allclose(second.numpy(), np.asarray(wanted), rtol=1e-4, atol=1e-6)


def test_threads_that_meet_new_lengths_at_once():
    def program(k):
        for n in range(3, 40):
            x = torch.linspace(0, 1, n * 2).reshape(2, n).requires_grad_()
            (torch.softmax(x * k, 1)[:, 1:] ** 2).sum().backward()
            found[k, n] = x.grad.numpy()

    found = {}
    threads = [threading.Thread(target=program, args=(k,)) for k in (1.5, 2.5, 3.5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for (k, n), given in found.items():
        x = fc.asarray(np.linspace(0, 1, n * 2, dtype=np.float32).reshape(2, n))
        wanted = fc.grad(lambda y: (fc.softmax(y * k, axis=1)[:, 1:] ** 2).sum())(x)
        np.testing.assert_allclose(given, np.asarray(wanted), rtol=1e-4, atol=1e-6)
    assert len(found) == 3 * 37
