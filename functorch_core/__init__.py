"""functorch-core: arrays, PyTorch's API and JAX's function transforms, on XLA.

    import functorch_core as fc                the functional face: immutable arrays, transforms
    import functorch_core.torch as torch       the PyTorch-compatible face

The namespace implements the Python Array API standard, version 2024.12.
"""

from importlib import import_module as _import_module

from .collector import Waiting as _Waiting

_waiting = _Waiting()

from . import engine, tree, tree_util
from .array import fourier as fft
from .array import linalg, random
from .array import methods as _methods
from .array.array import Array
from .array.collectives import (
    all_gather,
    all_to_all,
    axis_index,
    axis_size,
    pbroadcast,
    pmax,
    pmean,
    pmin,
    ppermute,
    pshuffle,
    psum,
    psum_scatter,
    pswapaxes,
)
from .array.control import associative_scan, cond, fori_loop, map, scan, switch, while_loop
from .array.creation import (
    arange,
    asarray,
    copy,
    empty,
    empty_like,
    eye,
    from_dlpack,
    full,
    full_like,
    geomspace,
    linspace,
    logspace,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from .array.custom import checkpoint, checkpoint_name, checkpoint_policies, custom_jvp, custom_vjp, debug, pure_callback
from .array.custom import checkpoint as remat
from .array.derivatives import (
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linear_transpose,
    linearize,
    stop_gradient,
    value_and_grad,
    vjp,
)
from .array.derivatives import jacrev as jacobian
from .array.functions import *  # what ops/ declares for fc
from .array.further import block_until_ready, closure_convert, custom_gradient, device_get, device_put
from .array.inspection import __array_namespace_info__, can_cast, finfo, iinfo, isdtype, promote_types, result_type
from .array.jit import eval_shape, jit, make_graph
from .array.shard_map import shard_map
from .array.sharding import P, make_array_from_callback, make_array_from_single_device_arrays, make_mesh
from .array.tracing import ShapeDtype
from .array.tracing import ShapeDtype as ShapeDtypeStruct
from .array.vmap import vmap
from .core.dtypes import (
    bfloat16,
    bool_,
    complex32,
    complex64,
    complex128,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
    float8_e8m0fnu,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .core.dtypes import bool_ as bool
from .engine import debug_infs, debug_nans
from .tracebacks import install as _hide_internal_frames
from .transforms import checks as _checks  # declares its primitive, as those below do theirs
from .transforms import custom_batch as _custom_batch
from .transforms import linear_map as _
from .xla import NamedSharding

e, inf, nan, newaxis, pi = 2.718281828459045, float("inf"), float("nan"), None, 3.141592653589793
__array_api_version__ = "2024.12"
__version__ = "0.1.0"

_hide_internal_frames()


# What is loaded when it is asked for: namespaces of JAX's, and names of array/environment.
_LAZY = frozenset(
    """ad_checkpoint custom_batching distributed dlpack dtypes errors experimental export faces flatten_util image jnn
    lax memory numpy ops optax profiler ref scipy sharding stages typing""".split()
)
_ENVIRONMENT = frozenset(
    """Device check_tracer_leaks checking_leaks clear_caches config copy_to_host_async default_backend default_device
    default_matmul_precision default_prng_impl device_count devices disable_jit ds effects_barrier
    enable_custom_prng enable_x64 ensure_compile_time_eval explain_cache_misses float0 fwd_and_bwd live_arrays
    local_device_count local_devices log_compiles make_jaxpr named_call named_scope numpy_dtype_promotion
    numpy_rank_promotion print_environment_info process_count process_index threefry_partitionable typeof""".split()
)
_SETTINGS = frozenset(
    """allow_f16_reductions array_garbage_collection_guard debug_key_reuse enable_checks host_count host_id host_ids
    jax2tf_associative_scan_reductions legacy_prng_key make_array_from_process_local_data make_user_context no_execution
    no_tracing process_indices reshard set_mesh softmax_custom_jvp thread_guard transfer_guard
    transfer_guard_device_to_device transfer_guard_device_to_host transfer_guard_host_to_device""".split()
)
_ELSEWHERE = {"Shard": "sharding", **dict.fromkeys("Ref empty_ref free_ref freeze new_ref".split(), "refs")}
_INSTEAD = {
    "pmap": "JAX calls it the old way: fc.shard_map(f, mesh=mesh, in_specs=fc.P('x'), out_specs=fc.P('x')).",
    "smap": "fc.shard_map(f, mesh=mesh, in_specs=fc.P('x'), out_specs=fc.P('x')) maps over several devices.",
    "ad": "It says how a vjp writes cotangents into references; here it returns them: `fc.vjp(f, x)[1](cotangent)`.",
    "auto_pcast": "It is about types of explicit sharding over several devices; here all axes are automatic.",
    "remove_size_one_mesh_axis_from_type": "Types say nothing of meshes of several devices: all axes are automatic.",
    "key": "Keys are fc.random.key(seed).",
    "nn": "jax.nn's functions are in functorch_core.jnn; functorch_core.nn is PyTorch's.",
}


def __getattr__(name: str):
    if name in _LAZY:
        return _import_module(f"{__name__}.{name}")
    if name in _ENVIRONMENT:
        return getattr(_import_module(f"{__name__}.array.environment"), name)
    if name in _SETTINGS:
        return getattr(_import_module(f"{__name__}.array.settings"), name)
    if name in _ELSEWHERE:
        return getattr(_import_module(f"{__name__}.array.{_ELSEWHERE[name]}"), name)
    if name == "load_ipython_extension":  # what %load_ext functorch_core asks for
        from .shim import load_ipython_extension

        return load_ipython_extension
    advice = next((f". {text}" for names, text in _INSTEAD.items() if name in names.split()), "")
    raise AttributeError(f"module 'functorch_core' has no attribute {name!r}{advice}")


def __dir__():
    return sorted({*globals(), *_LAZY, *_ENVIRONMENT, *_SETTINGS, *_ELSEWHERE})


del _waiting
