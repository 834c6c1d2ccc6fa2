"""Random numbers inside vmap: in PyTorch's order in memory, and refused where PyTorch refuses them."""

import pytest

from .agree import agree

DRAWN = {
    "rand_like": lambda torch: torch.rand_like,
    "randn_like": lambda torch: torch.randn_like,
    "randint_like": lambda torch: lambda a: torch.randint_like(a, 9),
    "uniform_": lambda torch: lambda a: a.uniform_(),
    "normal_": lambda torch: lambda a: a.normal_(),
    "exponential_": lambda torch: lambda a: a.exponential_(),
    "of a view": lambda torch: lambda a: a.t()[1:].normal_(),
    "bernoulli_": lambda torch: lambda a: a.bernoulli_(0.3),
    "bernoulli_ of tensors": lambda torch: lambda a: a.bernoulli_(torch.full((3, 4), 0.3)),
    "bernoulli": lambda torch: torch.bernoulli,
    "poisson": lambda torch: torch.poisson,
    "normal": lambda torch: lambda a: torch.normal(a, 1.0),
}


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_different_numbers(name, dim):
    def program(torch):
        x = torch.linspace(0.1, 0.9, 24).reshape((2, 3, 4) if dim == 0 else (3, 2, 4) if dim == 1 else (3, 4, 2))
        return torch.vmap(DRAWN[name](torch), dim, randomness="different")(x), x

    agree(program)


def test_different_numbers_of_nested_vmaps():
    def program(torch):
        x = torch.ones(2, 3, 4, 5)
        inner = torch.vmap(lambda a: torch.rand_like(a) + a.normal_(), 1, randomness="different")
        return torch.vmap(inner, 2, randomness="different")(x)

    agree(program)


REFUSED = {
    "same of batched": lambda torch, x: torch.vmap(torch.bernoulli, randomness="same")(x),
    "same of a batched size": lambda torch, x: torch.vmap(lambda a: torch.bernoulli(a, 0.5), randomness="same")(x),
    "same weights": lambda torch, x: torch.vmap(lambda a: torch.multinomial(a, 2), randomness="same")(x),
    "same rates": lambda torch, x: torch.vmap(torch.poisson, randomness="same")(x),
    "same probabilities": lambda torch, x: torch.vmap(
        lambda a, b: b.bernoulli_(a), in_dims=(0, None), randomness="same"
    )(x, torch.ones(3)),
    "different into shared": lambda torch, x: torch.vmap(
        lambda a, b: b.normal_(), in_dims=(0, None), randomness="different"
    )(x, torch.ones(3)),
    "error": lambda torch, x: torch.vmap(lambda a: a.normal_())(x),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    agree(lambda torch: REFUSED[name](torch, torch.full((2, 3), 0.5)), messages=True)


def test_same_numbers_for_all():
    agree(lambda torch: torch.vmap(lambda a: a.normal_(), 1, randomness="same")(torch.ones(3, 2)))
    agree(lambda torch: torch.vmap(torch.rand_like, 1, randomness="same")(torch.ones(3, 2)))
    agree(lambda torch: torch.vmap(lambda a: a.bernoulli_(torch.full((3,), 0.4)), randomness="same")(torch.ones(2, 3)))
