"""Reference cycles that keep tensors until Python's collector finds them: what is in them, as a graph."""

from __future__ import annotations

import gc
import html
import json
import logging
import tempfile
import types
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ....tensors.base import Tensor

logger = logging.getLogger(__name__)
BASE_TYPES = (int, str, float, bytes, bool)
FRAME_FILENAME_LIMIT = 32
FUNCTION = ("__closure__", "__defaults__", "__kwdefaults__", "__globals__", "__code__", "__name__", "__module__")


class Node(NamedTuple):
    """An object of a graph; `root`: it is what was looked for. `referrents`: (by what name, number of the node).

    >>> from torch.utils.viz._cycles import Node
    >>> Node("list", None, False, [("[0]", 1)]).referrents
    [('[0]', 1)]
    """

    label: str
    context: str | None
    root: bool
    referrents: list[tuple[str, int]]


# ---- what is collected ---------------------------------------------------------------------------


def observe_garbage(observer: Callable[[list], object]) -> Callable[[], None]:
    """Call observer(objects) with what each run of Python's collector finds; returns what ends that.

    The objects are freed by the collector's next run, which reports nothing.

    >>> import gc
    >>> from torch.utils.viz._cycles import observe_garbage
    >>> found = []
    >>> stop = observe_garbage(found.extend)
    >>> cycle = ["me"]
    >>> cycle.append(cycle)
    >>> del cycle
    >>> collected = gc.collect()
    >>> stop()
    >>> any([type(x) is list and x[:1] == ["me"] for x in found])
    True
    """
    before, reported = gc.get_debug(), False

    def called(phase: str, info: dict):
        nonlocal reported
        if phase == "start":
            gc.set_debug(before if reported else before | gc.DEBUG_SAVEALL)
            return
        gc.set_debug(before)
        found, reported = gc.garbage[:], False
        gc.garbage.clear()
        if found:
            reported = True
            observer(found)

    def stop():
        if called in gc.callbacks:
            gc.callbacks.remove(called)
            gc.set_debug(before)

    gc.callbacks.append(called)
    return stop


def is_cuda_tensor(obj) -> bool:
    """Whether an object is a tensor in the memory of a GPU.

    >>> from torch.utils.viz._cycles import is_cuda_tensor
    >>> is_cuda_tensor(torch.ones(2)), is_cuda_tensor([])
    (False, False)
    """
    return isinstance(obj, Tensor) and obj.device.type == "cuda"


def observe_tensor_cycles(callback: Callable[[str], object]) -> Callable[[], None]:
    """Call callback(html) with a picture of what keeps tensors of a GPU, when the collector finds such.

    It returns what ends that.

    >>> from torch.utils.viz._cycles import observe_tensor_cycles
    >>> stop = observe_tensor_cycles(print)
    >>> stop()
    """

    def observer(garbage: list):
        if any(map(is_cuda_tensor, garbage)):
            callback(to_html(create_graph(garbage)))

    return observe_garbage(observer)


def warn_tensor_cycles() -> Callable[[], None]:
    """Log a warning, with the file of a picture, when the collector finds cycles that keep tensors of a GPU.

    It returns what ends that.

    >>> from torch.utils.viz._cycles import warn_tensor_cycles
    >>> stop = warn_tensor_cycles()
    >>> stop()
    """

    def written(page: str):
        with tempfile.NamedTemporaryFile("w", suffix=".html", delete=False) as file:
            file.write(page)
        logger.warning("Reference cycle includes a CUDA Tensor see visualization of cycle %s", file.name)

    return observe_tensor_cycles(written)


# ---- graphs --------------------------------------------------------------------------------------


def annotated_references(obj) -> dict[int, list[str]]:
    """By what names an object refers to others, by their ids.

    >>> from torch.utils.viz._cycles import annotated_references
    >>> inner = [1]
    >>> annotated_references([inner])[id(inner)]
    ['[0]']
    """
    found: dict[int, list[str]] = {}
    for name, other in _named_references(obj):
        found.setdefault(id(other), []).append(name)
    for i, other in enumerate(gc.get_referents(obj)):
        found.setdefault(id(other), [f"[{i}]"])
    return found


def _named_references(obj) -> Iterable[tuple[str, object]]:
    if isinstance(obj, dict):
        for key, value in obj.items():
            yield "key", key
            yield f"[{key!r}]", value
    elif isinstance(obj, (list, tuple)):
        yield from [(f"[{i}]", x) for i, x in enumerate(obj)]
    elif isinstance(obj, (set, frozenset)):
        yield from [("element", x) for x in obj]
    elif isinstance(obj, types.CellType):
        yield from _attributes(obj, ("cell_contents",))
    elif isinstance(obj, types.MethodType):
        yield from _attributes(obj, ("__func__", "__self__"))
    elif isinstance(obj, types.FunctionType):
        yield from _attributes(obj, (*FUNCTION, "__annotations__", "__dict__"))
    elif not isinstance(obj, type) and hasattr(obj, "__dict__"):
        yield "__dict__", obj.__dict__
    yield "__class__", type(obj)


def _attributes(obj, names: Iterable[str]) -> list[tuple[str, object]]:
    found = []
    for name in names:
        try:
            found.append((name, getattr(obj, name)))
        except (AttributeError, ValueError):  # an empty cell
            continue
    return found


