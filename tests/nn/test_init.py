"""nn.init draws PyTorch's numbers for the same seed."""

import numpy as np
import pytest

from functorch_core import torch
from tests.nn.both import agree, failing, reference, warned

DRAWS = [
    ("uniform_", (-1, 2)),
    ("normal_", (1, 2)),
    ("trunc_normal_", ()),
    ("trunc_normal_", (0, 1, 1.5, 2)),
    ("trunc_normal_", (0, 0.02)),
    ("constant_", (3,)),
    ("ones_", ()),
    ("zeros_", ()),
    ("eye_", ()),
    ("dirac_", ()),
    ("dirac_", (2,)),
    ("kaiming_uniform_", (1.0, "fan_out", "relu")),
    ("kaiming_normal_", ()),
    ("xavier_uniform_", (2.0,)),
    ("xavier_normal_", ()),
    ("sparse_", (0.3,)),
]
SHAPES = [(7,), (40, 30), (3, 50), (6, 4, 3), (6, 4, 3, 3), (4, 2, 1, 2, 3)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name,args", DRAWS, ids=lambda x: str(x))
def test_same_numbers(name, args, shape):
    expected, found = reference.empty(shape), torch.empty(shape)
    for t in (reference, torch):
        t.manual_seed(3)
    try:
        getattr(reference.nn.init, name)(expected, *args)
    except ValueError as error:
        assert failing(getattr(torch.nn.init, name), found, *args) == ("ValueError", str(error))
        return
    assert getattr(torch.nn.init, name)(found, *args) is found
    np.testing.assert_array_equal(found.numpy(), expected.numpy())
    assert torch.rand(1).item() == reference.rand(1).item()  # as many were drawn


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (4, 2, 3)], ids=str)
def test_orthogonal(shape):
    agree(lambda t: t.nn.init.orthogonal_(t.empty(shape), 2.0))


def test_dtypes():
    def program(t):
        return [t.nn.init.kaiming_uniform_(t.empty(3, 4, dtype=d)) for d in (t.float64, t.float16)]

    agree(program)


def test_parameters_are_filled_in_place():
    def program(t):
        p = t.nn.Parameter(t.empty(3, 3))
        return [t.nn.init.xavier_normal_(p) is p, p.requires_grad, p.is_leaf, p]

    agree(program)


def test_generator():
    def program(t):
        g = t.Generator().manual_seed(7)
        return [t.nn.init.normal_(t.empty(3), generator=g), t.rand(1)]

    agree(program)


def test_errors_and_warnings():
    def program(t):
        init, x = t.nn.init, t.empty(2, 3)
        return [
            failing(*c)
            for c in (
                (init.calculate_gain, "x"),
                (init.calculate_gain, "leaky_relu", "x"),
                (init.kaiming_uniform_, x, 0, "x"),
                (init.xavier_normal_, t.empty(3)),
                (init.orthogonal_, t.empty(3)),
                (init.eye_, t.empty(3)),
                (init.sparse_, t.empty(3), 0.1),
                (init.dirac_, t.empty(3, 3)),
                (init.dirac_, t.empty(3, 3, 3), 2),
            )
        ] + [
            warned(init.kaiming_normal_, t.empty(0, 3)),
            warned(init.uniform, x),
            warned(init.trunc_normal_, t.empty(2), 9.0),
            [
                init.calculate_gain(n, 2.0)
                for n in ("linear", "tanh", "relu", "leaky_relu", "selu", "sigmoid", "conv2d")
            ],
        ]

    agree(program)
