"""An actor and a critic on a walk along a line, with a bootstrapped value each step."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 64)
        self.actor, self.critic = nn.Linear(64, 2), nn.Linear(64, 1)

    def forward(self, x):
        x = F.relu(self.body(x))
        return F.softmax(self.actor(x), -1), self.critic(x)


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for episode in range(40):
    place, speed, actions, rewards = 0.5, 0.0, [], []
    length = 20 + episode * 13 % 60
    for step in range(length):
        probabilities, value = net(torch.tensor([place, speed, step / 100]))
        chosen = torch.multinomial(probabilities, 1)
        actions.append((probabilities[chosen].log(), value))
        speed = 0.9 * speed + (0.1 if chosen.item() else -0.1)
        place += 0.1 * speed
        rewards.append(-abs(place))
    returns, value = [], 0.0
    for reward in rewards[::-1]:
        value = reward + 0.95 * value
        returns.append(value)
    targets = torch.tensor(returns[::-1])
    policy_losses, value_losses = [], []
    for (log_prob, value), target in zip(actions, targets):
        policy_losses.append(-log_prob * (target - value.item()))
        value_losses.append(F.smooth_l1_loss(value, target.reshape(1)))
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item() == loss.item()}")
