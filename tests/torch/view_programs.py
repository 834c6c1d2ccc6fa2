"""Random programs of views, in-place operations and gradients, run on two libraries alike."""

from __future__ import annotations

import random
import warnings

import numpy as np

# What PyTorch forbids and this library allows: writing to one of several views of one call, to
# views made inside no_grad, and from what is written to. Such a step is left out.
STRICTER = ("multiple views", "no_grad mode", "some elements of the input tensor", "on expanded tensors")


class Program:
    """One random program; `pool` has pairs (of the reference, of the library)."""

    def __init__(self, seed: int, reference, library, steps: int = 12, check_each: bool = False):
        self.rng = random.Random(seed)
        self.libraries = reference, library
        self.numbers = np.random.default_rng(seed)
        self.log: list[str] = []
        self.pool: list[tuple] = []
        self.leaves = [self.fresh(requires_grad=True) for _ in range(self.rng.randint(1, 2))]
        for leaf in self.leaves:
            self.add(tuple(x * 1.5 for x in leaf), "leaf * 1.5")
        self.add(self.fresh(), "plain")
        self.steps, self.check_each = steps, check_each

    # ---- values

    def fresh(self, shape=None, requires_grad: bool = False):
        """A pair of tensors of new numbers."""
        if shape is None:
            shape = tuple(self.rng.choice((1, 2, 3, 4)) for _ in range(self.rng.randint(1, 3)))
        data = self.numbers.standard_normal(shape).astype(np.float32)
        return tuple(t.tensor(data.tolist(), dtype=t.float32, requires_grad=requires_grad) for t in self.libraries)

    def add(self, pair, what: str):
        """Remember a pair."""
        self.pool.append(pair)
        self.log.append(f"t{len(self.pool) - 1} = {what}")

    # ---- running

    def run(self):
        """All steps, then the comparison."""
        while self.steps > 0:
            self.steps -= 1
            self.step()
            if self.check_each:
                self.compare()
        self.compare()
        self.compare_gradients()

    def step(self):
        """One random step, on both libraries."""
        i = self.rng.randrange(len(self.pool))
        kind = self.rng.choices(("view", "write", "pure", "set", "meta", "read"), (10, 6, 2, 4, 1, 1))[0]
        text, action = getattr(self, kind)(self.pool[i][0])
        text = f"{kind} t{i}{text}"
        # A view made inside no_grad says that it requires grad in PyTorch, but has no history.
        quiet = kind in ("write", "set", "read") and self.rng.random() < 0.1
        outs = []
        for which, library in enumerate(self.libraries):
            try:
                with library.set_grad_enabled(not quiet), warnings.catch_warnings():
                    warnings.filterwarnings("error", message="Use of index_put_ on expanded")
                    outs.append(action(self.pool[i][which], library, which))
            except Exception as error:  # compared below
                if which == 0 and any(s in str(error) for s in STRICTER):
                    if "on expanded tensors" in str(error):
                        self.stop()  # PyTorch has counted the write already
                    return
                outs.append(error)
        text += " [no_grad]" if quiet else ""
        self.settle(text, outs)
        for tensor, _ in self.pool:
            renew(tensor)

    def stop(self):
        """End here: the two cannot be compared any more."""
        self.steps, self.pool = 0, []

    def settle(self, text: str, outs: list):
        """Both raise the same, or both give tensors to go on with."""
        reference, library = outs
        failed = [isinstance(x, Exception) for x in outs]
        if failed == [False, True] and "more than one element" in str(library):
            self.stop()  # PyTorch leaves out copying memory onto itself, but counts it as a write
            return
        if any(failed):
            self.log.append(f"{text} -> {reference!r} / {library!r}")
            assert all(failed), self.report("only one raises")
            assert type(reference) is type(library), self.report("different errors")
            return
        if reference is None:
            self.log.append(text)
        else:
            self.add((reference, library), text)

    def other(self):
        """A pair from the pool."""
        j = self.rng.randrange(len(self.pool))
        return j, self.pool[j]

    def source_for(self, x):
        """A pair to write into x; a copy if it shares x's memory: PyTorch promises nothing then."""
        j, pair = self.other()
        if pair[0].untyped_storage().data_ptr() != x.untyped_storage().data_ptr():
            return j, pair
        if not is_readable(pair[0]):
            return "fresh", self.fresh(tuple(x.shape))
        return f"{j}.clone()", tuple(t.clone() for t in pair)

    # ---- kinds of steps: (text, action(tensor, library, which))

    def view(self, x):
        """A random view."""
        text, make = random_view(self.rng, x)
        return text, lambda t, lib, which: make(t, lib)

    def write(self, x):
        """A random in-place operation."""
        rng = self.rng
        kind = rng.choice(("mul_", "add_", "fill_", "zero_", "copy_", "add_other", "sub_"))
        number = rng.choice((0.5, 2.0, -1.25, 3))
        if kind in ("mul_", "add_", "fill_", "sub_"):
            return f".{kind}({number})", lambda t, lib, w: _none(getattr(t, kind)(number))
        if kind == "zero_":
            return ".zero_()", lambda t, lib, w: _none(t.zero_())
        j, pair = self.source_for(x)
        if kind == "copy_":
            return f".copy_(t{j})", lambda t, lib, w: _none(t.copy_(pair[w]))
        return f".add_(t{j})", lambda t, lib, w: _none(t.add_(pair[w]))

    def pure(self, x):
        """An operation that makes a new tensor."""
        j, pair = self.other()
        if self.rng.random() < 0.3:
            return ".clone()", lambda t, lib, w: t.clone()
        return f" * t{j}", lambda t, lib, w: (t * pair[w]).clone(memory_format=lib.contiguous_format)

    def set(self, x):
        """An assignment to a part."""
        text, index = random_index(self.rng, tuple(x.shape))
        if self.rng.random() < 0.5:
            return f"[{text}] = 1.5", lambda t, lib, w: t.__setitem__(index(lib), 1.5)
        j, pair = self.source_for(x)
        return f"[{text}] = t{j}", lambda t, lib, w: t.__setitem__(index(lib), pair[w])

    def meta(self, x):
        """The tensor's own shape changes."""
        n = max(x.ndim, 1)
        a, b = self.rng.randrange(n), self.rng.randrange(n)
        kind = self.rng.choice(("transpose_", "unsqueeze_", "squeeze_"))
        args = (a, b) if kind == "transpose_" else (a,) if kind == "unsqueeze_" else ()
        return f".{kind}{args}", lambda t, lib, w: _none(getattr(t, kind)(*args))

    def read(self, x):
        """Read, or detach."""
        if self.rng.random() < 0.5:
            return ".sum().item()", lambda t, lib, w: _none(t.sum().item())
        return ".detach()", lambda t, lib, w: t.detach()

    # ---- comparing

    def report(self, what: str) -> str:
        """The program, for a failing test."""
        return what + "\n" + "\n".join(self.log)

    def compare(self):
        """Values, layouts, versions and requires_grad of the pool."""
        for i, (a, b) in enumerate(self.pool):
            for what, left, right in (
                ("shape", tuple(a.shape), tuple(b.shape)),
                ("strides", a.stride(), b.stride()),
                ("offset", a.storage_offset(), b.storage_offset()),
                ("version", a._version, b._version),
                ("contiguity", a.is_contiguous(), b.is_contiguous()),
                ("requires_grad", a.requires_grad, b.requires_grad),
            ):
                assert left == right, self.report(f"t{i}: {what} {left} / {right}")
            np.testing.assert_allclose(
                b.detach().numpy(), a.detach().numpy(), rtol=1e-4, atol=1e-4, err_msg=self.report(f"t{i}")
            )

    def compare_gradients(self):
        """Gradients of the leaves by a weighted sum of all tensors on the tape."""
        outs = []
        unreadable = {i for i, (x, _) in enumerate(self.pool) if not is_readable(x)}
        refused = {i for i, (_, x) in enumerate(self.pool) if not is_readable(x)}
        assert refused == unreadable, self.report(f"uses refused: {unreadable} / {refused}")
        for which in range(len(self.libraries)):
            total = None
            for i, pair in enumerate(self.pool):
                if i not in unreadable and pair[which].requires_grad:
                    term = (pair[which] * (i + 1) * 0.1).sum()
                    total = term if total is None else total + term
            outs.append(None)
            if total is not None:
                try:
                    total.backward()
                except RuntimeError as error:
                    outs[-1] = error
        failed = [x is not None for x in outs]
        if failed == [True, False] and "more than one element" in str(outs[0]):
            return  # PyTorch fills an expanded tensor, but cannot differentiate that
        assert failed[0] == failed[1], self.report(f"backward: {outs}")
        if failed[0]:
            return
        for a, b in self.leaves:
            assert (a.grad is None) == (b.grad is None), self.report(f"grads {a.grad} {b.grad}")
            if a.grad is not None:
                np.testing.assert_allclose(
                    b.grad.numpy(), a.grad.numpy(), rtol=1e-3, atol=1e-3, err_msg=self.report("gradients")
                )


