"""What PyTorch's chapter on benchmarks shows: timers, tables that compare, inputs drawn by a fuzzer."""

import pickle

import torch
import torch.utils.benchmark as benchmark


def by_sum(a, b):
    return a.mul(b).sum(-1)


def by_bmm(a, b):
    return torch.bmm(a.reshape(-1, 1, a.shape[-1]), b.reshape(-1, b.shape[-1], 1)).flatten(-3)


x = torch.randn(100, 64)
t = benchmark.Timer(
    stmt="by_sum(x, x)",
    globals={"by_sum": by_sum, "x": x},
    num_threads=1,
    label="Products",
    sub_label="sums",
    description="100 rows",
)
m = t.timeit(100)
print(str(m)[str(m).index("\n") :])
print(m.number_per_run, m.metadata, m.task_spec.title, m.as_row_name)
results = []
for b in (1, 64):
    for n in (8, 64):
        x = torch.ones(b, n)
        for threads in (1, 2):
            for f in (by_sum, by_bmm):
                results.append(
                    benchmark.Timer(
                        f"{f.__name__}(x, x)",
                        setup="pass",
                        globals={f.__name__: f, "x": x},
                        label="Batched product",
                        sub_label=f"[{b}, {n}]",
                        description=f.__name__,
                        num_threads=threads,
                    ).timeit(20)
                )
compare = benchmark.Compare(results)
compare.print()
compare.trim_significant_figures()
compare.colorize()
print(str(compare).count("\n"))
ab = pickle.loads(pickle.dumps(results))
print(len(benchmark.Measurement.merge(ab)), [r.title for r in benchmark.Measurement.merge(ab)][:2])
fuzzer = benchmark.Fuzzer(
    parameters=[
        benchmark.FuzzedParameter("k0", minval=1, maxval=2000, distribution="loguniform"),
        benchmark.FuzzedParameter("k1", minval=1, maxval=200, distribution="uniform"),
    ],
    tensors=[
        benchmark.FuzzedTensor(
            "x", size=("k0", "k1"), min_elements=16, max_elements=100000, probability_contiguous=0.6
        ),
        benchmark.FuzzedTensor(
            "y", size=("k0", "k1"), dim_parameter=None, cuda=False, max_elements=100000, dtype=torch.int32
        ),
    ],
    seed=0,
)
for tensors, params, properties in fuzzer.take(10):
    print(
        sorted(params.items()), {n: (tuple(v.shape), v.stride(), str(v.dtype)) for n, v in tensors.items()}, properties
    )
print(fuzzer.rejection_rate)
a = benchmark.Timer("x + y", "x = torch.ones(10)\ny = torch.zeros(10)", description="with a setup")
r = a.blocked_autorange(min_run_time=0.01)
print(r.task_spec.setup, r.median > 0)
