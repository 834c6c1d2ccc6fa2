"""DataPipes against PyTorch's."""

import copy
import importlib
import pickle

import pytest

from functorch_core import data as ours
from functorch_core import torch
from tests.nn.both import agree, failing, warned

reference = pytest.importorskip("torch")


def data(t, name=""):
    """A module of torch.utils.data."""
    return importlib.import_module((ours if t is torch else t.utils.data).__name__ + name)


def pipes(t, n=10):
    """IterableWrapper of a range."""
    return data(t, ".datapipes.iter").IterableWrapper(range(n))


def square(x):
    return x * x


def odd(x):
    return x % 2 == 1


def rest(x):
    return x % 3


def half(x):
    return x % 2


def add(a, b):
    return a + b


def length(pipe):
    try:
        return len(pipe)
    except TypeError as error:
        return type(pipe).__name__ in str(error)


def no(x):
    raise KeyError(f"no {x}")


# ---- steps ---------------------------------------------------------------------------------------

STEPS = {
    "map": lambda p: p().map(square),
    "filter": lambda p: p().filter(odd),
    "batch": lambda p: p().batch(3),
    "drop": lambda p: p().batch(3, drop_last=True),
    "class": lambda p: p().batch(4, wrapper_class=tuple),
    "unbatch": lambda p: p().batch(2).batch(2).unbatch(),
    "unbatch all": lambda p: p().batch(2).batch(2).unbatch(-1),
    "zip": lambda p: p(3).zip(p(4)),
    "concat": lambda p: p(2).concat(p(3)),
    "mux": lambda p: p(3).mux(p(2), p(5)),
    "collate": lambda p: p().batch(4).collate(),
    "own collate": lambda p: p().batch(4).collate(collate_fn=sum),
    "groups": lambda p: p().groupby(rest),
    "groups of two": lambda p: p().groupby(rest, keep_key=True, group_size=2),
    "largest group": lambda p: p().groupby(rest, buffer_size=3, keep_key=True),
    "dropped groups": lambda p: p().groupby(rest, buffer_size=4, group_size=3, drop_remaining=True),
    "column": lambda p: p(3).zip(p(4)).map(square, input_col=1),
    "new column": lambda p: p(3).zip(p(4)).map(add, input_col=[0, 1], output_col=-1),
    "joined columns": lambda p: p(3).zip(p(4)).map(add, input_col=[1, 0]),
    "by column": lambda p: p(9).zip(p(9)).filter(odd, input_col=0),
    "shuffle": lambda p: p().shuffle(),
    "buffer": lambda p: p().shuffle(buffer_size=3).set_seed(4),
    "shuffled batches": lambda p: p().batch(2).shuffle(unbatch_level=1).set_seed(3),
    "no shuffle": lambda p: p().shuffle().set_shuffle(False),
    "shard": lambda p: p().sharding_filter(),
}


@pytest.mark.parametrize("make", STEPS.values(), ids=STEPS)
def test_a_step(make):
    def program(t):
        pipe = make(lambda n=10: pipes(t, n))
        return [list(map(str, pipe)), list(map(str, pipe)), repr(pipe), t.rand(1), length(pipe)]

    agree(program)


def test_several_of_one():
    def program(t):
        def all_of(children):
            return [list(child) for child in children]

        return [
            all_of(pipes(t, 5).fork(2)),
            all_of(pipes(t, 6).demux(3, rest)),
            all_of(pipes(t).demux(2, lambda x: None if x > 7 else x % 2, drop_none=True)),
            len(pipes(t, 5).fork(2)[0]),
            type(pipes(t).fork(1)).__name__,
            *(
                failing(lambda: all_of(make()))
                for make in (
                    lambda: pipes(t).fork(0),
                    lambda: pipes(t).fork(2, buffer_size=4),
                    lambda: pipes(t).fork(2, copy="x"),
                    lambda: pipes(t).demux(2, rest),
                    lambda: pipes(t).demux(2, half, buffer_size=2),
                    lambda: pipes(t).demux(0, half),
                    lambda: pipes(t).demux(2, 3),
                )
            ),
        ]

    agree(program)


