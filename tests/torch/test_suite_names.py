"""Names beside the documented ones that PyTorch's own test files use, against PyTorch."""

import importlib

from tests.nn.both import agree, failing

OUTS = {
    "max": (1, "values indices", "float32 int64"),
    "sort": (1, "values indices", "float32 int64"),
    "linalg.qr": (None, "Q R", "float32 float32"),
    "frexp": (None, "mantissa exponent", "float32 int32"),
}


def test_results_of_out_are_of_classes_of_their_own():
    def program(t):
        results = []
        for name, (dim, _, dtypes) in OUTS.items():
            function = t.linalg.qr if "." in name else getattr(t, name)
            out = tuple(t.empty(0, dtype=getattr(t, dtype)) for dtype in dtypes.split())
            made = function(t.eye(3), *([] if dim is None else [dim]), out=out)
            results.append((str(type(made)), made._fields if t.__name__ != "torch" else OUTS[name][1].split()))
            results.append([x is y for x, y in zip(made, out, strict=True)])
        return [x for x, _ in results[::2]], results[1::2]

    agree(program)


def test_classes_of_results_are_listed():
    def program(t):
        classes = [c for c in t.return_types.all_return_types if not c.__name__.startswith("_")]
        return sorted((c.__name__, c.n_fields, c.n_sequence_fields) for c in classes)

    agree(program)


def test_aliases():
    def program(t):
        x, y = t.ones(3, 3), t.ones(3)
        pairs = [(x, x[0]), (x, y), (x.t(), x.detach()), ([y, x], x), ([], x), ({"a": y}, (x, [y])), (1, y)]
        return [(t._C._is_alias_of(a, b), t._C._overlaps(a, b)) for a, b in pairs]

    agree(program)


def test_a_tracker_of_modules_knows_when_a_backward_pass_runs():
    def program(t):
        seen = []
        name = "torch.utils.module_tracker" if t.__name__ == "torch" else f"{t.__name__}.utils.module_tracker"
        tracker = importlib.import_module(name).ModuleTracker()

        class Net(t.nn.Module):
            def __init__(self):
                super().__init__()
                self.a = t.nn.Linear(2, 2)

            def forward(self, x):
                x = self.a(x).relu()
                seen.append((sorted(tracker.parents), tracker.is_bw))
                x.register_hook(lambda grad: seen.append((sorted(tracker.parents), tracker.is_bw)))
                return x * 2

        net = Net()
        with tracker:
            for _ in range(2):
                net(t.ones(1, 2, requires_grad=True)).sum().backward()
                seen.append(tracker.is_bw)
        return seen, tracker.is_bw

    agree(program)


def test_metadata_of_tensors():
    def program(t):
        x = t.tensor([0.5])
        expected = [
            ([1], [1], t.float),
            (None, None, None),
            (None, None, t.int32),
            (None, [3], t.float),
            ([3], [1], None),
        ]
        return [failing(t._assert_tensor_metadata, x, *args) for args in expected]

    agree(program)


def test_devices_by_names_that_are_none():
    def program(t):
        names = ["cpu1", "", "not a", "cpu:a", "foo", "c_d", "cpu:-1", "cuda:01", ":1", "cuda:", "cpu:0", "cuda:12"]
        autocasts = [failing(t.autocast, name) for name in ("not a real device", "foo")]
        return [failing(lambda name=name: str(t.device(name))) for name in names], autocasts

    agree(program)


def test_padding_by_the_names_of_kernels():
    def program(t):
        x, nn, out = t.arange(24.0).reshape(1, 2, 3, 4), t._C._nn, t.empty(0)
        nn.reflection_pad1d(x[0], (1, 2), out=out)
        made = [
            nn.reflection_pad1d(x[0], (1, 2)),
            nn.replication_pad1d(x[0], [1, 0]),
            nn.replication_pad2d(x, (1, 1, 0, 2)),
        ]
        made += [
            nn.reflection_pad2d(x, [1, 1, 2, 0]),
            nn.reflection_pad3d(x, (1,) * 6),
            nn.replication_pad3d(x, (1,) * 6),
        ]
        return made, out, failing(nn.reflection_pad2d, x, (1, 1))[0]

    agree(program)


def test_margin_ranking_loss_broadcasts_below_nn_functional():
    def program(t):
        a, b, y = t.arange(6.0).reshape(2, 3), t.tensor([1.0, 2.0, 5.0]), t.tensor([1.0, -1.0, 1.0])
        losses = t.margin_ranking_loss(a, b, y), t.margin_ranking_loss(a, b, y, 1.0, 1)
        return losses, failing(t.nn.functional.margin_ranking_loss, a, b, y)

    agree(program)


def test_references_by_hash():
    class Named:
        def __init__(self, name):
            self.name = name

        def __eq__(self, other):
            return self.name == other.name

        def __hash__(self):
            return hash(self.name)

    def program(t):
        ref = importlib.import_module(f"{t.__name__}.utils.weak")._WeakHashRef
        a, b, c = (Named(name) for name in ("a", "a", "c"))
        kept = ref(a)
        before = ref(a) == ref(b), ref(a) == ref(c), hash(ref(a)) == hash(ref(b)), ref(a)() is a
        number = hash(kept)
        del a
        return before, hash(kept) == number, kept == ref(b), kept() is None

    agree(program)


def test_waiting_and_exporting():
    def program(t):
        monitor, onnx = (importlib.import_module(f"{t.__name__}.{name}") for name in ("monitor", "onnx"))
        with monitor._WaitCounter("a").guard():
            pass
        return onnx.producer_name, isinstance(onnx.producer_version, str)

    agree(program)
