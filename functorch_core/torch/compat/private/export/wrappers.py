"""torch._export.wrappers: how subclasses of Tensor say that they can be exported."""

from __future__ import annotations

from .... import _missing

__getattr__ = _missing.getter(__name__)

ONLY_INIT = (
    "torch._export.wrappers.mark_constructor_exportable_experimental can only be applied on subclass tensor.__init__"
    "But, you are adding it on {name} which is not supported. If __init__ doesn't exist on your subclass, please add "
    "it. Look at DTensor.__init__ implementation for example"
)


def mark_subclass_constructor_exportable_experimental(constructor_subclass):
    """The `__init__` of a subclass of Tensor as it is: the mark is for exports, which are not here.

    RuntimeError for another function.

    >>> from torch._export.wrappers import mark_subclass_constructor_exportable_experimental
    >>> class Named(torch.Tensor):
    ...     @mark_subclass_constructor_exportable_experimental
    ...     def __init__(self, data, name="x"):
    ...         self.title = name
    ...     @staticmethod
    ...     def __new__(cls, data, name="x"):
    ...         return torch.Tensor._make_subclass(cls, data)
    >>> Named(torch.ones(2), name="y").title
    'y'
    """
    if getattr(constructor_subclass, "__name__", None) != "__init__":
        raise RuntimeError(ONLY_INIT.format(name=getattr(constructor_subclass, "__name__", constructor_subclass)))
    return constructor_subclass
