"""A GRU that classifies sequences: 2 layers, 128 wide, 50 x 32 words, Adam."""

import torch
from torch import nn

from ..supervised import classification


class Classifier(nn.Module):
    """Embedding, GRU, a linear layer on the last state."""

    def __init__(self, words=2000, width=128, classes=5):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.gru = nn.GRU(width, width, num_layers=2, batch_first=True)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        states, _ = self.gru(self.embedding(x))
        return self.head(states[:, -1])


def start():
    """A function that makes one training step and returns its loss."""
    torch.manual_seed(0)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x, y = torch.randint(2000, (256, 50)), torch.randint(5, (256,))
    return classification(model, optimizer, x, y, batch=32)
