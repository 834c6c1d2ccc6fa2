"""Where the functional and the PyTorch face meet: what neither has alone.

`fc.grad`, `fc.jit`, `fc.vmap`, `fc.scan`, ... take functions of tensors and modules as they are. Here is what
takes a module apart for them and puts it together, and random numbers by key for torch's ops.
"""

from .nn.trees import merge, split, update
from .torch.operators.random.keys import random_numbers

__all__ = ["merge", "random_numbers", "split", "update"]
