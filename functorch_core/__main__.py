"""python -m functorch_core script.py args... : run a program with `torch` resolved to this library.

    python -m functorch_core script.py --epochs 3
    python -m functorch_core -m pytest tests
    python -m functorch_core -c "import torch; print(torch.__version__)"
"""
from __future__ import annotations

import os
import runpy
import sys

from . import shim

USAGE = """usage: python -m functorch_core script.py [args ...]
       python -m functorch_core -m package.module [args ...]
       python -m functorch_core -c code [args ...]"""


def main():
    """Install the shim and run what the command line names, as Python itself would."""
    args = sys.argv[1:]
    if not args or args[0] in ("-h", "--help"):
        print(USAGE)
        return
    if args[0] in ("-m", "-c") and len(args) < 2:
        sys.exit(f"{USAGE}\nerror: {args[0]} needs an argument")
    shim.install()
    if args[0] == "-c":
        sys.argv, sys.path[0] = ["-c", *args[2:]], ""
        exec(compile(args[1], "<string>", "exec"), {"__name__": "__main__"})
    elif args[0] == "-m":
        sys.argv, sys.path[0] = args[1:], os.getcwd()
        runpy.run_module(args[1], run_name="__main__", alter_sys=True)
    else:
        if not os.path.exists(args[0]):
            sys.exit(f"python -m functorch_core: can't open file {os.path.abspath(args[0])!r}: "
                     "no such file")
        sys.argv, sys.path[0] = args, os.path.dirname(os.path.abspath(args[0]))
        runpy.run_path(args[0], run_name="__main__")


if __name__ == "__main__":
    main()
