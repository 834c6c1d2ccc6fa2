"""torch.ops and torch.library."""

import copy
from typing import Optional

import numpy as np
import pytest

from functorch_core import torch

reference = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("t", [torch, reference], ids=["ours", "theirs"])


# ---- aten ----------------------------------------------------------------------------------------


def calls(t):
    """Results of operators, by their names."""
    aten, x = t.ops.aten, t.linspace(-1, 1, 12).reshape(3, 4)
    image, i = t.arange(36.0).reshape(1, 1, 6, 6), t.tensor([2, 0])
    return {
        "add.Tensor": aten.add.Tensor(x, x, alpha=2),
        "add.Scalar": aten.add.Scalar(x, 3),
        "add": aten.add(self=x, other=1),
        "mul_": aten.mul_.Tensor(x.clone(), x),
        "sum": aten.sum.dim_IntList(x, [1], True),
        "mean": aten.mean.dim(x, [0]),
        "mm": aten.mm.default(x, x.t()),
        "addmm": aten.addmm(x[:, :3], x, x.t()),
        "view": aten.view.default(x, [4, 3]),
        "expand": aten.expand(x[:1], [3, 4]),
        "slice": aten.slice.Tensor(x, 1, 0, 4, 2),
        "select": aten.select.int(x, 0, 1),
        "index": aten.index.Tensor(x, [None, i]),
        "alias": aten.alias(x),
        "max": aten.max.dim(x, 1)[1],
        "where": aten.where.self(x > 0, x, -x),
        "softmax": aten._softmax(x, 1, False),
        "log_softmax": aten._log_softmax.default(x, 0, False),
        "softmax_backward": aten._softmax_backward_data(x, aten._softmax(x, 1, False), 1, x.dtype),
        "log_softmax_backward": aten._log_softmax_backward_data(x, aten._log_softmax(x, 1, False), 1, x.dtype),
        "to_copy": aten._to_copy(x, dtype=t.float64),
        "item": aten._local_scalar_dense(x[0, 0]),
        "mse_loss": aten.mse_loss(x, x * 2, 2),
        "huber_loss": aten.huber_loss(x, x * 2, 1, 0.1),
        "nll_loss": aten.nll_loss(x, t.tensor([0, 1, 2]), None, 1, 1),
        "gelu": aten.gelu(x, approximate="tanh"),
        "elu": aten.elu(x, 0.5, 2, 3),
        "embedding": aten.embedding.default(x, i),
        "sym_size": aten.sym_size.int(x, 1),
        "convolution": aten.convolution(image, t.ones(1, 1, 3, 3), None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1),
        "max_pool2d_backward": aten.max_pool2d_with_indices_backward(
            image[..., ::2, ::2],
            image,
            [2, 2],
            [2, 2],
            [0, 0],
            [1, 1],
            False,
            t.nn.functional.max_pool2d(image, 2, return_indices=True)[1],
        ),
        "max_pool2d": aten.max_pool2d(image, [2, 2]),
        "avg_pool2d": aten.avg_pool2d(image, [2, 2]),
        "pad": aten.constant_pad_nd(x, [1, 2], 3),
        "reflect": aten.reflection_pad1d(x, [1, 1]),
        "replicate": aten.replication_pad2d(image, [1, 1, 1, 0]),
        "norm": aten.linalg_vector_norm(x, 2),
        "erfcx": aten.special_erfcx(x),
        "fft": aten.fft_rfft(x).abs(),
        "arange": aten.arange.start_step(1, 7, 2),
        "full": aten.full([2, 2], 7.0),
        "cat": aten.cat([x, x], 1),
        "t": aten.t(x),
        "layer_norm": aten.layer_norm(x, [4]),
        "rsub": aten.rsub.Scalar(x, 1),
    }


def test_operators_of_aten():
    ours, theirs = calls(torch), calls(reference)
    for name, expected in theirs.items():
        if isinstance(expected, reference.Tensor):
            assert str(ours[name].dtype) == str(expected.dtype), name
            np.testing.assert_allclose(ours[name].numpy(), expected.numpy(), rtol=2e-6, atol=1e-6, err_msg=name)
        else:
            assert ours[name] == expected, name


