"""The random engine against real PyTorch: the same samples, and the same state after them."""

import copy
import math
import pickle

import ml_dtypes
import numpy as np
import pytest

from functorch_core import torch as ours
from functorch_core.torch.operators import random as engine
from functorch_core.torch.operators.random import box_muller, discrete, fused_normals, swaps

torch = pytest.importorskip("torch")

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
TORCH_TYPES = {
    np.dtype(name): getattr(torch, name)
    for name in (
        "float16",
        "float32",
        "float64",
        "complex64",
        "complex128",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "bool",
        "uint16",
        "uint32",
        "uint64",
    )
} | {BFLOAT16: torch.bfloat16}
FLOATS = [np.dtype("float32"), np.dtype("float64"), np.dtype("float16"), BFLOAT16]
REALS = FLOATS + [np.dtype(n) for n in ("uint8", "int8", "int16", "int32", "int64", "bool")]
COMPLEX = [np.dtype("complex64"), np.dtype("complex128")]
SIZES = [0, 1, 2, 15, 16, 17, 31, 100, 1000, 100_003]
SMALL_SIZES = [size for size in SIZES if size <= 1000]

pytestmark = pytest.mark.skipif(
    torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"),
    reason="PyTorch's kernels for other processors round otherwise (they draw the same bits)",
)


def to_torch(array):
    if array.dtype == BFLOAT16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def to_numpy(tensor):
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(BFLOAT16)
    return tensor.numpy()


class Pair:
    """Our generator and PyTorch's, in the same state."""

    def __init__(self, seed=0):
        self.ours, self.theirs = engine.Mt19937Generator(seed), torch.Generator()
        self.theirs.manual_seed(seed)

    def empty(self, size, dtype):
        return torch.empty(size, dtype=TORCH_TYPES[dtype])

    def check_state(self):
        np.testing.assert_array_equal(self.ours.get_state(), self.theirs.get_state().numpy())

    def check(self, ours, theirs, ulps=0):
        theirs = to_numpy(theirs)
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        assert ours.flags.c_contiguous
        if ulps:
            assert (np.abs(ours - theirs) <= ulps * np.spacing(np.abs(theirs))).all()
        else:
            assert ours.tobytes() == theirs.tobytes()
        self.check_state()


@pytest.fixture
def pair():
    return Pair(7)


def names(dtypes):
    return pytest.mark.parametrize("dtype", dtypes, ids=lambda dtype: dtype.name)


sizes = pytest.mark.parametrize("size", SIZES)
small_sizes = pytest.mark.parametrize("size", SMALL_SIZES)


# ---- seeds and states ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, 12345, -1, 2**32, 2**40 + 5, -(2**63), 2**64 - 1])
def test_manual_seed(seed):
    pair = Pair(seed)
    assert pair.ours.initial_seed() == pair.theirs.initial_seed()
    pair.check_state()
    pair.check(engine.uniform(pair.ours, 3, "f4"), torch.rand(3, generator=pair.theirs))


def test_default_seed():
    assert engine.Mt19937Generator().initial_seed() == torch.Generator().initial_seed()
    np.testing.assert_array_equal(engine.Mt19937Generator().get_state(), torch.Generator().get_state().numpy())


def test_seed_is_nondeterministic():
    generator = engine.Mt19937Generator(0)
    first, second = generator.seed(), generator.seed()
    assert first != second and 0 <= first < 2**64
    assert generator.initial_seed() == second
    again = engine.Mt19937Generator(second)
    assert (engine.uniform(generator, 5, "f4") == engine.uniform(again, 5, "f4")).all()


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1])
def test_manual_seed_out_of_range(seed):
    with pytest.raises(ValueError, match="2\\*\\*64"):
        engine.Mt19937Generator(seed)


@pytest.mark.parametrize("seed", [1.5, "1", None])
def test_manual_seed_wants_an_integer(seed):
    with pytest.raises(TypeError):
        engine.Mt19937Generator().manual_seed(seed)


def test_manual_seed_drops_the_cached_normal(pair):
    engine.normal(pair.ours, 1, "f4")
    pair.ours.manual_seed(7)
    pair.check_state()


