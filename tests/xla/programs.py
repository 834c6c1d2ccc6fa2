"""Programs and helpers the tests of `xla` share."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from functorch_core import xla

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Aval:
    shape: tuple
    dtype: object


def aval(shape, dtype="float32"):
    return Aval(tuple(shape), np.dtype(dtype))


def module(inputs, outputs, body, *, arguments=None):
    """A module around a body that uses %a0, %a1, ... and defines %r0, %r1, ..."""
    types = [xla.mlir_type(a.shape, a.dtype) for a in inputs]
    results = ", ".join(xla.mlir_type(a.shape, a.dtype) for a in outputs)
    attributes = arguments or [""] * len(types)
    takes = ", ".join(f"%a{i}: {t} {x}" for i, (t, x) in enumerate(zip(types, attributes)))
    gives = ", ".join(f"%r{i}" for i in range(len(outputs)))
    end = f"return {gives} : {results}" if outputs else "return"
    return f"module @m {{\nfunc.func public @main({takes}) -> ({results}) {{\n{body}\n{end}\n}}\n}}\n"


def double(shape=(4,), dtype="float32", argument=""):
    """(text, inputs, outputs) of x + x."""
    x = aval(shape, dtype)
    kind = xla.mlir_type(x.shape, x.dtype)
    text = module([x], [x], f"%r0 = stablehlo.add %a0, %a0 : {kind}", arguments=[argument])
    return text, [x], [x]


def compile_double(shape=(4,), dtype="float32", argument="", **kwargs):
    text, inputs, outputs = double(shape, dtype, argument)
    return xla.compile(text, inputs=inputs, outputs=outputs, **kwargs)


def python_environment():
    """This process's environment, with this project and folder to import from."""
    paths = [str(ROOT), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def run_python(code, *arguments, timeout=60, **environment):
    """What a new Python process prints; it must end with status 0."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**python_environment(), **environment},
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
