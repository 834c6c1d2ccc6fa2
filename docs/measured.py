"""What is measured for a name's page: the dtypes, shapes and errors of calls like that of its example.

No table says what an op takes. The example in the docstring is executed, its call of the name is taken, and made again
with operands of other dtypes and shapes and with arguments that are wrong. What came out stands on the page.
tests/test_measured.py makes the same calls of real PyTorch.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import doctest
import functools
import inspect
import io
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch_names

DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()
OPERANDS = ("Tensor", "Parameter", "Array")  # the classes of what is varied, in any of the libraries
NOTE = "_note_call"  # what calls in examples are rewritten to
FAR = 1000  # an index out of bounds
RATES = "lr momentum weight_decay eps rho alpha lr_decay".split()  # of optimizers
DIMS, NO_DIM = ("dim", "axis", "dim0", "axis0", "start_dim", "axes", "dims"), 9
LONGEST = 150  # of an error that is shown
NOTE_OF_PAGE = "Measured when this page was made, by calls like that of the example."


@dataclass
class Measured:
    """What came of the calls: (of what, result or error), each as text."""

    names: list[str]  # of the operands
    of_dtype: list[str]  # those that are given other dtypes
    dtypes: list[tuple[str, str]] = field(default_factory=list)
    shapes: list[tuple[str, str]] = field(default_factory=list)
    errors: list[tuple[str, str]] = field(default_factory=list)

    def page(self) -> list[str]:
        """The lines of a page."""
        dtypes = _table(_listed(self.of_dtype) or "`dtype`", "dtype of the result", self.dtypes)
        shapes = _table(_listed(self.names), "shape of the result", self.shapes)
        errors = [f"- `{what}`: {_code(error)}" for what, error in self.errors]
        tables = [("Dtypes", dtypes), ("Shapes", shapes), ("Errors", errors)]
        lines = [line for title, rows in tables if rows for line in (f"**{title}**", "", *rows, "")]
        return [*lines, NOTE_OF_PAGE, ""] if lines else []


def _table(first: str, second: str, rows: list[tuple[str, str]]) -> list[str]:
    body = [f"| {_code(what) if '(' in what else what} | {_said(told)} |" for what, told in rows]
    return [f"| {first} | {second} |", "|---|---|", *body] if body else []


def _said(told: str) -> str:
    return _code(told) if is_error(told) or "(" in told else told


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _code(text: str) -> str:
    return "`" + text.replace("`", "'").replace("|", "\\|").strip() + "`"


@dataclass
class Sample:
    """A call that can be made again with other operands."""

    call: Callable
    arguments: inspect.BoundArguments
    places: list[tuple]  # where the operands are: a parameter's name and the steps into what it was given
    spellings: frozenset[str] = frozenset()  # of the function in examples

    def operands(self) -> list:
        return [functools.reduce(lambda x, step: x[step], place[1:], self.given[place[0]]) for place in self.places]

    @property
    def given(self) -> dict:
        return self.arguments.arguments

    def names(self) -> list[str]:
        """What the operands are called: the parameter, with a number if it was given several."""
        firsts = [place[0] for place in self.places]
        starred = [q.name for q in self.arguments.signature.parameters.values() if q.kind is q.VAR_KEYWORD]
        return [
            place[1] if place[0] in starred else first if firsts.count(first) == 1 else f"{first}[{place[-1]}]"
            for first, place in zip(firsts, self.places)
        ]

    def again(self, operands: list, **changed):
        """The result with other operands, or arguments."""
        arguments = copy.copy(self.arguments)
        arguments.arguments = {name: _copied(x) for name, x in self.given.items()}
        for (name, *steps), new in zip(self.places, operands):
            arguments.arguments[name] = _put(arguments.arguments[name], steps, new)
        arguments.arguments.update(changed)
        return self.call(*arguments.args, **arguments.kwargs)


def _copied(x):
    return x.detach().clone() if _is_operand(x) and hasattr(x, "detach") else x


def _put(x, steps: list, new):
    """x with another element at the end of the steps."""
    if not steps:
        return new
    if isinstance(x, dict):
        return {**x, steps[0]: _put(x[steps[0]], steps[1:], new)}
    return type(x)([_put(y, steps[1:], new) if i == steps[0] else y for i, y in enumerate(x)])


def _is_operand(x) -> bool:
    return type(x).__name__ in OPERANDS and str(getattr(x, "layout", "torch.strided")) == "torch.strided"


def _places(x, above: tuple) -> Iterator[tuple]:
    """Where operands are in an argument: itself, or in lists and tuples."""
    if _is_operand(x):
        yield above
    elif type(x) in (list, tuple, dict):
        for step, y in x.items() if type(x) is dict else enumerate(x):
            yield from _places(y, (*above, step))


# ---- the call of an example ----------------------------------------------------------------------


class _Calls(ast.NodeTransformer):
    """f(x) becomes _note_call("f", f, x)."""

    def visit_Call(self, node):
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name == "super":  # without arguments it is the compiler's
            return node
        args = [ast.Constant(name), node.func, *node.args]
        return ast.copy_location(ast.Call(ast.Name(NOTE, ast.Load()), args, node.keywords), node)


def sample(name: str, thing, text: str, known: dict, like: Sample | None = None) -> Sample | None:
    """The first call of a thing in the examples of a text that has operands or a dtype; None if there is none.

    `like` is the same call of this library: PyTorch's functions have no signature.
    """
    found: list[Sample] = []

    def note(called, f, *args, **kwargs):
        args = tuple(list(x) if inspect.isgenerator(x) else x for x in args)  # model.parameters()
        self = _receiver(f)
        ours = f is thing or isinstance(thing, type) and isinstance(f, thing)
        if ours or not isinstance(thing, type) and called in spellings:
            whole = (self, *args) if self is not None and not isinstance(f, type) else args
            if hasattr(thing, "arg_constraints"):  # of a distribution, which takes tensors where examples have numbers
                whole = tuple(known["torch"].tensor(x) if type(x) is float else x for x in whole)
            made = _sample(f if self is None else _unbound(f), whole, kwargs, like and like.arguments.signature)
            if made is not None:
                made.spellings = spellings
                found.append(made)
        return f(*args, **kwargs)

    spellings = like.spellings if like else _spellings(name, thing)
    spaces = {**known, name: thing, NOTE: note}
    for example in doctest.DocTestParser().get_examples(text):
        if example.exc_msg is None:
            tree = ast.fix_missing_locations(_Calls().visit(ast.parse(example.source)))
            exec(compile(tree, "<example>", "exec"), spaces)  # noqa: S102  the project's own docstrings
    best = [x for x in found if x.places] or [x for x in found if "dtype" in x.arguments.signature.parameters]
    return _as_method(best[0], name, thing) if best else None


def _spellings(name: str, thing) -> frozenset[str]:
    """What a function may be called in its example: x.arctan_ shows torch.atan."""
    op = torch_names.declaration(thing)
    return frozenset({name, name.removesuffix("_"), getattr(thing, "__name__", name), getattr(op, "name", name)})


def _receiver(f):
    """What a method is bound to: the operand before the first."""
    if isinstance(f, functools.partial):
        return f.args[0]
    self = getattr(f, "__self__", None)
    return self if _is_operand(self) else None


def _unbound(f):
    if isinstance(f, functools.partial):
        return f.func
    return getattr(f, "__func__", None) or getattr(type(f.__self__), f.__name__)


def _sample(f, args: tuple, kwargs: dict, signature: inspect.Signature | None) -> Sample | None:
    kwargs = {name: x for name, x in kwargs.items() if name not in ("out", "generator")}
    try:
        signature = signature or inspect.signature(getattr(f, "forward", f))  # of a layer, forward's
        bound = signature.bind(*args, **kwargs)
    except (TypeError, ValueError):
        return None
    places = [place for name, x in bound.arguments.items() for place in _places(x, (name,))]
    return Sample(f, bound, places)


def _as_method(found: Sample, name: str, thing) -> Sample:
    """The call made of an in-place form, whose example shows the function."""
    if name.endswith("_") and getattr(found.call, "__name__", name) != name:
        found.call = thing
    return found


# ---- the same call again -------------------------------------------------------------------------


def measure(found: Sample, lib) -> Measured | None:
    """The calls like a sample's, of dtypes that `lib` has; None of what has no result that is a tensor."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        operands = [x.detach() if hasattr(x, "detach") else x for x in found.operands()]
        try:
            first = found.again(operands)
            leaves = [*_leaves(first)]
        except Exception:  # an example that depends on what came before it, a step that wants a closure
            return None
        if not all(_is_operand(x) or isinstance(x, bool | int | float) for x in leaves or [None]):
            return None
        names = found.names()
        varied = [i for i, x in enumerate(operands) if _dtype(x) == _dtype(operands[0])]
        result = Measured(names, [])
        if operands:
            result.dtypes = _of_dtypes(found, operands, varied, lib)
            result.of_dtype = [names[i] for i in varied]
            result.shapes = list(_of_shapes(found, operands, first))
        elif "dtype" in found.arguments.signature.parameters:
            told = {n: _told(lambda n=n: found.again([], dtype=getattr(lib, n)), _of_dtype) for n in DTYPES}
            result.dtypes = _grouped(told.items())
        result.errors = list(_wrong(found, operands, varied, lib))
        return result


