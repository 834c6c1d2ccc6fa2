"""torch._refs.special: the functions of torch.special."""

from ....namespaces import special
from . import references

__getattr__ = references("torch._refs.special", special)
