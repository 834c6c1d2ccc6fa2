"""Modules in notebooks: a tree that opens and closes, with parameters, their shapes and counts."""

from __future__ import annotations

from html import escape
from pathlib import Path

OPEN = 2  # levels that are open at first
HERE = str(Path(__file__).parents[1])
INSIDE = "margin-left:1.4em"
DIM = "color:#64748b"


def tree(module) -> str | None:
    """The module as HTML; None if its class has a __repr__ of the user's, which is shown then."""
    code = getattr(type(module).__repr__, "__code__", None)
    if code is None or not code.co_filename.startswith(HERE):  # by the file: modules say PyTorch's names where asked to
        return None
    return f"<div style='font-family:monospace;font-size:13px;line-height:1.5'>{_level(module, '', 0)}</div>"


def _level(module, name: str, depth: int) -> str:
    title = _title(module, name)
    children = [_level(child, key, depth + 1) for key, child in module._modules.items() if child is not None]
    tensors = [
        *[_tensor(key, x, "frozen" * (not x.requires_grad)) for key, x in module._parameters.items() if x is not None],
        *[_tensor(key, x, "buffer") for key, x in module._buffers.items() if x is not None],
    ]
    if not children and not tensors:
        return f"<div style='{INSIDE}'>{title}</div>"
    opened = " open" if depth < OPEN and children else ""
    inside = "".join(tensors + children)
    return f"<details{opened}><summary>{title}</summary><div style='{INSIDE}'>{inside}</div></details>"


def _title(module, name: str) -> str:
    extra = escape(" ".join(module.extra_repr().split()))
    text = f"<b>{escape(module._get_name())}</b>({extra})"
    if name:
        text = f"({escape(name)}) {text}"
    n = sum([_count(x) for x in module.parameters()])
    return f"{text} <span style='{DIM}'>{n:,} parameter{'s' * (n != 1)}</span>" if n else text


def _tensor(name: str, x, note: str) -> str:
    shape = "not known yet" if _is_lazy(x) else list(x.shape)
    kind = str(x.dtype).removeprefix("torch.")
    return f"<div>{escape(name)}: {kind}{shape} <span style='{DIM}'>{note}</span></div>"


def _count(x) -> int:
    return 0 if _is_lazy(x) else x.numel()


def _is_lazy(x) -> bool:
    return hasattr(x, "materialize")
