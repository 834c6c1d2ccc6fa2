"""Text of a tensor, character for character as PyTorch writes it.

Everything here works on NumPy arrays (ml_dtypes arrays for bfloat16 and float8) plus names, so that
it knows nothing of the Tensor class. Public: `set_printoptions`, `get_printoptions`,
`printoptions`, `format_tensor`, and `format_contents` for callers that assemble their own frame
(sparse tensors, for example).
"""

import contextlib
import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

# ------------------------------------------------------------------------------------ options


@dataclasses.dataclass
class PrintOptions:
    """The numbers that `set_printoptions` changes."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PROFILES = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}

_options = PrintOptions()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print, for the whole process.

    An option left at None keeps its value, except `sci_mode`, where None means "choose by the
    numbers" and is what every call without it goes back to (as in PyTorch). `profile` is one of
    'default', 'short', 'full'; other options given in the same call win over it.

    >>> torch.set_printoptions(precision=2)
    >>> torch.tensor([1.12345])
    tensor([1.12])
    >>> torch.set_printoptions(profile="default")
    """
    changes = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    # An unknown profile changes nothing, as in PyTorch.
    wanted = PROFILES.get(profile, {}) | {k: v for k, v in changes.items() if v is not None}
    for name, value in wanted.items():
        setattr(_options, name, value)
    _options.sci_mode = sci_mode


def get_printoptions() -> dict[str, object]:
    """The current print options, ready to be passed to `set_printoptions` as keywords.

    >>> get_printoptions()["precision"]
    4
    """
    return dataclasses.asdict(_options)


@contextlib.contextmanager
def printoptions(**options: object) -> Iterator[None]:
    """Change the print options inside a `with` block; takes what `set_printoptions` takes.

    >>> with printoptions(sci_mode=True):
    ...     print(format_tensor(np.array([1.5], np.float32), dtype_name="torch.float32"))
    tensor([1.5000e+00])
    """
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


# ----------------------------------------------------------------------------- one element's text

# A formatted element is padded on the left to the width of the widest *finite nonzero* element:
# nan, inf and zeros do not count and may stick out. That is PyTorch's rule, kept on purpose.
ElementFormat = tuple[Callable[[object], str], int]


def _padded(text_of: Callable[[object], str], width: int) -> ElementFormat:
    return (lambda value: text_of(value).rjust(width)), width


def _exact_format(data: np.ndarray) -> ElementFormat:
    """Integers and booleans: as Python writes them."""
    width = max((len(str(value)) for value in data.ravel().tolist()), default=1)
    return _padded(str, width)


def _whole_text(value: float) -> str:
    text = f"{value:.0f}"
    return text + "." if math.isfinite(value) else text


def _is_scientific(magnitude: np.ndarray) -> bool:
    """Whether the spread or size of these (nonempty, positive, float64) numbers asks for 1e+00."""
    if _options.sci_mode is not None:
        return bool(_options.sci_mode)
    smallest, largest = float(magnitude.min()), float(magnitude.max())
    # The quotient of two doubles may overflow to inf, which is "more than 1000" as wished.
    with np.errstate(over="ignore"):
        spread = float(np.float64(largest) / np.float64(smallest))
    return spread > 1000.0 or largest > 1.0e8 or smallest < 1.0e-4


def _counted(data: np.ndarray) -> np.ndarray:
    """The elements, as float64, that decide notation and width: the finite nonzero ones."""
    values = data.astype(np.float64).ravel()
    if data.dtype.name == "float8_e8m0fnu":
        # This dtype has neither zero nor infinity. PyTorch compares with zero after rounding zero
        # to the smallest number, 2 ** -127, and takes nan for finite.
        return values[values != 2.0**-127]
    return values[np.isfinite(values) & (values != 0)]


def _float_format(data: np.ndarray) -> ElementFormat:
    """Choose "1.", "1.5000" or "1.5000e+00" from all elements together."""
    counted = _counted(data)
    if counted.size == 0:
        return _padded(_whole_text, 1)
    if _is_scientific(np.abs(counted)):
        text_of = f"{{:.{_options.precision}e}}".format
    elif np.array_equal(counted, np.ceil(counted)):
        text_of = _whole_text
    else:
        text_of = f"{{:.{_options.precision}f}}".format
    return _padded(text_of, max(len(text_of(value)) for value in counted.tolist()))


