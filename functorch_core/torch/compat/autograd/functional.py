"""torch.autograd.functional: Jacobians, Hessians and products with them, by the tape."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ... import ones_like, stack, zeros_like
from ...operators.func.jacobians import jacfwd, jacrev, standard_basis
from ...tape.backward import grad
from ...tape.modes import enable_grad, is_grad_enabled, set_grad_enabled
from ...tensors.base import Tensor

INDEPENDENT = "{what} of the user-provided function is independent of input {i}. This is not allowed in strict mode"
WITH_GRAPH = " when create_graph=True."
CONSTANT_GRADIENT = (
    "The gradient with respect to input {i} is independent of the inputs of the user-provided function. This is not "
    "allowed in strict mode."
)
CONSTANT_JACOBIAN = (
    "While computing the hessian, found that the jacobian of the user-provided function with respect to input {i} is "
    "independent of the input. This is not allowed in strict mode. You should ensure that your function is twice "
    "differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for "
    "example)."
)
INDEPENDENT_TANGENT = (
    "The gradient with respect to the input is independent of entry {i} in the grad_outputs when using the double "
    "backward trick to compute forward mode gradients. This is not allowed in strict mode."
)
NOT_VECTORIZED = (
    "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. Please either "
    "set `strict=False` or `vectorize=False`."
)
NO_GRADIENT = (
    "Output {i} of the user-provided function does not require gradients. The outputs "
    "must be computed in a differentiable manner from the input when running in strict "
    "mode."
)


# ---- tuples of tensors ---------------------------------------------------------------------------


def _as_tuple(x, what: str, name: str) -> tuple[bool, tuple]:
    """(whether x was a tuple, x as a tuple); TypeError unless it holds tensors."""
    if isinstance(x, Tensor):
        return False, (x,)
    if not isinstance(x, (tuple, list)):
        raise TypeError(
            f"The {what} given to {name} must be either a Tensor or a tuple of Tensors "
            f"but the given {what} has type {type(x)}."
        )
    for i, y in enumerate(x):
        if not isinstance(y, Tensor):
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of "
                f"Tensors but the value at index {i} has type {type(y)}."
            )
    return True, tuple(x)


def _leaves(inputs: Sequence, create_graph: bool) -> tuple:
    """Inputs whose gradients can be asked for; with history only for create_graph."""
    if create_graph:
        return tuple([x.view_as(x) if x.requires_grad else x.detach().requires_grad_() for x in inputs])
    return tuple([x.detach().requires_grad_() for x in inputs])


def _result(found: Sequence, is_tuple: bool, create_graph: bool):
    """Results without history unless asked for; alone if the inputs were."""
    found = tuple([x if create_graph else x.detach() for x in found])
    return found if is_tuple else found[0]


def _grad_postprocess(inputs: Sequence, create_graph: bool) -> tuple:
    """Tensors, or tuples of them, without history unless it was asked for."""
    if not isinstance(inputs[0], Tensor):
        return tuple([_grad_postprocess(x, create_graph) for x in inputs])
    return inputs if create_graph else tuple([x.detach() for x in inputs])


def _tuple_postprocess(res: Sequence, to_unpack):
    """A result in tuples, alone where the argument was no tuple: `to_unpack` says for the result whether it was, or
    for it and for each of its parts."""
    outer, inner = to_unpack if isinstance(to_unpack, tuple) else (to_unpack, True)
    parts = res if inner else tuple([part[0] for part in res])
    return parts if outer else parts[0]


def _directions(v, likes: Sequence, is_tuple: bool, what: str, name: str) -> tuple:
    """The vector(s) v in the shapes of `likes`."""
    if v is None:
        if len(likes) != 1 or likes[0].numel() != 1:
            single = "input to the user-provided function is" if what == "input" else "user-provided function returns"
            raise RuntimeError(f"The vector v can only be None if the {single} a single Tensor with a single element.")
        return (ones_like(likes[0]),)
    found = _as_tuple(v, "v", name)[1]
    if len(found) != len(likes) and not is_tuple:
        raise RuntimeError("The given v should contain a single Tensor.")
    if len(found) != len(likes):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(likes)} but got {len(found)}.")
    for i, (x, y) in enumerate(zip(found, likes)):
        if x.shape != y.shape:
            raise RuntimeError(
                f"Entry {i} in v has invalid size: should be {y.shape} but got {x.shape}."
                if is_tuple
                else f"v has invalid size: should be {y.shape} but got {x.shape}."
            )
    return found


def _call(func: Callable, inputs: Sequence, name: str):
    return _as_tuple(func(*inputs), "outputs of the user-provided function", name)


def _filled(grads: Sequence, likes: Sequence, missing: str | None = None, constant: str | None = None) -> tuple:
    """Gradients with zeros where there are none; in strict mode RuntimeError (`missing`) for those, and
    (`constant`) for those without history."""
    out = []
    for i, (g, x) in enumerate(zip(grads, likes)):
        if g is None:
            if missing is not None:
                raise RuntimeError(missing.format(what="The output", i=i))
            g = x.detach() * 0
        elif constant is not None and not g.requires_grad:
            raise RuntimeError(constant.format(i=i))
        out.append(g)
    return tuple(out)


def _strictly(strict: bool, create_graph: bool, what: str, missing: str | None = None) -> tuple:
    """The errors of `_filled` in strict mode: for gradients that are not there, and for constant ones."""
    if not strict:
        return None, None
    constant = INDEPENDENT.replace("{what}", what) + WITH_GRAPH
    return (INDEPENDENT + "." if missing is None else missing), (constant if create_graph else None)


def _require_history(outputs: Sequence, strict: bool):
    for i, y in enumerate(outputs):
        if strict and not y.requires_grad:
            raise RuntimeError(NO_GRADIENT.format(i=i))


def _grads(outputs: Sequence, inputs: Sequence, cts=None, create_graph: bool = False) -> tuple:
    """autograd.grad of the outputs that have a history; None where there is no gradient."""
    pairs = [(y, None if cts is None else c) for y, c in zip(outputs, cts or outputs) if y.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    return grad(
        [y for y, _ in pairs],
        inputs,
        [c for _, c in pairs] if cts else None,
        create_graph=create_graph,
        retain_graph=True,
        allow_unused=True,
    )


def _construct_standard_basis_for(tensors: Sequence, tensor_numels: Sequence) -> tuple:
    """The unit vectors of all elements of all tensors, as matrices; the name by which tests ask for them."""
    return tuple([basis.reshape(len(basis), -1) for basis in standard_basis(tensors)])


# ---- products ------------------------------------------------------------------------------------


def vjp(func: Callable, inputs, v=None, create_graph: bool = False, strict: bool = False):
    """(outputs, v @ Jacobian) of a function of tensors.

    >>> torch.autograd.functional.vjp(torch.sin, torch.zeros(2), torch.ones(2))
    (tensor([0., 0.]), tensor([1., 1.]))
    """
    with enable_grad():
        was_tuple, inputs = _as_tuple(inputs, "inputs", "vjp")
        inputs = _leaves(inputs, create_graph)
        out_tuple, outputs = _call(func, inputs, "vjp")
        _require_history(outputs, strict)
        v = _directions(v, outputs, out_tuple, "output", "vjp")
    with _mode(create_graph):
        found = _grads(outputs, inputs, v, create_graph)
        found = _filled(found, inputs, *_strictly(strict, create_graph, "The jacobian"))
    return (_result(outputs, out_tuple, create_graph), _result(found, was_tuple, create_graph))


def _mode(create_graph: bool):
    return set_grad_enabled(bool(create_graph) or is_grad_enabled())


def jvp(func: Callable, inputs, v=None, create_graph: bool = False, strict: bool = False):
    """(outputs, Jacobian @ v) of a function of tensors, by two backward passes.

    >>> torch.autograd.functional.jvp(torch.sin, torch.zeros(2), torch.ones(2))
    (tensor([0., 0.]), tensor([1., 1.]))
    """
    with enable_grad():
        was_tuple, inputs = _as_tuple(inputs, "inputs", "jvp")
        inputs = _leaves(inputs, create_graph)
        v = _directions(v, inputs, was_tuple, "input", "jvp")
        out_tuple, outputs = _call(func, inputs, "jvp")
        _require_history(outputs, strict)
        dummies = tuple([zeros_like(y).detach().requires_grad_() for y in outputs])
        checks = (INDEPENDENT + ".", CONSTANT_GRADIENT) if strict else ()
        pulled = _filled(_grads(outputs, inputs, dummies, True), inputs, *checks)
        found = _grads(pulled, dummies, v, create_graph)
        found = _filled(found, outputs, *_strictly(strict, create_graph, "The jacobian", INDEPENDENT_TANGENT))
    return (_result(outputs, out_tuple, create_graph), _result(found, out_tuple, create_graph))


def vhp(func: Callable, inputs, v=None, create_graph: bool = False, strict: bool = False):
    """(output, v @ Hessian) of a function with a scalar output.

    >>> torch.autograd.functional.vhp(lambda x: (x ** 3).sum(), torch.tensor([1., 2.]), torch.tensor([1., 0.]))
    (tensor(9.), tensor([6., 0.]))
    """
    return _hessian_product(func, inputs, v, create_graph, strict, "vhp")


def hvp(func: Callable, inputs, v=None, create_graph: bool = False, strict: bool = False):
    """(output, Hessian @ v) of a function with a scalar output; see vhp, which is the same.

    >>> torch.autograd.functional.hvp(lambda x: (x ** 3).sum(), torch.tensor([1., 2.]), torch.tensor([1., 0.]))
    (tensor(9.), tensor([6., 0.]))
    """
    return _hessian_product(func, inputs, v, create_graph, strict, "hvp")


def _hessian_product(func, inputs, v, create_graph: bool, strict: bool, name: str):
    with enable_grad():
        was_tuple, inputs = _as_tuple(inputs, "inputs", name)
        inputs = _leaves(inputs, create_graph)
        v = _directions(v, inputs, was_tuple, "input", name)
        out_tuple, outputs = _call(func, inputs, name)
        _require_history(outputs, strict)
        _check_scalar_output(out_tuple, outputs, name)
        jac = _filled(_grads(outputs, inputs, None, True), inputs, *_of_jacobian(strict))
        missing = INDEPENDENT.replace("{what}", "The jacobian") + "."
        checks = _strictly(strict, create_graph, "The hessian", missing)
        found = _filled(_grads(jac, inputs, v, create_graph), inputs, *checks)
    return (_result(outputs, out_tuple, create_graph), _result(found, was_tuple, create_graph))


def _of_jacobian(strict: bool) -> tuple:
    """The errors of `_filled` for a Jacobian that will be differentiated."""
    return (INDEPENDENT + ".", CONSTANT_JACOBIAN) if strict else ()


def _check_scalar_output(is_tuple: bool, outputs: Sequence, name: str):
    if is_tuple or outputs[0].numel() != 1:
        if is_tuple:
            raise RuntimeError(f"The function given to {name} should return a single Tensor")
        raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")


# ---- matrices ------------------------------------------------------------------------------------


def jacobian(
    func: Callable,
    inputs,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
):
    """The Jacobian of a function of tensors: for each output and input a tensor of shape
    (*output shape, *input shape), in nested tuples where there are several.

    >>> torch.autograd.functional.jacobian(torch.sin, torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise ValueError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: '
            'If your function has more outputs than inputs, "forward-mode" tends to '
            'be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        return _forward_jacobian(func, inputs, create_graph, strict, vectorize)
    with enable_grad():
        was_tuple, inputs = _as_tuple(inputs, "inputs", "jacobian")
        inputs = _leaves(inputs, create_graph)
        out_tuple, outputs = _call(func, inputs, "jacobian")
        _require_history(outputs, strict)
        rows = [_rows(k, y, inputs, create_graph, strict, vectorize) for k, y in enumerate(outputs)]
    rows = [_result(r, was_tuple, create_graph) for r in rows]
    return tuple(rows) if out_tuple else rows[0]


def _rows(k: int, y, inputs: Sequence, create_graph: bool, strict: bool, vectorize: bool) -> list:
    """The blocks of output k: for each input (*output shape, *input shape)."""
    if not y.requires_grad:
        return [x.new_zeros((*y.shape, *x.shape)) for x in inputs]
    (basis,) = standard_basis([y])
    if vectorize and strict:
        raise RuntimeError(NOT_VECTORIZED)
    if vectorize:
        found = grad(
            y, inputs, basis, retain_graph=True, create_graph=create_graph, allow_unused=True, is_grads_batched=True
        )
    else:
        found = _stacked_rows(y, inputs, basis, create_graph)
    if strict:
        _filled(
            found,
            inputs,
            *_strictly(True, create_graph, "The jacobian", INDEPENDENT.replace("{what}", f"Output {k}") + "."),
        )
    return [
        x.new_zeros((*y.shape, *x.shape)) if g is None else g.reshape((*y.shape, *x.shape))
        for g, x in zip(found, inputs)
    ]


def _stacked_rows(y, inputs: Sequence, basis, create_graph: bool) -> list:
    rows = [
        grad(y, inputs, ct, retain_graph=True, create_graph=create_graph, allow_unused=True) for ct in basis.unbind(0)
    ]
    return (
        [None if not column or column[0] is None else stack(list(column)) for column in zip(*rows)]
        if rows
        else [None] * len(inputs)
    )


def _forward_jacobian(func, inputs, create_graph: bool, strict: bool, vectorize: bool):
    if strict:
        raise RuntimeError(
            "torch.autograd.functional.jacobian: `strict=True` and `strategy="
            '"forward-mode"` are not supported together (yet). Please either set '
            '`strict=False` or `strategy="reverse-mode"`.'
        )
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse "
            "Hessian is only implemented for `vectorize=True`."
        )
    was_tuple, inputs = _as_tuple(inputs, "inputs", "jacobian")
    found = jacfwd(func, tuple(range(len(inputs))))(*inputs)
    several = isinstance(found[0], tuple)
    rows = [_result(r, was_tuple, create_graph) for r in (found if several else [found])]
    return tuple(rows) if several else rows[0]


def hessian(
    func: Callable,
    inputs,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
):
    """The Hessian of a function with a scalar output: a tensor of shape (*input, *input), or a
    tuple of tuples of them for several inputs.

    >>> torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), torch.ones(2))
    tensor([[6., 0.],
            [0., 6.]])
    """
    was_tuple, inputs = _as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("reverse-mode", "forward-mode"):
        raise ValueError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def first(*xs):
        out_tuple, outputs = _call(func, xs, "hessian")
        _check_scalar_output(out_tuple, outputs, "hessian")
        found = _grads([outputs[0].reshape(())], xs, None, True)
        if strict:
            _require_history(outputs, True)
        return _filled(found, xs, *(CONSTANT_JACOBIAN, CONSTANT_JACOBIAN) if strict else ())

    if outer_jacobian_strategy == "forward-mode":

        def scalar(*xs):
            return func(*xs).reshape(())

        every = tuple(range(len(inputs)))
        rows = jacfwd(jacrev(scalar, every), every)(*inputs)
    else:
        rows = jacobian(first, inputs, create_graph, strict, vectorize)
    found = tuple([_result(r, True, create_graph) for r in rows])
    return found if was_tuple else found[0][0]
