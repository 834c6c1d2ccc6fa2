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

# What needs several devices or processes, or is a switch of JAX's own machinery.
ELSEWHERE = {
    "jax": """Ref Shard ad allow_f16_reductions array_garbage_collection_guard auto_pcast empty_ref
        free_ref freeze new_ref jax2tf_associative_scan_reductions host_count host_id host_ids
        make_array_from_process_local_data make_user_context memory pmap process_indices
        remove_size_one_mesh_axis_from_type reshard set_mesh smap softmax_custom_jvp thread_guard transfer_guard
        transfer_guard_device_to_device transfer_guard_device_to_host transfer_guard_host_to_device no_execution
        no_tracing legacy_prng_key debug_key_reuse enable_checks""",
    "jax.lax": """AccuracyMode DotAlgorithm DotAlgorithmPreset RaggedDotDimensionNumbers Tolerance PrecisionLike pcast
        precv psend ragged_all_to_all ragged_dot_general scaled_dot stage
        rng_uniform""",
    "jax.lax.linalg": "EigImplementation EighImplementation",
    "jax.nn": "get_scaled_dot_general_config scaled_dot_general scaled_matmul",
    "jax.tree_util": "default_registry",
    "jax.debug": "DebugEffect OrderedDebugEffect",
    "jax.numpy": """float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 float8_e4m3b11fnuz int1 int2 int4
        uint1 uint2 uint4""",
    "jax.export": """DisabledSafetyCheck SymbolicScope is_symbolic_dim symbolic_args_specs symbolic_shape
        maximum_supported_calling_convention_version minimum_supported_calling_convention_version""",
    "jax.profiler": "ProfileData ProfileEvent ProfileOptions ProfilePlane register_subprocess",
    "jax.experimental.serialize_executable": "Sequence",
    "jax.experimental": "EArray cur_qdd primal_tangent_dtype",
    "jax.errors": "InconclusiveDimensionOperation KeyReuseError",
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
    return not isinstance(value, types.ModuleType)


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


def table() -> list[tuple[str, int, int, list[str], list[str]]]:
    """(module, present, public, missing, missing and not meant to be here), the stats summed up."""
    rows, stats = [], [0, 0, []]
    for module, names in listed().items():
        gone = missing(module, names)
        if module.startswith("jax.scipy.stats."):
            stats = [stats[0] + len(names) - len(gone), stats[1] + len(names), stats[2] + gone]
            continue
        meant = [n for n in gone if n in ELSEWHERE.get(module, "").split()]
        rows.append((module, len(names) - len(gone), len(names), [n for n in gone if n not in meant], meant))
    return [*rows, ("jax.scipy.stats.*", stats[0], stats[1], stats[2], [])]


def markdown() -> str:
    """The table of docs/coming_from_jax.md."""
    lines = [
        "| module of JAX | names here | names there | here | not meant to be here | missing |",
        "|---|---:|---:|---:|---|---|",
    ]
    for module, present, public, gone, meant in table():
        meant_here, missing_here = (", ".join(f"`{n}`" for n in names) for names in (meant, gone))
        share = f"{100 * present // public} %"
        lines.append(f"| `{module}` | {present} | {public} | {share} | {meant_here} | {missing_here} |")
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