def _of_dtypes(found: Sample, operands: list, varied: list[int], lib) -> list[tuple[str, str]]:
    """The results' dtypes for each dtype of the operands that are of one, and for two of them that differ."""
    indices = "int" in _dtype(operands[0]) and not _works(found, operands, varied, "float32", lib)
    if indices and _works(found, operands, varied[:1], "float32", lib):
        del varied[1:]  # the others have the dtype of the example's numbers by chance

    def told(dtypes: dict[int, str]) -> str:
        return _told(lambda: _with_dtype(found, operands, dtypes, lib), _of_dtype)

    rows = _grouped((name, told(dict.fromkeys(varied, name))) for name in DTYPES)
    if len(varied) > 1:
        rows.append(("float32 with float64", told({**dict.fromkeys(varied, "float64"), varied[0]: "float32"})))
    return rows


def _works(found: Sample, operands: list, which: list[int], name: str, lib) -> bool:
    return not is_error(_told(lambda: _with_dtype(found, operands, dict.fromkeys(which, name), lib), _of_dtype))


def _with_dtype(found: Sample, operands: list, dtypes: dict[int, str], lib):
    """The call with some operands converted; the parameters of a layer go along."""
    new = [_cast(x, getattr(lib, dtypes[i])) if i in dtypes else x for i, x in enumerate(operands)]
    call = found.call
    if hasattr(call, "parameters") and hasattr(call, "state_dict") and not isinstance(call, type):
        name = dtypes[min(dtypes)]
        if name.startswith(("float", "bfloat", "complex")):
            return Sample(copy.deepcopy(call).to(getattr(lib, name)), found.arguments, found.places).again(new)
    return found.again(new)


