"""The LSTM language model of the examples: 2 layers, 200 wide, 35 x 20 words, SGD."""

import torch
from torch import nn
from torch.nn import functional as F

from examples.lstm_lm import LanguageModel, detach

from . import compiled

VOCABULARY, BATCH, WINDOW = 2000, 20, 35


def start():
    """A function that makes one training step and returns its loss."""
    torch.manual_seed(0)
    model = LanguageModel(VOCABULARY, 200, layers=2, dropout=0.0)
    network = compiled(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    words = torch.randint(VOCABULARY, (100 * WINDOW + 1, BATCH))
    batches = iter(range(10**9))
    hidden = model.initial(BATCH)

    def step():
        nonlocal hidden
        first = next(batches) % 100 * WINDOW
        x, y = words[first : first + WINDOW], words[first + 1 : first + 1 + WINDOW]
        logits, hidden = network(x, detach(hidden))
        loss = F.cross_entropy(logits.view(-1, VOCABULARY), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
        return loss

    return step
