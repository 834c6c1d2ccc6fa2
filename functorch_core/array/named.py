"""Array functions that the Array API does not have: their signatures are JAX's.

The operations take their arrays by position alone; here the names by which a user may pass them, and
the order of the other parameters. Without keywords a call costs what it did.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

SIGNATURES = """
# ---- jax.nn
celu(x, alpha=1.0)
dot_product_attention(query, key, value, bias=None, mask=None, *, scale=None, is_causal=False, \
query_seq_lengths=None, key_value_seq_lengths=None, local_window_size=None, implementation=None, \
return_residual=False)
elu(x, alpha=1.0)
gelu(x, approximate=True)
glu(x, axis=-1)
hard_sigmoid(x)
hard_silu(x)
hard_tanh(x)
identity(x)
leaky_relu(x, negative_slope=0.01)
log1mexp(x)
log_sigmoid(x)
log_softmax(x, axis=-1, where=None)
logmeanexp(x, axis=None, where=None, keepdims=False)
logsumexp(a, axis=None, b=None, keepdims=False, return_sign=False, where=None)
mish(x)
one_hot(x, num_classes, *, dtype=None, axis=-1)
relu(x)
relu6(x)
selu(x)
sigmoid(x)
silu(x)
soft_sign(x)
softmax(x, axis=-1, where=None)
softplus(x)
sparse_plus(x)
sparse_sigmoid(x)
squareplus(x, b=4)
standardize(x, axis=-1, mean=None, variance=None, epsilon=1e-05, where=None, *, algorithm='fast')
# ---- jax.lax, jax.scipy.special
cumlogsumexp(operand, axis=0, reverse=False)
cummax(operand, axis=0, reverse=False)
cummin(operand, axis=0, reverse=False)
digamma(x)
dynamic_slice(operand, start_indices, slice_sizes, *, allow_negative_indices=True)
dynamic_update_slice(operand, update, start_indices, *, allow_negative_indices=True)
erf(x)
erf_inv(x)
erfc(x)
igamma(a, x)
igammac(a, x)
lgamma(x)
logit(x)
rsqrt(x)
top_k(operand, k, *, axis=-1, largest=True)
xlogy(x, y)
# ---- jax.numpy
allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False)
angle(z, deg=False)
argwhere(a, *, size=None, fill_value=None)
array_equal(a1, a2, equal_nan=False)
bincount(x, weights=None, minlength=0, *, length=None)
cumprod(a, axis=None, dtype=None)
cumsum(a, axis=None, dtype=None)
diag(v, k=0)
dot(a, b)
flatnonzero(a, *, size=None, fill_value=None)
isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False)
isin(element, test_elements, assume_unique=False, invert=False, *, method='auto')
kron(a, b)
nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None)
outer(a, b)
pad(array, pad_width, mode='constant', *, constant_values=0)
ptp(a, axis=None, keepdims=False)
ravel(a)
swapaxes(a, axis1, axis2)
transpose(a, axes=None)
# ---- jax.numpy.linalg
eig(a)
eigvals(a)
lstsq(a, b, rcond=None, *, numpy_resid=False)
norm(x, ord=None, axis=None, keepdims=False)
"""

TWICE = "{name}() got multiple values for argument {argument!r}"


def parse(line: str) -> inspect.Signature:
    """The signature that a line, name(parameters), describes."""
    return inspect.signature(eval(f"lambda {line[line.index('(') + 1 : -1]}: None"))


_parsed = {line.partition("(")[0]: parse(line) for line in SIGNATURES.splitlines() if line and not line.startswith("#")}


def signature_of(name: str, own: inspect.Signature) -> tuple[inspect.Signature, dict[str, int]]:
    """(the public signature of an operation, the place of each array that may come by name)."""
    public = _parsed.get(name)
    if public is None:
        return own, {}
    bare = [p for p in own.parameters.values() if p.kind is p.POSITIONAL_ONLY]
    return public, {name: i for i, (name, _) in enumerate(zip(public.parameters, bare))}


def by_position(name: str, places: dict[str, int], given: tuple, keywords: dict) -> tuple[tuple, dict]:
    """A call whose arrays came by name, as one in which they come by position."""
    given, keywords = list(given), dict(keywords)
    for argument, place in places.items():
        if argument not in keywords:
            continue
        if place < len(given):
            raise TypeError(TWICE.format(name=name, argument=argument))
        if place == len(given):
            given.append(keywords.pop(argument))
    return tuple(given), keywords


def named(call: Callable, name: str) -> Callable:
    """A public function of arrays that takes them by the names in the table, too."""
    public, places = signature_of(name, inspect.signature(call))
    if not places:
        return call

    def renamed(*given, **keywords):
        if keywords:
            given, keywords = by_position(name, places, given, keywords)
        return call(*given, **keywords)

    renamed.__signature__ = public
    return renamed