def _cast(x, dtype):
    return x.to(dtype) if hasattr(x, "detach") else x.astype(dtype)


def _of_shapes(found: Sample, operands: list, first) -> Iterator[tuple[str, str]]:
    """The results' shapes for operands as in the example, batched, without dimensions or elements, and misfits."""
    seen = {_shown(operands)}
    yield _shown(operands), _of_shape(first)
    for new in _shaped(operands):
        if _shown(new) not in seen:
            seen.add(_shown(new))
            yield _shown(new), _told(functools.partial(found.again, new), _of_shape)


def _shaped(operands: list) -> Iterator[list]:
    batched = [x[None][[0, 0]] for x in operands]
    yield batched
    if len(operands) > 1:
        yield [batched[0], *operands[1:]]
        if operands[-1].ndim:
            n = operands[-1].shape[-1]
            yield [*operands[:-1], operands[-1][..., [*range(n), *[0] * 2]] if n else operands[-1]]
    if all(0 not in x.shape for x in operands):
        yield [x.reshape(-1)[0] for x in operands]
        yield [x[:0] if x.ndim else x for x in operands]


def _wrong(found: Sample, operands: list, varied: list[int], lib) -> Iterator[tuple[str, str]]:
    """The errors for arguments that are wrong on purpose."""
    for name, parameter in found.arguments.signature.parameters.items():
        given = found.given.get(name, parameter.default)
        if name in DIMS and isinstance(given, int | None) and not isinstance(given, bool):
            yield from _refused(f"{name}={NO_DIM}", lambda n=name: found.again(operands, **{n: NO_DIM}))
        elif name == "reduction":
            yield from _refused("reduction='other'", lambda n=name: found.again(operands, **{n: "other"}))
        elif name in RATES and isinstance(given, int | float) and not isinstance(given, bool):
            yield from _refused(f"{name}=-1", lambda n=name: found.again(operands, **{n: -1.0}))
    names = found.names()
    for i, x in enumerate(operands):
        if hasattr(found.call, "arg_constraints") and "float" in _dtype(x):
            below = [*operands[:i], x * 0 - 1, *operands[i + 1 :]]
            yield from _refused(f"{names[i]} of -1", lambda b=below: found.again(b))
        elif i not in varied and "int" in _dtype(x):
            far = [*operands[:i], x * 0 + FAR, *operands[i + 1 :]]
            yield from _refused(f"{names[i]} of {FAR}", lambda f=far: found.again(f))


