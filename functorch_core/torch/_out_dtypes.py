"""What dtypes `out=` may have, and what is said of those it may not have.

Most ops convert their result to the dtype of `out` if that is not of a lower category. The ops
named here want the dtype that the result has.
"""

from __future__ import annotations

from ..core import dtypes as dt
from . import _types

CANNOT_CAST = "result type {found} can't be cast to the desired output type {wanted}"
# C++'s names of dtypes, which some messages have.
C_NAMES = {
    "bfloat16": "c10::BFloat16",
    "bool": "bool",
    "complex128": "c10::complex<double>",
    "complex32": "c10::complex<c10::Half>",
    "complex64": "c10::complex<float>",
    "float16": "c10::Half",
    "float32": "float",
    "float64": "double",
    "int16": "short int",
    "int32": "int",
    "int64": "long int",
    "int8": "signed char",
    "uint8": "unsigned char",
}

EXACT = "Expected out tensor to have dtype {c_found}, but got {c_wanted} instead"
SAME_TYPE = "{op}(): self and result must have the same scalar type"
CASTABLE_ONLY = "{op}: Expected {what} to be safely castable from {{found}} dtype, but got {what} with dtype {{wanted}}"
SORTED = (
    "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or "
    "Long(int64) depending on whether out_int32 flag is True, but we got output tensor's dtype "
    "{wanted} and out_int32 flag is {int32}"
)
MESSAGES: dict[str, str] = {
    # -- pointwise --
    **dict.fromkeys(
        (
            "_elu_op",
            "abs",
            "bitwise_not",
            "ceil",
            "clamp",
            "clamp_max",
            "clamp_min",
            "conj_physical",
            "floor",
            "frac",
            "gelu",
            "hardshrink",
            "neg",
            "round",
            "sgn",
            "sign",
            "softplus",
            "softshrink",
            "trunc",
        ),
        "Found dtype {wanted} but expected {found}",
    ),
    "float_power": "the output given to float_power has dtype {wanted} but the operation's result "
    "requires dtype {found}",
    "frexp": "torch.frexp() expects mantissa to have dtype {c_found} but got {c_wanted}",
    "ldexp": "ldexp can't be cast to the desired output type {wanted}",
    "signbit": "signbit does not support non-boolean outputs.",
    "complex": "Expected object of scalar type {found} but got scalar type {wanted} for argument 'out'",
    "polar": "Expected object of scalar type {found} but got scalar type {wanted} for argument 'out'",
    "heaviside": "heaviside is not yet implemented for tensors with different dtypes.",
    "isneginf": "isneginf does not support non-boolean outputs.",
    "isposinf": "isposinf does not support non-boolean outputs.",
    "nan_to_num": "nan_to_num: dtype of out: {wanted} should be same as input: {found}",
    "where": "Expected out type to be {found} but got {wanted}",
    # -- products and matrices --
    **dict.fromkeys(
        (
            "addmm",
            "addmv",
            "aminmax",
            "argmax",
            "argmin",
            "as_strided_copy",
            "baddbmm",
            "bmm",
            "cross",
            "diag",
            "gather",
            "index_add",
            "inverse",
            "det",
            "isin",
            "linalg_cross",
            "linalg_det",
            "linalg_inv",
            "linalg_eigh",
            "linalg_eigvalsh",
            "linalg_inv_ex",
            "linalg_lu",
            "linalg_lu_factor",
            "linalg_matrix_power",
            "linalg_qr",
            "linalg_slogdet",
            "linalg_solve",
            "linalg_cholesky",
            "linalg_svd",
            "linalg_svdvals",
            "linalg_vector_norm",
            "log_softmax",
            "matmul",
            "matrix_power",
            "max",
            "min",
            "mm",
            "msort",
            "norm",
            "renorm",
            "scatter",
            "scatter_add",
            "slogdet",
            "softmax",
            "sort",
            "svd",
            "take_along_dim",
            "topk",
            "triangular_solve",
            "tril",
            "triu",
            "unbind_copy",
        ),
        EXACT,
    ),
    "addbmm": "self and mat2 must have the same dtype, but got {wanted} and {found}",
    "histc": "torch.histogram: input tensor and hist tensor should have the same dtype, but got "
    "input {c_found} and hist {c_wanted}",
    "linalg_eig": CASTABLE_ONLY.format(op="torch.linalg.eig", what="eigenvalues"),
    "linalg_eigvals": CASTABLE_ONLY.format(op="torch.linalg.eigvals", what="eigenvalues"),
    "linalg_matrix_norm": "linalg.matrix_norm expected out tensor dtype {found} but got: {wanted}",
    "linalg_multi_dot": "multi_dot(): expected out tensor to have dtype {c_found} but got {c_wanted}",
    **dict.fromkeys(("linalg_solve_triangular", "logsigmoid"), "expected scalar type {found} but found {wanted}"),
    "linalg_norm": "linalg.norm expected out tensor dtype {found} but got: {wanted}",
    "linalg_vecdot": "linalg.vecdot: Expected out of dtype{found} but found {wanted}",
    **dict.fromkeys(
        ("median", "nanmedian"),
        "Expected tensor for 'values' to have the same type as "
        "tensor for argument #2 'self'; but type torch.{wanted}Tensor does not equal "
        "torch.{found}Tensor (while checking arguments for median)",
    ),
    "multinomial": "multinomial expects {found} tensor out, got: {wanted}",
    "mv": "addmv input tensors must have the same dtype, but got {wanted}, {found}, and {found}",
    "vdot": "result dtype {wanted} does not match input dtype {found}",
    **dict.fromkeys(
        ("inner", "tensordot"),
        "tensordot: Expected the output tensor to have dtype {found}, but got an output tensor with dtype {wanted}",
    ),
    "dot": "result dtype {wanted} does not match input dtype {found}",
    # -- reductions --
    "all": "all only supports bool tensor for result, got: {wanted}",
    "amax": "Expected the dtype for input and out to match, but got {found} for input's dtype and "
    "{wanted} for out's dtype.",
    "amin": "Expected the dtype for input and out to match, but got {found} for input's dtype and "
    "{wanted} for out's dtype.",
    "any": "any only supports bool tensor for result, got: {wanted}",
    **dict.fromkeys(("cummax", "cummin", "logcumsumexp"), "expected scalar_type {found} but found {wanted}"),
    "frexp.1": "torch.frexp() expects exponent to have int dtype but got {c_wanted}",
    "kthvalue.1": "output indices must be of scalar type Long",
    **dict.fromkeys(
        ("median.1", "nanmedian.1"),
        "Expected tensor for argument #1 'indices' to have "
        "scalar type Long; but got torch.{wanted}Tensor instead (while checking "
        "arguments for median)",
    ),
    "mode.1": "expected scalar type 'Long' but got '{wanted}' for indices output",
    "kthvalue": "output values must be of same type as input",
    "mode": "expected scalar type '{found}' but got '{wanted}' for values output",
    "nanquantile": "quantile() out tensor must be same dtype as the input tensor",
    "quantile": "quantile() out tensor must be same dtype as the input tensor",
    # -- indexing --
    "bucketize": SORTED,
    "searchsorted": SORTED,
    "index_select": SAME_TYPE,
    "masked_select": SAME_TYPE,
    "narrow_copy": "Expected self.dtype() == output.dtype() to be true, but got false.  (Could this "
    "error message be improved?  If so, please report an enhancement request to "
    "PyTorch.)",
    "nonzero": "nonzero: Expected out tensor to have scalar type {found} but got scalar type{wanted}",
    "take": "take(): self and out expected to have the same dtype, but got self.dtype = {found} "
    "and out.dtype = {wanted}",
}
# Messages of ops that convert their result if `out` is not of a lower category.
CASTABLE = {
    **{
        name: CASTABLE_ONLY.format(op=says, what=what)
        for name, says, what in (
            ("cholesky", "cholesky", "result"),
            ("cholesky_solve", "cholesky_solve", "result"),
            ("linalg_matrix_power", "matrix_power", "result"),
            ("matrix_power", "matrix_power", "result"),
            ("geqrf", "torch.geqrf", "a"),
            ("linalg_cond", "linalg.cond", "result"),
            ("linalg_householder_product", "torch.linalg.householder_product", "result"),
            ("linalg_lstsq", "torch.linalg.lstsq", "solution"),
            ("linalg_matrix_rank", "torch.linalg.matrix_rank", "result"),
            ("linalg_pinv", "linalg.pinv", "result"),
            ("linalg_tensorinv", "tensorinv", "result"),
            ("linalg_tensorsolve", "tensorsolve", "result"),
        )
    },
    "diag": "diag: result type {found} can't be cast to the desired out= type {wanted}",
    "logsumexp": "logsumexp(): Expected floating point type for result tensor, but got: {wanted}",
    **{
        f"fft_{kind}{end}": f"{kind}{'n' * bool(end)} expects a {what} output tensor, but got {{wanted}}"
        for kind, what in (
            ("fft", "complex"),
            ("ifft", "complex"),
            ("rfft", "complex"),
            ("ihfft", "complex"),
            ("hfft", "floating point"),
            ("irfft", "floating point"),
        )
        for end in ("", "2", "n")
    },
    "mvlgamma": "mvlgamma: result type {found} can't be cast to the desired output type {found}",
}
# Ops that draw or compute in the dtype of `out`: their kernel, and the dtypes it has.
KERNELS = {
    "bernoulli": ("bernoulli_tensor_cpu_self_", dt.ORDERED),
    "linspace": ("linspace_cpu", dt.ALL - {dt.bool_}),
    "logspace": ("logspace_cpu", dt.ALL - {dt.bool_}),
    "nanmean": ("nansum_cpu", dt.FLOATING),
    "nansum": ("nansum_cpu", dt.FLOATING),
    "normal": ("normal_kernel_cpu", dt.INEXACT),
    "randperm": ("randperm", dt.REAL),
}
# Ops that resize `out` without a warning.
SILENT = frozenset(
    {
        "addbmm",
        "arange",
        "bernoulli",
        "empty",
        "eye",
        "full",
        "logsigmoid",
        "multinomial",
        "narrow_copy",
        "ones",
        "randint",
        "randperm",
        "zeros",
    }
)
# Ops that write to `out` although several of its elements are one place.
TAKES_OVERLAP = frozenset(
    {
        "bmm",
        "cummax",
        "cummin",
        "empty",
        "eye",
        "full",
        "histc",
        "mv",
        "ones",
        "randperm",
        "threshold",
        "tril",
        "triu",
        "zeros",
    }
)
# Ops whose `out` gets the history of the result; the others refuse operands that require grad.
FOLLOWED = frozenset(
    {
        "as_strided_copy",
        "conj_physical",
        "diag",
        "floor_divide",
        "heaviside",
        "inner",
        "log_softmax",
        "nanquantile",
        "quantile",
        "softmax",
        "tensordot",
    }
)
TAKES_BYTES = frozenset({"all", "any"})
# Reductions whose dtype is that of `out` unless dtype= is given.
DECIDES = frozenset({"cumprod", "cumsum", "prod", "sum"})


