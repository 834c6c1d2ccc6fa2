"""Activation functions."""

from __future__ import annotations

from ...core.warn import warn
from ...torch import sigmoid, tanh
from .. import functional as F
from .. import init as initialise
from ._described import Described
from ._masks import canonical_mask
from ._nested import attend_nested
from .linear import NonDynamicallyQuantizableLinear, new_parameter
from .module import Module


class _Activation(Described):
    """An elementwise function that may write to its input; the repr tells if it does."""

    def extra_repr(self):
        shown = super().extra_repr()
        inplace = "inplace=True" if self.__dict__.get("inplace") else ""
        return ", ".join(filter(None, (shown, inplace)))


# ---- without parameters --------------------------------------------------------------------------


class Sigmoid(Module):
    """1 / (1 + exp(-x))

    >>> nn.Sigmoid()(torch.tensor([0.]))
    tensor([0.5000])
    """

    def forward(self, input):
        return sigmoid(input)


class Tanh(Module):
    """tanh(x)

    >>> nn.Tanh()(torch.tensor([0.]))
    tensor([0.])
    """

    def forward(self, input):
        return tanh(input)


class LogSigmoid(Module):
    """log(sigmoid(x))

    >>> torch.nn.LogSigmoid()(torch.tensor([-1., 2.]))
    tensor([-1.3133, -0.1269])
    """

    def forward(self, input):
        return F.logsigmoid(input)


class Softsign(Module):
    """x / (1 + |x|)

    >>> torch.nn.Softsign()(torch.tensor([-1., 3.]))
    tensor([-0.5000,  0.7500])
    """

    def forward(self, input):
        return F.softsign(input)


class Tanhshrink(Module):
    """x - tanh(x)

    >>> torch.nn.Tanhshrink()(torch.tensor([0., 1.]))
    tensor([0.0000, 0.2384])
    """

    def forward(self, input):
        return F.tanhshrink(input)


class Softmax2d(Module):
    """softmax over the channels of (N, C, H, W) or (C, H, W).

    The shape is kept; ValueError for another number of dimensions.

    >>> torch.nn.Softmax2d()(torch.zeros(1, 2, 1, 1)).flatten()
    tensor([0.5000, 0.5000])
    """

    def forward(self, input):
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3)


# ---- with inplace --------------------------------------------------------------------------------


class ReLU(_Activation):
    """max(x, 0)

    >>> nn.ReLU()(torch.tensor([-1., 2.]))
    tensor([0., 2.])
    """

    inplace: bool

    def __init__(self, inplace: bool = False):
        super().__init__(inplace=inplace)

    def forward(self, input):
        return F.relu(input, inplace=self.inplace)


class SELU(_Activation):
    """The self-normalizing ELU: scale * (max(0, x) + min(0, alpha * (exp(x) - 1))).

    >>> torch.nn.SELU()(torch.tensor([-1., 2.]))
    tensor([-1.1113,  2.1014])
    """

    inplace: bool

    def __init__(self, inplace: bool = False):
        super().__init__(inplace=inplace)

    def forward(self, input):
        return F.selu(input, self.inplace)


class SiLU(_Activation):
    """x * sigmoid(x)

    >>> nn.SiLU()(torch.tensor([0., 1.]))
    tensor([0.0000, 0.7311])
    """

    inplace: bool

    def __init__(self, inplace: bool = False):
        super().__init__(inplace=inplace)

    def forward(self, input):
        return F.silu(input, inplace=self.inplace)


class Mish(_Activation):
    """x * tanh(softplus(x))

    >>> torch.nn.Mish()(torch.tensor([-1., 2.]))
    tensor([-0.3034,  1.9440])
    """

    inplace: bool

    def __init__(self, inplace: bool = False):
        super().__init__(inplace=inplace)

    def forward(self, input):
        return F.mish(input, inplace=self.inplace)


class Hardsigmoid(Described):
    """min(max(x / 6 + 1/2, 0), 1)

    >>> torch.nn.Hardsigmoid()(torch.tensor([-1., 2.]))
    tensor([0.3333, 0.8333])
    """

    inplace: bool

    def __init__(self, inplace: bool = False):
        super().__init__(inplace=inplace)

    def forward(self, input):
        return F.hardsigmoid(input, self.inplace)


