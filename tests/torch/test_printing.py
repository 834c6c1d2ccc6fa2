"""Tensor text against real PyTorch: equal strings."""

import ml_dtypes
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from functorch_core.torch.tensors import printing as _printing  # noqa: E402

BYTES_AS = {
    torch.bfloat16: ml_dtypes.bfloat16,
    torch.float8_e4m3fn: ml_dtypes.float8_e4m3fn,
    torch.float8_e5m2: ml_dtypes.float8_e5m2,
    torch.float8_e4m3fnuz: ml_dtypes.float8_e4m3fnuz,
    torch.float8_e5m2fnuz: ml_dtypes.float8_e5m2fnuz,
    torch.float8_e8m0fnu: ml_dtypes.float8_e8m0fnu,
}
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
FLOAT8S = [dtype for dtype in BYTES_AS if dtype.itemsize == 1]
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
INTEGERS += [torch.uint16, torch.uint32, torch.uint64]
COMPLEXES = [torch.complex64, torch.complex128]
ALL = FLOATS + FLOAT8S + INTEGERS + COMPLEXES + [torch.bool]
NAMES = [str(dtype).removeprefix("torch.") for dtype in ALL]
SHAPES = [(), (1,), (5,), (40,), (1200,), (3, 4), (2, 30), (40, 40), (2, 3, 4), (1, 1, 1, 3)]
SHAPES += [(2, 2, 2, 2), (7, 8, 20), (0,), (0, 3), (2, 0, 4), (1001, 1), (1, 1001)]
SPECIAL = [0.0, -0.0, np.nan, np.inf, -np.inf]


@pytest.fixture(autouse=True)
def default_options():
    yield
    set_both(profile="default")


def set_both(**options):
    torch.set_printoptions(**options)
    _printing.set_printoptions(**options)


def as_numpy(tensor):
    """The elements of a real tensor, without going through the code under test."""
    tensor = tensor.detach()
    if tensor.dtype in BYTES_AS:
        bits = torch.uint8 if tensor.dtype.itemsize == 1 else torch.int16
        return tensor.contiguous().view(bits).numpy().view(BYTES_AS[tensor.dtype])
    if tensor.dtype is torch.complex32:
        return tensor.to(torch.complex64).numpy()
    return tensor.numpy()


def ours(tensor, **options):
    options.setdefault("dtype_name", str(tensor.dtype))
    return _printing.format_tensor(as_numpy(tensor), **options)


def random_numbers(rng, shape):
    kind = rng.integers(6)
    scale = 10.0 ** rng.integers(-12, 12)
    values = rng.standard_normal(shape) * (1 if kind < 3 else scale)
    if kind == 0:
        values = np.round(values * 10)
    elif kind == 1:
        values = values * 10.0 ** rng.integers(-3, 3, shape)
    elif kind == 4:
        values = np.zeros(shape)
    values = np.asarray(values)
    if rng.random() < 0.4:
        mask = rng.random(shape) < 0.3
        values = np.where(mask, rng.choice(SPECIAL, shape), values)
    return values


def random_tensor(rng, dtype, shape):
    if dtype is torch.bool:
        return torch.tensor(rng.random(shape) < 0.5)
    if dtype in INTEGERS:
        info = torch.iinfo(dtype)
        top = min(info.max, 10 ** int(rng.integers(1, 20)))
        low = 0 if info.min == 0 else max(info.min, -top)
        kind = np.uint64 if info.min == 0 else np.int64
        return torch.tensor(rng.integers(low, top, shape, dtype=kind, endpoint=True)).to(dtype)
    if dtype in FLOAT8S and rng.random() < 0.3:
        bits = rng.integers(0, 256, shape).astype(np.uint8)
        return torch.tensor(bits).view(dtype)
    numbers = random_numbers(rng, shape)
    if dtype.is_complex:
        # Adding 1j times a part would lose the sign of zeros and smear nan over both parts.
        parts = numbers, random_numbers(rng, shape)
        numbers = np.empty(shape, np.complex128)
        numbers.real, numbers.imag = parts
    return torch.tensor(numbers).to(dtype)


def random_options(rng):
    return {
        "precision": int(rng.integers(0, 9)),
        "threshold": [0, 5, 30, 1000, float("inf")][rng.integers(5)],
        "edgeitems": int(rng.integers(0, 5)),
        "linewidth": int(rng.integers(10, 140)),
        "sci_mode": [None, None, True, False][rng.integers(4)],
    }


