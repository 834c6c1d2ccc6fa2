"""Eager code on small tensors against PyTorch, alternately in one process.

    python -m tests.benchmarks.eager            everything (needs the `conformance` extra)
    python -m tests.benchmarks.eager ops        calls of single ops, 200 between two flushes
    python -m tests.benchmarks.eager acting     loops that read a number in each round

Ratios are ours / PyTorch's; all of Python is included.
"""

from __future__ import annotations

import sys

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
}


def _calls(lib, op, on_tape: bool):
    x = lib.ones(4, 4, requires_grad=on_tape)

    def run():
        for _ in range(CALLS):
            y = op(lib, x)
        return y

    return run


def ops():
    """Microseconds of a call whose result nobody reads."""
    from functorch_core import engine

    libraries = _both()
    for on_tape in (False, True):
        for name, op in OPS.items():
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


SECTIONS = {"ops": ops, "acting": acting}


def main():
    """The sections named on the command line, or all."""
    for name in sys.argv[1:] or SECTIONS:
        print(f"-- {SECTIONS[name].__doc__}")
        SECTIONS[name]()


if __name__ == "__main__":
    main()
