"""Hamiltonian Monte Carlo for a logistic regression, the acceptance read each time."""

import torch

torch.manual_seed(0)
x = torch.randn(100, 5)
y = (x @ torch.tensor([1.0, -2.0, 0.5, 0.0, 1.5]) > 0).float()


def energy(w):
    return torch.nn.functional.binary_cross_entropy_with_logits(x @ w, y, reduction="sum") + 0.5 * w @ w


def slope(w):
    w = w.detach().requires_grad_()
    return torch.autograd.grad(energy(w), w)[0]


w, samples, accepted = torch.zeros(5), [], 0
for _ in range(150):
    p = torch.randn(5)
    new, q = w.clone(), p - 0.025 * slope(w)
    for i in range(10):
        new = new + 0.05 * q
        q = q - (0.05 if i < 9 else 0.025) * slope(new)
    change = energy(w) + 0.5 * p @ p - energy(new) - 0.5 * q @ q
    if torch.rand(()).log() < change:
        w, accepted = new, accepted + 1
    samples.append(w)
print(accepted > 75, [f"{v:.0f}" for v in torch.stack(samples)[50:].mean(0).tolist()])
