"""Linear layers."""

from __future__ import annotations

import math

from ...torch import empty
from ...torch.tape.modes import no_grad
from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module


def new_parameter(*shape: int, device=None, dtype=None) -> Parameter:
    """A parameter that is not initialized."""
    return Parameter(empty(shape, device=device, dtype=dtype))


class Identity(Module):
    """Returns its input; arguments of the constructor are ignored.

    >>> torch.nn.Identity()(torch.tensor([1., 2.]))
    tensor([1., 2.])
    """

    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(self, input):
        return input


class Linear(Module):
    """x @ weight.T + bias, for (..., in_features).

    The result is (..., out_features); weight is (out_features, in_features), bias (out_features). The input has the
    weight's dtype; RuntimeError for another size or dtype.

    >>> nn.Linear(20, 30)(torch.randn(128, 20)).shape
    torch.Size([128, 30])
    """

    in_features: int
    out_features: int

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device=None, dtype=None):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        where = {"device": device, "dtype": dtype}
        self.weight = new_parameter(out_features, in_features, **where)
        self.register_parameter("bias", new_parameter(out_features, **where) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw weight and bias uniformly, within 1 / sqrt(in_features)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        draw_bias(self.weight, self.bias)

    def forward(self, input):
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self):
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


def draw_bias(weight, bias):
    """Draw the bias of a layer uniformly, within 1 / sqrt(fan in of the weight)."""
    if bias is not None:
        fan_in, _ = init._calculate_fan_in_and_fan_out(weight)
        bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
        init.uniform_(bias, -bound, bound)


class NonDynamicallyQuantizableLinear(Linear):
    """Linear, under the name MultiheadAttention has for its output projection."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device=None, dtype=None):
        super().__init__(in_features, out_features, bias=bias, device=device, dtype=dtype)


class Bilinear(Module):
    """x1 @ weight[k] @ x2 + bias[k], for (..., in1_features) and (..., in2_features).

    The result is (..., out_features); the leading dimensions of both are equal. RuntimeError otherwise.

    >>> nn.Bilinear(2, 3, 4)(torch.ones(5, 2), torch.ones(5, 3)).shape
    torch.Size([5, 4])
    """

    in1_features: int
    in2_features: int
    out_features: int

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device=None, dtype=None
    ):
        super().__init__()
        self.in1_features, self.in2_features = in1_features, in2_features
        self.out_features = out_features
        where = {"device": device, "dtype": dtype}
        self.weight = new_parameter(out_features, in1_features, in2_features, **where)
        self.register_parameter("bias", new_parameter(out_features, **where) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw weight and bias uniformly, within 1 / sqrt(in1_features)."""
        if self.in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={self.in1_features})")
        bound = 1 / math.sqrt(self.weight.shape[1])
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1, input2):
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self):
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class LazyLinear(LazyModuleMixin, Linear):
    """Linear whose in_features is the size of the first input's last dimension.

    >>> layer = nn.LazyLinear(2)
    >>> layer(torch.ones(1, 3)).shape, layer
    (torch.Size([1, 2]), Linear(in_features=3, out_features=2, bias=True))
    """

    cls_to_become = Linear

    def __init__(self, out_features: int, bias: bool = True, device=None, dtype=None):
        super().__init__(0, 0, False)  # draws nothing: the weight is still unknown
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self):
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input):
        if self.has_uninitialized_params():
            with no_grad():
                self.in_features = input.shape[-1]
                self.weight.materialize((self.out_features, self.in_features))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:  # the parameters came from a state dict
            if input.shape[-1] != self.weight.shape[-1]:
                raise AssertionError(
                    f"The in_features inferred from input: {input.shape[-1]} is "
                    "not equal to in_features from self.weight: "
                    f"{self.weight.shape[-1]}"
                )
            self.in_features = input.shape[-1]


__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]
