"""Deep Q-learning: a network learns to balance a pole on a cart.

python -m functorch_core examples/dqn.py
python examples/dqn.py                                        (under PyTorch)
"""

import argparse
import collections
import math
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

Transition = collections.namedtuple("Transition", "state action reward next_state done")


class CartPole:
    """The classic task: push the cart left or right, a reward of 1 for each step upright.

    The state is position, velocity, angle and angular velocity; equations of Barto, Sutton and
    Anderson (1983).
    """

    GRAVITY, CART, POLE, HALF_LENGTH, FORCE, TAU = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
    LIMIT_X, LIMIT_ANGLE, LIMIT_STEPS = 2.4, math.radians(12), 500

    def __init__(self, seed):
        self.random = random.Random(seed)

    def reset(self):
        self.steps = 0
        self.state = [self.random.uniform(-0.05, 0.05) for _ in range(4)]
        return self.state

    def step(self, action):
        """(next state, reward, has the pole fallen, is the episode over)."""
        x, v, angle, spin = self.state
        force = self.FORCE if action == 1 else -self.FORCE
        sin, cos, mass = math.sin(angle), math.cos(angle), self.CART + self.POLE
        push = (force + self.POLE * self.HALF_LENGTH * spin**2 * sin) / mass
        turn = (self.GRAVITY * sin - cos * push) / (self.HALF_LENGTH * (4 / 3 - self.POLE * cos**2 / mass))
        speed_up = push - self.POLE * self.HALF_LENGTH * turn * cos / mass
        self.state = [x + self.TAU * v, v + self.TAU * speed_up, angle + self.TAU * spin, spin + self.TAU * turn]
        self.steps += 1
        fallen = abs(self.state[0]) > self.LIMIT_X or abs(self.state[2]) > self.LIMIT_ANGLE
        return self.state, 1.0, fallen, fallen or self.steps >= self.LIMIT_STEPS


class QNetwork(nn.Module):
    """The value of each action in a state."""

    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(4, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 2)
        )

    def forward(self, state):
        return self.layers(state)


def choose(network, state, epsilon):
    """A random action with probability epsilon, else the best."""
    if random.random() < epsilon:
        return random.randrange(2)
    with torch.no_grad():
        return network(torch.tensor(state).unsqueeze(0)).argmax(1).item()


def temporal_difference(network, target, transitions, gamma):
    """The loss of the network's values against reward plus the target network's values."""
    batch = Transition(*zip(*transitions, strict=True))
    state, next_state = torch.tensor(batch.state), torch.tensor(batch.next_state)
    action = torch.tensor(batch.action).unsqueeze(1)
    reward, done = torch.tensor(batch.reward), torch.tensor(batch.done)
    value = network(state).gather(1, action).squeeze(1)
    with torch.no_grad():
        next_value = target(next_state).max(1).values
        next_value[done] = 0.0
    return F.smooth_l1_loss(value, reward + gamma * next_value)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=5000, help="updates of the network")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=int, default=250, help="steps between two printed losses")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--lr", type=float, default=5e-4)
    parser.add_argument("--gamma", type=float, default=0.99)
    parser.add_argument("--tau", type=float, default=0.005, help="rate of the target network")
    parser.add_argument("--decay", type=float, default=1000, help="steps until exploration is 1/e")
    args = parser.parse_args()

    random.seed(args.seed)
    torch.manual_seed(args.seed)
    environment = CartPole(args.seed)
    network, target = QNetwork(args.width), QNetwork(args.width)
    target.load_state_dict(network.state_dict())
    optimizer = torch.optim.AdamW(network.parameters(), lr=args.lr, amsgrad=True)
    memory = collections.deque(maxlen=10_000)
    lengths = collections.deque([0], maxlen=20)  # of the last episodes

    state, step, start = environment.reset(), 0, time.perf_counter()
    while step < args.steps:
        epsilon = 0.05 + 0.85 * math.exp(-step / args.decay)
        action = choose(network, state, epsilon)
        next_state, reward, fallen, over = environment.step(action)
        memory.append(Transition(state, action, reward, next_state, fallen))
        state = next_state
        if over:
            lengths.append(environment.steps)
            state = environment.reset()
        if len(memory) < args.batch:
            continue

        loss = temporal_difference(network, target, random.sample(memory, args.batch), args.gamma)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(network.parameters(), 100)
        optimizer.step()
        with torch.no_grad():
            for old, new in zip(target.parameters(), network.parameters(), strict=True):
                old.lerp_(new, args.tau)
        if step % args.every == 0 or step == args.steps - 1:
            print(
                f"step {step:5d}: loss {loss.item():.6f}, length of an episode "
                f"{sum(lengths) / len(lengths):.1f}, {time.perf_counter() - start:.2f} s"
            )
        step += 1


if __name__ == "__main__":
    main()
