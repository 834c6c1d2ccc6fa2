"""Deep Q-learning with a replay buffer and a target network on a grid."""

import random
from collections import deque

import torch
from torch import nn

torch.manual_seed(0)
random.seed(0)
SIZE = 6


def network():
    return nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))


online, target = network(), network()
target.load_state_dict(online.state_dict())
optimizer, memory = torch.optim.AdamW(online.parameters(), lr=1e-3), deque(maxlen=2000)
x, y, steps = 0, 0, 0
for step in range(800):
    if random.random() < max(0.1, 1 - step / 400):
        action = random.randrange(4)
    else:
        with torch.no_grad():
            action = online(torch.tensor([x / SIZE, y / SIZE])).argmax().item()
    u = min(max(x + (action == 0) - (action == 1), 0), SIZE - 1)
    v = min(max(y + (action == 2) - (action == 3), 0), SIZE - 1)
    done = u == v == SIZE - 1
    memory.append((x / SIZE, y / SIZE, action, 1.0 if done else -0.01, u / SIZE, v / SIZE, float(done)))
    x, y = (0, 0) if done else (u, v)
    if len(memory) >= 64:
        batch = torch.tensor(random.sample(memory, 64))
        states, actions, rewards = batch[:, :2], batch[:, 2].long(), batch[:, 3]
        nexts, ends = batch[:, 4:6], batch[:, 6]
        found = online(states).gather(1, actions[:, None]).squeeze(1)
        with torch.no_grad():
            wanted = rewards + 0.99 * (1 - ends) * target(nexts).max(1).values
        loss = nn.functional.smooth_l1_loss(found, wanted)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(online.parameters(), 1.0)
        optimizer.step()
        for a, b in zip(target.parameters(), online.parameters()):
            a.data.mul_(0.99).add_(b.data, alpha=0.01)
print(f"{loss.item() < 1}")
