"""The optimization algorithms as pure functions of pytrees: `init` and `update`.

    state = functional.adam.init(params)
    params, state = functional.adam.update(grads, state, params, lr=1e-3)

They take fc.Arrays or anything that fc.asarray takes, and work inside fc.jit, fc.scan and under
fc.vmap. The classes of torch.optim are shells over them. Each rule below updates one parameter;
`_algorithm` says what it is given. Names and defaults are PyTorch's.
"""

from __future__ import annotations

import math

import functorch_core as fc

from ..array.array import Array, wrap
from ..primitives import dot_general, reduce_precision
from ._algorithm import algorithm, zeros
from ._numbers import lerp, maximum, minimum, number, select

# ---- gradient descent ----------------------------------------------------------------------------


def decayed(param, grad, lr, weight_decay, decoupled: bool = False):
    """Weight decay: of the parameter itself if decoupled, otherwise as part of the gradient."""
    if not weight_decay:
        return param, grad
    if decoupled:
        return (1 - lr * weight_decay) * param, grad
    return param, grad + weight_decay * param


def _init_sgd(param, momentum=0.0):
    return {"momentum_buffer": fc.zeros_like(param)} if momentum else {}


@algorithm(init=_init_sgd, switches=("momentum", "weight_decay"))
def sgd(
    param, grad, state, step, *, lr=1e-3, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, maximize=False
):
    """Stochastic gradient descent with momentum.

    buffer = momentum * buffer + (1 - dampening) * grad; param -= lr * buffer. torch.optim.SGD
    starts the buffer with the first gradient, undampened; `init` here with zeros.

    >>> params = {'w': fc.asarray([1., 2.])}
    >>> state = optim.functional.sgd.init(params)
    >>> grads = {'w': fc.asarray([1., 1.])}
    >>> params, state = optim.functional.sgd.update(grads, state, params, lr=0.5)
    >>> params['w']
    Array([0.5, 1.5], dtype=float32)
    """
    param, grad = decayed(param, grad, lr, weight_decay)
    if not momentum:
        return param - lr * grad, {}
    buffer = state.get("momentum_buffer")
    buffer = grad if buffer is None else momentum * buffer + (1 - dampening) * grad
    direction = grad + momentum * buffer if nesterov else buffer
    return param - lr * direction, {"momentum_buffer": buffer}


@algorithm(
    init=lambda param, lr=1e-2: {"eta": _like(lr), "mu": _like(1.0), "ax": fc.zeros_like(param)},
    switches=("weight_decay",),
)
def asgd(param, grad, state, step, *, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0.0, maximize=False):
    """Averaged stochastic gradient descent; the average is "ax" (Polyak and Juditsky 1992).

    >>> params = {'w': fc.asarray([1., 2.])}
    >>> state = optim.functional.asgd.init(params)
    >>> grads = {'w': fc.asarray([1., 1.])}
    >>> params, state = optim.functional.asgd.update(grads, state, params, lr=0.5)
    >>> params['w']
    Array([0.989999, 1.989998], dtype=float32)
    """
    param, grad = decayed(param, grad, lr, weight_decay)
    eta, mu = number(state["eta"]), number(state["mu"])
    param = (1 - lambd * eta) * param - eta * grad
    average = select((1 - mu) > 0, lerp(state["ax"], param, mu), param, param.dtype)
    eta = lr / (1 + lambd * lr * step) ** alpha
    return param, {"eta": eta, "mu": 1 / maximum(step - t0, 1.0), "ax": average}


def _like(x) -> Array:
    return fc.asarray(x, dtype=fc.float32) if not isinstance(x, Array) else x.astype(fc.float32)


def _init_rprop(param, lr=1e-2):
    step_size = complex(lr, lr) if fc.isdtype(param.dtype, "complex floating") else lr
    return {"prev": fc.zeros_like(param), "step_size": fc.full_like(param, step_size)}


@algorithm(init=_init_rprop)
def rprop(param, grad, state, step, *, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50.0), maximize=False):
    """Resilient backpropagation: step sizes by the signs of gradients (Riedmiller 1993).

    >>> params = {'w': fc.asarray([1., 2.])}
    >>> state = optim.functional.rprop.init(params)
    >>> grads = {'w': fc.asarray([1., 1.])}
    >>> params, state = optim.functional.rprop.update(grads, state, params, lr=0.5)
    >>> params['w']
    Array([0.99, 1.99], dtype=float32)
    """
    dtype = grad.dtype
    agreement = grad * state["prev"]
    shrunk = select(agreement < 0, etas[0], fc.ones_like(grad), dtype)
    factor = select(agreement > 0, etas[1], shrunk, dtype)
    step_size = minimum(maximum(state["step_size"] * factor, step_sizes[0]), step_sizes[1])
    grad = fc.where(agreement < 0, fc.zeros_like(grad), grad)
    return param - fc.sign(grad) * step_size, {"prev": grad, "step_size": step_size}


