"""Memory that tensors share with NumPy: programs under both libraries."""

from __future__ import annotations

import contextlib
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import functorch_core as fc
from functorch_core.torch.views import shared

from .agree import ours, reference

HERE = pathlib.Path(__file__).parent
ROOT = str(HERE.parent.parent)
TEXT = (HERE / "memory_programs.txt").read_text()
PROGRAMS = dict(part.split("\n", 1) for part in TEXT.split("## ")[1:])


def plain(x):
    """What is compared of a value: of arrays and tensors the numbers."""
    if hasattr(x, "detach"):
        return ["tensor", str(x.dtype), list(x.shape), x.tolist()]
    if isinstance(x, np.ndarray):
        return ["array", str(x.dtype), x.tolist()]
    if isinstance(x, (list, tuple)):
        return [plain(y) for y in x]
    return x.item() if isinstance(x, np.generic) else x if isinstance(x, (int, float)) else str(x)


@contextlib.contextmanager
def warned():
    """Context: the warnings in it, which are nobody else's business."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield found


def outcome(text: str, torch) -> list:
    """What a program shows."""
    shown: list = []

    def fails(f):
        with pytest.raises(Exception) as error:
            f()
        shown.append([error.type.__name__, str(error.value).splitlines()[0]])

    names = {"torch": torch, "np": np, "fails": fails, "warned": warned, "__name__": "program"}
    names["show"] = lambda *values: shown.extend(map(plain, values))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        exec(compile(text, "program", "exec"), names)
    return shown


def same(found, expected):
    """Whether what two programs show is equal, floats nearly."""
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, float):
        return isinstance(found, float) and np.isclose(found, expected, rtol=1e-5, atol=1e-6, equal_nan=True)
    return found == expected


@pytest.mark.parametrize("title", PROGRAMS)
def test_programs(title):
    expected = outcome(PROGRAMS[title], reference)
    found = outcome(PROGRAMS[title], ours)
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        assert same(one, other), (one, other)


@pytest.mark.parametrize("tier", ["reference", "per-op", "fused", "immediate"])
def test_tiers(tier):
    titles = list(PROGRAMS)[:: 4 if tier != "reference" else 1]
    for title in titles:
        expected = outcome(PROGRAMS[title], reference)
        with fc.engine.forced_tier(tier):
            found = outcome(PROGRAMS[title], ours)
        assert same(found, expected), (title, found, expected)


@pytest.mark.parametrize("title", list(PROGRAMS)[:40])
def test_at_once(title):
    expected = outcome(PROGRAMS[title], reference)
    with fc.engine.at_once("a test"):
        found = outcome(PROGRAMS[title], ours)
    assert same(found, expected), (found, expected)


def is_ordinary(tensor) -> bool:
    """Whether a tensor that was just used shares its memory with nobody."""
    (tensor + 0).sum()
    return not tensor._view.cell.shared


@pytest.mark.parametrize("shape", [(3,), (), (300, 300)])
def test_memory_that_nobody_else_holds_is_not_shared(shape):
    x = ours.ones(shape)
    array = x.numpy()
    part = array[..., :1] if shape else array[...]
    assert not is_ordinary(x)
    del array
    assert not is_ordinary(x)
    part += 1
    del part
    assert is_ordinary(x) and x.max() == 2
    source = np.ones(shape)
    whole, y = ours.from_numpy(source), ours.from_numpy(source[..., :1] if shape else source)
    transposed = ours.from_numpy(np.ones((2, 3)).T)
    assert not is_ordinary(whole) and not is_ordinary(y) and is_ordinary(transposed)
    del source
    assert not is_ordinary(whole)  # y sees it
    del y
    assert is_ordinary(whole)


LARGE = 300, 400  # more than is copied when it is read


@pytest.mark.parametrize(
    "program",
    [
        lambda t, x: (t.exp(x),),
        lambda t, x: (x[t.arange(299, -1, -1)],),  # an array that is the shape of another
        lambda t, x: (y := t.exp(x), y * 2),  # an op that waits
        lambda t, x: (y := t.exp(x), y.reshape(-1)),  # a view from before
        lambda t, x: (y := t.exp(x), y.sum().item()),  # it was read already
        lambda t, x: (y := t.exp(x), y.clone()),
        lambda t, x: (x @ x.T,),
        lambda t, x: (t.exp(x).T, t.exp(x)),  # columns
    ],
)
@pytest.mark.parametrize("tier", [None, "fused"])
def test_arrays_of_large_results(program, tier):
    """The array is the result's own memory: writes on either side are seen on the other, and nowhere else."""
    found = []
    for t in (ours, reference):
        x = t.arange(math.prod(LARGE), dtype=t.float32).reshape(LARGE) / 1e5
        with fc.engine.forced_tier(tier) if tier else contextlib.nullcontext():
            for _ in range(3):
                y, *rest = program(t, x)
                array = y.numpy()
        array[3] = 7
        y[:, 5] += 1
        found.append([array + 0, y, x, *rest])
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5)


