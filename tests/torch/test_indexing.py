"""x[...], x[...] = y and the functions of index tensors, against PyTorch."""

import itertools
import os
import pathlib
import random
import re
import warnings

import numpy as np
import pytest

from functorch_core import engine, torch

from .test_views import cube, outcome

reference = pytest.importorskip("torch")

# Random indices that are read and assigned; FUNCTORCH_INDEX_CASES=20000 for a long run.
CASES = int(os.environ.get("FUNCTORCH_INDEX_CASES", "3000"))
CHUNK = 500

# ---- random indices ------------------------------------------------------------------------------


class Array:
    """An index array, to be made a tensor, a NumPy array or a list."""

    def __init__(self, kind: str, array):
        self.kind, self.array = kind, np.asarray(array)

    def __repr__(self):
        return f"{self.kind}({self.array.tolist()})"

    def of(self, library):
        """The index for a library."""
        if self.kind == "list":
            return self.array.tolist()
        return (
            self.array
            if self.kind == "numpy"
            else library.tensor(self.array.tolist()).to(getattr(library, self.array.dtype.name))
        )


def random_item(rng: random.Random, sizes):
    """(an index for the first of the sizes, how many of them it uses); now and then a wrong one."""
    n = sizes[0]
    kind = rng.choice(
        ("int", "slice", "slice", "all", "ints", "ints", "mask", "mask2", "none", "ellipsis", "bool", "zero_d", "wrong")
    )
    if kind == "int":
        return rng.randrange(-n, n), 1
    if kind == "slice":
        ends = [None, *range(-n - 1, n + 2)]
        return slice(rng.choice(ends), rng.choice(ends), rng.choice((None, 1, 2, 3))), 1
    if kind == "all":
        return slice(None), 1
    if kind == "ints":
        shape = rng.choice(((2,), (1,), (2, 1), (0,), (2, 2)))
        count = int(np.prod(shape))
        values = np.array([rng.randrange(-n, n) for _ in range(count)], np.int64).reshape(shape)
        how = rng.choice(("tensor", "tensor", "numpy", "list")) if count else "tensor"
        return Array(how, values.astype(rng.choice((np.int64, np.int32)) if how == "tensor" else np.int64)), 1
    if kind == "mask" or (kind == "mask2" and len(sizes) < 2):
        return Array(rng.choice(("tensor", "numpy", "list")), [rng.random() < 0.5 for _ in range(n)]), 1
    if kind == "mask2":
        return Array("tensor", [[rng.random() < 0.5 for _ in range(sizes[1])] for _ in range(n)]), 2
    if kind == "zero_d":
        return Array("tensor", rng.randrange(-n, n)), 1
    if kind == "bool":
        return rng.random() < 0.7, 0
    if kind == "wrong" and rng.random() < 0.3:
        return rng.choice(
            (n, -n - 1, 1.5, Array("tensor", [n]), slice(None, None, -1), Array("tensor", [True] * (n + 1)))
        ), 1
    return (None if kind == "none" else Ellipsis), 0


def random_expression(rng: random.Random, shape) -> tuple:
    """The parts of an index into an array of a shape."""
    items, dim = [], 0
    for _ in range(rng.randint(1, len(shape) + 1)):
        if dim >= len(shape):
            break
        item, used = random_item(rng, shape[dim:])
        if item is Ellipsis and Ellipsis in [i for i in items if not isinstance(i, Array)]:
            continue
        items.append(item)
        dim += used
    if rng.random() < 0.03:
        items += [0] * 4
    return tuple(items)


def materialised(items: tuple, library):
    """The index for a library."""
    made = tuple(i.of(library) if isinstance(i, Array) else i for i in items)
    return made[0] if len(made) == 1 else made


