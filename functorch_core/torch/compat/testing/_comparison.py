"""torch.testing.assert_close, in pairs: each kind of them says which inputs it can compare, and compares them."""

from __future__ import annotations

import abc
import cmath
from collections.abc import Mapping, Sequence
from typing import NoReturn

import numpy as np

from ....core.warn import warn
from ... import as_tensor, complex128, float64, int64
from ...operators.dtype_questions import promote_types
from ...tensors.base import Tensor
from . import _mismatch
from ._mismatch import default_tolerances

BOTH_TOLERANCES = "Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}."
SPARSE_NAMES = {"sparse_coo": "COO", "sparse_csr": "CSR", "sparse_csc": "CSC", "sparse_bsr": "BSR", "sparse_bsc": "BSC"}


class ErrorMeta(Exception):
    """What is wrong with an item of the inputs: the error to raise, its text and where it is."""

    def __init__(self, type: type[Exception], msg: str, *, id: tuple = ()):
        super().__init__(msg)
        self.type, self.msg, self.id = type, msg, id

    def to_error(self, msg=None) -> Exception:
        """The error for the user; `msg` replaces the text, or is a function of it."""
        text = self.msg
        if self.id:
            text += "\n\nThe failure occurred for item " + "".join(f"[{item!r}]" for item in self.id)
        return self.type(text if msg is None else msg(text) if callable(msg) else msg)


class UnsupportedInputs(Exception):
    """A kind of pair does not take the inputs."""


def get_tolerances(*inputs, rtol, atol, id: tuple = ()) -> tuple[float, float]:
    """The given tolerances, or those of the dtypes if none is given."""
    if (rtol is None) != (atol is None):
        raise ErrorMeta(ValueError, BOTH_TOLERANCES.format(missing="rtol" if rtol is None else "atol"), id=id)
    return default_tolerances(*inputs) if rtol is None else (rtol, atol)


# ---- pairs ---------------------------------------------------------------------------------------


class Pair(abc.ABC):
    """Two items to compare. A subclass raises UnsupportedInputs for what it cannot; options it does not know
    are ignored, since every kind is asked with all of them."""

    def __init__(self, actual, expected, *, id: tuple = (), **unknown_parameters):
        self.actual, self.expected, self.id = actual, expected, id

    @staticmethod
    def _inputs_not_supported() -> NoReturn:
        raise UnsupportedInputs

    @staticmethod
    def _check_inputs_isinstance(*inputs, cls):
        if not all(isinstance(x, cls) for x in inputs):
            raise UnsupportedInputs

    def _fail(self, type: type[Exception], msg: str, *, id: tuple = ()) -> NoReturn:
        # A subclass may call it while its inputs are processed, before they have an id.
        raise ErrorMeta(type, msg, id=id or getattr(self, "id", ()))

    @abc.abstractmethod
    def compare(self):
        """ErrorMeta if they differ."""

    def extra_repr(self) -> Sequence:
        """Further lines of the repr: names of attributes, or (name, value)."""
        return []

    def __repr__(self):
        lines = ["id", "actual", "expected", *self.extra_repr()]
        pairs = [(x, getattr(self, x)) if isinstance(x, str) else x for x in lines]
        body = "".join(f"    {name}={value},\n".replace("\n", "\n    ")[:-4] for name, value in pairs)
        return f"{type(self).__name__}(\n{body})"


class ObjectPair(Pair):
    """Any two objects, compared by ==."""

    def compare(self):
        """ErrorMeta if they are not equal."""
        try:
            equal = self.actual == self.expected
        except Exception as error:
            raise ErrorMeta(
                ValueError, f"{self.actual} == {self.expected} failed with:\n{error}.", id=self.id
            ) from error
        if not equal:
            self._fail(AssertionError, f"{self.actual} != {self.expected}")


class NonePair(Pair):
    """None and something."""

    def __init__(self, actual, expected, **other_parameters):
        if actual is not None and expected is not None:
            self._inputs_not_supported()
        super().__init__(actual, expected, **other_parameters)

    def compare(self):
        """ErrorMeta if one is not None."""
        if self.actual is not self.expected:
            self._fail(AssertionError, f"None mismatch: {self.actual} is not {self.expected}")