# ---------------------------------------------------------------------------------- default options


@pytest.mark.parametrize("dtype", ALL, ids=NAMES)
def test_random_tensors(dtype):
    rng = np.random.default_rng(NAMES.index(str(dtype).removeprefix("torch.")))
    for _ in range(6):
        for shape in SHAPES:
            tensor = random_tensor(rng, dtype, shape)
            assert ours(tensor) == repr(tensor)


@pytest.mark.parametrize("dtype", ALL, ids=NAMES)
def test_random_options(dtype):
    rng = np.random.default_rng(1000 + NAMES.index(str(dtype).removeprefix("torch.")))
    small = [shape for shape in SHAPES if np.prod(shape) < 200]
    for _ in range(120):
        options = random_options(rng)
        set_both(**options)
        tensor = random_tensor(rng, dtype, small[rng.integers(len(small))])
        assert ours(tensor) == repr(tensor), options


@pytest.mark.parametrize("dtype", FLOAT8S, ids=str)
def test_every_float8(dtype):
    for start in range(0, 256, 16):
        tensor = torch.arange(start, start + 16, dtype=torch.uint8).view(dtype)
        assert ours(tensor) == repr(tensor)
    whole = torch.arange(256, dtype=torch.int32).to(torch.uint8).view(dtype)
    assert ours(whole) == repr(whole)


@pytest.mark.parametrize("dtype", FLOATS + COMPLEXES, ids=str)
@pytest.mark.parametrize("special", [[v] for v in SPECIAL] + [SPECIAL, SPECIAL + [1.0, 2.5]])
def test_special_numbers(dtype, special):
    tensor = torch.tensor(special, dtype=torch.float64).to(dtype)
    assert ours(tensor) == repr(tensor)
    assert ours(tensor[0]) == repr(tensor[0])


@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_complex32():
    tensor = torch.tensor([1 + 2j, -0.5j, 3]).to(torch.complex32)
    assert ours(tensor) == repr(tensor)
    assert ours(tensor[1]) == repr(tensor[1])


def test_float4_prints_its_bytes():
    bits = torch.arange(6, dtype=torch.uint8)
    tensor = bits.view(torch.float4_e2m1fn_x2)
    text = _printing.format_tensor(bits.numpy(), dtype_name=str(tensor.dtype))
    assert text == repr(tensor)


