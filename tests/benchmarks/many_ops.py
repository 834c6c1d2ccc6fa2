"""Some 380 ops of PyTorch's namespace at sizes of everyday use against PyTorch: the worst first.

    python -m tests.benchmarks.many_ops                     all (needs the `conformance` extra)
    python -m tests.benchmarks.many_ops softmax linalg.     those with `softmax` or `linalg.` in their names
    python -m tests.benchmarks.many_ops --rounds 3          more rounds: steadier minima

A call's result is read. Each library in a process of its own, in turns, after some 40 calls of each; times are first
quartiles of a round, of which the least counts. What is not differentiable has no second column.
"""

from __future__ import annotations

import argparse
import functools
import math
import sys
from collections.abc import Callable
from typing import Any

from .by_name import compare, library_of, quartile, serve

WARM_UP, SECONDS, MOST = 40, 0.25, 60

ELEMENTWISE = (
    "abs acos asin asinh atan atanh ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 floor frac lgamma log"
    " log10 log1p log2 logit neg reciprocal round rsqrt sigmoid sign sin sinc sinh sqrt square tan tanh trunc"
    " nan_to_num i0 isnan isfinite signbit logical_not"
).split()
SPECIAL = "entr erfcx i0e i1 i1e log_ndtr ndtr ndtri bessel_j0 bessel_j1 bessel_y0 modified_bessel_i0".split()
BINARY = (
    "add sub mul div atan2 fmod remainder maximum minimum fmax hypot pow copysign floor_divide logaddexp logaddexp2 eq"
    " lt xlogy nextafter float_power"
).split()
ALONG_ROWS = (
    "sum mean std var amax amin prod median mode nansum logsumexp argmax argmin cumsum cumprod logcumsumexp cummax sort"
    " argsort diff"
).split()
ACTIVATIONS = (
    "relu gelu silu elu selu celu mish softplus softsign hardtanh relu6 logsigmoid tanhshrink softshrink hardshrink glu"
    " leaky_relu hardsigmoid hardswish"
).split()
FOURIER = "fft rfft ifft fft2 rfft2 hfft".split()
DTYPES = "float16 bfloat16 float64".split()

Case = tuple[Callable, tuple]


def cases(t: Any) -> dict[str, Case]:
    """Names, with a function and its tensors each."""
    F, rand, randn = t.nn.functional, t.rand, t.randn
    m, u, vector, image, rows = (
        randn(512, 512),
        rand(512, 512) * 0.9 + 0.05,
        randn(100_000),
        randn(8, 32, 64, 64),
        randn(16, 128, 64),
    )
    found: dict[str, Case] = {}

    def ints(below: int, *shape: int) -> Any:
        return t.randint(0, below, shape)

    def each(names: list[str], of: Any, *inputs: Any, prefix: str = "", **params: Any) -> None:
        for name in names:
            found[prefix + name] = functools.partial(_first, getattr(of, name), **params), inputs

    each(ELEMENTWISE, t, u)
    each(SPECIAL, t.special, u, prefix="special.")
    each(BINARY, t, u, rand(512, 512) + 0.1)
    each(ALONG_ROWS, t, u, dim=1)
    each("sum mean var amax argmax cumsum sort median".split(), t, u, prefix="columns: ", dim=0)
    each(ACTIVATIONS, F, m, prefix="F.")
    each(FOURIER, t.fft, randn(64, 512), prefix="fft.")
    found |= (
        _places(t, m, u, ints)
        | _shapes(t, F, m, image)
        | _layers(t, F, m, image, rows)
        | _losses(t, F, m, u, vector, ints)
    )
    return found | _matrices(t, m, vector) | _drawn(t, m, u, image) | _dtypes(t, F, m, ints)


def _first(function: Callable, *inputs: Any, **params: Any) -> Any:
    """The result, or the first of several."""
    out = function(*inputs, **params)
    return out[0] if isinstance(out, tuple) else out


