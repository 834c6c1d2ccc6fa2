"""python -m functorch_core script.py args... : run a program with `torch` resolved to this library.

python -m functorch_core script.py --epochs 3
python -m functorch_core -m pytest tests
python -m functorch_core -c "import torch; print(torch.__version__)"
python -m functorch_core --explain script.py     (says at the end where time went: engine.explain)
"""

from __future__ import annotations

import atexit
import importlib
import io
import os
import runpy
import sys
import types

from . import engine, shim, subprocesses, tracebacks

USAGE = """usage: python -m functorch_core script.py [args ...]
       python -m functorch_core -m package.module [args ...]
       python -m functorch_core -c code [args ...]
       python -m functorch_core - [args ...]    (a program from the standard input)
       python -m functorch_core --explain ...   (any of these; at the end: where time went, what was compiled)"""


def main():
    """Install the shim and run what the command line names, as Python itself would."""
    args = sys.argv[1:]
    explaining = args[:1] == ["--explain"]
    args = args[explaining:]
    if not args or args[0] in ("-h", "--help"):
        print(USAGE)
        return
    if args[0] in ("-m", "-c") and len(args) < 2:
        sys.exit(f"{USAGE}\nerror: {args[0]} needs an argument")
    shim.install()
    _reach_subprocesses()
    tracebacks.install()
    if explaining:
        _explain()
    if args[0] == "-c":
        sys.argv, sys.path[0] = ["-c", *args[2:]], ""
        _run(_compiled(args[1], "<string>"))
    elif args[0] == "-m":
        sys.argv, sys.path[0] = args[1:], os.getcwd()
        runpy.run_module(args[1], run_name="__main__", alter_sys=True)
    else:
        _run_script(args)


def _reach_subprocesses():
    """Let Python programs that this one starts have the shim, too: launchers start scripts again, for other devices."""
    folder, before = os.path.dirname(subprocesses.__file__), os.environ.get("PYTHONPATH")
    if os.environ.get("FUNCTORCH_SUBPROCESSES") != "0" and folder not in (before or "").split(os.pathsep):
        os.environ["PYTHONPATH"] = os.pathsep.join([folder, before] if before else [folder])


def _explain():
    """Take times from now on, and print where they went when Python ends."""
    importlib.import_module("functorch_core.torch")  # not the program's time
    found = engine.explain().__enter__()

    def tell():
        found.__exit__()
        print(f"\n{found}", file=sys.stderr)

    atexit.register(tell)


def _run_script(args: list[str]):
    path = args[0]
    if path == "-":
        sys.argv, sys.path[0] = args, ""
        _run(_compiled(sys.stdin.read(), "<stdin>"))
        return
    if not os.path.exists(path):
        print(f"python -m functorch_core: can't open file {os.path.abspath(path)!r}: no such file", file=sys.stderr)
        sys.exit(2)
    sys.argv = args
    if os.path.isdir(path):
        sys.path[0] = os.path.abspath(path)
        runpy.run_path(path, run_name="__main__")
        return
    sys.path[0] = os.path.dirname(os.path.abspath(path))
    with io.open_code(os.path.abspath(path)) as f:
        _run(_compiled(f.read(), path), __file__=path)


def _compiled(source: str | bytes, file: str):
    """The program's code; this file's `from __future__` is not the program's."""
    return compile(source, file, "exec", dont_inherit=True)


def _run(code, **attributes):
    """Execute as the main module, where pickle looks for the program's classes."""
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    module.__dict__.update(attributes, __builtins__=__builtins__, __spec__=None)
    if "__mp_main__" in sys.modules:  # multiprocessing's name for it
        sys.modules["__mp_main__"] = module
    exec(code, module.__dict__)


if __name__ == "__main__":
    main()
