"""torch.FloatTensor and its kin: types of tensors by dtype, and by device."""

from __future__ import annotations

from ....core import dtypes as dt
from ...dispatch.devices import xla_device
from ...tensors import types as _types
from ...tensors.base import Tensor
from .data import legacy


class LegacyType(type):
    """The type of torch.FloatTensor and its kin: isinstance looks at the dtype."""

    is_sparse, is_xpu, layout = False, False, _types.strided

    def __new__(kind, name, bases, members):
        for base in bases:
            raise TypeError(f"type '{base.__module__}.{base.__name__}' is not an acceptable base type")
        return super().__new__(kind, name, bases, members)

    def __instancecheck__(cls, instance):
        return isinstance(instance, Tensor) and instance.dtype.numpy == cls.numpy and (not instance.is_sparse)

    def __call__(cls, *args, device=None):
        return legacy(cls.numpy, args, device or cls.device)

    @property
    def is_cuda(cls) -> bool:
        """Whether its tensors are on a GPU."""
        return cls.device == "cuda"

    def moved(cls, tensor: Tensor) -> Tensor:
        """A tensor as one of this type: x.type(torch.FloatTensor)."""
        return tensor.to(dtype=cls.dtype, device=cls.device)


class CudaLegacyType(LegacyType):
    """The type of torch.cuda.FloatTensor and its kin."""

    def __instancecheck__(cls, instance):
        return super().__instancecheck__(instance) and instance.is_cuda

    def __call__(cls, *args, device=None):
        cls.check()
        return super().__call__(*args, device=device)

    def check(cls):
        """TypeError if there is no GPU."""
        try:
            xla_device(_types.device("cuda"))
        except RuntimeError:
            raise TypeError(
                f"type torch.cuda.{cls.__name__} not available. Torch not compiled with CUDA enabled."
            ) from None


LEGACY = {
    "FloatTensor": dt.float32,
    "DoubleTensor": dt.float64,
    "HalfTensor": dt.float16,
    "BFloat16Tensor": dt.bfloat16,
    "ByteTensor": dt.uint8,
    "CharTensor": dt.int8,
    "ShortTensor": dt.int16,
    "IntTensor": dt.int32,
    "LongTensor": dt.int64,
    "BoolTensor": dt.bool_,
}


def _types_of(kind: type, device: str | None, module: str) -> dict[str, LegacyType]:
    return {
        name: kind(
            name,
            (),
            {
                "__doc__": f"""Tensors of {_types.of_numpy(d)}: for isinstance, `x.type(...)`, old constructors.

                >>> isinstance(torch.ones(2, dtype={_types.of_numpy(d)}), {module}.{name})
                {device is None}
                """,
                "numpy": d,
                "dtype": _types.of_numpy(d),
                "device": device,
                "__module__": module,
            },
        )
        for name, d in LEGACY.items()
    }


legacy_types = _types_of(LegacyType, None, "torch")
cuda_legacy_types = _types_of(CudaLegacyType, "cuda", "torch.cuda")


def legacy_type_named(name: str) -> LegacyType | None:
    """torch.cuda.FloatTensor of its name."""
    kinds = cuda_legacy_types if name.startswith("torch.cuda.") else legacy_types
    return kinds.get(name.rpartition(".")[2])
