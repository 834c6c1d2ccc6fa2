"""How many of JAX's public names have a counterpart here, module by module.

    python tests/array/jax_names.py              the table, and what is missing
    python tests/array/jax_names.py --markdown   the table of docs/coming_from_jax.md
    JAXPYTHON tests/array/jax_names.py --record  writes jax_names.txt anew, with a Python that has JAX

A name counts if it is there and is no stub: asking for a missing one is an AttributeError that says
what to use instead.
"""

from __future__ import annotations

import importlib
import sys
import types
import warnings
from pathlib import Path

LIST = Path(__file__).with_name("jax_names.txt")
MODULES = """jax jax.numpy jax.numpy.linalg jax.numpy.fft jax.lax jax.lax.linalg jax.nn jax.nn.initializers
    jax.random jax.tree jax.tree_util jax.debug jax.flatten_util jax.dlpack jax.dtypes jax.errors
    jax.scipy.special jax.scipy.linalg jax.scipy.stats jax.scipy.signal jax.scipy.ndimage jax.scipy.optimize
    jax.scipy.interpolate jax.scipy.integrate jax.scipy.cluster.vq jax.scipy.fft jax.scipy.sparse.linalg
    jax.scipy.spatial.transform jax.custom_batching jax.export jax.profiler jax.experimental.checkify
    jax.experimental.serialize_executable jax.experimental""".split()
OURS = {
    "jax": "functorch_core",
    "jax.nn": "functorch_core.jnn",
    "jax.nn.initializers": "functorch_core.jnn.initializers",
}

# Names that count for nothing: JAX deprecates them, several devices are needed (explicit sharding, sending), or they
# are parts of JAX's own machinery that its documentation does not have (effects of primitives, dtypes that extend it).
NOT_COUNTED = {
    "jax": "pmap smap auto_pcast remove_size_one_mesh_axis_from_type",
    "jax.lax": "pcast psend precv ragged_all_to_all",
    "jax.profiler": "register_subprocess",
    "jax.debug": "DebugEffect OrderedDebugEffect",
    "jax.experimental": "EArray cur_qdd primal_tangent_dtype",
}


def record():
    """Write the public names of the JAX that is installed: no modules, primitives, deprecated names."""
    import jax

    warnings.simplefilter("error")
    lines = [f"# The public names of jax {jax.__version__}: no modules, no primitives' objects, nothing deprecated."]
    import jax.scipy.stats

    stats = [f"jax.scipy.stats.{n}" for n, v in vars(jax.scipy.stats).items() if isinstance(v, types.ModuleType)]
    for name in [*MODULES, *sorted(stats)]:
        module = importlib.import_module(name)
        found = [n for n in getattr(module, "__all__", dir(module)) if _is_public(module, n)]
        lines.append(f"{name}: {' '.join(sorted(found))}")
    LIST.write_text("\n".join(lines) + "\n")


def _is_public(module, name: str) -> bool:
    if name.startswith("_") or name.endswith("_p") or name == "annotations":
        return False
    try:
        value = getattr(module, name)
    except Exception:  # deprecated: the warning is an error here
        return False
    borrowed = getattr(value, "__module__", "") in ("collections.abc", "typing")  # what a file imports, without __all__
    return not isinstance(value, types.ModuleType) and not borrowed


def listed() -> dict[str, list[str]]:
    """JAX's names by module."""
    lines = [line for line in LIST.read_text().splitlines() if not line.startswith("#")]
    return {module: names.split() for module, _, names in (line.partition(":") for line in lines)}


def ours(module: str):
    """Our counterpart of a module of JAX's; None if there is none."""
    name = OURS.get(module) or module.replace("jax", "functorch_core", 1)
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        try:
            out = importlib.import_module(".".join(parts[:n]))
        except ModuleNotFoundError:
            continue
        for part in parts[n:]:
            out = getattr(out, part, None)
        return out
    return None


def missing(module: str, names: list[str]) -> list[str]:
    """The names of a module that are not here."""
    here = ours(module)
    return [n for n in names if not hasattr(here, n)]


def reason(module: str, name: str) -> str:
    """What the error says of a missing name: why it is not here, or what to use instead."""
    try:
        getattr(ours(module), name)
    except AttributeError as error:
        return str(error).partition(f"{name!r}. ")[2]
    raise AssertionError(f"{module}.{name} is there")


def table() -> list[tuple[str, int, int, list[str], list[str]]]:
    """(module, present, public but for what counts for nothing, missing of these, the others), the stats summed up."""
    rows, stats = [], [0, 0, []]
    for module, names in listed().items():
        gone = missing(module, names)
        if module.startswith("jax.scipy.stats."):
            stats = [stats[0] + len(names) - len(gone), stats[1] + len(names), stats[2] + gone]
            continue
        aside = [n for n in gone if n in NOT_COUNTED.get(module, "").split()]
        counted = len(names) - len(aside)
        rows.append((module, len(names) - len(gone), counted, [n for n in gone if n not in aside], aside))
    return [*rows, ("jax.scipy.stats.*", stats[0], stats[1], stats[2], [])]


def markdown() -> str:
    """The tables of docs/coming_from_jax.md: the shares, and each missing name with its reason."""
    lines = [
        "| module of JAX | names here | names there | here | not here | deprecated, internal, or for several devices |",
        "|---|---:|---:|---:|---|---|",
    ]
    for module, present, public, gone, aside in table():
        shown = (", ".join(f"`{n}`" for n in names) for names in (gone, aside))
        lines.append(f"| `{module}` | {present} | {public} | {100 * present // public} % | {' | '.join(shown)} |")
    lines += ["", "| name of JAX | why it is not here, what to use instead |", "|---|---|"]
    for module, _, _, gone, aside in table():
        lines += [f"| `{module}.{n}` | {reason(module, n)} |" for n in [*gone, *aside]]
    return "\n".join(lines) + "\n"


def show():
    """Print the table."""
    for module, present, public, gone, _ in table():
        print(f"{module:32}{present:5}/{public:<5}{present / public:5.0%}  {' '.join(gone)}")


if __name__ == "__main__":
    if "--record" in sys.argv:
        record()
    elif "--markdown" in sys.argv:
        print(markdown(), end="")
    else:
        show()
