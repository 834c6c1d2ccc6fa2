"""Checkpoints exchanged with real PyTorch, both ways."""

import io
import os
import pickle
import stat
import struct
import subprocess
import sys
import textwrap
import zipfile
from collections import Counter, OrderedDict

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from functorch_core.torch.compat.serialization import formats as fc  # noqa: E402

from .serialization_adapters import (  # noqa: E402
    DTYPES,
    NUMPY_DTYPES,
    WARNINGS,
    Rebuild,
    assert_same,
    describe,
    example,
    ours_loaded,
    ours_saved,
    rewritten,
    theirs_saved,
)

pytestmark = pytest.mark.filterwarnings(*WARNINGS)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def trained_state():
    """State dicts of a small model and its optimizers after a step."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.Flatten(), torch.nn.LazyLinear(3)
    )
    model(torch.randn(2, 1, 5, 5))
    states = {"model": model.state_dict()}
    for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.RMSprop):
        optimizer = kind(model.parameters(), lr=0.1)
        model(torch.randn(2, 1, 5, 5)).sum().backward()
        optimizer.step()
        states[kind.__name__] = optimizer.state_dict()
    return states


def cases():
    base = torch.arange(24.0).reshape(4, 6)
    complexes = torch.arange(6.0).to(torch.complex64).reshape(2, 3)
    tagged = torch.ones(2)
    tagged.note = "hello"
    return {
        "views sharing a storage": [base, base.T, base[1:, ::2], base[2], base.view(-1)[5:5]],
        "same tensor twice": [base, base],
        "scalar": torch.tensor(3.5),
        "scalar in a storage": base[1, 2],
        "empty": [torch.empty(0), torch.empty(0, 3), torch.empty(2, 0, dtype=torch.int8)],
        "expanded": torch.ones(1).expand(5, 3),
        "requires grad": torch.ones(2, requires_grad=True),
        "parameter": torch.nn.Parameter(base[1:]),
        "frozen parameter": torch.nn.Parameter(torch.ones(2, dtype=torch.int32), False),
        "conjugate": [complexes, complexes.conj()],
        "negated": complexes.conj().imag,
        "attributes": tagged,
        "state dicts": trained_state(),
        "plain": [1, -1, 2**70, 2.5, True, None, "text", "\u20ac", b"bytes", (), (1,), (1, 2, 3)],
        "containers": {"d": {1: [2, (3, {4: 5})]}, "s": {1, 2}, "o": OrderedDict(a=1), 5: 1j},
        "counter": Counter("abca"),
        "bytearray": bytearray(b"abc"),
        "size": base.size(),
        "dtypes": [torch.float32, torch.bfloat16, torch.uint16, torch.bool],
        "device": [torch.device("cpu"), torch.device("cuda", 1)],
        "many": [torch.full((2,), float(i)) for i in range(300)],
        "byte views of float8": [(eight := torch.zeros(4, dtype=torch.float8_e5m2)), eight.view(torch.uint8)],
    }


CASES = cases()


# -------------------------------------------------------------------------------- exchange of files


@pytest.mark.parametrize("name", CASES)
def test_torch_reads_ours(name):
    assert_same(torch.load(ours_saved(CASES[name]), weights_only=True), CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_ours_reads_torch(name):
    saved = theirs_saved(CASES[name])
    assert_same(ours_loaded(saved), CASES[name])
    saved.seek(0)
    assert_same(ours_loaded(saved, weights_only=False), CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_ours_reads_ours(name):
    assert_same(ours_loaded(ours_saved(CASES[name])), CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_ours_reads_legacy(name):
    saved = theirs_saved(CASES[name], _use_new_zipfile_serialization=False)
    assert_same(ours_loaded(saved), CASES[name])
    assert saved.tell() == len(saved.getvalue())
    saved.seek(0)
    assert_same(ours_loaded(saved, weights_only=False), CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_pickle_is_byte_for_byte_that_of_torch(name):
    records = []
    for saved in (ours_saved(CASES[name]), theirs_saved(CASES[name])):
        archive = zipfile.ZipFile(saved)
        wanted = [n for n in archive.namelist() if "/data" in n or "byteorder" in n]
        records.append({n: archive.read(n) for n in wanted})
    assert records[0] == records[1]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(3, 4), (), (0, 2), (5,)], ids=str)
def test_every_dtype(dtype, shape):
    whole = example(dtype, shape)
    tensors = {"whole": whole, "view": whole[1:] if shape else whole, "p": whole.clone()}
    assert_same(torch.load(ours_saved(tensors), weights_only=True), tensors)
    for legacy in (False, True):
        saved = theirs_saved(tensors, _use_new_zipfile_serialization=not legacy)
        rebuild = Rebuild()
        assert_same(ours_loaded(saved, rebuild=rebuild), tensors)
        assert all(spec.storage.dtype == NUMPY_DTYPES[str(dtype)] for spec in rebuild.specs)


def test_cyclic_list():
    cyclic = [torch.ones(2)]
    cyclic.append(cyclic)
    for loaded in (torch.load(ours_saved(cyclic)), ours_loaded(theirs_saved(cyclic))):
        assert loaded[1] is loaded
        assert torch.equal(loaded[0], cyclic[0])


def test_storages_are_shared_as_objects():
    base = torch.arange(6.0)
    rebuild = Rebuild()
    loaded = ours_loaded(theirs_saved([base, base[2:], base.clone()]), rebuild=rebuild)
    first, second, third = rebuild.specs
    assert first.storage is second.storage and first.storage_key == second.storage_key
    assert first.storage is not third.storage and first.storage_key != third.storage_key
    loaded[0][3] = -1
    assert loaded[1][1] == -1
    theirs = torch.load(ours_saved([base, base[2:]]))
    theirs[0][3] = -1
    assert theirs[1][1] == -1


def test_saved_storage_comes_back_as_spec():
    storage = torch.arange(3, dtype=torch.uint8).untyped_storage()
    assert isinstance(torch.load(ours_saved(storage)), torch.TypedStorage)
    assert torch.load(ours_saved(storage)).tolist() == [0, 1, 2]
    spec = ours_loaded(theirs_saved(storage))
    assert isinstance(spec, fc.StorageSpec) and spec.storage.tolist() == [0, 1, 2]


def test_bits_of_rebuilt_storage_are_writable():
    rebuild = Rebuild()
    ours_loaded(theirs_saved(torch.ones(3)), rebuild=rebuild)
    rebuild.specs[0].storage[0] = 5


def test_torch_loads_ours_mapped_and_as_meta(tmp_path):
    path = tmp_path / "model.pt"
    tensors = [torch.arange(5.0), torch.ones(3, dtype=torch.int8), torch.zeros(70)]
    fc.save(tensors, path, describe=describe)
    assert_same(torch.load(path, mmap=True), tensors)
    assert [t.shape for t in torch.load(path, map_location="meta")] == [t.shape for t in tensors]
    assert zipfile.ZipFile(path).namelist()[0] == "model/data.pkl"


def test_whole_module_by_name():
    saved = ours_saved(torch.nn.Linear(2, 2))
    loaded = torch.load(saved, weights_only=False)
    assert isinstance(loaded, torch.nn.Linear)
    with pytest.raises(pickle.UnpicklingError, match="torch.nn.modules.linear.Linear"):
        saved.seek(0)
        ours_loaded(saved)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_pickle_protocols(protocol):
    obj = {"t": torch.arange(3.0), "b": b"x" * 300, "s": {1}, "d": torch.float16, "long": 1 << 3000}
    saved = ours_saved(obj, pickle_protocol=protocol)
    assert_same(ours_loaded(saved), obj)
    saved.seek(0)
    assert_same(torch.load(saved, weights_only=False), obj)
    assert_same(ours_loaded(theirs_saved(obj, pickle_protocol=protocol)), obj)


def test_archive_layout():
    archive = zipfile.ZipFile(saved := ours_saved([torch.ones(3), torch.ones(5)]))
    assert archive.testzip() is None
    names = [name.removeprefix("archive/") for name in archive.namelist()]
    assert names == ["data.pkl", "byteorder", "data/0", "data/1", "version", ".data/serialization_id"]
    assert archive.read("archive/version") == b"3\n"
    assert archive.read("archive/byteorder") == sys.byteorder.encode()
    assert len(archive.read("archive/.data/serialization_id")) == 40
    for info in archive.infolist():
        raw = saved.getvalue()
        lengths = struct.unpack("<HH", raw[info.header_offset + 26 : info.header_offset + 30])
        assert (info.header_offset + 30 + sum(lengths)) % 64 == 0


def test_large_record_has_eight_byte_sizes(monkeypatch):
    # The real limit is 2 GiB; zipfile and the writer share this number.
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 1000)
    tensors = [torch.arange(1000.0), torch.ones(2), torch.arange(500.0)]
    saved = ours_saved(tensors)
    assert_same(torch.load(saved), tensors)
    saved.seek(0)
    assert_same(ours_loaded(saved), tensors)


NO_TORCH = """
    import io, sys
    sys.modules["torch"] = None
    import numpy as np
    from functorch_core.torch.compat.serialization import formats as fc

    class Mine:
        pass

    class Linear:
        pass

    Linear.__module__ = "torch.nn.modules.linear"
    array = np.arange(6, dtype=np.float32)
    spec = fc.TensorSpec(1, array, "torch.float32", 1, (2, 2), (2, 1))

    def describe(obj):
        return spec if isinstance(obj, Mine) else None

    fc.save({"mine": Mine(), "class": Linear}, sys.argv[1], describe=describe)
    loaded = fc.load(sys.argv[1], rebuild=lambda spec: spec,
                     globals={"torch.nn.modules.linear.Linear": Linear})
    assert loaded["class"] is Linear
    assert loaded["mine"].storage.tolist() == array.tolist()
    assert not any(name.startswith("torch.") for name in sys.modules)
