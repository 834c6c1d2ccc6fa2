"""torch._refs.fft: the functions of torch.fft."""

from ....namespaces import fft as functions
from . import references

__getattr__ = references("torch._refs.fft", functions)
