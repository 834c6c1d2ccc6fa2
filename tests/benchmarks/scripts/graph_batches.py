"""Graph convolutions over batches of graphs, with other numbers of nodes and edges in each."""

import random

import torch
from torch import nn

torch.manual_seed(0)
random.seed(0)


class Convolution(nn.Module):
    """The mean over neighbours of a linear layer."""

    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)

    def forward(self, x, edges):
        source, target = edges
        x = self.linear(x)
        degree = torch.zeros(len(x)).index_add_(0, target, torch.ones(len(target))).clamp(min=1)
        return torch.zeros_like(x).index_add_(0, target, x[source]) / degree[:, None]


class Network(nn.Module):
    """Two convolutions, a sum over each graph, a linear layer."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = Convolution(16, 64), Convolution(64, 64), nn.Linear(64, 2)

    def forward(self, x, edges, graph, n):
        x = torch.relu(self.second(torch.relu(self.first(x, edges)), edges))
        return self.head(torch.zeros(n, 64).index_add_(0, graph, x))


def random_graph():
    """Its nodes, edges and label."""
    n = random.randint(8, 40)
    return torch.randn(n, 16), torch.randint(0, n, (2, random.randint(n, 4 * n))), random.randint(0, 1)


data = [random_graph() for _ in range(320)]
model = Network()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(8):
    random.shuffle(data)
    total = 0.0
    for i in range(0, len(data), 16):
        batch, offset, edges, graph = data[i : i + 16], 0, [], []
        for k, (x, e, _) in enumerate(batch):
            edges.append(e + offset)
            graph.append(torch.full((len(x),), k))
            offset += len(x)
        nodes, labels = torch.cat([x for x, _, _ in batch]), torch.tensor([y for _, _, y in batch])
        loss = nn.functional.cross_entropy(model(nodes, torch.cat(edges, 1), torch.cat(graph), 16), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(epoch, f"{total / 20:.3f}")
