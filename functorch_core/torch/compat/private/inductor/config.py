"""torch._inductor.config: settings that are kept and have no effect."""

from ..._dynamo.config import settings_of as _settings_of

size_asserts = True
fallback_random = False
force_disable_caches = False
freezing = False
fx_graph_cache = True
max_autotune = False
patch = _settings_of(globals(), "torch._inductor.config")
