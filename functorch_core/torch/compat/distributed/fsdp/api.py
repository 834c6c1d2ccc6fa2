"""torch.distributed.fsdp.api: what FullyShardedDataParallel is told."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .....nn.modules.batchnorm import _BatchNorm
from .... import _missing


class ShardingStrategy(enum.Enum):
    """FULL_SHARD divides parameters, gradients and the optimizer's state, and frees whole parameters after the forward
    pass; SHARD_GRAD_OP keeps them until the backward pass; NO_SHARD divides nothing; the hybrid ones divide within a
    node and have copies in each.

    >>> from torch.distributed.fsdp import ShardingStrategy
    >>> ShardingStrategy.NO_SHARD.name
    'NO_SHARD'
    """

    FULL_SHARD = enum.auto()
    SHARD_GRAD_OP = enum.auto()
    NO_SHARD = enum.auto()
    HYBRID_SHARD = enum.auto()
    _HYBRID_SHARD_ZERO2 = enum.auto()


class BackwardPrefetch(enum.Enum):
    """When parameters are fetched ahead in the backward pass; no effect here.

    >>> from torch.distributed.fsdp import BackwardPrefetch
    >>> BackwardPrefetch.BACKWARD_PRE.value
    1
    """

    BACKWARD_PRE = enum.auto()
    BACKWARD_POST = enum.auto()


@dataclass
class MixedPrecision:
    """param_dtype: what modules compute in; reduce_dtype: in what gradients are added up (None: as they come);
    buffer_dtype: of floating buffers. Inputs of the outermost wrapper become param_dtype, those of all with
    cast_forward_inputs. Modules of the classes to ignore compute in float32, where a policy wraps.

    >>> from torch.distributed.fsdp import MixedPrecision
    >>> MixedPrecision(param_dtype=torch.bfloat16).cast_root_forward_inputs
    True
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Sequence[type] = (_BatchNorm,)


@dataclass
class CPUOffload:
    """Parameters in the host's memory, where those of CPUs are without it.

    >>> from torch.distributed.fsdp import CPUOffload
    >>> CPUOffload()
    CPUOffload(offload_params=False)
    """

    offload_params: bool = False


# ---- state dicts ---------------------------------------------------------------------------------


class StateDictType(enum.Enum):
    """What state_dict gives: whole tensors, this process's parts, or DTensors.

    >>> from torch.distributed.fsdp import StateDictType
    >>> [kind.name for kind in StateDictType]
    ['FULL_STATE_DICT', 'LOCAL_STATE_DICT', 'SHARDED_STATE_DICT']
    """

    FULL_STATE_DICT = enum.auto()
    LOCAL_STATE_DICT = enum.auto()
    SHARDED_STATE_DICT = enum.auto()


@dataclass
class StateDictConfig:
    """Base of what is said about states of models. `offload_to_cpu` has no effect on CPUs.

    >>> from torch.distributed.fsdp import FullStateDictConfig, StateDictConfig
    >>> issubclass(FullStateDictConfig, StateDictConfig)
    True
    """

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """rank0_only: the other processes get an empty dict.

    >>> from torch.distributed.fsdp import FullStateDictConfig
    >>> FullStateDictConfig(rank0_only=True)
    FullStateDictConfig(offload_to_cpu=False, rank0_only=True)
    """

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """For states of this process's parts.

    >>> from torch.distributed.fsdp import LocalStateDictConfig
    >>> LocalStateDictConfig()
    LocalStateDictConfig(offload_to_cpu=False)
    """


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """For states of DTensors.

    >>> from torch.distributed.fsdp import ShardedStateDictConfig
    >>> ShardedStateDictConfig().offload_to_cpu
    False
    """

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """Base of what is said about states of optimizers.

    >>> from torch.distributed.fsdp import FullOptimStateDictConfig, OptimStateDictConfig
    >>> issubclass(FullOptimStateDictConfig, OptimStateDictConfig)
    True
    """

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """rank0_only: the other processes get an empty dict.

    >>> from torch.distributed.fsdp import FullOptimStateDictConfig
    >>> FullOptimStateDictConfig()
    FullOptimStateDictConfig(offload_to_cpu=True, rank0_only=False)
    """

    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """For states of this process's parts.

    >>> from torch.distributed.fsdp import LocalOptimStateDictConfig
    >>> LocalOptimStateDictConfig()
    LocalOptimStateDictConfig(offload_to_cpu=False)
    """

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """For states of DTensors.

    >>> from torch.distributed.fsdp import ShardedOptimStateDictConfig
    >>> ShardedOptimStateDictConfig().offload_to_cpu
    True
    """

    _use_dtensor: bool = False


@dataclass
class StateDictSettings:
    """What FullyShardedDataParallel.state_dict_type sets.

    >>> from torch.distributed.fsdp import StateDictSettings
    >>> StateDictSettings().state_dict_type.name
    'FULL_STATE_DICT'
    """

    state_dict_type: StateDictType = StateDictType.FULL_STATE_DICT
    state_dict_config: StateDictConfig = field(default_factory=FullStateDictConfig)
    optim_state_dict_config: OptimStateDictConfig = field(default_factory=FullOptimStateDictConfig)


class OptimStateKeyType(enum.Enum):
    """Whether a state of an optimizer has parameters by name or by number.

    >>> from torch.distributed.fsdp import OptimStateKeyType
    >>> OptimStateKeyType.PARAM_NAME.value
    1
    """

    PARAM_NAME = enum.auto()
    PARAM_ID = enum.auto()


CONFIGS: dict[StateDictType, tuple[type[StateDictConfig], type[OptimStateDictConfig]]] = {
    StateDictType.FULL_STATE_DICT: (FullStateDictConfig, FullOptimStateDictConfig),
    StateDictType.LOCAL_STATE_DICT: (LocalStateDictConfig, LocalOptimStateDictConfig),
    StateDictType.SHARDED_STATE_DICT: (ShardedStateDictConfig, ShardedOptimStateDictConfig),
}

__getattr__ = _missing.getter(__name__)
