"""Where results could be wrong without a word: programs that must show the same under PyTorch.

`silent_programs.txt` holds them, separated by blank lines, under headings. What a program hands to `show` is
compared, tensors with their strides; then its error, and the first lines of its warnings.
"""

from __future__ import annotations

import copy
import importlib
import pathlib
import pickle
import re
import subprocess
import sys
import types
import warnings

import numpy as np
import pytest

from functorch_core import torch

reference = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")  # they are recorded, and compared

TEXT = (pathlib.Path(__file__).parent / "silent_programs.txt").read_text()
PARTS = dict(re.findall(r"^# ---- (.*)\n((?:(?!# ----).*\n?)*)", TEXT, re.M))


def programs(part: str) -> list[str]:
    return [text.strip("\n") for text in re.split(r"\n\s*\n", PARTS[part]) if text.strip()]


def plain(x):
    """What is compared of a value."""
    if hasattr(x, "untyped_storage"):
        array = x.detach().cpu().to_dense() if x.layout is not type(x)().layout else x.detach()
        return ["tensor", x.stride(), str(x.dtype), x.requires_grad, np.array(array.resolve_conj().tolist())]
    if isinstance(x, (list, tuple)):
        return [type(x).__name__, *map(plain, x)]
    if isinstance(x, dict):
        return [type(x).__name__, *[[str(k), plain(v)] for k, v in x.items()]]
    if isinstance(x, (bool, int, float, complex, str, type(None))):
        return x
    return x.__name__ if isinstance(x, type) else re.sub("0x[0-9a-f]+", "0x", repr(x).replace("functorch_core.", ""))


def outcome(program: str, library) -> list:
    shown: list = []
    prefix = "functorch_core." if library is torch else ""
    space = {
        "torch": library,
        "np": np,
        "nn": library.nn,
        "F": library.nn.functional,
        "show": lambda *values: shown.append(plain(values)),
        "module": lambda name: importlib.import_module(prefix + name),
    }
    library.manual_seed(0)
    library.set_warn_always(True)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ResourceWarning)  # of what another test left, and the collector finds here
        try:
            exec(compile(program, "<program>", "exec", dont_inherit=True), space)
        except Exception as error:  # noqa: BLE001 (it is compared)
            shown.append([type(error).__name__, str(error).split("\n")[0]])
        finally:
            library.set_warn_always(False)
    said = [(w.category.__name__, str(w.message).split("\n")[0].split(" (Triggered")[0][:80]) for w in said]
    return [shown, said]


def same(found, expected) -> bool:
    if isinstance(found, list) and isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(found, np.ndarray) and isinstance(expected, np.ndarray):
        numbers = found.dtype.kind in "biufc"
        return found.shape == expected.shape and (
            np.allclose(found, expected, 1e-5, 1e-7, equal_nan=True) if numbers else np.array_equal(found, expected)
        )
    if isinstance(found, float) and isinstance(expected, float):
        return bool(np.isclose(found, expected, 1e-5, equal_nan=True))
    return found == expected


@pytest.mark.parametrize("part", PARTS)
def test_same_as_pytorch(part):
    different = []
    for program in programs(part):
        found, expected = outcome(program, torch), outcome(program, reference)
        if not same(found, expected):
            different.append(f"{program}\n  found    {found}\n  expected {expected}")
    assert not different, "\n".join(different)


def test_each_process_starts_from_another_seed():
    code = "from functorch_core import torch; print(torch.initial_seed(), torch.Generator().initial_seed())"
    first, second = (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(2)
    )
    assert first[0] != second[0] and first[1] == second[1] == str(reference.Generator().initial_seed())


