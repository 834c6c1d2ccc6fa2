"""Names of PyTorch's private modules that packages import, and what they do."""

import importlib
import threading

import numpy as np
import pytest

from functorch_core import torch
from tests.nn.both import agree, failing, warned

reference = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("t", [torch, reference], ids=["ours", "theirs"])


def module(t, name: str):
    """A module of PyTorch, or of this library's."""
    return importlib.import_module(f"{t.__name__}.{name}")


def test_tensors_in_one_buffer():
    def program(t):
        utils = module(t, "_utils")
        xs = [t.arange(6.0).reshape(2, 3).t(), t.ones(0, 3), t.tensor(7.0)]
        flat = utils._flatten_dense_tensors(xs)
        parts = utils._unflatten_dense_tensors(flat, xs)
        flat.mul_(2)  # the parts are views
        alone = utils._flatten_dense_tensors([xs[2]])
        xs[2].add_(1)
        mixed = [t.ones(2), t.ones(2).double(), t.zeros(3), t.ones(9), t.ones(3, dtype=t.float64)]
        chunks = list(utils._take_tensors(mixed, 20))
        sparse = [t.eye(2).to_sparse(), t.ones(2, 1).to_sparse()]
        whole = utils._flatten_sparse_tensors(sparse)
        again = utils._unflatten_sparse_tensors(whole, sparse)
        order = utils._reorder_tensors_as([x for chunk in chunks for x in chunk], mixed)
        return (
            flat,
            parts,
            alone,
            [[(str(x.dtype), x.tolist()) for x in chunk] for chunk in chunks],
            [len(chunk) for chunk in utils._take_tensors(sparse, 1)],
            whole,
            [x.to_dense() for x in again],
            order,
            failing(utils._flatten_dense_tensors, [])[0],
        )

    agree(program)


@BOTH
def test_results_of_derivatives(t):
    functional = module(t, "autograd.functional")
    x = t.ones(2, requires_grad=True) * 2
    plain, kept = functional._grad_postprocess([x], False), functional._grad_postprocess((x,), True)
    assert type(plain) is tuple and not plain[0].requires_grad and kept[0] is x
    ((nested,), _) = functional._grad_postprocess(([x], [x]), False)
    assert nested.tolist() == [2, 2] and not nested.requires_grad
    post = functional._tuple_postprocess
    assert (post((1,), False), post((1, 2), True)) == (1, (1, 2))
    both = [(a, b) for a in (False, True) for b in (False, True)]
    assert [post(((1, 2), (3, 4)), how) for how in both] == [1, (1, 2), (1, 3), ((1, 2), (3, 4))]


@BOTH
def test_what_a_vmap_rule_is_told(t):
    info = module(t, "_functorch.autograd_function").VmapInfo(batch_size=2, randomness="same")
    assert info == (2, "same") and info._replace(batch_size=3).batch_size == 3 and "batch_size=2" in repr(info)


@BOTH
def test_a_transposed_convolution_by_its_former_base(t):
    conv = module(t, "nn.modules.conv")

    class Mine(conv._ConvTransposeMixin):
        def __init__(self):
            super().__init__(2, 4, (3,), (2,), (1,), (1,), True, (0,), 1, True, "zeros")

        def forward(self, x, output_size=None):
            padding = self._output_padding(x, output_size, self.stride, self.padding, self.kernel_size, 1)
            return t.nn.functional.conv_transpose1d(x, self.weight, self.bias, self.stride, self.padding, padding)

    assert warned(Mine) == [
        ("FutureWarning", "`_ConvTransposeMixin` is a deprecated internal class. Please consider using public APIs.")
    ]
    with pytest.warns(FutureWarning):
        layer = Mine()
    assert layer.weight.shape == (2, 4, 3) and layer(t.ones(1, 2, 5), output_size=[10]).shape == (1, 4, 10)
    assert not isinstance(t.nn.ConvTranspose1d(1, 1, 1), conv._ConvTransposeMixin)


def test_tags_of_operators():
    def program(t):
        library = t.library.Library("tagged", "DEF")
        library.define("one(Tensor x) -> Tensor", tags=t.Tag.pointwise)
        t.library.define("tagged::two", "(Tensor x) -> Tensor", tags=(t.Tag.core, t.Tag.generated))
        t.library.define("tagged::none", "(Tensor x) -> Tensor")
        names = ["one", "two", "none", "three"]

        @t.library.custom_op("tagged::three", mutates_args=(), tags=t.Tag.reduction)
        def three(x: t.Tensor) -> t.Tensor:
            return x + 3

        found = [[str(tag) for tag in getattr(t.ops.tagged, name).default.tags] for name in names]
        library._destroy()
        tag = t.Tag.core
        tags = {name: (repr(each), each.value) for name, each in t.Tag.__members__.items()}
        return found, tags, tag.name, tag == 0, t.Tag(17).name, t._C.Tag is t.Tag

    agree(program)


