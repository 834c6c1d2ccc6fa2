"""Which of two ways is quicker, as the benchmark chapters of PyTorch's documentation ask it.

    python examples/recipes/time_statements.py                       with PyTorch
    python -m functorch_core examples/recipes/time_statements.py     with functorch-core

The tables are the same up to the times. With valgrind installed, `--instructions` counts instructions, too.
"""

import itertools
import sys
import timeit

import torch
from torch.utils import benchmark


def by_sum(a, b):
    """A batched dot product, by multiplying and summing."""
    return a.mul(b).sum(-1)


def by_bmm(a, b):
    """The same as a product of matrices."""
    return torch.bmm(a.reshape(-1, 1, a.shape[-1]), b.reshape(-1, b.shape[-1], 1)).flatten(-3)


torch.manual_seed(0)
x = torch.randn(100, 64)
print("equal:", by_sum(x, x).allclose(by_bmm(x, x), atol=1e-4))

# ---- Python's timeit, and Timer ------------------------------------------------------------------

plain = timeit.Timer("by_sum(x, x)", globals={"x": x, "by_sum": by_sum})
print("timeit takes time:", plain.timeit(20) > 0)
timer = benchmark.Timer("by_sum(x, x)", setup="y = x", globals={"x": x, "by_sum": by_sum}, label="dot")
measured = timer.timeit(20)
print(measured)
print(measured.number_per_run, len(measured.times), measured.task_spec.title)
blocked = timer.blocked_autorange(min_run_time=0.01)
print("blocks:", blocked.median > 0, blocked.iqr >= 0, len(blocked.times) >= 1)

# ---- tables --------------------------------------------------------------------------------------

results = []
for b, n in itertools.product([1, 64], [1, 64]):
    x = torch.ones((b, n))
    for threads in (1, 2):
        for name, function in (("mul/sum", by_sum), ("bmm", by_bmm)):
            timer = benchmark.Timer(
                "function(x, x)",
                globals={"x": x, "function": function},
                num_threads=threads,
                label="Batched dot",
                sub_label=f"[{b}, {n}]",
                description=name,
            )
            results.append(timer.timeit(5))
compare = benchmark.Compare(results)
compare.print()
print(len(benchmark.Measurement.merge(results + results)))

# ---- random shapes -------------------------------------------------------------------------------

fuzzer = benchmark.Fuzzer(
    parameters=[
        benchmark.FuzzedParameter("k0", minval=1, maxval=10000, distribution="loguniform"),
        benchmark.FuzzedParameter("k1", minval=1, maxval=10000, distribution="loguniform"),
    ],
    tensors=[
        benchmark.FuzzedTensor(
            "x", size=("k0", "k1"), min_elements=128, max_elements=100000, probability_contiguous=0.6
        )
    ],
    seed=0,
)
for tensors, tensor_params, params in fuzzer.take(6):
    contiguous = "contiguous" if tensor_params["x"]["is_contiguous"] else "discontiguous"
    print(f"{params['k0']:>5} x {params['k1']:<5} {contiguous:<13} {tuple(tensors['x'].shape)}")

# ---- instructions --------------------------------------------------------------------------------

if "--instructions" in sys.argv:
    counted = benchmark.Timer("x + 1", setup="x = torch.ones(100)").collect_callgrind(number=100)
    print(counted)
    print(counted.as_standardized().stats(inclusive=False))