def attempt(action):
    """What an action returns, or its exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return action()
        except Exception as error:  # compared
            return error


def assert_alike(mine, theirs, what):
    """Two outcomes: arrays, or exceptions of the same type."""
    if isinstance(theirs, Exception) or isinstance(mine, Exception):
        assert type(mine) is type(theirs), (what, mine, theirs)
    else:
        np.testing.assert_array_equal(mine, theirs, err_msg=str(what))


@pytest.mark.parametrize("start", range(0, CASES, CHUNK))
def test_random_indices_are_read(start):
    for seed in range(start, min(start + CHUNK, CASES)):
        rng = random.Random(seed)
        shape = tuple(rng.randint(1, 4) for _ in range(rng.randint(1, 3)))
        items = random_expression(rng, shape)
        data = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        found = []
        for library in (torch, reference):
            x = library.tensor(data.tolist())
            found.append(attempt(lambda x=x, lib=library: x[materialised(items, lib)].numpy()))
        assert_alike(*found, (shape, items))


@pytest.mark.parametrize("start", range(0, CASES, CHUNK))
def test_random_indices_are_assigned(start):
    for seed in range(start, min(start + CHUNK, CASES)):
        rng = random.Random(seed)
        shape = tuple(rng.randint(1, 4) for _ in range(rng.randint(1, 3)))
        items = random_expression(rng, shape)
        data = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        part = attempt(lambda: tuple(reference.tensor(data)[materialised(items, reference)].shape))
        kind = rng.choice(("number", "full", "row", "wrong"))
        if isinstance(part, Exception) or kind == "number":
            value = 7.5
        else:
            wanted = part if kind == "full" else part[1:] if kind == "row" else (5, *part)
            value = np.full(wanted, -1.0, np.float32)  # one number: duplicates must not matter
        found = []
        for library in (torch, reference):
            x = library.tensor(data.tolist())
            v = value if isinstance(value, float) else library.from_numpy(value)

            def assign(x=x, v=v, lib=library):
                x[materialised(items, lib)] = v
                return x.numpy()

            found.append(attempt(assign))
        assert_alike(*found, (shape, items, np.shape(value)))


# ---- errors and gradients ------------------------------------------------------------------------


ERRORS = """
x[5]
x[-3]
x[0, 0, 0, 0]
x[::-1]
x[::0]
x[1.0]
x['a']
x[{}]
x[torch.tensor([0.5])]
x[torch.tensor([5])]
x[torch.tensor([0, 1]), torch.tensor([0, 1, 2])]
x[torch.zeros(2, 2, dtype=torch.bool)]
x[torch.zeros(2, 3, 4, 1, dtype=torch.bool)]
x[torch.tensor([0], dtype=torch.int16)]
torch.tensor(1.)[0]
torch.tensor(1.)[:]
torch.zeros(0, 3)[torch.tensor([0])]
torch.zeros(0, 3)[0]
x.__setitem__(0, [1, 2])
x.__setitem__(0, torch.ones(5))
x.__setitem__(0, torch.ones(2, 3, 4))
x.__setitem__([0, 1], torch.ones(5))
x.__setitem__(x > 3, torch.ones(3))
x.__setitem__([0], torch.ones(1, dtype=torch.float64))
x.__setitem__(0, 1j)
x.byte().__setitem__(0, 300)
torch.gather(x, 0, torch.tensor([[[5]]]))
torch.gather(x, 0, torch.tensor([[[-1]]]))
torch.gather(x, 0, torch.tensor([[[0.]]]))
torch.scatter(x, 0, torch.tensor([[[5]]]), 1.)
torch.index_select(x, 0, torch.tensor([5]))
torch.index_select(x, 0, torch.tensor([[0]]))
torch.index_add(x, 0, torch.tensor([5]), torch.ones(1, 3, 4))
torch.index_copy(x, 0, torch.tensor([0, 5]), torch.ones(2, 3, 4))
torch.index_fill(x, 0, torch.tensor([5]), 1)
torch.take(x, torch.tensor([50]))
torch.take(x, torch.tensor([1.]))
x.put_(torch.tensor([50]), torch.ones(1))
torch.masked_fill(x, x.long(), 1)
torch.masked_fill(x, x > 3, torch.ones(2))
torch.masked_select(x, x.long())
torch.masked_scatter(x, x > 3, torch.ones(2))
torch.scatter_reduce(x, 0, torch.tensor([[[0]]]), torch.ones(1, 1, 1), 'foo')
torch.select_scatter(x, torch.ones(3), 0, 0)
x.index_put_(torch.tensor([0]), torch.tensor(1.))
""".split("\n")[1:-1]


@pytest.mark.parametrize("expression", ERRORS)
def test_errors(expression):
    found, expected = (outcome(expression, lib, x=cube(lib)) for lib in (torch, reference))
    assert isinstance(expected[0], str), expected
    assert found[0] == expected[0]
    assert found[1][:50].lower() == expected[1][:50].lower()


WRITES_OF_ITS_OWN = """
y[y > 2] = y[:1]
y[y > 2] = y[2]
y[y > 2] = y[:2]
y[y > 9] = y[:1]
y[[0, 1]] = y[2]
y[[0, 1]] = y[:1]
y[[]] = y[0]
y[[]] = y[:0]
y[torch.tensor(0)] = y[2]
y[True] = y[2:3]
y[True] = y[2]
y[torch.tensor(True)] = y[2]
y[torch.tensor([1, 0, 0, 1], dtype=torch.uint8)] = y[2]
y.index_put_((y > 2,), y[:1])
y.index_put_((y > 2,), y[2].double())
y.index_put_((y > 2,), y[:1], accumulate=True)
y.index_put_((torch.tensor([0, 1]),), y[2])
y.index_fill_(0, torch.tensor([1]), y[2])
y.index_copy_(0, torch.tensor([1]), y[2])
y.scatter_(0, torch.tensor(1), y[2])
y.scatter_add_(0, torch.tensor(1), y[2])
y.put_(torch.tensor(1), y[2])
y.masked_fill_(y > 2, y[2])
x[x > 13] = x.diagonal()[:1]
x[x > 13] = x[0, 0]
x[:2, y > 2] = x[0, :1]
x[y > 2, :2] = x[0, :1]
x[y > 2] = x[0]
x[1, y > 2] = x[1, :1]
x[1, [1, 2]] = x[1, 0]
x[1, [1, 2]] = x[0, 0]
x[y > 2, [0, 1]] = x[0, 0]
m[m] = False
m[m] = m[0, :1]
m[m] = torch.tensor([False, False])
m[m[0]] = True
m[m[:, 0]] = True
m[0, m[0]] = m[0, 0]
m.masked_fill_(m, m[0, 0])
m.masked_fill_(m[0], True)
m.masked_fill_(m.t(), True)
i[i] = 7
i[i[:1]] = 7
i.index_fill_(0, i[:1], 7)
""".strip().splitlines()


@pytest.mark.parametrize("statement", WRITES_OF_ITS_OWN)
@pytest.mark.filterwarnings("ignore")
def test_what_lies_in_the_memory_that_is_written_to(statement):
    """A number at a mask is read before the write, as masked_fill_ does; other operands are refused."""

    def run(m):
        names = {"torch": m, "y": m.arange(1.0, 5.0), "x": m.arange(1.0, 17.0).view(4, 4), "i": m.tensor([1, 0, 2])}
        names["m"] = m.tensor([[True, False], [False, True]])
        try:
            exec(statement, names)
        except RuntimeError as error:
            return str(error)
        return [names[name].tolist() for name in "yxmi"]

    assert run(torch) == run(reference)


def test_a_recorded_index_out_of_bounds_is_noticed_when_something_is_read():
    x = torch.arange(4.0)
    index = torch.tensor([1, 3]) + torch.tensor([0, 1])
    picked = x[index]
    with pytest.raises(IndexError, match="out of bounds for dimension 0 with size 4"):
        picked.numpy()
    assert x[torch.tensor([1, 3]) + torch.tensor([0, -1])].tolist() == [1.0, 2.0]


GRADIENTS = """
x[1:, ::2].sum()
(x[[0, 1, 1], :, 2] * x[0, 0, 0]).sum()
(x[x > 3] ** 2).sum()
(x.gather(1, torch.tensor([[[0, 1, 2, 0]], [[2, 2, 1, 0]]])) * 3).sum()
x.index_select(2, torch.tensor([1, 1])).prod()
x.take(torch.tensor([0, 5, 5])).sum()
x.masked_fill(x > 5, 0.).sum()
x.masked_select(x > 5).sum()
x.index_add(0, torch.tensor([1, 1]), x * 2).sum()
x.scatter_add(1, torch.zeros(2, 3, 4, dtype=torch.int64), x * x).sum()
x.scatter_reduce(1, torch.zeros(2, 3, 4, dtype=torch.int64), x + 1, 'prod').sum()
x.scatter_reduce(1, torch.zeros(2, 3, 4, dtype=torch.int64), x * 2, 'amax').sum()
x.scatter_reduce(1, torch.zeros(2, 3, 4, dtype=torch.int64), x * 2, 'mean').sum()
x.masked_scatter(x > 5, x * 2).sum()
x.index_put((torch.tensor([0, 1]), torch.tensor([1, 1])), x[0, 0] * 2, True).sum()
x.diagonal_scatter(x[0, :2].T).sum()
x.unfold(2, 2, 1).sum()
""".split("\n")[1:-1]


@pytest.mark.parametrize("expression", GRADIENTS)
def test_gradients(expression):
    found = []
    for library in (torch, reference):
        x = (cube(library) / 4).requires_grad_()
        eval(expression, {"torch": library, "x": x}).backward()
        found.append(x.grad.numpy())
    np.testing.assert_allclose(*found, rtol=1e-4)


def test_assignment_is_differentiable():
    for library in (torch, reference):
        w, v = (library.ones(n, requires_grad=True) for n in (6, 2))
        y = (w * 2).view(2, 3)
        y[:, 1] = v * 5
        y[y > 4] *= 2
        y.sum().backward()
        assert w.grad.tolist() == [2.0, 0.0, 2.0] * 2 and v.grad.tolist() == [10.0, 10.0]


WRITES_TO_ONE_PLACE = {
    "tensor": lambda x, i, y: x.__setitem__(i, y),
    "list": lambda x, i, y: x.__setitem__(i.tolist(), y),
    "columns": lambda x, i, y: x.__setitem__((slice(None), i), y),
    "both": lambda x, i, y: x.__setitem__((i, i), y[0]),
    "number": lambda x, i, y: x.__setitem__(i, y[0, 0]),
    "index_put_": lambda x, i, y: x.index_put_((i,), y),
    "added": lambda x, i, y: x.index_put_((i,), y, accumulate=True),
}


@pytest.mark.parametrize("write", WRITES_TO_ONE_PLACE.values(), ids=WRITES_TO_ONE_PLACE)
@pytest.mark.parametrize("tier", ["reference", "fused"])
def test_of_values_written_to_one_place_each_has_its_gradient(write, tier):
    def gradients(torch):
        x, y = (torch.tensor([[1.0, 2.0], [3.0, 5.0]]).mul(k).requires_grad_() for k in (1, 3))
        written = x * 1
        write(written, torch.tensor([1, 1]), y)
        (written * torch.tensor([[1.0, 10.0], [100.0, 1000.0]])).sum().backward()
        return [written.tolist(), x.grad.tolist(), y.grad.tolist()]

    with engine.forced_tier(tier):
        assert gradients(torch) == gradients(reference)


def test_a_changing_index_compiles_nothing():
    x = torch.arange(64.0).reshape(8, 8)

    def row_sum(i):
        y = x * 1
        y[i] = y[i] + y[:, i : i + 2].sum()
        return y.sum().item()

    for i in 4 * [1, 2, 3]:
        row_sum(i)
    with engine.fail_on_recompile():
        assert [row_sum(i) for i in range(1, 6)] == [
            2016.0 + 8 * sum(8 * r + c for r in range(8) for c in (i, i + 1)) for i in range(1, 6)
        ]


PARTS = {
    "batches": lambda x: (x[i : i + 2] for i in range(0, 10, 2)),
    "rows": lambda x: (x[i] for i in range(10)),
    "rows from the end": lambda x: (x[-i] for i in range(2, 11)),
    "rows of a pair": lambda x: (x[i, 1:] for i in range(10)),
    "rows, selected": lambda x: (x.select(0, i) for i in range(10)),
    "rows of one": lambda x: (x[i : i + 1] for i in range(10)),
}


@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS)
def test_what_a_loop_goes_over_is_one_program(parts):
    """At its beginning and at its end that of its middle."""
    x = torch.arange(60.0).reshape(10, 6)
    expected = [(2 * part.numpy() + 1).tolist() for part in parts(x)]
    before = engine.get_tier()
    engine.set_tier("fused")
    try:
        for part in itertools.islice(parts(x), 2, 4):
            (part * 2 + 1).tolist()
        programs = engine.stats()["compiles"] + engine.stats()["disk_hits"]
        assert [(part * 2 + 1).tolist() for part in parts(x)] == expected
        assert engine.stats()["compiles"] + engine.stats()["disk_hits"] == programs
    finally:
        engine.set_tier(before)


def test_index_functions_against_reference():
    cases = """
