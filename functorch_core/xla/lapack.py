"""LAPACK through jaxlib's kernels (SciPy's LAPACK): registration, and the text of the calls.

Matrices are column-major: a layout on operands and results says so, and XLA transposes where it
must. Leading dimensions are a batch, which the kernel loops over. `info` is returned, not raised:
potrf of a matrix that is not positive definite gives info > 0 and no error.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..locks import RLock
from . import blas
from .binding import register_lapack
from .dtypes import mlir_type

_lock = RLock()
_initialized = False


_CALLED = re.compile(r"custom_call @lapack_.*:")
_MATRIX = re.compile(r"tensor<([0-9x]*[0-9]+x[0-9]+)x(?:complex<)?f")


def make_used(module_text: str) -> None:
    """Make LAPACK ready, with as many threads as suit, if a module that is compiled or read from the disk calls it."""
    if "lapack_" not in module_text:
        return
    initialize()
    calls = [line for line in module_text.splitlines() if _CALLED.search(line)]
    blas.before_a_program([tuple(map(int, m.split("x"))) for line in calls for m in _MATRIX.findall(line)])


def initialize() -> None:
    """Register and load LAPACK once. Takes 130 to 490 ms, and is therefore not done at import."""
    global _initialized
    with _lock:
        if not _initialized:
            register_lapack()
            _initialized = True


# ---- custom calls --------------------------------------------------------------------------------


def custom_call_text(
    target: str,
    operands: Sequence[str],
    operand_avals: Sequence[Any],
    result_avals: Sequence[Any],
    *,
    result: str,
    attributes: str = "",
    operand_matrices: Sequence[bool] | None = None,
    result_matrices: Sequence[bool] | None = None,
    aliases: Sequence[tuple[int, int]] = (),
    has_side_effect: bool = False,
) -> tuple[str, list[str]]:
    """A `stablehlo.custom_call` of the typed FFI, and the names of its results.

    operands: SSA names ('%a'). result: the SSA name of the results ('%r', then '%r#0', '%r#1').
    attributes: the text inside backend_config's braces ('uplo = 76 : ui8').
    operand_matrices, result_matrices: which are column-major matrices; None is none.
    aliases: (operand, result) pairs that may share memory.
    """
    fields = [f"api_version = 4 : i32, backend_config = {{{attributes}}}"]
    if has_side_effect:
        fields.append("has_side_effect = true")
    if operand_matrices is not None or result_matrices is not None:
        fields.append(f"operand_layouts = [{_layouts(operand_avals, operand_matrices)}]")
        fields.append(f"result_layouts = [{_layouts(result_avals, result_matrices)}]")
    if aliases:
        one = len(result_avals) == 1
        pairs = ", ".join(_alias(operand, None if one else to) for operand, to in aliases)
        fields.append(f"output_operand_aliases = [{pairs}]")
    text = (
        f"{_results(result, len(result_avals))}"
        f"stablehlo.custom_call @{target}({', '.join(operands)}) {{{', '.join(fields)}}}"
        f" : ({_types(operand_avals)}) -> {_result_types(result_avals)}"
    )
    return text, _result_names(result, len(result_avals))


def _results(result: str, count: int) -> str:
    return "" if count == 0 else f"{result} = " if count == 1 else f"{result}:{count} = "


def _result_names(result: str, count: int) -> list[str]:
    return [result] if count == 1 else [f"{result}#{index}" for index in range(count)]


def _types(avals: Sequence[Any]) -> str:
    return ", ".join(mlir_type(tuple(aval.shape), aval.dtype) for aval in avals)


def _result_types(avals: Sequence[Any]) -> str:
    return _types(avals) if len(avals) == 1 else f"({_types(avals)})"


def _layouts(avals: Sequence[Any], matrices: Sequence[bool] | None) -> str:
    flags = matrices if matrices is not None else [False] * len(avals)
    return ", ".join(_layout(len(aval.shape), flag) for aval, flag in zip(avals, flags))


def _layout(ndim: int, is_matrix: bool) -> str:
    """Minor-to-major order of the dimensions."""
    if ndim == 0:
        return "dense<> : tensor<0xindex>"
    order = list(range(ndim - 1, -1, -1))
    if is_matrix:
        order[:2] = ndim - 2, ndim - 1
    return f"dense<{order}> : tensor<{ndim}xindex>"


def _alias(operand: int, result: int | None) -> str:
    indices = [] if result is None else [result]
    return (
        f"#stablehlo.output_operand_alias<output_tuple_indices = {indices}, "
        f"operand_index = {operand}, operand_tuple_indices = []>"
    )


# ---- LAPACK's routines ---------------------------------------------------------------------------
# routine -> (operands, results, aliases); M is a matrix, v a vector or scalar of the batch.
# Enumerated attributes are characters: `flag('uplo', 'L')`.

_ROUTINES = {
    # ---- factorisations
    "potrf": ("M", "Mv", ((0, 0),)),  # -> M, info; uplo. The other triangle is left as it was.
    "getrf": ("M", "Mvv", ((0, 0),)),  # -> M, pivots (from 1), info
    "geqrf": ("M", "Mv", ((0, 0),)),  # -> M, tau
    "orgqr": ("Mv", "M", ((0, 0),)),  # M, tau -> Q
    "ormqr": ("MvM", "M", ((2, 0),)),  # M, tau, C -> C; left, transpose: bool
    "geqp3": ("Mv", "Mvv", ((0, 0), (1, 1))),  # M, pivots -> M, pivots (from 1), tau
    # ---- eigenvalues and singular values
    "syevd": ("M", "Mvv", ((0, 0),)),  # -> vectors, values, info; mode V N, uplo
    "geev": ("M", None, ()),  # -> values, left, right, info; compute_left, compute_right
    "gesdd": ("M", "MvMMv", ((0, 0),)),  # -> scratch, s, u, vt, info; mode A S N
    "gesvd": ("M", "MvMMv", ((0, 0),)),
    "gees": ("M", None, ((0, 0),)),  # -> t, z, values, sdim, info; mode V N, sort N
    # ---- reductions and solves
    "gehrd": ("M", "Mvv", ((0, 0),)),  # -> M, tau, info; low, high: i32
    "sytrd": ("M", "Mvvvv", ((0, 0),)),  # -> M, d, e, tau, info; uplo
    "trsm": ("MM", "M", ((1, 0),)),  # A, B -> B; side, uplo, trans_x N T C, diag N U
    "gtsv": ("vvvM", "vvvMv", ((0, 0), (1, 1), (2, 2), (3, 3))),
}
# Real input has its eigenvalues in two arrays, real and imaginary parts.
_BY_KIND = {"geev": {"f": "vvMMv", "c": "vMMv"}, "gees": {"f": "MMvvvv", "c": "MMvvv"}}

_PREFIXES = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
_COMPLEX_NAMES = {"or": "un", "sy": "he"}  # orgqr is ungqr, syevd is heevd


def lapack_target(routine: str, dtype: np.dtype | str) -> str:
    """The target's name: `lapack_target('syevd', 'complex64')` is 'lapack_cheevd_ffi'."""
    dtype = np.dtype(dtype)
    if dtype.name not in _PREFIXES:
        raise TypeError(f"LAPACK has no {dtype.name}; expected one of {', '.join(_PREFIXES)}")
    if routine not in _ROUTINES:
        raise ValueError(f"no LAPACK routine {routine!r}; there are {', '.join(_ROUTINES)}")
    if dtype.kind == "c":
        routine = _COMPLEX_NAMES.get(routine[:2], routine[:2]) + routine[2:]
    return f"lapack_{_PREFIXES[dtype.name]}{routine}_ffi"


