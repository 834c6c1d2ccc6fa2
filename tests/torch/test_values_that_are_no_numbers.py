"""NaN and infinities in operands: what PyTorch refuses is refused, and what it computes is computed."""

from __future__ import annotations

import pytest

from functorch_core import torch

from ..nn.both import agree, failing

N, I = float("nan"), float("inf")  # noqa: E741 (infinity)


@pytest.mark.parametrize("q", [1.5, -0.1, N])
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_quantiles_outside_of_the_unit_interval(name, q):
    agree(lambda t: failing(getattr(t, name), t.tensor([1.0, 2.0]), t.tensor([0.5, q])))


@pytest.mark.parametrize("bad", [N, I, -I])
def test_histograms_of_what_has_no_range(bad):
    def program(t):
        x = t.tensor([bad, 1.0])
        calls = [lambda: x.histc(3), lambda: t.histogram(x, 3), lambda: t.histogramdd(x[:, None], [3])]
        return [failing(lambda: str(call()))[0] for call in calls] + [
            x.histc(3, 0, 2),
            t.histogram(x, 3, range=(0.0, 2.0)).hist,
        ]

    agree(program)


@pytest.mark.parametrize("ends", [(0.0, N), (-I, 1.0)])
def test_histograms_between_ends_that_are_not_finite(ends):
    def program(t):
        x = t.ones(2)
        return [failing(t.histc, x, 3, *ends), failing(t.histogram, x, 3, range=ends)]

    agree(program)


MATRIX = [[N, 1.0], [1.0, 2.0]]


@pytest.mark.parametrize("name", ["svd", "svdvals", "pinv", "matrix_rank"])
def test_matrices_with_nan_have_no_singular_values(name):
    def program(t):
        ok = t.eye(2)
        x, call = t.tensor(MATRIX), getattr(t.linalg, name)
        single, batch = (failing(lambda: str(call(a))) for a in (x, t.stack([ok, ok, x])))  # late, if it is computed
        return single[1], batch[1], t.linalg.svdvals(t.full((2, 2), I))

    agree(program)


NORMS = {
    "cond": lambda t, a: t.linalg.cond(a),
    "cond(-2)": lambda t, a: t.linalg.cond(a, -2),
    "cond(nuc)": lambda t, a: t.linalg.cond(a, "nuc"),
    "matrix_norm(2)": lambda t, a: t.linalg.matrix_norm(a, 2),
    "matrix_norm(nuc)": lambda t, a: t.linalg.matrix_norm(a.mT, "nuc", dim=(-1, -2)),
    "norm(-2)": lambda t, a: t.linalg.norm(a, -2, dim=(-2, -1)),
    "torch.svd": lambda t, a: t.svd(a).S,
}


@pytest.mark.parametrize("name", NORMS)
def test_norms_of_singular_values_that_there_are_not(name):
    def program(t):
        ok, call = t.eye(2), NORMS[name]
        single, batch = (failing(lambda: str(call(t, a))) for a in (t.tensor(MATRIX), t.stack([ok, t.tensor(MATRIX)])))
        return single[1], batch[1], call(t, ok * 2), t.linalg.cond(t.tensor(MATRIX), "fro")

    agree(program)


def test_a_matrix_that_is_computed_later_raises_when_it_is_read():
    x = torch.tensor(MATRIX)
    rank = torch.linalg.matrix_rank((x * 2 + 1) @ x)
    with pytest.raises(RuntimeError, match="non-finite values"):
        rank.item()
    with pytest.raises(RuntimeError, match="non-finite values"):
        rank.item()


def test_what_is_computed_later_and_has_numbers_passes():
    def program(t):
        x = t.tensor([[2.0, 1.0], [1.0, 2.0]])
        later, unit = (x * 2 + 1) @ x, t.tensor([0.5, 0.25]) * 2
        return t.linalg.svdvals(later), t.linalg.matrix_rank(later), t.quantile(later, unit), later.histc(3)

    agree(program)


def test_derivatives_of_interpolation_between_infinite_ends():
    def program(t):
        ends = [[I, I, -I, 1.0, 1.0, I, 0.0], [1.0, I, I, I, I, 1.0, N]]
        x, y, w = (t.tensor(v, requires_grad=True) for v in (*ends, [0.3, 0.3, 0.7, 0.3, 0.7, 0.7, 0.0]))
        out = t.lerp(x, y, w)
        return [out, *t.autograd.grad(out.sum(), (x, y, w))]

    agree(program)


def test_derivatives_of_complex_interpolation():
    def program(t):
        x, y, w = (t.tensor([v], requires_grad=True) for v in (1 + 2j, 3 - 1j, 0.3 + 0.1j))
        return t.autograd.grad((t.lerp(x, y, w) * (1 + 3j)).abs().sum(), (x, y, w))

    agree(program)


def test_the_slope_of_logit_at_nan():
    def program(t):
        x = t.tensor([0.0, 1.0, N, 0.5, 2.0, -1.0], requires_grad=True)
        return [t.autograd.grad(x.logit(eps).sum(), x)[0] for eps in (None, 0.1)]

    agree(program)


@pytest.mark.parametrize("rows", [[[I, 1.0, 0.0], [-I, 2.0, 1.0]], [[-I, 1.0, 2.0], [3.0, N, 1.0]]])
def test_margins_that_are_no_numbers(rows):
    def program(t):
        x, F = t.tensor(rows, requires_grad=True), t.nn.functional
        losses = [
            F.multi_margin_loss(x, t.tensor([0, 1]), reduction="none"),
            F.multi_margin_loss(x, t.tensor([2, 1]), p=2, reduction="none"),
            F.multilabel_margin_loss(x, t.tensor([[0, -1, 0], [1, 2, -1]]), reduction="none"),
        ]
        return [*losses, *(t.autograd.grad(loss.sum(), x, retain_graph=True)[0] for loss in losses[::2])]

    agree(program)
