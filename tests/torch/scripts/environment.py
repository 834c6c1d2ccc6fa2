# Programs of tests/torch/test_scripts.py: each block runs by itself, under this library and PyTorch.

# ---- accelerators: what a machine without one answers
print(torch.cuda.is_available(), torch.cuda.device_count(), torch.cuda.is_initialized(), torch.version.hip)
print(
    torch.backends.cudnn.enabled,
    torch.backends.cudnn.benchmark,
    torch.backends.cudnn.deterministic,
    torch.backends.cudnn.is_available(),
)
print(
    torch.backends.mps.is_available(), torch.backends.mps.is_built(), torch.xpu.is_available(), torch.xpu.device_count()
)
print(
    torch.mtia.is_available(),
    torch.mps.device_count(),
    torch.accelerator.is_available(),
    torch.cpu.is_available(),
    torch.cpu.device_count(),
)
print(
    torch.cuda.memory_allocated(),
    torch.cuda.max_memory_allocated(),
    torch.cuda.memory_reserved(),
    torch.cuda.empty_cache(),
    torch.cuda.get_arch_list() if False else [],
)
print(torch.cuda.manual_seed(0), torch.cuda.manual_seed_all(0), torch.xpu.empty_cache() if False else None)
for use in (
    lambda: torch.ones(1, device="cuda"),
    lambda: torch.ones(1).cuda(),
    lambda: torch.cuda.current_device(),
    lambda: torch.ones(1, device="xpu"),
    lambda: torch.ones(1, device="mps"),
    lambda: torch.cuda.get_device_name(0),
    lambda: torch.cuda.synchronize(),
    lambda: torch.mps.synchronize(),
):
    try:
        print(use())
    except Exception:  # of which kind depends on how PyTorch was built
        print("not available")
with torch.cuda.device(-1):
    pass
print(torch.cuda.amp.GradScaler(enabled=False).scale(torch.ones(1)))
device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
print(device, torch.accelerator.current_accelerator() if torch.accelerator.is_available() else "none")

# ---- backends
for name in ("cudnn", "cuda", "mps", "mkl", "mkldnn", "openmp", "opt_einsum", "quantized", "cpu"):
    print(name, hasattr(torch.backends, name))
torch.backends.cudnn.benchmark = True
torch.backends.cudnn.benchmark = False
torch.backends.cuda.matmul.allow_tf32 = False
with torch.backends.cudnn.flags(enabled=False):
    print(torch.backends.cudnn.enabled)
torch.use_deterministic_algorithms(True)
print(torch.are_deterministic_algorithms_enabled())
torch.use_deterministic_algorithms(False)
torch.set_float32_matmul_precision("high")
print(torch.get_float32_matmul_precision())
torch.set_float32_matmul_precision("highest")
print(torch.backends.opt_einsum.is_available() in (True, False), torch.backends.cuda.is_built() in (True, False))

# ---- threads and settings
n = torch.get_num_threads()
print(n >= 1, torch.get_num_interop_threads() >= 1)
torch.set_num_threads(1)
print(torch.get_num_threads())
torch.set_num_threads(n)
print(
    torch.is_tensor(torch.ones(1)),
    torch.is_storage(1),
    torch.is_floating_point(torch.ones(1)),
    torch.typename(torch.ones(1)),
    torch.typename(1),
    torch.numel(torch.ones(2, 2)),
)
print(
    torch.is_grad_enabled(),
    torch.is_warn_always_enabled(),
    torch.get_default_dtype(),
    torch.is_autocast_enabled(),
    torch.compiled_with_cxx11_abi(),
)
print(torch.pi, torch.e, torch.inf, torch.nan, torch.newaxis)

# ---- version and metadata
import importlib.metadata
import importlib.util

