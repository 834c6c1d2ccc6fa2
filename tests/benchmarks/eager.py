"""Eager code on small tensors against PyTorch, alternately in one process.

    python -m tests.benchmarks.eager            everything (needs the `conformance` extra)
    python -m tests.benchmarks.eager ops        calls of single ops, 200 between two flushes
    python -m tests.benchmarks.eager ops cat .T only those with `cat` or `.T` in their names
    python -m tests.benchmarks.eager acting     loops that read a number in each round
    python -m tests.benchmarks.eager elements   loops over the elements and rows of a small matrix
    python -m tests.benchmarks.eager loops      loops that compute on elements

Ratios are ours / PyTorch's; all of Python is included.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from .alternate import alternate, show

CALLS, STEPS = 200, 100


def _both():
    import torch as theirs

    from functorch_core import torch as ours

    return ours, theirs


# ---- single ops ----------------------------------------------------------------------------------

OPS = {
    "x + x": lambda lib, x: x + x,
    "x * 2.5": lambda lib, x: x * 2.5,
    "1 - x": lambda lib, x: 1 - x,
    "x @ x": lambda lib, x: x @ x,
    "x.tanh()": lambda lib, x: x.tanh(),
    "x.sum()": lambda lib, x: x.sum(),
    "F.relu(x)": lambda lib, x: lib.nn.functional.relu(x),
    "F.linear(x, x)": lambda lib, x: lib.nn.functional.linear(x, x),
    "softmax(x, -1)": lambda lib, x: lib.softmax(x, -1),
    "x.view(16)": lambda lib, x: x.view(16),
    "x.transpose(0, 1)": lambda lib, x: x.transpose(0, 1),
    "x[1:3]": lambda lib, x: x[1:3],
    "x[1]": lambda lib, x: x[1],
    "x.chunk(2, -1)": lambda lib, x: x.chunk(2, -1),
    "for row in x": lambda lib, x: list(x),
    "x[0] = 1": lambda lib, x: x.detach().__setitem__(0, 1),
    "cat([x, x])": lambda lib, x: lib.cat([x, x]),
    "F.layer_norm(x, (4,))": lambda lib, x: lib.nn.functional.layer_norm(x, (4,)),
    "x.clamp(0, 1)": lambda lib, x: x.clamp(0, 1),
    "x.exp()": lambda lib, x: x.exp(),
    "x.mean()": lambda lib, x: x.mean(),
    "x.sum(-1)": lambda lib, x: x.sum(-1),
    "x.sum(dim=1)": lambda lib, x: x.sum(dim=1),
    "x.norm()": lambda lib, x: x.norm(),
    "x.max(dim=1)": lambda lib, x: x.max(dim=1),
    "x ** 2": lambda lib, x: x**2,
    "x / 3": lambda lib, x: x / 3,
    "-x": lambda lib, x: -x,
    "stack([x, x])": lambda lib, x: lib.stack([x, x]),
    "addmm(x, x, x)": lambda lib, x: lib.addmm(x, x, x),
    "einsum": lambda lib, x: lib.einsum("ij,jk->ik", x, x),
    "F.softmax(x, dim=-1)": lambda lib, x: lib.nn.functional.softmax(x, dim=-1),
    "F.mse_loss(x, x)": lambda lib, x: lib.nn.functional.mse_loss(x, x),
    "x.clone()": lambda lib, x: x.clone(),
    "x.detach()": lambda lib, x: x.detach(),
    "x[:, 1]": lambda lib, x: x[:, 1],
    "x[1, 2]": lambda lib, x: x[1, 2],
    "x.unsqueeze(0)": lambda lib, x: x.unsqueeze(0),
    "x.squeeze(0)": lambda lib, x: x.squeeze(0),
    "x.reshape(2, 8)": lambda lib, x: x.reshape(2, 8),
    "x.permute(1, 0)": lambda lib, x: x.permute(1, 0),
    "x.expand(2, 4, 4)": lambda lib, x: x.expand(2, 4, 4),
    "x.split(2)": lambda lib, x: x.split(2),
    "x.flatten()": lambda lib, x: x.flatten(),
    "x.t()": lambda lib, x: x.t(),
    "x.T": lambda lib, x: x.T,
}

# With a condition on x and indices besides, made outside of the loop.
OTHERS = {
    "where(c, x, x)": lambda lib, x, c, i, y: lib.where(c, x, x),
    "where(c, x, 0.0)": lambda lib, x, c, i, y: lib.where(c, x, 0.0),
    "x.masked_fill(c, 0.0)": lambda lib, x, c, i, y: x.masked_fill(c, 0.0),
    "x.gather(1, i)": lambda lib, x, c, i, y: x.gather(1, i),
    "x[y]": lambda lib, x, c, i, y: x[y],
    "F.cross_entropy(x, y)": lambda lib, x, c, i, y: lib.nn.functional.cross_entropy(x, y),
    "F.embedding(y, x)": lambda lib, x, c, i, y: lib.nn.functional.embedding(y, x),
    "F.nll_loss(x, y)": lambda lib, x, c, i, y: lib.nn.functional.nll_loss(x, y),
}

# Without a tape.
PLAIN = {
    "x > 0": lambda lib, x: x > 0,
    "x == x": lambda lib, x: x == x,
    "x.argmax()": lambda lib, x: x.argmax(),
    "x.argmax(-1)": lambda lib, x: x.argmax(-1),
    "x += 1": lambda lib, x: x.__iadd__(1),
    "x.add_(x)": lambda lib, x: x.add_(x),
    "x.zero_()": lambda lib, x: x.zero_(),
    "x.shape": lambda lib, x: x.shape,
    "x.size(0)": lambda lib, x: x.size(0),
    "len(x)": lambda lib, x: len(x),
    "x.device": lambda lib, x: x.device,
    "x.float()": lambda lib, x: x.float(),
    "x.long()": lambda lib, x: x.long(),
    "x.to('cpu')": lambda lib, x: x.to("cpu"),
    "x.contiguous()": lambda lib, x: x.contiguous(),
    "zeros(4, 4)": lambda lib, x: lib.zeros(4, 4),
    "ones(4, 4)": lambda lib, x: lib.ones(4, 4),
    "zeros_like(x)": lambda lib, x: lib.zeros_like(x),
    "arange(4)": lambda lib, x: lib.arange(4),
    "tensor(1.0)": lambda lib, x: lib.tensor(1.0),
    "tensor([1.0, 2.0])": lambda lib, x: lib.tensor([1.0, 2.0]),
    "rand(4)": lambda lib, x: lib.rand(4),
    "randn(4, 4)": lambda lib, x: lib.randn(4, 4),
    "randn_like(x)": lambda lib, x: lib.randn_like(x),
    "randint(0, 9, (4,))": lambda lib, x: lib.randint(0, 9, (4,)),
    "multinomial(x, 1)": lambda lib, x: lib.multinomial(x, 1),
    "with no_grad()": lambda lib, x: _without_grad(lib),
}


def _without_grad(lib):
    with lib.no_grad():
        pass


# Reads: the recording is computed at each.
READ = {
    "x.sum().item()": lambda lib, x: x.sum().item(),
    "float(x.mean())": lambda lib, x: float(x.mean()),
    "bool((x > 0).all())": lambda lib, x: bool((x > 0).all()),
    "x[0, 0].item()": lambda lib, x: x[0, 0].item(),
    "int(x.argmax())": lambda lib, x: int(x.argmax()),
    "x[x > 0]": lambda lib, x: x[x > 0],
    "(x + x).tolist()": lambda lib, x: (x + x).tolist(),
}


def _chosen(rows: dict) -> list:
    """Those whose names have what the command line says, if it says anything."""
    said = [x for x in sys.argv[1:] if x not in SECTIONS]
    return [(name, op) for name, op in rows.items() if not said or any(x in name for x in said)]


def _calls(lib, op, on_tape: bool):
    x = lib.ones(4, 4, requires_grad=on_tape)
    given = (lib, x)
    if op in OTHERS.values():
        given = lib, x, lib.ones(4, 4) > 0, lib.zeros(4, 1, dtype=lib.int64), lib.arange(4)

    def run():
        for _ in range(CALLS):
            y = op(*given)
        return y

    return run


def ops():
    """Microseconds of a call whose result nobody reads."""
    from functorch_core import engine

    libraries = _both()
    for on_tape in (False, True):
        for name, op in _chosen({**OPS, **OTHERS, **({} if on_tape else PLAIN | READ)}):
            mine, other = (_calls(lib, op, on_tape) for lib in libraries)
            row = alternate(mine, other, number=1, between=engine.flush)
            row["ours_min"], row["theirs_min"] = row["ours_min"] / CALLS, row["theirs_min"] / CALLS
            show(name + (" on the tape" if on_tape else ""), row, "PyTorch")


# ---- loops that read ------------------------------------------------------------------------------


class Agent:
    """A policy of 4 numbers, 128 hidden units and 2 actions, as in introductions to the subject."""

    def __init__(self, lib):
        nn = lib.nn
        self.lib, self.functional = lib, nn.functional
        self.net = nn.Sequential(nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 2))
        self.seen = np.random.default_rng(0).random((STEPS, 4), np.float32)

    def greedy(self):
        """The best actions, without gradients."""
        with self.lib.no_grad():
            for x in self.seen:
                self.net(self.lib.from_numpy(x)).argmax().item()

    def sampled(self):
        """Actions drawn, their log probabilities kept."""
        kept = []
        for x in self.seen:
            chances = self.functional.softmax(self.net(self.lib.from_numpy(x).unsqueeze(0)), dim=1)
            action = self.lib.multinomial(chances, 1)
            kept.append(self.lib.log(chances.gather(1, action)).squeeze())
            action.item()
        return kept

    def summed(self):
        """A number is read after one op."""
        x = self.lib.ones(8)
        for _ in range(STEPS):
            x.sum().item()


def acting():
    """Microseconds of a round."""
    mine, other = (Agent(lib) for lib in _both())
    for name in ("summed", "greedy", "sampled"):
        row = alternate(getattr(mine, name), getattr(other, name), number=1, rounds=25)
        row["ours_min"], row["theirs_min"] = row["ours_min"] / STEPS, row["theirs_min"] / STEPS
        show(name, row, "PyTorch")


# ---- loops over elements ---------------------------------------------------------------------------

SIDE = 60


class Table:
    """Loops over a matrix of 60 x 60, as of who writes an algorithm down as in a book."""

    def __init__(self, lib):
        self.lib = lib
        self.x = lib.rand(SIDE, SIDE) + 1
        self.places = [(i, j) for i in range(SIDE) for j in range(SIDE)]

    def read(self):
        """x[i, j].item()"""
        for i, j in self.places:
            self.x[i, j].item()

    def read_by_rows(self):
        """float(x[i][j])"""
        for i, j in self.places:
            float(self.x[i][j])

    def iterated(self):
        """for v in row: float(v)"""
        for row in self.x:
            for v in row:
                float(v)

    def written(self):
        """x[i, j] = number"""
        y = self.lib.zeros(SIDE, SIDE)
        for i, j in self.places:
            y[i, j] = i * j
        y.sum().item()

    def filled(self):
        """a dynamic program"""
        best, least = self.lib.zeros(SIDE, SIDE), self.lib.min
        for i, j in self.places:
            if i and j:
                step = least(best[i - 1, j] + 1, best[i, j - 1] + 1)
                best[i, j] = least(step, best[i - 1, j - 1] + self.x[i, j])
        best[-1, -1].item()


def elements():
    """Microseconds of an element."""
    mine, other = (Table(lib) for lib in _both())
    for name in ("read", "read_by_rows", "iterated", "written", "filled"):
        row = alternate(getattr(mine, name), getattr(other, name), number=1, rounds=9)
        row["ours_min"], row["theirs_min"] = row["ours_min"] / SIDE**2, row["theirs_min"] / SIDE**2
        show(getattr(Table, name).__doc__, row, "PyTorch")


# ---- loops that compute on elements ------------------------------------------------------------------


class Loops:
    """Algorithms written down as in a book, each number by itself. A method's description is its body; it returns
    what it has made, and how many turns it took."""

    def __init__(self, lib):
        self.lib = lib

    @classmethod
    def names(cls):
        """Of the loops."""
        return [name for name in vars(cls) if not name.startswith("_") and name not in ("names", "run")]

    def run(self, name):
        """Run a loop, read what it has made, and return its turns."""
        made, turns = getattr(self, name)()
        made.sum().item()
        return turns

    def histogram(self):
        """h[i] += 1"""
        h = self.lib.zeros(50)
        for i in range(1000):
            h[i * 7 % 50] += 1
        return h, 1000

    def shortest_path(self):
        """d[i][j] = min(d[i - 1][j], d[i][j - 1]) + 1"""
        d = self.lib.zeros(30, 30)
        for i in range(1, 30):
            for j in range(1, 30):
                d[i][j] = min(d[i - 1][j], d[i][j - 1]) + 1
        return d, 841

    def subsequence(self):
        """d[i + 1, j + 1] = max(d[i, j + 1], d[i + 1, j])"""
        d = self.lib.zeros(31, 31, dtype=self.lib.int64)
        for i in range(30):
            for j in range(30):
                d[i + 1, j + 1] = max(d[i, j + 1], d[i + 1, j])
        return d, 900

    def product(self):
        """c[i, j] += a[i, k] * b[k, j]"""
        a, b, c = self.lib.rand(10, 10), self.lib.rand(10, 10), self.lib.zeros(10, 10)
        for i in range(10):
            for j in range(10):
                for k in range(10):
                    c[i, j] += a[i, k] * b[k, j]
        return c, 1000

    def recurrence(self):
        """x[i] = x[i - 1] * 0.9 + 0.1"""
        x = self.lib.zeros(1000)
        for i in range(1, 1000):
            x[i] = x[i - 1] * 0.9 + 0.1
        return x, 999

    def running_sum(self):
        """s += x[i] ** 2"""
        s, x = self.lib.tensor(0.0), self.lib.rand(1000)
        for i in range(1000):
            s += x[i] ** 2
        return s, 1000

    def largest(self):
        """if x[i] > best: best = x[i]"""
        x = self.lib.rand(1000)
        best = x[0]
        for i in range(1000):
            if x[i] > best:
                best = x[i]
        return best, 1000

    def sorted_by_swaps(self):
        """if x[j] > x[j + 1]: swap them"""
        x = self.lib.arange(40.0).flip(0).clone()
        for i in range(39):
            for j in range(39 - i):
                if x[j] > x[j + 1]:
                    kept = x[j].clone()
                    x[j] = x[j + 1]
                    x[j + 1] = kept
        return x, 780

    def q_learning(self):
        """q[s, a] += 0.1 * (r[i] + 0.9 * q[t].max() - q[s, a])"""
        q, r = self.lib.zeros(20, 4), self.lib.rand(500)
        for i in range(500):
            s, a, t = i * 13 % 20, i % 4, (i + 1) * 13 % 20
            q[s, a] += 0.1 * (r[i] + 0.9 * q[t].max() - q[s, a])
        return q, 500

    def sieve(self):
        """if p[i]: p[2 * i :: i] = False"""
        p = self.lib.ones(1000, dtype=self.lib.bool)
        for i in range(2, 1000):
            if p[i]:
                p[2 * i :: i] = False
        return p, 998

    def shortest_paths(self):
        """d[i] = minimum(d[i], d[i, k] + d[k])"""
        d = self.lib.rand(30, 30)
        for k in range(30):
            for i in range(30):
                d[i] = self.lib.minimum(d[i], d[i, k] + d[k])
        return d, 900

    def merged(self):
        """merge sort of 100 numbers, by slices"""
        lib = self.lib

        def sort(x):
            if len(x) < 2:
                return x
            left, right = sort(x[: len(x) // 2]), sort(x[len(x) // 2 :])
            out, i, j = lib.empty(len(x)), 0, 0
            for k in range(len(x)):
                if j == len(right) or i < len(left) and left[i] < right[j]:
                    out[k] = left[i]
                    i += 1
                else:
                    out[k] = right[j]
                    j += 1
            return out

        return sort(lib.arange(100.0) * 37 % 101), 672


def loops():
    """Microseconds of a turn: of the first run, then of later ones."""
    mine, other = (Loops(lib) for lib in _both())
    for name in Loops.names():
        firsts = []
        for library in (other, mine):
            begun = time.perf_counter()
            turns = library.run(name)
            firsts.append((time.perf_counter() - begun) * 1e6 / turns)
        row = alternate(lambda name=name: mine.run(name), lambda name=name: other.run(name), number=1, rounds=9)
        row["ours_min"], row["theirs_min"] = row["ours_min"] / turns, row["theirs_min"] / turns
        show(getattr(Loops, name).__doc__, row, "PyTorch")
        print(f"    first {firsts[1]:.1f} us  PyTorch {firsts[0]:.1f} us")


SECTIONS = {"ops": ops, "acting": acting, "elements": elements, "loops": loops}


def main():
    """The sections named on the command line, or all."""
    for name in [x for x in sys.argv[1:] if x in SECTIONS] or SECTIONS:
        print(f"-- {SECTIONS[name].__doc__}")
        SECTIONS[name]()


if __name__ == "__main__":
    main()
