"""torch._refs.nn.functional: the functions of torch.nn.functional."""

from ......nn import functional
from .. import references

__getattr__ = references("torch._refs.nn.functional", functional)
