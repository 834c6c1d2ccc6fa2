"""torch.save and torch.load on tensors: both ways with real PyTorch, and by ourselves."""

import collections
import copy
import io
import pickle
import tarfile

import numpy as np
import pytest

from functorch_core import torch

reference = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")

DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex32",
    "complex64",
    "complex128",
    "uint16",
    "uint32",
    "uint64",
    "float8_e4m3fn",
    "float8_e5m2",
]
DIRECTIONS = [(torch, reference), (reference, torch), (torch, torch)]
WAYS = pytest.mark.parametrize("source, target", DIRECTIONS, ids=["to", "from", "ours"])


def sent(source, target, obj, **options):
    """The object, saved by one library and loaded by the other."""
    buffer = io.BytesIO()
    source.save(obj, buffer)
    buffer.seek(0)
    return target.load(buffer, **options)


def facts(lib, tensor):
    plain = tensor.detach()
    values = plain.to(lib.float64) if "float8" in str(plain.dtype) else plain
    return (
        str(tensor.dtype),
        tuple(tensor.shape),
        tuple(tensor.stride()),
        tensor.storage_offset(),
        tensor.requires_grad,
        type(tensor).__name__,
        values.tolist(),
    )


# ---- tensors -------------------------------------------------------------------------------------


@WAYS
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
def test_every_dtype(source, target, dtype):
    tensor = source.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 0.5]]).to(getattr(source, dtype))
    assert facts(target, sent(source, target, tensor)) == facts(source, tensor)


LAYOUTS = {
    "scalar": lambda t: t.tensor(3.5),
    "empty": lambda t: t.zeros(0, 3),
    "transposed": lambda t: t.arange(6.0).reshape(2, 3).t(),
    "channels last": lambda t: t.arange(24.0).reshape(1, 2, 3, 4).to(memory_format=t.channels_last),
    "middle": lambda t: t.arange(12.0)[3:9],
    "strided": lambda t: t.arange(12.0)[1::3],
    "expanded": lambda t: t.arange(3.0).expand(4, 3),
    "diagonal": lambda t: t.arange(9.0).reshape(3, 3).diagonal(),
    "requires grad": lambda t: t.ones(2, requires_grad=True),
    "parameter": lambda t: t.nn.Parameter(t.arange(3.0)),
    "frozen parameter": lambda t: t.nn.Parameter(t.arange(3.0), requires_grad=False),
}


@WAYS
@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(source, target, name):
    tensor = LAYOUTS[name](source)
    assert facts(target, sent(source, target, tensor)) == facts(source, tensor)


@WAYS
def test_shared_memory_stays_shared(source, target):
    base = source.arange(12.0).reshape(3, 4)
    loaded = sent(source, target, [base[1], base, base.t(), base])
    loaded[1][1, 0] = 100
    assert loaded[0][0].item() == loaded[2][0, 1].item() == 100
    assert loaded[1] is loaded[3]


@WAYS
def test_tied_parameters_stay_tied(source, target):
    weight = source.nn.Parameter(source.ones(2))
    loaded = sent(source, target, {"a": weight, "b": weight})
    assert loaded["a"] is loaded["b"]


@WAYS
def test_lazy_conjugate_and_plain_objects(source, target):
    loaded = sent(
        source,
        target,
        {
            "conj": (source.ones(2) * 1j).conj(),
            "dtype": source.bfloat16,
            "size": source.Size([2, 3]),
            "device": source.device("cuda", 1),
            "nested": [(1, 2.5, "x", None, True)],
        },
    )
    assert loaded["conj"].tolist() == [-1j, -1j]
    assert loaded["dtype"] is target.bfloat16 and type(loaded["size"]) is target.Size
    assert loaded["device"] == target.device("cuda:1")
    assert loaded["nested"] == [(1, 2.5, "x", None, True)]


@WAYS
def test_attributes(source, target):
    tensor, parameter = source.ones(2), source.nn.Parameter(source.ones(1))
    tensor.tag, parameter.lr_scale = "x", 0.5
    loaded = sent(source, target, [tensor, parameter])
    assert loaded[0].tag == "x" and loaded[1].lr_scale == 0.5


