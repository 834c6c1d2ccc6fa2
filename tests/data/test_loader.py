"""DataLoader against PyTorch's: batches, shuffles, collating."""

import collections
import warnings

import numpy as np
import pytest

from functorch_core import data as ours
from functorch_core import torch

pytestmark = pytest.mark.usefixtures("forked")
reference = pytest.importorskip("torch")
theirs = reference.utils.data
LIBRARIES = (torch, ours), (reference, theirs)
Point = collections.namedtuple("Point", "x y")


def plain(x):
    """A batch as nested Python data, tensors with their dtype."""
    if isinstance(x, (torch.Tensor, reference.Tensor)):
        return str(x.dtype), tuple(x.shape), x.tolist()
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x), [plain(y) for y in x]
    if isinstance(x, (list, tuple)):
        return [plain(y) for y in x]
    return {k: plain(v) for k, v in x.items()} if isinstance(x, dict) else x


class Squares:
    """A dataset of either library."""

    def __init__(self, lib, n=23):
        self.lib, self.n = lib, n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return {"i": i, "x": self.lib.ones(2, 3) * i, "name": str(i), "f": i / 2}


def epochs(loader, n=2):
    """The batches of some epochs."""
    return [[plain(b) for b in loader] for _ in range(n)]


def compare(**kwargs):
    """The same loader in both libraries gives the same, and leaves the generator the same."""
    found = []
    for lib, module in LIBRARIES:
        lib.manual_seed(5)
        options = {k: v(lib) if k in ("generator", "sampler") else v for k, v in kwargs.items()}
        loader = module.DataLoader(Squares(lib), **options)
        found.append((epochs(loader), len(loader), lib.rand(2).tolist()))
    assert found[0] == found[1]


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"batch_size": 4},
        {"batch_size": 4, "drop_last": True},
        {"batch_size": 4, "shuffle": True},
        {"batch_size": None},
        {"batch_sampler": [[1, 2], [0], [5, 6, 7]]},
        {"batch_size": 3, "sampler": lambda lib: [5, 3, 1]},
        {"batch_size": 4, "shuffle": True, "generator": lambda lib: lib.Generator().manual_seed(8)},
    ],
    ids=lambda kwargs: "-".join(kwargs) or "plain",
)
def test_batches(kwargs, num_workers):
    compare(num_workers=num_workers, **kwargs)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"persistent_workers": True},
        {"prefetch_factor": 1},
        {"prefetch_factor": 9},
        {"multiprocessing_context": "fork"},
        {"timeout": 60},
        {"in_order": True},
    ],
    ids=str,
)
def test_options_of_workers(kwargs):
    compare(num_workers=2, batch_size=3, shuffle=True, **kwargs)


def test_out_of_order_gives_the_same_batches():
    loader = ours.DataLoader(Squares(torch), 3, num_workers=2, in_order=False)
    assert sorted(b["i"].tolist() for b in loader) == [list(range(i, min(i + 3, 23))) for i in range(0, 23, 3)]


def test_changing_a_loader():
    loader = ours.DataLoader([1, 2])
    for name in ("batch_size", "sampler", "dataset", "drop_last"):
        with pytest.raises(ValueError, match="attribute should not be set"):
            setattr(loader, name, None)
    loader.collate_fn = sum
    assert list(loader) == [1, 2]


def test_warning_for_too_many_workers():
    with pytest.warns(UserWarning, match="will create 999 worker processes"):
        ours.DataLoader([1], num_workers=999)


def test_pin_memory_is_accepted():
    with pytest.warns(UserWarning, match="no accelerator is found"):
        assert [b.tolist() for b in ours.DataLoader([1, 2], pin_memory=True)] == [[1], [2]]


# ---- iterable datasets ---------------------------------------------------------------------------


def counting(module, n, promised=None):
    """An iterable dataset, whose workers share the work."""

    class Counting(module.IterableDataset):
        def __iter__(self):
            info = module.get_worker_info()
            start, step = (0, 1) if info is None else (info.id, info.num_workers)
            return iter(range(start, n, step))

        def __len__(self):
            return n if promised is None else promised

    return Counting()


@pytest.mark.parametrize("num_workers", [0, 1, 2])
@pytest.mark.parametrize("n", [0, 1, 5, 10])
@pytest.mark.parametrize("kwargs", [{}, {"drop_last": True}, {"persistent_workers": True}], ids=str)
def test_iterable(n, num_workers, kwargs):
    if not num_workers and "persistent_workers" in kwargs:
        pytest.skip("needs workers")
    found = []
    for _, module in LIBRARIES:
        loader = module.DataLoader(counting(module, n), 2, num_workers=num_workers, **kwargs)
        found.append((epochs(loader), len(loader)))
    assert found[0] == found[1]


def test_iterable_without_batches():
    assert [plain(x) for x in ours.DataLoader(counting(ours, 3), None)] == [0, 1, 2]


def test_iterable_that_is_longer_than_promised():
    loader = ours.DataLoader(counting(ours, 3, promised=1), 1)
    assert len(loader) == 1
    with pytest.warns(UserWarning, match="was reported to be 1"):
        assert len(list(loader)) == 3


# ---- collating -----------------------------------------------------------------------------------