@BOTH
def test_names_of_operators(t):
    add = t.ops.aten.add
    assert (str(add), str(add.Tensor), add.Tensor.name(), t.ops.aten.mm.default.name()) == (
        "aten.add",
        "aten.add.Tensor",
        "aten::add.Tensor",
        "aten::mm",
    )
    assert repr(add.Tensor) == "<OpOverload(op='aten.add', overload='Tensor')>"
    assert repr(add) == "<OpOverloadPacket(op='aten.add')>"
    assert add.Tensor is add.Tensor and add.Tensor.overloadpacket is t.ops.aten.add
    assert {"Scalar", "Tensor", "out"} <= set(add.overloads()) and add.Tensor.namespace == "aten"
    assert "Scalar" in t.ops.aten._foreach_add_.overloads()
    assert isinstance(add, t._ops.OpOverloadPacket) and isinstance(add.Tensor, t._ops.OpOverload)
    assert copy.deepcopy(add.Tensor) is add.Tensor and add.Tensor.__name__ == "add.Tensor"


@BOTH
def test_operators_that_do_not_exist(t):
    with pytest.raises(AttributeError, match="'_OpNamespace' 'aten' object has no attribute 'no'"):
        t.ops.aten.no
    with pytest.raises(AttributeError, match="The underlying op of 'aten.add' has no overload name"):
        t.ops.aten.add.no
    assert not hasattr(t.ops.nowhere, "x") and not hasattr(t.ops.aten, "nonsense")
    with pytest.raises((OSError, NotImplementedError)):
        t.ops.load_library("nowhere.so")
    with pytest.raises(RuntimeError, match="Tried to instantiate class 'mine.Thing'"):
        t.classes.mine.Thing()


def test_operators_that_are_missing_say_so():
    missing = torch.ops.aten._efficient_attention_forward
    assert missing.overloads() == reference.ops.aten._efficient_attention_forward.overloads()
    with pytest.raises(NotImplementedError, match="torch.ops.aten._efficient_attention_forward"):
        missing.default()


# ---- torch.library -------------------------------------------------------------------------------


def defined(t, name):
    """A sine by NumPy."""
    Tensor = t.Tensor

    def sine(x, scale=1.0):
        return t.from_numpy(np.sin(x.numpy()) * scale)

    sine.__annotations__ = {"x": Tensor, "scale": float, "return": Tensor}
    return t.library.custom_op(f"zoo::{name}", sine, mutates_args=())


@BOTH
def test_custom_op(t):
    sine = defined(t, "sine")
    x = t.linspace(0, 1, 5)
    np.testing.assert_allclose(sine(x, scale=2.0).numpy(), 2 * np.sin(x.numpy()), rtol=1e-6)
    assert repr(sine) == "<CustomOpDef(zoo::sine)>"
    packet = t.ops.zoo.sine
    assert packet(x).shape == (5,) and str(packet.default) == "zoo.sine.default"
    assert str(packet.default._schema) == "zoo::sine(Tensor x, float scale=1.) -> Tensor" or (t is torch)
    with pytest.raises(RuntimeError):
        packet()
    with pytest.raises(RuntimeError):
        packet(x, 1.0, 2.0)
    with t.no_grad():
        assert x.clone().requires_grad_().numpy().shape == (5,)
    y = sine(x.clone().requires_grad_())
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        y.sum().backward()


@BOTH
def test_custom_op_with_derivatives(t):
    sine = defined(t, "sine_with_derivatives")

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.scale = inputs[1]

    def backward(ctx, grad):
        assert ctx.needs_input_grad == (True, False)
        (x,) = ctx.saved_tensors
        return grad * x.cos() * ctx.scale, None

    sine.register_autograd(backward, setup_context=setup_context)
    x = t.linspace(0, 1, 5).requires_grad_()
    sine(x, 3.0).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 3 * np.cos(x.detach().numpy()), rtol=1e-6)


@BOTH
def test_custom_op_on_batches(t):
    sine = defined(t, "sine_on_batches")
    x = t.linspace(0, 1, 6).reshape(2, 3)
    sine.register_vmap(lambda info, in_dims, x, scale=1.0: (sine(x, scale), in_dims[0]))
    np.testing.assert_allclose(t.func.vmap(sine, in_dims=1, out_dims=1)(x).numpy(), np.sin(x.numpy()), rtol=1e-6)


def test_custom_op_on_batches_without_a_rule():
    sine = defined(torch, "sine_without_rule")
    x = torch.linspace(0, 1, 6).reshape(2, 3)
    np.testing.assert_allclose(torch.func.vmap(sine)(x).numpy(), np.sin(x.numpy()), rtol=1e-6)


