"""torch.utils.benchmark.Fuzzer: tensors of random shapes and layouts, for benchmarks and tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

import functorch_core.torch as torch

ATTEMPTS = 1000  # to find parameters that are allowed


class ParameterAlias:
    """As a value of a parameter's distribution: what another parameter is.

    >>> ParameterAlias("rows")
    ParameterAlias[alias_to: rows]
    """

    def __init__(self, alias_to):
        self.alias_to = alias_to

    def __repr__(self) -> str:
        return f"ParameterAlias[alias_to: {self.alias_to}]"


class FuzzedParameter:
    """A number that is drawn: "uniform" or "loguniform" from `minval` to `maxval`, both among them, an integer if both
    are; or from a distribution {value: probability}. One that is `strict` is not drawn again when the parameters drawn
    with it are not allowed.

    >>> import numpy as np
    >>> FuzzedParameter("rows", 3, 3, "uniform").sample(np.random.RandomState(0))
    3
    """

    def __init__(self, name: str, minval=None, maxval=None, distribution=None, strict: bool = False):
        self._name, self._minval, self._maxval, self.strict = name, minval, maxval, strict
        if isinstance(distribution, dict):
            _check_distribution(distribution, minval, maxval)
        elif distribution not in ("uniform", "loguniform"):
            raise AssertionError(f"Unknown distribution: {distribution}")
        self._distribution = distribution

    @property
    def name(self) -> str:
        """What it is called."""
        return self._name

    def sample(self, state: np.random.RandomState):
        """A value."""
        low, high = self._minval, self._maxval
        if isinstance(self._distribution, dict):
            values, weights = zip(*self._distribution.items())
            return values[state.choice(len(values), p=weights)]
        if self._distribution == "loguniform":
            found = int(2 ** state.uniform(np.log2(low), np.log2(high)))
            return min(max(found, low), high)
        if isinstance(low, int) and isinstance(high, int):
            return int(state.randint(low, high + 1))
        return state.uniform(low, high)


def _check_distribution(distribution: dict, minval, maxval):
    if any(p < 0 for p in distribution.values()):
        raise AssertionError("Probabilities cannot be negative")
    if abs(sum(distribution.values()) - 1) > 1e-5:
        raise AssertionError("Distribution is not normalized")
    for name, bound in (("minval", minval), ("maxval", maxval)):
        if bound is not None:
            raise AssertionError(f"When passing a custom distribution, '{name}' must be None")


class FuzzedTensor:
    """A tensor that is made anew each time: `size` has integers and names of parameters; with `steps` it is a slice of
    a larger tensor. `dim_parameter` is the name of the number of dimensions. Its memory is in the order of its
    dimensions with `probability_contiguous`, else in another.

    >>> fuzzed = FuzzedTensor("x", size=("rows", 3), steps=(1, 2), max_elements=30)
    >>> fuzzed.satisfies_constraints({"rows": 10}), fuzzed.satisfies_constraints({"rows": 11})
    (True, False)
    """

    def __init__(
        self,
        name: str,
        size: tuple,
        steps: tuple | None = None,
        probability_contiguous: float = 0.5,
        min_elements: int | None = None,
        max_elements: int | None = None,
        max_allocation_bytes: int | None = None,
        dim_parameter: str | None = None,
        roll_parameter: str | None = None,
        dtype=torch.float32,
        cuda=False,
        tensor_constructor: Callable | None = None,
    ):
        self._name, self._size, self._steps, self._dim = name, size, steps or (), dim_parameter
        self._contiguous, self._dtype, self._cuda = probability_contiguous, dtype, cuda
        self._least, self._most, self._most_bytes = min_elements, max_elements, max_allocation_bytes
        self._constructor = tensor_constructor or self.default_tensor_constructor

    @property
    def name(self) -> str:
        """What it is called."""
        return self._name

    @staticmethod
    def default_tensor_constructor(size, dtype, **kwargs):
        """Numbers from 0 to 1; of integers, from 1 to 126."""
        if dtype.is_floating_point or dtype.is_complex:
            return torch.rand(size, dtype=dtype)
        return torch.randint(1, 127, size, dtype=dtype)

    def _shape(self, params: dict) -> tuple[tuple, tuple, tuple]:
        """The size, the steps, and the size of the memory."""
        n = len(self._size) if self._dim is None else params[self._dim]
        size, steps = (
            (*(params.get(x, x) for x in given[:n]), *[1] * (n - len(given))) for given in (self._size, self._steps)
        )
        return size, steps, tuple([length * step for length, step in zip(size, steps)])

    def satisfies_constraints(self, params: dict) -> bool:
        """Whether parameters make a tensor that is neither too small nor too large."""
        size, _, allocated = self._shape(params)
        elements, taken = math.prod(map(int, size)), math.prod(map(int, allocated)) * self._dtype.itemsize
        limits = ((elements, self._most), (self._least, elements), (taken, self._most_bytes))
        return not any(None not in (small, large) and small > large for small, large in limits)

    def _make_tensor(self, params: dict, state: np.random.RandomState) -> tuple:
        """The tensor, and what it is like."""
        size, steps, allocated = self._shape(params)
        x = self._constructor(size=allocated, dtype=self._dtype, **params)
        x = x.cuda() if self._cuda else x
        order = plain = np.arange(len(size))
        if state.rand() > self._contiguous:
            while len(size) > 1 and (order == plain).all():
                order = state.permutation(x.dim())
            x = x.permute(*order.tolist()).contiguous().permute(*np.argsort(order).tolist())
        x = x[tuple([slice(0, length * step, step) for length, step in zip(size, steps)])]
        about = {"numel": int(x.numel()), "order": order, "steps": steps}
        return x, {**about, "is_contiguous": x.is_contiguous(), "dtype": str(self._dtype)}


class Fuzzer:
    """Draws parameters until every constraint (a function of a dict of them) and every tensor allows them, and makes
    the tensors.

    >>> from torch.utils.benchmark import Fuzzer, FuzzedParameter, FuzzedTensor
    >>> rows = FuzzedParameter("rows", 2, 2, "uniform")
    >>> fuzzer = Fuzzer([rows], [FuzzedTensor("x", ("rows", 3))], seed=0)
    >>> [(tensors["x"].shape, params) for tensors, properties, params in fuzzer.take(1)]
    [(torch.Size([2, 3]), {'rows': 2})]
    """

    def __init__(self, parameters: list, tensors: list, constraints: list[Callable] | None = None, seed=None):
        self._seed = int(np.random.RandomState().randint(0, 2**32 - 1, dtype=np.int64)) if seed is None else seed
        self._parameters = _flat(parameters, FuzzedParameter)
        self._tensors, self._constraints = _flat(tensors, FuzzedTensor), constraints or ()
        both = {p.name for p in self._parameters} & {t.name for t in self._tensors}
        if both:
            raise ValueError(f"Duplicate names in parameters and tensors: {both}")
        self._rejections = self._generated = 0

    def take(self, n: int) -> Iterator[tuple[dict, dict, dict]]:
        """So many times: the tensors, what each is like, and the parameters. The seeds begin anew."""
        state = np.random.RandomState(self._seed)
        torch.manual_seed(int(state.randint(low=0, high=2**63, dtype=np.int64)))
        for _ in range(n):
            params = self._draw(state)
            made = {t.name: t._make_tensor(params, state) for t in self._tensors}
            yield {k: x for k, (x, _) in made.items()}, {k: about for k, (_, about) in made.items()}, params

    @property
    def rejection_rate(self) -> float:
        """The share of parameters that were drawn and not allowed."""
        return self._rejections / self._generated if self._generated else 0.0

    def _draw(self, state: np.random.RandomState) -> dict:
        kept: dict = {}  # of those that are strict
        for _ in range(ATTEMPTS):
            params = {p.name: kept[p.name] if p.name in kept else p.sample(state) for p in self._parameters}
            kept.update({p.name: params[p.name] for p in self._parameters if p.strict})
            params = _without_aliases(params)
            self._generated += 1
            if all(f(params) for f in self._constraints) and all(
                t.satisfies_constraints(params) for t in self._tensors
            ):
                return params
            self._rejections += 1
        raise ValueError("Failed to generate a set of valid parameters.")


def _flat(values, kind: type) -> tuple:
    return tuple([x for value in values for x in ([value] if isinstance(value, kind) else value)])


def _without_aliases(params: dict) -> dict:
    found = {}
    for name, value in params.items():
        seen = {name}
        while isinstance(value, ParameterAlias):
            if value.alias_to in seen:
                raise ValueError(f"ParameterAlias cycle detected\n{params}")
            seen.add(value.alias_to)
            value = params[value.alias_to]
        found[name] = value
    return found
