"""Losses. `reduction` is mean, sum or none; size_average and reduce are its former names."""

from __future__ import annotations

import math

from ...core.warn import warn
from .. import functional as F
from ._reduction import legacy_reduction
from .distance import PairwiseDistance
from .linear import Linear
from .module import Module


class _Loss(Module):
    """A loss with a reduction and further arguments as attributes."""

    def __init__(self, size_average=None, reduce=None, reduction: str = "mean", **arguments):
        super().__init__()
        if size_average is not None or reduce is not None:
            reduction = legacy_reduction(size_average, reduce)
        self.reduction = reduction
        self.__dict__.update(arguments)


class _WeightedLoss(_Loss):
    """A loss with a weight for each class or element, which is a buffer."""

    def __init__(self, weight=None, size_average=None, reduce=None, reduction: str = "mean", **arguments):
        super().__init__(size_average, reduce, reduction, **arguments)
        self.register_buffer("weight", weight)


# ---- elementwise ---------------------------------------------------------------------------------


class L1Loss(_Loss):
    """|input - target|

    They are broadcast (with a warning if their shapes differ); the result is a number, with reduction="none" of
    their shape. RuntimeError for shapes that do not fit, ValueError for another reduction.

    >>> nn.L1Loss()(torch.zeros(2), torch.tensor([1., 3.]))
    tensor(2.)
    """

    def __init__(self, size_average=None, reduce=None, reduction: str = "mean"):
        super().__init__(size_average, reduce, reduction)

    def forward(self, input, target):
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """(input - target) ** 2

    They are broadcast (with a warning if their shapes differ); the result is a number, with reduction="none" of
    their shape. RuntimeError for shapes that do not fit, ValueError for another reduction.

    >>> nn.MSELoss()(torch.tensor([1.]), torch.tensor([3.]))
    tensor(4.)
    """

    def __init__(self, size_average=None, reduce=None, reduction: str = "mean"):
        super().__init__(size_average, reduce, reduction)

    def forward(self, input, target):
        return F.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """(x - y)^2 / (2 beta) where |x - y| < beta, else |x - y| - beta / 2

    Both are broadcast; the result is a number, with reduction="none" of their shape. RuntimeError for shapes that
    do not fit and for a negative beta.

    >>> nn.SmoothL1Loss()(torch.tensor([1.]), torch.tensor([3.]))
    tensor(1.5000)
    """

    def __init__(self, size_average=None, reduce=None, reduction: str = "mean", beta: float = 1.0):
        super().__init__(size_average, reduce, reduction, beta=beta)

    def forward(self, input, target):
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """(x - y)^2 / 2 where |x - y| < delta, else delta * (|x - y| - delta / 2)

    Both are broadcast; the result is a number of the input's dtype. RuntimeError for shapes that do not fit and a
    delta that is not positive.

    >>> nn.HuberLoss()(torch.tensor([1.]), torch.tensor([3.]))
    tensor(1.5000)
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0):
        if not isinstance(delta, (float, int)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        super().__init__(reduction=reduction, delta=delta)

    def forward(self, input, target):
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class SoftMarginLoss(_Loss):
    """log(1 + exp(-y * x)) for y of 1 and -1

    Both have one shape; the result is a number of the input's dtype. RuntimeError for shapes that do not fit.

    >>> torch.nn.SoftMarginLoss()(torch.tensor([0.]), torch.tensor([1.]))
    tensor(0.6931)
    """

    def __init__(self, size_average=None, reduce=None, reduction: str = "mean"):
        super().__init__(size_average, reduce, reduction)

    def forward(self, input, target):
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class HingeEmbeddingLoss(_Loss):
    """x where y is 1, max(0, margin - x) where it is -1

    Both are broadcast; the result is a number. RuntimeError for shapes that do not fit.

    >>> torch.nn.HingeEmbeddingLoss()(torch.tensor([0.2, 0.4]), torch.tensor([1, -1]))
    tensor(0.4000)
    """

    margin: float

    def __init__(self, margin: float = 1.0, size_average=None, reduce=None, reduction: str = "mean"):
        super().__init__(size_average, reduce, reduction, margin=margin)

    def forward(self, input, target):
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


# ---- of probabilities ----------------------------------------------------------------------------


class NLLLoss(_WeightedLoss):
    """The negative log probability of the target classes, given log probabilities (N, C, ...).

    The target is int64, of (), (N) or (N, d1, ...). The result is a number, with reduction="none" of the target's
    shape. ValueError for another batch size, IndexError for a class that is not there.

    >>> nn.NLLLoss()(torch.tensor([[-1., -2.]]), torch.tensor([1]))
    tensor(2.)
    """

    ignore_index: int

    def __init__(self, weight=None, size_average=None, ignore_index: int = -100, reduce=None, reduction: str = "mean"):
        super().__init__(weight, size_average, reduce, reduction, ignore_index=ignore_index)

    def forward(self, input, target):
        return F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class NLLLoss2d(NLLLoss):
    """Deprecated name of NLLLoss.

    >>> nn.NLLLoss2d()(torch.zeros(1, 2, 1, 1), torch.zeros(1, 1, 1, dtype=torch.int64))
    tensor(0.)
    """

    def __init__(self, weight=None, size_average=None, ignore_index: int = -100, reduce=None, reduction: str = "mean"):
        warn(
            "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in "
            "replacement and see https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss "
            "for more details.",
            FutureWarning,
        )
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class CrossEntropyLoss(_WeightedLoss):
    """-log softmax(input) of the target classes, or against target probabilities; (N, C, ...).

    The input is (C), (N, C) or (N, C, d1, ...) and floating; the target has classes, int64 of (), (N) or (N, d1,
    ...), or probabilities in the input's shape. The result is a number, with reduction="none" of the shape of such
    classes. ValueError for another batch size, IndexError for a class that is not there.

    >>> nn.CrossEntropyLoss()(torch.zeros(3, 2), torch.tensor([0, 1, 1]))
    tensor(0.6931)
    """

    ignore_index: int
    label_smoothing: float

    def __init__(
        self,
        weight=None,
        size_average=None,
        ignore_index: int = -100,
        reduce=None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ):
        super().__init__(
            weight, size_average, reduce, reduction, ignore_index=ignore_index, label_smoothing=label_smoothing
        )

    def forward(self, input, target):
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class LinearCrossEntropyLoss(_WeightedLoss):
    """CrossEntropyLoss of a linear layer's output.

    >>> loss = nn.LinearCrossEntropyLoss(2, 3) if hasattr(nn, "LinearCrossEntropyLoss") else None
    """

    num_classes: int
    reduction: str
    ignore_index: int | None
    label_smoothing: float

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device=None,
        dtype=None,
        reduction: str = "mean",
        weight=None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options=None,
    ):
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__(
            weight,
            reduction=reduction,
            num_classes=num_classes,
            out_features=out_features,
            ignore_index=ignore_index,
            label_smoothing=label_smoothing,
        )
        self.linear = Linear(
            in_features, math.prod(out_features, start=num_classes), bias=bias, device=device, dtype=dtype
        )
        self.options = options

    def forward(self, input, target):
        shape, bias = (self.num_classes, *self.out_features), self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape((*shape, self.linear.in_features)),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self):
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )


class KLDivLoss(_Loss):
    """target * (log target - input), for an input of log probabilities.

    Both are broadcast; the result is a number, with reduction="batchmean" the sum divided by the first size.
    RuntimeError for shapes that do not fit.

    >>> nn.KLDivLoss(reduction='batchmean')(torch.tensor([[0.5, 0.5]]).log(),
    ...     torch.tensor([[1., 0.]]))
    tensor(0.6931)
    """

    def __init__(self, size_average=None, reduce=None, reduction: str = "mean", log_target: bool = False):
        super().__init__(size_average, reduce, reduction, log_target=log_target)

    def forward(self, input, target):
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class BCELoss(_WeightedLoss):
    """-(y log x + (1 - y) log(1 - x)), for probabilities x.

    Input and target are floating and of one shape, ValueError otherwise; RuntimeError for an input outside of [0,
    1]. The result is a number, with reduction="none" of their shape.

    >>> nn.BCELoss()(torch.tensor([0.5]), torch.tensor([1.]))
    tensor(0.6931)
    """

    def __init__(self, weight=None, size_average=None, reduce=None, reduction: str = "mean"):
        super().__init__(weight, size_average, reduce, reduction)

    def forward(self, input, target):
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """BCELoss of the sigmoid of the input.

    Input and target are floating and of one shape, ValueError otherwise. The result is a number, with
    reduction="none" of their shape.

    >>> nn.BCEWithLogitsLoss()(torch.tensor([0.]), torch.tensor([1.]))
    tensor(0.6931)
    """

    def __init__(self, weight=None, size_average=None, reduce=None, reduction: str = "mean", pos_weight=None):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input, target):
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class PoissonNLLLoss(_Loss):
    """The negative log likelihood of targets with a Poisson distribution, up to a constant.

    Both are broadcast; the result is a number. RuntimeError for shapes that do not fit.

    >>> torch.nn.PoissonNLLLoss()(torch.tensor([0.]), torch.tensor([2.]))
    tensor(1.)
    """

    log_input: bool
    full: bool
    eps: float

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average=None,
        eps: float = 1e-8,
        reduce=None,
        reduction: str = "mean",
    ):
        super().__init__(size_average, reduce, reduction, log_input=log_input, full=full, eps=eps)

    def forward(self, log_input, target):
        return F.poisson_nll_loss(
            log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction
        )


class GaussianNLLLoss(_Loss):
    """The negative log likelihood of targets with a normal distribution, up to a constant.

    `var` has the input's shape, or 1 as its last size, or lacks it. ValueError for another shape, and for negative
    elements.

    >>> torch.nn.GaussianNLLLoss()(torch.tensor([1.]), torch.tensor([2.]), torch.tensor([1.]))
    tensor(0.5000)
    """

    full: bool
    eps: float

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean"):
        super().__init__(None, None, reduction, full=full, eps=eps)

    def forward(self, input, target, var):
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class CTCLoss(_Loss):
    """The negative log probability of label sequences of any alignment (Graves et al., 2006).

    log_probs is (T, N, C) or (T, C), targets (N, S) or concatenated, lengths (N).

    The result is a number, with reduction="none" (N). RuntimeError for lengths of more than T.

    >>> log_probs = torch.zeros(4, 1, 3).log_softmax(-1)
    >>> nn.CTCLoss()(log_probs, torch.tensor([[1, 2]]), torch.tensor([4]), torch.tensor(
    ...     [2]))
    tensor(0.8432)
    """

    blank: int
    zero_infinity: bool

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False):
        super().__init__(reduction=reduction, blank=blank, zero_infinity=zero_infinity)

    def forward(self, log_probs, targets, input_lengths, target_lengths):
        return F.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )


# ---- of several classes --------------------------------------------------------------------------


class MultiLabelMarginLoss(_Loss):
    """Hinge loss of several classes for each row of (N, C).

    Targets are (N, C), int64: the classes of each row, up to a -1. RuntimeError for another shape.

    >>> torch.nn.MultiLabelMarginLoss()(torch.tensor([[0.1, 0.9]]), torch.tensor([[1, -1]]))
    tensor(0.1000)
    """

    def __init__(self, size_average=None, reduce=None, reduction: str = "mean"):
        super().__init__(size_average, reduce, reduction)

    def forward(self, input, target):
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The mean binary cross entropy over the classes of (N, C).

    Targets are (N, C), of 0 and 1; the result is a number, with reduction="none" (N). RuntimeError for shapes that
    do not fit.

    >>> torch.nn.MultiLabelSoftMarginLoss()(torch.zeros(1, 2), torch.ones(1, 2))
    tensor(0.6931)
    """

    def __init__(self, weight=None, size_average=None, reduce=None, reduction: str = "mean"):
        super().__init__(weight, size_average, reduce, reduction)

    def forward(self, input, target):
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