def _places(t: Any, m: Any, u: Any, ints: Callable) -> dict[str, Case]:
    source, at = t.randn(512, 512), ints(512, 512, 512)
    return {
        "quantile": (lambda x: t.quantile(x, 0.3, dim=1), (m,)),
        "topk": (lambda x: x.topk(10)[0], (m,)),
        "kthvalue": (lambda x: x.kthvalue(5)[0], (m,)),
        "unique": (t.unique, (ints(1000, 50_000),)),
        "bincount": (lambda x: t.bincount(x, minlength=100), (ints(100, 100_000),)),
        "histc": (lambda x: t.histc(x, 100, 0, 1), (u,)),
        "searchsorted": (t.searchsorted, (t.sort(t.randn(1000))[0], t.randn(10_000))),
        "isin": (t.isin, (ints(10_000, 20_000), ints(10_000, 100))),
        "nonzero": (lambda x: (x > 0.5).nonzero(), (u,)),
        "where(mask)": (lambda x: t.where(x > 0)[0], (m,)),
        "where": (lambda x, y: t.where(x > 0, x, y), (m, source)),
        "masked_select": (lambda x: x.masked_select(x > 0.5), (u,)),
        "x[x > 0]": (lambda x: x[x > 0], (m,)),
        "x[i]": (lambda x, i: x[i], (m, ints(512, 1000))),
        "x[i, j]": (lambda x, i, j: x[i, j], (m, ints(512, 20_000), ints(512, 20_000))),
        "index_select": (lambda x, i: x.index_select(0, i), (m, ints(512, 2000))),
        "index_select of columns": (lambda x, i: x.index_select(1, i), (m, ints(512, 300))),
        "take": (lambda x, i: x.take(i), (m, ints(100_000, 20_000))),
        "gather": (lambda x, i: x.gather(1, i), (m, ints(512, 512, 100))),
        "scatter": (lambda x, i, y: x.scatter(1, i, y), (m, ints(512, 512, 100), t.randn(512, 100))),
        "scatter_add": (lambda x, i, y: x.scatter_add(0, i, y), (m, at, source)),
        "scatter_reduce": (lambda x, i, y: x.scatter_reduce(0, i, y, "amax"), (m, at, source)),
        "index_add": (lambda x, i, y: x.index_add(0, i, y), (m, ints(512, 2000), t.randn(2000, 512))),
        "index_copy": (lambda x, i, y: x.index_copy(0, i, y), (m, t.randperm(512)[:200], t.randn(200, 512))),
        "index_put": (
            lambda x, i, y: x.index_put((i,), y, accumulate=True), (m, ints(512, 1000), t.randn(1000, 512)),
        ),
        "masked_scatter": (lambda x, y: x.masked_scatter(x > 0, y), (m, source)),
        "one_hot": (lambda i: t.nn.functional.one_hot(i, 100).float(), (ints(100, 2000),)),
        "embedding": (lambda w, i: t.nn.functional.embedding(i, w), (t.randn(5000, 64), ints(5000, 2000))),
    }  # fmt: skip