def test_tags_of_pytorchs_operators_are_not_pretended():
    with pytest.raises(NotImplementedError, match="aten.add.Tensor.tags"):
        torch.ops.aten.add.Tensor.tags  # noqa: B018


@BOTH
def test_the_packet_of_an_overload(t):
    assert t.ops.aten.add.Tensor._overloadpacket is t.ops.aten.add.Tensor.overloadpacket is t.ops.aten.add


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@BOTH
def test_whether_a_function_is_traced(t):
    seen = []

    def traced(x):
        seen.append(t._C._is_tracing())
        return x + 1

    t.jit.trace(traced, t.ones(2), check_trace=False)
    assert seen == [True] and t._C._is_tracing() is False


def test_products_with_sparse_matrices_by_their_former_name():
    def program(t):
        x = t.eye(2).to_sparse()
        y = t.arange(4.0).reshape(2, 2).requires_grad_()
        product = t.spmm(x, y)
        (product * product).sum().backward()
        return product, y.grad, t.spmm(x, x).to_dense(), t.spmm(y, y)

    agree(program)


@BOTH
def test_trees_of_a_known_structure(t):
    fx, pytree = module(t, "fx._pytree"), module(t, "utils._pytree")

    class Pair:
        def __init__(self, *parts):
            self.parts = parts

    flatten, unflatten = (lambda pair: (list(pair.parts), None)), (lambda parts, _: Pair(*parts))
    pytree.register_pytree_node(Pair, flatten, unflatten)
    tree = {"a": [1, (2,)], "b": Pair(3, 4)}
    spec = pytree.tree_structure(tree)
    assert fx.tree_flatten_spec(tree, spec) == [1, 2, 3, 4]
    fx.register_pytree_flatten_spec(Pair, lambda pair, spec: [-part for part in pair.parts])
    of_pair = pytree.tree_structure(Pair(1, 2))
    assert fx.tree_flatten_spec(Pair(5, (6,)[0]), of_pair) == [-5, -6]
    assert fx.tree_flatten_spec([1, 2], pytree.tree_structure(0)) == [[1, 2]]
    t.fx._pytree.SUPPORTED_NODES.pop(Pair)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@BOTH
def test_saving_by_the_class_of_traced_modules(t, tmp_path):
    traced = t.jit.trace(t.nn.ReLU(), t.ones(2))
    t.jit.ScriptModule.save(traced, str(tmp_path / "traced.pt"))
    assert t.jit.load(str(tmp_path / "traced.pt"))(t.tensor([-1.0, 2.0])).tolist() == [0, 2]


@BOTH
def test_rebuilding_a_tensor_of_a_class(t):
    Mine = type("Mine", (t.Tensor,), {})
    made = module(t, "_tensor")._rebuild_from_type_v2(lambda values: t.tensor(values), Mine, ([1, 2],), {"note": 3})
    assert type(made) is Mine and made.tolist() == [1, 2] and made.note == 3
    assert not hasattr(module(t, "_tensor"), "_rebuild_from_type_v3")


@BOTH
def test_names_of_threads(t):
    found = []

    def run():
        t.multiprocessing._set_thread_name("a name that is too long")
        found.append(t.multiprocessing._get_thread_name())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == ["a name that is "] and t.multiprocessing._get_thread_name() != found[0]


@BOTH
def test_what_is_only_imported(t):
    assert "deprecated" in warned(lambda: t.set_vital("a", "b", "c"))[0][1]
    assert np.ndim(t.jit.annotations.List[int].__args__) == 1
    checkpoint = module(t, "distributed.checkpoint")
    assert module(t, "distributed.checkpoint.utils").CheckpointException is checkpoint.api.CheckpointException


def test_c10d_has_the_names_that_it_shares_with_its_package():
    names = "distributed", "distributed.distributed_c10d"
    ours, theirs = ([vars(module(t, name)) for name in names] for t in (torch, reference))
    shared = theirs[0].keys() & theirs[1].keys()
    there, other = {n: x for n, x in ours[0].items() if n in shared and not n.startswith("__")}, ours[1]
    assert {n for n, x in there.items() if callable(x) and other.get(n) is not x} == set()
