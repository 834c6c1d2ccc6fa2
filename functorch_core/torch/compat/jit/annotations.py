"""torch.jit.annotations: the types that annotations of scripted code name."""

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: F401
