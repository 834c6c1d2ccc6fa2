"""Train a small convolutional network on handwritten digits, save it, load it, use it.

An ordinary PyTorch program. It runs with this library,

    python -m functorch_core examples/quickstart.py

and with PyTorch itself (`python examples/quickstart.py`), which prints the same losses. (Rounding
differs in the seventh digit. Smooth layers keep such differences small through all epochs; at the
kinks of ReLU, in near ties of max-pooling and in the signs of Adam's smallest steps they would grow.)
"""

import argparse
import os
import tempfile
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

HERE = os.path.dirname(os.path.abspath(__file__))
N_TRAIN = 1437  # four fifths; the rest is for testing


class Digits(Dataset):
    """Images of 8 x 8 pixels and the digits they show; see digits.txt."""

    def __init__(self, train: bool):
        with np.load(os.path.join(HERE, "digits.npz")) as data:
            images, labels = data["images"], data["labels"]
        order = np.random.default_rng(0).permutation(len(labels))
        chosen = order[:N_TRAIN] if train else order[N_TRAIN:]
        self.images = torch.from_numpy(images[chosen]).float().unsqueeze(1) / 16
        self.labels = torch.from_numpy(labels[chosen].astype(np.int64))

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.images[i], self.labels[i]


class Network(nn.Module):
    """Two convolutions and two linear layers."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, kernel_size=3, padding=1),
            nn.GELU(),
            nn.Conv2d(16, 32, kernel_size=3, padding=1),
            nn.GELU(),
            nn.AvgPool2d(2),
        )
        self.classify = nn.Sequential(nn.Flatten(), nn.Linear(32 * 4 * 4, 64), nn.GELU(), nn.Linear(64, 10))

    def forward(self, x):
        return self.classify(self.features(x))


def train(loader, model, loss_function, optimizer, device):
    """One pass over the training data; the mean loss."""
    model.train()
    total = 0.0
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        loss = loss_function(model(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total += loss.item() * len(labels)
    return total / len(loader.dataset)


def test(loader, model, loss_function, device):
    """The mean loss and the accuracy on the test data."""
    model.eval()
    total, correct = 0.0, 0
    with torch.no_grad():
        for images, labels in loader:
            images, labels = images.to(device), labels.to(device)
            scores = model(images)
            total += loss_function(scores, labels).item() * len(labels)
            correct += (scores.argmax(1) == labels).sum().item()
    return total / len(loader.dataset), correct / len(loader.dataset)


def draw(history, path):
    """A picture of the losses, if matplotlib is installed."""
    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    for i, name in enumerate(("training", "test")):
        pyplot.plot(range(1, len(history) + 1), [row[i] for row in history], label=name)
    pyplot.xlabel("epoch")
    pyplot.ylabel("cross-entropy")
    pyplot.yscale("log")
    pyplot.legend()
    pyplot.savefig(path)
    print(f"picture: {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--out", default=tempfile.gettempdir(), help="folder for what is written")
    args = parser.parse_args()

    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    print(f"torch {torch.__version__} on {device}")

    train_loader = DataLoader(Digits(train=True), batch_size=args.batch_size, shuffle=True)
    test_loader = DataLoader(Digits(train=False), batch_size=args.batch_size)
    model = Network().to(device)
    loss_function = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    history, start = [], time.perf_counter()
    for epoch in range(1, args.epochs + 1):
        train_loss = train(train_loader, model, loss_function, optimizer, device)
        test_loss, accuracy = test(test_loader, model, loss_function, device)
        history.append((train_loss, test_loss))
        print(
            f"epoch {epoch:2d}: training loss {train_loss:.4f}, test loss {test_loss:.4f}, "
            f"accuracy {accuracy:.3f}, {time.perf_counter() - start:.1f} s",
            flush=True,
        )
    draw(history, os.path.join(args.out, "quickstart.png"))

    path = os.path.join(args.out, "quickstart.pt")
    torch.save(model.state_dict(), path)
    model = Network().to(device)
    model.load_state_dict(torch.load(path, weights_only=True))
    _, accuracy = test(test_loader, model, loss_function, device)
    print(f"test accuracy: {accuracy:.3f}")


if __name__ == "__main__":
    main()