SAMPLES = {
    "ints": lambda lib: [1, 2],
    "floats": lambda lib: [1.0, 2.0],
    "bools": lambda lib: [True, False],
    "strings": lambda lib: ["a", "b"],
    "bytes": lambda lib: [b"a", b"b"],
    "arrays": lambda lib: [np.ones(2, np.float32), np.zeros(2, np.float32)],
    "scalars": lambda lib: [np.float32(1), np.float32(2)],
    "numpy bools": lambda lib: [np.bool_(True), np.bool_(False)],
    "tensors": lambda lib: [lib.ones(2, 3), lib.zeros(2, 3)],
    "0-d tensors": lambda lib: [lib.tensor(1), lib.tensor(2)],
    "empty tensors": lambda lib: [lib.ones(0, 3), lib.zeros(0, 3)],
    "bfloat16": lambda lib: [lib.ones(2, dtype=lib.bfloat16)] * 2,
    "not contiguous": lambda lib: [lib.arange(6).reshape(2, 3).T, lib.arange(6).reshape(3, 2)],
    "tuples": lambda lib: [(1, "a"), (2, "b")],
    "lists": lambda lib: [[1, [2.0, 3.0]], [4, [5.0, 6.0]]],
    "named tuples": lambda lib: [Point(1, lib.ones(1)), Point(2, lib.ones(1))],
    "dicts": lambda lib: [{"a": 1, "b": [2]}, {"a": 3, "b": [4]}],
    "ordered dicts": lambda lib: [collections.OrderedDict(b=1, a=2)] * 2,
    "counters": lambda lib: [collections.Counter("aab")] * 2,
    "nested": lambda lib: [{"x": (lib.ones(2), [{"y": 1.5}])}] * 3,
    "ranges": lambda lib: [range(2), range(2)],
    "views of arrays": lambda lib: [np.arange(6).reshape(2, 3).T, np.arange(6).reshape(3, 2)],
    "unsigned arrays": lambda lib: [np.ones((2, 1), np.uint8)] * 2,
    "arrays of two dtypes": lambda lib: [np.ones(2, np.float32), np.ones(2)][::-1],
    "scalars of two dtypes": lambda lib: [np.int64(1), np.int32(2)],
    "0-d arrays": lambda lib: [np.array(1.5), np.array(2.5)],
    "views of tensors": lambda lib: list(lib.arange(12.0).reshape(2, 2, 3)),
    "computed": lambda lib: [x.flip(0) * 2 for x in lib.arange(6).reshape(2, 3)],
}


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("function", ["default_collate", "default_convert"])
def test_collate(name, function):
    found = []
    for lib, module in LIBRARIES:
        out = getattr(module, function)(SAMPLES[name](lib))
        found.append((type(out) if not hasattr(out, "shape") else "tensor", plain(out)))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "batch, error",
    [
        ([np.ones(3)[::-1]] * 2, ValueError),
        ([np.array(["a"])] * 2, TypeError),
        ([np.ones(2, np.float128)] * 2, TypeError),
        ([np.ones(2), np.ones(3)], RuntimeError),
        ([np.ones(2, ">f4")] * 2, ValueError),
    ],
    ids=range(5),
)
def test_arrays_that_are_no_batch(batch, error):
    for module in (ours, theirs):
        with pytest.raises(error):
            module.default_collate(batch)


def tensor_dataset(lib, module):
    """A dataset of tensors and a part of it, which is again split."""
    whole = module.TensorDataset(lib.arange(40.0).reshape(20, 2), lib.arange(20))
    generator = lib.Generator().manual_seed(1)
    return [
        whole,
        module.Subset(whole, [3, 1, 19, 3]),
        *module.random_split(module.Subset(whole, range(5, 20)), [10, 5], generator),
    ]


@pytest.mark.parametrize("num_workers", [0, 1])
@pytest.mark.parametrize("options", [{}, {"shuffle": True}, {"collate_fn": list}], ids=str)
def test_datasets_of_tensors(options, num_workers):
    found = []
    for lib, module in LIBRARIES:
        lib.manual_seed(0)
        found.append(
            [
                epochs(module.DataLoader(d, 4, num_workers=num_workers, **options), 1)
                for d in tensor_dataset(lib, module)
            ]
        )
    assert found[0] == found[1]


def test_a_dataset_of_tensors_that_overrides_its_samples():
    class Negated(ours.TensorDataset):
        def __getitem__(self, i):
            return -super().__getitem__(i)[0]

    for dataset in (Negated(torch.ones(3)), ours.Subset(Negated(torch.ones(3)), [0, 1, 2])):
        assert next(iter(ours.DataLoader(dataset, 3))).tolist() == [-1.0, -1.0, -1.0]


def test_collate_with_gradients():
    x = torch.ones(2, requires_grad=True)
    batch = ours.default_collate([x * 2, x * 3])
    batch.sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]


def test_collate_of_different_shapes():
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
        ours.default_collate([torch.ones(2), torch.ones(3)])


def test_own_collate_for_types():
    from functorch_core.data._utils.collate import collate, default_collate_fn_map

    def joined(batch, *, collate_fn_map=None):
        return "".join(batch)

    functions = {**default_collate_fn_map, str: joined}
    batch = collate([("a", 1), ("b", 2)], collate_fn_map=functions)
    assert batch[0] == "ab" and batch[1].tolist() == [1, 2]


def test_no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(ours.DataLoader(Squares(torch), 5, num_workers=2))) == 5
