"""torch.distributed.tensor.debug: which collectives the programs of DTensors have, and where their parts lie."""

from __future__ import annotations

import contextlib
import importlib
from collections import defaultdict
from typing import Any

from ..... import xla
from .... import _missing
from ...library import ops
from .. import _functional_collectives  # noqa: F401  (which defines the operators)
from .api import sharding_of_tensor

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


def visualize_sharding(dtensor, header="", use_rich: bool = False):
    """Print which device has which rows and columns of a DTensor of one or two dimensions, in the process of rank 0.

    use_rich: print with the package rich, below `header`; ImportError if it is not installed.

    >>> from torch.distributed.tensor import Shard, distribute_tensor
    >>> from torch.distributed.tensor.debug import visualize_sharding
    >>> mesh = torch.distributed.init_device_mesh("cpu", (1,))
    >>> visualize_sharding(distribute_tensor(torch.ones(4, 2), mesh, [Shard(0)]))
             Col 0-1
    -------  ---------
    Row 0-3  cpu:0
    """
    if not dtensor.numel():
        return
    if dtensor.dim() not in (1, 2):
        raise RuntimeError("visualize sharding supports only 1D or 2D DTensor")
    mesh = dtensor.device_mesh
    if mesh.get_coordinate() is None or any(mesh.get_coordinate()):
        return
    parts: dict[tuple[str, str], list[str]] = {}
    shape = (*dtensor.shape, 1)[:2]
    for rank, index in zip(mesh.mesh.flatten().tolist(), sharding_of_tensor(dtensor).indices(dtensor.shape)):
        rows, columns = [range(n)[i] for i, n in zip((*index, slice(None))[:2], shape)]
        if len(rows) and len(columns):
            parts.setdefault((_ends("Row", rows), _ends("Col", columns)), []).append(str(rank))
    rows, columns = (sorted({place[i] for place in parts}, key=_first) for i in (0, 1))
    cells = [[_device(mesh, parts.get((row, column))) for column in columns] for row in rows]
    if use_rich:
        _print_by_rich(rows, columns, cells, header)
        return
    table = [["", *columns], *[[row, *line] for row, line in zip(rows, cells)]]
    widths = [max(len(cell) for cell in column) for column in zip(*table)]
    widths[1:] = [max(width, len(name) + 2) for width, name in zip(widths[1:], columns)]
    table.insert(1, ["-" * width for width in widths])
    print("\n".join("  ".join(c.ljust(n) for c, n in zip(line, widths)).rstrip() for line in table))


def _ends(name: str, places: range) -> str:
    return f"{name} {places[0]}-{places[-1]}"


def _first(ends: str) -> int:
    return int(ends.split(" ")[1].split("-")[0])


def _device(mesh, ranks: list[str] | None) -> str:
    return f"{mesh.device_type}:{','.join(ranks)}" if ranks else ""


def _print_by_rich(rows: list[str], columns: list[str], cells: list[list[str]], header: str):
    rich = importlib.import_module("rich.table"), importlib.import_module("rich.console")
    table = rich[0].Table("", *columns, title=header or None, show_lines=True)
    for row, line in zip(rows, cells):
        table.add_row(row, *line)
    rich[1].Console().print(table)


__getattr__ = _missing.getter(__name__)
