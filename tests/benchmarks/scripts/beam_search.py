"""Beam search with a GRU: the hypotheses' states are gathered each step."""

import torch
from torch import nn

torch.manual_seed(0)
WORDS, WIDTH, BEAMS = 60, 64, 5
table, cell, head = nn.Embedding(WORDS, WIDTH), nn.GRUCell(WIDTH, WIDTH), nn.Linear(WIDTH, WORDS)


@torch.no_grad()
def search(first, length=25):
    states = torch.zeros(1, WIDTH)
    words, scores = torch.tensor([[first]]), torch.zeros(1)
    for _ in range(length):
        states = cell(table(words[:, -1]), states)
        found = scores[:, None] + head(states).log_softmax(-1)
        scores, places = found.reshape(-1).topk(BEAMS)
        beams = torch.div(places, WORDS, rounding_mode="floor")
        words = torch.cat([words[beams], (places % WORDS)[:, None]], 1)
        states = states[beams]
        if scores[0].item() < -1e9:
            break
    return words[0].tolist(), scores[0].item()


total = 0
for first in range(40):
    words, score = search(first)
    total += sum(words)
print(total)