def renew(x):
    """Let the reference derive a view's history anew: a stale one counts as a leaf there."""
    try:
        x.grad_fn
    except RuntimeError:
        pass


def is_readable(x) -> bool:
    """Whether a library lets its tensor be used: not one of several views after a write."""
    try:
        x * 1
    except RuntimeError:
        return False
    return True


def _none(_):
    return None


# ---- random views and indices --------------------------------------------------------------------


def random_view(rng: random.Random, x):
    """(text, function(tensor, library)) of a view, mostly one that is possible."""
    shape, n = tuple(x.shape), x.ndim
    dim = rng.randrange(-n, n) if n else 0
    size = shape[dim] if n else 1
    kind = rng.choice(
        (
            "view",
            "reshape",
            "permute",
            "transpose",
            "select",
            "slice",
            "narrow",
            "expand",
            "unsqueeze",
            "squeeze",
            "diagonal",
            "unfold",
            "flatten",
            "index",
            "split",
            "unbind",
            "t",
            "as_strided",
            "view_as",
            "alias",
        )
    )
    if kind in ("view", "reshape"):
        new = random_shape(rng, x.numel())
        return f".{kind}{new}", lambda t, lib: getattr(t, kind)(new)
    if kind == "permute":
        order = rng.sample(range(n), n)
        return f".permute({order})", lambda t, lib: t.permute(*order) if order else t.permute(())
    if kind == "transpose":
        other = rng.randrange(-n, n) if n else 0
        return f".transpose({dim}, {other})", lambda t, lib: t.transpose(dim, other)
    if kind == "select":
        i = rng.randrange(-size, size) if size else 0
        return f".select({dim}, {i})", lambda t, lib: t.select(dim, i)
    if kind in ("slice", "index"):
        text, index = random_index(rng, shape, tensors=False)
        return f"[{text}]", lambda t, lib: t[index(lib)]
    if kind == "narrow":
        start = rng.randint(0, size)
        length = rng.randint(0, size - start)
        return f".narrow({dim}, {start}, {length})", lambda t, lib: t.narrow(dim, start, length)
    if kind == "expand":
        new = tuple(rng.choice((2, 3)) if m == 1 else m for m in shape)
        new = (2,) + new if rng.random() < 0.3 else new
        return f".expand{new}", lambda t, lib: t.expand(*new) if new else t.expand(())
    if kind == "unsqueeze":
        d = rng.randint(-n - 1, n)
        return f".unsqueeze({d})", lambda t, lib: t.unsqueeze(d)
    if kind == "squeeze":
        return ".squeeze()", lambda t, lib: t.squeeze()
    if kind == "diagonal":
        offset = rng.randint(-1, 1)
        return f".diagonal({offset})", lambda t, lib: t.diagonal(offset)
    if kind == "unfold":
        window = rng.randint(1, max(size, 1))  # windows that overlap must not be written to
        step = window + rng.randint(0, 1)
        return f".unfold({dim}, {window}, {step})", lambda t, lib: t.unfold(dim, window, step)
    if kind == "flatten":
        return ".flatten()", lambda t, lib: t.flatten()
    if kind == "split":
        part = rng.randint(1, max(size, 1))
        return f".split({part}, {dim})[-1]", lambda t, lib: t.split(part, dim)[-1]
    if kind == "unbind":
        return f".unbind({dim})[0]", lambda t, lib: t.unbind(dim)[0]
    if kind == "as_strided" and x.numel() * x.element_size() == x.untyped_storage().nbytes():
        # Of a part, PyTorch leaves the gradients of elements outside it undefined.
        size2, strides = (2, 2), rng.choice(((2, 1), (1, 2), (0, 1)))
        return (f".as_strided({size2}, {strides})", lambda t, lib: t.as_strided(size2, strides))
    if kind == "view_as":
        return ".view_as(self)", lambda t, lib: t.view_as(t)
    if kind == "t":
        return ".t()", lambda t, lib: t.t()
    return "[...]", lambda t, lib: t[...]