# ---- the Adam family -----------------------------------------------------------------------------


def _moments(state, grad, beta1, beta2):
    """The running averages of the gradient and of its square."""
    return (lerp(state["exp_avg"], grad, 1 - beta1), beta2 * state["exp_avg_sq"] + (1 - beta2) * grad * grad)


def _init_adam(param, amsgrad=False):
    names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if amsgrad else ("exp_avg", "exp_avg_sq")
    return {name: fc.zeros_like(param) for name in names}


@algorithm(init=_init_adam, switches=("weight_decay", "eps_root"), averages=("exp_avg",))
def adam(
    param,
    grad,
    state,
    step,
    *,
    lr=1e-3,
    betas=(0.9, 0.999),
    eps=1e-8,
    weight_decay=0.0,
    amsgrad=False,
    decoupled_weight_decay=False,
    maximize=False,
    eps_root=0.0,
    nesterov=False,
):
    """Adam (Kingma and Ba 2015).

    param -= lr * m / (sqrt(v) + eps), with m and v the running averages of gradient and squared
    gradient, corrected for their start at zero. `amsgrad`: v is the largest so far. `eps_root` is added under
    the root, and `nesterov` looks a step ahead (Dozat 2016), as in optax.

    >>> params = {'w': fc.asarray([1., 2.])}
    >>> state = optim.functional.adam.init(params)
    >>> grads = {'w': fc.asarray([1., 1.])}
    >>> params, state = optim.functional.adam.update(grads, state, params, lr=0.5)
    >>> params['w']
    Array([0.50000006, 1.5       ], dtype=float32)
    """
    param, grad = decayed(param, grad, lr, weight_decay, decoupled_weight_decay)
    exp_avg, exp_avg_sq = _moments(state, grad, *betas)
    new = {"exp_avg": exp_avg, "exp_avg_sq": exp_avg_sq}
    second = exp_avg_sq
    if amsgrad:
        second = new["max_exp_avg_sq"] = fc.maximum(state["max_exp_avg_sq"], exp_avg_sq)
    correction1, correction2 = (1 - beta**step for beta in betas)
    if eps_root:
        root = fc.sqrt(second / correction2 + eps_root) + eps
    else:
        root = fc.sqrt(second) / correction2**0.5 + eps
    if not nesterov:
        return param - (lr / correction1) * (exp_avg / root), new
    ahead = (betas[0] / (1 - betas[0] ** (step + 1))) * exp_avg + ((1 - betas[0]) / correction1) * grad
    return param - lr * (ahead / root), new