@WAYS
def test_storages(source, target):
    tensor = source.arange(4.0)
    typed = sent(source, target, {"storage": tensor.storage(), "view": tensor[1:]})
    typed["view"][0] = 9
    assert typed["storage"].tolist() == [0, 9, 2, 3]
    assert len(sent(source, target, tensor.untyped_storage())) == 16


@WAYS
def test_generator(source, target):
    generator = source.Generator().manual_seed(7)
    source.rand(3, generator=generator)
    loaded = sent(source, target, generator, weights_only=False)
    assert loaded.initial_seed() == 7
    assert target.rand(5, generator=loaded).tolist() == source.rand(5, generator=generator).tolist()


def test_non_leaf_is_loaded_as_leaf():
    tensor = torch.ones(2, requires_grad=True) * 2
    loaded = sent(torch, reference, tensor)
    assert loaded.requires_grad and loaded.is_leaf


# ---- modules and optimizers ----------------------------------------------------------------------


def model_and_optimizer(lib):
    lib.manual_seed(0)
    model = lib.nn.Sequential(
        lib.nn.Conv2d(1, 2, 3), lib.nn.BatchNorm2d(2), lib.nn.ReLU(), lib.nn.Flatten(), lib.nn.Linear(8, 3)
    )
    return model, lib.optim.AdamW(model.parameters(), lr=1e-2)


def train_step(lib, model, optimizer):
    lib.manual_seed(1)
    out = model(lib.rand(5, 1, 4, 4))
    optimizer.zero_grad()
    out.square().sum().backward()
    optimizer.step()
    return out.detach().numpy()


@pytest.mark.parametrize("source, target", DIRECTIONS[:2], ids=["to", "from"])
def test_training_goes_on_in_the_other_library(source, target):
    model, optimizer = model_and_optimizer(source)
    train_step(source, model, optimizer)
    state = sent(source, target, {"model": model.state_dict(), "optimizer": optimizer.state_dict()})
    other, other_optimizer = model_and_optimizer(target)
    other.load_state_dict(state["model"])
    other_optimizer.load_state_dict(state["optimizer"])
    for _ in range(2):
        np.testing.assert_allclose(
            train_step(target, other, other_optimizer), train_step(source, model, optimizer), atol=1e-6
        )


@WAYS
def test_whole_modules(source, target):
    model, _ = model_and_optimizer(source)
    with pytest.raises(pickle.UnpicklingError):
        sent(source, target, model)
    loaded = sent(source, target, model, weights_only=False)
    x = np.linspace(0, 1, 32, dtype=np.float32).reshape(2, 1, 4, 4)
    np.testing.assert_allclose(
        loaded(target.from_numpy(x)).detach().numpy(), model(source.from_numpy(x)).detach().numpy(), atol=1e-6
    )
    assert type(loaded) is target.nn.Sequential


@WAYS
def test_state_dict_keeps_its_metadata(source, target):
    state = sent(source, target, source.nn.BatchNorm1d(2).state_dict())
    assert type(state) is collections.OrderedDict and state._metadata[""]["version"] == 2


# ---- places, options, errors ---------------------------------------------------------------------


CUDA_FILE = "cuda:0"


def saved_as_on_cuda() -> io.BytesIO:
    """A checkpoint whose tensors say that they were on a GPU."""
    from functorch_core.torch.compat.serialization import formats as engine

    spec = engine.TensorSpec(0, np.arange(3, dtype=np.float32), "torch.float32", 0, (3,), (1,), location=CUDA_FILE)
    buffer = io.BytesIO()
    engine.save({"x": object()}, buffer, describe=lambda obj: spec if type(obj) is object else None)
    buffer.seek(0)
    return buffer


@pytest.mark.parametrize(
    "where",
    [
        "cpu",
        torch.device("cpu"),
        {"cuda:0": "cpu"},
        lambda storage, location: storage,
        lambda storage, location: storage.cpu(),
    ],
)
def test_map_location(where):
    loaded = torch.load(saved_as_on_cuda(), map_location=where)
    assert loaded["x"].tolist() == [0, 1, 2] and loaded["x"].device.type == "cpu"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_gpu_tensors_without_a_gpu():
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        torch.load(saved_as_on_cuda())


