"""torch.jit.frontend: what TorchScript refuses, told when a function is scripted."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types

from ....names import torch_name
from ..._missing import getter as _getter

__getattr__ = _getter(__name__)
ARGUMENTS = "Compiled functions can't take variable number of arguments or use keyword-only arguments with defaults"
# Syntax -> what PyTorch calls it.
REFUSED = {
    ast.FunctionDef: "function definitions",
    ast.AsyncFunctionDef: "async function definitions",
    ast.ClassDef: "class definitions",
    ast.Try: "try blocks",
    ast.Global: "global variables",
    ast.Nonlocal: "nonlocal variables",
    ast.Import: "import statements",
    ast.ImportFrom: "import statements",
    ast.Yield: "Yield",
    ast.YieldFrom: "YieldFrom",
    ast.Lambda: "Lambda",
    ast.NamedExpr: "NamedExpr",
    ast.Set: "Set",
}


class FrontendError(Exception):
    """A function that cannot be scripted: what is wrong, and where.

    >>> from torch.jit.frontend import FrontendError
    >>> issubclass(FrontendError, Exception)
    True
    """

    def __init__(self, where: str, msg: str):
        super().__init__(f"{msg}:\n{where}")
        self.msg = msg


class NotSupportedError(FrontendError):
    """Something that TorchScript does not have.

    >>> from torch.jit.frontend import FrontendError, NotSupportedError
    >>> issubclass(NotSupportedError, FrontendError)
    True
    """


class UnsupportedNodeError(NotSupportedError):
    """Syntax that TorchScript does not have.

    >>> from torch.jit.frontend import NotSupportedError, UnsupportedNodeError
    >>> issubclass(UnsupportedNodeError, NotSupportedError)
    True
    """


def check(thing):
    """Raise for a function, or a module's forward, that TorchScript refuses for its syntax; for a lazy module.

    >>> from torch.jit.frontend import check
    >>> check(torch.nn.Linear(2, 2))
    """
    for module in thing.modules() if hasattr(thing, "modules") else ():
        if hasattr(module, "has_uninitialized_params") and module.has_uninitialized_params():
            raise RuntimeError(
                f"'{type(module).__name__}' has uninitialized parameters. Did you forget to run a forward pass?"
            )
    function = thing if isinstance(thing, types.FunctionType) else getattr(type(thing), "forward", None)
    if not isinstance(function, types.FunctionType) or torch_name(function.__module__ or "") or _is_torchs(function):
        return
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef):
        raise RuntimeError(f"Expected a single top-level function: {inspect.getsourcefile(function)}:{first}")
    place = (inspect.getsourcefile(function), first, lines)
    _check_arguments(tree.body[0].args, place)
    for statement in tree.body[0].body:
        _check_body(statement, place)


def _is_torchs(function) -> bool:
    return (function.__module__ or "").partition(".")[0] == "torch"


def _check_arguments(args: ast.arguments, place):
    if args.vararg or args.kwarg or any(default is not None for default in args.kw_defaults):
        raise NotSupportedError(_where(args.vararg or args.kwarg or args.kwonlyargs[0], place), ARGUMENTS)


def _check_body(node: ast.AST, place):
    if type(node) in REFUSED:
        raise UnsupportedNodeError(_where(node, place), f"{REFUSED[type(node)]} aren't supported")
    for child in ast.iter_child_nodes(node):
        _check_body(child, place)


def _where(node: ast.AST, place) -> str:
    """The line of the source, and the place in it."""
    file, first, lines = place
    code = textwrap.dedent("".join(lines)).splitlines()[node.lineno - 1]
    mark = " " * node.col_offset + "~" * max(3, getattr(node, "end_col_offset", 0) - node.col_offset)
    return f'  File "{file}", line {first + node.lineno - 1}\n{code}\n{mark[: len(code)]} <--- HERE'
