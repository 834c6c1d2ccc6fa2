"""Checkpoints that are damaged or mean harm: a clear error, never code run or memory misread."""

import io
import os
import pickle
import random
import struct
import zipfile
from collections import OrderedDict

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from functorch_core import torch as ours  # noqa: E402
from functorch_core.torch.compat.serialization import formats as fc  # noqa: E402
from functorch_core.torch.compat.serialization import unpickling  # noqa: E402

from .serialization_adapters import GLOBALS, WARNINGS, assert_same, ours_loaded, ours_saved, rewritten, theirs_saved  # noqa: E402

pytestmark = pytest.mark.filterwarnings(*WARNINGS)

# ---------------------------------------------------------------------------------- hostile pickles

REFUSED = (RuntimeError, pickle.UnpicklingError, ValueError, EOFError)


def must_not_rebuild(spec):
    """For files that must be refused before anything is made of them."""
    pytest.fail(f"a damaged tensor was let through: {spec}")


def with_pickle(data, **records):
    return rewritten(theirs_saved(torch.arange(6.0)), {"data.pkl": data, **records})


def pickled_call(module, name, *arguments):
    body = b"".join(pickle.dumps(a, 2)[2:-1] for a in arguments)
    return b"\x80\x02c" + f"{module}\n{name}\n".encode() + b"(" + body + b"tR."


class Evil:
    def __reduce__(self):
        return os.system, ("echo harm > harm",)


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("protocol", [2, 4])
def test_code_is_not_run(legacy, protocol, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    evil = [torch.ones(2), Evil()]
    saved = theirs_saved(evil, _use_new_zipfile_serialization=not legacy, pickle_protocol=protocol)
    with pytest.raises(pickle.UnpicklingError, match="posix.system"):
        ours_loaded(saved)
    assert os.listdir(tmp_path) == []


def test_refusal_names_the_global_and_the_remedy():
    saved = theirs_saved({"x": np.float64(1)})
    with pytest.raises(pickle.UnpicklingError) as error:
        ours_loaded(saved)
    message = str(error.value)
    assert "Weights only load failed" in message
    assert "numpy" in message and "torch.serialization.add_safe_globals" in message
    assert "weights_only=False" in message
    saved.seek(0)
    assert ours_loaded(saved, weights_only=False) == {"x": 1.0}


@pytest.mark.parametrize(
    "module, name, arguments",
    [
        ("builtins", "eval", ("1",)),
        ("__builtin__", "eval", ("1",)),
        ("builtins", "getattr", ("x", "y")),
        ("os", "system", ("true",)),
        ("nt", "system", ("true",)),
        ("sys", "exit", ()),
        ("torch.hub", "load", ("x",)),
        ("torch._utils", "_rebuild_tensor_v2.__globals__", ()),
        ("builtins", "bytearray", (1 << 50,)),
        ("builtins", "bytearray", (5,)),
        ("_codecs", "encode", ("x", "os")),
        ("builtins", "set", (5,)),
        ("builtins", "complex", ("1", "2")),
        ("collections", "Counter", ("abc",)),
        ("collections", "OrderedDict", ([1],)),
        ("torch", "float32", ()),
        ("torch", "FloatStorage", (5,)),
    ],
)
def test_calls_that_are_refused(module, name, arguments):
    with pytest.raises(pickle.UnpicklingError):
        ours_loaded(with_pickle(pickled_call(module, name, *arguments)))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80\x02",
        b"\x80\x02.",
        b"\x80\x02(.",
        b"\x80\xff.",
        b"\x80\x02h\x05.",
        b"\x80\x02X\xff\xff\xff\x7fab.",
        b"\x80\x04\x8d" + b"\xff" * 7 + b"\x7fa.",
        b"\x80\x02\x8b\xff\xff\xff\xff.",
        b"\x80\x02]]a}K\x01s.",
        b"\x80\x02}]K\x01s.",
        b"\x80\x02}(K\x01u.",
        b"\x80\x02K\x01K\x02R.",
        b"\x80\x02K\x01K\x02b.",
        b"\x80\x02K\x01)\x81.",
        b"\x80\x02K\x01Q.",
        b"\x80\x02)Q.",
        b"\x80\x02(t1.",
        b"ccollections\nOrderedDict\n)R]b.",
        b"ccollections\nOrderedDict\n}b.",
        b"c" + b"a" * 100,
        b"\x80\x02\xff.",
        b"I5\n.",
        b"\x80\x02X\x01\x00\x00\x00\xff.",
    ],
    ids=repr,
)
def test_malformed_pickles(data):
    # Writing an empty record is what the helper above would skip.
    saved = with_pickle(data or b"\x80")
    with pytest.raises(pickle.UnpicklingError):
        ours_loaded(saved)


