"""A transformer's layer trained on batches of 60 lengths in turn."""

import torch
from torch import nn

torch.manual_seed(0)
layer = nn.TransformerEncoderLayer(64, 4, 256, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
optimizer = torch.optim.AdamW(layer.parameters(), lr=1e-3)
for step in range(360):
    x = torch.randn(4, 8 + step * 37 % 60 * 5, 64)
    loss = nn.functional.mse_loss(layer(x), x.flip(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 59:
        print(f"{loss.item():.4f}")
