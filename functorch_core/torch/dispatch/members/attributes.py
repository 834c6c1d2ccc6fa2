"""What a tensor says of itself without its elements: shape, dtype, device, place in memory."""

from __future__ import annotations

import numpy as np

from .... import xla
from ....core import dtypes as dt
from ....core.aval import Aval
from ....engine.recorder import Recording, place_of
from ....engine.value import ABSENT, Value
from ....xla.device import further
from ...levels.levels import refuse_batched
from ...tape.meta import META, class_name, is_meta
from ...tensors import types as _types
from ...tensors.base import Tensor, wrap_dim
from ...views.cells import Cell, layout_of, share
from ...views.memory_order import channels_last_strides
from ...views.shared import address_of, file_of, is_in_file
from ...views.strides import contiguous_strides

IN_TRANSFORM = "share_memory_: a tensor inside a transform has no memory that could be shared"
NO_META = "share_memory_: tensors on the meta device have no memory"
OTHER_FORMAT = "NYI: querying is_contiguous inside of vmap for memory_format other than torch.contiguous_format"


def _never(what: str, names: str) -> list[property]:
    """An attribute that is False for each name: no tensor is of that kind, or on such a device."""
    doc = """False: no tensor is {what} {name}.

    >>> torch.ones(2).is_{name}
    False
    """
    return [property(lambda self: False, doc=doc.format(what=what, name=name)) for name in names.split()]


class _Sizes(dict):
    """By avals their shapes as users see them: made once (0.05 us)."""

    def __missing__(self, a: Aval) -> _types.Size:
        size = self[a] = tuple.__new__(_types.Size, a.shape)
        return size


sizes = _Sizes()