@pytest.mark.parametrize(
    "f",
    [
        lambda x: torch.zeros(3, dtype=x.dtype).scatter_reduce(0, torch.tensor([0, 1, 1, 0, 2, 1]), x, "prod"),
        lambda x: torch.linalg.inv(torch.outer(x, x) + torch.eye(6, dtype=x.dtype)),
        lambda x: x.exp().cumprod(0).std(),
        lambda x: torch.special.erfcx(x).softmax(0),
    ],
)
def test_gradcheck_is_of_one_tier(f):
    for seed in range(6):  # by the third the recordings are compiled
        torch.manual_seed(seed)
        x = torch.randn(6, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(f, (x,), nondet_tol=0.0)


ALIASES = """absolute arccos arctan arctan2 clip concat concatenate divide fix ger greater less_equal multiply negative
    not_equal row_stack subtract trapz""".split()
SPECIAL = "erf expit gammaln psi logit multigammaln xlogy sinc i0".split()


def test_names_of_one_op_are_functions_of_their_own():
    spaces = [
        (library, importlib.import_module(f"{p}torch.special"))
        for library, p in ((torch, "functorch_core."), (reference, ""))
    ]
    for name in ALIASES:
        ours, theirs = (getattr(library, name) for library, _ in spaces)
        assert ours.__name__ == theirs.__name__ == name
    for name in SPECIAL:
        ours, theirs = (getattr(special, name) for _, special in spaces)
        assert ours.__name__ == theirs.__name__ == f"special_{name}"
    for library, special in spaces:
        functions = [getattr(library, n) for n in (*ALIASES, *"abs acos atan atan2 clamp cat div trunc outer".split())]
        functions += [getattr(special, n) for n in SPECIAL]
        assert len(set(functions)) == len(functions)
        assert all(copy.deepcopy(f) is f for f in functions)
    assert pickle.loads(pickle.dumps(torch.arctan)) is torch.arctan

    class Overriding:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func

    for library, special in spaces:
        assert library.concat([Overriding()]) is library.concat
        assert special.erf(Overriding()) is special.erf


OUR_BOARD = "compat.utils.tensorboard"


def test_a_closed_summary_writer_opens_another_file(monkeypatch, tmp_path):
    """With a stand-in for tensorboard, which tells what was written."""
    opened = []

    class EventFileWriter:
        def __init__(self, folder, *options):
            self.folder, self.events, self.closed = folder, [], False
            opened.append(self)

        def add_event(self, event):
            assert not self.closed, "I/O operation on closed file"
            self.events.append(event)

        def flush(self):
            assert not self.closed

        def close(self):
            self.closed = True

    record = types.SimpleNamespace
    record_of_values = type("Summary", (record,), {"Value": record})
    for name, members in {
        "tensorboard": {},
        "tensorboard.compat": {},
        "tensorboard.compat.proto": {},
        "tensorboard.compat.proto.event_pb2": {"Event": record, "TaggedRunMetadata": record},
        "tensorboard.compat.proto.summary_pb2": {"Summary": record_of_values},
        "tensorboard.summary": {},
        "tensorboard.summary.writer": {},
        "tensorboard.summary.writer.event_file_writer": {"EventFileWriter": EventFileWriter},
    }.items():
        module = types.ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
    for name in [name for name in sys.modules if name.endswith(("torch.utils.tensorboard", OUR_BOARD))]:
        monkeypatch.delitem(sys.modules, name)  # what another test has loaded
    board = importlib.import_module("functorch_core.torch.utils.tensorboard")
    writer = board.SummaryWriter(tmp_path)
    writer.add_scalar("loss", torch.tensor(1.0), 0)
    writer.close()
    writer.flush()
    writer.close()
    writer.add_scalar("loss", 2.0, 1)
    assert [len(file.events) for file in opened] == [1, 1] and opened[0].closed and not opened[1].closed
    for name in [name for name, module in sys.modules.items() if module is board]:
        del sys.modules[name]
    if vars(torch.utils).get("tensorboard") is board:
        del torch.utils.tensorboard


def test_warnings_that_are_given_once_in_a_process():
    code = """
import warnings
from {name}
x = torch.ones((), requires_grad=True)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    for _ in range(2):
        float(x), torch.add(x, 2, x), x.sub(2, x), torch.qr(torch.eye(2))
print([str(w.message)[:30] for w in said])
"""
    ours, theirs = (
        subprocess.run([sys.executable, "-c", code.format(name=name)], capture_output=True, text=True, check=True)
        for name in ("functorch_core import torch", "importlib import import_module as i; torch = i('torch')")
    )
    assert ours.stdout == theirs.stdout and ours.stdout.count(",") == 2