def _shapes(t: Any, F: Any, m: Any, image: Any) -> dict[str, Case]:
    found: dict[str, Case] = {
        "roll": (lambda x: x.roll(3, 1), (m,)),
        "flip": (lambda x: x.flip(1), (m,)),
        "rot90": (lambda x: t.rot90(x).contiguous(), (m,)),
        "tril": (lambda x: x.tril(), (m,)),
        "tile": (lambda x: x.tile(2, 2), (m,)),
        "repeat_interleave": (lambda x: x.repeat_interleave(2, 1), (m,)),
        "cat": (lambda x, y: t.cat([x, y]), (m, m + 1)),
        "stack": (lambda x, y: t.stack([x, y], -1), (m, m + 1)),
        "transposed copy": (lambda x: x.mT.contiguous(), (m,)),
        "permuted copy": (lambda x: x.permute(0, 2, 3, 1).contiguous(), (image,)),
        "outer": (t.outer, (t.randn(500), t.randn(500))),
        "kron": (t.kron, (t.randn(20, 20), t.randn(20, 20))),
        "cdist": (t.cdist, (t.randn(300, 64), t.randn(300, 64))),
        "pdist": (F.pdist, (t.randn(200, 64),)),
        "cosine_similarity": (F.cosine_similarity, (m, m + 1)),
        "cov": (t.cov, (t.randn(100, 1000),)),
        "clamp": (lambda x: x.clamp(-1, 1), (m,)),
        "lerp": (lambda x, y: t.lerp(x, y, 0.3), (m, m + 1)),
        "addcmul": (t.addcmul, (m, m + 1, m - 1)),
        "unfold": (lambda x: F.unfold(x, 3), (image,)),
        "fold": (lambda x: F.fold(x, (32, 32), 3), (t.randn(8, 72, 900),)),
        "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), (image,)),
        "pixel_unshuffle": (lambda x: F.pixel_unshuffle(x, 2), (image,)),
        "channel_shuffle": (lambda x: F.channel_shuffle(x, 4), (image,)),
        "norm of rows": (lambda x: x.norm(dim=1), (m,)),
    }
    for mode in ("constant", "reflect", "circular", "replicate"):
        found[f"pad, {mode}"] = functools.partial(F.pad, pad=(2, 2, 2, 2), mode=mode), (image,)
    for mode in ("nearest", "bilinear", "bicubic", "area"):
        found[f"interpolate, {mode}"] = functools.partial(F.interpolate, size=96, mode=mode), (image,)
    found["interpolate, nearest, twice"] = functools.partial(F.interpolate, scale_factor=2), (image,)
    return found


def _layers(t: Any, F: Any, m: Any, image: Any, rows: Any) -> dict[str, Case]:
    heads = [t.randn(4, 8, 128, 32) for _ in range(3)]
    mean, variance = t.zeros(32), t.ones(32)
    return {
        "softmax": (lambda x: x.softmax(-1), (m,)),
        "softmax of columns": (lambda x: x.softmax(0), (m,)),
        "log_softmax": (lambda x: x.log_softmax(-1), (m,)),
        "normalize": (F.normalize, (m,)),
        "layer_norm": (lambda x: F.layer_norm(x, (64,)), (rows,)),
        "rms_norm": (lambda x: F.rms_norm(x, (64,)), (rows,)),
        "group_norm": (lambda x: F.group_norm(x, 8), (image,)),
        "instance_norm": (F.instance_norm, (image,)),
        "batch_norm": (lambda x: F.batch_norm(x, None, None, training=True), (image,)),
        "batch_norm, evaluated": (lambda x: F.batch_norm(x, mean, variance), (image,)),
        "local_response_norm": (lambda x: F.local_response_norm(x, 5), (image,)),
        "prelu": (F.prelu, (image, t.rand(32))),
        "dropout": (lambda x: F.dropout(x, 0.3), (m,)),
        "dropout2d": (lambda x: F.dropout2d(x, 0.3), (image,)),
        "max_pool2d": (lambda x: F.max_pool2d(x, 2), (image,)),
        "max_pool2d, 3 x 3": (lambda x: F.max_pool2d(x, 3, 2, 1), (image,)),
        "avg_pool2d": (lambda x: F.avg_pool2d(x, 2), (image,)),
        "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, 7), (image,)),
        "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, 7), (image,)),
        "lp_pool2d": (lambda x: F.lp_pool2d(x, 2.0, 2), (image,)),
        "max_pool1d": (lambda x: F.max_pool1d(x, 3), (t.randn(16, 64, 512),)),
        "avg_pool3d": (lambda x: F.avg_pool3d(x, 2), (t.randn(4, 8, 16, 32, 32),)),
        "grid_sample": (
            lambda x, at: F.grid_sample(x, at, align_corners=False), (image, t.rand(8, 64, 64, 2) * 2 - 1),
        ),
        "linear": (F.linear, (t.randn(128, 256), t.randn(256, 256), t.randn(256))),
        "bilinear": (F.bilinear, (t.randn(64, 32), t.randn(64, 32), t.randn(16, 32, 32))),
        "attention": (F.scaled_dot_product_attention, tuple(heads)),
        "attention, causal": (functools.partial(F.scaled_dot_product_attention, is_causal=True), tuple(heads)),
    }  # fmt: skip


