"""What ops declare, against the real PyTorch: an entry without an op cannot exist, one that is unknown is an error."""

from __future__ import annotations

import operator
import re

import pytest

from functorch_core import torch
from functorch_core.torch.dispatch.op import registry, torch_op
from functorch_core.torch.dispatch.traits import Traits
from functorch_core.torch.tape import node_names
from functorch_core.torch.tape.apply import node_class_of
from functorch_core.torch.tape.node_chains import parsed

reference = pytest.importorskip("torch")

NAMES: dict[str, list[str]] = {}  # PyTorch's operators: name -> overloads
for _overload in reference._C._dispatch_get_all_op_names():
    if _overload.startswith("aten::"):
        NAMES.setdefault(_overload[6:].split(".")[0], []).append(_overload)


@pytest.mark.parametrize(
    "wrong", [{"layuot": None}, {"out": "float"}, {"autocast": "high"}, {"autocast": {"xpu": "low"}}]
)
def test_an_unknown_trait_is_an_error_where_it_is_declared(wrong):
    with pytest.raises((TypeError, ValueError)):
        torch_op(lambda input: input, name="never", **wrong)
    assert "never" not in registry


def test_every_op_has_traits():
    assert {type(op.traits) for op in registry.values()} == {Traits}


# ---- autocast ------------------------------------------------------------------------------------

# What is computed by another op here or there, which is listed.
BY_OTHERS = {
    "binary_cross_entropy_with_logits",
    "cat",  # promotes as it is
    "chain_matmul",
    "convolution",
    "cosine_embedding_loss",
    "einsum",
    "ctc_loss",
    "hinge_embedding_loss",
    "index_put",
    "linalg_multi_dot",
    "linalg_solve_ex",
    "margin_ranking_loss",
    "nanquantile",
    "poisson_nll_loss",
    "qr",
    "quantile",
    "rnn_relu_cell",  # of the products, on CPUs
    "rnn_tanh_cell",
    "stack",
    "tensordot",
    "triplet_margin_loss",
}


@pytest.mark.parametrize("kind, key", [("cpu", "AutocastCPU"), ("cuda", "AutocastCUDA")])
def test_autocast_is_declared_for_what_pytorch_lists(kind, key):
    has_kernel = reference._C._dispatch_has_kernel_for_dispatch_key
    listed = {name for name, overloads in NAMES.items() if any(has_kernel(n, key) for n in overloads)}
    declared = {name for name, op in registry.items() if op.traits.precision(kind)}
    assert (listed & registry.keys()) ^ (declared & NAMES.keys()) <= BY_OTHERS


def test_of_other_devices_the_precision_is_as_of_cuda():
    assert registry["exp"].traits.precision("xpu") == registry["exp"].traits.precision("cuda") == "full"
    assert registry["exp"].traits.precision("cpu") is None
    assert registry["_binary_cross_entropy"].traits.precision("cuda") == "banned"


# ---- other devices, numbers ----------------------------------------------------------------------


def test_operands_on_another_device():
    """Indices may lie anywhere; what is joined lies in one place, even without dimensions."""
    data, meta = torch.zeros(2, dtype=torch.int64), torch.ones(3, 2, device="meta")
    assert torch.gather(meta, 0, data.expand(1, 2)).is_meta and meta[data].shape == (2, 2)
    assert (meta + torch.tensor(1.0)).is_meta
    for call in (lambda: meta + torch.ones(3, 2), lambda: torch.stack([meta[0, 0], torch.tensor(1.0)])):
        with pytest.raises(RuntimeError, match="is not on the expected device"):
            call()


NUMBERS = ["x * 2", "2 * x", "x + 3", "3 - x", "x / 3", "x.clamp(0.5)", "x ** 2", "x.lerp(x, 0.5)", "x.where(x > 1, 2)"]


@pytest.mark.parametrize("program", NUMBERS)
def test_edges_and_order_of_numbers(program):
    def facts(library):
        x = library.arange(6.0).reshape(2, 3).t().requires_grad_()
        made = eval(program, {"x": x})
        return len(made.grad_fn.next_functions), made.stride()

    assert facts(torch) == facts(reference)


