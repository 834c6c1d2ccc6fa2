"""The namespaces around the ops: what they answer without a GPU, what is missing, small tools."""

import importlib
import io
import json
import operator
import os
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

from functorch_core import torch

reference = pytest.importorskip("torch")
needs_no_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
BOTH = pytest.mark.parametrize("t", [torch, reference], ids=["ours", "theirs"])


# ---- versions ------------------------------------------------------------------------------------


def test_version():
    version = torch.__version__
    assert version == "2.7.0+xla" and isinstance(version, str)
    assert version >= "2.7" and version >= (2, 7) and version > "2.6.9" and version < "2.10"
    assert version < (3,) and version != "2.7.1" and not version < "2.7.0rc1"
    assert version > "1.13.1+cu117" and hash(version) == hash("2.7.0+xla")
    assert torch.version.cuda is None and torch.version.hip is None
    assert torch.torch_version.TorchVersion("2.0") == "2.0.0"


@pytest.mark.parametrize("other", ["1.13.1", "2.0", "2.6.0", "2.7.1", "2.8", "2.10.0", "3", (2, 7, 1), (2,), (1, 9)])
def test_version_compares_like_pytorch(other):
    ours, theirs = (t.torch_version.TorchVersion("2.7.0") for t in (torch, reference))
    for name in ("lt", "le", "eq", "ne", "ge", "gt"):
        compare = getattr(operator, name)
        if (name, type(other)) != ("ne", tuple):  # PyTorch says that they differ in any case
            assert compare(ours, other) == compare(theirs, other), name


def test_version_of_nonsense_compares_as_text():
    assert not torch.__version__ == "parrot" and torch.__version__ < "parrot"


# ---- what is missing -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "fx.experimental.proxy_tensor.maybe_enable_thunkify",
        "export.export",
        "onnx.export",
        "export.export",
        "ao.quantization.quantize_dynamic",
        "distributed.checkpoint.hf_storage.HuggingFaceStorageReader",
        "utils.cpp_extension.load",
        "package.PackageImporter",
        "hub.list",
    ],
)
def test_missing_names_raise_at_use(name):
    thing = torch
    module = torch
    *path, last = name.split(".")
    for part in path:
        module = getattr(module, part)
    thing = getattr(module, last)
    with pytest.raises(NotImplementedError, match=rf"torch\.{name.replace('.', '[.]')}|{last}"):
        thing()


def test_missing_classes_can_be_asked_about_but_not_derived_from():
    assert not isinstance(torch.ones(1), torch.export.ExportedProgram)
    assert torch.export.ExportedProgram is torch.export.ExportedProgram
    with pytest.raises(NotImplementedError, match="torch.export.Dim"):
        type("Mine", (torch.export.Dim,), {})
    assert not hasattr(torch.export.ExportedProgram, "graph")
    with pytest.raises(NotImplementedError, match="torch.export.ExportedProgram.graph"):
        torch.export.ExportedProgram.graph


def test_missing_modules_can_be_imported():
    for name in (
        "fx.experimental.symbolic_shapes",
        "distributed.fsdp",
        "ao.quantization",
        "distributed.checkpoint.state_dict",
        "monitor",
    ):
        module = importlib.import_module(f"functorch_core.torch.{name}")
        assert dir(module)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("functorch_core.torch.nonsense")


def test_missing_methods():
    with pytest.raises(NotImplementedError, match="torch.Tensor.to_mkldnn"):
        torch.ones(2).to_mkldnn()


def test_names_that_pytorch_does_not_have():
    for module, name in ((torch, "nonsense"), (torch.fx, "nonsense"), (torch.cuda, "nonsense")):
        with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
            getattr(module, name)
    assert not hasattr(torch, "nonsense")


def test_dir():
    names = dir(torch)
    assert {"Tensor", "add", "nn", "cuda", "save", "compile", "autocast", "stft"} <= set(names)
    assert names == sorted(names)


