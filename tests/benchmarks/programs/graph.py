"""The graph network of the examples on 1,000 nodes, all of them labelled, Adam."""

import torch
from torch.nn import functional as F

from examples.gnn import Network, communities

from . import compiled


def start():
    """A function that makes one training step and returns its loss."""
    torch.manual_seed(0)
    x, edges, label = communities(1000, 5, features=16)
    model = Network(16, 64, 5, dropout=0.0)
    network = compiled(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def step():
        loss = F.cross_entropy(network(x, edges), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step
