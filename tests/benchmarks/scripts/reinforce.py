"""REINFORCE on a pole that must be balanced (the physics in plain Python)."""

import math
import random

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
random.seed(0)


class Pole:
    def reset(self):
        self.state = [random.uniform(-0.05, 0.05) for _ in range(4)]
        return self.state

    def step(self, action):
        x, v, angle, turning = self.state
        force = 10.0 if action else -10.0
        sin, cos = math.sin(angle), math.cos(angle)
        push = (force + 0.05 * turning**2 * sin) / 1.1
        bend = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
        speed = push - 0.05 * bend * cos / 1.1
        self.state = [x + 0.02 * v, v + 0.02 * speed, angle + 0.02 * turning, turning + 0.02 * bend]
        return self.state, 1.0, abs(self.state[0]) > 2.4 or abs(self.state[2]) > 0.21


policy = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
pole, lengths = Pole(), []
for episode in range(60):
    state, log_probs, rewards = pole.reset(), [], []
    for _ in range(200):
        choice = Categorical(logits=policy(torch.tensor(state)))
        action = choice.sample()
        log_probs.append(choice.log_prob(action))
        state, reward, done = pole.step(action.item())
        rewards.append(reward)
        if done:
            break
    returns, value = [], 0.0
    for reward in reversed(rewards):
        value = reward + 0.99 * value
        returns.insert(0, value)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    loss = -(torch.stack(log_probs) * returns).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    lengths.append(len(rewards))
print(len(lengths))