class MultiMarginLoss(_WeightedLoss):
    """Hinge loss of one class for each row of (N, C).

    Targets are (N), int64. RuntimeError for another shape and for a class that is not there, ValueError for a p
    other than 1 and 2.

    >>> torch.nn.MultiMarginLoss()(torch.tensor([[0.1, 0.9]]), torch.tensor([1]))
    tensor(0.1000)
    """

    margin: float
    p: int

    def __init__(
        self, p: int = 1, margin: float = 1.0, weight=None, size_average=None, reduce=None, reduction: str = "mean"
    ):
        super().__init__(weight, size_average, reduce, reduction, p=p, margin=margin)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.dim() != 1:
            raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.dim()}D instead")

    def forward(self, input, target):
        return F.multi_margin_loss(
            input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction
        )


# ---- of several inputs ---------------------------------------------------------------------------


class CosineEmbeddingLoss(_Loss):
    """1 - cos(x1, x2) where y is 1, max(0, cos(x1, x2) - margin) where it is -1

    x1 and x2 are (N, D) and y (N), or (D) and (); the result is a number, with reduction="none" of y's shape.
    RuntimeError for other numbers of dimensions.

    >>> torch.nn.CosineEmbeddingLoss()(torch.tensor([[1., 0.]]), torch.tensor([[0., 1.]]), torch.tensor([1]))
    tensor(1.)
    """

    margin: float

    def __init__(self, margin: float = 0.0, size_average=None, reduce=None, reduction: str = "mean"):
        super().__init__(size_average, reduce, reduction, margin=margin)

    def forward(self, input1, input2, target):
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(_Loss):
    """max(0, -y * (x1 - x2) + margin) for y of 1 and -1

    All three have as many dimensions; the result is a number. RuntimeError otherwise.

    >>> torch.nn.MarginRankingLoss()(torch.tensor([1.]), torch.tensor([2.]), torch.tensor([1]))
    tensor(1.)
    """

    margin: float

    def __init__(self, margin: float = 0.0, size_average=None, reduce=None, reduction: str = "mean"):
        super().__init__(size_average, reduce, reduction, margin=margin)

    def forward(self, input1, input2, target):
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


