"""A small graph network that finds the communities of a graph from a few labelled nodes.

A graph convolution (sums over edges by `index_add_`), then a graph attention layer (a softmax over
the edges of each node by `scatter_reduce_`).

    python -m functorch_core examples/gnn.py
    python examples/gnn.py                                        (under PyTorch)
"""

import argparse
import math
import time

import torch
from torch import nn
from torch.nn import functional as F


class GraphConvolution(nn.Module):
    """Each node gets the sum of its neighbours, weighted by both degrees."""

    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out, bias=False)
        self.bias = nn.Parameter(torch.zeros(n_out))

    def forward(self, x, edges):
        source, target = edges
        degree = torch.zeros(len(x)).index_add_(0, target, torch.ones(len(target)))
        scale = degree.rsqrt()
        messages = self.linear(x)[source] * (scale[source] * scale[target]).unsqueeze(-1)
        out = torch.zeros(len(x), messages.shape[1])
        return out.index_add_(0, target, messages) + self.bias


def softmax_by_target(scores, target, n):
    """Softmax over the edges with the same target; scores: edges x heads."""
    index = target.unsqueeze(-1).expand_as(scores)
    top = scores.new_full((n, scores.shape[1]), -math.inf)
    top.scatter_reduce_(0, index, scores.detach(), reduce="amax")
    weights = (scores - top[target]).exp()
    total = torch.zeros_like(top).scatter_add_(0, index, weights)
    return weights / total[target]


class GraphAttention(nn.Module):
    """Each node gets a weighted mean of its neighbours; the weights are learned."""

    def __init__(self, n_in, n_out, heads):
        super().__init__()
        self.heads = heads
        self.linear = nn.Linear(n_in, heads * n_out, bias=False)
        self.from_source = nn.Parameter(torch.empty(heads, n_out))
        self.from_target = nn.Parameter(torch.empty(heads, n_out))
        nn.init.xavier_uniform_(self.from_source)
        nn.init.xavier_uniform_(self.from_target)

    def forward(self, x, edges):
        source, target = edges
        h = self.linear(x).view(len(x), self.heads, -1)
        scores = (h * self.from_source).sum(-1)[source] + (h * self.from_target).sum(-1)[target]
        weights = softmax_by_target(F.leaky_relu(scores, 0.2), target, len(x))
        return torch.zeros_like(h).index_add_(0, target, h[source] * weights.unsqueeze(-1)).mean(1)


class Network(nn.Module):
    """A convolution and an attention layer."""

    def __init__(self, features, width, classes, dropout):
        super().__init__()
        self.convolution = GraphConvolution(features, width)
        self.attention = GraphAttention(width, classes, heads=4)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, edges):
        x = F.elu(self.convolution(self.dropout(x), edges))
        return self.attention(self.dropout(x), edges)


def communities(nodes, classes, features):
    """Features, edges (both ways, and loops) and communities of a random graph."""
    label = torch.arange(nodes) % classes
    same = label.unsqueeze(0) == label.unsqueeze(1)
    probability = torch.where(same, 16 / nodes, 3 / nodes)
    upper = torch.triu(torch.rand(nodes, nodes) < probability, diagonal=1)
    source, target = (upper | upper.t() | torch.eye(nodes, dtype=torch.bool)).nonzero().t()
    centres = torch.randn(classes, features)
    return centres[label] + 2.5 * torch.randn(nodes, features), (source, target), label


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=int, default=10, help="steps between two printed losses")
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--classes", type=int, default=5)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--lr", type=float, default=5e-3)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    x, edges, label = communities(args.nodes, args.classes, features=16)
    train = torch.zeros(args.nodes, dtype=torch.bool)
    train[torch.randperm(args.nodes)[: args.nodes // 10]] = True
    model = Network(16, args.width, args.classes, args.dropout)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=5e-4)

    print(f"{args.nodes} nodes, {len(edges[0])} edges, {int(train.sum())} labelled")
    start = time.perf_counter()
    for step in range(args.steps):
        model.train()
        loss = F.cross_entropy(model(x, edges)[train], label[train])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % args.every == 0 or step == args.steps - 1:
            model.eval()
            with torch.no_grad():
                right = model(x, edges).argmax(1) == label
            print(
                f"step {step:4d}: loss {loss.item():.6f}, accuracy on the others "
                f"{right[~train].float().mean().item():.3f}, {time.perf_counter() - start:.2f} s"
            )


if __name__ == "__main__":
    main()
