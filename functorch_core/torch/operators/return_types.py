"""The named tuples that ops with several results return: torch.return_types."""

from __future__ import annotations

from collections import namedtuple


def _sequence(name: str, n: int, values: tuple) -> tuple:
    """The fields of what a class is called with: one sequence, as PyTorch's classes are, and perhaps a dictionary."""
    if not values:
        raise TypeError("structseq() missing required argument 'sequence' (pos 1)")
    if isinstance(values[0], (str, bytes)) or not hasattr(values[0], "__iter__") or len(values) > 2:
        raise TypeError("constructor requires a sequence")
    found = tuple(values[0])
    if len(found) != n:
        raise TypeError(f"torch.return_types.{name}() takes a {n}-sequence ({len(found)}-sequence given)")
    return found


all_return_types: list[type] = []


def _named(name: str, *fields: str, arguments: str = "x", out: bool = True) -> type:
    """A named tuple class that prints as PyTorch's; the op is called with `arguments` in its example.

    With `out` there is another one for results of `out=`, `name`_out, which is the first one's `_with_out`.
    """
    call = f"torch.{name.replace('linalg_', 'linalg.')}({arguments})"
    made = _class(name, fields)
    made.__doc__ = f"""What {name} returns: a named tuple ({", ".join(fields)}).

    >>> x = torch.eye(2)
    >>> isinstance({call}, torch.return_types.{name})
    True
    """
    if out:
        made._with_out = globals()[f"{name}_out"] = _class(f"{name}_out", fields)
        made._with_out.__doc__ = f"""What {name} returns when it is given `out=`: a named tuple ({", ".join(fields)}).

    >>> torch.return_types.{name}_out.n_fields
    {len(fields)}
    """
    return made


def _class(name: str, fields: tuple[str, ...]) -> type:
    base = namedtuple(name, fields)

    def __repr__(self):
        parts = ",\n".join(f"{f}={getattr(self, f)!r}" for f in self._fields)
        return f"torch.return_types.{name}(\n{parts})"

    def __new__(cls, *values):
        if len(values) != len(fields) or values[-1].__class__ is dict:
            values = _sequence(name, len(fields), values)
        return tuple.__new__(cls, values)

    def __reduce__(self):
        return self.__class__, (tuple(self), {})

    members = {"__slots__": (), "__module__": "torch.return_types", "__repr__": __repr__, "__str__": __repr__}
    members |= {"__new__": __new__, "__reduce__": __reduce__}
    members |= {"n_fields": len(fields), "n_sequence_fields": len(fields), "n_unnamed_fields": 0}
    made = type(name, (base,), members)
    all_return_types.append(made)
    return made


aminmax = _named("aminmax", "min", "max")
cummax = _named("cummax", "values", "indices", arguments="x, 0")
cummin = _named("cummin", "values", "indices", arguments="x, 0")
frexp = _named("frexp", "mantissa", "exponent")
histogram = _named("histogram", "hist", "bin_edges", arguments="x, 2")
histogramdd = _named("histogramdd", "hist", "bin_edges", arguments="x, [2, 2]", out=False)
kthvalue = _named("kthvalue", "values", "indices", arguments="x, 1")
max = _named("max", "values", "indices", arguments="x, 0")
median = _named("median", "values", "indices", arguments="x, 0")
min = _named("min", "values", "indices", arguments="x, 0")
mode = _named("mode", "values", "indices")
nanmedian = _named("nanmedian", "values", "indices", arguments="x, 0")
sort = _named("sort", "values", "indices")
topk = _named("topk", "values", "indices", arguments="x, 1")

# ---- linear algebra ----------------------------------------------------------------------------------

geqrf = _named("geqrf", "a", "tau")
linalg_cholesky_ex = _named("linalg_cholesky_ex", "L", "info")
linalg_eig = _named("linalg_eig", "eigenvalues", "eigenvectors")
linalg_eigh = _named("linalg_eigh", "eigenvalues", "eigenvectors")
linalg_inv_ex = _named("linalg_inv_ex", "inverse", "info")
linalg_ldl_factor = _named("linalg_ldl_factor", "LD", "pivots")
linalg_ldl_factor_ex = _named("linalg_ldl_factor_ex", "LD", "pivots", "info")
linalg_lstsq = _named("linalg_lstsq", "solution", "residuals", "rank", "singular_values", arguments="x, x")
linalg_lu = _named("linalg_lu", "P", "L", "U")
linalg_lu_factor = _named("linalg_lu_factor", "LU", "pivots")
linalg_lu_factor_ex = _named("linalg_lu_factor_ex", "LU", "pivots", "info")
linalg_qr = _named("linalg_qr", "Q", "R")
linalg_slogdet = _named("linalg_slogdet", "sign", "logabsdet")
linalg_solve_ex = _named("linalg_solve_ex", "result", "info", arguments="x, x")
linalg_svd = _named("linalg_svd", "U", "S", "Vh")
lu_unpack = _named("lu_unpack", "P", "L", "U", arguments="*torch.linalg.lu_factor(x)")
qr = _named("qr", "Q", "R")
slogdet = _named("slogdet", "sign", "logabsdet")
svd = _named("svd", "U", "S", "V")
triangular_solve = _named("triangular_solve", "solution", "cloned_coefficient", arguments="x, x")
