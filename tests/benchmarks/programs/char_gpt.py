"""The character GPT of the examples: 4 layers, 128 wide, context 64, batch 12, AdamW."""

import torch

from examples.char_gpt import GPT

from . import compiled

VOCABULARY, CONTEXT, BATCH = 96, 64, 12


def start():
    """A function that makes one training step and returns its loss."""
    torch.manual_seed(0)
    model = GPT(VOCABULARY, CONTEXT)
    network = compiled(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    data = torch.randint(VOCABULARY, (10_000,))

    def step():
        places = torch.randint(len(data) - CONTEXT, (BATCH,)).tolist()
        x = torch.stack([data[i : i + CONTEXT] for i in places])
        y = torch.stack([data[i + 1 : i + 1 + CONTEXT] for i in places])
        _, loss = network(x, y)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    return step
