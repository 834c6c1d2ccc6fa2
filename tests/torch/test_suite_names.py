"""Names beside the documented ones that PyTorch's own test files use, against PyTorch."""

import importlib

from tests.nn.both import agree

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
