"""Wrapper subclasses in modules, files and copies, compared with PyTorch's in the same process."""

import copy
import importlib
import io
import pickle

import pytest
import torch as real

from functorch_core import torch

CLASSES: dict = {}


def make_quantised(name, *args):
    """What unpickling calls: the class of one of the two libraries, by its name."""
    return CLASSES[name](*args)


def quantised(face):
    """A class of tensors that are int8 and a scale."""

    class Quantised(face.Tensor):
        @staticmethod
        def __new__(cls, q, scale, requires_grad=False):
            return face.Tensor._make_wrapper_subclass(cls, q.shape, dtype=scale.dtype, requires_grad=requires_grad)

        def __init__(self, q, scale, requires_grad=False):
            self.q, self.scale = q, scale

        @classmethod
        def of(cls, x):
            scale = x.abs().amax() / 127
            return cls((x / scale).round().to(face.int8), scale)

        def __repr__(self):
            return f"Quantised({self.q.tolist()}, {self.scale.item():.4f})"

        def __tensor_flatten__(self):
            return ["q", "scale"], None

        @classmethod
        def __tensor_unflatten__(cls, inner, context, size, stride):
            return cls(inner["q"], inner["scale"])

        def __reduce_ex__(self, protocol):
            return make_quantised, (face.__name__, self.q, self.scale, self.requires_grad)

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            kwargs, aten = dict(kwargs or {}), face.ops.aten
            if func in (aten.detach.default, aten.clone.default):
                return cls(func(args[0].q), func(args[0].scale))
            if func is aten.t.default:
                return cls(args[0].q.t(), args[0].scale)
            if func is aten._to_copy.default:
                return cls(args[0].q, args[0].scale.to(kwargs["dtype"]))
            if func is aten.copy_.default:
                args[0].q.copy_(args[1].q)
                args[0].scale.copy_(args[1].scale)
                return args[0]
            plain = face.utils._pytree.tree_map(
                lambda x: x.q.to(x.scale.dtype) * x.scale if isinstance(x, cls) else x, (args, kwargs)
            )
            return func(*plain[0], **plain[1])

    CLASSES[face.__name__] = Quantised
    return Quantised


def layer(face, values=((1.0, 2.0, 3.0), (-1.0, 0.5, 2.0))):
    """A linear layer whose weight is quantised."""
    made = face.nn.Linear(3, 2)
    with face.no_grad():
        made.bias.fill_(0.5)
    weight = quantised(face).of(face.tensor(values))
    made.weight = face.nn.Parameter(weight, requires_grad=False)
    return made


def both(program):
    """What a program gives with either library, which must be the same."""
    found, wanted = program(torch), program(real)
    assert found == wanted


def rounded(x):
    return [round(v, 4) for v in x.flatten().tolist()]


def test_a_quantised_weight_in_a_linear_layer():
    def program(face):
        made = layer(face)
        x = face.tensor([[1.0, 0.0, 2.0], [3.0, 1.0, 1.0]], requires_grad=True)
        y = made(x)
        kinds = type(made.weight).__name__, isinstance(made.weight, face.nn.Parameter), made.weight.requires_grad
        return rounded(y), rounded(face.autograd.grad(y.sum(), x)[0]), kinds, repr(made.state_dict())

    both(program)


def test_conversion_copies_and_files():
    def program(face):
        made = layer(face)
        other = layer(face, ((1.0, 1.0, 1.0), (1.0, 1.0, 1.0)))
        other.load_state_dict(made.state_dict())
        buffer = io.BytesIO()
        face.save(made.state_dict(), buffer)
        loaded = face.load(io.BytesIO(buffer.getvalue()), weights_only=False)
        copied = copy.deepcopy(made.weight)
        copied.q.zero_()
        shown = [repr(x) for x in (other.weight, loaded, copied, made.weight)]
        made.to(face.float64)
        return shown, str(made.weight.dtype), str(made.weight.scale.dtype), type(made.weight).__name__

    both(program)


def test_what_a_wrapper_tells():
    def program(face):
        weight = layer(face).weight
        tools = importlib.import_module(f"{face.__name__}.utils._python_dispatch")
        doubled = tools.transform_subclass(weight, lambda name, x: x * 1 if name == "q" else x * 2)
        told = tools.is_traceable_wrapper_subclass(weight), tools.is_traceable_wrapper_subclass(weight.scale)
        return repr(doubled), told, str(weight.device), weight.is_meta, weight.stride(), weight.is_contiguous()

    both(program)


def slotted(face):
    """A class whose instances have a slot, and print what is in it."""

    class Slotted(face.Tensor):
        __slots__ = ["elem"]

        @staticmethod
        def __new__(cls, elem):
            made = face.Tensor._make_wrapper_subclass(cls, elem.shape, dtype=elem.dtype)
            made.elem = elem
            return made

        def __repr__(self):
            return super().__repr__(tensor_contents=f"{self.elem.tolist()}")

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            tree_map = face.utils._pytree.tree_map
            args, kwargs = tree_map(lambda x: x.elem if isinstance(x, cls) else x, (args, kwargs or {}))
            return tree_map(lambda x: cls(x) if isinstance(x, face.Tensor) else x, func(*args, **kwargs))

    return Slotted