class Attributes:
    """Shape, dtype, device and layout."""

    # ---- shape and dtype

    @property
    def _aval(self) -> Aval:
        """Shape and dtype as ops see them: without the batch dimensions of func.vmap."""
        return self._value.aval if self._level is None else self._level.aval

    @property
    def shape(self) -> _types.Size:
        """The size of each dimension.

        >>> torch.zeros(2, 3).shape
        torch.Size([2, 3])
        """
        return sizes[(self._value if self._level is None else self._level).aval]

    @property
    def ndim(self) -> int:
        """The number of dimensions.

        >>> torch.zeros(2, 3).ndim
        2
        """
        return self._aval.ndim

    @property
    def dtype(self) -> _types.dtype:
        """The element type.

        >>> torch.zeros(1).dtype
        torch.float32
        """
        return _types._by_numpy[self._aval.dtype]

    @property
    def itemsize(self) -> int:
        """Bytes of an element.

        >>> torch.zeros(2).itemsize
        4
        """
        return self._aval.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements.

        >>> torch.zeros(2, 3).nbytes
        24
        """
        return self._aval.nbytes

    def size(self, dim=None):
        """The shape, or the size of one dimension.

        >>> torch.zeros(2, 3).size(1)
        3
        """
        if dim is None:
            return self.shape
        sizes = (self._value if self._level is None else self._level).aval.shape
        return sizes[dim if dim.__class__ is int and 0 <= dim < len(sizes) else wrap_dim(dim, len(sizes))]

    def dim(self) -> int:
        """The number of dimensions.

        >>> torch.zeros(2, 3).dim()
        2
        """
        return self.ndim

    def numel(self) -> int:
        """The number of elements.

        >>> torch.zeros(2, 3).nelement()
        6
        """
        return self._aval.size

    ndimension, nelement = dim, numel

    def element_size(self) -> int:
        """Bytes of an element.

        >>> torch.zeros(2).element_size()
        4
        """
        return self._aval.dtype.itemsize

    def is_floating_point(self) -> bool:
        """Whether the elements are real floating point numbers.

        >>> torch.ones(2).is_floating_point(), torch.arange(2).is_floating_point()
        (True, False)
        """
        return self._aval.dtype in dt.FLOATING

    def is_complex(self) -> bool:
        """Whether the elements are complex numbers.

        >>> torch.tensor([1j]).is_complex()
        True
        """
        return self._aval.dtype in dt.COMPLEX

    def is_signed(self) -> bool:
        """Whether the dtype has negative numbers.

        >>> torch.zeros(1, dtype=torch.uint8).is_signed()
        False
        """
        return self.dtype.is_signed

    # ---- device

    @property
    def device(self) -> _types.device:
        """Where the tensor is.

        >>> torch.zeros(1).device
        device(type='cpu')
        """
        value = self._value
        if value.recording is None and value.data.__class__ is np.ndarray:
            return _types.CPU
        if value.recording is ABSENT:
            return self._device or META
        if not further or value.__class__ is not Value:  # there is but the CPU; or it is traced
            return _types.CPU
        there = place_of(value)
        if there is None and (value.recording.__class__ is Recording or value.data.__class__ is xla.Buffer):
            there = xla.default_device()
        return _types.CPU if there is None or there.platform == "cpu" else _types.device(there.platform, there.id)

    @property
    def is_cpu(self) -> bool:
        """Whether the tensor is in the host's memory.

        >>> torch.zeros(1).is_cpu
        True
        """
        return self.device.type == "cpu"

    @property
    def is_cuda(self) -> bool:
        """Whether the tensor is on a GPU.

        >>> torch.zeros(1).is_cuda
        False
        """
        return self.device.type == "cuda"

    is_meta = property(is_meta)
    is_xpu, is_mps, is_ipu, is_xla, is_hpu, is_mtia, is_vulkan, is_maia = _never(
        "on a device of the kind", "xpu mps ipu xla hpu mtia vulkan maia"
    )

    def get_device(self) -> int:
        """The index of the GPU; -1 for any other device.

        >>> torch.ones(2).get_device()
        -1
        """
        return self.device.index if self.is_cuda else -1

    # ---- kinds of tensors that there are not

    is_sparse, is_quantized, is_mkldnn, is_nested, is_sparse_csr = _never(
        "of the kind", "sparse quantized mkldnn nested sparse_csr"
    )

    @property
    def layout(self) -> _types.layout:
        """torch.strided.

        >>> torch.zeros(1).layout
        torch.strided
        """
        return _types.strided

    @property
    def name(self) -> None:
        """None.

        >>> torch.ones(2).name
        """
        return None

    @property
    def names(self) -> tuple:
        """A None for each dimension: none has a name.

        >>> torch.ones(2, 3).names
        (None, None)
        """
        return (None,) * self.ndim

    @names.setter
    def names(self, names):
        if names is not None:
            raise NotImplementedError(f"Tensor.names = {names!r}: named tensors are not implemented")

    def has_names(self) -> bool:
        """False: no dimension has a name.

        >>> torch.ones(2).has_names()
        False
        """
        return False

    def is_shared(self) -> bool:
        """Whether other processes may share the memory.

        >>> torch.ones(2).is_shared()
        False
        """
        return self.is_cuda or self._view is not None and is_in_file(self._view.cell)

    def is_pinned(self, device=None) -> bool:
        """False: see pin_memory.

        >>> torch.ones(2).is_pinned()
        False
        """
        return False

    def pin_memory(self, device=None) -> Tensor:
        """The tensor itself: transfers need no page-locked memory here.

        >>> torch.ones(2).pin_memory() if torch.cuda.is_available() else torch.ones(2)
        tensor([1., 1.])
        """
        if is_meta(self):
            raise RuntimeError(f"cannot pin '{class_name(self)}' only dense CPU tensors can be pinned")
        return self

    def share_memory_(self):
        """Move to memory that other processes share when they are forked from this one, or get the tensor.

        >>> torch.ones(2).share_memory_().is_shared()
        True
        """
        if self._level is not None:
            raise RuntimeError(IN_TRANSFORM)
        if is_meta(self):
            raise NotImplementedError(NO_META)
        if not self.is_cuda:
            file_of(share(self).cell)
        return self

    # ---- memory

    def stride(self, dim=None):
        """The strides in elements, or that of one dimension.

        >>> torch.zeros(2, 3).stride()
        (3, 1)
        """
        strides = layout_of(self)[1]
        return strides if dim is None else strides[wrap_dim(dim, self.ndim)]

    def storage_offset(self) -> int:
        """Where in its storage the tensor begins, in elements.

        >>> torch.arange(5)[2:].storage_offset()
        2
        """
        return layout_of(self)[2]

    def is_contiguous(self, memory_format=_types.contiguous_format) -> bool:
        """Whether the elements lie in the order of the given format without gaps.

        >>> torch.zeros(2, 3).t().is_contiguous()
        False
        """
        if memory_format is not _types.contiguous_format:
            if self._level is not None:
                refuse_batched(self, OTHER_FORMAT)
        elif self._level is None:
            if self._view is not None:
                return self._view.is_contiguous()
            if self._strides is None:
                return True
        shape, strides, _ = layout_of(self)
        wanted = contiguous_strides(shape)
        if memory_format in (_types.channels_last, _types.channels_last_3d):
            ndim = 4 if memory_format is _types.channels_last else 5
            wanted = channels_last_strides(shape) if len(shape) == ndim else None
        return wanted is not None and (0 in shape or all(a == b for n, a, b in zip(shape, strides, wanted) if n != 1))

    def data_ptr(self) -> int:
        """The address of the first element, which two tensors share exactly if it is one place.

        The elements lie there, as they are at this call; what is written there reaches the tensor if its
        memory is shared (by numpy(), from_numpy, share_memory_). Tensors on a GPU or inside a transform
        have a number that is no address.

        >>> x = torch.zeros(2)
        >>> x.data_ptr() == x[:1].data_ptr()
        True
        """
        cell = share(self).cell
        if is_meta(self) or not self._aval.size:
            return 0
        start = _number_of(cell) if self._level is not None or not self.is_cpu else address_of(cell)
        return start + self.storage_offset() * self.element_size() if start else 0

    @property
    def _cdata(self) -> int:
        """A number that no other living tensor has."""
        return id(self)

    @property
    def _base(self) -> Tensor | None:
        """The tensor this one is a view of, or None."""
        alias = self._view
        return None if alias is None else alias.source if alias.base is None else alias.base

    def _fix_weakref(self):
        """Nothing: a tensor that a weak reference gives back is whole here."""

    def _is_view(self) -> bool:
        return self._view is not None and self._view.is_view()


_numbers = [1 << 32]


def _number_of(cell: Cell) -> int:
    """A number of the cell's own."""
    if getattr(cell, "memory", None) is None:
        cell.memory = _numbers[0]
        _numbers[0] += -(-cell.value.aval.nbytes // 64) * 64 + 64
    return cell.memory if cell.memory.__class__ is int else address_of(cell)
