"""Samplers and datasets against PyTorch's: the same indices for the same seed."""

import pickle
import warnings

import pytest

from functorch_core import data as ours
from functorch_core import torch

reference = pytest.importorskip("torch")
theirs = reference.utils.data

PAIRS = pytest.mark.parametrize("n", [1, 2, 7, 33, 100])


def both(make, seed=3):
    """make(library, data module) in both libraries after the same seed."""
    found = []
    for lib, module in ((torch, ours), (reference, theirs)):
        lib.manual_seed(seed)
        found.append((make(lib, module), lib.rand(1).item()))  # the stream goes on equally
    assert found[0] == found[1]
    return found[0][0]


# ---- samplers ------------------------------------------------------------------------------------


@PAIRS
def test_sequential(n):
    assert both(lambda lib, m: list(m.SequentialSampler(range(n)))) == list(range(n))


@PAIRS
def test_random(n):
    assert sorted(both(lambda lib, m: list(m.RandomSampler(range(n))))) == list(range(n))


@PAIRS
@pytest.mark.parametrize("num_samples", [1, 32, 65])
@pytest.mark.parametrize("replacement", [False, True])
def test_random_with_number(n, num_samples, replacement):
    drawn = both(lambda lib, m: list(m.RandomSampler(range(n), replacement, num_samples)))
    assert len(drawn) == num_samples


def test_random_with_generator():
    def make(lib, m):
        generator = lib.Generator().manual_seed(11)
        sampler = m.RandomSampler(range(20), generator=generator)
        return list(sampler), list(sampler), len(sampler)

    both(make)


def test_subset_random():
    both(lambda lib, m: list(m.SubsetRandomSampler([5, 8, 13, 21])))


@pytest.mark.parametrize("replacement", [False, True])
def test_weighted(replacement):
    both(lambda lib, m: list(m.WeightedRandomSampler([0.1, 0.9, 0.4, 0.7, 3.0], 4, replacement)))


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("n, size", [(0, 3), (1, 3), (6, 3), (7, 3)])
def test_batches(n, size, drop_last):
    def make(lib, m):
        sampler = m.BatchSampler(m.SequentialSampler(range(n)), size, drop_last)
        return list(sampler), len(sampler)

    both(make)


@pytest.mark.parametrize("n, replicas", [(10, 3), (2, 5), (9, 3)])
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("shuffle", [False, True])
def test_distributed(n, replicas, drop_last, shuffle):
    if drop_last and n < replicas:
        pytest.skip("PyTorch fails here")

    def make(lib, m):
        out = []
        for rank in range(replicas):
            sampler = m.DistributedSampler(range(n), replicas, rank, shuffle, 5, drop_last)
            sampler.set_epoch(2)
            out.append((list(sampler), len(sampler)))
        return out

    both(make)


ERRORS = [
    lambda m: m.RandomSampler([1], replacement=1),
    lambda m: m.RandomSampler([1], num_samples=0),
    lambda m: m.RandomSampler([]),
    lambda m: m.WeightedRandomSampler([1.0], 0),
    lambda m: m.WeightedRandomSampler([1.0], 1, replacement=2),
    lambda m: m.WeightedRandomSampler([[1.0]], 1),
    lambda m: m.BatchSampler([1], 0, False),
    lambda m: m.BatchSampler([1], True, False),
    lambda m: m.BatchSampler([1], 1, 0),
    lambda m: m.DistributedSampler([1], 2, 2),
    lambda m: list(m.Sampler()),
    lambda m: m.Dataset()[0],
    lambda m: m.ConcatDataset([]),
    lambda m: m.StackDataset(),
    lambda m: m.StackDataset([1], [1, 2]),
    lambda m: m.random_split([1, 2], [5]),
    lambda m: m.random_split([1, 2], [1.2, -0.2]),
    lambda m: m.DataLoader([1], num_workers=-1),
    lambda m: m.DataLoader([1], timeout=-1),
    lambda m: m.DataLoader([1], prefetch_factor=2),
    lambda m: m.DataLoader([1], persistent_workers=True),
    lambda m: m.DataLoader([1], shuffle=True, sampler=[0]),
    lambda m: m.DataLoader([1], batch_size=2, batch_sampler=[[0]]),
    lambda m: m.DataLoader([1], batch_size=None, drop_last=True),
    lambda m: m.DataLoader([1], multiprocessing_context="fork"),
    lambda m: m.DataLoader([1], num_workers=1, multiprocessing_context="no"),
    lambda m: m.DataLoader(m.ChainDataset([]), shuffle=True),
    lambda m: m.DataLoader(m.ChainDataset([]), sampler=[1]),
    lambda m: m.default_collate([object()]),
    lambda m: m.default_collate([[1], [1, 2]]),
]


