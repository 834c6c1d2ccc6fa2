"""torch.distributed.tensor.debug: which collectives the programs of DTensors have."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from typing import Any

from ..... import xla
from .... import _missing
from ...library import ops
from .. import _functional_collectives  # noqa: F401  (which defines the operators)

# XLA's names and the operators that PyTorch counts; its permute_tensor is an all_to_all_single.
OPERATORS = {
    "all-reduce": "all_reduce",
    "all-gather": "all_gather_into_tensor",
    "reduce-scatter": "reduce_scatter_tensor",
    "all-to-all": "all_to_all_single",
    "collective-permute": "all_to_all_single",
}
NO_TABLE = (
    "CommDebugMode.{name} is not implemented by functorch-core: collectives belong to programs, not to modules or "
    "operators; get_comm_counts() says which there were"
)


class CommDebugMode:
    """Context that counts the collectives of DTensors: what XLA's programs have that are run in it.

    get_comm_counts() has numbers by operators (`torch.ops.c10d_functional.all_reduce`). They are PyTorch's where XLA
    takes the same collectives; on CPUs it has an all-reduce and a slice in place of a reduce-scatter. What is called
    on ordinary tensors (`torch.distributed.all_reduce`) is not counted.

    >>> from torch.distributed.tensor import Shard, distribute_tensor
    >>> from torch.distributed.tensor.debug import CommDebugMode
    >>> mesh = torch.distributed.init_device_mesh("cpu", (1,))
    >>> x = distribute_tensor(torch.ones(4, 2), mesh, [Shard(0)])
    >>> with CommDebugMode() as counted: y = x.sum(0)
    >>> counted.get_total_counts(), dict(counted.get_comm_counts())
    (0, {})
    """

    def __init__(self):
        self.comm_counts: dict[Any, int] = defaultdict(int)
        self._watching = contextlib.ExitStack()

    def __enter__(self) -> CommDebugMode:
        self.comm_counts.clear()
        self._watching.enter_context(xla.watching(self._ran))
        return self

    def __exit__(self, *args):
        self._watching.close()

    def _ran(self, program: xla.MeshProgram):
        for name, n in program.collectives.items():
            self.comm_counts[getattr(ops.c10d_functional, OPERATORS[name])] += n

    def get_comm_counts(self) -> dict[Any, int]:
        """How many collectives there were, by operator."""
        return self.comm_counts

    def get_total_counts(self) -> int:
        """How many there were."""
        return sum(self.comm_counts.values())

    def _no_table(name: str):  # noqa: N805
        def method(self, *args, **kwargs):
            raise NotImplementedError(NO_TABLE.format(name=name))

        method.__name__, method.__doc__ = name, "Not implemented: what modules communicate is not known."
        return method

    generate_comm_debug_tracing_table = _no_table("generate_comm_debug_tracing_table")
    generate_json_dump = _no_table("generate_json_dump")
    log_comm_debug_tracing_table_to_file = _no_table("log_comm_debug_tracing_table_to_file")
    get_parameter_info = _no_table("get_parameter_info")
    get_sharding_info = _no_table("get_sharding_info")
    del _no_table


__getattr__ = _missing.getter(__name__)