def test_mmap_and_paths(tmp_path):
    path = tmp_path / "x.pt"
    reference.save({"x": reference.arange(1000.0)}, path)
    mapped = torch.load(path, mmap=True)["x"]
    mapped[0] = 5
    assert mapped[:2].tolist() == [5, 1]
    assert torch.load(str(path))["x"][0].item() == 0
    with pytest.raises(ValueError, match="mmap"):
        torch.load(io.BytesIO(path.read_bytes()), mmap=True)


OLD_OBJECTS = {
    "dict": lambda t: {"x": t.arange(3.0), "n": 1},
    "views": lambda t: (lambda x: [x, x.T, x[1], x[:, ::2]])(t.arange(12.0).reshape(3, 4)),
    "parameter": lambda t: t.nn.Parameter(t.ones(2)),
    "complex": lambda t: t.tensor([1 + 2j]),
    "bool": lambda t: t.tensor([True, False]),
    "no dimensions": lambda t: t.tensor(3),
    "empty": lambda t: t.zeros(0, 3),
    "many": lambda t: [t.full((2,), i) for i in range(12)],
}


@pytest.mark.parametrize("protocol, weights_only", [(2, True), (2, False), (4, False)])
@pytest.mark.parametrize("name", OLD_OBJECTS)
def test_legacy_files_both_ways(name, weights_only, protocol, tmp_path):
    path = tmp_path / "old.pt"
    for writer, reader in ((reference, torch), (torch, reference), (torch, torch)):
        made = OLD_OBJECTS[name](writer)
        writer.save(made, path, pickle_protocol=protocol, _use_new_zipfile_serialization=False)
        assert path.read_bytes()[:2] != b"PK"
        assert str(reader.load(path, weights_only=weights_only)) == str(made)


def old_tar(path, flag: bytes = b"\x80\x02"):
    """A file as PyTorch before 0.1.10 wrote it: two tensors over one storage."""

    def name(text: str) -> bytes:
        return b"ctorch\n" + text.encode() + b"\n"

    def plain(x) -> bytes:
        return pickle.dumps(x, 2)

    data = np.arange(6, dtype=np.float32)
    storages = plain(1) + flag + b"(K\x07X\x03\x00\x00\x00cpu" + name("FloatStorage") + b"t."
    storages += np.int64(6).tobytes() + data.tobytes() + plain([])
    tensors = plain(2)
    for key, size, stride, offset in ((1, (2, 3), (3, 1), 0), (2, (2,), (3,), 1)):
        tensors += flag + b"(K" + bytes([key]) + b"K\x07" + name("FloatTensor") + b"t."
        tensors += np.array([len(size), 0], np.int32).tobytes()
        tensors += np.array([*size, *stride, offset], np.int64).tobytes()
    whole = flag + b"}(X\x01\x00\x00\x00aK\x01QX\x01\x00\x00\x00bK\x02Qu."
    with tarfile.open(path, "w:", format=tarfile.PAX_FORMAT) as archive:
        for title, content in (("storages", storages), ("tensors", tensors), ("pickle", whole)):
            info = tarfile.TarInfo(title)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def test_tar_files_are_read(tmp_path):
    path = tmp_path / "older.pt"
    old_tar(path)
    for library in (torch, reference):
        found = library.load(path, weights_only=False)
        assert found["a"].tolist() == [[0, 1, 2], [3, 4, 5]] and found["b"].tolist() == [1, 4]
        found["a"][0, 1] = 7
        assert found["b"].tolist() == [7, 4]
        with pytest.raises((RuntimeError, pickle.UnpicklingError), match="legacy .tar format"):
            library.load(path)
    path.write_bytes(path.read_bytes()[:1500])
    with pytest.raises(Exception) as error:
        torch.load(path, weights_only=False)
    assert isinstance(error.value, (RuntimeError, EOFError, tarfile.TarError, pickle.UnpicklingError))


@pytest.mark.parametrize("order", ["NATIVE", "LITTLE", "BIG", None])
def test_byte_order_of_files_that_do_not_say_it(order):
    file = io.BytesIO()
    torch.save(torch.arange(3, dtype=torch.int32), file, _disable_byteorder_record=True)
    found = []
    for library in (torch, reference):
        space = library.serialization
        try:
            space.set_default_load_endianness(order and space.LoadEndianness[order])
            assert space.get_default_load_endianness() is (order and space.LoadEndianness[order])
            found.append(library.load(io.BytesIO(file.getvalue())).tolist())
        finally:
            space.set_default_load_endianness(None)
    assert found[0] == found[1]


