"""What one does in the cells of a notebook: look at tensors, fit a line and a curve, print now and then."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.linspace(-3, 3, 200)
print(x[:5], x.shape, x.std())
y = torch.sin(x) + 0.1 * torch.cos(20 * x)
w = torch.zeros(4, requires_grad=True)
powers = torch.stack([x**i for i in range(4)], 1)
for step in range(300):
    loss = ((powers @ w - y) ** 2).sum()
    if step % 100 == 0:
        print(step, f"{loss.item():.3f}")
    loss.backward()
    with torch.no_grad():
        w -= 1e-6 * w.grad
        w.grad = None
a = torch.randn(6, 6)
print((a @ a.T).diagonal().min() > 0, torch.linalg.eigvalsh(a + a.T).shape, torch.randn(3, 4).argmax(1).shape)
model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
print(model)
print(sum(p.numel() for p in model.parameters()))
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=20)


def closure():
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x[:, None]), y[:, None])
    loss.backward()
    return loss


for _ in range(5):
    optimizer.step(closure)
print(closure().item() < 0.1)