def _losses(t: Any, F: Any, m: Any, u: Any, vector: Any, ints: Callable) -> dict[str, Case]:
    logits, labels, signs = t.randn(512, 100), ints(100, 512), t.sign(t.randn(512, 512))
    return {
        "cross_entropy": (F.cross_entropy, (logits, labels)),
        "nll_loss": (F.nll_loss, (logits, labels)),
        "multi_margin_loss": (F.multi_margin_loss, (logits, labels)),
        "binary_cross_entropy": (F.binary_cross_entropy, (u, u * 0.9)),
        "binary_cross_entropy_with_logits": (F.binary_cross_entropy_with_logits, (m, u)),
        "mse_loss": (F.mse_loss, (m, m + 1)),
        "l1_loss": (F.l1_loss, (m, m + 1)),
        "smooth_l1_loss": (F.smooth_l1_loss, (m, m + 1)),
        "huber_loss": (F.huber_loss, (m, m + 1)),
        "kl_div": (lambda x, y: F.kl_div(x, y, reduction="batchmean"), (m, u)),
        "poisson_nll_loss": (F.poisson_nll_loss, (m, u)),
        "gaussian_nll_loss": (F.gaussian_nll_loss, (m, u, u + 1)),
        "hinge_embedding_loss": (F.hinge_embedding_loss, (m, signs)),
        "triplet_margin_loss": (F.triplet_margin_loss, (m, m + 1, m - 1)),
        "margin_ranking_loss": (F.margin_ranking_loss, (vector, vector + 1, t.sign(t.randn(100_000)))),
        "cosine_embedding_loss": (F.cosine_embedding_loss, (m, m + 1, signs[0])),
    }


def _matrices(t: Any, m: Any, vector: Any) -> dict[str, Case]:
    found: dict[str, Case] = {
        "mm": (t.mm, (m, m + 1)),
        "mv": (t.mv, (m, t.randn(512))),
        "dot": (t.dot, (vector, vector + 1)),
        "bmm": (t.bmm, (t.randn(32, 64, 64), t.randn(32, 64, 64))),
        "einsum": (lambda x, y: t.einsum("bhqd,bhkd->bhqk", x, y), (t.randn(4, 8, 64, 32), t.randn(4, 8, 64, 32))),
        "matrix_exp": (lambda a: t.linalg.matrix_exp(a / 50), (t.randn(200, 200),)),
    }
    for count, size in ((1, 200), (8, 100), (64, 32), (1000, 8)):
        a = t.randn(count, size, size) + size * t.eye(size)
        s, of = a @ a.mT, f"{count} of {size}"
        for name in ("inv", "det", "slogdet", "qr", "svdvals", "eigvals"):
            found[f"linalg.{name}, {of}"] = functools.partial(_matrix_result, t, name), (a / size,)
        for name in ("eigh", "cholesky"):
            found[f"linalg.{name}, {of}"] = functools.partial(_matrix_result, t, name), (s,)
        found[f"linalg.solve, {of}"] = t.linalg.solve, (a, t.randn(count, size, 4))
        lower = s.tril()
        found[f"linalg.solve_triangular, {of}"] = (
            functools.partial(t.linalg.solve_triangular, upper=False), (lower, t.randn(count, size, 4)),
        )  # fmt: skip
    return found


def _matrix_result(t: Any, name: str, a: Any) -> Any:
    out = _first(getattr(t.linalg, name), a)
    return out.real if out.is_complex() else out


def _drawn(t: Any, m: Any, u: Any, image: Any) -> dict[str, Case]:
    functions = {
        "randn": lambda: t.randn(512, 512),
        "rand": lambda: t.rand(512, 512),
        "randint": lambda: t.randint(0, 100, (512, 512)),
        "randperm": lambda: t.randperm(20_000),
        "bernoulli": lambda: t.bernoulli(u),
        "multinomial": lambda: t.multinomial(u[:64], 5),
        "poisson": lambda: t.poisson(u),
        "exponential_": lambda: t.empty(512, 512).exponential_(),
        "Gamma": lambda: t.distributions.Gamma(u, u).sample(),
        "Dirichlet": lambda: t.distributions.Dirichlet(u[:100]).sample(),
        "Categorical": lambda: t.distributions.Categorical(logits=m).sample(),
        "arange": lambda: t.arange(100_000) * 2,
        "linspace": lambda: t.linspace(0, 1, 100_000),
        "eye": lambda: t.eye(512),
        "full": lambda: t.full((512, 512), 2.0),
    }
    return {name: (function, ()) for name, function in functions.items()}