def _check_margin(name: str, margin: float):
    if margin <= 0:
        raise ValueError(f"{name}: expected margin to be greater than 0, got {margin} instead")


class TripletMarginLoss(_Loss):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) with the p-norm.

    All three have as many dimensions and are broadcast; the result is a number. RuntimeError otherwise.

    >>> nn.TripletMarginLoss()(torch.zeros(1, 2), torch.zeros(1, 2), torch.ones(1, 2))
    tensor(0.)
    """

    margin: float
    p: float
    eps: float
    swap: bool

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average=None,
        reduce=None,
        reduction: str = "mean",
    ):
        super().__init__(size_average, reduce, reduction, margin=margin, p=p, eps=eps, swap=swap)
        _check_margin("TripletMarginLoss", margin)

    def forward(self, anchor, positive, negative):
        return F.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class TripletMarginWithDistanceLoss(_Loss):
    """TripletMarginLoss with any distance.

    >>> torch.nn.TripletMarginWithDistanceLoss()(torch.zeros(1, 2), torch.zeros(1, 2), torch.tensor([[3., 4.]]))
    tensor(0.)
    """

    margin: float
    swap: bool

    def __init__(self, *, distance_function=None, margin: float = 1.0, swap: bool = False, reduction: str = "mean"):
        super().__init__(reduction=reduction, margin=margin, swap=swap)
        _check_margin("TripletMarginWithDistanceLoss", margin)
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function

    def forward(self, anchor, positive, negative):
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "LinearCrossEntropyLoss",
    "MSELoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "PoissonNLLLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]