class BooleanPair(Pair):
    """Two booleans, Python's or NumPy's."""

    _supported_types = (bool, np.bool_)

    def __init__(self, actual, expected, *, id=(), **other_parameters):
        actual, expected = self._process_inputs(actual, expected, id=id)
        super().__init__(actual, expected, id=id, **other_parameters)

    def _process_inputs(self, actual, expected, *, id):
        self._check_inputs_isinstance(actual, expected, cls=self._supported_types)
        return [self._to_bool(x, id=id) for x in (actual, expected)]

    def _to_bool(self, bool_like, *, id) -> bool:
        if not isinstance(bool_like, self._supported_types):
            raise ErrorMeta(TypeError, f"Unknown boolean type {type(bool_like)}.", id=id)
        return bool(bool_like)

    def compare(self):
        """ErrorMeta if they are not the same."""
        if self.actual is not self.expected:
            self._fail(AssertionError, f"Booleans mismatch: {self.actual} is not {self.expected}")


class NumberPair(Pair):
    """Two numbers, Python's or NumPy's, compared with the tolerances of int64, float64 and complex128."""

    _TYPE_TO_DTYPE = {int: int64, float: float64, complex: complex128}
    _NUMBER_TYPES = (int, float, complex)
    _supported_types = (*_NUMBER_TYPES, np.number)

    def __init__(
        self, actual, expected, *, id=(), rtol=None, atol=None, equal_nan=False, check_dtype=False, **other_parameters
    ):
        actual, expected = self._process_inputs(actual, expected, id=id)
        super().__init__(actual, expected, id=id, **other_parameters)
        dtypes = [self._dtype_of(x) for x in (actual, expected)]
        self.rtol, self.atol = get_tolerances(*dtypes, rtol=rtol, atol=atol, id=id)
        self.equal_nan, self.check_dtype = equal_nan, check_dtype

    def _process_inputs(self, actual, expected, *, id):
        self._check_inputs_isinstance(actual, expected, cls=self._supported_types)
        return [self._to_number(x, id=id) for x in (actual, expected)]

    def _to_number(self, number_like, *, id):
        if isinstance(number_like, np.number):
            return number_like.item()
        if not isinstance(number_like, self._NUMBER_TYPES):
            raise ErrorMeta(TypeError, f"Unknown number type {type(number_like)}.", id=id)
        return number_like

    def _dtype_of(self, number):
        kinds = self._TYPE_TO_DTYPE
        return kinds[type(number)] if type(number) in kinds else kinds[int]  # bool, and classes of integers

    def compare(self):
        """ErrorMeta if they are not close, or of two types while these are compared."""
        a, e = self.actual, self.expected
        if self.check_dtype and type(a) is not type(e):
            self._fail(AssertionError, f"The (d)types do not match: {type(a)} != {type(e)}.")
        if a == e or (self.equal_nan and a != a and e != e):
            return
        if not (cmath.isfinite(a) and cmath.isfinite(e) and abs(a - e) <= self.atol + self.rtol * abs(e)):
            self._fail(AssertionError, _mismatch.scalar_mismatch(a, e, self.rtol, self.atol))

    def extra_repr(self):
        """The options."""
        return ["rtol", "atol", "equal_nan", "check_dtype"]


