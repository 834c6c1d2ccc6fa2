"""Run the programs of a file, each in a namespace of its own; print what each printed, as JSON."""

import contextlib
import io
import json
import pathlib
import re
import sys
import types
import warnings

import torch

SEPARATOR = re.compile(r"^# ---- (.+)$", re.MULTILINE)


def programs(path: pathlib.Path) -> dict[str, str]:
    """Name -> source of the blocks of a file."""
    _, *parts = SEPARATOR.split(path.read_text())
    return dict(zip(parts[::2], parts[1::2]))


def said(error: BaseException, message: bool) -> str:
    """The type of an error (the built-in one it derives from), and its message."""
    kind = next(t for t in type(error).__mro__ if t.__module__ == "builtins").__name__
    return f"{kind}: {str(error).strip()}" if message else kind


def attempt(call):
    """Print what a call returns or raises."""
    try:
        print(call())
    except Exception as error:  # noqa: BLE001 (it is printed)
        print(said(error, True))


def raises(call):
    """Print what a call returns, or the type of what it raises."""
    try:
        print(call())
    except Exception as error:  # noqa: BLE001
        print(said(error, False))


def output_of(name: str, source: str) -> str:
    """What a program prints, down to its error."""
    module = sys.modules["program"] = types.ModuleType("program")  # pickle looks classes up there
    space = vars(module)
    space.update(torch=torch, attempt=attempt, raises=raises, warnings=warnings)
    torch.manual_seed(0)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(source, name, "exec"), space)
        except Exception as error:  # noqa: BLE001
            print(said(error, True))
    return printed.getvalue()


if __name__ == "__main__":
    print(
        json.dumps(
            {
                f"{pathlib.Path(path).stem}: {name}": output_of(name, source)
                for path in sys.argv[1:]
                for name, source in programs(pathlib.Path(path)).items()
            }
        )
    )
