"""Write docs/chapters.md, the chapters of PyTorch's documentation and what is there of each; see generated.py."""

from __future__ import annotations

import importlib
from pathlib import Path

import reference
import torch_names

from functorch_core.aliases import TORCH
from functorch_core.torch._missing import table

PAGE = Path(__file__).resolve().parent / "chapters.md"
MOST = 8  # names that are missing, listed by name

# PyTorch's chapters in its order: modules, the names of chapters that are no module, what the numbers do not tell.
CHAPTERS: dict[str, tuple[str, str]] = {
    "torch": ("torch torch.functional", ""),
    "torch.nn": ("torch.nn", ""),
    "torch.nn.functional": ("torch.nn.functional", ""),
    "torch.Tensor": ("torch.Tensor", ""),
    "Tensor Attributes": ("= torch.dtype torch.device torch.layout torch.memory_format", ""),
    "Tensor Views": (
        "= torch.Tensor.view torch.as_strided torch.Tensor.unfold torch.view_as_real",
        "views share memory",
    ),
    "torch.amp": ("torch.amp torch.cuda.amp torch.cpu.amp", ""),
    "torch.autograd": ("torch.autograd", ""),
    "torch.library": ("torch.library torch.ops", ""),
    "torch.accelerator": ("torch.accelerator", ""),
    "torch.cpu": ("torch.cpu", ""),
    "torch.cuda": ("torch.cuda", "streams do nothing: XLA orders what runs"),
    "torch.mps": ("torch.mps", "for programs that ask whether there is one: there is none"),
    "torch.xpu": ("torch.xpu", "as torch.mps"),
    "torch.mtia": ("torch.mtia", "as torch.mps"),
    "Meta device": ("= torch.empty_like torch.Tensor.is_meta", "every op has shapes without data"),
    "torch.backends": ("torch.backends", "switches are kept; XLA chooses by itself"),
    "torch.export": ("torch.export", ""),
    "torch.distributed": ("torch.distributed", "processes of one machine, by host memory"),
    "torch.distributed.tensor": ("torch.distributed.tensor torch.distributed._tensor", ""),
    "Generic Join": ("torch.distributed.algorithms", ""),
    "torch.distributed.elastic": ("torch.distributed.elastic torch.distributed.run torch.distributed.launcher", ""),
    "torch.distributed.fsdp": ("torch.distributed.fsdp torch.distributed._composable", ""),
    "torch.distributed.tensor.parallel": ("torch.distributed.tensor.parallel", ""),
    "torch.distributed.optim": ("torch.distributed.optim", ""),
    "torch.distributed.pipelining": ("torch.distributed.pipelining", ""),
    "torch.distributed.checkpoint": ("torch.distributed.checkpoint", ""),
    "Distributed RPC": ("torch.distributed.rpc torch.distributed.autograd torch.distributed.nn", ""),
    "torch.distributions": ("torch.distributions", ""),
    "torch.compiler": ("torch.compiler", "functions run as they are: all code is compiled"),
    "torch.fft": ("torch.fft", ""),
    "torch.func": ("torch.func", ""),
    "torch.futures": ("torch.futures", ""),
    "torch.fx": ("torch.fx", ""),
    "torch.fx.experimental": ("torch.fx.experimental", ""),
    "torch.hub": ("torch.hub", ""),
    "torch.jit": ("torch.jit", "traces are graphs; what is scripted runs as Python, and is not saved"),
    "torch.linalg": ("torch.linalg", ""),
    "torch.monitor": ("torch.monitor", ""),
    "torch.signal": ("torch.signal", ""),
    "torch.special": ("torch.special", ""),
    "torch.overrides": ("torch.overrides", "`__torch_function__`"),
    "torch.package": ("torch.package", ""),
    "torch.profiler": ("torch.profiler", ""),
    "torch.nn.init": ("torch.nn.init", ""),
    "torch.nn.attention": ("torch.nn.attention", ""),
    "torch.onnx": ("torch.onnx", ""),
    "torch.optim": ("torch.optim", ""),
    "Complex Numbers": ("= torch.complex torch.polar torch.view_as_complex torch.view_as_real torch.angle", ""),
    "DDP Communication Hooks": ("torch.distributed.algorithms.ddp_comm_hooks", ""),
    "Quantization": ("torch.ao torch.quantization", ""),
    "torch.random": ("torch.random", "PyTorch's numbers for the same seed"),
    "torch.masked": ("torch.masked", ""),
    "torch.nested": ("torch.nested", ""),
    "torch.Size": ("= torch.Size torch.Size.numel", ""),
    "torch.sparse": ("torch.sparse", "coordinates and compressed rows, columns and blocks"),
    "torch.Storage": ("= torch.UntypedStorage torch.TypedStorage torch.FloatStorage", ""),
    "torch.testing": ("torch.testing", ""),
    "torch.utils": ("torch.utils", ""),
    "torch.utils.benchmark": ("torch.utils.benchmark", ""),
    "torch.utils.checkpoint": ("torch.utils.checkpoint", ""),
    "torch.utils.cpp_extension": ("torch.utils.cpp_extension", ""),
    "torch.utils.data": ("torch.utils.data", ""),
    "torch.utils.deterministic": ("torch.utils.deterministic", ""),
    "torch.utils.dlpack": ("torch.utils.dlpack", ""),
    "torch.utils.mobile_optimizer": ("torch.utils.mobile_optimizer", ""),
    "torch.utils.model_zoo": ("torch.utils.model_zoo", ""),
    "torch.utils.tensorboard": ("torch.utils.tensorboard", "through the tensorboard package"),
    "torch.utils.module_tracker": ("torch.utils.module_tracker", ""),
    "Type Info": ("= torch.finfo torch.iinfo", ""),
    "Named Tensors": ("= torch.Tensor.names torch.Tensor.rename torch.Tensor.align_to torch.Tensor.refine_names", ""),
    "torch.__config__": ("torch.__config__", ""),
    "torch.__future__": ("torch.__future__", ""),
}
HEAD = """# Chapter by chapter

The chapters of PyTorch's documentation, in its order, and what is there of each: *works* where every name is there that
PyTorch documents or packages import, *partly* where some raise NotImplementedError, *not there* where all do. What is
there is held against real PyTorch by the tests: how far is said in [conformance](conformance.md), where it differs in
[differences](differences.md). Generated from the code by `python docs/generated.py`.

{works} chapters work, {partly} partly, {absent} are not there; of {names} names {there} are there.

| chapter | state | names | missing, and what the numbers do not tell |
|---|---|---|---|
"""