def test_nesting_does_not_overflow_the_stack():
    depth = 200_000
    nested = b")" + b"\x85" * depth
    doubled = b")q\x00" + b"h\x00\x86q\x00" * 60
    for key in (nested, doubled):
        as_key = b"\x80\x02}" + key + b"K\x01s."
        in_set = b"\x80\x02c__builtin__\nset\n]" + key + b"a\x85R."
        for data in (as_key, in_set):
            with pytest.raises(pickle.UnpicklingError, match="nested more than"):
                ours_loaded(with_pickle(data))
    lists = b"\x80\x02" + b"]" * depth + b"a" * (depth - 1) + b"."
    loaded = ours_loaded(with_pickle(lists))
    assert isinstance(loaded, list)


def test_deep_legacy_pickle():
    header = theirs_saved(1, _use_new_zipfile_serialization=False).getvalue()
    end = header.index(b"\x80\x02K\x01.")
    body = b"\x80\x02})" + b"\x85" * 100_000 + b"K\x01s." + b"\x80\x02]."
    with pytest.raises(pickle.UnpicklingError, match="nested more than"):
        ours_loaded(io.BytesIO(header[:end] + body))


def test_allowed_class_cannot_be_altered():
    # BUILD on a class or a function of the allow list would change it for the whole process.
    for name in (b"torch._utils\n_rebuild_tensor_v2\n", b"torch\nTensor\n", b"torch\nSize\n"):
        with pytest.raises(pickle.UnpicklingError):
            ours_loaded(with_pickle(b"\x80\x02c" + name + b"}X\x01\x00\x00\x00aK\x01sb."))


class Point:
    def __init__(self, x):
        self.x = x


class Caller:
    def __call__(self):
        pytest.fail("an object of the file was called")


def test_only_what_is_allowed_is_called_or_made():
    allowed = {"m.Caller": Caller, "m.give": lambda: Point}
    call_instance = b"\x80\x02cm\nCaller\n)\x81)R."
    with pytest.raises(pickle.UnpicklingError, match="unrecognized function"):
        ours_loaded(with_pickle(call_instance), globals=allowed)
    make_of_result = b"\x80\x02cm\ngive\n)R)\x81."
    with pytest.raises(pickle.UnpicklingError, match="Can only create new object"):
        ours_loaded(with_pickle(make_of_result), globals=allowed)


@pytest.mark.parametrize("module", ["os", "posix", "nt", "sys"])
def test_blocked_modules_stay_blocked(module):
    data = pickled_call(module, "system", "true")
    allowed = {f"{module}.system": lambda *_: pytest.fail("called")}
    with pytest.raises(pickle.UnpicklingError, match="is blocked"):
        ours_loaded(with_pickle(data), globals=allowed)


@pytest.mark.parametrize("data", [None, 5, "text", [1], {}, fc.GlobalName("torch", "float32")])
def test_parameters_of_no_tensor(data):
    class Call:
        def __reduce__(self):
            return fc.GlobalName("torch._utils", "_rebuild_parameter"), (data, True, None)

    out = io.BytesIO()
    fc.save([Call()], out, describe=lambda obj: obj if isinstance(obj, fc.GlobalName) else None)
    out.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="parameter's data"):
        ours_loaded(out, rebuild=must_not_rebuild, globals={})


def test_safe_globals():
    saved = theirs_saved([Point(torch.ones(2))])
    name = f"{Point.__module__}.Point"
    loaded = ours_loaded(saved, globals={**GLOBALS, name: Point})
    assert type(loaded[0]) is Point and torch.equal(loaded[0].x, torch.ones(2))


def test_trusted_loading():
    saved = theirs_saved([Point(1), torch.ones(2)])
    asked = []

    def find_class(module, name):
        asked.append((module, name))
        return {"Point": Point, "OrderedDict": OrderedDict}[name]

    assert ours_loaded(saved, weights_only=False, find_class=find_class)[0].x == 1
    assert (Point.__module__, "Point") in asked
    saved.seek(0)
    assert ours_loaded(saved, weights_only=False, pickle_module=pickle)[0].x == 1
    with pytest.raises(RuntimeError, match="pickle_module"):
        ours_loaded(saved, pickle_module=pickle)


