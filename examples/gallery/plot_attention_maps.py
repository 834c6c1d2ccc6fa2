"""
What attention looks at
=======================

A transformer of one layer learns to write a sequence backwards. Its attention map shows how: each place looks at its
mirror image. PyTorch's ``nn.MultiheadAttention`` gives the maps when it is asked for the weights.
"""

import matplotlib.pyplot as plt
import torch
from torch import nn

torch.manual_seed(0)
LENGTH, LETTERS = 12, 10


class Reverser(nn.Module):
    """Letters and places, attention with two heads, and a guess at each place."""

    def __init__(self, width=48):
        super().__init__()
        self.letters, self.places = nn.Embedding(LETTERS, width), nn.Parameter(0.5 * torch.randn(LENGTH, width))
        self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
        self.guess = nn.Linear(width, LETTERS)

    def forward(self, x, need_weights=False):
        h = self.letters(x) + self.places
        h, weights = self.attention(h, h, h, need_weights=need_weights, average_attn_weights=False)
        return self.guess(h), weights


# %%
# Training on random sequences.

model = Reverser()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
losses = []
for _ in range(250):
    x = torch.randint(LETTERS, (64, LENGTH))
    logits, _ = model(x)
    loss = nn.functional.cross_entropy(logits.transpose(1, 2), x.flip(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.detach())

# %%
# The maps of one sequence: rows are places that look, columns those that are looked at.

x = torch.randint(LETTERS, (1, LENGTH))
with torch.no_grad():
    logits, weights = model(x, need_weights=True)
print("sequence:", x[0].tolist())
print("written: ", logits.argmax(-1)[0].tolist())

figure, axes = plt.subplots(1, 3, figsize=(11, 3.4))
axes[0].semilogy(torch.stack(losses))
axes[0].set(title="loss", xlabel="step")
for head in range(2):
    axes[1 + head].imshow(weights[0, head], cmap="viridis", vmin=0)
    axes[1 + head].set(title=f"head {head}", xlabel="is looked at", ylabel="looks")
figure.tight_layout()