x.nonzero()
x.nonzero(as_tuple=True)
torch.argwhere(x > 20)
torch.tensor(3).nonzero()
torch.take_along_dim(x, torch.tensor([[[1], [0], [-1]]]), 2)
torch.scatter(x, 1, torch.tensor([[[0, 1, 2, 0]]]), 9.)
torch.scatter(x, 1, torch.tensor([[[0, 1, 2, 0]]]), x, reduce='add')
torch.scatter(x, 1, torch.tensor([[[0, 1, 2, 0]]]), 2., reduce='multiply')
torch.index_reduce(x, 1, torch.tensor([0, 0, 2]), x + 1, 'prod', include_self=False)
torch.index_reduce(x.long(), 1, torch.tensor([0, 0, 2]), x.long() * 3, 'mean')
torch.index_fill(x, 2, torch.tensor([-1]), 5)
torch.index_copy(x, 2, torch.tensor([3, 0]), x[..., :2])
x.put_(torch.tensor([0, -1]), torch.tensor([7., 8.]), accumulate=True)
torch.slice_scatter(x, torch.zeros(2, 2, 4), 1, 0, 2)
torch.select_scatter(x, torch.zeros(2, 4), 1, 1)
torch.gather(x, 0, torch.zeros(0, dtype=torch.int64)).shape
x.index_put_((x > 4,), torch.tensor(1.))
torch.masked_scatter(x, x > 20, torch.arange(10.))
""".split("\n")[1:-1]
    for expression in cases:
        found, expected = (outcome(expression, lib, x=cube(lib)) for lib in (torch, reference))
        assert found == expected, expression


# ---- errors --------------------------------------------------------------------------------------

# Expressions of x (4 x 3), s (no dimensions) and e (0 x 3): wrong ones, and those beside them.
ERRORS = (pathlib.Path(__file__).parent / "index_errors.txt").read_text().splitlines()


class Index:
    def __index__(self):
        return 4


class BadIndex:
    def __index__(self):
        raise ValueError("bad index")


class Floaty:
    def __float__(self):
        return 1.0


def index_result(library, program: str):
    """What a program gives: values, or an error and the first line of its message."""
    space = {
        "torch": library,
        "t": library.tensor,
        "x": library.arange(12.0).reshape(4, 3),
        "s": library.tensor(5.0),
        "e": library.zeros(0, 3),
        "np": np,
        "Index": Index,
        "BadIndex": BadIndex,
        "Floaty": Floaty,
    }
    try:
        if " = " in program:
            exec(program, space)
            return [space[name].tolist() for name in "xse"]
        found = eval(program, space)
        return list(found.shape), found.tolist()
    except Exception as error:  # noqa: BLE001 (it is compared)
        return type(error).__name__, re.sub("0x[0-9a-f]+", "", str(error)).split("\n")[0]


@pytest.mark.parametrize("assigned", ["", " = 1.5", " = t([7., 8.])"])
@pytest.mark.filterwarnings("ignore")
def test_wrong_indices(assigned):
    for expression in ERRORS:
        program = expression + assigned
        assert repr(index_result(torch, program)) == repr(index_result(reference, program)), program


@pytest.mark.parametrize("exponent", [True, False, 2, 0])
def test_power_of_bools_in_place(exponent):
    def program(library):
        return library.tensor([True, False]).pow_(exponent).tolist()

    assert outcome_of(program, torch) == outcome_of(program, reference)


def outcome_of(program, library):
    try:
        return program(library)
    except Exception as error:  # noqa: BLE001 (it is compared)
        return type(error).__name__, str(error)


def read_again(lib):
    """Reads by tensors, of which the first call looks at its arguments and further ones look up."""
    x, found = lib.arange(24.0).reshape(4, 6), []
    w = lib.ones(4, 6, requires_grad=True)
    for i in range(4):
        rows, columns, mask = lib.tensor([0, 3, i]), lib.tensor([[i], [5]]), x > 4 * i
        found += [x[rows], x[rows, rows], x[rows, columns], x.t()[rows], x[rows.int()], x[:, rows], x[rows[None]]]
        found += [x[mask], x[mask[:, 0]], x.t()[mask.t()], x[x > 100], x.t()[rows > 0] if i > 3 else x[-rows]]
        found += [
            x.gather(1, columns),
            x.gather(0, lib.zeros(1, 6, dtype=lib.int64)),
            w[mask].detach(),
            w[rows].detach(),
        ]
        (w[mask] * x[mask]).sum().backward()
        found += [w.grad.clone()]
        for call in (
            lambda: x[lib.tensor([7, 0])],
            lambda: x.gather(1, lib.tensor([[6], [0]])),
            lambda: x.gather(0, lib.zeros(1, 7, dtype=lib.int64)),
            lambda: x[mask[:3]],
            lambda: x[rows, rows, rows],
            lambda: x[rows[:2], rows],
        ):
            with pytest.raises((IndexError, RuntimeError)) as error:
                call()
            found.append(f"{type(error.value).__name__}: {str(error.value)[:60]}")
    return found


def test_read_again():
    for mine, other in zip(read_again(torch), read_again(reference), strict=True):
        if isinstance(other, str):
            assert mine == other
        else:
            assert mine.stride() == other.stride()
            np.testing.assert_array_equal(mine.numpy(), other.numpy())
