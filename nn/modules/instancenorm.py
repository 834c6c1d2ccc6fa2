"""Instance normalisation."""

from __future__ import annotations

from ...core.warn import warn
from .. import functional as F
from .batchnorm import _checks, _LazyNormBase, _NormBase

OLD_STATISTICS = (
    "Unexpected running stats buffer(s) {names} for {klass} with track_running_stats=False. If "
    "state_dict is a checkpoint saved before 0.4.0, this may be expected because {klass} does not "
    "track running stats by default since 0.4.0. Please remove these keys from state_dict. If the "
    "running stats are actually needed, instead set track_running_stats=True in {klass} to enable "
    "them. See the documentation of {klass} for details."
)


class _InstanceNorm(_NormBase):
    """Normalisation of every channel of every example; `_n` dimensions without a batch."""

    _n = 0

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device=None,
        dtype=None,
        *,
        bias: bool = True,
    ):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _get_no_batch_dim(self) -> int:
        return self._n

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        if local_metadata.get("version") is None and not self.track_running_stats:
            keys = [prefix + name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if keys:
                error_msgs.append(
                    OLD_STATISTICS.format(names=" and ".join(f'"{k}"' for k in keys), klass=type(self).__name__)
                )
            for key in keys:
                state_dict.pop(key)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def forward(self, input):
        self._check_input_dim(input)
        dim = input.dim() - self._n
        if input.shape[dim] != self.num_features:
            self._mismatch(dim, input.shape[dim])
        if dim == 0:
            return self._normalise(input.unsqueeze(0)).squeeze(0)
        return self._normalise(input)

    def _normalise(self, input):
        return F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )

    def _mismatch(self, dim: int, found: int):
        if self.affine:
            raise ValueError(
                f"expected input's size at dim={dim} to match num_features ({self.num_features}), but got: {found}."
            )
        warn(
            f"input's size at dim={dim} does not match num_features. You can silence "
            "this warning by not passing in num_features, which is not used because "
            "affine=False"
        )


class InstanceNorm1d(_InstanceNorm):
    """Instance normalisation of (N, C, L) or (C, L).

    The shape is kept. ValueError for another number of dimensions, and for one element a channel in training.

    >>> torch.nn.InstanceNorm1d(1, eps=0.)(torch.tensor([[[1., 3.]]]))
    tensor([[[-1.,  1.]]])
    """

    _n, _check_input_dim = 2, _checks(2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Instance normalisation of (N, C, H, W) or (C, H, W).

    The shape is kept. ValueError for another number of dimensions, and for one element a channel in training.

    >>> nn.InstanceNorm2d(3)(torch.ones(1, 3, 2, 2)).shape
    torch.Size([1, 3, 2, 2])
    """

    _n, _check_input_dim = 3, _checks(3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Instance normalisation of (N, C, D, H, W) or (C, D, H, W).

    The shape is kept. ValueError for another number of dimensions, and for one element a channel in training.

    >>> torch.nn.InstanceNorm3d(2)(torch.zeros(1, 2, 3, 3, 3)).shape
    torch.Size([1, 2, 3, 3, 3])
    """

    _n, _check_input_dim = 4, _checks(4, 5)


class LazyInstanceNorm1d(_LazyNormBase, _InstanceNorm):
    """InstanceNorm1d whose num_features comes from the first input.

    >>> torch.nn.LazyInstanceNorm1d()(torch.zeros(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    """

    cls_to_become = InstanceNorm1d
    _n, _check_input_dim = 2, _checks(2, 3)


class LazyInstanceNorm2d(_LazyNormBase, _InstanceNorm):
    """InstanceNorm2d whose num_features comes from the first input.

    >>> torch.nn.LazyInstanceNorm2d()(torch.zeros(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """

    cls_to_become = InstanceNorm2d
    _n, _check_input_dim = 3, _checks(3, 4)


class LazyInstanceNorm3d(_LazyNormBase, _InstanceNorm):
    """InstanceNorm3d whose num_features comes from the first input.

    >>> torch.nn.LazyInstanceNorm3d()(torch.zeros(2, 3, 4, 4, 4)).shape
    torch.Size([2, 3, 4, 4, 4])
    """

    cls_to_become = InstanceNorm3d
    _n, _check_input_dim = 4, _checks(4, 5)


__all__ = [
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
]