class Config:
    def __init__(self, width):
        self.width = width


def test_safe_globals():
    with pytest.raises(pickle.UnpicklingError, match="add_safe_globals"):
        sent(torch, torch, Config(3))
    with torch.serialization.safe_globals([Config]):
        assert torch.serialization.get_safe_globals() == [Config]
        assert sent(torch, torch, Config(3)).width == 3
    assert torch.serialization.get_safe_globals() == []
    torch.serialization.add_safe_globals([Config])
    torch.serialization.clear_safe_globals()
    with pytest.raises(pickle.UnpicklingError):
        sent(torch, torch, Config(3))


def test_safe_globals_of_torch_classes():
    model = torch.nn.ReLU()
    with torch.serialization.safe_globals([torch.nn.ReLU, set]):
        assert type(sent(torch, torch, model)) is torch.nn.ReLU


def test_unsafe_globals_in_checkpoint(tmp_path):
    path = tmp_path / "x.pt"
    torch.save({"x": torch.ones(1), "config": Config(1)}, path)
    found = torch.serialization.get_unsafe_globals_in_checkpoint(path)
    assert found == [f"{Config.__module__}.Config"]


def test_trusted_files_and_pickle_modules():
    assert sent(torch, torch, Config(4), weights_only=False).width == 4
    assert sent(torch, torch, Config(4), weights_only=False, pickle_module=pickle).width == 4
    with pytest.raises(RuntimeError, match="weights"):
        sent(torch, torch, Config(4), weights_only=True, pickle_module=pickle)
    with pytest.raises(NotImplementedError, match="pickle_module"):
        torch.save(1, io.BytesIO(), pickle_module=copy)


def test_environment_decides(monkeypatch):
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.warns(UserWarning, match="TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected"):
        assert sent(torch, torch, Config(4)).width == 4
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match="Only one"):
        sent(torch, torch, Config(4))


def test_parameter_over_something_else_is_refused():
    """A file can name _rebuild_parameter with any data that weights_only lets it build."""
    from functorch_core.torch.compat.serialization.formats import ParameterSpec
    from functorch_core.torch.compat.serialization.tensors import Rebuild

    with pytest.raises(pickle.UnpicklingError, match="must be a tensor"):
        Rebuild()(ParameterSpec(Config(1)))


def test_missing_class_is_named():
    from functorch_core.torch.serialization import _find_class

    with pytest.raises(AttributeError, match="torch.nn.modules.linear.NoSuchLayer"):
        _find_class("torch.nn.modules.linear", "NoSuchLayer")


# ---- plain pickle, copy, processes ---------------------------------------------------------------


@pytest.mark.parametrize("protocol", [2, 5])
def test_plain_pickle(protocol):
    base = torch.arange(6.0).reshape(2, 3)
    things = [
        base,
        base[1],
        torch.nn.Parameter(torch.ones(1)),
        base.dtype,
        base.shape,
        torch.device("cuda", 1),
        torch.strided,
        torch.channels_last,
        torch.add,
        torch.float8_e5m2,
        base.to(torch.uint16),
    ]
    loaded = pickle.loads(pickle.dumps(things, protocol))
    loaded[0][1, 0] = 7
    assert loaded[1].tolist() == [3, 4, 5] and base[1, 0].item() == 3
    assert type(loaded[2]) is torch.nn.Parameter and loaded[2].requires_grad
    for i in (3, 6, 7, 8, 9):
        assert loaded[i] is things[i]
    assert loaded[4] == base.shape and type(loaded[4]) is torch.Size
    assert loaded[5] == torch.device("cuda:1") and loaded[10].dtype is torch.uint16