@algorithm(init=zeros("exp_avg", "exp_avg_sq"))
def sparse_adam(param, grad, state, step, *, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
    """Adam for the rows of a table that have a gradient; as in torch.optim.SparseAdam, eps is added
    before the correction for the start at zero."""
    exp_avg = lerp(state["exp_avg"], grad, 1 - betas[0])
    exp_avg_sq = lerp(state["exp_avg_sq"], grad * grad, 1 - betas[1])
    correction1, correction2 = (1 - beta**step for beta in betas)
    rate = lr * correction2**0.5 / correction1
    new = param - rate * (exp_avg / (fc.sqrt(exp_avg_sq) + eps))
    return new, {"exp_avg": exp_avg, "exp_avg_sq": exp_avg_sq}


adamw = adam.variant("adamw", weight_decay=1e-2, decoupled_weight_decay=True)


@algorithm(init=zeros("exp_avg", "exp_inf"), switches=("weight_decay",), averages=("exp_avg",))
def adamax(param, grad, state, step, *, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, maximize=False):
    """Adam with the infinity norm in place of the second moment.

    >>> params = {'w': fc.asarray([1., 2.])}
    >>> state = optim.functional.adamax.init(params)
    >>> grads = {'w': fc.asarray([1., 1.])}
    >>> params, state = optim.functional.adamax.update(grads, state, params, lr=0.5)
    >>> params['w']
    Array([0.5, 1.5], dtype=float32)
    """
    param, grad = decayed(param, grad, lr, weight_decay)
    exp_avg = lerp(state["exp_avg"], grad, 1 - betas[0])
    exp_inf = fc.maximum(betas[1] * state["exp_inf"], fc.abs(grad) + eps)
    new = param - (lr / (1 - betas[0] ** step)) * (exp_avg / exp_inf)
    return new, {"exp_avg": exp_avg, "exp_inf": exp_inf}


@algorithm(
    init=lambda param: {"mu_product": _like(1.0), **zeros("exp_avg", "exp_avg_sq")(param)},
    switches=("weight_decay",),
    averages=("exp_avg",),
)
def nadam(
    param,
    grad,
    state,
    step,
    *,
    lr=2e-3,
    betas=(0.9, 0.999),
    eps=1e-8,
    weight_decay=0.0,
    momentum_decay=4e-3,
    decoupled_weight_decay=False,
    maximize=False,
):
    """Adam with Nesterov momentum (Dozat 2016).

    >>> params = {'w': fc.asarray([1., 2.])}
    >>> state = optim.functional.nadam.init(params)
    >>> grads = {'w': fc.asarray([1., 1.])}
    >>> params, state = optim.functional.nadam.update(grads, state, params, lr=0.5)
    >>> params['w']
    Array([0.4717741, 1.4717741], dtype=float32)
    """
    param, grad = decayed(param, grad, lr, weight_decay, decoupled_weight_decay)
    exp_avg, exp_avg_sq = _moments(state, grad, *betas)
    mu, mu_next = (betas[0] * (1 - 0.5 * 0.96 ** (t * momentum_decay)) for t in (step, step + 1))
    mu_product = state["mu_product"] * mu
    so_far = number(mu_product)
    root = fc.sqrt(exp_avg_sq / (1 - betas[1] ** step)) + eps
    param = param - (lr * (1 - mu) / (1 - so_far)) * (grad / root)
    param = param - (lr * mu_next / (1 - so_far * mu_next)) * (exp_avg / root)
    return param, {"mu_product": mu_product, "exp_avg": exp_avg, "exp_avg_sq": exp_avg_sq}


@algorithm(init=zeros("exp_avg", "exp_avg_sq"), switches=("weight_decay",), averages=("exp_avg",))
def radam(
    param,
    grad,
    state,
    step,
    *,
    lr=1e-3,
    betas=(0.9, 0.999),
    eps=1e-8,
    weight_decay=0.0,
    decoupled_weight_decay=False,
    maximize=False,
    eps_corrected=False,
):
    """Adam with a rectified variance: plain momentum while the variance is not known well enough
    (Liu et al. 2020). `eps_corrected`: eps is added to the root of the corrected variance, as in optax.

    >>> params = {'w': fc.asarray([1., 2.])}
    >>> state = optim.functional.radam.init(params)
    >>> grads = {'w': fc.asarray([1., 1.])}
    >>> params, state = optim.functional.radam.update(grads, state, params, lr=0.5)
    >>> params['w']
    Array([0.5, 1.5], dtype=float32)
    """
    param, grad = decayed(param, grad, lr, weight_decay, decoupled_weight_decay)
    exp_avg, exp_avg_sq = _moments(state, grad, *betas)
    correction1, correction2 = (1 - beta**step for beta in betas)
    longest = 2 / (1 - betas[1]) - 1
    length = longest - 2 * step * betas[1] ** step / correction2
    # Below 5 the rectification is not used; it would be the root of a negative number.
    safe = maximum(length, 5.0)
    rectification = ((safe - 4) * (safe - 2) * longest / ((longest - 4) * (longest - 2) * safe)) ** 0.5
    eps = eps * correction2**0.5 if eps_corrected else eps
    adaptive = rectification * correction2**0.5 / (fc.sqrt(exp_avg_sq) + eps)
    rate = select(length > 5.0, adaptive, fc.ones_like(adaptive), adaptive.dtype)
    new = param - lr * (exp_avg / correction1) * rate
    return new, {"exp_avg": exp_avg, "exp_avg_sq": exp_avg_sq}


# ---- adaptive step sizes -------------------------------------------------------------------------


def _init_adagrad(param, initial_accumulator_value=0.0):
    start = initial_accumulator_value
    start = complex(start, start) if fc.isdtype(param.dtype, "complex floating") else start
    return {"sum": fc.full_like(param, start)}


@algorithm(init=_init_adagrad, switches=("weight_decay",))
def adagrad(
    param,
    grad,
    state,
    step,
    *,
    lr=1e-2,
    lr_decay=0.0,
    weight_decay=0.0,
    initial_accumulator_value=0.0,
    eps=1e-10,
    maximize=False,
    eps_in_root=False,
):
    """Step sizes by the root of the sum of squared gradients (Duchi et al. 2011). `eps_in_root`: eps is added
    under the root, as in optax.

    >>> params = {'w': fc.asarray([1., 2.])}
    >>> state = optim.functional.adagrad.init(params)
    >>> grads = {'w': fc.asarray([1., 1.])}
    >>> params, state = optim.functional.adagrad.update(grads, state, params, lr=0.5)
    >>> params['w']
    Array([0.5, 1.5], dtype=float32)
    """
    param, grad = decayed(param, grad, lr, weight_decay)
    total = state["sum"] + grad * grad
    rate = lr / (1 + (step - 1) * lr_decay)
    root = fc.sqrt(total + eps) if eps_in_root else fc.sqrt(total) + eps
    return param - rate * (grad / root), {"sum": total}


@algorithm(init=zeros("square_avg", "acc_delta"), switches=("weight_decay",))
def adadelta(param, grad, state, step, *, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0.0, maximize=False):
    """Step sizes by the ratio of running averages of updates and gradients (Zeiler 2012).

    >>> params = {'w': fc.asarray([1., 2.])}
    >>> state = optim.functional.adadelta.init(params)
    >>> grads = {'w': fc.asarray([1., 1.])}
    >>> params, state = optim.functional.adadelta.update(grads, state, params, lr=0.5)
    >>> params['w']
    Array([0.99841887, 1.9984189 ], dtype=float32)
    """
    param, grad = decayed(param, grad, lr, weight_decay)
    square_avg = rho * state["square_avg"] + (1 - rho) * grad * grad
    delta = fc.sqrt(state["acc_delta"] + eps) / fc.sqrt(square_avg + eps) * grad
    acc_delta = rho * state["acc_delta"] + (1 - rho) * delta * delta
    return param - lr * delta, {"square_avg": square_avg, "acc_delta": acc_delta}


def _init_rmsprop(param, momentum=0.0, centered=False):
    names = ["square_avg"] + ["momentum_buffer"] * (momentum != 0) + ["grad_avg"] * centered
    return zeros(*names)(param)


@algorithm(init=_init_rmsprop, switches=("momentum", "weight_decay"), averages=("grad_avg",))
def rmsprop(
    param,
    grad,
    state,
    step,
    *,
    lr=1e-2,
    alpha=0.99,
    eps=1e-8,
    weight_decay=0.0,
    momentum=0.0,
    centered=False,
    maximize=False,
    eps_in_root=False,
):
    """Step sizes by the root of the running average of squared gradients (Hinton 2012).

    `centered`: by their variance. `eps_in_root`: eps is added under the root, as in optax.

    >>> params = {'w': fc.asarray([1., 2.])}
    >>> state = optim.functional.rmsprop.init(params)
    >>> grads = {'w': fc.asarray([1., 1.])}
    >>> params, state = optim.functional.rmsprop.update(grads, state, params, lr=0.5)
    >>> params['w']
    Array([-3.9999995, -2.9999995], dtype=float32)
    """
    param, grad = decayed(param, grad, lr, weight_decay)
    square_avg = alpha * state["square_avg"] + (1 - alpha) * grad * grad
    new, spread = {"square_avg": square_avg}, square_avg
    if centered:
        new["grad_avg"] = lerp(state["grad_avg"], grad, 1 - alpha)
        spread = square_avg - new["grad_avg"] * new["grad_avg"]
    update = grad / (fc.sqrt(spread + eps) if eps_in_root else fc.sqrt(spread) + eps)
    if momentum:
        update = new["momentum_buffer"] = momentum * state["momentum_buffer"] + update
    return param - lr * update, new


# ---- matrices ------------------------------------------------------------------------------------


def _init_adafactor(param):
    if param.ndim < 2:
        return {"variance": fc.zeros_like(param)}
    shape = param.shape
    return {
        "row_var": fc.zeros((*shape[:-1], 1), dtype=param.dtype),
        "col_var": fc.zeros((*shape[:-2], 1, shape[-1]), dtype=param.dtype),
    }


def _root_mean_square(x: Array):
    return fc.sqrt(fc.sum(x * x)) / math.sqrt(x.size)


@algorithm(init=_init_adafactor, switches=("weight_decay",), averages=("row_var", "col_var", "variance"))
def adafactor(
    param,
    grad,
    state,
    step,
    *,
    lr=1e-2,
    beta2_decay=-0.8,
    eps=(None, 1e-3),
    d=1.0,
    weight_decay=0.0,
    maximize=False,
    dtype=None,
):
    """Adam whose second moment of a matrix is the product of a row and a column (Shazeer and Stern
    2018). `eps[0]` is by default that of the parameter's dtype.

    >>> params = {'w': fc.asarray([1., 2.])}
    >>> state = optim.functional.adafactor.init(params)
    >>> grads = {'w': fc.asarray([1., 1.])}
    >>> params, state = optim.functional.adafactor.update(grads, state, params, lr=0.5)
    >>> params['w']
    Array([0.20943058, 1.2094306 ], dtype=float32)
    """
    eps1 = float(fc.finfo(dtype).eps) if eps[0] is None else eps[0]
    weight = step**beta2_decay
    rate = maximum(_root_mean_square(param), eps[1]) * minimum(lr, 1 / step**0.5)
    param, grad = decayed(param, grad, lr, weight_decay, decoupled=True)
    square = grad * grad
    if grad.ndim < 2:
        estimate = lerp(state["variance"], square, weight)
        new = {"variance": estimate}
    else:
        row = lerp(state["row_var"], fc.mean(square, axis=-1, keepdims=True), weight)
        column = lerp(state["col_var"], fc.mean(square, axis=-2, keepdims=True), weight)
        new = {"row_var": row, "col_var": column}
        estimate = row * column / maximum(fc.mean(row, axis=-2, keepdims=True), eps1)
    update = grad * fc.rsqrt(maximum(estimate, eps1 * eps1))
    return param - rate / maximum(_root_mean_square(update) / d, 1.0) * update, new


def orthogonalized(x: Array, coefficients, steps: int, eps) -> Array:
    """The matrix with x's singular vectors and singular values near 1, by Newton-Schulz iteration
    in bfloat16."""
    a, b, c = coefficients
    tall = x.shape[0] > x.shape[1]
    x = _rounded(x.astype(fc.float32))
    x = x.mT if tall else x
    x = _rounded(x / maximum(_rounded(fc.sqrt(fc.sum(x * x))), eps))
    for _ in range(steps):
        gram = _rounded(_product(x, x.mT))
        gram = _rounded(b * gram + c * _product(gram, gram))
        x = _rounded(a * x + _product(gram, x))
    return x.mT if tall else x


def _rounded(x: Array) -> Array:
    """A float32 array rounded to bfloat16's precision; XLA would drop a conversion."""
    return wrap(reduce_precision(x._value, exponent_bits=8, mantissa_bits=7))


def _product(x: Array, y: Array) -> Array:
    """The product of two rounded matrices, with the speed of bfloat16, summed in float32."""
    x, y = (m.astype(fc.bfloat16)._value for m in (x, y))
    return wrap(dot_general(x, y, contract=((1,), (0,)), out_dtype=fc.float32))


@algorithm(init=zeros("momentum_buffer"), averages=("momentum_buffer",))
def muon(
    param,
    grad,
    state,
    step,
    *,
    lr=1e-3,
    weight_decay=0.1,
    momentum=0.95,
    nesterov=True,
    ns_coefficients=(3.4445, -4.7750, 2.0315),
    eps=1e-7,
    ns_steps=5,
    adjust_lr_fn=None,
):
    """Momentum whose update is orthogonalized, for the matrices of hidden layers (Jordan 2024)."""
    if ns_steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if grad.ndim != 2:
        raise ValueError("Param gradient must be a 2D matrix")
    if len(ns_coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    buffer = lerp(state["momentum_buffer"], grad, 1 - momentum)
    update = lerp(grad, buffer, momentum) if nesterov else buffer
    update = orthogonalized(update, ns_coefficients, ns_steps, eps).astype(param.dtype)
    rows, columns = param.shape
    ratio = (
        0.2 * math.sqrt(max(rows, columns))
        if adjust_lr_fn == "match_rms_adamw"
        else (math.sqrt(max(1, rows / columns)))
    )
    new = (1 - lr * weight_decay) * param - (lr * ratio) * update
    return new, {"momentum_buffer": buffer}
