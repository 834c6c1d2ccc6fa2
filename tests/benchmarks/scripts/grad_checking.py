"""gradcheck and gradgradcheck of a user's autograd.Function and of a few layers."""

import torch
from torch import nn

torch.manual_seed(0)


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return g * s * (1 + x * (1 - s))


def fresh(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


print(torch.autograd.gradcheck(Swish.apply, fresh(4, 5)))
print(torch.autograd.gradgradcheck(Swish.apply, fresh(3, 4)))
for layer in (nn.Linear(4, 3), nn.LayerNorm(4), nn.Softmax(-1), nn.GRUCell(4, 4)):
    print(torch.autograd.gradcheck(layer.double(), fresh(3, 4)))
print(torch.autograd.gradcheck(lambda a: torch.linalg.inv(a @ a.mT + torch.eye(3)), fresh(3, 3)))
