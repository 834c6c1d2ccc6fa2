"""REINFORCE with a value function on poles that balance longer and longer: episodes of 10 to 400 steps on one tape."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine, self.action, self.value = nn.Linear(4, 128), nn.Linear(128, 2), nn.Linear(128, 1)

    def forward(self, x):
        x = F.relu(self.affine(x))
        return F.softmax(self.action(x), dim=-1), self.value(x)


model = Policy()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-2)
for episode in range(30):
    state, log_probs, values = torch.zeros(4), [], []
    for _ in range(10 + episode * 97 % 391):
        probabilities, value = model(state)
        distribution = torch.distributions.Categorical(probabilities)
        action = distribution.sample()
        log_probs.append(distribution.log_prob(action))
        values.append(value)
        state = state * 0.99 + (0.01 if action.item() else -0.01)
    returns = torch.linspace(len(values), 1, len(values))
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    losses = [-p * (r - v.item()) for p, v, r in zip(log_probs, values, returns)]
    losses += [F.smooth_l1_loss(v, r.reshape(1)) for v, r in zip(values, returns)]
    optimizer.zero_grad()
    torch.stack(losses).sum().backward()
    optimizer.step()