def _complex_format(data: np.ndarray) -> ElementFormat:
    """The real part padded, the imaginary part not, joined by its sign."""
    real_text, real_width = _float_format(data.real)
    imag_text, imag_width = _float_format(data.imag)

    def text_of(value: complex) -> str:
        imag = imag_text(value.imag).lstrip() + "j"
        sign = "" if imag[0] in "+-" else "+"
        return real_text(value.real) + sign + imag

    return text_of, real_width + imag_width + 1


def _element_format(data: np.ndarray, is_floating: bool) -> ElementFormat:
    if data.dtype.kind == "c":
        return _complex_format(data)
    return _float_format(data) if is_floating else _exact_format(data)


# --------------------------------------------------------------------------- the nested brackets


def _is_shortened(length: int, summarize: bool) -> bool:
    return summarize and length > 2 * _options.edgeitems


def _edges(data: np.ndarray) -> np.ndarray:
    """The elements that a summary shows: `edgeitems` at both ends of every dimension."""
    for axis, length in enumerate(data.shape):
        if _is_shortened(length, True):
            kept = [*range(_options.edgeitems), *range(length - _options.edgeitems, length)]
            data = data.take(kept, axis=axis)
    return data


def _with_ellipsis(items: list[str], length: int, summarize: bool, ellipsis: str) -> list[str]:
    """Put the ellipsis in the middle of a shortened dimension's items."""
    if not _is_shortened(length, summarize):
        return items
    edge = _options.edgeitems
    return [*items[:edge], ellipsis, *items[edge:]]


def _row_text(items: Sequence[str], indent: int, element_width: int) -> str:
    """One innermost row, broken into lines that fit the line width."""
    # Two more columns an element for ", ".
    per_line = max(1, math.floor((_options.linewidth - indent) / (element_width + 2)))
    lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _nested_text(shown: list, shape: tuple[int, ...], indent: int, summarize: bool, element: ElementFormat) -> str:
    """Text of nested lists `shown`, the (shortened) elements of an array of `shape`."""
    text_of, width = element
    if not shape:
        return text_of(shown)
    if len(shape) == 1:
        items = [text_of(value) for value in shown]
        return _row_text(_with_ellipsis(items, shape[0], summarize, " ..."), indent, width)
    items = [_nested_text(row, shape[1:], indent + 1, summarize, element) for row in shown]
    items = _with_ellipsis(items, shape[0], summarize, "...")
    separator = "," + "\n" * (len(shape) - 1) + " " * (indent + 1)
    return "[" + separator.join(items) + "]"


def format_contents(data: np.ndarray, *, dtype_name: str, indent: int) -> str:
    """The numbers and brackets of a tensor without the `tensor(` around them.

    `indent` is the column at which the text starts, and so how far its later lines are indented.
    """
    if data.size == 0:
        return "[]"
    summarize = data.size > _options.threshold
    if summarize and data.ndim and not _options.edgeitems:
        return "[...]"
    shown = _edges(data) if summarize else data
    if dtype_name == "torch.complex32":
        shown = shown.astype(np.complex64)  # whose parts NumPy knows
    is_floating = dtype_name.startswith(("torch.float", "torch.bfloat"))
    element = _element_format(shown, is_floating)
    if is_floating:
        # float8 scalars of ml_dtypes do not become Python floats in tolist().
        shown = shown.astype(np.float64)
    return _nested_text(shown.tolist(), data.shape, indent, summarize, element)


# --------------------------------------------------------------------------------- the whole repr


def _shows_dtype(dtype_name: str, default_dtype_name: str, is_guessable: bool) -> bool:
    """Whether `dtype=` must be written: the numbers alone do not tell the dtype."""
    if not is_guessable:
        return dtype_name != default_dtype_name
    is_double = default_dtype_name == "torch.float64"
    complex_name = "torch.complex128" if is_double else "torch.complex64"
    return dtype_name not in (default_dtype_name, complex_name, "torch.int64", "torch.bool")


def _shows_size(data: np.ndarray | None, size: tuple[int, ...]) -> bool:
    if data is None:
        return True
    if data.size == 0:
        return len(size) != 1
    return not _options.edgeitems


def _append_suffixes(text: str, suffixes: Sequence[str], indent: int, force_newline: bool = False) -> str:
    """Add `, dtype=...` and the like, each on a new line where the line would get too long."""
    # PyTorch counts two columns too many on this line, which decides some line breaks.
    column = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if force_newline or column + len(suffix) + 2 > _options.linewidth:
            text += ",\n" + " " * indent + suffix
            column = indent + len(suffix)
            force_newline = False
        else:
            text += ", " + suffix
            column += len(suffix) + 2
    return text + ")"