@pytest.mark.parametrize(
    "numbers",
    [
        [0.1, 1000.0],
        [0.1, 100.0],
        [1e8, 1.0],
        [1.0, 1e8 + 1],
        [1e-4, 1e-4],
        [9.9e-5],
        [1e-45],
        [5e-324, 1.7e308],
        [99999.5, 1e5],
        [1e8],
        [1.0000001e8],
        [-1.0, 10.0, 999.0],
        [1.0, 1001.0],
        [1e15, 1e16],
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_borders_between_notations(numbers, dtype):
    tensor = torch.tensor(numbers, dtype=dtype)
    for sci_mode in (None, True, False):
        set_both(sci_mode=sci_mode)
        assert ours(tensor) == repr(tensor)


def test_not_contiguous():
    base = torch.arange(24.0).reshape(4, 6)
    for view in (base.T, base[::2, 1::2], base[:, :1].expand(4, 5), base.flip(0)):
        assert ours(view) == repr(view)
    assert ours(base) == repr(base)
    negative = np.arange(6.0, dtype=np.float32)[::-2]
    assert _printing.format_tensor(negative, dtype_name="torch.float32") == "tensor([5., 3., 1.])"


def test_million_elements():
    tensor = torch.arange(1_000_000.0).reshape(1000, 10, 100)
    assert ours(tensor) == repr(tensor)


# -------------------------------------------------------------------------------------- the frame


def test_grad_and_dtype_suffixes():
    leaf = torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
    assert ours(leaf, requires_grad=True) == repr(leaf)
    result = leaf + 1
    assert ours(result, requires_grad=True, grad_fn_name="AddBackward0") == repr(result)
    result = leaf.sum()
    assert ours(result, requires_grad=True, grad_fn_name="SumBackward0") == repr(result)


def test_suffixes_wrap_where_pytorch_wraps():
    for length in range(1, 40):
        leaf = torch.ones(length, dtype=torch.float64, requires_grad=True) * 10
        for linewidth in (20, 60, 80, 100):
            set_both(linewidth=linewidth)
            assert ours(leaf, grad_fn_name="MulBackward0") == repr(leaf)


def test_default_dtype():
    tensors = [torch.ones(2, dtype=dtype) for dtype in (*FLOATS, *COMPLEXES)]
    tensors += [torch.ones(0, 2, dtype=dtype) for dtype in (*FLOATS, torch.int64, torch.bool)]
    try:
        for default in (torch.float64, torch.float16, torch.float32):
            torch.set_default_dtype(default)
            for tensor in tensors:
                assert ours(tensor, default_dtype_name=str(default)) == repr(tensor)
    finally:
        torch.set_default_dtype(torch.float32)


def test_parameters():
    parameter = torch.nn.Parameter(torch.arange(4.0).reshape(2, 2))
    assert ours(parameter, requires_grad=True, is_parameter=True) == repr(parameter)
    frozen = torch.nn.Parameter(torch.zeros(3), requires_grad=False)
    assert ours(frozen, is_parameter=True) == repr(frozen)


def test_subclasses():
    class Mine(torch.Tensor):
        pass

    class MyParameter(torch.nn.Parameter):
        pass

    mine = torch.ones(30).as_subclass(Mine)
    assert ours(mine, tensor_class="Mine") == repr(mine)
    parameter = MyParameter(torch.ones(30))
    options = {"tensor_class": "MyParameter", "is_parameter": True, "requires_grad": True}
    assert ours(parameter, **options) == repr(parameter)
    flagged = torch.nn.Parameter(mine)
    options = {"tensor_class": "Mine", "is_parameter": True, "requires_grad": True}
    assert ours(flagged, has_parameter_header=False, **options) == repr(flagged)


def test_meta_tensors():
    for tensor in (torch.empty(2, 3, device="meta"), torch.empty((), device="meta").to(torch.int8)):
        options = {"size": tuple(tensor.shape), "device": "meta", "dtype_name": str(tensor.dtype)}
        assert _printing.format_tensor(None, **options) == repr(tensor)


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")  # said where PyTorch is first asked
def test_forward_mode_tangent():
    with torch.autograd.forward_ad.dual_level():
        tangent = torch.ones(3)
        dual = torch.autograd.forward_ad.make_dual(torch.arange(3.0), tangent)
        assert ours(dual, tangent=repr(tangent)) == repr(dual)


def test_sparse_contents_can_be_composed():
    sparse = torch.eye(30).to_sparse()
    prefix, column = "indices=tensor(", len("tensor(")
    contents = _printing.format_contents(
        as_numpy(sparse.indices()), dtype_name="torch.int64", indent=column + len(prefix)
    )
    assert repr(sparse).startswith("tensor(" + prefix + contents + "),\n")


def test_missing_size():
    with pytest.raises(TypeError, match="needs size="):
        _printing.format_tensor(None, dtype_name="torch.float32")


def test_indent_moves_every_line():
    data = np.arange(60, dtype=np.float32).reshape(2, 30)
    text = _printing.format_tensor(data, dtype_name="torch.float32", indent=10)
    lines = (" " * 10 + text).split("\n")
    assert max(map(len, lines)) <= 80
    assert all(line.startswith(" " * 18) for line in lines[1:])


# ----------------------------------------------------------------------------------- the options


@pytest.mark.parametrize("profile", ["default", "short", "full", "unknown"])
def test_profiles(profile):
    set_both(linewidth=33, precision=7)
    set_both(profile=profile, edgeitems=4)
    assert _printing.get_printoptions() == torch._tensor_str.get_printoptions()


def test_context_manager_restores_even_after_an_error():
    before = _printing.get_printoptions()
    with pytest.raises(KeyError):
        with _printing.printoptions(precision=1, sci_mode=True):
            assert _printing.get_printoptions()["precision"] == 1
            raise KeyError
    assert _printing.get_printoptions() == before


def test_sci_mode_is_reset_by_every_call():
    set_both(sci_mode=True)
    set_both(precision=3)
    assert _printing.get_printoptions() == torch._tensor_str.get_printoptions()
