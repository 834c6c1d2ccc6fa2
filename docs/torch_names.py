"""Write docs/torch_names.md, in which file each public name of torch lives: python docs/torch_names.py [--check]"""

from __future__ import annotations

import argparse
import ast
import functools
import importlib
import inspect
import pkgutil
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import functorch_core.torch as torch
from functorch_core.aliases import HOMES, TORCH
from functorch_core.torch._missing import table
from functorch_core.torch.dispatch.op import Composite, TorchOp

DOCS = Path(__file__).resolve().parent
ROOT, FACE = DOCS.parent, "functorch_core/torch/"
PAGE = DOCS / "torch_names.md"
OPS = (TorchOp, Composite)
GATHER = (f"{FACE}namespaces", f"{FACE}compat/devices", "nn/functional.py")  # files that offer what others define
MEMBERS = "torch.Tensor"
CLASS = re.compile(r"^class (\w+)", re.MULTILINE)  # of a module; parsing all of them would take 8 s
NEEDS_A_PACKAGE = "torch.utils.tensorboard"  # the page must not depend on what is installed
# Submodules without __all__ that PyTorch's documentation does not list as modules either.
FURTHER = frozenset(f"torch.{name}" for name in "nn.functional nn.utils.prune optim.optimizer".split())
HEAD = """# Where each name of torch lives

Generated from the code by `python docs/torch_names.py`. Under each module of PyTorch, and the file that it is here,
stand its public names, file by file as they are defined; at the end the modules whose names are all in one file.
In-place forms (`abs_`) and methods that are ops stand at the file that declares the op. A name that a package has
too is not listed again, nor is a method that is a function of torch. Paths begin in `functorch_core/torch/`, if not
with `functorch_core/`, `nn/`, `optim/` or `data/`.

{names} names in {files} files. {missing} more are PyTorch's and missing here: they raise NotImplementedError when
they are used (see [extending](extending.md)).
"""


def page() -> str:
    """The page, as Markdown."""
    lines, singles = [], ["", "## Modules whose names are in one file", ""]
    missing: set[str] = set()
    listed: set[tuple[str, str, str]] = set()  # title, name, file
    for title, module in sorted(modules().items()):
        found = files_of(title, module, listed, missing)
        if len(found) == 1:
            ((file, names),) = found.items()
            singles += entry(f"{title}, {shown(file)}", names)
        elif found:
            lines += ["", f"## {title} ({shown(source(module))})", ""]
            lines += [line for file in sorted(found, key=shown) for line in entry(shown(file), found[file])]
    head = HEAD.format(names=len(listed), files=len({file for _, _, file in listed}), missing=len(missing))
    return head + "\n".join(lines + singles) + "\n"


def files_of(title: str, module, listed: set, missing: set) -> dict[str, list[str]]:
    """The names of a module that are not `listed` yet, by file; those that are missing are put to `missing`."""
    found: dict[str, list[str]] = {}
    for name, thing in public(title, module):
        if getattr(thing, "is_missing", False) is True:
            missing.add(f"{title}.{name}")
            continue
        file = file_of(thing, module)
        if not listed.intersection((above, name, file) for above in packages_of(title)):
            listed.add((title, name, file))
            found.setdefault(file, []).append(name)
    return found