# Ops that would read operands after they have written to `out`.
READS_LATE = frozenset({"cat", "gather", "index_select", "masked_select", "take"})
SHARED_OUT = (
    "unsupported operation: some elements of the input tensor and the written-to tensor "
    "refer to a single memory location. Please clone() the tensor before performing the "
    "operation."
)
# What looks at `out` before there is a result.
ONE_OUT = DECIDES | {
    "arange",
    "empty",
    "eye",
    "full",
    "linspace",
    "logspace",
    "ones",
    "rand",
    "randint",
    "randn",
    "randperm",
    "range",
    "zeros",
}


def decided(name: str, out, given):
    """The dtype= of a call with `out`."""
    return given if given is not None or out.dtype is _types.by_name["bool"] and (name.startswith("cum")) else out.dtype


def check(name: str, found, wanted, otherwise: str | None = None):
    """RuntimeError (of cat: TypeError) if `out` of dtype `wanted` cannot take a result of dtype
    `found`; `otherwise` is the message for an op that has none of its own."""
    from ._inplace import scalar_name

    kernel = KERNELS.get(name)
    if kernel is not None and wanted not in kernel[1]:
        raise NotImplementedError(f"\"{kernel[0]}\" not implemented for '{scalar_name(wanted)}'")
    if name == "bernoulli":
        return
    if found == wanted or name in TAKES_BYTES and wanted == dt.uint8:
        return
    if wanted == dt.bool_ and name in ("cumprod", "cumsum"):
        raise NotImplementedError(f"\"{name}_out_cpu\" not implemented for 'Bool'")
    message, kind = MESSAGES.get(name, otherwise), RuntimeError
    if dt.category(found) > dt.category(wanted):
        message = CASTABLE.get(name, message)
    if message is None:
        if dt.category(found) <= dt.category(wanted):
            return
        message = CANNOT_CAST
        if name in ("cat", "stack"):
            message = "torch.cat(): input types can't be cast to the desired output type {wanted}"
            kind = TypeError
    c_found, c_wanted = (C_NAMES.get(_types.of_numpy(d).name, str(d)) for d in (found, wanted))
    raise kind(
        message.format(
            op=name,
            found=scalar_name(found),
            wanted=scalar_name(wanted),
            c_found=c_found,
            c_wanted=c_wanted,
            int32=found == dt.int32,
        )
    )
