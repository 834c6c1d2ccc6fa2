"""DataLoader throughput against PyTorch's, alternately in one process.

    python -m tests.benchmarks.loader [samples of the dataset]
"""
from __future__ import annotations

import sys

import numpy as np

import torch as reference

from functorch_core import data as ours, torch

from .alternate import alternate, show

theirs = reference.utils.data


class Images:
    """A dataset whose samples take some work: a crop, a flip, a normalization, by NumPy."""

    def __init__(self, n: int):
        rng = np.random.default_rng(0)
        self.images = rng.integers(0, 255, (n, 3, 40, 40), np.uint8)
        self.labels = rng.integers(0, 10, n)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        x, y = np.random.randint(0, 8, 2)
        image = self.images[i, :, y:y + 32, x:x + 32][:, :, ::-1]
        return (image.astype(np.float32) - 127) / 64, self.labels[i]


class Augmented:
    """The same with tensor operations of the library."""

    def __init__(self, lib, n: int):
        self.lib, self.images = lib, lib.tensor(np.random.default_rng(0).random((n, 3, 32, 32)))

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return (self.images[i].flip(-1) - 0.5) / 0.25, i


def read(loader) -> int:
    """One epoch."""
    return sum(1 for _ in loader)


def cases(lib, module, n: int) -> dict:
    """name -> (dataset, options of the loader)."""
    tensors = module.TensorDataset(lib.ones(n, 3, 32, 32), lib.arange(n))
    return {
        "tensors": (tensors, {"shuffle": True}),
        "images by NumPy": (Images(n), {"shuffle": True}),
        "images by tensors": (Augmented(lib, n), {}),
        "large batches": (Images(n), {"batch_size": 256}),
    }


def main():
    """Print the time of an epoch."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 2048
    mine, other = cases(torch, ours, n), cases(reference, theirs, n)
    for name, (dataset, more) in mine.items():
        for options in ({}, {"num_workers": 2, "persistent_workers": True}, {"num_workers": 2}):
            options = {"batch_size": 64, **more, **options}
            first = ours.DataLoader(dataset, **options)
            second = theirs.DataLoader(other[name][0], **options)
            workers = options.get("num_workers", 0)
            started = ", started anew" if workers and "persistent_workers" not in options else ""
            row = alternate(lambda: read(first), lambda: read(second), number=1, rounds=5)
            show(f"{name}, {workers} workers{started}", row, "PyTorch")


if __name__ == "__main__":
    main()
