"""torch._dynamo._trace_wrapped_higher_order_op: a mode that some masks are made under."""

import contextlib


class TransformGetItemToIndex(contextlib.AbstractContextManager):
    """Context in which x[i] may have an i under func.vmap. It always may, here."""

    def __exit__(self, *exc):
        """Errors pass."""
