"""What importing starts (nothing), environment, forks, another jax in the process."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from functorch_core import xla
from functorch_core.xla import memory

from .programs import python_environment, run_python

THREADS = """
import os
def threads():
    return len(os.listdir("/proc/self/task"))
"""


def test_import_starts_nothing():
    out = run_python(
        THREADS
        + """
import numpy
before = threads()
from functorch_core import xla
from functorch_core.xla import memory
print(threads() - before, xla.has_client(), xla.in_forked_child())
import sys
print(any(name in sys.modules for name in ("jax", "torch", "scipy")))
xla.put(1)
print(threads() > before, xla.has_client())
"""
    )
    assert out.splitlines() == ["0 False False", "False", "True True"]


def test_jaxlib_is_imported_by_this_package_alone():
    folder = Path(xla.__file__).parents[1]
    users = {
        path.relative_to(folder).parts[0]
        for path in folder.rglob("*.py")
        if any(line.strip().startswith(("import jaxlib", "from jaxlib")) for line in path.read_text().splitlines())
    }
    assert users == {"xla"}


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="needs jax")
@pytest.mark.parametrize("first", ["jax", "functorch_core.xla"])
def test_beside_jax(first):
    out = run_python(
        f"""
import {first}
import jax, jax.numpy as jnp, numpy as np
from functorch_core import xla
from functorch_core.xla import memory
from programs import compile_double
x = xla.put(np.arange(4.0))
print(xla.to_numpy(x).dtype, xla.to_numpy(compile_double(dtype="float64")([x])[0]))
print(jax.jit(lambda v: v + 1)(jnp.arange(3.0)), jnp.arange(3).dtype)
x = xla.put(2)
print(xla.to_numpy(x).dtype, xla.to_numpy(xla.put(np.float64(0.1))))
"""
    )
    assert out.splitlines() == ["float64 [0. 2. 4. 6.]", "[1. 2. 3.] int32", "int64 0.1"]


# ---- devices -------------------------------------------------------------------------------------


def test_devices():
    (first, *_) = xla.devices("cpu")
    assert xla.devices("cpu")[0] is first is xla.default_device() is xla.device("cpu")
    assert (repr(first), first.platform, first.id, first.kind) == ("cpu:0", "cpu", 0, "cpu")
    assert first.memory_stats() == {}
    assert {first: 1}[first] == 1
    with pytest.raises(ValueError, match="unknown platform 'tpu'"):
        xla.devices("tpu")
    with pytest.raises(ValueError, match="there is no device cpu:99"):
        xla.device("cpu:99")
    with pytest.raises(ValueError, match="not of the form"):
        xla.device("cpu:x")
    with pytest.raises(TypeError, match="expects a Device"):
        xla.set_default_device("cpu")


def has_cuda_packages():
    return importlib.util.find_spec("jax_plugins") is not None


@pytest.mark.skipif(has_cuda_packages(), reason="the CUDA packages are installed")
def test_without_cuda_packages():
    assert xla.devices("cuda") == ()
    for use in (lambda: xla.device("cuda"), xla.deviceless_cuda_compiler):
        with pytest.raises(xla.CudaUnavailable, match="missing: jax-cuda13-pjrt and jax-cuda13-pl"):
            use()


@pytest.mark.skipif(not has_cuda_packages(), reason="needs the CUDA packages")
def test_compiling_for_cuda_without_a_gpu():
    out = run_python(
        """
from functorch_core import xla
from functorch_core.xla import memory
from programs import double
compiler = xla.deviceless_cuda_compiler()
program = compiler.compile(double()[0])
print("f32[4]" in program.hlo_text(), len(program.serialize()) > 0)
try:
    compiler.compile("module {")
except xla.CompileError as error:
    print(error.details.splitlines()[0])
"""
    )
    assert out.splitlines()[0] == "True True"


# ---- environment ---------------------------------------------------------------------------------

DOT = """
import numpy as np
from functorch_core import xla
from functorch_core.xla import memory
from programs import compile_double
x = xla.put(np.ones((512, 512), "f"))
print(xla.to_numpy(compile_double((512, 512))([x])[0]).sum())
"""


@pytest.mark.parametrize(
    "environment", [{"FUNCTORCH_CPU_ASYNC": "1"}, {"FUNCTORCH_MALLOC": "0"}, {"FUNCTORCH_CACHE": "0"}], ids=str
)
def test_switches(environment):
    assert run_python(DOT, **environment) == "524288.0\n"


def test_malloc_settings():
    code = """
from functorch_core.xla import memory
print(memory.keep_freed_memory(), memory.trim_memory() in (True, False))
"""
    assert run_python(code, FUNCTORCH_MALLOC="0") == "False True\n"
    libc = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else ""
    assert run_python(code) == f"{bool(libc)} True\n"


@pytest.mark.skipif((os.cpu_count() or 1) > memory.FEW_CORES, reason="threads have heaps of their own")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's settings")
def test_a_large_temporary_block_is_not_mapped_anew_in_every_run():
    code = """
