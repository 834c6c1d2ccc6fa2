"""Loops over elements compute and write where the numbers are: what PyTorch gives, and nothing is recorded."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch as reference

from functorch_core import torch as ours
from tests.benchmarks.eager import Loops

ROOT = Path(__file__).resolve().parents[2]

# ---- loops ---------------------------------------------------------------------------------------

LOOPS = Loops.names()
LATER = "shortest_paths", "merged"  # of which some rows are recorded


@pytest.mark.parametrize("mode", ["enable_grad", "no_grad", "inference_mode"])
@pytest.mark.parametrize("loop", LOOPS)
def test_loops_give_what_pytorch_does(loop, mode):
    reference.manual_seed(0)
    expected, _ = getattr(Loops(reference), loop)()
    for _ in range(3):
        ours.manual_seed(0)
        with getattr(ours, mode)():
            found, _ = getattr(Loops(ours), loop)()
        np.testing.assert_allclose(np.asarray(found.tolist()), np.asarray(expected.tolist()), rtol=1e-5)
        assert mode == "inference_mode" or found._version == expected._version


COMPUTED_LATER = """
from functorch_core import engine, torch
from tests.torch.test_elements_at_hand import LATER, LOOPS, Loops

for mode in ("enable_grad", "no_grad", "inference_mode"):
    for loop in set(LOOPS) - set(LATER):
        for _ in range(3):
            engine.flush()
            before = engine.stats()["flushes"]
            with getattr(torch, mode)():
                getattr(Loops(torch), loop)()
            flushes = engine.stats()["flushes"] - before
            assert flushes <= 3, (loop, mode, flushes)  # of what made the tensors