@pytest.mark.parametrize("drawn", [0, 1, 2, 311, 623, 624, 625, 1248])
@pytest.mark.parametrize("normals", [0, 1, 2, 3])
def test_states_are_interchangeable(drawn, normals):
    pair = Pair(3)
    pair.check(engine.uniform(pair.ours, drawn, "f4"), torch.rand(drawn, generator=pair.theirs))
    pair.check(engine.normal(pair.ours, normals, "f8"), pair.empty(normals, FLOATS[1]).normal_(generator=pair.theirs))
    ours, theirs = engine.Mt19937Generator(99), torch.Generator()
    ours.set_state(pair.theirs.get_state().numpy())
    theirs.set_state(torch.from_numpy(pair.ours.get_state()))
    pair.ours, pair.theirs = ours, theirs
    assert ours.initial_seed() == theirs.initial_seed() == 3
    pair.check_state()
    pair.check(engine.normal(ours, 3, "f4"), torch.randn(3, generator=theirs))
    pair.check(engine.uniform(ours, 1000, "f8"), torch.rand(1000, dtype=torch.float64, generator=theirs))


def test_state_survives_pickle_and_deepcopy(pair):
    engine.normal(pair.ours, 3, "f4")
    for clone in (pickle.loads(pickle.dumps(pair.ours)), copy.deepcopy(pair.ours)):
        before = pair.ours.get_state()
        np.testing.assert_array_equal(clone.get_state(), before)
        engine.uniform(clone, 10, "f4")
        np.testing.assert_array_equal(pair.ours.get_state(), before)


def test_unused_float_normal_of_old_checkpoints_is_kept(pair):
    state = pair.ours.get_state()
    state[5048:5052] = np.frombuffer(np.float32(1.5).tobytes(), np.uint8)
    state[5052] = 1
    pair.ours.set_state(state)
    pair.theirs.set_state(torch.from_numpy(state))
    pair.check_state()
    pair.check(engine.normal(pair.ours, 3, "f4"), torch.randn(3, generator=pair.theirs))


@pytest.mark.parametrize(
    "state, error",
    [
        (np.zeros(5, np.uint8), RuntimeError),
        (np.zeros(5056, np.uint8), RuntimeError),
        (np.zeros(5056, np.float32), TypeError),
        ([0] * 5056, TypeError),
    ],
)
def test_invalid_states(state, error):
    generator = engine.Mt19937Generator(1)
    before = generator.get_state()
    with pytest.raises(error, match="set_state|Invalid mt19937 state"):
        generator.set_state(state)
    np.testing.assert_array_equal(generator.get_state(), before)


def test_set_state_copies_a_strided_state(pair):
    wide = np.repeat(pair.theirs.get_state().numpy(), 2)
    other = engine.Mt19937Generator(1)
    other.set_state(wide[::2])
    np.testing.assert_array_equal(other.get_state(), pair.ours.get_state())


# ---- uniform ---------------------------------------------------------------------------------


@sizes
@names(FLOATS + COMPLEX)
def test_uniform(pair, size, dtype):
    for low, high in ((0, 1), (-0.3, 0.3), (0.1, 7.3), (0, 3.1), (-2, -2), (100, 101)):
        pair.check(
            engine.uniform(pair.ours, size, dtype, low, high),
            pair.empty(size, dtype).uniform_(low, high, generator=pair.theirs),
        )