def _refused(what: str, call: Callable) -> Iterator[tuple[str, str]]:
    told = _told(call, lambda result: str(list(_leaves(result))) and "")
    if told:
        yield what, told


def _told(call: Callable, of: Callable) -> str:
    """What is said of a call's result; or its error."""
    try:
        return of(call())
    except Exception as error:  # whichever: it is shown
        return _error(error)


def _error(error: Exception) -> str:
    text = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {text[:LONGEST] + '...' if len(text) > LONGEST else text}"


def _of_dtype(result) -> str:
    return ", ".join(_dtype(x) for x in _leaves(result))


def _of_shape(result) -> str:
    return _shown(list(_leaves(result)))


def _shown(tensors: list) -> str:
    return ", ".join(str(tuple(x.shape)) if _is_operand(x) else type(x).__name__ for x in tensors)


def _leaves(result) -> Iterator:
    """The tensors of a result: of a distribution a sample, of an optimizer the parameters after a step."""
    if hasattr(result, "param_groups"):
        result = _stepped(result)
    elif hasattr(result, "batch_shape"):
        result = result.sample()
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, list | tuple) and type(result).__name__ != "Size":
        for x in result:
            yield from _leaves(x)
    elif result is not None:
        yield result


def _stepped(optimizer) -> list:
    found = [x for group in optimizer.param_groups for x in group["params"]]
    for x in found:
        x.grad = x.detach() * 0 + 1
    optimizer.step()
    return found


def _dtype(x) -> str:
    return str(getattr(x, "dtype", type(x).__name__)).removeprefix("torch.")


def _grouped(rows) -> list[tuple[str, str]]:
    """Dtypes of one result, or of one kind of error, in a row; "the same" where each is kept."""
    rows = list(rows)
    accepted = [told.split(", ") for _, told in rows if not is_error(told)]
    constant = [len(set(column)) == 1 < len(column) for column in zip(*accepted)]
    groups: dict[str, tuple[list[str], str]] = {}
    for name, told in rows:
        parts = zip(told.split(", "), constant)
        kept = ", ".join("the same" if part == name and not always else part for part, always in parts)
        key, shown = (told.partition(":")[0], told) if is_error(told) else (kept, kept)
        groups.setdefault(key, ([], shown))[0].append(name)
    return [(", ".join(names), shown) for names, shown in groups.values()]


def is_error(told: str) -> bool:
    """Whether what is said of a call is its error."""
    return told.partition(":")[0].endswith("Error")