def flag(name: str, character: str) -> str:
    """An enumerated attribute: `flag('uplo', 'L')` is 'uplo = 76 : ui8'."""
    return f"{name} = {ord(character)} : ui8"


def lapack_call(
    routine: str,
    operands: Sequence[str],
    operand_avals: Sequence[Any],
    result_avals: Sequence[Any],
    attributes: str = "",
    aliases: Sequence[tuple[int, int]] | None = None,
    *,
    result: str,
) -> tuple[str, list[str]]:
    """The text of a LAPACK call, and the names of its results.

    routine: 'potrf', 'syevd', ... (the first operand's dtype completes the name). The rest as for
    `custom_call_text`; aliases None takes the routine's own.
    Raises ValueError if the number of operands or results is not the routine's.
    """
    dtype = np.dtype(operand_avals[0].dtype)
    target = lapack_target(routine, dtype)
    takes, gives, own_aliases = _ROUTINES[routine]
    gives = gives or _BY_KIND[routine][dtype.kind]
    if (len(operand_avals), len(result_avals)) != (len(takes), len(gives)):
        raise ValueError(
            f"{target} has {len(takes)} operands and {len(gives)} results, "
            f"got {len(operand_avals)} and {len(result_avals)}"
        )
    return custom_call_text(
        target,
        operands,
        operand_avals,
        result_avals,
        result=result,
        attributes=attributes,
        operand_matrices=[kind == "M" for kind in takes],
        result_matrices=[kind == "M" for kind in gives],
        aliases=own_aliases if aliases is None else aliases,
    )
