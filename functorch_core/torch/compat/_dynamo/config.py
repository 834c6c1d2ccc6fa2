"""torch._dynamo.config: settings that are kept and have no effect."""

from __future__ import annotations

import contextlib as _contextlib

cache_size_limit = recompile_limit = 8
accumulated_cache_size_limit = accumulated_recompile_limit = 256
assume_static_by_default = True
automatic_dynamic_shapes = True
allow_unspec_int_on_nn_module = False
capture_dynamic_output_shape_ops = False
capture_scalar_outputs = False
disable = False
dynamic_shapes = True
inline_inbuilt_nn_modules = True
optimize_ddp = True
skip_fwd_side_effects_in_bwd_under_checkpoint = False
specialize_int = False
suppress_errors = False
verbose = False


@_contextlib.contextmanager
def patch(arg=None, value=None, **changes):
    """Context, or decorator, with some settings changed: patch("verbose", True),
    patch({"verbose": True}) or patch(verbose=True). AttributeError for one that is not there."""
    settings = globals()
    if isinstance(arg, dict):
        changes = {**arg, **changes}
    elif arg is not None:
        changes = {arg: value, **changes}
    unknown = [name for name in changes if name not in settings or name.startswith("_")]
    if unknown:
        raise AttributeError(f"torch._dynamo.config.{unknown[0]} does not exist")
    before = {name: settings[name] for name in changes}
    settings.update(changes)
    try:
        yield
    finally:
        settings.update(before)