def _autograd_suffixes(requires_grad: bool, grad_fn_name: str | None, tangent: str | None) -> list[str]:
    suffixes = []
    if grad_fn_name is not None:
        suffixes.append(f"grad_fn=<{grad_fn_name}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")
    return suffixes


def format_tensor(
    data: np.ndarray | None,
    *,
    dtype_name: str,
    default_dtype_name: str = "torch.float32",
    requires_grad: bool = False,
    grad_fn_name: str | None = None,
    device: str | None = None,
    tensor_class: str = "tensor",
    is_parameter: bool = False,
    has_parameter_header: bool = True,
    indent: int = 0,
    size: tuple[int, ...] | None = None,
    tangent: str | None = None,
) -> str:
    """What `repr(t)` gives in PyTorch for a tensor of these numbers.

    Args:
        data: the elements, of any shape; None for a tensor without any (meta device), which then
            needs `size`. float8, bfloat16 and complex32 as ml_dtypes arrays;
            float4_e2m1fn_x2 as uint8.
        dtype_name: as `str(dtype)` says it, `'torch.float32'`.
        default_dtype_name: the default dtype, which is not written out.
        requires_grad, grad_fn_name: `grad_fn=<Name>` wins over `requires_grad=True`.
        device: written if given; None for the default device.
        tensor_class: name before the parenthesis, a subclass's own or 'tensor'.
        is_parameter: whether it is an `nn.Parameter`.
        has_parameter_header: False for a tensor of another class that is only flagged as a
            parameter: its class's own repr is used, without "Parameter containing:".
        indent: column at which the text will stand, counted in line breaks and indentation.
        size: shape to state, `data.shape` unless given.
        tangent: text of the forward-mode tangent.

    >>> format_tensor(np.ones(2), dtype_name="torch.float64", grad_fn_name="AddBackward0")
    'tensor([1., 1.], dtype=torch.float64, grad_fn=<AddBackward0>)'
    """
    if data is None and size is None:
        raise TypeError("format_tensor: a tensor without data needs size=(...), got None for both")
    size = tuple(data.shape) if size is None else tuple(size)
    prefix = tensor_class + "("
    column = indent + len(prefix)
    suffixes = [f"device='{device}'"] if device is not None else []
    if _shows_size(data, size):
        suffixes.append(f"size={size}")
    is_guessable = data is not None and data.size > 0
    if _shows_dtype(dtype_name, default_dtype_name, is_guessable):
        suffixes.append(f"dtype={dtype_name}")
    suffixes += _autograd_suffixes(requires_grad, grad_fn_name, tangent)
    if data is None:
        contents = "..."
    else:
        contents = format_contents(data, dtype_name=dtype_name, indent=column)
    text = _append_suffixes(" " * indent + prefix + contents, suffixes, column)[indent:]
    if is_parameter and tensor_class != "tensor":
        text = f"Parameter({text})"
    return "Parameter containing:\n" + text if is_parameter and has_parameter_header else text


def format_sparse(
    indices: dict[str, np.ndarray],
    values: np.ndarray,
    *,
    size: tuple[int, ...],
    nnz: int,
    layout: str,
    dtype_name: str,
    default_dtype_name: str = "torch.float32",
    requires_grad: bool = False,
    grad_fn_name: str | None = None,
) -> str:
    """What `repr(t)` gives in PyTorch for a sparse tensor, with its indices by name.

    >>> where = {"indices": np.array([[1]])}
    >>> options = {"size": (3,), "nnz": 1, "layout": "torch.sparse_coo", "dtype_name": "torch.float32"}
    >>> print(format_sparse(where, np.array([2.]), **options))
    tensor(indices=tensor([[1]]),
           values=tensor([2.]),
           size=(3,), nnz=1, layout=torch.sparse_coo)
    """
    indent = len("tensor(")
    parts = []
    for name, data in {**indices, "values": values}.items():
        prefix = f"{name}=tensor("
        dtype = dtype_name if name == "values" else "torch.int64"
        text = format_contents(data, dtype_name=dtype, indent=indent + len(prefix))
        parts.append(prefix + text + ("" if data.size else f", size={data.shape}") + ")")
    suffixes = [f"size={tuple(size)}", f"nnz={nnz}"]
    if _shows_dtype(dtype_name, default_dtype_name, True):
        suffixes.append(f"dtype={dtype_name}")
    suffixes.append(f"layout={layout}")
    suffixes += _autograd_suffixes(requires_grad, grad_fn_name, None)
    text = "tensor(" + (",\n" + " " * indent).join(parts)
    return _append_suffixes(text, suffixes, indent, force_newline=layout == "torch.sparse_coo")