def random_shape(rng: random.Random, n: int) -> tuple[int, ...]:
    """A shape of n elements, with -1 in it now and then."""
    shape = []
    while n > 1 and len(shape) < 3:
        d = rng.choice([k for k in range(1, n + 1) if n % k == 0])
        shape.append(d)
        n //= d
    shape.append(n)
    if rng.random() < 0.3 and 0 not in shape:
        shape[rng.randrange(len(shape))] = -1
    return tuple(shape)


def random_index(rng: random.Random, shape, tensors: bool = True):
    """(text, function(library)) of an index into a shape."""
    parts, makers = [], []
    for n in shape:
        kind = rng.choice(("all", "int", "slice", "slice", "list") if tensors else ("all", "int", "slice", "slice"))
        if n == 0 and kind in ("int", "list"):
            kind = "all"
        if kind == "all":
            item = slice(None)
        elif kind == "int":
            item = rng.randrange(-n, n)
        elif kind == "list":
            item = [rng.randrange(-n, n) for _ in range(2)]
        else:
            item = slice(rng.choice((None, 0, 1, -1)), rng.choice((None, n, -1)), rng.choice((None, 1, 2)))
        parts.append(str(item))
        makers.append(item)
        if rng.random() < 0.1:
            parts.append("None")
            makers.append(None)
        if rng.random() < 0.15:
            break
    # Duplicates in two index lists would make the last writer matter, which PyTorch leaves open.
    if sum(isinstance(m, list) for m in makers) > 1:
        makers = [slice(None) if isinstance(m, list) else m for m in makers]
    for i, m in enumerate(makers):
        if isinstance(m, list):
            makers[i] = list(dict.fromkeys(k % shape_at(makers, i, shape) for k in m))
    return ", ".join(map(str, makers)), lambda lib: tuple(lib.tensor(m) if isinstance(m, list) else m for m in makers)


def shape_at(makers, i: int, shape) -> int:
    """The size of the dimension that part i of an index is for."""
    return shape[sum(m is not None for m in makers[:i])]
