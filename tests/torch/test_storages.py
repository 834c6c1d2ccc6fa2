"""Storages as objects: what their constructors take and refuse, bytes, the notice of their removal, lazy clones."""

import warnings

import pytest

from functorch_core import torch as ours
from tests.nn.both import agree, failing


def _kinds(t):
    return t.FloatStorage, t.BoolStorage, t.LongStorage


def test_what_constructors_refuse():
    def program(t):
        s = t.FloatStorage()
        untyped, dtype = s.untyped(), t.float32
        calls = [
            lambda: t.storage._LegacyStorage(),
            lambda: t.FloatStorage(0, wrap_storage=untyped),
            lambda: t.FloatStorage(wrap_storage=s),
            lambda: t.TypedStorage(0, wrap_storage=untyped, dtype=dtype),
            lambda: t.TypedStorage(wrap_storage=untyped),
            lambda: t.TypedStorage(wrap_storage=untyped, dtype=0),
            lambda: t.TypedStorage(wrap_storage=untyped, dtype=dtype, device="cpu"),
            lambda: t.TypedStorage(wrap_storage=s, dtype=dtype),
            lambda: t.TypedStorage(dtype=dtype, device="xla"),
            lambda: t.TypedStorage(t.ones(1), dtype=dtype),
            lambda: t.TypedStorage("text", dtype=dtype),
            lambda: t.TypedStorage(0, 0, dtype=dtype),
            lambda: s.fill_(t.TypedStorage([1, 2], dtype=dtype)),
            lambda: t.UntypedStorage("a"),
            lambda: t.UntypedStorage(t.ones(1)),
            lambda: t.UntypedStorage([1.5]),
            lambda: t._C.StorageBase(),
            lambda: t.cuda.FloatStorage.from_buffer(),
        ]
        for kind in _kinds(t):
            calls += [
                lambda kind=kind: kind(device="cpu"),
                lambda kind=kind: kind(dtype=t.float32),
                lambda kind=kind: kind(0, 0),
                lambda kind=kind: kind("text"),
                lambda kind=kind: kind(t.ones(1)),
            ]
        return [failing(call)[0] for call in calls], failing(calls[1]), t.UntypedStorage([300, 7]).tolist()

    agree(program)


def test_elements_of_buffers():
    def program(t):
        data = bytearray([1, 2, 3, 4])
        calls = [
            lambda: t.ShortStorage.from_buffer(data),
            lambda: t.ShortStorage.from_buffer(data[:3], "big"),
            lambda: t.FloatStorage.from_buffer(data, "middle"),
            lambda: t.ByteStorage.from_buffer(data, count=9),
            lambda: t.ByteStorage.from_buffer(data, offset=9),
            lambda: t.ByteStorage.from_buffer(data, dtype=t.int8),
        ]
        made = [
            t.ByteStorage.from_buffer(data),
            t.ShortStorage.from_buffer(data, "big"),
            t.IntStorage.from_buffer(data, "little"),
            t.BoolStorage.from_buffer(b"\0x4A", "big"),
            t.ByteStorage.from_buffer(data, count=2, offset=1),
            t.UntypedStorage.from_buffer(data, "big", dtype=t.int16),
        ]
        return [s.tolist() for s in made], [failing(call) for call in calls]

    agree(program)


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "float64", "complex64", "complex128"])
def test_bytes_are_swapped_whatever_they_are_of(dtype):
    def program(t):
        s = t.UntypedStorage(list(range(16)))
        s.byteswap(getattr(t, dtype))
        return s.tolist()

    agree(program)


def test_subclasses_of_the_base_are_storages():
    def program(t):
        class Mine(t._C.StorageBase):
            pass

        bases = isinstance(t.UntypedStorage(), t._C.StorageBase), isinstance(t.FloatStorage(), t._C.StorageBase)
        return Mine([1, 2]).nbytes(), Mine().nbytes(), bases, t.FloatStorage in t._storage_classes

    agree(program)


def _messages(t, call):
    t.storage._reset_warn_typed_storage_removal()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        call()
        call()
    return [(w.category.__name__, str(w.message)) for w in told]


def test_the_removal_is_told_once():
    def program(t):
        s, x = t.FloatStorage(3), t.ones(2)
        public = [t.FloatStorage, lambda: t.FloatStorage.dtype, lambda: len(s), lambda: s[0], s.untyped, x.storage]
        private = [s._size, s._nbytes, s._data_ptr, lambda: s._setitem(0, 1.0), x._typed_storage, lambda: s._dtype]
        private += [lambda: t.FloatStorage(_internal=True), x.untyped_storage, lambda: x.new(x.untyped_storage())]
        return [[_messages(t, call) for call in calls] for calls in (public, private)]

    try:
        agree(program)
    finally:
        ours.storage._reset_warn_typed_storage_removal()


def test_a_storage_of_another_dtype_is_refused():
    def program(t):
        x, s = t.ones(2), t.IntTensor([1]).storage()
        return failing(x.new, s)[0], failing(t.LongTensor, (6, 0), 1, 1)[0], x.int().type(t.Tensor).dtype == t.float32

    agree(program)


def test_a_lazy_clone_keeps_what_the_other_leaves():
    def program(t):
        x = t.tensor([[0, 1], [2, 3]])
        address = t._C._data_address
        before = address(x)
        clone = x._lazy_clone()
        view = x.view(4)
        view += 1
        seen = [address(y) == before for y in (x, view, clone)], [t._C._is_cow_tensor(y) for y in (x, view, clone)]
        clone += 1
        left = address(x)
        x += 1
        return seen, address(clone) == before, address(x) == left, t._C._is_cow_tensor(clone), x, clone

    agree(program)


def test_index_select_of_nothing():
    def program(t):
        wide, high, point = t.ones(0, 3), t.ones(2, 0), t.ones(())
        near, far, none = t.tensor([0, 1]), t.tensor([0, 5]), t.ones(0, dtype=t.int64)
        calls = [
            (wide, 0, near),
            (wide, 1, far),
            (high, 0, far),
            (high, 1, near),
            (point, 0, none),
            (t.ones(0), 0, near),
        ]
        return (
            [failing(t.index_select, *call) for call in calls],
            high.index_select(0, near),
            wide.index_select(0, none),
        )

    agree(program)


def test_old_types_are_no_bases():
    def program(t):
        def subclass():
            return type("Mine", (t.FloatTensor,), {})

        kinds = sorted(kind.__name__ for kind in t._tensor_classes if kind.is_cuda and not kind.is_xpu)
        return failing(type, "Mine", (t.FloatTensor,), {})[0], failing(subclass)[0], "FloatTensor" in kinds

    agree(program)


def test_deterministic_fill_is_a_bool():
    def program(t):
        return failing(setattr, t.utils.deterministic, "fill_uninitialized_memory", 1), failing(
            t.nn.functional.nll_loss, t.ones(()), t.ones(())
        )

    agree(program)


def test_masks_of_masked_select_are_bools():
    def program(t):
        return [failing(t.masked_select, t.ones(2), t.ones(2).to(getattr(t, d))) for d in ("uint8", "int64", "bool")]

    agree(program)
