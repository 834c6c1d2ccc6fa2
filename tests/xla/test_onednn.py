"""oneDNN and native calls: threads, forks, the disk cache, the switch, numbers at the edges."""

import os
import threading

import numpy as np
import pytest

from functorch_core.xla import native_call, onednn

from .programs import run_python

pytestmark = pytest.mark.skipif(not onednn.is_available(), reason="oneDNN is not installed")

PRELUDE = """
import numpy as np, os, sys, threading
import functorch_core as fc
from functorch_core import torch as ft
from functorch_core.xla import onednn
def step(seed=0, n=4):
    rng = np.random.default_rng(seed)
    x, w = (ft.tensor(rng.standard_normal(s, dtype=np.float32)) for s in ((n, 3, 9, 8), (4, 3, 3, 3)))
    w.requires_grad_()
    ft.nn.functional.conv2d(x, w, stride=2, padding=1).relu().sum().backward()
    return w.grad.numpy().copy()
def forked(compute):
    import multiprocessing, warnings
    warnings.simplefilter("ignore")
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=lambda: queue.put(compute()))
    process.start()
    print(queue.get(timeout=30))
    process.join(30)
    return process
def by_xla(**kwargs):
    os.environ["FUNCTORCH_ONEDNN"] = "0"
    with fc.engine.forced_tier("reference"):
        found = step(**kwargs)
    del os.environ["FUNCTORCH_ONEDNN"]
    return found
"""


def convolution(kind="forward", src=(2, 3, 5, 6), kernel=(4, 3, 3, 3), dtype="float32"):
    n, dst = len(src) - 2, (src[0], kernel[0], *(m - k + 1 for m, k in zip(src[2:], kernel[2:])))
    plain = [onednn.strides_of(s, tuple(range(n + 2))) for s in (src, kernel, dst)]
    return onednn.Convolution(kind, dtype, src, kernel, dst, *plain, (1,) * n, (0,) * n, (0,) * n, (1,) * n)


def run(described, *arrays):
    out = np.full(getattr(described, described.arrays[2]), np.nan, np.float32)
    onednn.run(described, *arrays, out)
    return out


def arrays(seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((2, 3, 5, 6), dtype=np.float32), rng.standard_normal((4, 3, 3, 3), dtype=np.float32)


def plainly(x, w):
    views = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))
    return np.einsum("nchwij,ocij->nohw", views, w, dtype=np.float64)


def test_a_target_says_everything():
    described = convolution("weights")
    assert onednn.Convolution.of_target(described.target()) == described


def test_forward():
    x, w = arrays()
    np.testing.assert_allclose(run(convolution(), x, w), plainly(x, w), rtol=1e-5, atol=1e-5)


def test_what_it_has_no_way_for():
    assert not onednn.supports(convolution(dtype="float64"))
    assert not onednn.supports(convolution()._replace(before=(-1, 0)))
    assert not onednn.supports(convolution()._replace(dst=(2, 4, 9, 9)))
    assert not onednn.supports(convolution(kernel=(4, 2, 3, 3)))


def test_wrong_arrays_never_reach_it():
    x, w = arrays()
    for wrong in (x[:1], x.astype(np.float64), x.transpose(0, 1, 3, 2), x[:, ::-1]):
        with pytest.raises(ValueError, match="src should be 180 dense elements of float32"):
            run(convolution(), wrong, w)
    out = np.empty((2, 4, 3, 4), np.float32)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        onednn.run(convolution(), x, w, out)


@pytest.mark.parametrize("kind", onednn.KINDS)
@pytest.mark.parametrize("orders", [("src",), ("dst",), ()])  # what lies channels last; the other does not
def test_depthwise_convolutions_of_arrays_in_different_orders(kind, orders):
    """They are as exact as those of two arrays in one order: PyTorch's numbers."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    shapes = {"src": (2, 16, 9, 9), "weights": (16, 1, 1, 3, 3), "dst": (2, 16, 5, 5)}
    numbers = {name: rng.standard_normal(shape, dtype=np.float32) for name, shape in shapes.items()}
    lies = {name: (0, 2, 3, 1) if name in orders else tuple(range(len(shape))) for name, shape in shapes.items()}
    strides = [onednn.strides_of(shapes[name], lies[name]) for name in shapes]
    described = onednn.Convolution(kind, "float32", *shapes.values(), *strides, (2, 2), (1, 1), (1, 1), (1, 1))
    *operands, result = described.arrays
    memory = [np.ascontiguousarray(numbers[name].transpose(lies[name])) for name in operands]
    out = np.empty([shapes[result][d] for d in lies[result]], np.float32)
    onednn.run(described, *memory, out)
    out = out.transpose(np.argsort(lies[result]))
    x, w, ct = map(torch.tensor, (numbers["src"], numbers["weights"][:, 0], numbers["dst"]))
    x.requires_grad_(), w.requires_grad_()
    y = torch.nn.functional.conv2d(x, w, stride=2, padding=1, groups=16)
    y.backward(ct)
    expected = {"forward": y.detach(), "data": x.grad, "weights": w.grad[:, None]}[kind]
    np.testing.assert_allclose(out, expected.numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("special", (np.nan, np.inf, -np.inf, 1e-42, 3e38))
def test_special_numbers(special):
    x, w = arrays()
    x[1, 2, 3, 4] = special
    x[0, 1, 2, 2] = -special
    with np.errstate(all="ignore"):
        wanted = plainly(x, w)
    found = run(convolution(), x, w)
    finite = np.abs(wanted) < 1e38
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    np.testing.assert_allclose(found[finite], wanted[finite], rtol=1e-5, atol=1e-5)


def test_denormals_are_kept():
    x, w = np.full((1, 1, 1, 1), 1e-41, np.float32), np.full((1, 1, 1, 1), 0.5, np.float32)
    assert run(convolution(src=x.shape, kernel=w.shape), x, w).item() == np.float32(1e-41) / 2


def test_several_threads_at_once():
    wrong, start = [], threading.Barrier(6)

    def work(seed):
        x, w = arrays(seed)
        wanted = plainly(x, w)
        start.wait()
        for _ in range(200):
            if not np.allclose(run(convolution(), x, w), wanted, rtol=1e-5, atol=1e-5):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(5)]
    for thread in threads:
        thread.start()
    work(5)  # the main thread, which runs its jobs itself
    for thread in threads:
        thread.join()
    assert not wrong


HELPERS = (
    PRELUDE
    + """
