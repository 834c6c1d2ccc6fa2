"""torch._dynamo.config: settings that are kept and have no effect."""

from __future__ import annotations

import contextlib as _contextlib

cache_size_limit = recompile_limit = 8
accumulated_cache_size_limit = accumulated_recompile_limit = 256
assume_static_by_default = True
automatic_dynamic_shapes = True
error_on_recompile = False
allow_unspec_int_on_nn_module = False
capture_dynamic_output_shape_ops = False
capture_scalar_outputs = False
compiled_autograd = False
disable = False
dynamic_shapes = True
error_on_recompile = False
inline_inbuilt_nn_modules = True
issue_3_13_0_warning = True
log_compilation_metrics = True
optimize_ddp = True
skip_fwd_side_effects_in_bwd_under_checkpoint = False
specialize_int = False
suppress_errors = False
verbose = False


def settings_of(settings: dict, title: str):
    """The function `patch` of a module of settings."""

    @_contextlib.contextmanager
    def patch(arg=None, value=None, **changes):
        """Context, or decorator, with some settings changed: patch("verbose", True),
        patch({"verbose": True}) or patch(verbose=True). AttributeError for one that is not there."""
        if isinstance(arg, dict):
            changes = {**arg, **changes}
        elif arg is not None:
            changes = {arg: value, **changes}
        unknown = [name for name in changes if name not in settings or name.startswith("_")]
        if unknown:
            raise AttributeError(f"{title}.{unknown[0]} does not exist")
        before = {name: settings[name] for name in changes}
        settings.update(changes)
        try:
            yield
        finally:
            settings.update(before)

    return patch


patch = settings_of(globals(), "torch._dynamo.config")