def test_lazy_modules_are_not_imported():
    code = (
        "import sys, functorch_core.torch\n"
        "late = ('cuda', 'amp', 'serialization', 'distributed', 'testing', 'jit', 'profiler', "
        "'multiprocessing', 'backends', 'fx')\n"
        "print([n for n in late if f'functorch_core.torch.{n}' in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# ---- devices that are not there ------------------------------------------------------------------


@needs_no_gpu
def test_cuda_is_not_available():
    cuda = torch.cuda
    assert not cuda.is_available() and cuda.device_count() == 0 and not cuda.is_initialized()
    assert cuda.memory_allocated() == cuda.max_memory_reserved() == 0 and not cuda.memory_stats()
    assert cuda.get_rng_state_all() == [] and cuda.get_arch_list() == []
    assert not cuda.is_bf16_supported() and not torch.backends.cuda.is_built()
    cuda.empty_cache(), cuda.manual_seed(3), cuda.manual_seed_all(3), cuda.ipc_collect()
    with cuda.stream(None), cuda.nvtx.range("x"), cuda.device_of(torch.ones(1)):
        pass
    assert torch.accelerator.current_accelerator() is None and not torch.accelerator.is_available()


@needs_no_gpu
@pytest.mark.parametrize(
    "call",
    [
        "current_device",
        "synchronize",
        "get_device_name",
        "current_stream",
        "get_rng_state",
        "mem_get_info",
        "init",
        "initial_seed",
        "get_device_capability",
    ],
)
def test_cuda_raises_as_pytorch_does(call):
    for t in (torch, reference):
        with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
            getattr(t.cuda, call)()


@needs_no_gpu
def test_cuda_streams_and_events_raise():
    for make in (torch.cuda.Stream, torch.cuda.Event):
        with pytest.raises(RuntimeError):
            make()
    with pytest.raises(RuntimeError, match="no accelerator|none is available"):
        torch.accelerator.synchronize()


def test_other_devices():
    for module in (torch.xpu, torch.mtia, torch.mps):
        assert not module.is_available() and module.device_count() == 0
        with pytest.raises((AssertionError, RuntimeError)):
            module.synchronize()
    assert not torch.backends.mps.is_available() and not torch.backends.mps.is_built()
    torch.cpu.synchronize()
    assert torch.cpu.is_available() and torch.cpu.device_count() == 1
    assert torch.get_device_module("cpu") is torch.cpu


def test_streams_of_the_cpu():
    event, later = (torch.Event("cpu", enable_timing=True) for _ in range(2))
    event.record()
    torch.ones(3).sum()
    later.record()
    assert event.elapsed_time(later) >= 0 and event.query()
    with pytest.raises(ValueError, match="recorded"):
        event.elapsed_time(torch.Event("cpu", enable_timing=True))
    assert torch.cpu.current_stream().query()


# ---- flags and settings --------------------------------------------------------------------------


def test_backends():
    import functorch_core.torch.backends.cudnn as cudnn

    assert cudnn is torch.backends.cudnn and not cudnn.is_available() and cudnn.version() is None
    cudnn.benchmark, cudnn.deterministic = True, True
    cudnn.benchmark = cudnn.deterministic = False
    with cudnn.flags(enabled=False):
        assert not cudnn.enabled
    assert cudnn.enabled
    torch.backends.cuda.matmul.allow_tf32 = True
    with pytest.raises(AttributeError, match="allow_nonsense"):
        torch.backends.cuda.matmul.allow_nonsense = True
    with pytest.warns(FutureWarning, match="deprecated"), torch.backends.cuda.sdp_kernel(enable_flash=False):
        assert not torch.backends.cuda.flash_sdp_enabled()
    assert torch.backends.opt_einsum.is_available() and torch.backends.mkldnn.is_available()


@BOTH
def test_settings(t):
    try:
        t.set_num_threads(3)
        assert t.get_num_threads() == 3
        with pytest.raises(RuntimeError, match="positive"):
            t.set_num_threads(0)
        t.use_deterministic_algorithms(True, warn_only=True)
        assert t.are_deterministic_algorithms_enabled()
        assert t.is_deterministic_algorithms_warn_only_enabled()
        t.set_deterministic_debug_mode("error")
        assert t.get_deterministic_debug_mode() == 2
        t.set_float32_matmul_precision("high")
        assert t.get_float32_matmul_precision() == "high"
    finally:
        t.set_num_threads(2)
        t.use_deterministic_algorithms(False)
        t.set_float32_matmul_precision("highest")


@BOTH
def test_questions(t):
    assert t.is_tensor(t.ones(1)) and not t.is_tensor(3)
    assert t.is_storage(t.ones(1).untyped_storage()) and not t.is_storage(t.ones(1))
    assert t.is_floating_point(t.ones(1)) and not t.is_complex(t.ones(1))
    assert t.numel(t.ones(4)) == 4
    assert t.is_nonzero(t.ones(1)) and t.is_signed(t.ones(1))
    assert t.typename(t.ones(1)) == "torch.FloatTensor" and t.typename(3) == "int"
    assert t.typename(t.nn.Linear) == "torch.nn.modules.linear.Linear"
    assert t.sym_int(3.7) == 3 and t.sym_max(3, 4.0) == 4.0 and t.sym_not(False)
    for name in ("numel", "is_floating_point"):
        with pytest.raises(TypeError, match="must be Tensor, not int"):
            getattr(t, name)(3)


def test_default_tensor_type():
    try:
        with pytest.warns(UserWarning, match="deprecated"):
            torch.set_default_tensor_type("torch.DoubleTensor")
        assert torch.ones(1).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


@BOTH
def test_future_switches(t):
    f = t.__future__
    f.set_overwrite_module_params_on_conversion(True)
    assert f.get_overwrite_module_params_on_conversion()
    f.set_overwrite_module_params_on_conversion(False)
    assert not f.get_swap_module_params_on_conversion()


# ---- compile and jit: the function itself --------------------------------------------------------


def test_compile():
    def double(x):
        return x * 2

    assert torch.compile(double) is double
    assert torch.compile(double, mode="max-autotune", backend="eager") is double
    assert torch.compile(dynamic=True)(double) is double
    model = torch.nn.Linear(2, 2)
    assert torch.compile(model)._orig_mod is model
    with pytest.raises(RuntimeError, match="Either mode or options"):
        torch.compile(double, mode="default", options={})
    assert torch.compiler.disable(double) is double and torch.compiler.disable()(double) is double
    assert not torch.compiler.is_compiling()
    with torch.compiler.set_stance("force_eager"):
        pass


def test_jit():
    seen = []

    def call(x):
        seen.append(x)
        return x

    assert torch.jit.script(call) is call and torch.jit.trace(call, (torch.ones(1),))(torch.ones(1)) == 1
    assert len(seen) == 1 and not torch.jit.is_scripting() and not torch.jit.is_tracing()

    class Module(torch.nn.Module):
        @torch.jit.ignore
        def one(self):
            return 1

        @torch.jit.export
        def two(self):
            return torch.jit.annotate(int, 2)

        @torch.jit.unused
        def three(self):
            return 3

    module = torch.jit.script(Module())
    assert (module.one(), module.two(), module.three()) == (1, 2, 3)
    assert torch.jit.isinstance([1], list[int]) and isinstance(module, torch.jit.ScriptModule)
    assert not isinstance(Module(), torch.jit.ScriptModule)
    assert torch.jit.wait(torch.jit.fork(lambda a: a + 1, 2)) == 3


def test_futures():
    first, second = torch.futures.Future(), torch.futures.Future()
    later = first.then(lambda f: f.value() + 1)
    first.set_result(1), second.set_result(5)
    assert later.wait() == 2 and torch.futures.wait_all([first, second]) == [1, 5]
    with pytest.raises(RuntimeError):
        first.set_result(2)
    failed = torch.futures.Future()
    failed.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        failed.wait()


def failing(future):
    raise KeyError("mine")


@BOTH
def test_what_callbacks_of_futures_raise(t, caplog):
    """An error of `then` is the new future's; one of a callback that gives nothing is logged."""
    first = t.futures.Future()
    later, no_argument = first.then(failing), first.then(lambda: 1)
    first.add_done_callback(failing)
    first.set_result(3)
    first.add_done_callback(failing)
    assert first.wait() == 3
    for future, text in ((later, "KeyError: 'mine'"), (no_argument, "takes 0 positional arguments but 1 was given")):
        with pytest.raises(RuntimeError, match="Got the following error when running the callback:") as caught:
            future.wait()
        assert text in str(caught.value)
    with pytest.raises(RuntimeError, match="Got the following error"):
        t.futures.wait_all([later, first])
    with pytest.raises(RuntimeError, match="Got the following error"):
        t.futures.collect_all([later, first]).wait()
    assert t is reference or sum("KeyError: 'mine'" in record.getMessage() for record in caplog.records) == 2


@pytest.mark.filterwarnings("ignore:`torch.jit.wait` is deprecated")
@BOTH
def test_what_futures_refuse(t):
    future = t.futures.Future()
    future.set_result(1)
    for refused in (future.set_result, lambda _: future.set_exception(ValueError())):
        with pytest.raises(RuntimeError, match="completed Future as complete again"):
            refused(2)
    for call in (t.jit.wait, lambda _: t.futures.wait_all([None]), lambda _: t.futures.collect_all([future, None])):
        with pytest.raises(RuntimeError, match="Future can't be None"):
            call(None)
    for call in (future.then, future.add_done_callback):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            call("a name")
    with pytest.raises(RuntimeError, match="Can not pickle torch.futures.Future"):
        pickle.dumps(future)
    with pytest.raises(ValueError, match="Expected devices to have indices, got cpu"):
        t.futures.Future(devices=["cpu"])


# ---- distributed: one process --------------------------------------------------------------------


@BOTH
def test_distributed_before_it_is_initialized(t):
    dist = t.distributed
    assert dist.is_available() and not dist.is_initialized()
    for call in (dist.get_rank, dist.get_world_size, dist.barrier):
        with pytest.raises(ValueError, match="Default process group has not been initialized"):
            call()


def test_distributed_of_one_process():
    dist = torch.distributed
    with pytest.raises(ValueError, match="MASTER_ADDR expected"):
        dist.init_process_group("gloo", rank=0, world_size=2)
    dist.init_process_group("gloo", rank=0, world_size=1)
    try:
        x, y = torch.arange(3.0), torch.zeros(3)
        assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "gloo")
        assert dist.all_reduce(x) is None and x.tolist() == [0, 1, 2]
        assert dist.all_reduce(x, op=dist.ReduceOp.MAX, async_op=True).wait()
        dist.all_gather([y], x)
        assert y.tolist() == [0, 1, 2]
        objects = [None]
        dist.all_gather_object(objects, {"a": 1})
        dist.broadcast(x, src=0), dist.barrier()
        assert objects == [{"a": 1}] and dist.get_world_size(dist.new_group([0])) == 1
        with pytest.raises(ValueError, match="Invalid destination rank"):
            dist.send(x, 1)
        with pytest.raises(ValueError, match="twice"):
            dist.init_process_group("gloo")
    finally:
        dist.destroy_process_group()
    assert not dist.is_initialized()


