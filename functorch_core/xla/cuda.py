"""CUDA through XLA's PJRT plugin, from the packages of `jax-cuda13-plugin` or `jax-cuda12-plugin`.

jax itself is not needed and not imported. Tests compile for a GPU without one; FUNCTORCH_TEST_DEVICE=cuda lets
them compute on one.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import importlib.metadata
import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxlib import _jax, _profiler
from jaxlib import xla_client as xc

from .binding import jaxlib_version, quieten
from .errors import CudaUnavailable, compile_error
from .mlir import parse

# NVIDIA's wheels: package below `nvidia` -> libraries, in the order they depend on each other.
_LIBRARIES: dict[str, dict[str, tuple[str, ...]]] = {
    "13": {
        "cu13": (
            "libcudart.so.13",
            "libnvJitLink.so.13",
            "libnvrtc.so.13",
            "libcublasLt.so.13",
            "libcublas.so.13",
            "libcupti.so.13",
            "libcusparse.so.12",
            "libcusolver.so.12",
            "libcufft.so.12",
        )
    },
    "12": {
        "cuda_runtime": ("libcudart.so.12",),
        "nvjitlink": ("libnvJitLink.so.12",),
        "cuda_nvrtc": ("libnvrtc.so.12",),
        "cublas": ("libcublasLt.so.12", "libcublas.so.12"),
        "cuda_cupti": ("libcupti.so.12",),
        "cusparse": ("libcusparse.so.12",),
        "cusolver": ("libcusolver.so.11",),
        "cufft": ("libcufft.so.11",),
    },
}
_SHARED_LIBRARIES: dict[str, tuple[str, ...]] = {
    "nccl": ("libnccl.so.2",),
    "nvshmem": ("libnvshmem_host.so.3",),
    "cudnn": ("libcudnn.so.9",),
}
# Where NVIDIA's wheels have the compiler's files (libdevice, ptxas).
_TOOLKITS = {"13": "nvidia.cu13", "12": "nvidia.cuda_nvcc"}

_PLUGIN = "cuda"
# XLA's choice is to compile dozens of Triton kernels for each product and to time them: 5 to 11 s for one of float32
# on an H200, 0.5 of bfloat16, which then run no quicker than cuBLAS's (0.06 to 0.15 s).
_PRODUCTS = {"xla_gpu_enable_triton_gemm": False}
MOST_OF_MEMORY = 0.95  # the rest is for what libraries take themselves; XLA's own choice is 0.75
_MISSING = (
    "CUDA needs the packages jax-cuda13-pjrt and jax-cuda13-plugin (or jax-cuda12-pjrt and "
    f"jax-cuda12-plugin), version {jaxlib_version}, as jaxlib's; missing: {{missing}}. "
    f"Install them with: pip install 'jax-cuda13-plugin[with-cuda]=={jaxlib_version}'"
)


# ---- the plugin ----------------------------------------------------------------------------------


def _find(module: str) -> Any:
    try:
        return importlib.util.find_spec(module)
    except ModuleNotFoundError:  # the parent package is missing
        return None


def _cuda_version() -> str:
    """'13' or '12', whichever is installed. Raises CudaUnavailable naming what is missing."""
    missing = {version: _missing_packages(version) for version in ("13", "12")}
    for version, packages in missing.items():
        if not packages:
            _check_versions(version)
            return version
    nearest = min(missing.values(), key=len)
    raise CudaUnavailable(_MISSING.format(missing=" and ".join(nearest)))


def _missing_packages(version: str) -> list[str]:
    modules = {
        f"jax-cuda{version}-pjrt": f"jax_plugins.xla_cuda{version}",
        f"jax-cuda{version}-plugin": f"jax_cuda{version}_plugin",
    }
    return [package for package, module in modules.items() if _find(module) is None]


def _check_versions(version: str) -> None:
    for package in (f"jax-cuda{version}-pjrt", f"jax-cuda{version}-plugin"):
        try:
            found = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue  # unpacked by hand
        if found != jaxlib_version:
            raise CudaUnavailable(f"{package} is {found}, jaxlib is {jaxlib_version}; they must agree")


def _preload_libraries(version: str) -> None:
    """Load NVIDIA's libraries from their wheels, where the plugin would not look for them."""
    for package, names in {**_LIBRARIES[version], **_SHARED_LIBRARIES}.items():
        spec = _find(f"nvidia.{package}")
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            for name in names:
                path = Path(folder, "lib", name)
                if path.exists():
                    ctypes.CDLL(str(path))


@functools.lru_cache(maxsize=1)
def _load_plugin() -> Any:
    """The plugin's C API, loaded, initialised and with its custom calls registered."""
    version = _cuda_version()
    quieten()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # the plugin's own log; see quieten
    _preload_libraries(version)
    runtime = _find(f"jax_plugins.xla_cuda{version}")
    library = Path(runtime.origin).parent / "xla_cuda_plugin.so"
    c_api = xc.load_pjrt_plugin_dynamically(_PLUGIN, str(library))
    _profiler.register_plugin_profiler(c_api)
    _register_custom_calls(c_api, version)
    if not xc.pjrt_plugin_initialized(_PLUGIN):
        xc.initialize_pjrt_plugin(_PLUGIN)
    return c_api