def page() -> str:
    """The page, as Markdown."""
    rows, states, counts = [], [], [0, 0]
    modules = {title for title in {*table(), *torch_names.modules()} if "._" not in title.replace(".__", "")}
    for chapter, (what, note) in CHAPTERS.items():
        there, missing = (
            _explicit(what[2:].split()) if what.startswith("= ") else _names(chapter, what.split(), modules)
        )
        total = len(there) + len(missing)
        states.append("works" if not missing else "partly" if there else "not there")
        counts[0] += len(there)
        counts[1] += total
        numbers = f"{len(there)} of {total}" if total else ""
        rows.append(f"| {_linked(chapter)} | {states[-1]} | {numbers} | {_rest(missing, note)} |")
    head = HEAD.format(
        works=states.count("works"),
        partly=states.count("partly"),
        absent=states.count("not there"),
        there=counts[0],
        names=counts[1],
    )
    return head + "\n".join(rows) + "\n"


def _names(chapter: str, prefixes: list[str], modules: set[str]) -> tuple[list[str], list[str]]:
    """The names of a chapter that are there, and those that are not: of its modules, but those of another chapter."""
    others = {p for title, (what, _) in CHAPTERS.items() if title != chapter for p in what.split()}
    there: dict[str, None] = {}
    missing: dict[str, None] = {}
    for title in sorted(modules):
        if _belongs(title, prefixes, others):
            module = torch_names.torch.Tensor if title == torch_names.MEMBERS else _module(title)
            known = dict(torch_names.public(title, module)) if title in torch_names.modules() else {}
            for name in sorted(n for n in {*known, *table().get(title, ())} if not n.startswith("_")):
                thing = known.get(name, getattr(module, name, None))
                absent = thing is None or getattr(thing, "is_missing", False) is True
                (missing if absent else there)[name] = None
    return list(there), [name for name in missing if name not in there]


def _belongs(title: str, prefixes: list[str], others: set[str]) -> bool:
    """Whether the nearest of all chapters' modules above a module is one of this chapter's."""
    parts = title.split(".")
    for n in range(len(parts), 0, -1):
        above = ".".join(parts[:n])
        if above in prefixes:
            return above != "torch" or title == "torch"
        if above in others:
            return False
    return False


def _module(title: str):
    try:
        return importlib.import_module(title.replace("torch", TORCH, 1))
    except ImportError:  # what it stands on is not installed
        return None


def _explicit(names: list[str]) -> tuple[list[str], list[str]]:
    there, missing = [], []
    for name in names:
        thing = torch_names.torch
        for part in name.split(".")[1:]:
            thing = getattr(thing, part, None)
        absent = thing is None or getattr(thing, "is_missing", False) is True
        (missing if absent else there).append(name)
    return there, missing


def _linked(chapter: str) -> str:
    return f"[{chapter}](reference/{chapter}/index.md)" if chapter in reference.everything() else chapter


def _rest(missing: list[str], note: str) -> str:
    shown = " ".join(f"`{name}`" for name in missing[:MOST])
    more = f" and {len(missing) - MOST} more" if len(missing) > MOST else ""
    return "; ".join(part for part in (shown + more, note) if part)
