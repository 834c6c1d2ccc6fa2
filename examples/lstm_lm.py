"""A word-level language model with two LSTM layers; the text ships with Python.

Truncated back-propagation through time: the text is laid out as parallel streams, and the state
at the end of one window, detached, is the state at the beginning of the next.

    python -m functorch_core examples/lstm_lm.py
    python examples/lstm_lm.py                                    (under PyTorch)
"""

import argparse
import collections
import math
import pydoc_data.topics
import re
import time

import torch
from torch import nn
from torch.nn import functional as F


class Corpus:
    """The words of Python's help texts as numbers; rare words are number 0."""

    def __init__(self, vocabulary):
        topics = pydoc_data.topics.topics
        words = re.findall(r"\w+|[^\w\s]|\n\n", "".join(topics[k] for k in sorted(topics)))
        common = collections.Counter(words).most_common(vocabulary - 1)
        self.words = ["<unk>"] + [word for word, _ in common]
        number = {word: i for i, word in enumerate(self.words)}
        self.ids = torch.tensor([number.get(word, 0) for word in words])

    def streams(self, batch):
        """The text in `batch` columns (length x batch)."""
        length = len(self.ids) // batch
        return self.ids[: length * batch].view(batch, length).t().contiguous()


class LanguageModel(nn.Module):
    """Embedding, LSTM, and the logits of the next word."""

    def __init__(self, vocabulary, width, layers, dropout):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.embedding = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, width, layers, dropout=dropout)
        self.head = nn.Linear(width, vocabulary)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        nn.init.uniform_(self.head.weight, -0.1, 0.1)
        nn.init.zeros_(self.head.bias)

    def forward(self, ids, hidden):
        x, hidden = self.lstm(self.dropout(self.embedding(ids)), hidden)
        return self.head(self.dropout(x)), hidden

    def initial(self, batch):
        weight = next(self.parameters())
        shape = self.lstm.num_layers, batch, self.lstm.hidden_size
        return weight.new_zeros(shape), weight.new_zeros(shape)

    @torch.no_grad()
    def generate(self, first, n):
        """The numbers of n sampled words."""
        ids, hidden = torch.tensor([[first]]), self.initial(1)
        for _ in range(n):
            logits, hidden = self(ids, hidden)
            ids = torch.multinomial(F.softmax(logits[-1], dim=-1), 1)
            yield ids.item()


def detach(hidden):
    """The same state without its history."""
    return tuple(h.detach() for h in hidden)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=int, default=10, help="steps between two printed losses")
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--window", type=int, default=35, help="words between two truncations")
    parser.add_argument("--width", type=int, default=200)
    parser.add_argument("--vocabulary", type=int, default=2000)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--lr", type=float, default=2.0)
    parser.add_argument("--clip", type=float, default=0.25, help="largest norm of the gradient")
    parser.add_argument("--sample", type=int, default=0, help="words to generate at the end")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    corpus = Corpus(args.vocabulary)
    streams = corpus.streams(args.batch)
    model = LanguageModel(len(corpus.words), args.width, 2, args.dropout)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)

    hidden, place, start = model.initial(args.batch), 0, time.perf_counter()
    for step in range(args.steps):
        if place + args.window >= len(streams):
            hidden, place = model.initial(args.batch), 0
        x = streams[place : place + args.window]
        y = streams[place + 1 : place + 1 + args.window]
        place += args.window

        logits, hidden = model(x, detach(hidden))
        loss = F.cross_entropy(logits.view(-1, logits.shape[-1]), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        optimizer.step()
        if step % args.every == 0 or step == args.steps - 1:
            value = loss.item()
            print(
                f"step {step:4d}: loss {value:.6f}, perplexity {math.exp(value):.1f}, "
                f"{time.perf_counter() - start:.2f} s"
            )
    if args.sample:
        model.eval()
        print(" ".join(corpus.words[i] for i in model.generate(0, args.sample)))


if __name__ == "__main__":
    main()