# ---- testing -------------------------------------------------------------------------------------


def pairs(t):
    """(actual, expected, options) that are close, and that are not."""
    close = [
        (t.ones(2), t.ones(2) + 1e-7, {}),
        (3, 3, {}),
        (1.0, 1.0 + 1e-9, {}),
        (True, True, {}),
        ([t.ones(1), {"a": 2.0}], [t.ones(1), {"a": 2.0}], {}),
        (None, None, {}),
        (t.tensor(float("nan")), t.tensor(float("nan")), {"equal_nan": True}),
        (t.ones(2), t.ones(2).double(), {"check_dtype": False}),
        (t.tensor([1, 2]), t.tensor([1, 2]), {}),
        (t.zeros(0), t.zeros(0), {}),
        (t.tensor([1.0]), t.tensor([1.1]), {"rtol": 0, "atol": 0.2}),
        (t.tensor(1 + 1j), t.tensor(1 + 1j), {}),
        (np.ones(2), np.ones(2), {}),
    ]
    far = [
        (t.ones(3), t.tensor([1.0, 2.0, 1.0]), {}),
        (t.ones(2), t.ones(3), {}),
        (t.ones(2), t.ones(2).double(), {}),
        (1, 1.0, {}),
        (1.0, 2.0, {}),
        (True, False, {}),
        (t.tensor([1, 2]), t.tensor([1, 3]), {}),
        ([1, 2], [1], {}),
        ({"a": 1}, {"b": 1}, {}),
        (t.tensor(1.0), t.tensor(2.0), {}),
        ([t.ones(1)], [t.zeros(1)], {}),
        (t.tensor(float("nan")), t.tensor(float("nan")), {}),
        (t.ones(2, 2), t.ones(2, 2).t(), {"check_stride": True}),
        (t.ones(3), t.zeros(3), {"rtol": 0, "atol": 0}),
        (t.ones(2), "text", {}),
        (None, 1, {}),
    ]
    return close, far