"""


def test_without_torch(tmp_path):
    path = tmp_path / "x.pt"
    code = textwrap.dedent(NO_TORCH)
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, cwd=ROOT, timeout=60)
    loaded = torch.load(path, weights_only=False)
    assert loaded["class"] is torch.nn.Linear
    assert loaded["mine"].tolist() == [[1, 2], [3, 4]]


# -------------------------------------------------------------------------------- what save refuses


def spec_of(**changes):
    fields = {"storage_key": 1, "storage": np.zeros(6, np.float32), "dtype": "torch.float32"}
    fields |= {"offset": 0, "size": (2, 3), "stride": (3, 1)}
    return fc.TensorSpec(**(fields | changes))


class Marked:
    """What the tests below describe by a spec of their own."""


def save_spec(spec, file=None):
    def describe_marked(obj):
        return spec if isinstance(obj, Marked) else None

    file = io.BytesIO() if file is None else file
    fc.save(Marked(), file, describe=describe_marked)


@pytest.mark.parametrize(
    "changes", [{"offset": 1}, {"offset": -1}, {"size": (3, 3)}, {"stride": (-3, 1)}, {"stride": (1,)}], ids=str
)
def test_save_refuses_layouts_outside_the_storage(changes):
    with pytest.raises(RuntimeError, match="damaged tensor"):
        save_spec(spec_of(**changes))


def test_save_refuses_wrong_storages():
    with pytest.raises(TypeError, match="1-d"):
        save_spec(spec_of(storage=np.zeros((2, 3), np.float32)))
    with pytest.raises(TypeError, match="torch.qint8"):
        save_spec(spec_of(dtype="torch.qint8"))
    with pytest.raises(TypeError, match="describe must return"):
        save_spec("nonsense")


def test_save_refuses_one_storage_of_two_dtypes():
    base = torch.arange(4, dtype=torch.int32)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        torch.save([base, base.view(torch.float32)], io.BytesIO())
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        ours_saved([base, base.view(torch.float32)])


def test_save_swaps_foreign_byte_order():
    storage = np.arange(6, dtype=">f4")
    buffer = io.BytesIO()
    save_spec(spec_of(storage=storage), buffer)
    buffer.seek(0)
    assert torch.load(buffer).flatten().tolist() == list(range(6))


def test_save_refuses_what_cannot_be_pickled():
    with pytest.raises((pickle.PicklingError, AttributeError)):
        ours_saved(lambda: 0)
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(RecursionError, match="nested too deeply"):
        ours_saved(deep)


def test_save_needs_a_file():
    with pytest.raises(AttributeError, match="write"):
        fc.save(1, 3, describe=describe)


# ------------------------------------------------------------------------------------- map_location


@pytest.mark.parametrize(
    "map_location, place",
    [
        (None, "cuda:1"),
        ("cpu", "cpu"),
        (torch.device("cuda", 0), "cuda:0"),
        ({"cuda:1": "cpu"}, "cpu"),
        ({"cuda:0": "cpu"}, "cuda:1"),
        (lambda storage, location: storage, "cpu"),
        (lambda storage, location: storage.cuda(3), "cuda:3"),
        (lambda storage, location: None, "cuda:1"),
        (lambda storage, location: location, "cuda:1"),
    ],
)
def test_map_location(map_location, place):
    buffer = io.BytesIO()
    save_spec(spec_of(location="cuda:1"), buffer)
    rebuild = Rebuild()
    buffer.seek(0)
    ours_loaded(buffer, map_location=map_location, rebuild=rebuild)
    assert rebuild.specs[0].location == place


# -------------------------------------------------------------------------------------------- files


class Path(os.PathLike):
    def __init__(self, path):
        self.path = path

    def __fspath__(self):
        return str(self.path)


def test_kinds_of_files(tmp_path):
    tensor = torch.arange(3.0)
    for file in (str(tmp_path / "a.pt"), tmp_path / "b.pt", Path(tmp_path / "c")):
        fc.save(tensor, file, describe=describe)
        assert torch.equal(torch.load(os.fspath(file)), tensor)
        assert torch.equal(ours_loaded(file), tensor)
    with open(tmp_path / "d", "wb", buffering=0) as file:
        fc.save(tensor, file, describe=describe)
    with open(tmp_path / "d", "rb", buffering=0) as file:
        assert torch.equal(ours_loaded(file), tensor)


def test_write_only_file():
    class Stream:
        data = b""

        def write(self, data):
            self.data += bytes(data[:100])
            return min(len(data), 100)

    stream = Stream()
    fc.save(torch.arange(300.0), stream, describe=describe)
    assert torch.equal(torch.load(io.BytesIO(stream.data)), torch.arange(300.0))


def test_file_not_at_its_start():
    buffer = io.BytesIO(b"x" * 101)
    buffer.seek(101)
    fc.save(torch.arange(300.0), buffer, describe=describe)
    for load in (torch.load, ours_loaded):
        buffer.seek(101)
        assert torch.equal(load(buffer), torch.arange(300.0))


def test_legacy_files_in_a_row():
    buffer = io.BytesIO()
    for value in (1.0, 2.0):
        torch.save(torch.full((2,), value), buffer, _use_new_zipfile_serialization=False)
    buffer.seek(0)
    assert [ours_loaded(buffer)[0].item() for _ in range(2)] == [1.0, 2.0]


def test_mmap(tmp_path):
    path = tmp_path / "x.pt"
    tensors = [torch.arange(5.0), torch.ones(3, dtype=torch.bfloat16), torch.empty(0)]
    for save in (torch.save, lambda obj, file: fc.save(obj, file, describe=describe)):
        save(tensors, path)
        before = path.read_bytes()
        rebuild = Rebuild()
        assert_same(ours_loaded(path, mmap=True, rebuild=rebuild), tensors)
        assert type(rebuild.specs[0].storage) is np.ndarray
        assert not rebuild.specs[0].storage.flags.owndata
        rebuild.specs[0].storage[0] = 7
        assert path.read_bytes() == before


def test_mmap_needs_a_zip_path(tmp_path):
    with pytest.raises(ValueError, match="f must be a file path"):
        ours_loaded(theirs_saved(torch.ones(2)), mmap=True)
    torch.save(torch.ones(2), tmp_path / "x", _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="mmap can only be used"):
        ours_loaded(tmp_path / "x", mmap=True)


def test_not_a_file():
    with pytest.raises(AttributeError, match="pre-load the data"):
        ours_loaded(3)
    with pytest.raises(FileNotFoundError):
        ours_loaded("/nonexistent/file.pt")


# -------------------------------------------------------------------------- replacing a file safely


def test_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x.pt"
    fc.save(torch.ones(3), path, describe=describe)
    before = path.read_bytes()
    with pytest.raises((pickle.PicklingError, AttributeError)):
        fc.save([torch.ones(2), lambda: 0], path, describe=describe)

    def fail(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        fc.save(torch.zeros(3), path, describe=describe)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["x.pt"]


def test_new_file_is_not_left_half(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "replace", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        fc.save(torch.ones(3), tmp_path / "x.pt", describe=describe)
    assert os.listdir(tmp_path) == []


KILLED = """
    import os, sys
    import numpy as np
    from functorch_core.torch.compat.serialization import formats as fc
    from functorch_core.torch.compat.serialization import archive

    write = archive.ArchiveWriter.write

    def die(self, name, data):
        write(self, name, data)
        if name == "data/0":
            os._exit(9)

    archive.ArchiveWriter.write = die
    spec = fc.TensorSpec(1, np.zeros(10**6), "torch.float64", 0, (10**6,), (1,))
    fc.save(Ellipsis, sys.argv[1], describe=lambda obj: spec if obj is Ellipsis else None)