def _dtypes(t: Any, F: Any, m: Any, ints: Callable) -> dict[str, Case]:
    found: dict[str, Case] = {}
    for dtype in DTYPES:
        for name, function in {
            "x + x": lambda x: x + x,
            "x * 2.5": lambda x: x * 2.5,
            "exp": t.exp,
            "sum": lambda x: x.sum(1),
            "softmax": lambda x: x.softmax(-1),
            "gelu": F.gelu,
            "relu": F.relu,
            "layer_norm": lambda x: F.layer_norm(x, (512,)),
            "@": lambda x: x @ x,
            "float": lambda x: x.float(),
        }.items():
            found[f"{dtype}: {name}"] = function, (m.to(getattr(t, dtype)),)
        found[f"to {dtype}"] = functools.partial(lambda x, to: x.to(to), to=getattr(t, dtype)), (m,)
    whole, mask, complex_ = ints(1000, 512, 512), m > 0, t.complex(m, m + 1)
    for name, function in {
        "x + x": lambda x: x + x,
        "x // 7": lambda x: x // 7,
        "x % 7": lambda x: x % 7,
        "x << 2": lambda x: x << 2,
        "x & 255": lambda x: x & 255,
        "sum": lambda x: x.sum(1),
        "amax": lambda x: x.amax(1),
        "cumsum": lambda x: x.cumsum(1),
        "sort": lambda x: x.sort(1)[0],
        "float": lambda x: x.float(),
        "@": lambda x: x[:128, :128] @ x[:128, :128],
    }.items():
        found[f"int64: {name}"] = function, (whole,)
    for name, function in {
        "~x": lambda x: ~x,
        "sum": lambda x: x.sum(1),
        "any": lambda x: x.any(1),
        "cumsum": lambda x: x.cumsum(1),
        "float": lambda x: x.float(),
    }.items():
        found[f"bool: {name}"] = function, (mask,)
    for name, function in {"x * x": lambda x: x * x, "exp": t.exp, "sum": lambda x: x.sum(1), "abs": t.abs}.items():
        found[f"complex64: {name}"] = functools.partial(_as_real, t, function), (complex_,)
    return found


def _as_real(t: Any, function: Callable, x: Any) -> Any:
    out = function(x)
    return t.view_as_real(out) if out.is_complex() else out


def _times(torch: Any, of: dict[str, Case], name: str) -> list[float]:
    function, inputs = of[name]
    taped = [x.detach().clone().requires_grad_() if x.is_floating_point() or x.is_complex() else x for x in inputs]

    def forward() -> Any:
        with torch.no_grad():
            return _read(function(*inputs))

    def with_gradients() -> Any:
        for x in taped:
            x.grad = None
        out = function(*taped)
        out.backward(torch.ones_like(out))
        grad = next(x.grad for x in taped if x.grad is not None)
        return _read(torch.view_as_real(grad) if grad.is_complex() else grad)

    times = [quartile(forward, WARM_UP, SECONDS, MOST)]
    try:
        times.append(quartile(with_gradients, WARM_UP, SECONDS, MOST))
    except (RuntimeError, NotImplementedError, StopIteration):  # it is not differentiable
        times.append(math.nan)
    return times


def _read(out: Any) -> Any:
    return out.flatten()[0].item() if out.numel() else 0


def _work(library: str) -> None:
    torch = library_of(library)
    serve(functools.partial(_times, torch, cases(torch)))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    names = list(cases(library_of("torch")))
    chosen = [name for name in names if not given.names or any(part in name for part in given.names)]
    compare("tests.benchmarks.many_ops", chosen, given.rounds, 2.0, worst_first=True)


if __name__ == "__main__":
    _work(sys.argv[2]) if sys.argv[1:2] == ["--work"] else main()
