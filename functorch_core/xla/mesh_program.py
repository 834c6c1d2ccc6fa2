"""Programs for all devices of a mesh: one module, partitioned by XLA."""

from __future__ import annotations

import collections
import contextlib
import functools
import hashlib
import itertools
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from . import binding
from .binding import Aval, Buffer, aval_of
from .cache import without_locations
from .errors import compile_error, fail
from .executable import awaited_at_exit, count_compile, make_used
from .mesh import Mesh, NamedSharding, PartitionSpec, buffer_sharding, hlo_sharding
from .processes import Communicator, communicator_of

_watchers: list[Callable[[MeshProgram], None]] = []  # called with each program that is run
SHAPES_SAID = 4  # shapes of arguments in messages
_COLLECTIVE = re.compile(r" (all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)(?:-start)?\(")


@contextlib.contextmanager
def watching(watcher: Callable[[MeshProgram], None]) -> Iterator[None]:
    """Context: the watcher is called with each program for a mesh that is run, by any thread."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


class MeshProgram:
    """A program that runs on all devices of a mesh at once.

    Where these are of several processes of one machine, each waits before collectives until all have come to the same
    program: Gloo ends processes whose programs do not fit, and does not say who hangs.
    """

    def __init__(
        self,
        loaded: Any,
        mesh: Mesh,
        outputs: tuple[Aval, ...],
        wanted: Sequence[NamedSharding | None],
        name: str,
        digest: str = "",
    ) -> None:
        self.mesh, self.outputs, self.name, self._loaded = mesh, outputs, name, loaded
        self.label = f"program {digest}: {name}"  # the same in all processes
        found = [s or _named(mesh, h, a.ndim) for s, h, a in zip(wanted, _output_shardings(loaded, outputs), outputs)]
        self.out_shardings: list[NamedSharding] = found
        handlers = [binding.result_handlers((a,), buffer_sharding(s, a.ndim))[0] for a, s in zip(outputs, found)]
        alone = len({device.process_index for device in mesh.devices.flat}) == 1  # others may never come
        self._execute = awaited_at_exit(loaded.execute_sharded) if alone else loaded.execute_sharded
        self._handlers = handlers
        self._call: str | None = None

    def __call__(self, buffers: list[Buffer]) -> list[Buffer]:
        """Run on buffers that lie as the program was compiled for; a buffer for each result."""
        for watcher in _watchers:
            watcher(self)
        if self._communicator is not None:
            self._communicator.agree(self._said(buffers))
        try:
            return self._execute(buffers).consume_with_handlers(self._handlers)
        except RuntimeError as error:
            fail(error, self.mesh.devices.flat[0].platform)

    @functools.cached_property
    def _communicator(self) -> Communicator | None:
        """Of its processes, if they exchange anything: what each computes alone, one of them may call alone."""
        found = communicator_of(self.mesh.devices.flat)
        return found if found is not None and self.collectives else None

    def _said(self, buffers: list[Buffer]) -> str:
        """What this process says of it to the others: the same in all, if it is the same program."""
        if self._call is None:
            shapes = ", ".join(f"{b.aval.dtype}{list(b.aval.shape)}" for b in buffers[:SHAPES_SAID])
            self._call = f"{self.label}({shapes}{', ...' * (len(buffers) > SHAPES_SAID)})"
        return self._call

    def hlo_text(self) -> str:
        """The optimised HLO that each device runs."""
        return self._loaded.hlo_modules()[0].to_string()

    @functools.cached_property
    def collectives(self) -> collections.Counter[str]:
        """How many collectives it has, by XLA's names; those in loops are counted once."""
        return collections.Counter(_COLLECTIVE.findall(self.hlo_text()))

    def memory_stats(self) -> dict[str, int]:
        """The bytes that one device needs for a run: 'arguments', 'results', 'temporaries'."""
        found = self._loaded.get_compiled_memory_stats()
        return {
            "arguments": found.argument_size_in_bytes,
            "results": found.output_size_in_bytes,
            "temporaries": found.temp_size_in_bytes,
        }

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimate of what one device does: 'flops', 'bytes accessed', ..."""
        return dict(self._loaded.cost_analysis())


def _output_shardings(loaded: Any, outputs: Sequence[Aval]) -> list[Any]:
    found = loaded.get_output_shardings()
    if found is None or len(found) != len(outputs):
        return [None] * len(outputs)
    return [binding.sharding_from_proto(s) for s in found]


@functools.lru_cache(maxsize=4096)
def _by_text(mesh: Mesh, text: str, ndim: int) -> NamedSharding:
    """The division over a mesh that XLA's form says; each axis divides one dimension or none."""
    for placed in itertools.product(range(-1, ndim), repeat=len(mesh.axis_names)):
        for order in itertools.permutations(range(len(placed))):
            dims: list[tuple[str, ...]] = [()] * ndim
            for k in order:
                if placed[k] >= 0:
                    dims[placed[k]] += (mesh.axis_names[k],)
            spec = PartitionSpec(*[d[0] if len(d) == 1 else d or None for d in dims])
            found = NamedSharding(mesh, spec)
            if str(hlo_sharding(found, ndim)) == text:
                return found
    raise NotImplementedError(f"XLA chose {text} for a result, which no PartitionSpec of {mesh} says")


def _named(mesh: Mesh, hlo: Any, ndim: int) -> NamedSharding:
    if hlo is None or hlo.is_replicated():
        return NamedSharding(mesh, PartitionSpec())
    return _by_text(mesh, str(hlo), ndim)


def compile_for_mesh(
    module: str,
    *,
    mesh: Mesh,
    outputs: Sequence[Any],
    out_shardings: Sequence[NamedSharding | None],
    options: Mapping[str, object] | None = None,
    name: str = "",
) -> MeshProgram:
    """Compile a module whose arguments and results have shardings over a mesh. Raises CompileError."""
    first = mesh.devices.flat[0]
    overrides = {**first.compile_overrides(), **(options or {})}
    chosen = binding.mesh_compile_options([d._handle for d in mesh.devices.flat], overrides)
    make_used(module, first)
    start = time.perf_counter()
    try:
        loaded = first._client.compile_and_load(module, mesh._list, chosen)
    except RuntimeError as error:
        raise compile_error(error, module, name) from None
    count_compile(time.perf_counter() - start)
    avals = tuple([aval_of(tuple(a.shape), a.dtype) for a in outputs])
    digest = hashlib.blake2b(without_locations(module).encode(), digest_size=4).hexdigest()
    return MeshProgram(loaded, mesh, avals, out_shardings, name, digest)