"""


def test_process_killed_in_the_middle(tmp_path):
    path = tmp_path / "x.pt"
    fc.save(torch.ones(3), path, describe=describe)
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(path)]
    assert subprocess.run(command, cwd=ROOT, timeout=60).returncode == 9
    assert torch.equal(torch.load(path), torch.ones(3))


def test_failing_file_object_is_not_finished():
    class Full(io.BytesIO):
        def write(self, data):
            if self.tell() > 500:
                raise OSError(28, "No space left on device")
            return super().write(data)

    file = Full()
    with pytest.raises(OSError, match="No space"):
        fc.save(torch.ones(1000), file, describe=describe)
    with pytest.raises(RuntimeError, match="failed reading zip archive"):
        ours_loaded(io.BytesIO(file.getvalue()))


def test_file_object_that_fails_once_is_not_finished():
    class Flaky(io.BytesIO):
        has_failed = False

        def write(self, data):
            if self.tell() > 500 and not self.has_failed:
                self.has_failed = True
                raise OSError(5, "Input/output error")
            return super().write(data)

    file = Flaky()
    with pytest.raises(OSError, match="Input/output"):
        fc.save(torch.ones(1000), file, describe=describe)
    assert b"PK\x05\x06" not in file.getvalue()


def test_reads_of_less_than_asked_for():
    class Slow(io.BytesIO):
        def read(self, size=-1):
            return super().read(min(size, 1000) if size > 0 else size)

    want = torch.arange(5000.0)
    saved = theirs_saved(want, _use_new_zipfile_serialization=False)
    assert torch.equal(ours_loaded(Slow(saved.getvalue())), want)


@pytest.mark.skipif(os.name == "nt", reason="permissions and links of POSIX")
def test_permissions_and_links(tmp_path):
    path = tmp_path / "x.pt"
    old = os.umask(0o027)
    try:
        fc.save(1, path, describe=describe)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    link = tmp_path / "link.pt"
    link.symlink_to("x.pt")
    fc.save(2, link, describe=describe)
    assert link.is_symlink() and stat.S_IMODE(path.stat().st_mode) == 0o604
    assert torch.load(path) == 2
    fc.save(3, "/dev/null", describe=describe)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_missing_directory(tmp_path):
    with pytest.raises(RuntimeError, match="Parent directory .* does not exist"):
        fc.save(1, tmp_path / "no" / "x.pt", describe=describe)
    with pytest.raises(RuntimeError, match="is a directory"):
        fc.save(1, tmp_path, describe=describe)


def test_long_names(tmp_path):
    path = tmp_path / ("n" * 250)
    fc.save(torch.ones(1), path, describe=describe)
    assert torch.equal(torch.load(path), torch.ones(1))
    path = tmp_path / "\u20ac\u20ac.pt"
    fc.save(torch.ones(1), path, describe=describe)
    assert torch.equal(torch.load(path), torch.ones(1))


# -------------------------------------------------------------------------------------- byte order


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("mapped", [False, True])
def test_big_endian(dtype, mapped, tmp_path):
    tensor = example(dtype)
    saved = theirs_saved([tensor, tensor[1:]])
    width = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
    raw = np.frombuffer(zipfile.ZipFile(saved).read("archive/data/0"), f"u{width}").byteswap()
    big = rewritten(saved, {"byteorder": b"big", "data/0": raw.tobytes()})
    if mapped:
        (tmp_path / "big.pt").write_bytes(big.getvalue())
        big = tmp_path / "big.pt"
    assert_same(ours_loaded(big, mmap=mapped), [tensor, tensor[1:]])


def test_big_endian_storage_of_two_widths():
    # Half of a swapped storage cannot be read as numbers of another width.
    base = torch.arange(8, dtype=torch.uint8)
    views = [base.view(torch.uint16), base, base.view(torch.uint32)]
    loaded = ours_loaded(rewritten(theirs_saved(views[:2]), {"byteorder": b"big"}))
    assert loaded[0].tolist() == [0x0001, 0x0203, 0x0405, 0x0607]
    with pytest.raises(RuntimeError, match="2-byte and as 4-byte"):
        ours_loaded(rewritten(theirs_saved(views), {"byteorder": b"big"}))


def test_mapped_record_that_is_not_aligned(tmp_path):
    for gap in (b"", b"x", b"xy", b"xyz"):
        source, path = zipfile.ZipFile(theirs_saved(torch.arange(6.0))), tmp_path / "x.pt"
        with zipfile.ZipFile(path, "w") as target:
            for name in source.namelist():
                target.writestr(name, source.read(name))
                if name.endswith("/byteorder"):
                    target.writestr("archive/gap", gap)
        rebuild = Rebuild()
        assert torch.equal(ours_loaded(path, mmap=True, rebuild=rebuild), torch.arange(6.0))
        assert rebuild.specs[0].storage.flags.aligned


def test_byteorder_missing_or_unknown():
    saved = theirs_saved(torch.ones(2))
    assert torch.equal(ours_loaded(rewritten(saved, {}, drop=["byteorder"])), torch.ones(2))
    with pytest.raises(ValueError, match="Unknown endianness"):
        ours_loaded(rewritten(saved, {"byteorder": b"middle"}))
