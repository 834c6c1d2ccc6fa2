"""What dtypes `out=` may have, and what is said of those it may not have.

Most ops convert their result to the dtype of `out` if that is not of a lower category. The ops
named here want the dtype that the result has.
"""
from __future__ import annotations

from ..core import dtypes as dt
from . import _types

CANNOT_CAST = "result type {found} can't be cast to the desired output type {wanted}"
# C++'s names of dtypes, which some messages have.
C_NAMES = {"bfloat16": "c10::BFloat16", "bool": "bool", "complex128": "c10::complex<double>",
           "complex64": "c10::complex<float>", "float16": "c10::Half", "float32": "float",
           "float64": "double", "int16": "short int", "int32": "int", "int64": "long int",
           "int8": "signed char", "uint8": "unsigned char"}

EXACT = "Expected out tensor to have dtype {c_found}, but got {c_wanted} instead"
SAME_TYPE = "{op}(): self and result must have the same scalar type"
MESSAGES: dict[str, str] = {
    # -- pointwise --
    **dict.fromkeys(("ceil", "clamp", "clamp_max", "clamp_min", "floor", "neg", "round", "sign",
                     "trunc"), "Found dtype {wanted} but expected {found}"),
    "complex": "Expected object of scalar type {found} but got scalar type {wanted} for argument "
               "'out'",
    "polar": "Expected object of scalar type {found} but got scalar type {wanted} for argument "
             "'out'",
    "heaviside": "heaviside is not yet implemented for tensors with different dtypes.",
    "isneginf": "isneginf does not support non-boolean outputs.",
    "isposinf": "isposinf does not support non-boolean outputs.",
    "nan_to_num": "nan_to_num: dtype of out: {wanted} should be same as input: {found}",
    "where": "Expected out type to be {found} but got {wanted}",
    # -- products and matrices --
    **dict.fromkeys((
        "addbmm", "addmm", "addmv", "aminmax", "argmax", "argmin", "baddbmm", "bmm", "cross",
        "gather", "index_add", "inverse", "det", "linalg_cross", "linalg_det", "linalg_inv",
        "linalg_solve", "linalg_cholesky", "log_softmax", "matmul", "max", "min", "mm",
        "multinomial", "mv",
        "norm", "renorm", "scatter", "scatter_add", "softmax", "sort", "take_along_dim", "topk",
        "tril", "triu"), EXACT),
    "dot": "result dtype {wanted} does not match input dtype {found}",
    "linalg_norm": "linalg.norm expected out tensor dtype {found} but got: {wanted}",
    # -- reductions --
    "all": "all only supports bool tensor for result, got: {wanted}",
    "amax": "Expected the dtype for input and out to match, but got {found} for input's dtype and "
            "{wanted} for out's dtype.",
    "amin": "Expected the dtype for input and out to match, but got {found} for input's dtype and "
            "{wanted} for out's dtype.",
    "any": "any only supports bool tensor for result, got: {wanted}",
    "logcumsumexp": "expected scalar_type {found} but found {wanted}",
    "quantile": "quantile() out tensor must be same dtype as the input tensor",
    # -- indexing --
    "index_select": SAME_TYPE, "masked_select": SAME_TYPE,
    "nonzero": "nonzero: Expected out tensor to have scalar type {found} but got scalar "
               "type{wanted}",
    "take": "take(): self and out expected to have the same dtype, but got self.dtype = {found} "
            "and out.dtype = {wanted}",
}
TAKES_BYTES = frozenset({"all", "any"})
# Reductions whose dtype is that of `out` unless dtype= is given.
DECIDES = frozenset({"cumprod", "cumsum", "prod", "sum"})


def decided(name: str, out, given):
    """The dtype= of a call with `out`."""
    return given if given is not None or out.dtype is _types.by_name["bool"] and (
        name.startswith("cum")) else out.dtype


def check(name: str, found, wanted, otherwise: str | None = None):
    """RuntimeError (of cat: TypeError) if `out` of dtype `wanted` cannot take a result of dtype
    `found`; `otherwise` is the message for an op that has none of its own."""
    from ._inplace import scalar_name
    if found == wanted or name in TAKES_BYTES and wanted == dt.uint8:
        return
    if wanted == dt.bool_ and name in ("cumprod", "cumsum"):
        raise NotImplementedError(f"\"{name}_out_cpu\" not implemented for 'Bool'")
    message, kind = MESSAGES.get(name, otherwise), RuntimeError
    if message is None:
        if dt.category(found) <= dt.category(wanted):
            return
        message = CANNOT_CAST
        if name in ("cat", "stack"):
            message = "torch.cat(): input types can't be cast to the desired output type {wanted}"
            kind = TypeError
    c_found, c_wanted = (C_NAMES.get(_types.of_numpy(d).name, str(d)) for d in (found, wanted))
    raise kind(message.format(op=name, found=scalar_name(found), wanted=scalar_name(wanted),
                              c_found=c_found, c_wanted=c_wanted))
