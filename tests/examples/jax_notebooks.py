"""The notebooks of examples/notebooks as programs, for this library and for JAX.

    JAXPYTHON tests/examples/jax_notebooks.py     writes jax_notebooks.npz anew, with a Python that has JAX

JAX's imports are put in place of ours; nothing else is changed.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "notebooks"
FILE = Path(__file__).with_name("jax_notebooks.npz")
NAMES = sorted(path.stem for path in FOLDER.glob("*.ipynb"))


def program(name: str) -> str:
    """All code cells of a notebook."""
    cells = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def for_jax(source: str) -> str:
    """The same program with JAX's imports."""
    source = source.replace("import functorch_core as jax", "import jax").replace("functorch_core.numpy", "jax.numpy")
    source = source.replace("from functorch_core import jnn as nn", "from jax import nn")
    return source.replace("from functorch_core", "from jax")


def run(source: str) -> dict:
    """What a program has in `results`."""
    names: dict = {"__name__": "notebook"}
    exec(compile(source, "notebook", "exec"), names)
    return names["results"]


def write():
    """The results of all notebooks under JAX."""
    out = {}
    for name in NAMES:
        for key, value in run(for_jax(program(name))).items():
            out[f"{name}.{key}"] = np.asarray(value)
    np.savez_compressed(FILE, **out)


if __name__ == "__main__":
    write()