import resource
import numpy as np
from functorch_core import xla
matrix, three = "tensor<5000x5000xf32>", "tensor<5000x3xf32>"
module = f'''module {{ func.func @main(%x: {three}, %y: tensor<3x5000xf32>) -> {three} {{
  %m = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : ({three}, tensor<3x5000xf32>) -> {matrix}
  %r = stablehlo.dot_general %m, %x, contracting_dims = [1] x [0] : ({matrix}, {three}) -> {three}
  return %r : {three} }} }}'''
x, y = np.ones((5000, 3), "f"), np.ones((3, 5000), "f")
program = xla.compile(module, inputs=[x, y], outputs=[x], cache=False)
arguments = [xla.put(x), xla.put(y)]
faults = [resource.getrusage(resource.RUSAGE_SELF).ru_minflt]
for _ in range(24):
    xla.to_numpy(program(arguments)[0])
    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
# 24,000 pages have 100 MB, and were mapped in each run. What else is allocated may move the block: in one run of ten,
# beside two busy processes in four of ten.
print(sum(np.diff(faults) > 10_000) < 18)
"""
    assert run_python(code, FUNCTORCH_CPU_ASYNC="1") == "True\n"


@pytest.mark.parametrize("length, expected", [(10, 0), (40_000, 2)])
def test_compiling_a_large_module_gives_free_memory_back_before_and_after(monkeypatch, length, expected):
    counted = []
    monkeypatch.setattr(memory, "trim_memory", lambda: counted.append(True))
    main = "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> { return %x : tensor<3xf32> }"
    module = f"module {{ {main} }} // {'-' * length}"
    three = np.zeros(3, np.float32)
    xla.compile(module, inputs=[three], outputs=[three], cache=False)
    assert len(counted) == expected


def test_failures_stay_off_stderr():
    code = """
import numpy as np
from functorch_core import xla
from functorch_core.xla import memory
from programs import compile_double
x = xla.put(np.ones(4, "f"))
xla.delete(x)
try:
    compile_double().run([x])
except xla.ExecutionError:
    pass
"""
    environment = python_environment()
    environment.pop("TF_CPP_MIN_LOG_LEVEL", None)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# ---- fork ----------------------------------------------------------------------------------------

FORK = """
import os, signal, sys
import numpy as np
from functorch_core import xla
from functorch_core.xla import memory
from programs import compile_double, double

def child(work):
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        work()
        sys.stdout.flush()
        sys.exit(7)  # the ordinary way, with all its finalisers
    print("status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


def test_a_child_of_a_process_with_a_client():
    out = run_python(
        FORK
        + """
x = xla.put(np.ones((1000, 1000), "f"))
program = compile_double((1000, 1000))
y = program([x])[0]
device = xla.default_device()
uses = [
    lambda: xla.put(1), lambda: xla.put(np.ones((2000, 2000)).T, device), lambda: xla.devices(),
    lambda: program.run([x]), lambda: program([x]), lambda: compile_double((3,)),
    lambda: xla.copy_to(x, device) is x or None,
]
def work():
    print(xla.in_forked_child(), xla.has_client(), int(xla.to_numpy(y).sum()))
    for use in uses:
        try:
            print(use())
        except xla.ExecutionError as error:
            print("forked from" in str(error))
    xla.verify(double()[0])
    child(lambda: print(xla.in_forked_child()))
child(work)
print(xla.in_forked_child(), xla.has_client(), int(xla.to_numpy(program([x])[0]).sum()))
"""
    )
    assert out.splitlines() == ["True False 2000000", *["True"] * 8, "status 7", "status 7", "False True 2000000"]


def test_a_child_of_a_process_without_a_client_may_start_one():
    out = run_python(
        FORK
        + """
def work():
    print(xla.in_forked_child(), xla.to_numpy(xla.put(3)))
child(work)
print(xla.in_forked_child(), xla.has_client())
"""
    )
    assert out.splitlines() == ["True 3", "status 7", "False False"]


LEAK = """
import numpy as np
from functorch_core import torch

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

x = torch.zeros(1 << 16)
def steps(n):
    for _ in range(n):
        x.add_(torch.sigmoid(x).square().exp().log().sqrt() / torch.sigmoid(x))
        engine.flush()
from functorch_core import engine
steps(5000)
before = resident()
steps(15000)
print(resident() - before, engine.stats()["fused_runs"])
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="tells no resident memory")
def test_steps_leave_no_memory_behind():
    """Each left 200 bytes: 3 MB of 15,000."""
    grown, runs = map(int, run_python(LEAK).split())
    assert runs > 15000 and grown < 1 << 20