def test_assert_close_accepts():
    for actual, expected, options in pairs(torch)[0]:
        torch.testing.assert_close(actual, expected, **options)


@pytest.mark.parametrize("i", range(16))
def test_assert_close_refuses_as_pytorch_does(i):
    messages = []
    for t in (torch, reference):
        actual, expected, options = pairs(t)[1][i]
        with pytest.raises((AssertionError, TypeError)) as caught:
            t.testing.assert_close(actual, expected, **options)
        messages.append((caught.type, str(caught.value).replace("torch.Tensor", "Tensor")))
    assert messages[0][0] is messages[1][0]
    if i not in (8, 14, 15):  # PyTorch's sentences about keys and types are longer
        assert messages[0][1] == messages[1][1]


def test_assert_close_options():
    with pytest.raises(ValueError, match="rtol"):
        torch.testing.assert_close(1.0, 1.0, atol=1.0)
    with pytest.raises(AssertionError, match="^mine$"):
        torch.testing.assert_close(1.0, 2.0, msg="mine")
    with pytest.raises(AssertionError, match="before: Scalars"):
        torch.testing.assert_close(1.0, 2.0, msg=lambda text: f"before: {text}")


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "bool", "complex64"])
def test_make_tensor(dtype):
    found = []
    for t in (torch, reference):
        t.manual_seed(0)
        made = t.testing.make_tensor(3, 4, dtype=getattr(t, dtype), device="cpu")
        found.append((made.numpy(), str(made.dtype)))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    assert found[0][1] == found[1][1]
    made = torch.testing.make_tensor(
        (3, 4), dtype=torch.float32, device="cpu", low=1, high=2, noncontiguous=True, requires_grad=True
    )
    assert not made.is_contiguous() and made.requires_grad and 1 <= made.min().item() < 2