class TensorLikePair(Pair):
    """Two tensors, or what torch.as_tensor takes; of classes that are related."""

    def __init__(
        self,
        actual,
        expected,
        *,
        id=(),
        allow_subclasses=True,
        rtol=None,
        atol=None,
        equal_nan=False,
        check_device=True,
        check_dtype=True,
        check_layout=True,
        check_stride=False,
        **other_parameters,
    ):
        actual, expected = self._process_inputs(actual, expected, id=id, allow_subclasses=allow_subclasses)
        super().__init__(actual, expected, id=id, **other_parameters)
        self.rtol, self.atol = get_tolerances(actual, expected, rtol=rtol, atol=atol, id=id)
        self.equal_nan, self.check_device, self.check_dtype = equal_nan, check_device, check_dtype
        self.check_layout, self.check_stride = check_layout, check_stride

    def _process_inputs(self, actual, expected, *, id, allow_subclasses):
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        if not related or (not allow_subclasses and type(actual) is not type(expected)):
            self._inputs_not_supported()
        actual, expected = self._to_tensor(actual), self._to_tensor(expected)
        for tensor in (actual, expected):
            self._check_supported(tensor, id=id)
        return actual, expected

    def _to_tensor(self, tensor_like) -> Tensor:
        if isinstance(tensor_like, Tensor):
            return tensor_like
        try:
            return as_tensor(tensor_like)
        except Exception:
            self._inputs_not_supported()

    def _check_supported(self, tensor, *, id):
        """For subclasses: every layout is supported."""

    def compare(self):
        """ErrorMeta if an attribute differs, or the values are not close."""
        actual, expected = self.actual, self.expected
        self._compare_attributes(actual, expected)
        if actual.is_meta or expected.is_meta:
            return
        self._compare_values(*self._equalize_attributes(actual, expected))

    def _compare_attributes(self, actual, expected):
        asked = [
            ("shape", True, actual.shape, expected.shape),
            ("layout", self.check_layout, actual.layout, expected.layout),
            ("device", self.check_device, actual.device, expected.device),
            ("dtype", self.check_dtype, actual.dtype, expected.dtype),
        ]
        if self.check_stride:
            asked.append(("stride()", True, actual.stride(), expected.stride()))
        for name, is_asked, a, e in asked:
            if is_asked and a != e:
                self._fail(AssertionError, f"The values for attribute '{name}' do not match: {a} != {e}.")

    def _equalize_attributes(self, actual, expected):
        """Both on one device, of one dtype and layout, where these were not compared."""
        if actual.device != expected.device:
            actual, expected = actual.cpu(), expected.cpu()
        if actual.dtype != expected.dtype:
            dtype = promote_types(actual.dtype, expected.dtype)
            actual, expected = actual.to(dtype), expected.to(dtype)
        if actual.layout != expected.layout:
            actual, expected = (x.to_dense() if _is_sparse(x) else x for x in (actual, expected))
        return actual, expected

    def _compare_values(self, actual, expected):
        if not _is_sparse(actual):
            self._compare_regular(actual, expected, self.rtol, self.atol, "")
            return
        kind = SPARSE_NAMES[str(actual.layout).removeprefix("torch.")]
        if kind == "COO":
            indices, values = (("indices", "_indices"),), "_values"
        else:
            names = ("crow_indices", "col_indices") if kind.endswith("SR") else ("ccol_indices", "row_indices")
            indices, values = tuple((name, name) for name in names), "values"
        counts = [int(x._nnz()) for x in (actual, expected)]
        if counts[0] != counts[1]:
            self._fail(
                AssertionError,
                f"The number of specified values in sparse {kind} tensors does not match: {counts[0]} != {counts[1]}",
            )
        for name, method in indices:
            self._compare_regular(getattr(actual, method)(), getattr(expected, method)(), 0, 0, f"Sparse {kind} {name}")
        of_values = getattr(actual, values)(), getattr(expected, values)()
        self._compare_regular(*of_values, self.rtol, self.atol, f"Sparse {kind} values")

    def _compare_regular(self, actual, expected, rtol, atol, what: str):
        text = _mismatch.tensor_mismatch(actual, expected, rtol, atol, self.equal_nan, what)
        if text is not None:
            self._fail(AssertionError, text)

    def extra_repr(self):
        """The options."""
        return ["rtol", "atol", "equal_nan", "check_device", "check_dtype", "check_layout", "check_stride"]


def _is_sparse(tensor: Tensor) -> bool:
    return str(tensor.layout) != "torch.strided"


# ---- structures ----------------------------------------------------------------------------------


def originate_pairs(
    actual, expected, *, pair_types, sequence_types=(Sequence,), mapping_types=(Mapping,), id: tuple = (), **options
) -> list[Pair]:
    """The pairs of the items in sequences and mappings of any depth. ErrorMeta if these do not match."""
    kinds = {"pair_types": pair_types, "sequence_types": sequence_types, "mapping_types": mapping_types, **options}
    if _both(actual, expected, sequence_types) and not _both(actual, expected, (str, bytes), any):
        keys: Sequence = range(len(actual))
        if len(actual) != len(expected):
            text = f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
            raise ErrorMeta(AssertionError, text, id=id)
    elif _both(actual, expected, mapping_types):
        keys = _common_keys(actual, expected, id)
    else:
        return [_pair(actual, expected, pair_types, id, options)]
    return [pair for key in keys for pair in originate_pairs(actual[key], expected[key], id=(*id, key), **kinds)]