def test_few_uniforms_in_turn_with_other_draws_between(pair):
    """Few are read from what was drawn ahead: numbers and states are those of single draws."""
    float32, random, states = np.dtype("float32"), np.random.default_rng(0), None
    for step in range(600):
        size = int(random.choice([0, 1, 1, 2, 5, 33, 64, 65]))
        if step % 37 == 36:
            pair.check(
                engine.uniform(pair.ours, 2 * size, np.float64),
                pair.empty(2 * size, np.dtype("float64")).uniform_(generator=pair.theirs),
            )
        elif step % 53 == 52:
            pair.check(
                engine.randint(pair.ours, 9 * size, 0, 100), torch.randint(0, 100, (9 * size,), generator=pair.theirs)
            )
        elif step % 101 == 100:
            weights = np.ones(5, np.float32)
            pair.check(
                engine.poisson(pair.ours, weights), torch.poisson(torch.from_numpy(weights), generator=pair.theirs)
            )
        elif step % 150 == 149:
            pair.ours.set_state(states[0]), pair.theirs.set_state(torch.from_numpy(states[1]))
        elif step % 150 == 70:
            states = pair.ours.get_state(), pair.theirs.get_state().numpy()
        else:
            pair.check(
                engine.uniform(pair.ours, size, float32), pair.empty(size, float32).uniform_(generator=pair.theirs)
            )
    other = copy.deepcopy(pair.ours)
    assert engine.uniform(other, 5, float32).tobytes() == engine.uniform(pair.ours, 5, float32).tobytes()


@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 4), (0, 5)])
def test_shapes(pair, shape):
    pair.check(engine.uniform(pair.ours, shape, "f4"), torch.rand(shape, generator=pair.theirs))
    pair.check(engine.normal(pair.ours, shape, "c8"), torch.randn(shape, dtype=torch.complex64, generator=pair.theirs))


@pytest.mark.parametrize("low, high", [(2, 1), (-3e38, 3e38), (math.nan, 1), (0, math.inf)])
def test_uniform_bounds(pair, low, high):
    with pytest.raises(RuntimeError):
        pair.empty(3, FLOATS[0]).uniform_(low, high)
    with pytest.raises(RuntimeError, match="uniform_"):
        engine.uniform(pair.ours, 3, "f4", low, high)
    pair.check_state()


def test_unsupported_dtype_names_the_draw(pair):
    with pytest.raises(NotImplementedError, match="normal is not implemented for int64"):
        engine.normal(pair.ours, 3, "i8")
    with pytest.raises(NotImplementedError, match="random_ is not implemented for uint16"):
        engine.random_full_range(pair.ours, 3, "u2")


# ---- normal ----------------------------------------------------------------------------------


@sizes
@names(FLOATS + COMPLEX)
def test_normal(pair, size, dtype):
    for mean, std in ((0, 1), (0.3, 1.7), (0, 0.02), (2, 1), (5, 0)):
        pair.check(
            engine.normal(pair.ours, size, dtype, mean, std),
            pair.empty(size, dtype).normal_(mean, std, generator=pair.theirs),
        )


@pytest.mark.parametrize("size", [2, 15, 16, 17, 1000])
@names(FLOATS)
def test_normal_of_noncontiguous_outputs_is_serial(pair, size, dtype):
    out = pair.empty(2 * size, dtype)[::2].normal_(0.3, 1.7, generator=pair.theirs)
    pair.check(engine.normal(pair.ours, size, dtype, 0.3, 1.7, serial=True), out.contiguous())


@small_sizes
@names(FLOATS)
def test_normal_from_arrays(pair, size, dtype):
    random = np.random.RandomState(0)
    mean, std = random.randn(size).astype(dtype), random.rand(size).astype(dtype)
    wide = random.rand(size)
    for args in ((mean, std), (mean, 0.7), (0.7, std), (mean, wide)):
        theirs = [to_torch(a) if isinstance(a, np.ndarray) else a for a in args]
        pair.check(engine.normal_from_arrays(pair.ours, *args), torch.normal(*theirs, generator=pair.theirs))


def test_normal_from_arrays_broadcasts(pair):
    mean, std = np.arange(3.0, dtype="f4").reshape(3, 1), np.arange(8.0, dtype="f4")
    pair.check(
        engine.normal_from_arrays(pair.ours, mean, std),
        torch.normal(to_torch(mean), to_torch(std), generator=pair.theirs),
    )