@pytest.mark.parametrize("protocol", [2, 5])
def test_what_tensors_share_after_a_plain_pickle(protocol):
    """Only a tensor that is there twice: of one memory each has its own, and copies and checkpoints keep it."""

    def told(library):
        x = library.arange(4.0)
        things = [x, x[1:], x.view(2, 2).t(), library.nn.Parameter(x), x, x.untyped_storage().nbytes()]
        file = io.BytesIO()
        library.save(things[:4], file)
        file.seek(0)
        found = []
        for made in pickle.loads(pickle.dumps(things, protocol)), copy.deepcopy(things), library.load(file):
            with library.no_grad():
                made[0][1] = 7
            found.append([y.tolist() if isinstance(y, library.Tensor) else y for y in made])
            found.append([y.stride() for y in made[:4]] + [y is made[0] for y in made])
        return found

    assert told(torch) == told(reference)


def test_plain_pickle_of_modules_and_optimizers():
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    loaded, other = pickle.loads(pickle.dumps((model, optimizer)))
    assert torch.equal(loaded(torch.ones(1, 2)), model(torch.ones(1, 2)))
    assert other.param_groups[0]["lr"] == 0.5
    assert other.param_groups[0]["params"][0] is loaded[0].weight


def test_copies():
    base = torch.arange(6.0).reshape(2, 3)
    shallow = copy.copy(base)
    shallow[0, 0] = 9
    assert base[0, 0].item() == 9
    whole, row = copy.deepcopy([base, base[1]])
    whole[1, 0] = 100
    assert row[0].item() == 100 and base[1, 0].item() == 3


def _double(queue, answer):
    answer.put(queue.get() * 2)


def test_tensors_travel_between_processes():
    context = torch.multiprocessing.get_context("spawn")
    queue, answer = context.SimpleQueue(), context.SimpleQueue()
    process = context.Process(target=_double, args=(queue, answer))
    process.start()
    queue.put(torch.arange(3.0))
    assert answer.get().tolist() == [0, 2, 4]
    process.join()
    assert process.exitcode == 0


def test_non_leaves_do_not_travel():
    from multiprocessing.reduction import ForkingPickler

    from functorch_core.torch import multiprocessing as _registered  # noqa: F401

    with pytest.raises(RuntimeError, match="Cowardly refusing"):
        ForkingPickler.dumps(torch.ones(2, requires_grad=True) * 2)


def test_safetensors_by_numpy(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    tensors = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.ones(2, dtype=torch.int64)}
    path = tmp_path / "x.safetensors"
    safetensors.save_file({k: v.numpy() for k, v in tensors.items()}, path)
    loaded = {k: torch.from_numpy(v) for k, v in safetensors.load_file(path).items()}
    assert all(torch.equal(loaded[k], v) for k, v in tensors.items())


def test_attributes_and_buffers_in_plain_pickles():
    tensor, buffer = torch.ones(2), torch.nn.Buffer(torch.zeros(1), persistent=False)
    tensor.tag = "x"
    loaded = pickle.loads(pickle.dumps([tensor, buffer]))
    assert loaded[0].tag == "x" and type(loaded[0]) is torch.Tensor
    assert isinstance(loaded[1], torch.nn.Buffer) and loaded[1].persistent is False


@pytest.mark.parametrize(
    "call",
    [
        "t.load(path, foo=1)",
        "t.load(path, weights_only=False, foo=1)",
        "t.load(path, map_location=5)",
        "t.save({}, folder)",
        "t.load(folder)",
        "t.save(lambda: 0, other)",
        "t.save({}, 5)",
        "t.load(5)",
        "t.load('/no/such/file.pt')",
        "t.save({}, '/no/such/folder/file.pt')",
        "t.load(io.BytesIO(b''))",
        "t.serialization.set_default_mmap_options(77)",
        "t.serialization.set_default_load_endianness('x')",
        "t.load(path, pickle_module=pickle, weights_only=True)",
        "t.save({}, other, pickle_protocol=99)",
        "t.serialization.safe_globals()",
    ],
)
def test_wrong_calls_raise_the_types_of_the_reference(call, tmp_path):
    path = tmp_path / "x.pt"
    reference.save({"x": reference.ones(2)}, path)
    raised = []
    for library in (torch, reference):
        with pytest.raises(Exception) as error:
            eval(
                call,
                {
                    "t": library,
                    "path": path,
                    "folder": tmp_path,
                    "other": tmp_path / "y.pt",
                    "io": io,
                    "pickle": pickle,
                },
            )
        raised.append(error.value)
    assert type(raised[0]).__name__ == type(raised[1]).__name__, raised
