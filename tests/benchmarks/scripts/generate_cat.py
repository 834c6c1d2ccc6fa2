"""Text from a transformer whose key-value cache grows by torch.cat."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
WIDTH, HEADS, WORDS = 128, 4, 100


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x, cache):
        batch, length, _ = x.shape
        q, k, v = (
            y.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2) for y in self.qkv(self.before(x)).chunk(3, -1)
        )
        if cache is not None:
            k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
        y = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.mlp(self.between(x)), (k, v)


table, blocks, head = nn.Embedding(WORDS, WIDTH), nn.ModuleList([Block(), Block()]), nn.Linear(WIDTH, WORDS)


@torch.no_grad()
def text(first, length=32):
    word, caches, words = torch.tensor([[first]]), [None, None], []
    for _ in range(length):
        x = table(word)
        for i, block in enumerate(blocks):
            x, caches[i] = block(x, caches[i])
        word = head(x[:, -1]).argmax(-1, keepdim=True)
        words.append(word.item())
    return words


print(sum(sum(text(first)) for first in range(60)))
