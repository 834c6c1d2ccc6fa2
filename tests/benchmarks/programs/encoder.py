"""A transformer encoder that classifies: 4 layers, 256 wide, 4 heads, 16 x 64 words, AdamW."""

import torch
from torch import nn

from ..supervised import classification


class Classifier(nn.Module):
    """Embedding, places, encoder layers, the mean over the words."""

    def __init__(self, words=4000, width=256, length=64, classes=10):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.places = nn.Parameter(0.02 * torch.randn(length, width))
        layer = nn.TransformerEncoderLayer(
            width, 4, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.encoder(self.embedding(x) + self.places).mean(1))


def start():
    """A function that makes one training step and returns its loss."""
    torch.manual_seed(0)
    model = Classifier()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    x, y = torch.randint(4000, (128, 64)), torch.randint(10, (128,))
    return classification(model, optimizer, x, y, batch=16)
