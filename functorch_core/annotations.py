"""Annotations of users' functions, which may name what is not there, as what is imported for type checkers alone.

From Python 3.14 on they are evaluated when somebody asks, also `inspect.signature` for the names of parameters: that
was a NameError. Here what cannot be evaluated is a ForwardRef.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

if sys.version_info < (3, 14):
    lenient_signature = inspect.signature
    lenient_annotations = inspect.get_annotations
else:
    from annotationlib import Format, get_annotations

    def lenient_signature(function: Callable[..., Any]) -> inspect.Signature:
        """What inspect.signature gives."""
        return inspect.signature(function, annotation_format=Format.FORWARDREF)

    def lenient_annotations(function: Callable[..., Any]) -> dict[str, Any]:
        """What `__annotations__` gives."""
        return get_annotations(function, format=Format.FORWARDREF)