def test_training_through_a_wrapper():
    def program(face):
        kind = slotted(face)
        made = face.nn.Linear(3, 2, bias=False)
        made.weight = face.nn.Parameter(kind(face.full((2, 3), 0.5)))
        made(face.tensor([[1.0, 0.0, 2.0]])).pow(2).sum().backward()
        with face.no_grad():
            made.weight.sub_(made.weight.grad * 0.1)
        w = kind(face.tensor([2.0, 3.0])).requires_grad_()
        (g,) = face.autograd.grad((w**3).sum(), w, create_graph=True)
        (h,) = face.autograd.grad(g.sum(), w)
        y = w * 3
        y.mul_(2)
        y.sum().backward()
        told = y._version, y.grad_fn.name(), bool((w > 0).all()), float(w.sum())
        return repr(made.weight.grad), rounded(made.weight.elem), repr(h), repr(w.grad), repr(copy.deepcopy(w)), told

    both(program)


def test_errors():
    def program(face):
        w = slotted(face)(face.ones(2)).requires_grad_()
        declines = type("Declines", (face.Tensor,), {"__torch_dispatch__": lambda *args, **kwargs: NotImplemented})
        found = []
        for call in (lambda: w.add_(1), lambda: face.Tensor._make_wrapper_subclass(declines, (2,)) + 1):
            with pytest.raises((RuntimeError, TypeError)) as caught:
                call()
            found.append((type(caught.value), str(caught.value).partition("\n")[0]))
        return found

    both(program)


def test_dictionaries_of_tensors():
    def program(face):
        weak = importlib.import_module(f"{face.__name__}.utils.weak")
        table, x, y = weak.WeakTensorKeyDictionary(), face.ones(2), face.ones(2)
        table[x], table[y] = "x", "y"
        found = [table[x], table[y], len(table), face.ones(2) in table, [k is x for k in table]]
        del x
        return [*found, len(table), table.get(y), table.pop(y), len(table)]

    both(program)


def test_a_class_with_memory_that_leaves_operators_to_its_base():
    def program(face):
        names = []

        class Told(face.Tensor):
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                names.append(str(func))
                return super().__torch_dispatch__(func, types, args, kwargs)

        x = face.Tensor._make_subclass(Told, face.ones(2, 3))
        return rounded((x * 2).exp()), x.sum().item(), names

    both(program)


def test_wrappers_keep_their_class_in_func_transforms():
    def program(face):
        cls = quantised(face)
        x = cls.of(face.tensor([1.0, 2.0, -4.0]))
        gradient = face.func.grad(lambda x: (x * 2).sum())(x)
        value, pull = face.func.vjp(lambda x: x * 3, x)
        return type(gradient) is cls, type(value) is cls, type(pull(value)[0]) is cls

    both(program)


# ---- files that hold wrappers --------------------------------------------------------------------


def boxed(face):
    """A class of tensors around one other, which a file may name."""

    class Boxed(face.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return face.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

        def __init__(self, inner):
            self.inner = inner

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return func(*[x.inner if isinstance(x, cls) else x for x in args], **(kwargs or {}))

    Boxed.__qualname__, Boxed.__module__ = "Boxed", __name__
    return Boxed


@pytest.mark.parametrize("writes", [torch, real], ids=["ours", "theirs"])
@pytest.mark.parametrize("reads", [torch, real], ids=["ours", "theirs"])
def test_weights_only_files_of_wrappers(writes, reads, monkeypatch):
    cls = boxed(writes)
    monkeypatch.setitem(globals(), "Boxed", cls)
    buffer = io.BytesIO()
    writes.save({"w": cls(writes.arange(3.0))}, buffer)
    cls = boxed(reads)
    monkeypatch.setitem(globals(), "Boxed", cls)
    with pytest.raises(pickle.UnpicklingError, match="Boxed"):
        reads.load(io.BytesIO(buffer.getvalue()))
    with reads.serialization.safe_globals([cls]):
        loaded = reads.load(io.BytesIO(buffer.getvalue()))["w"]
    assert type(loaded) is cls and loaded.shape == (3,) and loaded.inner.tolist() == [0.0, 1.0, 2.0]


# ---- optimizers ----------------------------------------------------------------------------------


def telling(face, told: list):
    """A class of tensors around one other that notes the operators it is told of."""

    class Telling(face.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return face.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

        def __init__(self, inner):
            self.inner = inner

        def __repr__(self):
            return f"Telling({[round(x, 4) for x in self.inner.tolist()]})"

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            def bare(x):
                return [bare(y) for y in x] if isinstance(x, (list, tuple)) else x.inner if isinstance(x, cls) else x

            def wrapped(x):
                return [wrapped(y) for y in x] if isinstance(x, (list, tuple)) else cls(x)

            told.append(str(func))
            return wrapped(func(*bare(args), **{name: bare(x) for name, x in (kwargs or {}).items()}))

    return Telling


OPTIMIZERS = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5}),
    ("Adam", {"lr": 0.1}),
    ("Adam", {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1, "maximize": True}),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.1, "betas": (0.8, 0.9)}),
]


@pytest.mark.parametrize("name, options", OPTIMIZERS, ids=str)
def test_steps_of_wrappers_are_operators(name, options):
    def program(face):
        told: list = []
        cls = telling(face, told)
        w, plain = face.nn.Parameter(cls(face.tensor([1.0, 2.0]))), face.nn.Parameter(face.ones(2))
        optimizer = getattr(face.optim, name)([w, plain], **options)
        told.clear()
        for _ in range(3):
            w.grad, plain.grad = cls(face.tensor([0.5, -1.0])), face.ones(2)
            optimizer.step()
        shown = {key: repr(x) for key, x in optimizer.state[w].items()}
        return told, str(w), shown, [round(x, 4) for x in plain.tolist()]

    both(program)


def test_the_data_of_a_wrapper_is_its_layout():
    def program(face):
        cls = telling(face, [])
        x = cls(face.tensor([1.0, 2.0]))
        x.data = cls(face.tensor([3.0, 4.0, 5.0]))
        return repr(x), tuple(x.shape), x._version

    both(program)