def test_normals_in_large_numbers(pair, monkeypatch):
    """What a compiled program makes: the same numbers, and the same state after them."""
    monkeypatch.setattr(fused_normals, "_made", dict.fromkeys(fused_normals._made, fused_normals.WORTH))
    for n in (2048, (1 << 12) + 16, 1 << 14, (1 << 14) + 5, (1 << 17) + 16):
        for dtype in (np.dtype("f4"), ml_dtypes.bfloat16, np.dtype("c8")):
            theirs = pair.empty(n, np.dtype(dtype)).normal_(0.5, 2.0, generator=pair.theirs)
            pair.check(engine.normal(pair.ours, n, dtype, 0.5, 2.0), theirs)
    assert fused_normals.program(1 << 20) is not None and fused_normals.program(1 << 12) is not None


def test_a_program_that_the_disk_has_is_taken_sooner(monkeypatch, tmp_path):
    monkeypatch.setenv("FUNCTORCH_CACHE_DIR", str(tmp_path))
    for wanted in (fused_normals.WORTH, fused_normals.WORTH_ON_DISK):
        monkeypatch.setattr(fused_normals, "_made", dict.fromkeys(fused_normals._made, 0))
        fused_normals._compiled.cache_clear()
        fused_normals._worth.cache_clear()
        calls = 0
        while fused_normals.program(fused_normals.SMALL) is None:
            calls += 1
        assert calls == wanted // fused_normals.SMALL - 1


@pytest.mark.parametrize("size", [fused_normals.SMALL, fused_normals.BLOCK])
def test_normals_in_large_numbers_to_the_last_bit(size):
    words = np.random.default_rng(1).integers(0, 1 << 32, size, np.uint64)
    u = ((words & 0xFFFFFF) * 2.0**-24).astype(np.float32).reshape(-1, 2, 8)
    wanted = np.stack(box_muller.box_muller_float32(1 - u[:, 0], u[:, 1]), 1)
    np.testing.assert_array_equal(fused_normals._compiled(size)(words)(), wanted.reshape(-1))


@pytest.mark.parametrize("std", [-1.0, math.nan])
def test_normal_wants_a_nonnegative_std(pair, std):
    with pytest.raises(RuntimeError, match="std >= 0"):
        engine.normal(pair.ours, 3, "f4", 0.0, std)
    with pytest.raises(RuntimeError, match="std >= 0"):
        engine.normal_from_arrays(pair.ours, np.zeros(2), np.array([1.0, std]))


@sizes
@names(FLOATS)
def test_log_normal(pair, size, dtype):
    for mean, std in ((1, 2), (0.3, 0.7), (1e4, 1.0)):
        pair.check(
            engine.log_normal(pair.ours, size, dtype, mean, std),
            pair.empty(size, dtype).log_normal_(mean, std, generator=pair.theirs),
        )


@small_sizes
@names(FLOATS)
def test_trunc_normal(pair, size, dtype):
    for low, high, mean, std in (
        (-2, 2, 0, 1),
        (-0.04, 0.04, 0, 0.02),
        (-5, 1, 1, 0.5),
        (0.5, 0.7, 0, 1),
        (-0.1, 0.2, 0.4, 2.0),
    ):
        pair.check(
            engine.trunc_normal(pair.ours, size, dtype, mean, std, low, high),
            torch.nn.init.trunc_normal_(pair.empty(size, dtype), mean, std, low, high, generator=pair.theirs),
        )


# ---- integers --------------------------------------------------------------------------------

RANGES = [
    (0, 1),
    (0, 2),
    (3, 100),
    (-5, 5),
    (0, 2**28 - 1),
    (0, 2**28),
    (0, 2**31 - 1),
    (-(2**31), 2**31 - 1),
    (0, 2**40 + 3),
    (-(2**62), 2**62 + 5),
    (-(2**63), 2**63 - 1),
    (0, 3000),
    (5000, 60001),
    (-60001, -2049),
    (16777217, 16777219),
    (300, 301),
    (0, None),
    (7, None),
    (-(2**63), None),
    (3, 3),
    (5, 2),
]


