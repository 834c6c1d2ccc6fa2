"""Batch normalisation."""

from __future__ import annotations

from ... import torch
from ...torch import ones, tensor, zeros
from ...torch.tape.modes import no_grad
from ...torch.tensors.types import int64
from .. import functional as F
from .. import init
from ..parameter import UninitializedBuffer, UninitializedParameter
from .lazy import LazyModuleMixin
from .linear import new_parameter
from .module import Module


def _counter(device):
    return tensor(0, dtype=int64, device=device)


class _NormBase(Module):
    """What batch and instance normalisation share: weight, bias and running statistics."""

    _version = 2

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device=None,
        dtype=None,
        *,
        bias: bool = True,
    ):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        where = {"device": device, "dtype": dtype}
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(name, new_parameter(num_features, **where) if wanted else None)
        tracked = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, **where) if tracked else None)
        self.register_buffer("running_var", ones(num_features, **where) if tracked else None)
        self.register_buffer("num_batches_tracked", _counter(device) if tracked else None)
        self.reset_parameters()

    def reset_running_stats(self):
        """Forget the running statistics."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self):
        """Weight 1, bias 0, no running statistics."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input):
        raise NotImplementedError

    def extra_repr(self):
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
        version, key = local_metadata.get("version"), prefix + "num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            own = self.num_batches_tracked  # version 1 did not count batches
            state_dict[key] = tensor(0, dtype=int64) if own is None else own
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


def _checks(*ranks: int):
    """A method that wants inputs of these numbers of dimensions."""
    expected = " or ".join(f"{n}D" for n in ranks)

    def _check_input_dim(self, input):
        if input.dim() not in ranks:
            raise ValueError(f"expected {expected} input (got {input.dim()}D input)")

    return _check_input_dim


