"""DataLoader throughput against PyTorch's, alternately in one process.

python -m tests.benchmarks.loader               every dataset
python -m tests.benchmarks.loader -n 512 crops  512 samples; datasets with this word in the name
"""

from __future__ import annotations

import argparse

import numpy as np
import torch as reference

from functorch_core import data as ours
from functorch_core import torch

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
        image = self.images[i, :, y : y + 32, x : x + 32][:, :, ::-1]
        return (image.astype(np.float32) - 127) / 64, self.labels[i]


class Augmented:
    """The same with tensor operations of the library."""

    def __init__(self, lib, n: int):
        self.lib, self.images = lib, lib.tensor(np.random.default_rng(0).random((n, 3, 32, 32)))

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return (self.images[i].flip(-1) - 0.5) / 0.25, i


class Normalized:
    """Bytes of height, width, channels made as torchvision's ToTensor and Normalize make them."""

    def __init__(self, lib, n: int, size: int = 32):
        self.lib = lib
        self.images = np.random.default_rng(0).integers(0, 255, (n, size, size, 3), np.uint8)
        self.mean = lib.tensor([0.5, 0.4, 0.3]).view(3, 1, 1)
        self.std = lib.tensor([0.2, 0.3, 0.4]).view(3, 1, 1)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image = self.lib.from_numpy(self.images[i]).permute(2, 0, 1).contiguous()
        return image.float().div(255).sub(self.mean).div(self.std), i


class InPlace(Normalized):
    """The same, normalized in place and with statistics made anew, as torchvision does."""

    def __getitem__(self, i):
        lib = self.lib
        image = lib.from_numpy(self.images[i]).permute(2, 0, 1).contiguous()
        image = image.to(dtype=lib.float32).div(255)
        mean = lib.as_tensor([0.5, 0.4, 0.3], dtype=image.dtype, device=image.device)
        std = lib.as_tensor([0.2, 0.3, 0.4], dtype=image.dtype, device=image.device)
        return image.clone().sub_(mean.view(-1, 1, 1)).div_(std.view(-1, 1, 1)), i


class Crops:
    """Random crops and flips of padded images, by tensor operations."""

    def __init__(self, lib, n: int):
        self.lib, self.images = lib, lib.tensor(np.random.default_rng(0).integers(0, 255, (n, 3, 40, 40), np.uint8))
        self.labels = lib.arange(n)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        lib = self.lib
        y, x = lib.randint(0, 9, (2,)).tolist()
        image = self.images[i, :, y : y + 32, x : x + 32]
        if lib.rand(1).item() < 0.5:
            image = image.flip(-1)
        return image.float() / 255, self.labels[i]


class Tokens:
    """Windows of a text, and the same one further, as nanoGPT reads them."""

    def __init__(self, lib, n: int, window: int = 64):
        self.lib, self.window = lib, window
        self.text = np.random.default_rng(0).integers(0, 50257, n + window, np.uint16)

    def __len__(self):
        return len(self.text) - self.window

    def __getitem__(self, i):
        t = self.window
        x = self.lib.from_numpy(self.text[i : i + t].astype(np.int64))
        y = self.lib.from_numpy(self.text[i + 1 : i + 1 + t].astype(np.int64))
        return x, y


class Records:
    """Dicts of tensors, arrays, numbers and text."""

    def __init__(self, lib, n: int):
        self.lib, self.rows = lib, lib.tensor(np.random.default_rng(0).random((n, 16)))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        return {
            "features": row[:12].float(),
            "target": row[12:].sum(),
            "weight": 0.5 * i,
            "mask": self.lib.tensor([True, False, True]),
            "id": i,
            "name": f"row {i}",
        }


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
        "normalized images": (Normalized(lib, n), {"shuffle": True}),
        "larger normalized images": (Normalized(lib, max(n // 8, 64), 128), {"batch_size": 32}),
        "images in place": (InPlace(lib, n), {"shuffle": True}),
        "crops and flips": (Crops(lib, n), {"shuffle": True}),
        "tokens": (Tokens(lib, n), {"shuffle": True}),
        "dicts": (Records(lib, n), {"shuffle": True}),
    }


def arguments():
    """Of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("words", nargs="*", help="of names of datasets; all without any")
    parser.add_argument("-n", type=int, default=2048, help="samples of a dataset")
    parser.add_argument("--workers", type=int, nargs="*", default=[0, 2])
    parser.add_argument("--anew", action="store_true", help="also workers started for each epoch")
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


def settings(workers: list[int], anew: bool):
    """(what to print, options of the loader)."""
    for n in workers:
        options = {"num_workers": n, "persistent_workers": True} if n else {}
        yield f"{n} workers", options
        if n and anew:
            yield f"{n} workers, started anew", {"num_workers": n}


def main():
    """Print the time of an epoch."""
    args = arguments()
    mine, other = cases(torch, ours, args.n), cases(reference, theirs, args.n)
    for name, (dataset, more) in mine.items():
        if args.words and not any(word in name for word in args.words):
            continue
        for what, options in settings(args.workers, args.anew):
            options = {"batch_size": 64, **more, **options}
            first = ours.DataLoader(dataset, **options)
            second = theirs.DataLoader(other[name][0], **options)
            row = alternate(lambda: read(first), lambda: read(second), number=1, rounds=args.rounds)
            show(f"{name}, {what}", row, "PyTorch")


if __name__ == "__main__":
    main()
