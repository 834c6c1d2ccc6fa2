"""torch.nn: neural networks."""

from ..torch.compat.plain_pickles import register as _register_plain_pickles
from . import functional, init, modules, parameter, utils
from ._names import lazy as _lazy
from ._names import publish as _publish
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
from .trees import register_all as _register_all

globals().update({name: getattr(modules, name) for name in modules.__all__})

__getattr__ = _lazy(
    __name__,
    ("attention", "backends", "common_types", "grad"),
    missing=("cpp", "intrinsic", "qat", "quantizable", "quantized"),
)


def factory_kwargs(kwargs):
    """The device, dtype and memory_format among a layer's keyword arguments.

    >>> nn.factory_kwargs({"device": "cpu"})
    {'device': 'cpu'}
    """
    if kwargs is None:
        return {}
    simple = {"device", "dtype", "memory_format"}
    unexpected = kwargs.keys() - {*simple, "factory_kwargs"}
    if unexpected:
        raise TypeError(f"unexpected kwargs {unexpected}")
    found = dict(kwargs.get("factory_kwargs", {}))
    for key in simple & kwargs.keys():
        if key in found:
            raise TypeError(f"{key} specified twice, in **kwargs and in factory_kwargs")
        found[key] = kwargs[key]
    return found


_publish()
_register_all(modules.Module)
_register_plain_pickles()
