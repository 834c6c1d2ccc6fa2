"""torch._refs.linalg: the functions of torch.linalg."""

from ....namespaces import linalg
from . import references

__getattr__ = references("torch._refs.linalg", linalg)