@pytest.mark.parametrize("i", range(len(ERRORS)))
def test_errors(i):
    with pytest.raises(Exception) as expected:
        ERRORS[i](theirs)
    with pytest.raises(expected.type) as found:
        ERRORS[i](ours)
    message = str(found.value).replace("functorch_core.data", "torch.utils.data")
    assert message == str(expected.value)


# ---- datasets ------------------------------------------------------------------------------------


def test_tensor_dataset():
    def make(lib, m):
        dataset = m.TensorDataset(lib.arange(6).reshape(3, 2), lib.arange(3.0))
        a, b = dataset[-1]
        return a.tolist(), b.item(), len(dataset), [x.tolist() for x in dataset[0:2]]

    both(make)
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        ours.TensorDataset(torch.ones(2), torch.ones(3))


def test_tensor_dataset_that_overrides_getitem_is_read_by_it():
    class Doubled(ours.TensorDataset):
        def __getitem__(self, index):
            return self.tensors[0][index] * 2

    assert [x.tolist() for x in ours.DataLoader(Doubled(torch.arange(3)), 2)] == [[0, 2], [4]]


def test_datasets_of_datasets():
    def make(lib, m):
        concat = m.ConcatDataset([range(3), range(10, 12)])
        stack, named = m.StackDataset(range(3), "abc"), m.StackDataset(x=range(3), y="abc")
        subset = m.Subset(m.Subset(range(10), [9, 8, 7]), [2, 0])
        return (
            list(concat),
            concat[-1],
            len(concat),
            concat.cumulative_sizes,
            stack[1],
            named[2],
            len(stack),
            stack.__getitems__([0, 2]),
            named.__getitems__([1]),
            subset[0],
            subset.__getitems__([0, 1]),
            len(subset),
        )

    both(make)


def test_chain():
    def make(lib, m):
        class Count(m.IterableDataset):
            def __iter__(self):
                return iter(range(3))

            def __len__(self):
                return 3

        chain = Count() + Count()
        return list(chain), len(chain)

    both(make)


@pytest.mark.parametrize("lengths", [[3, 7], [0.3, 0.7], [0.33, 0.33, 0.34], [1.0, 0.0]])
def test_random_split(lengths):
    def make(lib, m):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            parts = m.random_split(range(10), lengths)
        return [list(p.indices) for p in parts], [str(w.message) for w in caught]

    both(make)


def test_subset_must_override_both():
    class Wrong(ours.Subset):
        def __getitem__(self, i):
            return i

    with pytest.raises(NotImplementedError, match="overrides __getitem__ but not __getitems__"):
        Wrong(range(3), [0])


def test_pickling():
    dataset = ours.Subset(range(4), [1, 2])
    assert list(pickle.loads(pickle.dumps(dataset))) == [1, 2]
    sampler = ours.RandomSampler(range(9), generator=torch.Generator().manual_seed(1))
    assert list(pickle.loads(pickle.dumps(sampler))) == list(sampler)


def test_more_samples_than_a_list_could_hold():
    def first(lib, module):
        generator = lib.Generator().manual_seed(0)
        sampler = module.RandomSampler(range(50), replacement=True, num_samples=10**12, generator=generator)
        loader = module.DataLoader(range(50), batch_sampler=module.BatchSampler(sampler, 40, False))
        return len(sampler), len(loader), next(iter(loader)).tolist(), next(iter(sampler))

    both(first)