def test_errors():
    def program(t):
        p = pipes(t)
        return [
            failing(lambda: list(make()))
            for make in (
                lambda: p.batch(0),
                lambda: p.unbatch(1),
                lambda: p.unbatch(-2),
                lambda: p.map(3),
                lambda: p.map(square, output_col=1),
                lambda: p.map(add, input_col=0),
                lambda: p.map(square, input_col=[0, 1]),
                lambda: p.map(square, 0, [1, 2]),
                lambda: p.filter(square),
                lambda: p.shuffle(buffer_size=0),
                lambda: p.concat(3),
                lambda: p.zip(3),
                lambda: p.groupby(rest, group_size=0),
                lambda: p.nothing,
                lambda: p.groupby(rest, buffer_size=4, group_size=3),
                lambda: p.map(no).batch(2),
                lambda: p.groupby(rest, guaranteed_group_size=2),
            )
        ]

    agree(program)


# ---- iterators -----------------------------------------------------------------------------------


def test_a_new_iterator_ends_the_one_before():
    def program(t):
        p = pipes(t).map(square)
        old = iter(p)
        out = [next(old), list(p), failing(next, old)]
        a, b = pipes(t, 5).fork(2)
        i, j = iter(a), iter(b)
        out += [next(i), next(j), next(i), warned(lambda: out.append(next(iter(a)))), failing(next, j)[0], list(b)]
        a, b = pipes(t, 6).demux(2, half)
        i = iter(a)
        return out + [next(i), list(b), list(i), list(a), list(b)]

    agree(program)


def test_pipes_of_users():
    def program(t):
        class Count(data(t).IterDataPipe):
            def __init__(self, n):
                self.n = n

            def __iter__(self):
                self.i = 0
                return self

            def __next__(self):
                self.i += 1
                if self.i > self.n:
                    raise StopIteration
                return self.i

        class Divide(data(t).IterDataPipe[float]):
            """Its words."""

            def __init__(self, source, by=2):
                self.source, self.by = source, by

            def __iter__(self):
                for x in self.source:
                    yield 1 / (self.by - x)

        name = f"divide_{t.__name__.replace('.', '_')}"
        data(t).functional_datapipe(name)(Divide)
        p = Count(3)
        first = iter(p)
        out = [
            next(first),
            list(p),
            list(p),
            failing(next, first)[0],
            failing(list, Divide(p)),
            list(getattr(p, name)(by=9)),
            getattr(p, name).__doc__,
        ]
        return out + [failing(data(t).functional_datapipe(name), Divide)[0]]

    agree(program)


def test_determinism():
    def program(t):
        d = data(t)

        class Some(d.IterDataPipe):
            def __init__(self, x=0):
                pass

            def __iter__(self):
                yield 1

        always = d.non_deterministic(Some)
        sometimes = d.non_deterministic(lambda *args: bool(args))(Some)
        out = [list(always()), list(sometimes(1))]
        with d.guaranteed_datapipes_determinism():
            out += [failing(always), failing(sometimes, 1), list(sometimes())]
        return out + [
            list(always()),
            failing(d.non_deterministic, 3),
            failing(d.non_deterministic, int),
            failing(d.runtime_validation, square),
        ]

    agree(program)


def test_copies():
    def program(t):
        pipe = pipes(t, 6).map(square).filter(odd).batch(2)
        return [
            list(pickle.loads(pickle.dumps(pipe))),
            list(copy.deepcopy(pipe)),
            [list(x) for x in copy.deepcopy(pipes(t, 4).fork(2))],
            [list(x) for x in copy.deepcopy(pipes(t, 4).demux(2, half))],
            list(copy.deepcopy(pipes(t).groupby(rest))),
            list(copy.deepcopy(pipes(t).shuffle().set_seed(3))),
        ]

    agree(program)


# ---- indexed pipes -------------------------------------------------------------------------------


def test_indexed():
    def program(t):
        wrap = data(t, ".datapipes.map").SequenceWrapper
        p, short = wrap(range(7)), wrap([9, 8])
        made = [p.map(square), p.batch(3), p.batch(3, drop_last=True), p.concat(short)]
        return [
            [list(x) for x in made],
            [len(x) for x in made],
            wrap({"a": 3})["a"],
            [p.zip(short)[1], len(p.zip(short))],
            list(p.shuffle().set_seed(2)),
            *(
                failing(call)
                for call in (
                    lambda: p.zip(short)[3],
                    lambda: p.concat(short)[99],
                    lambda: p.batch(3)[5],
                    lambda: p[99],
                    lambda: p.concat(3),
                    lambda: p.batch(0),
                    lambda: p.nothing,
                )
            ),
        ]

    agree(program)


# ---- files ---------------------------------------------------------------------------------------


