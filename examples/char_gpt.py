"""A character-level GPT, as a PyTorch user writes it; the text ships with Python.

python -m functorch_core examples/char_gpt.py --steps 200
python examples/char_gpt.py --steps 200                       (under PyTorch)
"""

import argparse
import math
import pydoc_data.topics
import time

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    """Causal self-attention with several heads."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).split(c, dim=2)
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2) for y in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).contiguous().view(b, t, c))


class Block(nn.Module):
    """Attention and a feed-forward network, each with a residual connection."""

    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width), Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """Embeddings, blocks, and the logits of the next character."""

    def __init__(self, vocabulary, context, layers=4, heads=4, width=128):
        super().__init__()
        self.context = context
        self.token, self.position = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids, targets=None):
        x = self.token(ids) + self.position(torch.arange(ids.shape[1]))
        logits = self.head(self.norm(self.blocks(x)))
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))

    @torch.no_grad()
    def generate(self, ids, n):
        """Append n sampled characters."""
        for _ in range(n):
            logits, _ = self(ids[:, -self.context :])
            probabilities = F.softmax(logits[:, -1], dim=-1)
            ids = torch.cat([ids, torch.multinomial(probabilities, 1)], dim=1)
        return ids


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--sample", type=int, default=0, help="characters to generate at the end")
    args = parser.parse_args()

    torch.manual_seed(1337)
    text = "".join(pydoc_data.topics.topics[k] for k in sorted(pydoc_data.topics.topics))[:200_000]
    characters = sorted(set(text))
    code = {c: i for i, c in enumerate(characters)}
    data = torch.tensor([code[c] for c in text])
    model = GPT(len(characters), args.context)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    start = time.perf_counter()
    for step in range(args.steps):
        for group in optimizer.param_groups:  # a warm-up and a cosine
            group["lr"] = 1e-3 * min(1, (step + 1) / 20) * (0.55 + 0.45 * math.cos(math.pi * step / args.steps))
        places = torch.randint(len(data) - args.context, (args.batch,))
        x = torch.stack([data[i : i + args.context] for i in places])
        y = torch.stack([data[i + 1 : i + 1 + args.context] for i in places])
        _, loss = model(x, y)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 10 == 0 or step == args.steps - 1:
            print(f"step {step:4d}: loss {loss.item():.4f}, {time.perf_counter() - start:.1f} s")
    if args.sample:
        ids = model.generate(torch.zeros(1, 1, dtype=torch.long), args.sample)
        print("".join(characters[i] for i in ids[0].tolist()))


if __name__ == "__main__":
    main()