@BOTH
def test_custom_op_of_lists(t):
    def total(xs, weight=None):
        out = sum(x.detach() for x in xs)
        return out if weight is None else out * weight.detach()

    total.__annotations__ = {"xs": list[t.Tensor], "weight": Optional[t.Tensor], "return": t.Tensor}
    op = t.library.custom_op("zoo::total", total, mutates_args=())
    op.register_autograd(
        lambda ctx, grad: ([grad] * ctx.n,), setup_context=lambda ctx, inputs, output: setattr(ctx, "n", len(inputs[0]))
    )
    x, y = t.ones(2).requires_grad_(), t.ones(2).requires_grad_()
    op([x, y]).sum().backward()
    assert x.grad.tolist() == y.grad.tolist() == [1, 1]


@BOTH
def test_custom_op_that_writes(t):
    def twice_(x):
        x.mul_(2)

    twice_.__annotations__ = {"x": t.Tensor, "return": None}
    op = t.library.custom_op("zoo::twice_", twice_, mutates_args=("x",))
    x = t.ones(2)
    assert op(x) is None and x.tolist() == [2, 2]


@BOTH
def test_libraries(t):
    with t.library._scoped_library("zoo2", "DEF") as library:
        assert library.define("thrice(Tensor x, *, int n=3) -> Tensor") == "thrice"
        with pytest.raises(NotImplementedError, match="Could not run 'zoo2::thrice'"):
            t.ops.zoo2.thrice(t.ones(1))
        library.impl("thrice", lambda x, n=3: x * n, "CompositeImplicitAutograd")
        x = t.ones(1).requires_grad_()
        t.ops.zoo2.thrice(x, n=4).backward()
        assert x.grad.item() == 4 and t.ops.zoo2.thrice.default(x).item() == 3
    with pytest.raises(ValueError, match="Unsupported kind"):
        t.library.Library("zoo2", "WHAT")
    with pytest.raises(ValueError, match="reserved namespace"):
        t.library.Library("prim", "DEF")


@BOTH
def test_define_and_impl(t):
    t.library.define("zoo::halved", "(Tensor x) -> Tensor")

    @t.library.impl("zoo::halved", "cpu")
    def halved(x):
        return x / 2

    @t.library.register_fake("zoo::halved")
    def _(x):
        return t.empty_like(x)

    assert t.ops.zoo.halved(t.ones(1)).item() == 0.5
    with pytest.raises((RuntimeError, AttributeError), match="does not exist|no attribute"):
        t.library.register_autograd("zoo::nowhere", lambda ctx, g: g)


@BOTH
def test_inferred_schemas(t):
    Tensor = t.Tensor

    def f(x, n, y=None, flag=True, *, sizes, dtype=None, rate=0.5, mode="a"):
        pass

    f.__annotations__ = {
        "x": Tensor,
        "n": int,
        "y": Optional[Tensor],
        "flag": bool,
        "sizes": list[int],
        "dtype": Optional[t.dtype],
        "rate": float,
        "mode": str,
        "return": tuple[Tensor, Tensor],
    }
    assert t.library.infer_schema(f, mutates_args=()) == (
        "(Tensor x, SymInt n, Tensor? y=None, bool flag=True, *, SymInt[] sizes, "
        'ScalarType? dtype=None, float rate=0.5, str mode="a") -> (Tensor, Tensor)'
    )
    assert t.library.infer_schema(f, mutates_args={"y"}).startswith("(Tensor x, SymInt n, Tensor(a2!)? y=None")
    with pytest.raises(ValueError, match="mutates_args"):
        t.library.infer_schema(f, mutates_args={"z"})
    del f.__annotations__["n"]
    with pytest.raises(ValueError, match="Parameter n must have a type annotation"):
        t.library.infer_schema(f, mutates_args=())


@BOTH
def test_kernels_before_the_operator_is_defined(t):
    @t.library.impl("zoo_early::scaled", "CPU")
    def scaled(x, n):
        return x * n

    with t.library._scoped_library("zoo_early", "FRAGMENT") as library:
        library.impl("shifted", lambda x: x + 1, "CPU")
        with pytest.raises(AttributeError):
            t.ops.zoo_early.scaled  # noqa: B018 (looking it up raises)
        t.library.define("zoo_early::scaled", "(Tensor x, int n) -> Tensor")
        library.define("shifted(Tensor x) -> Tensor")
        x = t.ones(2)
        assert t.ops.zoo_early.scaled(x, 3).tolist() == [3, 3]
        assert t.ops.zoo_early.shifted(x).tolist() == [2, 2]