class _BatchNorm(_NormBase):
    def forward(self, input):
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the mean of all batches
                factor = 1.0 / float(self.num_batches_tracked)
        of_batch = self.training or (self.running_mean is None and self.running_var is None)
        given = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if given else None,
            self.running_var if given else None,
            self.weight,
            self.bias,
            of_batch,
            factor,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """(x - mean) / sqrt(var + eps) * weight + bias, by channel, for (N, C) or (N, C, L).

    Mean and variance are those of the batch; in evaluation mode the running ones.

    Shape and dtype are kept. ValueError for another number of dimensions, and in training for one value per
    channel; RuntimeError for another number of channels.

    >>> nn.BatchNorm1d(2)(torch.tensor([[1., 2.], [3., 4.]])).data
    tensor([[-1.0000, -1.0000],
            [ 1.0000,  1.0000]])
    """

    _check_input_dim = _checks(2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of (N, C, H, W); see BatchNorm1d.

    Shape and dtype are kept. ValueError for another number of dimensions, RuntimeError for another number of
    channels.

    >>> nn.BatchNorm2d(100)(torch.randn(20, 100, 35, 45)).shape
    torch.Size([20, 100, 35, 45])
    """

    _check_input_dim = _checks(4)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of (N, C, D, H, W); see BatchNorm1d.

    The shape is kept; ValueError for another number of dimensions.

    >>> torch.nn.BatchNorm3d(2)(torch.zeros(1, 2, 3, 3, 3)).shape
    torch.Size([1, 2, 3, 3, 3])
    """

    _check_input_dim = _checks(5)


# ---- lazy ----------------------------------------------------------------------------------------


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """num_features is the first input's number of channels."""

    def __init__(
        self, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None, *, bias=True
    ):
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        self.affine, self.track_running_stats = affine, track_running_stats
        where = {"device": device, "dtype": dtype}
        if affine:
            self.weight = UninitializedParameter(**where)
            if bias:
                self.bias = UninitializedParameter(**where)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(**where)
            self.running_var = UninitializedBuffer(**where)
            self.num_batches_tracked = _counter(device)

    def reset_parameters(self):
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input):
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        members = [self.weight, self.bias] if self.affine else []
        members += [self.running_mean, self.running_var] if self.track_running_stats else []
        for member in members:
            if member is not None:
                member.materialize((self.num_features,))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    """BatchNorm1d whose num_features comes from the first input.

    >>> torch.nn.LazyBatchNorm1d()(torch.zeros(2, 3)).shape
    torch.Size([2, 3])
    """

    cls_to_become = BatchNorm1d
    _check_input_dim = BatchNorm1d._check_input_dim


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    """BatchNorm2d whose num_features comes from the first input.

    >>> torch.nn.LazyBatchNorm2d()(torch.zeros(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """

    cls_to_become = BatchNorm2d
    _check_input_dim = BatchNorm2d._check_input_dim


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    """BatchNorm3d whose num_features comes from the first input.

    >>> torch.nn.LazyBatchNorm3d()(torch.zeros(2, 3, 4, 4, 4)).shape
    torch.Size([2, 3, 4, 4, 4])
    """

    cls_to_become = BatchNorm3d
    _check_input_dim = BatchNorm3d._check_input_dim


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation whose statistics in training are those of the batches of all processes of a group, which
    may have different sizes. In one process it is BatchNorm.

    >>> nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm1d(2)))[0]
    SyncBatchNorm(2, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group=None,
        device=None,
        dtype=None,
        *,
        bias: bool = True,
    ):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input):
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.shape[1] == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    def forward(self, input):
        """The normalised input."""
        distributed = torch.distributed
        of_batch = self.training or (self.running_mean is None and self.running_var is None)
        if not of_batch or not distributed.is_initialized() or distributed.get_world_size(self.process_group) == 1:
            return super().forward(input)
        self._check_input_dim(input)
        count, mean, var = self._statistics(input)
        if self.training and self.track_running_stats:
            self._follow(mean.detach(), var.detach(), count.detach())
        shape = (1, -1) + (1,) * (input.dim() - 2)
        scale = torch.rsqrt(var + self.eps)
        shift = -mean * scale
        if self.affine:
            scale, shift = scale * self.weight, shift * self.weight
            shift = shift if self.bias is None else shift + self.bias
        return (input * scale.view(shape) + shift.view(shape)).to(input.dtype)

    def _statistics(self, input):
        """How many elements a channel has in all processes, their mean and variance."""
        wide = input if input.element_size() >= 4 else input.float()
        dims = [d for d in range(input.dim()) if d != 1]
        count = wide.new_full((1,), input.numel() / input.shape[1])
        var, mean = torch.var_mean(wide, dims, correction=0)
        own = torch.cat([count, mean, var])
        rows = torch.stack(torch.distributed.nn.functional.all_gather(own, self.process_group))
        counts, means, variances = rows.split([1, input.shape[1], input.shape[1]], 1)
        total = counts.sum()
        mean = (counts * means).sum(0) / total
        return total, mean, (counts * (variances + (means - mean) ** 2)).sum(0) / total

    def _follow(self, mean, var, count):
        factor = 0.0 if self.momentum is None else self.momentum
        self.num_batches_tracked.add_(1)
        if self.momentum is None:
            factor = 1.0 / float(self.num_batches_tracked)
        with no_grad():
            self.running_mean.lerp_(mean.to(self.running_mean.dtype), factor)
            self.running_var.lerp_((var * count / (count - 1)).to(self.running_var.dtype), factor)

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """The module with SyncBatchNorm in place of every batch normalisation."""
        new = module
        if isinstance(module, _BatchNorm):
            new = SyncBatchNorm(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            if module.affine:
                with no_grad():
                    new.weight, new.bias = module.weight, module.bias
            for name in ("running_mean", "running_var", "num_batches_tracked", "training"):
                setattr(new, name, getattr(module, name))
        for name, child in module.named_children():
            new.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return new


__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "SyncBatchNorm",
]