def test_files(tmp_path):
    (tmp_path / "sub").mkdir()
    for name in ("b.txt", "a.txt", "c.py", "sub/d.txt"):
        (tmp_path / name).write_text(name * 2)

    def program(t):
        it = data(t, ".datapipes.iter")
        folder = str(tmp_path)
        return [
            list(it.FileLister(folder)),
            list(it.FileLister(folder, ["*.py", "b*"])),
            list(it.FileLister(folder, "*.txt", recursive=True)),
            list(it.FileLister(folder, "*.txt").open_files("rb").read_from_stream(4)),
            [stream.read() for _, stream in it.FileLister(folder).open_files()],
            len(it.FileLister(folder, length=3)),
            failing(len, it.FileLister(folder)),
            failing(it.FileOpener, folder, "x"),
            failing(it.FileOpener, folder, "rb", "utf8"),
        ]

    agree(program)


# ---- with a DataLoader ---------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(
    "kwargs", [{}, {"shuffle": True}, {"shuffle": False}, {"batch_size": 3}, {"batch_size": None}], ids=str
)
def test_loaded(workers, kwargs):
    def program(t):
        pipe = pipes(t, 8).shuffle().sharding_filter().map(square)
        loader = data(t).DataLoader(pipe, num_workers=workers, **kwargs, persistent_workers=workers > 0)
        return [list(loader), list(loader), t.rand(1)]

    agree(program)


def test_indexed_pipes_are_loaded():
    def program(t):
        pipe = data(t, ".datapipes.map").SequenceWrapper(range(5)).map(square)
        return list(data(t).DataLoader(pipe, 2, shuffle=True, num_workers=1))

    agree(program)


def test_graph():
    def program(t):
        settings, graph = data(t, ".graph_settings"), data(t, ".graph")

        def shown(g):
            return [[repr(pipe), shown(sources)] for pipe, sources in g.values()]

        pipe = pipes(t).map(square).batch(2).zip(pipes(t).shuffle())
        shard = settings.apply_sharding(pipes(t).sharding_filter(), 3, 1)
        twice = pipes(t).sharding_filter().map(square).sharding_filter()
        seed = t.Generator().manual_seed(3)
        return [
            shown(graph.traverse_dps(pipe)),
            shown(graph.traverse_dps(pipes(t).fork(2)[0])),
            list(shard),
            len(shard),
            failing(settings.apply_sharding, twice, 2, 0),
            failing(shard.apply_sharding, 2, 2),
            failing(graph.traverse_dps, 3)[0],
            list(settings.apply_random_seed(pipes(t).shuffle(), seed)),
            repr(settings.apply_shuffle_settings(pipes(t), shuffle=True)),
        ]

    agree(program)


def _doubled(x):
    return 2 * x


@pytest.mark.parametrize("shuffled", [False, True])
def test_an_iteration_goes_on_from_a_pickled_pipeline(shuffled):
    def program(t):
        restore = data(t, ".datapipes.utils.snapshot")._simple_graph_snapshot_restoration
        pipe = pipes(t).map(_doubled)
        first, second = (pipe.shuffle() if shuffled else pipe).map(_doubled).fork(2)
        pipe = first.zip(second).batch(2)
        data(t, ".graph_settings").apply_random_seed(pipe, t.Generator().manual_seed(3))
        iterator = iter(pipe)
        begun = [next(iterator), next(iterator)]
        again = pickle.loads(pickle.dumps(pipe))
        restore(again, 2, t.Generator().manual_seed(3))
        errors = [failing(restore, again, 1)]
        after = list(again)
        errors.append(failing(restore, again, 9, t.Generator().manual_seed(3))[0])
        return begun, after, list(iterator), errors

    agree(program)


@pytest.mark.parametrize("kind, make", [("Iter", "iter.IterableWrapper"), ("Map", "map.SequenceWrapper")])
def test_wrappers_are_pickled_with_their_pipes(kind, make):
    def program(t):
        module, _, name = make.partition(".")
        wrapper = getattr(data(t, ".datapipes.datapipe"), f"_{kind}DataPipeSerializationWrapper")
        wrapped = wrapper(getattr(data(t, f".datapipes.{module}"), name)([1, 2, 3]).map(_doubled))
        again = pickle.loads(pickle.dumps(wrapped))
        read = list if kind == "Iter" else lambda pipe: [pipe[0], pipe[2]]
        return read(wrapped), read(again), read(again), len(again), failing(len, wrapper(_doubled))

    agree(program)
