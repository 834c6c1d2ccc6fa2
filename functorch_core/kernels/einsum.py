"""Sums over products that subscripts name, by a path that is chosen beforehand."""

from __future__ import annotations

import functools

from .shapes import diagonal
from .values import aval_of, p


def einsum(arrays, subscripts, path):
    """The contraction of values of one dtype; subscripts and path are einsum_plan's."""
    (inputs, output), arrays = subscripts, list(arrays)
    terms = list(inputs)
    for chosen, _ in path:
        picked = [(terms[i], arrays[i]) for i in chosen]
        for i in sorted(chosen, reverse=True):
            del terms[i], arrays[i]
        needed = set("".join(terms)) | set(output)
        term, value = picked[0]
        for other, operand in picked[1:]:
            term, value = _pair(term, value, other, operand, needed)
        if len(picked) == 1:
            term, value = _reduce(term, value, needed)
        terms.append(term)
        arrays.append(value)
    term, value = _reduce(terms[0], arrays[0], set(output))
    return p.transpose(value, permutation=tuple(term.index(c) for c in output))


def _reduce(term: str, x, needed):
    """Repeated labels as diagonals, labels that nobody needs summed."""
    while len(set(term)) != len(term):
        c = next(c for c in term if term.count(c) > 1)
        i, j = term.index(c), term.rindex(c)
        order = [d for d in range(len(term)) if d not in (i, j)] + [i, j]
        x = diagonal(p.transpose(x, permutation=tuple(order)))
        term = "".join(term[d] for d in order[:-1])
    axes = tuple(d for d, c in enumerate(term) if c not in needed)
    return "".join(c for c in term if c in needed), p.reduce_sum(x, axes=axes)


def _pair(a: str, x, b: str, y, needed):
    """The product of two terms: labels of both are batch dimensions if needed, else contracted."""
    a, x = _reduce(a, x, needed | set(b))
    b, y = _reduce(b, y, needed | set(a))
    shared = [c for c in a if c in b]
    sizes = {c: (aval_of(x).shape[a.index(c)], aval_of(y).shape[b.index(c)]) for c in shared}
    # A dimension of size 1 that meets a longer one is broadcast: it leaves its own term.
    for c, (n, m) in sizes.items():
        if n == 1 != m:
            x, a = p.squeeze(x, dims=(a.index(c),)), a.replace(c, "")
        elif m == 1 != n:
            y, b = p.squeeze(y, dims=(b.index(c),)), b.replace(c, "")
    if a and (set(a) | set(b)) - needed - (set(a) & set(b)):
        a, x = _reduce(a, x, needed | set(b))
        b, y = _reduce(b, y, needed | set(a))
    both = [c for c in a if c in b and c in needed]
    summed = [c for c in a if c in b and c not in needed]
    out = p.dot_general(
        x,
        y,
        contract=(tuple(a.index(c) for c in summed), tuple(b.index(c) for c in summed)),
        batch=(tuple(a.index(c) for c in both), tuple(b.index(c) for c in both)),
    )
    rest = [c for c in a if c not in b] + [c for c in b if c not in a]
    return "".join(both + rest), out


def _path(optimize):
    """A path as opt_einsum takes it: NumPy's begins with its name."""
    return [step for step in optimize if not isinstance(step, str)] if isinstance(optimize, tuple) else optimize


@functools.lru_cache(maxsize=1024)
def einsum_plan(subscripts: str, shapes: tuple, optimize) -> tuple:
    """((input terms, output term), path) of an einsum expression, by opt_einsum."""
    import opt_einsum

    try:
        inputs, output, _ = opt_einsum.parser.parse_einsum_input((subscripts, *shapes), shapes=True)
        terms = tuple(inputs.split(","))
        for term, shape in zip(terms, shapes, strict=True):
            if len(term) != len(shape):
                raise ValueError(f"the term {term!r} has {len(term)} labels for shape {shape}")
        if len(shapes) == 1:
            path = [(0,)]
        else:
            path, _ = opt_einsum.contract_path(subscripts, *shapes, shapes=True, optimize=_path(optimize))
    except (ValueError, KeyError) as error:
        shown = ", ".join(map(str, shapes))
        raise ValueError(f"einsum({subscripts!r}) of shapes {shown}: {error}") from None
    return (terms, output), tuple((tuple(step), None) for step in path)
