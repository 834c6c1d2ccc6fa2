"""Checkpoints beside the usual: classes with slots, states of their own, shared maps, archives record by record."""

import copy
import io
import mmap
import pickle
import sys

import numpy as np
import pytest

from functorch_core import torch as ft
from tests.nn.both import agree, failing

torch = pytest.importorskip("torch")


class Slotted(ft.Tensor):
    __slots__ = ("element", "other")


class Stateful(ft.Tensor):
    __slots__ = ("element",)

    def __getstate__(self):
        return ("mine", self.element, self.__dict__)

    def __setstate__(self, state):
        mark, self.element, self.__dict__ = state
        self.reloaded = mark


@pytest.mark.parametrize("kind", [Slotted, Stateful])
def test_slots_of_subclasses_are_kept(kind):
    x = ft.arange(3.0).as_subclass(kind)
    x.element, x.label = ft.ones(2), "x"
    file = io.BytesIO()
    ft.save(x, file)
    file.seek(0)
    with ft.serialization.safe_globals([kind]):
        loaded = ft.load(file)
    pickled = [pickle.loads(pickle.dumps(x))] if kind is Slotted else []  # PyTorch's fails for the other, too
    for y in (copy.deepcopy(x), loaded, *pickled):
        assert type(y) is kind and y.label == "x" and y.element is not x.element
        np.testing.assert_array_equal(y.element.numpy(), np.ones(2))
        np.testing.assert_array_equal(y.numpy(), np.arange(3))
        assert not hasattr(y, "other")
    assert kind is Slotted or loaded.reloaded == "mine"
    assert type(pickle.loads(pickle.dumps(x.__dict__))) is dict


def test_what_is_written_to_a_shared_map_is_in_the_file(tmp_path):
    path, options = tmp_path / "x.pt", ft.serialization.set_default_mmap_options
    ft.save({"w": ft.zeros(2, 3), "b": ft.zeros(2)}, path)
    ft.load(path, mmap=True)["w"][0, 0] = 5.0
    assert float(ft.load(path)["w"].sum()) == 0
    with options(mmap.MAP_SHARED):
        assert ft.serialization.get_default_mmap_options() == mmap.MAP_SHARED
        loaded = ft.load(path, mmap=True)
        loaded["w"][0, 1] = 7.0
        loaded["w"] += 1
        again = ft.load(path, mmap=True)
    assert ft.serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    expected = np.array([[1, 8, 1], [1, 1, 1]])
    np.testing.assert_array_equal(loaded["w"].numpy(), expected)
    np.testing.assert_array_equal(again["w"].numpy(), expected)
    np.testing.assert_array_equal(again["b"].numpy(), np.zeros(2))


def test_archives_record_by_record(tmp_path):
    records = {"a": b"0123", "b/c": b"45"}
    for target in (tmp_path / "x.zip", io.BytesIO()):
        with ft.serialization._open_zipfile_writer(target) as archive:
            for name, data in records.items():
                archive.write_record(name, data, len(data))
            archive.write_record_metadata("later", 3)
        for library in (ft, torch):
            seen = target if target.__class__ is io.BytesIO else str(target)
            if seen is target:
                target.seek(0)
            with library.serialization._open_zipfile_reader(seen) as archive:
                assert {name: archive.get_record(name) for name in records} == records
                assert archive.get_record("later") == bytes(3) and archive.has_record("a")
                assert not archive.has_record("z")
    file = io.BytesIO()
    torch.save({"x": torch.arange(3)}, file)
    file.seek(0)
    with ft.serialization._open_zipfile_reader(file) as archive:
        assert archive.get_record("byteorder") == sys.byteorder.encode()
        start = archive.get_record_offset("data/0")
        assert file.getvalue()[start : start + 24] == np.arange(3).tobytes()
        assert archive.get_storage_from_record("data/0", 2, ft.int64).tolist() == [0, 1]


def test_capsules_buffers_and_numpy_scalars_as_arrays():
    def program(t):
        x = t.arange(3.0)
        shared = t.asarray(t.utils.dlpack.to_dlpack(x), copy=False)
        copied = t.asarray(t.utils.dlpack.to_dlpack(x), copy=True, dtype=t.float64)
        x += 1
        errors = failing(t.frombuffer, [1, 2], dtype=t.int64), failing(t.asarray, np.float64(0.5), copy=False)
        return shared, copied, errors, t.asarray(np.float64(0.5))

    agree(program)
