"""jax.experimental.serialize_executable: compiled functions in files, for this machine and version.

For other machines, save StableHLO: fc.export.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from .. import xla
from ..array.array import array_of
from ..array.jit import Compiled
from ..array.saving import kind_data, kind_of_data, packed, unpacked
from ..array.tracing import ONE_DEVICE, refuse
from ..core.explain import explaining
from ..core.lowering import lower
from ..core.tree import PyTreeDef
from ..engine import to_buffer
from ..engine.compiling import Program
from ..xla import executable as executables

FORMAT = "functorch-core executable 1"
NOT_ONE = "serialize takes what fc.jit(f).lower(...).compile() gave, got {kind}"
NOT_A_FILE = "deserialize_and_load takes the bytes that serialize gave; these are something else"
CALLS_BACK = "serialize: `{name}` calls Python, which no other process has\n    Leave the callback out."


@explaining
def serialize(compiled: Compiled) -> tuple[bytes, PyTreeDef, PyTreeDef]:
    """(the program as bytes, the structure of its arguments, that of its result).

    >>> import functorch_core as fc
    >>> from functorch_core.experimental import serialize_executable
    >>> saved = serialize_executable.serialize(fc.jit(lambda x: x + 1).lower(fc.ones(2)).compile())
    >>> serialize_executable.deserialize_and_load(*saved)(fc.ones(2))
    Array([2., 2.], dtype=float32)
    """
    if not isinstance(compiled, Compiled):
        raise TypeError(NOT_ONE.format(kind=type(compiled).__name__))
    s: Any = compiled._signature
    lowered = lower(s.graph, s.device.platform)
    if lowered.callbacks:
        raise TypeError(CALLS_BACK.format(name=s.name))
    program = s.program
    arrays = io.BytesIO()
    np.savez(arrays, *[_plain(np.asarray(xla.to_numpy(b))) for b in program.hoisted])
    header = {
        "format": FORMAT,
        "name": s.name,
        "kinds": list(map(kind_data, s.kinds)),
        "out_avals": list(map(kind_data, s.out_avals)),
        "inputs": [[list(a.shape), np.dtype(a.dtype).name] for a in program.executable.inputs],
        "outputs": [[list(a.shape), np.dtype(a.dtype).name] for a in program.executable.outputs],
        "results": program.outputs,
        "donate": list(s.donate),
    }
    blobs = executables.serialize(program.executable), lowered.text.encode(), arrays.getvalue()
    return packed(header, *blobs), s.in_tree, s.out_tree


def _plain(array: np.ndarray) -> np.ndarray:
    """An array of a dtype that files have: bfloat16 and its kin as unsigned integers."""
    return array.view(f"u{array.itemsize}") if array.dtype.kind == "V" else array


class _Loaded:
    """What Compiled runs: the signature of a program that came from a file."""

    def __init__(self, header: dict, program: Program, in_tree: PyTreeDef, out_tree: PyTreeDef):
        self.name, self.in_tree, self.out_tree = header["name"], in_tree, out_tree
        self.kinds = tuple(map(kind_of_data, header["kinds"]))
        self.out_avals: list[Any] = list(map(kind_of_data, header["out_avals"]))
        self.donate, self.program, self.device = tuple(header["donate"]), program, program.device

    def __call__(self, values):
        outs = self.program([to_buffer(v, self.device) for v in values])
        return self.out_tree.unflatten(list(map(array_of, self.out_avals, outs)))


@explaining
def deserialize_and_load(
    serialized: bytes, in_tree: PyTreeDef, out_tree: PyTreeDef, backend=None, execution_devices=None
) -> Compiled:
    """The compiled function of what serialize gave. ValueError for other bytes, CompileError for another machine's.

    >>> import functorch_core as fc
    >>> from functorch_core.experimental import serialize_executable
    >>> f = fc.jit(fc.sin).lower(0.).compile()
    >>> serialize_executable.deserialize_and_load(*serialize_executable.serialize(f))(0.)
    Array(0., dtype=float32)
    """
    refuse("deserialize_and_load", ONE_DEVICE, backend=backend, execution_devices=execution_devices)
    try:
        header, (blob, text, arrays) = unpacked(serialized)
    except ValueError:
        raise ValueError(NOT_A_FILE) from None
    if header.get("format") != FORMAT:
        raise ValueError(NOT_A_FILE)
    device = xla.default_device()
    inputs, outputs = (list[Any](map(kind_of_data, header[k])) for k in ("inputs", "outputs"))
    executable = executables.deserialize(
        blob, module=text.decode(), inputs=inputs, outputs=outputs, device=device, name=header["name"]
    )
    constants = inputs[len(header["kinds"]) :]
    with np.load(io.BytesIO(arrays)) as saved:
        hoisted = [xla.put(saved[f"arr_{i}"].view(a.dtype), device) for i, a in enumerate(constants)]
    results = header["results"]
    program = Program(executable, hoisted, None if results is None else tuple(results))
    loaded: Any = _Loaded(header, program, in_tree, out_tree)
    return Compiled(loaded)


__all__ = ["deserialize_and_load", "serialize"]