from functorch_core.xla import native_call
step()
teams = native_call._runtime().desk.team
native_call.settle_service()
thread = threading.Thread(target=step)  # its jobs are those of the thread for all others
thread.start()
thread.join()
cores = os.sched_getaffinity(0)
for team in teams:
    helpers = list(team.helper)[:team.helpers]
    kept = [os.sched_getaffinity(helper) == cores - {team.core} for helper in helpers]
    print(team.core in cores, len(helpers) == len(cores) - 1, all(kept), os.getpid() in helpers)
print(os.sched_getaffinity(0) == cores)
"""
)


@pytest.mark.skipif(not 1 < len(os.sched_getaffinity(0)) <= 8, reason="one core, or many")
def test_helpers_are_kept_off_the_core_of_the_thread_that_they_help():
    assert run_python(HELPERS, OMP_NUM_THREADS="").split() == ["True", "True", "True", "False"] * 2 + ["True"]


def test_evicted_primitives():
    """More shapes than are kept: those that no program calls are destroyed."""
    for n in range(700):
        x, w = np.ones((1, 1, n + 3), np.float32), np.ones((1, 1, 3), np.float32)
        assert (run(convolution(src=x.shape, kernel=w.shape), x, w) == 3).all()


def test_a_job_has_few_arrays():
    with pytest.raises(ValueError, match="at most"):
        native_call.Job([], [(0, 0)] * 25, None)
    with pytest.raises(ValueError, match="takes 3 arrays, got 1"):
        onednn.job_of(convolution())(0)


# ---- whole processes -------------------------------------------------------------------------------


def test_programs_in_threads():
    out = run_python(
        PRELUDE
        + """
wanted = {s: by_xla(seed=s, n=2 + s) for s in range(4)}
wrong = []
def work(s):
    with fc.engine.forced_tier("fused"):
        for _ in range(30):
            if not np.allclose(step(seed=s, n=2 + s), wanted[s], rtol=1e-4, atol=1e-4):
                wrong.append(s)
threads = [threading.Thread(target=work, args=(s,)) for s in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
print(wrong)
"""
    )
    assert out.split() == ["[]"]


def test_forked_children_compute_without_it():
    out = run_python(
        PRELUDE
        + """
wanted = by_xla()
with fc.engine.forced_tier("fused"):
    step()
with fc.engine.forced_tier("reference"):
    step()
process = forked(lambda: (onednn.is_available(), np.allclose(step(), wanted, rtol=1e-4, atol=1e-4)))
print(process.exitcode, onednn.is_available(), np.allclose(step(), wanted, rtol=1e-4, atol=1e-4))
"""
    )
    assert out.splitlines() == ["(False, True)", "0 True True"]


def test_norms_in_forked_children():
    out = run_python(
        PRELUDE
        + """
from functorch_core.kernels import on_host
from functorch_core.core.aval import aval
x = np.random.default_rng(0).standard_normal((1100, 256), dtype=np.float32)
assert on_host.rows(False, False, 1e-5)(aval(x.shape, x.dtype)) is not None
def norm():
    with fc.engine.forced_tier("reference"):
        return ft.nn.functional.layer_norm(ft.tensor(x), (256,)).numpy()
wanted = norm()
print(forked(lambda: np.allclose(norm(), wanted, rtol=1e-4, atol=1e-4)).exitcode)
"""
    )
    assert out.split() == ["True", "0"]


CACHED = (
    PRELUDE
    + """
with fc.engine.forced_tier("fused"):
    found = step()
stats = fc.engine.stats()
print(stats["compiles"], stats["disk_hits"], np.allclose(found, by_xla(), rtol=1e-4, atol=1e-4))
"""
)


def test_programs_from_the_disk():
    """What they call is made before they run; without oneDNN they are other programs."""
    compiles, hits, right = run_python(CACHED).split()
    assert int(compiles) > 0 and (hits, right) == ("0", "True")
    assert run_python(CACHED).split() == ["0", compiles, "True"]
    others, hits, right = run_python(CACHED, FUNCTORCH_ONEDNN="0").split()
    assert int(others) > 0 and (hits, right) == ("0", "True")
    assert run_python(CACHED).split() == ["0", compiles, "True"]


def test_loading_changes_nothing_of_the_environment():
    out = run_python(
        """
import os
from functorch_core.xla import onednn
before, threads = dict(os.environ), len(os.listdir("/proc/self/task"))
print(onednn.is_available(), dict(os.environ) == before)
"""
    )
    assert out.split() == ["True", "True"]


def test_leaving_while_a_program_runs():
    out = run_python(
        PRELUDE
        + """
with fc.engine.forced_tier("fused"):
    x, w = ft.randn(64, 32, 32, 32), ft.randn(32, 32, 3, 3)
    for _ in range(3):
        y = ft.nn.functional.conv2d(x, w, padding=1)
        fc.engine.flush("a step")
print("done")
"""
    )
    assert out.split() == ["done"]