def _register_custom_calls(c_api: Any, version: str) -> None:
    """cuSOLVER, threefry, cuSPARSE, ... : the handlers first, then the types, then the targets."""
    extension = importlib.import_module(f"jax_cuda{version}_plugin.cuda_plugin_extension")
    xc.register_custom_type_handler("CUDA", functools.partial(extension.register_custom_type, c_api))
    xc.register_custom_call_handler("CUDA", functools.partial(extension.register_custom_call_target, c_api))
    for name, value in extension.ffi_types().items():
        xc.register_custom_type(name, value, platform="CUDA")
    for name, value in extension.ffi_handlers().items():
        xc.register_custom_call_target(name, value, platform="CUDA", api_version=1)
    for module in ("gpu_solver", "gpu_prng", "gpu_linalg", "gpu_sparse"):
        registrations = importlib.import_module(f"jaxlib.{module}").registrations()
        for name, value, api_version in registrations.get("CUDA", ()):
            xc.register_custom_call_target(name, value, platform="CUDA", api_version=api_version)


def make_client() -> Any:
    """A PJRT client for this machine's GPUs. Raises CudaUnavailable, saying why there is none."""
    try:
        _load_plugin()
        options = xc.generate_pjrt_gpu_plugin_options()
        # As PyTorch does: take memory when it is needed, not most of it at the start, and nearly all of it then.
        if "XLA_PYTHON_CLIENT_PREALLOCATE" not in os.environ:
            options["preallocate"] = False
        options.setdefault("memory_fraction", MOST_OF_MEMORY)  # XLA_CLIENT_MEM_FRACTION says another
        return xc.make_c_api_client(_PLUGIN, options, None)
    except (RuntimeError, OSError) as error:
        if isinstance(error, CudaUnavailable):
            raise
        raise CudaUnavailable(f"XLA cannot use CUDA here: {error}") from None


@functools.lru_cache(maxsize=1)
def compile_overrides() -> dict[str, object]:
    """Options every CUDA program needs: where the toolkit is, if it came as a wheel; products by cuBLAS."""
    spec = _find(_TOOLKITS[_cuda_version()])
    folders = list(spec.submodule_search_locations or ()) if spec else []
    return {**_PRODUCTS, **({"xla_gpu_cuda_data_dir": folders[0]} if folders else {})}


# ---- compiling without a GPU ---------------------------------------------------------------------

_H100 = """
gpu_device_info {
  threads_per_block_limit: 1024 threads_per_warp: 32
  shared_memory_per_block: 49152 shared_memory_per_core: 233472
  threads_per_core_limit: 2048 core_count: 132 fpus_per_core: 128
  block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
  memory_bandwidth: 3352320000000 l2_cache_size: 52428800 clock_rate_ghz: 1.98
  device_memory_size: 84978434048 shared_memory_per_block_optin: 232448
  cuda_compute_capability { major: 9 minor: 0 }
  registers_per_core_limit: 65536 registers_per_block_limit: 65536
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 12 }
device_description_str: "NVIDIA H100 80GB HBM3"
"""

# Autotuning needs the GPU; without it matrix products keep cuBLAS instead of a tuned Triton kernel.
_NO_AUTOTUNING = {"xla_gpu_autotune_level": 0, "xla_gpu_enable_triton_gemm": False}


class CudaProgram:
    """A program compiled for a GPU that is not there."""

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled

    def hlo_text(self) -> str:
        """The optimised HLO."""
        return self._compiled.hlo_modules()[0].to_string()

    def serialize(self) -> bytes:
        """The executable, as a machine with such a GPU would load it."""
        return self._compiled.serialize()


class DevicelessCompiler:
    """Compiles for an H100 on a machine without a GPU, to check the whole lowering."""

    def __init__(self) -> None:
        # The devices do not keep the topology alive, and need it.
        self._topology = xc.make_c_api_device_topology(_load_plugin(), "H100", topology="1x1x1", target_config=_H100)
        devices = self._topology._make_compile_only_devices()
        self._client = devices[0].client
        self._devices = _jax.DeviceList(tuple(devices[:1]))

    def compile(
        self, module_text: str, *, options: Mapping[str, object] | None = None, callbacks: Any = ()
    ) -> CudaProgram:
        """Compile a StableHLO module. Raises CompileError."""
        choices = xc.CompileOptions()
        choices.env_option_overrides = list({**_NO_AUTOTUNING, **(options or {})}.items())
        module, more = parse(module_text), [list(callbacks)] if callbacks else []
        try:
            return CudaProgram(self._client.compile(module, self._devices, choices, *more))
        except RuntimeError as error:
            raise compile_error(error, module_text) from None


@functools.lru_cache(maxsize=1)
def deviceless_cuda_compiler() -> DevicelessCompiler:
    """A compiler for CUDA that needs the plugin's packages but no GPU.

    Raises CudaUnavailable naming the packages that are missing.
    """
    return DevicelessCompiler()