"""


def test_loops_leave_nothing_to_be_computed_later():
    """In a process of its own: what else a process has used (several devices, say) may need a recording."""
    subprocess.run([sys.executable, "-c", COMPUTED_LATER], check=True, cwd=ROOT)


# ---- what is computed or kept elsewhere ------------------------------------------------------------


def at_hand(lib, *shape):
    x = lib.arange(float(np.prod(shape))).reshape(shape).clone()
    x.tolist()
    return x


def recorded_before(lib):
    """What is recorded of a tensor has the numbers that it had."""
    x = at_hand(lib, 3, 4)
    double = x * 2
    x[1, 2] = 100
    x[0][1] += 5
    return double, x


def views_that_live(lib):
    """Rows that somebody keeps see what is written, their copies do not."""
    x = at_hand(lib, 3, 4)
    row, again, column = x[1], x[1], x[:, 2]
    copy, detached, number = row.clone(), row.detach(), x[1, 2]
    kept = number + 0
    x[1][2] = 50
    row[0] += 1
    again[3] = row[0]
    found = [row, again, column, copy, detached, number, kept, x]
    row += 1
    x[1] *= 2
    return [t.clone() for t in found]


def before_a_gradient(lib):
    """A tensor whose elements were written to, and that requires a gradient then."""
    x = at_hand(lib, 3, 4)
    row = x[1]
    row[2] = 7
    x[2, 2] += 1
    x.requires_grad_()
    y = (x * x[1]).sum() * x[2, 2]
    (grad,) = lib.autograd.grad(y, x)
    return y, grad, lib.tensor([row.requires_grad, x[1].requires_grad])


def on_the_tape(lib):
    """Writes of what has a history, and elements of what has one."""
    w = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x = at_hand(lib, 3)
    x[1] = w[0] * w[1]
    x[0] += w[2]
    x[2] = x[1] + x[0]
    x.sum().backward()
    with lib.no_grad():
        w[0] = 9.0
        w[1] += w[0]
    return w.grad, w, x


def numbers_alone(lib):
    """Of tensors without dimensions, in place and not, with what they are views of."""
    x = at_hand(lib, 5)
    a, b = x[1], x[2]
    c = a
    a += b
    c *= 3
    x[1:3] += 1
    b.add_(a).mul_(b)
    return a, b, c, x, lib.tensor([a._version, b._version, x._version])


def of_other_dtypes(lib):
    found = []
    for dtype in (lib.int32, lib.uint8, lib.bool, lib.float16, lib.bfloat16, lib.complex64):
        x = lib.ones(4, 3).to(dtype)
        x.tolist()
        x[1, 1] = 2
        x[2][2] = x[1, 1]
        x[3] = x[2]
        x[0, 0] = True
        if dtype != lib.bool:
            x[1][0] += x[1, 1]
            x[0][1] -= 1
        found.append(x)
    return found


def by_data(lib):
    """Through `data` autograd sees nothing, so that a backward pass goes on."""
    x = at_hand(lib, 4).requires_grad_()
    y = (x * x).sum()
    x.data[1] = 5.0
    x.data[2:] += 1
    y.backward()
    return x, lib.tensor([x._version, x.grad.numel()])


def arrays_of_numpy(lib):
    """Memory that NumPy sees."""
    x = at_hand(lib, 3, 4)
    array = x.numpy()
    x[1][1] = 40
    x[0, 0] += 3
    array[2] = 9
    x[2][0] = x[2, 1] + 1
    return x, lib.from_numpy(array.copy())


def large_ones(lib):
    """Tensors that are not copied while somebody keeps a row."""
    x = at_hand(lib, 200, 200)
    x[3, 4] = 1
    row = x[3]
    x[3][5] = 2
    row[6] = x[3, 5] + 1
    x[4][:10] = row[:10]
    return x, row


PROGRAMS = (
    recorded_before,
    views_that_live,
    before_a_gradient,
    on_the_tape,
    numbers_alone,
    of_other_dtypes,
    by_data,
    arrays_of_numpy,
    large_ones,
)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_nothing_is_lost(program):
    expected = program(reference)
    for _ in range(3):
        for ours_, theirs in zip(program(ours), expected, strict=True):
            assert str(ours_.dtype) == str(theirs.dtype)
            np.testing.assert_allclose(
                ours_.detach().to(ours.complex128).numpy(), theirs.detach().to(reference.complex128).numpy(), rtol=1e-5
            )


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.__setitem__((0, 9), 1.0),
        lambda x: x[0].__setitem__(slice(0, 3), x[1]),
        lambda x: x.__setitem__(0, x.new_ones(3)),
        lambda x: x[0].add_(x[1, :2]),
        lambda x: x.expand(2, 3, 4)[0].__setitem__((0, 0), 1.0),
        lambda x: x[0].expand(2, 4).add_(1),
        lambda x: x.to(x.dtype).int()[0].__setitem__(0, 2**40),
    ],
)
def test_what_is_refused_is_refused_and_changes_nothing(write):
    for _ in range(3):
        said = []
        for lib in (ours, reference):
            x = at_hand(lib, 3, 4)
            try:
                write(x)
                said.append(None)
            except Exception as error:
                said.append(f"{type(error).__name__}: {error}")
            said.append(x.tolist())
        assert said[:2] == said[2:]


def test_a_thread_of_its_own_finds_the_numbers():
    x = at_hand(ours, 4)
    found = []

    def work():
        for i in range(4):
            x[i] += i
            found.append(float(x[i]))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    x[0] -= 1
    assert found == [0.0, 2.0, 4.0, 6.0] and x.tolist() == [-1.0, 2.0, 4.0, 6.0]


def test_an_object_that_dies_in_the_midst_of_a_number_may_compute_another():
    x = at_hand(ours, 4)
    found = []

    class Dies:
        def __del__(self):
            found.append((x[1] + x[2]).item())

    def callback(held):
        del held
        return 0

    for _ in range(3):
        held = Dies()
        assert (x[3] + x[3]).item() == 6.0
        callback(held)
        del held
    assert found == [3.0] * 3


# ---- random programs -------------------------------------------------------------------------------

SIZES = {"x": 12, "v": 5, "w": 5, "f": 20, "d": 12}
MADE_AGAIN = """v=x[2:7] w=m[2] w=m[-1] k=m.t() f=m.view(20) d=x.detach() v=x[:5] v=x[7:] w=f[5:10] v=d[1:6] x=x.clone()
m=m.clone() x=x*1 m=m+0 x.zero_() m.fill_(2) x+=1 m*=1 v+=1 w-=1 k+=1 x[x>2]=1 x[1::2]=0 x[::3]+=1 m[1:3,1:4]=0
m[::2]=1""".split()


class Writer:
    """Statements on elements, rows and slices of tensors that share memory, at random."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.dtype = self.any("float32", "float64", "int64", "int32", "bfloat16", "float16")

    def any(self, *choices):
        return self.random.choice(choices)

    def number(self):
        return (
            self.any("-3", "0", "1", "4", "9") if self.dtype.startswith("int") else self.any("0.5", "-2.0", "3", "0.1")
        )

    def element(self):
        name = self.any(*SIZES, "m", "k")
        if name in SIZES:
            return f"{name}[{self.random.randrange(-SIZES[name], SIZES[name])}]"
        rows, columns = (4, 5) if name == "m" else (5, 4)
        i, j = self.random.randrange(rows), self.random.randrange(columns)
        return self.any(f"{name}[{i},{j}]", f"{name}[{i}][{j}]")

    def value(self):
        return self.any(self.element, self.number, lambda: self.any("a", "b", "e"))()

    def expression(self):
        return self.any(
            self.value,
            lambda: f"({self.value()}{self.any('+', '-', '*')}{self.value()})",
            lambda: f"max({self.value()},{self.value()})",
            lambda: f"{self.any(*SIZES)}.{self.any('sum', 'max', 'min')}()",
            lambda: f"-{self.element()}",
        )()

    def part(self):
        name = self.any(*SIZES)
        i = self.random.randrange(SIZES[name])
        return f"{name}[{i}:{self.random.randrange(i, SIZES[name] + 1)}]"

    def statement(self):
        update = self.any("+=", "-=", "*=")
        row = self.random.randrange(4)
        return self.any(
            lambda: f"{self.element()}={self.expression()}",
            lambda: f"{self.element()}={self.expression()}",
            lambda: f"{self.element()}{update}{self.value()}",
            lambda: f"{self.element()}{update}{self.value()}",
            lambda: f"{self.any('a', 'b')}={self.element()}",
            lambda: f"{self.any('a', 'b', 'e')}.{self.any('add_', 'mul_')}({self.number()})",
            lambda: f"{self.part()}{self.any('=', update)}{self.any(self.number(), 'a', 'b')}",
            lambda: f"m[{row}]={self.any('v', 'w', 'v+w', 'x[:5]', 'm[1]', self.number())}",
            lambda: f"m[{row}]{update}{self.any('v*1', 'w*2', 'm[2]*1')}",
            lambda: f"m[:,{row}]{self.any('=', update)}{self.any(self.number(), 'x[:4].clone()', 'k[1]*1')}",
            lambda: self.any(*MADE_AGAIN),
            lambda: f"out.append(float({self.element()}))",
            lambda: f"out.append(bool({self.element()}>0))",
            lambda: f"out.append({self.any(*SIZES, 'm', 'k')}.tolist())",
            lambda: f"out.append({self.any(*SIZES, 'm', 'k')}._version)",
            lambda: f"y={self.any(*SIZES)}*2;out.append(float(y.sum()))",
            lambda: f"q=m[{row}];{self.element()}={self.number()};q[0]+=1;out.append(q.tolist())",
        )()

    def program(self, n):
        return [
            f"x=torch.{self.any('arange(12)', 'zeros(12)')}.to(torch.{self.dtype})",
            f"m=torch.{self.any('arange(20)', 'ones(20)')}.reshape(4,5).to(torch.{self.dtype})",
            *"a=x[3].clone();b=x.sum();v=x[2:7];w=m[1];k=m.t();e=x[5];d=x.detach();f=m.view(20)".split(";"),
            *[self.statement() for _ in range(n)],
            "out+=[t.tolist() for t in (x,m,v,w,k,f,d,a,b,e)]",
        ]


def results_of(lib, program):
    names = {"torch": lib, "out": []}
    for line in program:
        try:
            exec(line, names)
        except (RuntimeError, TypeError) as error:
            names["out"].append(type(error).__name__)
    return names["out"]


@pytest.mark.parametrize("seeds", [range(i, i + 50) for i in range(0, 200, 50)], ids=lambda seeds: str(seeds[0]))
def test_random_programs_give_what_pytorch_does(seeds):
    for seed in seeds:
        program = Writer(seed).program(60)
        for found, expected in zip(results_of(ours, program), results_of(reference, program), strict=True):
            if isinstance(expected, str):
                assert found == expected, seed
            else:
                np.testing.assert_allclose(
                    found, expected, rtol=2e-2 if "16" in program[0] else 1e-4, atol=1e-3, err_msg=str(seed)
                )
