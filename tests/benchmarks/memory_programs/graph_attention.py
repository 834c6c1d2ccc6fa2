"""A graph attention network with a dense adjacency of 2,000 nodes, two layers, 8 heads."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
NODES = 2000


class Attention(nn.Module):
    def __init__(self, n_in, n_out, heads):
        super().__init__()
        self.heads, self.width = heads, n_out
        self.weight = nn.Parameter(torch.empty(n_in, heads * n_out))
        self.score = nn.Parameter(torch.empty(2 * n_out, 1))
        nn.init.xavier_normal_(self.weight)
        nn.init.xavier_normal_(self.score)

    def forward(self, x, adjacency):
        h = (x @ self.weight).view(NODES, self.heads, self.width).transpose(0, 1)
        scores = h @ self.score[: self.width] + (h @ self.score[self.width :]).mT
        scores = torch.where(adjacency > 0, F.leaky_relu(scores, 0.2), torch.full_like(scores, -9e16))
        attention = F.dropout(F.softmax(scores, dim=-1), 0.6, training=self.training)
        return (attention @ h).mean(0)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Attention(200, 8, 8), Attention(8, 7, 1)

    def forward(self, x, adjacency):
        return F.log_softmax(self.second(F.elu(self.first(x, adjacency)), adjacency), dim=1)


x, labels = torch.rand(NODES, 200), torch.randint(7, (NODES,))
adjacency = (torch.rand(NODES, NODES) < 0.002).float() + torch.eye(NODES)
model = Network()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for _ in range(8):
    optimizer.zero_grad()
    loss = F.nll_loss(model(x, adjacency), labels)
    loss.backward()
    optimizer.step()
    loss.item()
