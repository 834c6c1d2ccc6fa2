"""torch.utils.weak: dictionaries whose keys are told by identity and forgotten with the object.

>>> table, x = torch.utils.weak.WeakTensorKeyDictionary(), torch.ones(2)
>>> table[x] = "x"
>>> table[x], torch.ones(2) in table
('x', False)
>>> del x
>>> len(table)
0
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, MutableMapping

from ..._missing import getter
from ...tensors.base import Tensor

__getattr__ = getter(__name__)


class WeakIdRef(weakref.ref):
    """A weak reference that equals another of the very same object.

    >>> from torch.utils.weak import WeakIdRef
    >>> x = torch.ones(2)
    >>> WeakIdRef(x)() is x
    True
    """

    __slots__ = ("_id",)

    def __init__(self, key, callback=None):
        self._id = id(key)
        super().__init__(key, callback)

    def __hash__(self):
        return self._id

    def __eq__(self, other):
        a, b = self(), other()
        return a is b if a is not None and b is not None else self is other


class _WeakHashRef(weakref.ref):
    """A weak reference with the object's own hash and equality; the hash is kept when the object is gone.

    >>> from torch.utils.weak import _WeakHashRef
    >>> x = torch.ones(2)
    >>> hash(_WeakHashRef(x)) == hash(x), _WeakHashRef(x)() is x
    (True, True)
    """

    __slots__ = ("_hash",)

    def __init__(self, key, callback=None):
        self._hash = hash(key)
        super().__init__(key, callback)

    def __hash__(self):
        return self._hash

    def __eq__(self, other):
        a, b = self(), other()
        return a == b if a is not None and b is not None else self is other


class WeakIdKeyDictionary(MutableMapping):
    """A dict of weakly referenced keys, told by identity.

    >>> from torch.utils.weak import WeakIdKeyDictionary
    >>> x = torch.ones(2)
    >>> names = WeakIdKeyDictionary({x: "x"})
    >>> names[x], len(names)
    ('x', 1)
    """

    def __init__(self, dict=None, ref_type=WeakIdRef):
        self.data: dict = {}
        self.ref_type = ref_type
        if dict is not None:
            self.update(dict)

    def _ref(self, key):
        data = weakref.ref(self)

        def forget(ref):
            table = data()
            if table is not None:
                table.data.pop(ref, None)

        return self.ref_type(key, forget)

    def __getitem__(self, key):
        return self.data[self.ref_type(key)]

    def __setitem__(self, key, value):
        self.data[self._ref(key)] = value

    def __delitem__(self, key):
        del self.data[self.ref_type(key)]

    def __contains__(self, key):
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # of what there is no weak reference
            return False

    def __len__(self):
        return len(self.data)

    def __iter__(self) -> Iterator:
        for ref in list(self.data):
            key = ref()
            if key is not None:
                yield key

    def __repr__(self):
        return f"<{type(self).__name__} at {id(self):#x}>"

    def keyrefs(self) -> list:
        """The weak references to the keys."""
        return list(self.data)

    def copy(self):
        """Another of the same keys and values."""
        return type(self)(self)

    __copy__ = copy


class WeakTensorKeyDictionary(WeakIdKeyDictionary):
    """A dict whose keys are tensors.

    >>> from torch.utils.weak import WeakTensorKeyDictionary
    >>> x = torch.ones(2)
    >>> names = WeakTensorKeyDictionary({x: "x"})
    >>> names[x], len(names)
    ('x', 1)
    """

    def __init__(self, dict=None, ref_type=WeakIdRef):
        super().__init__(dict, ref_type)


WeakTensorRefKey = WeakIdRef


class TensorWeakRef:
    """A weak reference to a tensor.

    >>> from torch.utils.weak import TensorWeakRef
    >>> x = torch.ones(2)
    >>> TensorWeakRef(x)() is x
    True
    """

    def __init__(self, tensor: Tensor):
        if not isinstance(tensor, Tensor):
            raise AssertionError("TensorWeakRef can only be used with Tensors")
        self.ref = weakref.ref(tensor)

    def __call__(self):
        return self.ref()