def _both(actual, expected, types, how=all) -> bool:
    return how(isinstance(x, types) for x in (actual, expected))


def _common_keys(actual, expected, id) -> list:
    if set(actual) == set(expected):
        return _sorted_if_possible(actual)
    missing, extra = (_sorted_if_possible(keys) for keys in (set(expected) - set(actual), set(actual) - set(expected)))
    raise ErrorMeta(
        AssertionError,
        "The keys of the mappings do not match:\n"
        f"Missing keys in the actual mapping: {missing}\n"
        f"Additional keys in the actual mapping: {extra}",
        id=id,
    )


def _sorted_if_possible(keys) -> list:
    try:
        return sorted(keys)
    except Exception:
        return list(keys)


def _pair(actual, expected, pair_types, id, options) -> Pair:
    for kind in pair_types:
        try:
            return kind(actual, expected, id=id, **options)
        except UnsupportedInputs:
            continue
    text = f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}."
    raise ErrorMeta(TypeError, text, id=id)


def not_close_error_metas(
    actual, expected, *, pair_types=(ObjectPair,), sequence_types=(Sequence,), mapping_types=(Mapping,), **options
) -> list[ErrorMeta]:
    """What is wrong with each item that differs; an error if the inputs cannot be compared."""
    try:
        pairs = originate_pairs(
            actual,
            expected,
            pair_types=pair_types,
            sequence_types=sequence_types,
            mapping_types=mapping_types,
            **options,
        )
    except ErrorMeta as found:
        raise found.to_error() from None
    return [found for pair in pairs if (found := _wrong(pair)) is not None]


def _wrong(pair: Pair) -> ErrorMeta | None:
    try:
        pair.compare()
    except ErrorMeta as found:
        return found.with_traceback(None)
    return None


def _unwrap_dtensor_for_comparison(actual, expected):
    """The inputs: no tensor here is spread over processes."""
    return actual, expected


# ---- functions -----------------------------------------------------------------------------------


def assert_close(
    actual,
    expected,
    *,
    allow_subclasses=True,
    rtol=None,
    atol=None,
    equal_nan=False,
    check_device=True,
    check_dtype=True,
    check_layout=True,
    check_stride=False,
    msg=None,
):
    """AssertionError unless |actual - expected| <= atol + rtol * |expected| everywhere.

    Takes tensors, numbers and what torch.as_tensor takes, in sequences and mappings of any depth.
    Tolerances come from the dtypes if they are not given.

    >>> torch.testing.assert_close(torch.tensor([1.0]), torch.tensor([1.0 + 1e-7]))
    """
    try:
        pairs = originate_pairs(
            actual,
            expected,
            pair_types=(NonePair, BooleanPair, NumberPair, TensorLikePair),
            allow_subclasses=allow_subclasses,
            rtol=rtol,
            atol=atol,
            equal_nan=equal_nan,
            check_device=check_device,
            check_dtype=check_dtype,
            check_layout=check_layout,
            check_stride=check_stride,
        )
        for pair in pairs:
            pair.compare()
    except ErrorMeta as found:
        error = found.to_error(msg)
    else:
        return
    raise error


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """Deprecated: assert_close without checks of dtype and device.

    >>> torch.testing.assert_allclose(torch.ones(2), torch.ones(2) + 1e-6)
    """
    warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed "
        "in a future release. Please use `torch.testing.assert_close()` instead.",
        FutureWarning,
    )
    if rtol is None and atol is None:
        pairs = [default_tolerances(x) for x in (actual, expected) if isinstance(x, Tensor)] or [(1.3e-6, 1e-5)]
        rtol, atol = (max(column) for column in zip(*pairs))
    assert_close(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=True,
        check_dtype=False,
        check_stride=False,
        msg=msg or None,
    )