print(importlib.metadata.version("torch") == torch.__version__, str(torch.__version__) == torch.version.__version__)
print(
    torch.__version__ >= "2.0",
    torch.__version__ >= (1, 13),
    torch.__version__ < (99,),
    isinstance(torch.__version__, str),
    torch.__version__.split(".")[0],
)
print(
    importlib.util.find_spec("torch") is not None,
    importlib.util.find_spec("torch.nn") is not None,
    importlib.util.find_spec("torch.nothing_like_it"),
)
print(
    torch.nn.Linear.__module__,
    torch.Tensor.__module__,
    torch.optim.SGD.__module__,
    torch.utils.data.DataLoader.__module__,
)
print(hasattr(torch, "__file__"), torch.version.debug, torch.version.git_version is not None)

# ---- modules are the same objects
import importlib
import sys

import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor, optim
from torch.nn.modules.linear import Linear
from torch.utils.data import Dataset

print(
    nn is torch.nn,
    F is torch.nn.functional,
    optim is torch.optim,
    Linear is nn.Linear,
    sys.modules["torch.nn"] is nn,
    Tensor is torch.Tensor,
)
print(
    importlib.import_module("torch.nn.functional") is F,
    isinstance(torch.ones(1), Tensor),
    issubclass(nn.Parameter, Tensor),
    type(torch.ones(1)),
)
attempt(lambda: importlib.import_module("torch.nothing_like_it"))
attempt(lambda: torch.nothing_like_it)
attempt(lambda: torch.nn.Nothing)
try:
    from torch import nothing_like_it
except ImportError as error:
    print(type(error).__name__)

# ---- repr of classes and functions
print(
    torch.Tensor,
    torch.nn.Linear,
    torch.optim.SGD,
    torch.dtype,
    torch.device,
    torch.Size,
    torch.nn.Parameter,
    torch.Generator,
)
print(
    torch.nn.functional.gelu,
    torch.nn.functional.relu.__module__,
    torch.fft.fft,
    torch.einsum.__module__,
    torch.relu.__name__,
    torch.Tensor.relu.__name__,
)
print(repr(torch.relu).split(" at ")[0], torch.nn.Linear(2, 3), torch.nn.ReLU())


# ---- overrides: functions and methods
class Logging(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        print(getattr(func, "__name__", func), [t.__name__ for t in types])
        return super().__torch_function__(func, types, args, kwargs or {})


x = torch.ones(2).as_subclass(Logging)
y = x + 1
z = torch.add(x, 1)
print(type(y).__name__, type(z).__name__)


# ---- overrides: attributes
class Logging(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        log.append(getattr(func, "__name__", str(func)))
        return super().__torch_function__(func, types, args, kwargs or {})


log = []
x = torch.ones(2, 3).as_subclass(Logging)
log.clear()
for read in (
    lambda: x.shape,
    lambda: x.dtype,
    lambda: x.device,
    lambda: x.grad,
    lambda: x.T,
    lambda: x.requires_grad,
    lambda: x.data,
    lambda: x.ndim,
    lambda: x.is_leaf,
    lambda: x.grad_fn,
    lambda: x.layout,
    lambda: x.mT,
    lambda: x.itemsize,
    lambda: x.is_cuda,
    lambda: x._version,
    lambda: x.real,
    lambda: x.H,
    lambda: x._base,
    lambda: x.output_nr,
):
    log.clear()
    result = read()
    print(log, type(result).__name__)
log.clear()
x.requires_grad = True
print(log)
log.clear()
x.grad = torch.ones(2, 3)
print(log)
plain = torch.ones(2)
log.clear()
print(plain.shape, log)


class Replaced(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func == torch.Tensor.shape.__get__:
            return "my shape"
        return super().__torch_function__(func, types, args, kwargs or {})


print(torch.ones(2).as_subclass(Replaced).shape, torch.ones(2).as_subclass(Replaced).dtype)
print(
    torch.overrides.is_tensor_method_or_property(torch.Tensor.shape.__get__), torch.Tensor.shape.__get__(torch.ones(2))
)


# ---- overrides: modes
class Count(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        names.append(getattr(func, "__name__", str(func)))
        return func(*args, **(kwargs or {}))


names = []
with Count():
    x = torch.ones(2)
    y = (x + 1).sum()
print(names)