@pytest.mark.filterwarnings("ignore:.*out of bounds:UserWarning")
@pytest.mark.parametrize("low, high", RANGES)
@names(REALS + [np.dtype(f"u{size}") for size in (2, 4, 8)])
def test_randint(pair, dtype, low, high):
    for size in (1, 17, 1000):
        try:
            theirs = pair.empty(size, dtype).random_(low, high, generator=pair.theirs)
        except RuntimeError:  # NotImplementedError is one
            with pytest.raises(RuntimeError):
                engine.randint(pair.ours, size, low, high, dtype)
        else:
            pair.check(engine.randint(pair.ours, size, low, high, dtype), theirs)


@sizes
def test_randint_sizes(pair, size):
    pair.check(engine.randint(pair.ours, size, 0, 10), torch.randint(10, (size,), generator=pair.theirs))


@small_sizes
@names(REALS)
def test_random_full_range(pair, size, dtype):
    pair.check(engine.random_full_range(pair.ours, size, dtype), pair.empty(size, dtype).random_(generator=pair.theirs))


def test_base_seed_of_a_data_loader(pair):
    loader = torch.utils.data.DataLoader(range(4), generator=pair.theirs)
    base_seed = iter(loader)._base_seed
    assert int(engine.random_full_range(pair.ours, (), np.int64)) == base_seed
    pair.check_state()


# ---- permutations ----------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 2, 3, 5, 16, 100, 1000, 20_000, 100_000])
def test_randperm(pair, size):
    for _ in range(3):
        pair.check(engine.randperm(pair.ours, size), torch.randperm(size, generator=pair.theirs))


@pytest.mark.parametrize("size", [0, 5, 127, 128, 129, 256, 257, 258, 2049, 2050])
@names([dtype for dtype in REALS if dtype.kind != "b"])
def test_randperm_dtypes(pair, dtype, size):
    try:
        theirs = torch.randperm(size, dtype=TORCH_TYPES[dtype], generator=pair.theirs)
    except RuntimeError:
        with pytest.raises(RuntimeError, match="randperm"):
            engine.randperm(pair.ours, size, dtype)
    else:
        pair.check(engine.randperm(pair.ours, size, dtype), theirs)


