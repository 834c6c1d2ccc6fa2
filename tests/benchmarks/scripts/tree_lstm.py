"""A tree LSTM: the recursion follows each sentence's tree, so no two steps are alike."""

import random

import torch
from torch import nn

torch.manual_seed(0)
random.seed(0)
WIDTH, WORDS = 32, 50


def tree(depth):
    if depth == 0 or random.random() < 0.2:
        return random.randrange(WORDS)
    return tree(depth - 1), tree(depth - 1)


class TreeLSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(WORDS, WIDTH)
        self.leaf = nn.Linear(WIDTH, 2 * WIDTH)
        self.node = nn.Linear(2 * WIDTH, 5 * WIDTH)
        self.head = nn.Linear(WIDTH, 2)

    def encode(self, node):
        if isinstance(node, int):
            h, c = self.leaf(self.table(torch.tensor(node))).chunk(2)
            return torch.tanh(h), c
        (left, left_cell), (right, right_cell) = map(self.encode, node)
        i, f, g, o, u = self.node(torch.cat([left, right])).chunk(5)
        c = torch.sigmoid(i) * torch.tanh(u) + torch.sigmoid(f) * left_cell + torch.sigmoid(g) * right_cell
        return torch.sigmoid(o) * torch.tanh(c), c

    def forward(self, node):
        return self.head(self.encode(node)[0])


model = TreeLSTM()
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
for step in range(60):
    sentence = tree(4)
    label = torch.tensor(step % 2)
    loss = nn.functional.cross_entropy(model(sentence), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