def _references(obj, places: dict[int, int]) -> list[tuple[str, int]]:
    """By what names an object refers to those in these places, in the collector's order."""
    names = annotated_references(obj)
    found = [key for key in map(id, gc.get_referents(obj)) if key in places]
    return [(name, places[key]) for key in found for name in names[key]]


def object_annotation(obj) -> str:
    """What a graph calls an object.

    >>> from torch.utils.viz._cycles import object_annotation
    >>> object_annotation([1, {}])
    '[1,dict]'
    """
    if isinstance(obj, BASE_TYPES):
        return repr(obj)
    if type(obj).__name__ == "function":
        return f"function\n{obj.__name__}"
    if isinstance(obj, types.MethodType):
        return f"instancemethod\n{getattr(obj.__func__, '__name__', obj.__func__)}"
    if isinstance(obj, list):
        return f"[{_shortly(obj)}]"
    if isinstance(obj, tuple):
        return f"({_shortly(obj)})"
    if isinstance(obj, dict):
        return f"dict[{len(obj)}]"
    if isinstance(obj, types.ModuleType):
        return f"module\n{obj.__name__}"
    if isinstance(obj, type):
        return f"type\n{obj.__name__}"
    return f"object\n{type(obj).__module__}.{type(obj).__name__}"


def _shortly(items) -> str:
    shown = [repr(x) if isinstance(x, BASE_TYPES) else type(x).__name__ for x in items[:8]]
    return ",".join([*shown, f" ...{len(items) - 8}"] if len(items) > 8 else shown)


def cuda_allocation_context() -> Callable[[object], str | None]:
    """What says of a tensor where its memory was allocated: nothing, as XLA's allocator keeps no history.

    >>> from torch.utils.viz._cycles import cuda_allocation_context
    >>> cuda_allocation_context()(torch.ones(2)) is None
    True
    """
    return lambda obj: None


def create_graph(objects: list, *, context: Callable | None = None, filter: Callable | None = None) -> list[Node]:
    """The objects that lead to what `filter` looks for, tensors of a GPU by default, and how they refer to each other.

    >>> from torch.utils.viz._cycles import create_graph
    >>> x = torch.ones(2)
    >>> keeps = [x]
    >>> [node.label for node in create_graph([keeps, x], filter=torch.is_tensor)]
    ['[Tensor]', 'object\\ntorch.Tensor']
    """
    context, filter = context or cuda_allocation_context(), filter or is_cuda_tensor
    places = {id(obj): i for i, obj in enumerate(objects)}
    references = [_references(obj, places) for obj in objects]
    roots = [bool(filter(obj)) for obj in objects]
    kept = _leading_to(roots, references)
    numbers = {i: n for n, i in enumerate(sorted(kept))}
    return [
        Node(object_annotation(objects[i]), context(objects[i]), roots[i], _within(references[i], numbers))
        for i in numbers
    ]


def _leading_to(roots: list[bool], references: list) -> set[int]:
    """The roots, and whatever refers to them, directly or not."""
    referring: dict[int, list[int]] = {}
    for i, found in enumerate(references):
        for _, j in found:
            referring.setdefault(j, []).append(i)
    waiting = [i for i, root in enumerate(roots) if root]
    kept = set(waiting)
    while waiting:
        new = [i for i in referring.get(waiting.pop(), ()) if i not in kept]
        kept.update(new)
        waiting += new
    return kept


def _within(found: list[tuple[str, int]], numbers: dict[int, int]) -> list[tuple[str, int]]:
    return [(name, numbers[i]) for name, i in found if i in numbers]


# ---- pictures ------------------------------------------------------------------------------------


def escape(n) -> str:
    """A text in the quotes of graphviz.

    >>> from torch.utils.viz._cycles import escape
    >>> escape("a")
    '"a"'
    """
    return json.dumps(n)


def to_dot(nodes: list[Node]) -> str:
    """A graph as graphviz reads it; what was looked for is red.

    >>> from torch.utils.viz._cycles import Node, to_dot
    >>> to_dot([Node("list", None, True, [])]).splitlines()[3]
    '0 [label="list", color=red];'
    """
    lines = ["digraph GraphName {", "node [shape=rect];", "rankdir=LR;"]
    for i, node in enumerate(nodes):
        lines.append(f"{i} [label={escape(node.label)}, color={'red' if node.root else 'black'}];")
    for i, node in enumerate(nodes):
        lines += [f"{i} -> {j} [label = {escape(name)}]" for name, j in node.referrents]
    return "\n".join([*lines, "}\n"])


PAGE = """<!DOCTYPE html>
<html><head><meta charset="utf-8"><title>Reference cycles</title></head><body>
<div id="main"></div><pre id="text">{text}</pre>
<script src="https://cdnjs.cloudflare.com/ajax/libs/viz.js/1.8.0/viz-lite.js"></script>
<script>document.getElementById("main").innerHTML = Viz({dot}, {{format: "svg"}})</script>
</body></html>
"""


def to_html(nodes: list[Node]) -> str:
    """A page that draws a graph (with a script that browsers load from cdnjs.cloudflare.com), and has it as text.

    >>> from torch.utils.viz._cycles import Node, to_html
    >>> "<html>" in to_html([Node("list", None, True, [])])
    True
    """
    dot = to_dot(nodes)
    return PAGE.format(text=html.escape(dot), dot=json.dumps(dot).replace("</", "<\\/"))