# ---- tools ---------------------------------------------------------------------------------------


def test_utils():
    assert torch.utils.data is importlib.import_module("functorch_core.data")
    a, b = torch.ones(2), torch.zeros(3)
    torch.utils.swap_tensors(a, b)
    assert a.tolist() == [0, 0, 0] and b.tolist() == [1, 1]
    assert torch.utils.dlpack.from_dlpack(np.arange(3)).tolist() == [0, 1, 2]
    assert "jaxlib" in torch.utils.collect_env.get_pretty_env_info()
    measured = torch.utils.benchmark.Timer("x + 1", globals={"x": torch.ones(3)}).timeit(5)
    assert measured.median > 0 and "1 measurement, 5 runs" in repr(measured)
    with pytest.raises(NotImplementedError, match="cpp_extension.load"):
        torch.utils.cpp_extension.load("x", ["x.cpp"])
    if importlib.util.find_spec("tensorboard") is None:
        with pytest.raises(ModuleNotFoundError, match="pip install tensorboard"):
            importlib.import_module("functorch_core.torch.utils.tensorboard")


def test_hub(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setattr(torch.hub, "_dir", None)  # set_dir() holds for the whole process
    assert torch.hub.get_dir() == os.path.join(tmp_path, "hub")
    with pytest.raises(NotImplementedError, match="downloads nothing"):
        torch.hub.load_state_dict_from_url("https://example.org/model.pth")
    folder = tmp_path / "hub" / "checkpoints"
    folder.mkdir(parents=True)
    torch.save({"x": torch.ones(1)}, folder / "model.pth")
    assert torch.hub.load_state_dict_from_url("https://example.org/model.pth")["x"].item() == 1
    (tmp_path / "hubconf.py").write_text("def answer(n=1): return 41 + n\n")
    assert torch.hub.load(str(tmp_path), "answer", n=1, source="local") == 42
    with pytest.raises(NotImplementedError, match="torch.hub.load"):
        torch.hub.load("owner/name", "model")


def test_profiler(tmp_path):
    profiler, ready = torch.profiler, []
    plan = profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    assert [plan(i).name for i in range(6)] == ["NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE", "NONE", "NONE"]
    with profiler.profile(
        schedule=plan, on_trace_ready=lambda p: ready.append([e.key for e in p.key_averages()])
    ) as profile:
        for i in range(5):
            with profiler.record_function(f"step {i}"):
                torch.ones(3).sum()
            profile.step()
    operators = ["aten::ones", "aten::empty", "aten::fill_", "aten::sum", "aten::as_strided"]
    assert ready == [["ProfilerStep*", "step 2", *operators, "step 3"]]
    with profiler.profile() as profile, profiler.record_function("part"):
        pass
    profile.export_chrome_trace(str(tmp_path / "trace.json"))
    assert json.loads((tmp_path / "trace.json").read_text())
    assert "part" in profile.key_averages().table()


def test_multiprocessing_names():
    mp = torch.multiprocessing
    assert mp.get_sharing_strategy() in mp.get_all_sharing_strategies()
    mp.set_sharing_strategy("file_system")
    assert mp.get_context("spawn").Process and mp.Queue and mp.cpu_count() > 0


@BOTH
def test_storages(t):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = t.arange(4.0)
        typed, untyped = x.storage(), x.untyped_storage()
        assert typed.size() == 4 and typed.tolist() == [0, 1, 2, 3] and typed[1] == 1
        assert untyped.nbytes() == 16 and len(untyped) == 16 and untyped[7] == 63
        typed[0] = 7
        assert x.tolist() == [7, 1, 2, 3] and isinstance(typed, t.FloatStorage)
        assert typed.clone().tolist() == [7, 1, 2, 3] and typed.double().dtype is t.float64
        typed.fill_(2)
        assert x.tolist() == [2, 2, 2, 2] and typed.pickle_storage_type() == "FloatStorage"
        assert t.FloatStorage([1, 2]).tolist() == [1, 2] and t.LongStorage(3).size() == 3
        assert t.UntypedStorage(5).nbytes() == 5 and x[1:].untyped_storage().nbytes() == 16
        assert x.data_ptr() == untyped.data_ptr() and x[1:].data_ptr() == x.data_ptr() + 4


def test_memory_at_data_ptr():
    """Libraries such as safetensors read it."""
    import ctypes

    x = torch.arange(3.0)
    pointer = x.data_ptr()
    x.add_(1)
    assert x.data_ptr() == pointer
    assert list((ctypes.c_float * 3).from_address(pointer)) == [1, 2, 3]
    assert torch.zeros(0).data_ptr() == 0


def test_printing_of_settings():
    assert "jaxlib" in torch.__config__.show() and "threads" in torch.__config__.parallel_info()
    buffer = io.StringIO()
    print(torch.version.__version__, file=buffer)
    assert buffer.getvalue() == "2.7.0+xla\n"


BACKENDS = ("openmp", "mkl", "mkldnn", "nnpack", "mps", "cusparselt", "kleidiai", "cudnn", "opt_einsum")


@pytest.mark.parametrize("name", BACKENDS)
def test_backends_answer_as_on_cpu(name):
    reference = pytest.importorskip("torch")
    ours, theirs = (
        importlib.import_module(f"{library}.backends.{name}") for library in ("functorch_core.torch", "torch")
    )
    assert ours.is_available() is theirs.is_available()
    assert torch.backends.cuda.is_built() is reference.backends.cuda.is_built()
    assert repr(torch.backends.cuda.preferred_linalg_library()) == repr(
        reference.backends.cuda.preferred_linalg_library()
    )
    assert torch.backends.mha.get_fastpath_enabled() is reference.backends.mha.get_fastpath_enabled()