def test_randperm_refuses(pair):
    with pytest.raises(RuntimeError, match="randperm"):
        engine.randperm(pair.ours, -1)
    with pytest.raises(NotImplementedError, match="randperm"):
        engine.randperm(pair.ours, 2**32 // 20)


# ---- functions of one uniform ----------------------------------------------------------------


@sizes
@names(FLOATS)
def test_exponential(pair, size, dtype):
    for rate in (1.0, 2.5, 1e-3, math.inf):
        pair.check(
            engine.exponential(pair.ours, size, dtype, rate),
            pair.empty(size, dtype).exponential_(rate, generator=pair.theirs),
        )


@sizes
@names(FLOATS)
def test_cauchy(pair, size, dtype):
    for median, sigma in ((0.0, 1.0), (0.3, 1.7)):
        pair.check(
            engine.cauchy(pair.ours, size, dtype, median, sigma),
            pair.empty(size, dtype).cauchy_(median, sigma, generator=pair.theirs),
        )


@small_sizes
@names([dtype for dtype in REALS if dtype.kind != "b"])
def test_geometric(pair, size, dtype):
    for p in (0.5, 0.3, 0.99):
        pair.check(
            engine.geometric(pair.ours, size, dtype, p), pair.empty(size, dtype).geometric_(p, generator=pair.theirs)
        )


@pytest.mark.parametrize(
    "draw, parameters",
    [
        (engine.exponential, (0.0,)),
        (engine.exponential, (math.nan,)),
        (engine.cauchy, (0.0, 0.0)),
        (engine.log_normal, (0.0, 0.0)),
        (engine.geometric, (0.0,)),
        (engine.geometric, (1.0,)),
        (engine.bernoulli, (1.5,)),
        (engine.bernoulli, (math.nan,)),
        (engine.bernoulli, (np.array([0.1, 0.2, -0.1]),)),
    ],
)
def test_parameters_out_of_range(pair, draw, parameters):
    with pytest.raises(RuntimeError, match="[Ee]xpect"):
        draw(pair.ours, 3, "f4", *parameters)
    pair.check_state()


# ---- Bernoulli and dropout -------------------------------------------------------------------


@sizes
@names(REALS)
def test_bernoulli_by_number(pair, size, dtype):
    for p in (0.3, 0, 1, 1 - 2**-30):
        pair.check(
            engine.bernoulli(pair.ours, size, dtype, p), pair.empty(size, dtype).bernoulli_(p, generator=pair.theirs)
        )


def test_bernoulli_in_pieces(pair):
    n = 3 * discrete.PIECE + 17
    pair.check(
        engine.bernoulli(pair.ours, (n,), np.float32, 0.3),
        pair.empty((n,), FLOATS[0]).bernoulli_(0.3, generator=pair.theirs),
    )


@small_sizes
@names(REALS)
def test_bernoulli_by_array(pair, size, dtype):
    for p_dtype in FLOATS:
        p = np.random.RandomState(0).rand(size).astype(p_dtype)
        pair.check(
            engine.bernoulli(pair.ours, size, dtype, p),
            pair.empty(size, dtype).bernoulli_(to_torch(p), generator=pair.theirs),
        )


def test_bernoulli_broadcasts(pair):
    p = np.array([[0.1], [0.9]], "f4")
    pair.check(
        engine.bernoulli(pair.ours, (2, 50), np.float32, p),
        pair.empty((2, 50), FLOATS[0]).bernoulli_(to_torch(p), generator=pair.theirs),
    )


def test_dropout_mask(pair):
    for p in (0.1, 0.5):
        torch.set_rng_state(torch.from_numpy(pair.ours.get_state()))
        kept = torch.nn.functional.dropout(torch.ones(5, 201), p) != 0
        pair.theirs.set_state(torch.get_rng_state())
        pair.check(engine.dropout_mask(pair.ours, (5, 201), p), kept)


# ---- multinomial -----------------------------------------------------------------------------


@pytest.mark.parametrize("categories", [1, 2, 10, 1000])
@names(FLOATS)
def test_multinomial(pair, categories, dtype):
    random = np.random.RandomState(categories)
    for shape in ((categories,), (3, categories)):
        weights = random.rand(*shape).astype(dtype)
        weights[..., 1::3] = 0
        for samples, replacement in ((1, False), (1, True), (50, True)):
            pair.check(
                engine.multinomial(pair.ours, weights, samples, replacement),
                torch.multinomial(to_torch(weights), samples, replacement, generator=pair.theirs),
            )


@pytest.mark.parametrize("samples", [2, 5, 100, 1000])
@names(FLOATS[:2])
def test_multinomial_without_replacement(pair, samples, dtype):
    weights = np.random.RandomState(0).rand(2, 1000).astype(dtype)
    pair.check(
        engine.multinomial(pair.ours, weights, samples),
        torch.multinomial(to_torch(weights), samples, generator=pair.theirs),
    )


@names(FLOATS[2:])
def test_multinomial_without_replacement_up_to_ties(pair, dtype):
    weights = np.random.RandomState(0).rand(100).astype(dtype)
    ours = engine.multinomial(pair.ours, weights, 100)
    torch.multinomial(to_torch(weights), 100, generator=pair.theirs)
    assert sorted(ours) == list(range(100))
    pair.check_state()


@pytest.mark.parametrize(
    "weights, samples, replacement",
    [
        ([1.0, 2.0], 3, False),
        ([1.0, 2.0], 0, True),
        ([1.0, -2.0], 1, False),
        ([1.0, -2.0], 5, True),
        ([0.0, 0.0], 1, False),
        ([0.0, 0.0], 5, True),
        ([[1.0, 1.0], [0.0, 0.0]], 1, True),
        ([1.0, math.nan], 1, False),
        ([1.0, math.inf], 2, True),
        ([[[1.0]]], 1, True),
        ([], 2, True),
        ([1, 2], 1, True),
        ([1.0] * 70 + [math.nan], 1, False),
        ([1.0] * 70 + [-1.0], 1, False),
        ([math.inf] + [1.0] * 70, 1, False),
        ([[1.0] * 70, [0.0] * 70], 1, True),
    ],
)
def test_multinomial_refuses(pair, weights, samples, replacement):
    with pytest.raises(RuntimeError):
        torch.multinomial(torch.tensor(weights), samples, replacement)
    with pytest.raises(RuntimeError):
        engine.multinomial(pair.ours, np.array(weights), samples, replacement)


# ---- rejection -------------------------------------------------------------------------------


@small_sizes
@names(FLOATS)
def test_poisson(pair, size, dtype):
    for low, high in ((0, 3), (0, 30), (9, 11), (100, 10_000)):
        rates = (low + (high - low) * np.random.RandomState(0).rand(size)).astype(dtype)
        rates[:1] = 0
        pair.check(engine.poisson(pair.ours, rates), torch.poisson(to_torch(rates), generator=pair.theirs))


@small_sizes
@names(FLOATS[:2])
def test_standard_gamma(pair, size, dtype):
    for scale in (0.01, 0.5, 3, 100):
        alpha = (scale * np.random.RandomState(0).rand(size)).astype(dtype)
        alpha[:1] = 0
        pair.check(
            engine.standard_gamma(pair.ours, alpha), torch._standard_gamma(to_torch(alpha), generator=pair.theirs)
        )


@pytest.mark.parametrize("categories", [1, 2, 3, 7, 33])
@names(FLOATS[:2])
def test_dirichlet(pair, categories, dtype):
    alpha = (3 * np.random.RandomState(0).rand(4, 5, categories)).astype(dtype)
    pair.check(
        engine.dirichlet(pair.ours, alpha),
        torch._sample_dirichlet(to_torch(alpha), generator=pair.theirs),
        ulps=2 if dtype == np.float64 else 0,
    )  # the sums' order of additions differs


@small_sizes
@names(FLOATS[:2])
def test_binomial(pair, size, dtype):
    random = np.random.RandomState(0)
    for largest in (5, 40, 1000, 1e7):
        count = np.floor(largest * random.rand(size)).astype(dtype)
        prob = (1.2 * random.rand(size) - 0.1).astype(dtype)
        prob[:1] = math.nan
        pair.check(
            engine.binomial(pair.ours, count, prob),
            torch.binomial(to_torch(count), to_torch(prob), generator=pair.theirs),
        )


@pytest.mark.parametrize(
    "draw, arguments, error",
    [
        (engine.poisson, [[-1.0]], RuntimeError),
        (engine.poisson, [[math.nan]], RuntimeError),
        (engine.poisson, [[math.inf]], ValueError),
        (engine.standard_gamma, [[-1.0]], ValueError),
        (engine.standard_gamma, [[math.nan]], ValueError),
        (engine.binomial, [[math.nan], [0.5]], ValueError),
    ],
)
def test_rejection_samplers_refuse_what_they_never_return_from(pair, draw, arguments, error):
    with pytest.raises(error):
        draw(pair.ours, *map(np.array, arguments))
    pair.check_state()


def test_binomial_wants_one_dtype(pair):
    with pytest.raises(RuntimeError, match="one dtype"):
        engine.binomial(pair.ours, np.ones(2, "f4"), np.ones(2))


# ---- sequences -------------------------------------------------------------------------------

STEPS = [
    lambda o, t: (engine.uniform(o, 5, "f4"), torch.rand(5, generator=t)),
    lambda o, t: (engine.uniform(o, 3, "f8"), torch.rand(3, dtype=torch.float64, generator=t)),
    lambda o, t: (engine.normal(o, 3, "f4"), torch.randn(3, generator=t)),
    lambda o, t: (engine.normal(o, 37, "f4"), torch.randn(37, generator=t)),
    lambda o, t: (engine.normal(o, 1, "f8"), torch.randn(1, dtype=torch.float64, generator=t)),
    lambda o, t: (engine.randint(o, 4, 0, 10), torch.randint(10, (4,), generator=t)),
    lambda o, t: (engine.randint(o, 4, 0, 2**40), torch.randint(2**40, (4,), generator=t)),
    lambda o, t: (engine.randperm(o, 11), torch.randperm(11, generator=t)),
    lambda o, t: (engine.log_normal(o, 5, "f4"), torch.empty(5).log_normal_(generator=t)),
    lambda o, t: (engine.bernoulli(o, 7, "f4", 0.5), torch.empty(7).bernoulli_(0.5, generator=t)),
    lambda o, t: (
        engine.standard_gamma(o, np.full(3, 0.7)),
        torch._standard_gamma(torch.full((3,), 0.7, dtype=torch.float64), generator=t),
    ),
    lambda o, t: (
        engine.poisson(o, np.full(3, 20.0)),
        torch.poisson(torch.full((3,), 20.0, dtype=torch.float64), generator=t),
    ),
]


@pytest.mark.parametrize("seed", range(8))
def test_mixed_sequences(seed):
    pair, choices = Pair(seed), np.random.RandomState(seed)
    for choice in choices.randint(len(STEPS), size=60):
        pair.check(*STEPS[choice](pair.ours, pair.theirs))
        if choices.rand() < 0.1:
            saved = pair.ours.get_state()
            pair.theirs.set_state(torch.from_numpy(saved))
            pair.ours = engine.Mt19937Generator(1)
            pair.ours.set_state(saved)


def test_a_poisson_draw_longer_than_a_block_of_the_reader(pair):
    rates = np.full(3, 700.0)
    rates_small = np.full(40, 9.9)  # about 11 uniforms each, blocks of 80
    for r in (rates, rates_small):
        pair.check(engine.poisson(pair.ours, r), torch.poisson(to_torch(r), generator=pair.theirs))


@pytest.mark.parametrize("size", [1, 2, 3, 10, 1000, 40_001])
def test_swaps_of_a_shuffle(size):
    """By LAPACK, by sorting, and one after the other."""
    steps = np.arange(size)
    targets = steps + (np.random.default_rng(size).random(size) * (size - steps)).astype(np.int64)
    expected = list(range(size))
    for i, target in enumerate(targets):
        expected[i], expected[target] = expected[target], expected[i]
    assert swaps.apply_swaps(targets).tolist() == expected == swaps.swaps_by_sorting(targets).tolist()


# ---- what is computed ahead ----------------------------------------------------------------------


def _many_draws(lib):
    """Draws of which the like was made before, between others, by two generators; also from an earlier state."""
    lib.manual_seed(3)
    made = [lib.randn(4, 4) for _ in range(60)]
    for i in range(20):
        made += [lib.randn(64), lib.rand(3), lib.randn(i % 14), lib.randn(16 + i % 7), lib.randint(0, 9, (2,))]
        made += [
            lib.randn(3, dtype=lib.float64),
            lib.randn(40, dtype=lib.float64),
            lib.rand((2, 3)),
            lib.randint(5, (3,)),
        ]
    state = lib.get_rng_state()
    made += [lib.randn(20) for _ in range(10)]
    lib.set_rng_state(state)
    other = lib.Generator().manual_seed(1)
    for _ in range(20):
        made += [lib.randn(20), lib.randn(2, 8, generator=other), lib.normal(2.0, 3.0, (20,)), lib.randn(32, 32)]
        made += [lib.zeros(4, 4).normal_(1, 2), lib.randn_like(lib.zeros(4, 8).t()), lib.rand_like(lib.zeros(5))]
    return [*made, lib.get_rng_state(), other.get_state()]


def test_draws_again_and_again():
    from functorch_core import torch as ours

    for i, (mine, theirs) in enumerate(zip(_many_draws(ours), _many_draws(torch), strict=True)):
        assert mine.stride() == theirs.stride(), i
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy(), err_msg=str(i))


@pytest.mark.parametrize("name", ["exponential_", "cauchy_"])
def test_continuous_draws_of_integers_are_refused_in_pytorchs_words(name):
    for lib in (ours, torch):
        with pytest.raises(RuntimeError, match="is a continuous probability distribution. dtype must be a floating"):
            getattr(lib.ones(2, dtype=lib.int64), name)()
