"""torch._refs._conversions: x.float() as a function, and torch.complex."""

from .... import torch
from ....tensors.base import Tensor
from . import references

__getattr__ = references("torch._refs._conversions", Tensor, torch)
