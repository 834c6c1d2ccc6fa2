"""A training step of a transformer of 7 billion parameters, partitioned for many devices without having them.

    python -m tests.benchmarks.partitioned 64 1024

For each number of devices and each way to divide the model: XLA's partitioner compiles the step for a mesh of virtual
CPU devices, of abstract shapes, so that no array is ever made. Of the program that each device would run it prints the
collectives, how many bytes a device sends for them in a step (by rings), and the memory that the program needs.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections import defaultdict

LAYERS, WIDTH, INNER, HEADS, WORDS, LENGTH = 32, 4096, 11008, 32, 32000, 2048
SIZES = {"f32": 4, "bf16": 2, "f16": 2, "s32": 4, "u32": 4, "pred": 1, "s64": 8, "f64": 8, "u8": 1, "s8": 1}
KINDS = "all-gather all-reduce reduce-scatter all-to-all collective-permute".split()
WAYS = {"FSDP": lambda n: (n, 1), "tensor parallel 8, FSDP": lambda n: (n // 8, 8)}


# ---- the model -----------------------------------------------------------------------------------


def shapes() -> dict[str, tuple[int, ...]]:
    """The parameters, those of all layers one array."""
    of_layers = {
        "q": (WIDTH, WIDTH),
        "k": (WIDTH, WIDTH),
        "v": (WIDTH, WIDTH),
        "o": (WIDTH, WIDTH),
        "gate": (WIDTH, INNER),
        "up": (WIDTH, INNER),
        "down": (INNER, WIDTH),
    }
    found = {name: (LAYERS, *shape) for name, shape in of_layers.items()}
    return {**found, "norms": (LAYERS, 2, WIDTH), "embed": (WORDS, WIDTH), "head": (WIDTH, WORDS)}


def specs(P) -> dict:
    """How each parameter lies: what a layer needs of it is divided over "model", the rest over "data"."""
    by_columns, by_rows = P(None, "data", "model"), P(None, "model", "data")
    found = dict.fromkeys(("q", "k", "v", "gate", "up"), by_columns) | dict.fromkeys(("o", "down"), by_rows)
    return found | {"norms": P(None, None, "data"), "embed": P("model", "data"), "head": P("data", "model")}


def step_of(fc, mesh):
    """A step of gradient descent, (params, tokens) -> (params, loss)."""
    P = fc.P

    def lie(x, *spec):
        return fc.lax.with_sharding_constraint(x, fc.NamedSharding(mesh, P(*spec)))

    def norm(x, scale):
        return x * fc.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * scale

    def layer(x, w):
        x = lie(x, "data")
        w = {
            k: lie(v, *((None, "model") if k not in ("o", "down") else ("model",)))
            for k, v in w.items()
            if k != "norms"
        } | {"norms": lie(w["norms"])}
        h = norm(x, w["norms"][0])
        q, k, v = ((h @ w[name]).reshape((*h.shape[:2], HEADS, -1)) for name in "qkv")
        scores = fc.einsum("bihd,bjhd->bhij", q, k) / (WIDTH // HEADS) ** 0.5
        causal = fc.tril(fc.ones((LENGTH, LENGTH), dtype=fc.bool_))
        weights = fc.softmax(fc.where(causal, scores, -1e9), axis=-1)
        x = x + fc.einsum("bhij,bjhd->bihd", weights, v).reshape(x.shape) @ w["o"]
        h = norm(x, w["norms"][1])
        gate = h @ w["gate"]
        return lie(x + (gate * fc.sigmoid(gate) * (h @ w["up"])) @ w["down"], "data"), None

    def loss(params, tokens):
        layers = {k: v for k, v in params.items() if k not in ("embed", "head")}
        x = lie(lie(params["embed"], "model")[tokens], "data")
        x, _ = fc.scan(fc.checkpoint(layer), x, layers)
        logits = lie(x @ lie(params["head"], None, "model"), "data", None, "model")
        total = fc.logsumexp(logits, axis=-1)
        words = fc.arange(WORDS, dtype=fc.int32)
        chosen = fc.where(words == fc.roll(tokens, -1, 1)[..., None], logits, 0.0).sum(-1)
        return (total - chosen).mean()

    def step(params, tokens):
        value, grads = fc.value_and_grad(loss)(params, tokens)
        return {k: p - 1e-4 * grads[k] for k, p in params.items()}, value

    return step


def compiled(n: int, grid: tuple[int, int]):
    """(the program of one device, seconds)."""
    import functorch_core as fc
    from functorch_core.core import tree
    from functorch_core.engine.spmd import compile_for_mesh

    mesh = fc.make_mesh(grid, ("data", "model"))
    params = {k: fc.ShapeDtype(s, fc.float32) for k, s in shapes().items()}
    laid = {k: fc.NamedSharding(mesh, s) for k, s in specs(fc.P).items()}
    tokens, rows = fc.ShapeDtype((grid[0], LENGTH), fc.int32), fc.NamedSharding(mesh, fc.P("data"))
    start = time.perf_counter()
    graph = fc.make_graph(step_of(fc, mesh))(params, tokens)
    ins = [*tree.leaves(laid), rows]
    outs = [*tree.leaves(laid), fc.NamedSharding(mesh, fc.P())]
    program = compile_for_mesh(graph, mesh, ins, outs, "compiled for devices that are not there")
    return program.executable, time.perf_counter() - start


# ---- what the program says -----------------------------------------------------------------------


def computations(text: str) -> tuple[dict[str, list[str]], str]:
    """The lines of each computation of an HLO module, and the name of the first that runs."""
    found: dict[str, list[str]] = {}
    name = entry = ""
    for line in text.splitlines():
        head = re.match(r"^(ENTRY )?%?([\w.\-]+) .*\{$", line)
        if head:
            name = head[2]
            found[name] = []
            entry = name if head[1] else entry
        elif name:
            found[name].append(line)
    return found, entry


def n_bytes(shape: str) -> int:
    """The bytes of a shape, or of a tuple of shapes, as HLO writes it."""
    total = 0
    for kind, dims in re.findall(r"(\w+)\[([\d,]*)\]", shape):
        size = SIZES.get(kind, 0)
        for d in dims.split(","):
            size *= int(d or 1)
        total += size
    return total


def group_size(line: str, n: int) -> int:
    """How many devices take part in a collective together."""
    found = re.search(r"replica_groups=\[\d+,(\d+)\]", line)
    if found:
        return int(found[1])
    found = re.search(r"replica_groups=\{\{([\d,]*)\}", line)
    return len(found[1].split(",")) if found and found[1] else n


def sent(kind: str, size: int, group: int) -> float:
    """What a device sends for a collective by a ring; `size` is that of its result."""
    part = (group - 1) / group
    return {"all-reduce": 2 * part, "reduce-scatter": group - 1, "collective-permute": 1}.get(kind, part) * size


def collectives(text: str, n: int) -> dict[str, tuple[int, float]]:
    """By kind: how often a step does it, and the bytes that a device sends."""
    found, entry = computations(text)
    counts: dict[str, list] = defaultdict(lambda: [0, 0.0])

    def visit(name: str, times: int):
        for line in found.get(name, ()):
            for kind in KINDS:
                made = re.search(rf"= (\(.*?\)|\S+) {kind}(-start)?\(", line)
                if made:
                    counts[kind][0] += times
                    counts[kind][1] += times * sent(kind, n_bytes(made[1]), group_size(line, n))
            inner = re.search(r"body=%?([\w.\-]+)", line)
            if inner:
                trips = re.search(r'known_trip_count"?:\{"n":"(\d+)"', line)
                visit(inner[1], times * int(trips[1] if trips else LAYERS))
            for called in re.findall(r"(?:to_apply|calls)=%?([\w.\-]+)", line):
                if " call(" in line:
                    visit(called, times)

    visit(entry, 1)
    return {kind: (c, b) for kind, (c, b) in counts.items()}


def report(n: int, way: str):
    """Compile, and print a row."""
    program, seconds = compiled(n, WAYS[way](n))
    stats = program.memory_stats()
    cells = [f"{kind} {c:,} ({b / 1e9:.1f} GB)" for kind, (c, b) in sorted(collectives(program.hlo_text(), n).items())]
    print(f"| {n:,} | {way} | {', '.join(cells)} | {stats['arguments'] / 1e9:.2f} | {seconds:.0f} s |", flush=True)


def main(sizes: list[int]):
    """The table."""
    print("| devices | divided by | collectives of a step (a device sends) | parameters GB | compiled in |")
    print("|---|---|---|---|---|")
    for n in sizes:
        for way in WAYS:
            if os.fork() == 0:  # the number of devices is that of the process
                os.environ["FUNCTORCH_CPU_DEVICES"] = str(n)
                report(n, way)
                os._exit(0)
            os.wait()


if __name__ == "__main__":
    main([int(n) for n in sys.argv[1:]] or [64])