def _copied_shapes(monkeypatch) -> list:
    """Shapes of what is copied to be shared, from now on."""
    copied = []

    def noted(x, **how):
        copied.append(x.shape)
        return np.array(x, **how)

    monkeypatch.setattr(shared, "np", SimpleNamespace(**{**vars(np), "array": noted}))
    return copied


@pytest.mark.parametrize("tier", [None, "fused"])
def test_a_large_result_is_not_copied_for_its_array(tier, monkeypatch):
    copied = _copied_shapes(monkeypatch)
    y = ours.exp(ours.ones(LARGE))
    with fc.engine.forced_tier(tier) if tier else contextlib.nullcontext():
        array = y.numpy()
    assert LARGE not in copied
    array[0, 0] = 5
    assert not is_ordinary(y) and y[0, 0] == 5
    del array
    assert is_ordinary(y)


def test_a_large_result_is_not_copied_where_another_evaluates_the_frames(monkeypatch):
    copied = _copied_shapes(monkeypatch)
    evaluators = reference._C._dynamo.eval_frame
    before = evaluators.set_eval_frame(False)  # as an error of PyTorch's compiler leaves it
    try:
        ours.exp(ours.ones(LARGE)).numpy()
    finally:
        evaluators.set_eval_frame(before)
    assert LARGE not in copied


def test_address_stays_when_nobody_else_holds_the_memory():
    x = ours.ones(3)
    array = x.numpy()
    address = array.ctypes.data
    assert x.data_ptr() == address
    array[0] = 5
    del array
    assert is_ordinary(x) and x.tolist() == [5, 1, 1]
    x.add_(1)
    assert x.data_ptr() == address == x.numpy().ctypes.data and x.numpy().tolist() == [6, 2, 2]


# ---- between processes ---------------------------------------------------------------------------------

PROCESSES = dict(part.split("\n", 1) for part in (HERE / "process_programs.txt").read_text().split("## ")[1:])
HEAD = """
import os, sys, traceback, warnings
warnings.simplefilter("ignore")
import numpy as np
{imports}
folder = sys.argv[-1]
tests = []

def run(method, work, calls):
    for args in calls:
        process = mp.get_context(method).Process(target=work, args=args)
        process.start()
        process.join()
        assert process.exitcode == 0, process.exitcode

def fails(f):
    try:
        f()
    except Exception as error:
        print(type(error).__name__, str(error).splitlines()[0].replace(folder, ""))

def listed(x):
    return x.tolist() if hasattr(x, "tolist") else list(map(listed, x)) if isinstance(x, list) else x

def show(*values):
    print(*map(listed, values), sep="\\n")
"""
TAIL = """
if __name__ == "__main__":
    for title, main in tests:
        print("##", title)
        try:
            main()
        except Exception:
            print(traceback.format_exc())
        sys.stdout.flush()
"""


def printed(imports: str, folder) -> dict[str, str]:
    """What each program prints; all run in one process, which starts others."""
    folder.mkdir()
    parts = [HEAD.format(imports=imports)]
    for i, (title, text) in enumerate(PROCESSES.items()):
        own = re.sub(r"\b(work|main)\b", rf"\g<1>{i}", text)
        parts.append(f"{own}\ntests.append(({title!r}, main{i}))\n")
    (folder / "program.py").write_text("\n".join([*parts, TAIL]))
    command = [sys.executable, folder / "program.py", folder]
    environment = {**os.environ, "PYTHONPATH": ROOT}
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, env=environment)
    assert done.returncode == 0, done.stderr
    return dict(part.split("\n", 1) for part in done.stdout.split("## ")[1:])


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("processes")
    mine = "from functorch_core import torch\nfrom functorch_core.torch import multiprocessing as mp"
    theirs = "import torch\nimport torch.multiprocessing as mp"
    return printed(mine, folder / "ours"), printed(theirs, folder / "theirs")


NO_STEP_LOST = "no step of several processes is lost"


@pytest.mark.parametrize("title", [title for title in PROCESSES if title != NO_STEP_LOST])
def test_processes(title, outputs):
    found, expected = (x[title] for x in outputs)
    assert "Traceback" not in expected and found == expected


def test_no_step_of_several_processes_is_lost(outputs):
    """Two processes take 40 steps of 0.5 each. PyTorch's write without a lock: there a step is lost now and then."""
    assert outputs[0][NO_STEP_LOST] == 4 * "-40.0\n"


# ---- random programs -----------------------------------------------------------------------------------


