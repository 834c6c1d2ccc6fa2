"""Pictures of how arrays lie on devices: as text, and in notebooks as tables."""

from __future__ import annotations

import html
import sys
from collections.abc import Callable, Sequence

from ..core.explain import explaining
from ..engine import Value
from ..xla import Device, Mesh, NamedSharding, SingleDeviceSharding
from .array import Array, wrap

Sharding = NamedSharding | SingleDeviceSharding
ONE_OR_TWO = "`visualize_sharding` only works for shapes with 1 and 2 dimensions."
IN_TRACE = """debug.{name} inside of a traced function: how a value lies there is found when it is compiled.
    wrong: fc.jit(lambda x: fc.debug.{name}(x * 2))(x)     right: fc.debug.{name}(fc.jit(lambda x: x * 2)(x))"""
# Backgrounds of parts, in terminals (ANSI) and in notebooks.
ANSI = ("46", "42", "43", "45", "44", "41")
COLORS = ("#b9e3e6", "#c3e6c0", "#f3e3a9", "#e3c4e8", "#c3d0f0", "#f0c6c0")


# ---- which part lies where -----------------------------------------------------------------------


def _parts(shape: Sequence[int], sharding: Sharding) -> list[list[list[Device]]]:
    """The devices of each part of an array of one or two dimensions, in rows."""
    found: dict[tuple[int, ...], list[Device]] = {}
    for device, index in sharding.devices_indices_map(shape).items():
        begins = tuple([part.start or 0 for part in index])
        found.setdefault((0,) * (2 - len(begins)) + begins, []).append(device)
    rows, columns = ([*sorted({place[dim] for place in found})] for dim in (0, 1))
    return [[found[row, column] for column in columns] for row in rows]


def _name(devices: Sequence[Device]) -> str:
    """CPU 0,1"""
    return f"{devices[0].platform.upper()} {','.join([str(device.id) for device in devices])}"


# ---- text ----------------------------------------------------------------------------------------


@explaining
def visualize_sharding(
    shape: Sequence[int],
    sharding: Sharding,
    *,
    use_color: bool = True,
    scale: float = 1.0,
    min_width: int = 9,
    max_width: int = 80,
    color_map=None,
):
    """Print which device has which part of an array of this shape, of one or two dimensions, when it lies so.

    `use_color`: each part in a color, in terminals. `scale` makes the picture larger; a part is at least `min_width`
    characters wide, and all at most `max_width`, if the names fit. `color_map` is JAX's: NotImplementedError.

    >>> mesh = fc.make_mesh((1,), ("x",), devices=fc.devices()[:1])
    >>> fc.debug.visualize_sharding((8,), fc.NamedSharding(mesh, fc.P("x")))
    ┌─────────┐
    │  CPU 0  │
    └─────────┘
    """
    if color_map is not None:
        raise NotImplementedError("debug.visualize_sharding(color_map=...)")
    if len(shape) not in (1, 2):
        raise ValueError(ONE_OR_TWO)
    parts = _parts(shape, sharding)
    longest = max([len(_name(devices)) for row in parts for devices in row])
    width = min(max(round(min_width * scale), longest + 2), max(max_width // len(parts[0]) - 1, longest))
    margin = round(scale) - 1 if len(shape) == 2 else 0
    print(_drawn(parts, width, margin, use_color and sys.stdout.isatty()))


def _drawn(parts: list[list[list[Device]]], width: int, margin: int, colored: bool) -> str:
    n = len(parts[0])
    edges = ["─" * width] * n
    lines = [f"┌{'┬'.join(edges)}┐"]
    for r, row in enumerate(parts):
        names = [_name(devices).center(width) for devices in row]
        for k in range(2 * margin + 1):
            cells = names if k == margin else [" " * width] * n
            if colored:
                cells = [f"\033[30;{_color(ANSI, r, c)}m{cell}\033[0m" for c, cell in enumerate(cells)]
            lines.append(f"│{'│'.join(cells)}│")
        if r + 1 < len(parts):
            lines.append(f"├{'┼'.join(edges)}┤")
    return "\n".join([*lines, f"└{'┴'.join(edges)}┘"])


def _color(colors: Sequence[str], row: int, column: int) -> str:
    """Neighbours have others."""
    return colors[(row * 2 + column) % len(colors)]


@explaining
def visualize_array_sharding(arr, **kwargs):
    """Print which device has which part of an array of one or two dimensions; see `visualize_sharding`.

    >>> fc.debug.visualize_array_sharding(fc.ones((2, 2)))
    ┌─────────┐
    │  CPU 0  │
    └─────────┘
    """
    x = _concrete(arr, "visualize_array_sharding")
    visualize_sharding(x.shape, x.sharding, **kwargs)


@explaining
def inspect_array_sharding(value, *, callback: Callable[[Sharding], None]):
    """Call `callback` with how an array lies. NotImplementedError inside of a traced function.

    >>> fc.debug.inspect_array_sharding(fc.ones(2), callback=lambda sharding: print(sharding.num_devices))
    1
    """
    callback(_concrete(value, "inspect_array_sharding").sharding)


def _concrete(x, name: str) -> Array:
    x = x if x.__class__ is Array else wrap(x)
    if x._value.__class__ is not Value:
        raise NotImplementedError(IN_TRACE.format(name=name))
    return x


# ---- notebooks -----------------------------------------------------------------------------------


def _table(rows: Sequence[Sequence[str]], title: str) -> str:
    cells = "".join([f"<tr>{''.join([_cell(r, c, x) for c, x in enumerate(row)])}</tr>" for r, row in enumerate(rows)])
    return f"<div><code>{html.escape(title)}</code><table>{cells}</table></div>"


def _cell(row: int, column: int, text: str) -> str:
    return f"<td style='background:{_color(COLORS, row, column)};color:black;padding:.5em 1em'>{html.escape(text)}</td>"


def _mesh_html(mesh: Mesh) -> str:
    """The devices: the last axis of the mesh from left to right, the others downwards."""
    rows = mesh.devices.reshape(-1, mesh.devices.shape[-1] if mesh.devices.ndim else 1)
    return _table([[_name([device]) for device in row] for row in rows], repr(mesh))


def sharding_html(sharding: NamedSharding) -> str:
    """Which devices have which part, of an array that the specification divides once in each dimension."""
    dims = [dim for dim in range(len(sharding.spec)) if sharding.parts(dim) > 1]
    if len(dims) > 2:
        return f"<code>{html.escape(repr(sharding))}</code>"
    shape = [sharding.parts(dim) for dim in range(max(len(sharding.spec), 1))]
    found = _parts([shape[dim] for dim in dims] or [1], _only(sharding, dims))
    return _table([[_name(devices) for devices in row] for row in found], repr(sharding))


def _only(sharding: NamedSharding, dims: Sequence[int]) -> NamedSharding:
    """The same of the dimensions that are divided."""
    return sharding.with_spec(type(sharding.spec)(*[sharding.spec[dim] for dim in dims]))


Mesh._repr_html_ = _mesh_html  # what notebooks ask for
NamedSharding._repr_html_ = sharding_html
