"""Real PyTorch's tensors described and rebuilt for the checkpoint tests, with NumPy between."""

import io
import zipfile

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from functorch_core.torch.compat.serialization import formats as fc  # noqa: E402
from functorch_core.torch.compat.serialization.specs import NUMPY_DTYPES  # noqa: E402

DTYPES = [getattr(torch, name.removeprefix("torch.")) for name in NUMPY_DTYPES]
GLOBALS = {name: getattr(torch, name.removeprefix("torch.")) for name in NUMPY_DTYPES}
GLOBALS |= {"torch.Size": torch.Size, "torch.device": torch.device, "torch.Tensor": torch.Tensor}
WARNINGS = ("ignore:TypedStorage is deprecated", "ignore:ComplexHalf support", "ignore:.*torch.jit")


def storage_array(tensor):
    """The whole storage of a real tensor, as bytes sharing its memory."""
    storage = tensor.untyped_storage()
    if storage.nbytes() == 0:
        return np.empty(0, np.uint8)
    return torch.empty(0, dtype=torch.uint8).set_(storage).numpy()


def tensor_spec(tensor):
    tensor = tensor.detach() if isinstance(tensor, torch.nn.Parameter) else tensor
    metadata = torch._utils.get_tensor_metadata(tensor)
    return fc.TensorSpec(
        storage_key=tensor.untyped_storage()._cdata,
        storage=storage_array(tensor),
        dtype=str(tensor.dtype),
        offset=tensor.storage_offset(),
        size=tensor.size(),
        stride=tensor.stride(),
        requires_grad=tensor.requires_grad,
        metadata=metadata or None,
        attributes=dict(tensor.__dict__) or None,
    )


def describe(obj):
    if isinstance(obj, torch.nn.Parameter):
        state = dict(obj.__dict__) or None
        return fc.ParameterSpec(tensor_spec(obj), obj.requires_grad, attributes=state)
    if isinstance(obj, torch.Tensor):
        return tensor_spec(obj)
    if isinstance(obj, torch.UntypedStorage):
        array = storage_array(torch.empty(0, dtype=torch.uint8).set_(obj))
        return fc.StorageSpec(obj._cdata, array)
    return None


class Rebuild:
    """Makes real tensors; tensors of one storage key share one real storage."""

    def __init__(self):
        self.storages = {}
        self.specs = []

    def __call__(self, spec):
        self.specs.append(spec)
        if isinstance(spec, fc.ParameterSpec):
            made = torch.nn.Parameter(spec.data, spec.requires_grad)
        else:
            made = self.tensor(spec)
        for name, value in (spec.attributes or {}).items():
            setattr(made, name, value)
        return made

    def tensor(self, spec):
        raw = np.array(spec.storage, copy=True).view(np.uint8)
        storage = self.storages.get(spec.storage_key)
        if storage is None:
            storage = torch.UntypedStorage()
            if raw.size:
                storage = torch.from_numpy(raw).untyped_storage()
            self.storages[spec.storage_key] = storage
        dtype = getattr(torch, spec.dtype.removeprefix("torch."))
        made = torch.empty(0, dtype=dtype).set_(storage, spec.offset, spec.size, spec.stride)
        if spec.metadata:
            torch._utils.set_tensor_metadata(made, spec.metadata)
        return made.requires_grad_() if spec.requires_grad else made


def ours_saved(obj, **options):
    buffer = io.BytesIO()
    fc.save(obj, buffer, describe=describe, **options)
    buffer.seek(0)
    return buffer


def theirs_saved(obj, **options):
    buffer = io.BytesIO()
    torch.save(obj, buffer, **options)
    buffer.seek(0)
    return buffer


def ours_loaded(file, **options):
    options.setdefault("rebuild", Rebuild())
    options.setdefault("globals", GLOBALS)
    return fc.load(file, **options)


def example(dtype, shape=(3, 4)):
    """A tensor of every dtype, made of bits so that it works for those without arithmetic."""
    count = int(np.prod(shape))
    if dtype is torch.bool:
        return torch.arange(count).reshape(shape) % 3 == 0
    bits = torch.arange(count * dtype.itemsize, dtype=torch.int64) * 37 % 120
    return bits.to(torch.uint8).view(dtype).reshape(shape)


def bits_of(tensor):
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if tensor.dim() == 0:
        tensor = tensor.reshape(1)
    return tensor.contiguous().view(torch.uint8)


def assert_same(got, want):
    """Equal structure, types, layouts and bits."""
    assert type(got) is type(want)
    if isinstance(want, torch.Tensor):
        assert (got.dtype, got.shape, got.stride()) == (want.dtype, want.shape, want.stride())
        assert got.storage_offset() == want.storage_offset()
        assert got.requires_grad == want.requires_grad
        assert got.is_conj() == want.is_conj() and got.is_neg() == want.is_neg()
        assert got.__dict__ == want.__dict__
        assert torch.equal(bits_of(got), bits_of(want))
    elif isinstance(want, dict):
        assert list(got) == list(want)
        assert getattr(got, "__dict__", None) == getattr(want, "__dict__", None)
        for key in want:
            assert_same(got[key], want[key])
    elif isinstance(want, (list, tuple)):
        assert len(got) == len(want)
        for each, other in zip(got, want, strict=True):
            assert_same(each, other)
    else:
        assert got == want


def rewritten(saved, changes, drop=()):
    """An archive with some records replaced, added or dropped."""
    source, out = zipfile.ZipFile(saved), io.BytesIO()
    with zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            short = name.removeprefix("archive/")
            if short not in drop:
                target.writestr(name, changes.pop(short, None) or source.read(name))
        for short, data in changes.items():
            target.writestr("archive/" + short, data)
    out.seek(0)
    return out
