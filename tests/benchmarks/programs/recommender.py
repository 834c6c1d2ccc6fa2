"""A recommender: six tables by embedding bags of several ids, products of pairs, Adagrad, batch 512."""

import torch
from torch import nn
from torch.nn import functional as F

from . import compiled

ROWS = (20_000, 5_000, 5_000, 1_000, 200, 50)
WIDTH, BATCH, IDS = 32, 512, 4


class Recommender(nn.Module):
    """Bags and dense features, their products, an MLP."""

    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList([nn.EmbeddingBag(n, WIDTH, mode="sum") for n in ROWS])
        self.dense = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, WIDTH), nn.ReLU())
        n = len(ROWS) + 1
        self.head = nn.Sequential(nn.Linear(WIDTH + n * n, 128), nn.ReLU(), nn.Linear(128, 1))

    def forward(self, dense, ids):
        each = [self.dense(dense), *[table(i) for table, i in zip(self.tables, ids)]]
        stacked = torch.stack(each, 1)
        products = stacked @ stacked.transpose(1, 2)
        return self.head(torch.cat([each[0], products.flatten(1)], 1)).squeeze(-1)


def start():
    """A function that makes one training step and returns its loss."""
    torch.manual_seed(0)
    model = Recommender()
    score = compiled(model)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=1e-2)
    batches = [
        (torch.randn(BATCH, 13), [torch.randint(n, (BATCH, IDS)) for n in ROWS], torch.randint(2, (BATCH,)).float())
        for _ in range(8)
    ]
    numbers = iter(range(10**9))

    def step():
        dense, ids, clicked = batches[next(numbers) % len(batches)]
        loss = F.binary_cross_entropy_with_logits(score(dense, ids), clicked)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step