# -------------------------------------------------------------------------------- hostile tensors


def tensor_pickle(
    identity=None, offset=0, size=(2, 3), stride=(3, 1), grad=False, hooks=None, function="_rebuild_tensor_v2", extra=()
):
    """A pickle of one tensor with any arguments at all."""
    identity = identity or ("storage", fc.GlobalName("torch", "FloatStorage"), "0", "cpu", 6)

    class Bare(pickle._Pickler):
        dispatch = dict(pickle._Pickler.dispatch)

        def save_name(self, obj):
            self.write(b"c" + f"{obj.module}\n{obj.name}\n".encode())

        def persistent_id(self, obj):
            return identity if obj is marker else None

        dispatch[fc.GlobalName] = save_name

    class Call:
        def __reduce__(self):
            arguments = (marker, offset, size, stride, grad, hooks, *extra)
            return fc.GlobalName("torch._utils", function), arguments

    marker = object()
    out = io.BytesIO()
    Bare(out, 2).dump(Call())
    return out.getvalue()


def test_helper_makes_a_proper_tensor():
    loaded = ours_loaded(with_pickle(tensor_pickle()))
    assert torch.equal(loaded, torch.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize(
    "changes",
    [
        {"offset": 1},
        {"offset": -1},
        {"offset": 2**70},
        {"offset": 1.0},
        {"offset": True},
        {"size": (7,), "stride": (1,)},
        {"size": (-1, 3)},
        {"size": (2**40, 2**40), "stride": (0, 0)},
        {"size": (2**63,), "stride": (0,)},
        {"size": "ab"},
        {"size": 6},
        {"size": ((2, 3),)},
        {"stride": (3, -1)},
        {"stride": (3,)},
        {"stride": (2**62, 2**62)},
        {"stride": None},
        {"grad": 5},
        {"grad": "yes"},
        {"extra": (5,)},
        {"extra": (None, 1, 2, 3)},
        {"function": "_rebuild_tensor_v3"},
        {"function": "_rebuild_tensor_v3", "extra": ("torch.nonsense",)},
        {"function": "_rebuild_tensor_v3", "extra": ("torch.float64",)},
        {"function": "_rebuild_qtensor"},
        {"function": "_rebuild_parameter"},
    ],
    ids=str,
)
@pytest.mark.parametrize("trusted", [False, True])
def test_bad_tensors(changes, trusted):
    data = tensor_pickle(**changes)
    # Trusting a file means running its code, not reading outside of its storages.
    expected = (*REFUSED, TypeError, AttributeError) if trusted else REFUSED
    options = {"find_class": lambda m, n: {}[f"{m}.{n}"]} if trusted else {}
    options["rebuild"] = must_not_rebuild
    with pytest.raises((*expected, KeyError) if trusted else expected):
        ours_loaded(with_pickle(data), weights_only=not trusted, **options)


FLOATS = fc.GlobalName("torch", "FloatStorage")


@pytest.mark.parametrize(
    "identity",
    [
        ("storage", FLOATS, "0", "cpu", 7),
        ("storage", FLOATS, "0", "cpu", -1),
        ("storage", FLOATS, "0", "cpu", 2**70),
        ("storage", FLOATS, "0", "cpu", 6.0),
        ("storage", FLOATS, "1", "cpu", 6),
        ("storage", FLOATS, "../data/0", "cpu", 6),
        ("storage", FLOATS, "/etc/passwd", "cpu", 6),
        ("storage", FLOATS, 0, "cpu", 6),
        ("storage", FLOATS, "0", None, 6),
        ("storage", FLOATS, "0", "cpu"),
        ("storage", "FloatStorage", "0", "cpu", 6),
        ("storage", fc.GlobalName("torch", "Tensor"), "0", "cpu", 6),
        ("storage", fc.GlobalName("torch", "DoubleStorage"), "0", "cpu", 6),
        ("module", FLOATS, "0", "cpu", 6),
        (FLOATS,),
        ("storage", FLOATS, "0", "cpu", 6, ("1", 0, 3)),
    ],
    ids=str,
)
def test_bad_storages(identity):
    with pytest.raises(REFUSED):
        ours_loaded(with_pickle(tensor_pickle(identity=identity)), rebuild=must_not_rebuild)


def test_attributes_cannot_reach_internals():
    for name, good in (("note", True), ("__class__", False), ("__dict__", False)):
        tensor = torch.ones(2)
        tensor.__dict__[name] = "x"
        saved = theirs_saved(tensor)
        if good:
            assert ours_loaded(saved).note == "x"
        else:
            with pytest.raises(pickle.UnpicklingError, match="cannot have the saved attribute"):
                ours_loaded(saved)


# -------------------------------------------------------------------------------- damaged archives


def loads_or_refuses(data, want, **options):
    """Damage is reported by an error we promise, or does not change what is read."""
    try:
        got = ours_loaded(io.BytesIO(data) if isinstance(data, bytes) else data, **options)
    except REFUSED:
        return
    assert_same(got, want)


def small_checkpoint():
    base = torch.arange(12.0).reshape(3, 4)
    return {"a": base, "b": base[1:], "h": torch.ones(3, dtype=torch.float8_e5m2), "n": 3}


def test_truncated():
    want = small_checkpoint()
    data = theirs_saved(want).getvalue()
    for end in range(0, len(data), 7):
        with pytest.raises(REFUSED):
            ours_loaded(io.BytesIO(data[:end]))


def test_truncated_legacy():
    want = small_checkpoint()
    data = theirs_saved(want, _use_new_zipfile_serialization=False).getvalue()
    for end in range(len(data)):
        with pytest.raises(REFUSED):
            ours_loaded(io.BytesIO(data[:end]))


def test_empty_file():
    with pytest.raises(EOFError, match="Ran out of input"):
        ours_loaded(io.BytesIO())


@pytest.mark.parametrize("save", [ours_saved, theirs_saved], ids=["ours", "theirs"])
def test_flipped_bytes(save):
    want = small_checkpoint()
    data = save(want).getvalue()
    rng = random.Random(0)
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1 << rng.randrange(8)
        loads_or_refuses(bytes(damaged), want)


def test_random_damage():
    want = small_checkpoint()
    data = theirs_saved(want).getvalue()
    rng = random.Random(1)
    for _ in range(500):
        damaged = bytearray(data)
        for _ in range(rng.randrange(1, 30)):
            damaged[rng.randrange(len(data))] = rng.choice([0, 255, rng.randrange(256)])
        loads_or_refuses(bytes(damaged), want)


def test_random_damage_of_the_pickle():
    # With a right checksum around it, so that the unpickler sees the damage.
    data = zipfile.ZipFile(theirs_saved(small_checkpoint())).read("archive/data.pkl")
    rng = random.Random(2)
    for _ in range(1500):
        damaged = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            damaged[rng.randrange(len(data))] = rng.randrange(256)
        try:
            ours_loaded(with_pickle(bytes(damaged)), rebuild=lambda spec: check_inside(spec))
        except REFUSED:
            pass


def check_inside(spec):
    """Touch every element that the spec speaks of."""
    if isinstance(spec, fc.TensorSpec):
        width = spec.storage.itemsize
        strides = [step * width for step in spec.stride]
        count = int(np.prod(spec.size, dtype=object))
        if count < 10_000:
            start = spec.storage[spec.offset :] if count else spec.storage
            np.array(np.lib.stride_tricks.as_strided(start, spec.size, strides))
    return spec


def test_random_legacy_damage():
    want = small_checkpoint()
    data = theirs_saved(want, _use_new_zipfile_serialization=False).getvalue()
    rng = random.Random(3)
    for _ in range(1500):
        damaged = bytearray(data)
        damaged[rng.randrange(len(data))] = rng.randrange(256)
        try:
            ours_loaded(io.BytesIO(bytes(damaged)), rebuild=check_inside)
        except REFUSED:
            pass


def test_checksum_is_verified():
    saved = theirs_saved(torch.arange(6.0))
    data = bytearray(saved.getvalue())
    data[data.index(struct.pack("<f", 5.0))] ^= 1
    with pytest.raises(RuntimeError, match="CRC"):
        ours_loaded(io.BytesIO(bytes(data)))


def test_checkpoints_without_checksums():
    x, files = torch.arange(6.0), []
    for library in (torch, ours):
        library.serialization.set_crc32_options(False)
        try:
            files.append(io.BytesIO())
            library.save({"x": library.arange(6.0)}, files[-1])
        finally:
            library.serialization.set_crc32_options(True)
    for file in files:
        with zipfile.ZipFile(file) as archive:
            assert {info.CRC for info in archive.infolist()} == {0}
        file.seek(0)
        assert ours.load(file)["x"].tolist() == x.tolist()
        file.seek(0)
        assert torch.load(file)["x"].equal(x)


def test_files_are_read_into_memory():
    class File(io.BytesIO):
        sizes: list[int] = []

        def readinto(self, buffer):
            self.sizes.append(len(buffer))
            return super().readinto(buffer)

    saved = theirs_saved(torch.arange(600.0))
    file = File(saved.getvalue())
    assert ours.load(file).tolist() == list(range(600))
    assert 2400 in file.sizes


def test_mapped_damage(tmp_path):
    want = small_checkpoint()
    data = theirs_saved(want).getvalue()
    rng = random.Random(4)
    path = tmp_path / "x.pt"
    for _ in range(200):
        damaged = bytearray(data)
        damaged[rng.randrange(len(data) - 700, len(data))] = rng.randrange(256)
        path.write_bytes(damaged)
        try:
            ours_loaded(path, mmap=True, rebuild=check_inside)
        except REFUSED:
            pass


def test_mapped_record_beyond_the_end(tmp_path):
    saved = theirs_saved(torch.arange(6.0))
    start = zipfile.ZipFile(saved).getinfo("archive/data/0").header_offset
    data = bytearray(saved.getvalue())
    data[start + 28 : start + 30] = b"\xff\xff"
    (tmp_path / "x.pt").write_bytes(data)
    with pytest.raises(RuntimeError, match="beyond the end of the file"):
        ours_loaded(tmp_path / "x.pt", mmap=True)


def test_compressed_record_of_impossible_size():
    saved = theirs_saved(torch.zeros(600))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        for name in zipfile.ZipFile(saved).namelist():
            target.writestr(name, zipfile.ZipFile(saved).read(name))
    data = bytearray(out.getvalue())
    entry = data.rindex(b"archive/data/0") - 46
    assert data[entry : entry + 4] == b"PK\x01\x02"
    data[entry + 24 : entry + 28] = b"\xf0\xff\xff\xff"
    with pytest.raises(RuntimeError, match="more than the file can hold"):
        ours_loaded(io.BytesIO(bytes(data)))


def test_foreign_archives():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("hello.txt", "hi")
    with pytest.raises(RuntimeError, match="not a checkpoint"):
        ours_loaded(io.BytesIO(out.getvalue()))
    with pytest.raises(RuntimeError, match="torch.jit.load"):
        ours_loaded(rewritten(theirs_saved(1), {"constants.pkl": b"x"}))
    with pytest.raises(pickle.UnpicklingError):
        ours_loaded(io.BytesIO(b"\x00" * 1000))
    with pytest.raises(RuntimeError, match="magic number"):
        ours_loaded(io.BytesIO(pickle.dumps(5, 2)))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_ambiguous_archives():
    for extra in ("archive/data/0", "other/data.pkl"):
        saved = theirs_saved(torch.ones(2))
        with zipfile.ZipFile(saved, "a") as archive:
            archive.writestr(extra, b"\x80\x02N.")
        saved.seek(0)
        with pytest.raises(RuntimeError, match="failed reading zip archive"):
            ours_loaded(saved)


def test_compressed_records_are_read_but_not_mapped(tmp_path):
    source = zipfile.ZipFile(theirs_saved(torch.arange(600.0)))
    with zipfile.ZipFile(tmp_path / "x", "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            target.writestr(name, source.read(name))
    assert torch.equal(ours_loaded(tmp_path / "x"), torch.arange(600.0))
    with pytest.raises(RuntimeError, match="compressed"):
        ours_loaded(tmp_path / "x", mmap=True)


def test_every_opcode_of_torch_is_known():
    # What the protocols 2 to 5 can write, less what refers to the copyreg registry or buffers.
    missing = {
        name
        for name in dir(pickle)
        if name.isupper()
        and isinstance(getattr(pickle, name), bytes)
        and len(getattr(pickle, name)) == 1
        and getattr(pickle, name)[0] not in unpickling._handlers
    }
    text_or_rare = {
        "STRING",
        "UNICODE",
        "INT",
        "LONG",
        "FLOAT",
        "GET",
        "PUT",
        "INST",
        "OBJ",
        "DICT",
        "LIST",
        "DUP",
        "PERSID",
        "EXT1",
        "EXT2",
        "EXT4",
        "NEXT_BUFFER",
        "READONLY_BUFFER",
        "STOP",
    }
    assert missing <= text_or_rare