class Hardswish(Described):
    """x * min(max(x + 3, 0), 6) / 6

    >>> torch.nn.Hardswish()(torch.tensor([-1., 2.]))
    tensor([-0.3333,  1.6667])
    """

    inplace: bool

    def __init__(self, inplace: bool = False):
        super().__init__(inplace=inplace)

    def forward(self, input):
        return F.hardswish(input, self.inplace)


class ELU(_Activation):
    """x where it is positive, else alpha * (exp(x) - 1)

    >>> nn.ELU()(torch.tensor([-1., 1.]))
    tensor([-0.6321,  1.0000])
    """

    alpha: float
    inplace: bool

    _shown = "alpha={alpha}"

    def __init__(self, alpha: float = 1.0, inplace: bool = False):
        super().__init__(alpha=alpha, inplace=inplace)

    def forward(self, input):
        return F.elu(input, self.alpha, self.inplace)


class CELU(_Activation):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1))

    >>> torch.nn.CELU()(torch.tensor([-1., 2.]))
    tensor([-0.6321,  2.0000])
    """

    alpha: float
    inplace: bool

    _shown = "alpha={alpha}"

    def __init__(self, alpha: float = 1.0, inplace: bool = False):
        super().__init__(alpha=alpha, inplace=inplace)

    def forward(self, input):
        return F.celu(input, self.alpha, self.inplace)


class LeakyReLU(_Activation):
    """x where it is positive, else negative_slope * x

    >>> nn.LeakyReLU(0.1)(torch.tensor([-1., 1.]))
    tensor([-0.1000,  1.0000])
    """

    inplace: bool
    negative_slope: float

    _shown = "negative_slope={negative_slope}"

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False):
        super().__init__(negative_slope=negative_slope, inplace=inplace)

    def forward(self, input):
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class RReLU(_Activation):
    """A leaky ReLU whose slopes are drawn from [lower, upper) in training, their mean otherwise.

    >>> torch.nn.RReLU().eval()(torch.tensor([-1., 2.]))
    tensor([-0.2292,  2.0000])
    """

    lower: float
    upper: float
    inplace: bool

    _shown = "lower={lower}, upper={upper}"

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False):
        super().__init__(lower=lower, upper=upper, inplace=inplace)

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class Threshold(_Activation):
    """x where it is above the threshold, else value

    >>> torch.nn.Threshold(1., 9.)(torch.tensor([0.5, 2.]))
    tensor([9., 2.])
    """

    threshold: float
    value: float
    inplace: bool

    _shown = "threshold={threshold}, value={value}"

    def __init__(self, threshold: float, value: float, inplace: bool = False):
        super().__init__(threshold=threshold, value=value, inplace=inplace)

    def forward(self, input):
        return F.threshold(input, self.threshold, self.value, self.inplace)


class Hardtanh(_Activation):
    """x limited to [min_val, max_val]

    >>> torch.nn.Hardtanh()(torch.tensor([-2., 0.5]))
    tensor([-1.0000,  0.5000])
    """

    min_val: float
    max_val: float
    inplace: bool

    _shown = "min_val={min_val}, max_val={max_val}"

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ):
        for new, former in (("min_val", min_value), ("max_val", max_value)):
            if former is not None:
                warn(f"keyword argument `{new}ue` is deprecated and renamed to `{new}`", FutureWarning)
        min_val = min_val if min_value is None else min_value
        max_val = max_val if max_value is None else max_value
        super().__init__(min_val=min_val, max_val=max_val, inplace=inplace)
        if max_val <= min_val:
            raise AssertionError(f"max_val ({max_val}) must be greater than min_val ({min_val})")

    def forward(self, input):
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


class ReLU6(Hardtanh):
    """min(max(x, 0), 6)

    >>> torch.nn.ReLU6()(torch.tensor([-1., 9.]))
    tensor([0., 6.])
    """

    _shown = ""

    def __init__(self, inplace: bool = False):
        super().__init__(0.0, 6.0, inplace)


# ---- with parameters -----------------------------------------------------------------------------


class GELU(Described):
    """x times the normal distribution function of x; approximate="tanh" is a formula for it.

    >>> nn.GELU()(torch.tensor([0., 1.]))
    tensor([0.0000, 0.8413])
    """

    approximate: str

    _shown = "approximate={approximate!r}"

    def __init__(self, approximate: str = "none"):
        super().__init__(approximate=approximate)

    def forward(self, input):
        return F.gelu(input, approximate=self.approximate)


class GLU(Described):
    """The first half along a dimension times the sigmoid of the second.

    The dimension is halved; RuntimeError if its size is odd.

    >>> torch.nn.GLU()(torch.tensor([[1., 2., 0., 0.]]))
    tensor([[0.5000, 1.0000]])
    """

    dim: int

    _shown = "dim={dim}"

    def __init__(self, dim: int = -1):
        super().__init__(dim=dim)

    def forward(self, input):
        return F.glu(input, self.dim)


class Hardshrink(Described):
    """x where |x| > lambd, else 0

    >>> torch.nn.Hardshrink()(torch.tensor([-0.2, 2.]))
    tensor([0., 2.])
    """

    lambd: float

    _shown = "{lambd}"

    def __init__(self, lambd: float = 0.5):
        super().__init__(lambd=lambd)

    def forward(self, input):
        return F.hardshrink(input, self.lambd)


class Softshrink(Described):
    """x moved towards 0 by lambd, at most to 0

    >>> torch.nn.Softshrink()(torch.tensor([-0.2, 2.]))
    tensor([-0.0000, 1.5000])
    """

    lambd: float

    _shown = "{lambd}"

    def __init__(self, lambd: float = 0.5):
        super().__init__(lambd=lambd)

    def forward(self, input):
        return F.softshrink(input, self.lambd)


class Softplus(Described):
    """log(1 + exp(beta * x)) / beta; x itself where beta * x is above the threshold

    >>> nn.Softplus()(torch.tensor([0.]))
    tensor([0.6931])
    """

    beta: float
    threshold: float

    _shown = "beta={beta}, threshold={threshold}"

    def __init__(self, beta: float = 1.0, threshold: float = 20.0):
        super().__init__(beta=beta, threshold=threshold)

    def forward(self, input):
        return F.softplus(input, self.beta, self.threshold)


class PReLU(Module):
    """x where it is positive, else weight * x; one weight, or one for each channel.

    The shape is kept; RuntimeError if the second size is not the number of weights.

    >>> torch.nn.PReLU(init=0.5)(torch.tensor([-1., 2.])).tolist()
    [-0.5, 2.0]
    """

    num_parameters: int

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = new_parameter(num_parameters, device=device, dtype=dtype)
        self.reset_parameters()

    def reset_parameters(self):
        """Fill the weight with `init`."""
        initialise.constant_(self.weight, self.init)

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"


class _Along(Described):
    """A function along one dimension."""

    _shown = "dim={dim}"

    def __init__(self, dim: int | None = None):
        super().__init__(dim=dim)

    def __setstate__(self, state):
        super().__setstate__({"dim": None, **state})


class Softmax(_Along):
    """exp(x) divided by its sum along a dimension

    >>> nn.Softmax(dim=0)(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """

    dim: int | None

    def forward(self, input):
        return F.softmax(input, self.dim)


class Softmin(_Along):
    """softmax(-x)

    >>> torch.nn.Softmin(dim=0)(torch.tensor([1., 1.]))
    tensor([0.5000, 0.5000])
    """

    dim: int | None

    def forward(self, input):
        return F.softmin(input, self.dim)


class LogSoftmax(_Along):
    """log(softmax(x))

    The shape is kept; IndexError for a dimension that is not there.

    >>> nn.LogSoftmax(0)(torch.zeros(2))
    tensor([-0.6931, -0.6931])
    """

    dim: int | None

    def forward(self, input):
        return F.log_softmax(input, self.dim)


# ---- attention -----------------------------------------------------------------------------------


class MultiheadAttention(Module):
    """Attention of several heads ("Attention is all you need", 2017).

    Inputs are (L, N, E), with batch_first (N, L, E), or (L, E); returns (output, weights), the
    weights averaged over the heads, or None for need_weights=False.

    AssertionError for heads that do not divide E, and for another E.

    >>> x = torch.ones(5, 2, 8)
    >>> out, weights = nn.MultiheadAttention(8, 2)(x, x, x)
    >>> out.shape, weights.shape
    (torch.Size([5, 2, 8]), torch.Size([2, 5, 5]))
    """

    def __init__(
        self,
        embed_dim,
        num_heads,
        dropout=0.0,
        bias=True,
        add_bias_kv=False,
        add_zero_attn=False,
        kdim=None,
        vdim=None,
        batch_first=False,
        device=None,
        dtype=None,
    ):
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, got "
                f"embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        where = {"device": device, "dtype": dtype}
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self._make_projections(where)
        self.register_parameter("in_proj_bias", new_parameter(3 * embed_dim, **where) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **where)
        self.bias_k = self.bias_v = None
        if add_bias_kv:
            self.bias_k = new_parameter(1, 1, embed_dim, **where)
            self.bias_v = new_parameter(1, 1, embed_dim, **where)
        self._reset_parameters()

    def _make_projections(self, where: dict):
        """One weight for query, key and value, or three if their widths differ."""
        sizes = {"q": self.embed_dim, "k": self.kdim, "v": self.vdim}
        if self._qkv_same_embed_dim:
            self.in_proj_weight = new_parameter(3 * self.embed_dim, self.embed_dim, **where)
            for name in sizes:
                self.register_parameter(f"{name}_proj_weight", None)
        else:
            for name, size in sizes.items():
                setattr(self, f"{name}_proj_weight", new_parameter(self.embed_dim, size, **where))
            self.register_parameter("in_proj_weight", None)

    def _reset_parameters(self):
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                initialise.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            initialise.zeros_(self.in_proj_bias)
            initialise.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                initialise.xavier_normal_(bias)

    def __setstate__(self, state):
        super().__setstate__({"_qkv_same_embed_dim": True, **state})

    def forward(
        self,
        query,
        key,
        value,
        key_padding_mask=None,
        need_weights=True,
        attn_mask=None,
        average_attn_weights=True,
        is_causal=False,
    ):
        """Attend; key_padding_mask is (N, S), attn_mask (L, S) or (N * num_heads, L, S); True (or
        what is added, -inf) keeps from attending. Nested tensors are attended to example by example, without masks."""
        if query.is_nested:
            masks = {"attn_mask": attn_mask, "key_padding_mask": key_padding_mask}
            options = {"need_weights": need_weights, "average_attn_weights": average_attn_weights}
            return attend_nested(self, query, key, value, **masks, **options, is_causal=is_causal)
        key_padding_mask = canonical_mask(key_padding_mask, "key_padding_mask", attn_mask, "attn_mask", query.dtype)
        attn_mask = canonical_mask(attn_mask, "attn_mask", None, "", query.dtype)
        swap = self.batch_first and query.dim() == 3
        if swap:
            query, key, value = _batch_second(query, key, value)
        separate = (
            {}
            if self._qkv_same_embed_dim
            else {
                "use_separate_proj_weight": True,
                "q_proj_weight": self.q_proj_weight,
                "k_proj_weight": self.k_proj_weight,
                "v_proj_weight": self.v_proj_weight,
            }
        )
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
            **separate,
        )
        return (output.transpose(1, 0) if swap else output), weights

    def merge_masks(self, attn_mask, key_padding_mask, query):
        """(both masks as one that is added, its kind: 1 padding, 2 with attention, or None)"""
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        batch, length, _ = query.shape
        if attn_mask.dim() == 3:
            merged = attn_mask.view(batch, -1, length, length)
        else:
            merged = attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            padding = key_padding_mask.view(batch, 1, 1, length)
            merged = merged + padding.expand(-1, self.num_heads, -1, -1)
        return merged, 2


def _batch_second(query, key, value):
    """The inputs as (L, N, E); those that were one tensor stay one tensor, for one projection."""
    swapped = {id(x): x.transpose(1, 0) for x in (query, key, value)}
    return swapped[id(query)], swapped[id(key)], swapped[id(value)]


__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "MultiheadAttention",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "Sigmoid",
    "SiLU",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]