@pytest.mark.parametrize("program", ["x * 2", "x / 2", "x + 2", "x - 2"])
def test_a_second_backward_pass_through_saved_numbers(program):
    def said(library):
        x = library.ones(3, requires_grad=True)
        made = eval(program, {"x": x}).sum()
        made.backward()
        try:
            made.backward()
        except RuntimeError as error:
            return str(error)[:60]

    assert said(torch) == said(reference)


def test_dunders_in_both_orders_and_in_place():
    for name in dir(reference.Tensor):
        if name.startswith(("__r", "__i")) and hasattr(operator, f"__{name[3:]}"):
            assert hasattr(torch.Tensor, name), name


# ---- nodes ---------------------------------------------------------------------------------------

CLASSES = set(dir(reference._C._functions)) | {"CopyBackwards", "CopySlices", "NotImplemented"}
# Of Python functions of torch.distributions, and of what has no derivative.
NO_CLASS = {"DirichletBackward0", "HistogramBackward0"} | {"ResizeBackward"}  # the last of a Function in Python


def texts(rule) -> set[str]:
    """The strings in a declared node: it itself, or the constants of a function and of what that refers to."""
    if isinstance(rule, str):
        return {rule}
    if not callable(rule):
        return set()
    cells = [cell.cell_contents for cell in rule.__closure__ or ()]
    constants = [x for x in rule.__code__.co_consts if isinstance(x, str)]
    return set(constants).union(*map(texts, cells))


def names_in(text: str) -> list[str]:
    """The names of nodes in a text: AddBackward0, or Add0( of a chain."""
    short = [f"{kind}Backward{number}" for kind, number in re.findall(r"([A-Z][a-z]\w*)(\d)\(", text)]
    return short + re.findall(r"[A-Z][a-z]\w*Backward\d", text)


def test_declared_nodes_are_pytorchs():
    known = CLASSES | NO_CLASS
    found = {name for op in registry.values() for text in texts(op.traits.node) for name in names_in(text)}
    assert len(found) > 100 and not found - known
    plain = {
        op.traits.node for op in registry.values() if isinstance(op.traits.node, str) and "(" not in op.traits.node
    }
    assert not {node_class_of(name).__name__ for name in plain} - known


def test_nodes_of_gradients_are_pytorchs():
    kinds = [*node_names.WITH_BACKWARD, *node_names.BY_OTHERS, *node_names.NUMBERED]
    assert len(kinds) == len(set(kinds))
    assert not {f"{kind}Backward0" for kind in kinds} - CLASSES
    assert not {node_names.backward_name(f"{kind}Backward0") for kind in kinds} - CLASSES


def edges_in(tree) -> set[str]:
    if tree is None or isinstance(tree, str):
        return {tree} - {None}
    return set().union(*map(edges_in, tree[1]))


def test_chains_name_arguments_of_their_ops():
    for op in registry.values():
        node = op.traits.node
        if isinstance(node, str) and "(" in node:
            assert edges_in(parsed(node)) <= set(op.names), op.name


WRITES = ["add_(1)", "mul_(2)", "sub_(1)", "div_(2)", "true_divide_(2)", "exp_()", "fill_(1)", "bernoulli_()", "abs_()"]


@pytest.mark.parametrize("write", WRITES)
def test_names_of_in_place_forms(write):
    """What a function inside torch.func.grad must not do to what it has captured."""

    def said(library):
        captured = library.ones(3)

        def f(x):
            eval(f"captured.{write}", {"captured": captured})
            return (x * captured).sum()

        with pytest.raises(RuntimeError, match="mutate a captured Tensor") as caught:
            library.func.grad(f)(library.ones(3))
        return re.search(r"\(aten::(\S+)\)", str(caught.value)).group(1)

    assert said(torch) == said(reference)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_a_weighted_loss_is_named_by_its_reduction(reduction):
    def name(library):
        x = library.ones(2, 3, requires_grad=True)
        weight = library.ones(3)
        loss = library.nn.functional.multilabel_soft_margin_loss
        return loss(x, library.ones(2, 3), weight=weight, reduction=reduction).grad_fn.name()

    assert name(torch) == name(reference)
