"""torch.Tensor, put together.

The class stands in tensors/base.py, where every room can make tensors. Its members are written in the
classes that are named at the end, by subject. The methods that are ops come from the declarations of
these (dispatch/install.py). From the first class or mode with __torch_function__ on, members that
are no ops are exchanged for such that ask it (dispatch/overrides.py). Nothing else writes to Tensor.
"""

from __future__ import annotations

import numpy as np

from .. import _missing
from ..dispatch.inplace import fitted
from ..dispatch.members.attributes import Attributes
from ..dispatch.members.autograd import Autograd
from ..dispatch.members.copying import Copying
from ..dispatch.members.elements import Elements
from ..dispatch.overrides import Overridden
from ..tensors.base import Tensor, add_members, put_together
from ..views.cells import assign
from .index.indexing import getitem, setitem
from .pointwise.comparison import bitwise_not, where_of
from .pointwise.special import polygamma
from .reduce.order import searchsorted
from .shape.copies import as_subclass
from .shape.data import Construction, from_numpy
from .shape.transposes import Transposes
from .sparse.of_dense import Sparsity


class Operations:
    """Methods and operators whose arguments are not those of the op they are made of."""

    __getitem__, __setitem__ = getitem, setitem
    as_subclass = as_subclass  # of which nobody is asked

    def __delitem__(self, index):
        """TypeError: a tensor keeps its elements."""
        raise TypeError("Tensor does not support deleting items")

    def __invert__(self) -> Tensor:
        """~self for integers and bools."""
        if self.is_floating_point() or self.is_complex():
            raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
        return bitwise_not(self)

    def __div__(self, other) -> Tensor:
        return self.__truediv__(other)

    def __idiv__(self, other) -> Tensor:
        return self.__itruediv__(other)

    def __array_wrap__(self, array, context=None, return_scalar=False) -> Tensor:
        array = np.asarray(array)  # NumPy's comparisons of tensors are bytes, as PyTorch's
        return from_numpy(array.astype(np.uint8) if array.dtype == bool else array)

    def where(self, condition, other) -> Tensor:
        """self where the condition holds, other elsewhere.

        >>> torch.tensor([1, 2]).where(torch.tensor([True, False]), 0)
        tensor([1, 0])
        """
        return where_of(condition, self, other)

    def searchsorted(self, input, **kwargs) -> Tensor:
        """Where to insert values into this sorted sequence.

        >>> torch.tensor([1, 3, 5]).searchsorted(torch.tensor([3, 4]))
        tensor([1, 2])
        """
        return searchsorted(self, input, **kwargs)

    def polygamma(self, n: int) -> Tensor:
        """The n-th derivative of digamma, elementwise.

        >>> torch.tensor([1., 2.]).polygamma(1)
        tensor([1.6449, 0.6449])
        """
        return polygamma(n, self)

    def polygamma_(self, n: int) -> Tensor:
        """polygamma in place.

        >>> torch.tensor([1., 2.]).polygamma_(1)
        tensor([1.6449, 0.6449])
        """
        return assign(self, fitted(self, polygamma(n, self)), op="polygamma")


put_together(Construction, Attributes, Elements, Autograd, Transposes, Operations, Copying, Sparsity, Overridden)
add_members(_missing.tensor_methods())