def entry(what: str, names: list[str]) -> list[str]:
    """An item of a list: names and where they are."""
    text = f"- {what}: `{' '.join(sorted(names))}`"
    return textwrap.wrap(text, 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def shown(file: str) -> str:
    """A file without the folder that most are in."""
    return file.removeprefix(FACE)


# ---- modules and their names ---------------------------------------------------------------------


def modules() -> dict[str, object]:
    """PyTorch's public modules by title; Tensor among them, whose members are listed like a module's."""
    found: dict[str, object] = {"torch": torch, MEMBERS: torch.Tensor}
    for name in HOMES:
        _add(f"torch.{name}", found)
    return found


def _add(title: str, found: dict[str, object]):
    if title in (*found, NEEDS_A_PACKAGE) or any(part.startswith("_") for part in title.split(".")):
        return
    module = importlib.import_module(title.replace("torch", TORCH, 1))
    name = title.removeprefix("torch.")
    if name in HOMES or title in table() or title in FURTHER or hasattr(module, "__all__"):
        found[title] = module
    for info in pkgutil.iter_modules(getattr(module, "__path__", ())):
        _add(f"{title}.{info.name}", found)


def packages_of(title: str) -> list[str]:
    """torch.a and torch.a.b of torch.a.b.c; torch of torch.Tensor, whose methods are its functions."""
    parts = title.split(".")
    if title == MEMBERS:
        return ["torch"]
    return [".".join(parts[:n]) for n in range(2, len(parts))]


def public(title: str, module) -> Iterator[tuple[str, object]]:
    """(name, object) of what a module is there for: no modules, nothing that it imports for its own use."""
    listed = getattr(module, "__all__", None)
    for name in sorted(set(listed or dir(module))):
        thing = getattr(module, name)
        if not name.startswith("_") and not inspect.ismodule(thing):
            if listed or module is torch.Tensor or _is_offered(title, name, thing, module):
                yield name, thing


def _is_offered(title: str, name: str, thing, module) -> bool:
    if name in table().get(title, ()) or getattr(thing, "is_missing", False) is True:
        return True
    if not callable(thing):
        return module is torch
    if not (source(thing) or source(type(thing))):
        return False
    own = source(module)
    gathers = own.endswith("__init__.py") or own.startswith(GATHER)
    return gathers or file_of(thing, module) == own


# ---- where things are defined --------------------------------------------------------------------


def file_of(thing, module) -> str:
    """The file that defines what a module has under some name; the module's own for a plain constant."""
    op = declaration(thing)
    if op is not None:
        return declared_in(op)
    return source(thing) or source(type(thing)) or source(module)


def source(thing) -> str:
    """The file, below the repository's root, of a module, class or function; "" of what is none of ours."""
    thing = thing.fget if isinstance(thing, property) else thing
    if inspect.isclass(thing):
        return _classes().get(id(thing), "")
    try:
        return below_root(inspect.getsourcefile(inspect.unwrap(thing)))
    except TypeError:
        return ""


@functools.cache
def below_root(file: str | None) -> str:
    """A file's path in the repository, "" outside of it."""
    path = Path(file or "/")
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""


@functools.cache
def _classes() -> dict[int, str]:
    """The files of classes by id: many say PyTorch's module, where Python would look for them."""
    found: dict[int, str] = {}
    for module in _ours():
        for name in CLASS.findall(_text(module)):
            thing = getattr(module, name, None)
            if thing is not None:
                found.setdefault(id(thing), source(module))
    for module in _ours():  # those that are made by a call: named tuples, aliases of types
        for name, thing in vars(module).items():
            if inspect.isclass(thing) and module is not torch and id(thing) not in found:
                if thing.__module__.startswith(("torch", "functorch_core")) and name not in _imported(module):
                    found[id(thing)] = source(module)
    return found


def _ours() -> list:
    """This library's modules that are loaded, each once, by name."""
    found = {id(m): m for _, m in sorted(sys.modules.items()) if below_root(getattr(m, "__file__", None))}
    return [m for m in found.values() if m.__name__ != "__main__"]


def _text(module) -> str:
    return Path(module.__file__).read_text(encoding="utf-8")


@functools.cache
def _tree(module) -> ast.Module:
    return ast.parse(_text(module))


@functools.cache
def _imported(module) -> set[str]:
    froms = [node for node in _tree(module).body if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name for node in froms for alias in node.names}


def declaration(thing):
    """The op that a function or method is a form of, None if it is of none (see dispatch/install.py)."""
    if isinstance(thing, OPS):
        return thing
    if source(thing) != f"{FACE}dispatch/install.py":
        return None
    held = [cell.cell_contents for cell in getattr(thing, "__closure__", None) or ()]
    held = [getattr(x, "__self__", x) for x in held]
    found = [declaration(x) for x in held if x is not thing and (isinstance(x, OPS) or inspect.isfunction(x))]
    return next((op for op in found if op is not None), None)


def declared_in(op) -> str:
    """The file of an op's declaration: the one that has it without importing it, else its function's."""
    return _holders().get(id(op)) or source(op.fun)


@functools.cache
def _holders() -> dict[int, str]:
    found: dict[int, str] = {}
    for module in _ours():
        if source(module).startswith(f"{FACE}operators/"):
            for name, thing in vars(module).items():
                if isinstance(thing, OPS) and name not in _imported(module):
                    found.setdefault(id(thing), source(module))
    return found


def main():
    """Write the page, or check that it is up to date."""
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--check", action="store_true")
    if not parser.parse_args().check:
        PAGE.write_text(page(), encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page():
        sys.exit("docs/torch_names.md is not up to date; run python docs/torch_names.py")


if __name__ == "__main__":
    main()