def random_program(seed: int, torch, n_steps: int = 30) -> list:
    """What tensors and arrays of one memory hold while both sides write to it, in a program drawn by `seed`."""
    draw = random.Random(seed)
    rows, columns = (200, 120) if seed % 4 == 3 else (4, 6)  # of large memory ops are computed elsewhere
    source = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
    tensors = [torch.from_numpy(source.copy()) if draw.random() < 0.5 else torch.from_numpy(source.copy() * 1).clone()]
    if draw.random() < 0.5:
        tensors = [torch.from_numpy(source)]
    taped = draw.random() < 0.5
    if not taped and draw.random() < 0.5:
        tensors[0].requires_grad_()
    arrays, kept, shown = [source], [], []
    for _ in range(n_steps):
        x, kind = draw.choice(tensors), draw.choice(KINDS)
        number, i = float(draw.randint(-3, 3)), draw.randint(0, 1)
        try:
            with torch.set_grad_enabled(taped):
                STEPS[kind](torch, x, number, i, tensors, arrays, kept, draw)
        except (RuntimeError, IndexError, ValueError) as error:
            shown.append(type(error).__name__)
        del x
        shown.append([kind, draw.randint(0, 1)])
        if shown[-1][1]:
            shown.append([state(y) for y in [*tensors, *arrays]])
    return [*shown, [state(y) for y in [*tensors, *arrays, *kept]], [y._version for y in tensors]]


def state(x):
    """The numbers of a tensor or an array, all of few, sums of many."""
    array = np.array(x.detach().tolist() if hasattr(x, "detach") else x, np.float64)
    return array.tolist() if array.size < 100 else [array.shape, array.sum(), (array[..., ::7] * 2).sum()]


def _view(torch, x, number, i, tensors, arrays, kept, draw):
    made = draw.choice(
        [
            lambda: x[i],
            lambda: x[..., i:],
            lambda: x.t(),
            lambda: x.reshape(-1)[i::3],
            lambda: x.unsqueeze(i),
            lambda: x.detach(),
            lambda: x.flatten(),
            lambda: x.diagonal(),
            lambda: x.narrow(0, i, 1),
        ]
    )()
    tensors.append(made)


def _export(torch, x, number, i, tensors, arrays, kept, draw):
    arrays.append(x.detach().numpy())


def _import(torch, x, number, i, tensors, arrays, kept, draw):
    array = draw.choice(arrays)
    tensors.append(torch.from_numpy(array[i:] if array.ndim else array))


def _array_writes(torch, x, number, i, tensors, arrays, kept, draw):
    array = draw.choice(arrays)
    if array.ndim and draw.random() < 0.5:
        array = array[i:2]
    if min(s for s in (*array.strides, 1)) > 0:
        array += number


def _temporary_writes(torch, x, number, i, tensors, arrays, kept, draw):
    array = x.detach().numpy()
    if min(s for s in (*array.strides, 1)) > 0:
        array[...] = number


def _tensor_writes(torch, x, number, i, tensors, arrays, kept, draw):
    draw.choice(
        [
            lambda: x.add_(number),
            lambda: x.mul_(number),
            lambda: x.__setitem__(i, number),
            lambda: x.__setitem__((..., slice(i, None)), number),
            lambda: x.data.sub_(1),
            lambda: x.copy_(torch.full(x.shape, number)),
            lambda: x[torch.tensor([i])].zero_(),
            lambda: x.index_fill_(0, torch.tensor([0]), number),
        ]
    )()


def _keep(torch, x, number, i, tensors, arrays, kept, draw):
    kept.append(draw.choice([lambda: x + number, lambda: x.clone(), lambda: x.sum(), lambda: x[torch.tensor([0])]])())


def _forget(torch, x, number, i, tensors, arrays, kept, draw):
    chosen = draw.choice([tensors, arrays])
    if len(chosen) > 1:
        del chosen[draw.randrange(len(chosen))]


def _copy(torch, x, number, i, tensors, arrays, kept, draw):
    tensors.append(draw.choice([lambda: x.clone(), lambda: x.contiguous()])())


STEPS = {
    "view": _view,
    "export": _export,
    "import": _import,
    "array writes": _array_writes,
    "temporary writes": _temporary_writes,
    "tensor writes": _tensor_writes,
    "keep": _keep,
    "forget": _forget,
    "copy": _copy,
}
KINDS = [*STEPS, "tensor writes", "array writes", "view"]


@pytest.mark.parametrize("block", range(8))
def test_random_programs(block):
    n = int(os.environ.get("FUNCTORCH_MEMORY_PROGRAMS", 160)) // 8
    for seed in range(block * n, block * n + n):
        expected = random_program(seed, reference)
        found = random_program(seed, ours)
        for step, (one, other) in enumerate(zip(found, expected, strict=True)):
            assert same(plain(one), plain(other)), (seed, step, expected[step - 1], one, other)


def test_a_call_that_is_given_up_leaves_no_trace_in_the_next():
    """An operand that was taken over before one in shared memory turned up is an input of no call."""
    array = np.ones(3, np.float32)
    for i in range(12):
        with fc.engine.forced_tier("per-op" if i % 2 else "fused"):
            fresh, shared = ours.ones(3) * 2, ours.from_numpy(array)
            fresh.tolist()
            if i % 3:
                kept = fresh + shared
            again = fresh * 3
            assert again.tolist() == [6, 6, 6] and (not i % 3 or kept.tolist() == [3, 3, 3])
