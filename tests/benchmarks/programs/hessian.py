"""The Hessian of an MLP's loss by 353 parameters, and a Newton step with it."""

import torch
from torch.func import hessian
from torch.nn import functional as F

from . import compiled

TRAINS = False
N_IN, WIDTH = 20, 16


def start():
    """A function that computes a Hessian, makes a damped Newton step and returns the loss."""
    torch.manual_seed(0)
    x, y = torch.randn(128, N_IN), torch.randn(128)
    weights = 0.3 * torch.randn(N_IN * WIDTH + WIDTH + WIDTH + 1)

    def loss_of(weights):
        first, bias, second, last = weights.split([N_IN * WIDTH, WIDTH, WIDTH, 1])
        hidden = torch.tanh(x @ first.view(N_IN, WIDTH) + bias)
        return F.mse_loss(hidden @ second + last, y)

    curvature = compiled(hessian(loss_of))

    def step():
        nonlocal weights
        weights = weights.requires_grad_()
        loss = loss_of(weights)
        (slope,) = torch.autograd.grad(loss, weights)
        weights = weights.detach()
        damped = curvature(weights) + 10.0 * torch.eye(len(weights))
        weights = weights - 0.1 * torch.linalg.solve(damped, slope)
        return loss.detach()

    return step
