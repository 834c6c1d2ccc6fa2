"""Training loops as people write them: losses equal PyTorch's; validation costs no recording."""

from __future__ import annotations

import numpy as np
import pytest

import functorch_core as fc
from functorch_core import engine, torch

from ..agree import ours
from .test_values import BOTH


def policy_gradient(torch):
    """REINFORCE with an entropy bonus."""
    nn, d = torch.nn, torch.distributions
    net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(net.parameters(), 1e-2)
    for _ in range(6):
        policy = d.Categorical(logits=net(torch.randn(32, 4)))
        action = policy.sample()
        reward = (action == 1).float()
        loss = -(policy.log_prob(action) * (reward - reward.mean())).mean()
        yield optimizer, loss - 0.01 * policy.entropy().mean()


def squashed_gaussian(torch):
    """A soft actor's loss."""
    nn, d = torch.nn, torch.distributions
    mean, log_std = nn.Linear(4, 2), nn.Parameter(torch.zeros(2))
    optimizer = torch.optim.Adam([*mean.parameters(), log_std], 1e-2)
    for _ in range(6):
        base = d.Normal(mean(torch.randn(32, 4)), log_std.exp())
        policy = d.TransformedDistribution(d.Independent(base, 1), [d.TanhTransform(cache_size=1)])
        action = policy.rsample()
        prior = d.kl_divergence(base, d.Normal(0.0, 1.0)).mean()
        yield optimizer, (policy.log_prob(action) + action.pow(2).sum(-1)).mean() + prior


def variational_autoencoder(torch):
    """The evidence lower bound of bits."""
    nn, d = torch.nn, torch.distributions
    encoder, decoder = nn.Linear(8, 4), nn.Linear(2, 8)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], 1e-2)
    for _ in range(6):
        x = torch.rand(16, 8).round()
        mean, spread = encoder(x).chunk(2, -1)
        posterior = d.Normal(mean, nn.functional.softplus(spread))
        bits = d.Bernoulli(logits=decoder(posterior.rsample()))
        prior = d.Normal(torch.zeros_like(mean), torch.ones_like(mean))
        yield optimizer, (d.kl_divergence(posterior, prior).sum(-1) - bits.log_prob(x).sum(-1)).mean()


def dirichlet_regression(torch):
    """Implicit gradients, whose fit in PyTorch has four digits."""
    nn, d = torch.nn, torch.distributions
    net = nn.Linear(3, 4)
    optimizer = torch.optim.SGD(net.parameters(), 1e-2)
    for _ in range(4):
        concentration = nn.functional.softplus(net(torch.randn(5, 3))) + 0.1
        policy = d.Dirichlet(concentration)
        drawn = policy.rsample()
        yield optimizer, policy.log_prob(drawn.detach()).mean() + (drawn**2).sum()


def losses(torch, program) -> list[float]:
    torch.manual_seed(0)
    found = []
    for optimizer, loss in program(torch):
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


@pytest.mark.parametrize("program", [policy_gradient, squashed_gaussian, variational_autoencoder, dirichlet_regression])
def test_losses(program):
    expected, found = (losses(t, program) for t in BOTH)
    rtol = 1e-3 if program is dirichlet_regression else 1e-4
    np.testing.assert_allclose(found, expected, rtol, 1e-5)


# ---- checks that wait ----------------------------------------------------------------------------


def step(net, x):
    d = ours.distributions
    y = net(x)
    normal = d.Normal(y, y.exp())
    return normal.log_prob(normal.rsample()).sum() + d.kl_divergence(normal, d.Normal(0.0, 1.0)).sum()


def test_a_step_is_one_recording():
    net, x = ours.nn.Linear(3, 3), ours.randn(4, 3)
    for validate in (True, False):
        ours.distributions.Distribution.set_default_validate_args(validate)
        try:
            step(net, x).item()
            before = fc.engine.stats()["flushes"]
            loss = step(net, x)
            assert fc.engine.stats()["flushes"] == before
            loss.item()
        finally:
            ours.distributions.Distribution.set_default_validate_args(True)


def test_an_error_in_a_step_comes_when_it_is_read():
    net, x = ours.nn.Linear(3, 3), ours.randn(4, 3)
    normal = ours.distributions.Normal(net(x), net(x) - 100)
    with pytest.raises(
        ValueError,
        match=r"Expected parameter scale \(Tensor of shape \(4, 3\)\) of "
        r"distribution Normal\(loc: torch.Size\(\[4, 3\]\)",
    ) as caught:
        normal.log_prob(x).sum().item()
    assert "found in what Normal was given" in caught.value.__notes__[0]
    assert float(x.sum()) == float(x.sum())  # what comes after is read as before


def test_an_error_outside_of_training_comes_at_once():
    net, x = ours.nn.Linear(3, 3), ours.randn(4, 3)
    with ours.no_grad(), pytest.raises(ValueError, match="Expected parameter scale"):
        ours.distributions.Normal(net(x), net(x) - 100)
    with pytest.raises(ValueError, match="Expected parameter scale"):
        ours.distributions.Normal(ours.zeros(3), ours.nn.Parameter(ours.zeros(3)))


def test_a_draw_and_its_probability_compute_nothing_else():
    """What is drawn is there at once, and looking whether it may have been drawn is no reason to compute."""
    chances = torch.tensor([[0.25, 0.75]])
    found = torch.distributions.Categorical(chances)
    found.log_prob(found.sample()).item()
    before = engine.stats()["flushes"]
    drawn = [found.sample() for _ in range(3)]
    kept = [found.log_prob(x) for x in drawn]
    assert engine.stats()["flushes"] == before
    expected = np.log(chances.numpy()[0])
    for x, y in zip(drawn, kept):
        assert x.shape == y.shape == (1,)
        np.testing.assert_allclose(y.numpy(), expected[x.numpy()], rtol=1e-6)


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "int64"])
def test_values_outside_are_refused_whether_computed_or_not(kind):
    normal, count = torch.distributions.Normal(0.0, 1.0), torch.distributions.Categorical(torch.ones(3))
    refused = [(count, 3), (count, -1)] if kind == "int64" else [(normal, float("nan")), (count, 0.5)]
    for law, number in refused:
        x = torch.tensor([number], dtype=getattr(torch, kind))
        for value in (x, x.view(1, 1)[0], x * 1):
            with pytest.raises(ValueError, match="support"):
                law.log_prob(value)
