"""Parameters of the transforms and trees that JAX has, one test for what each does."""

from __future__ import annotations

import collections
import dataclasses
import functools

import numpy as np
import pytest

import functorch_core as fc

X = fc.asarray([1.0, 2.0, 3.0])
N = fc.asarray([1, 2])


# ---- derivatives ---------------------------------------------------------------------------------


def test_allow_int():
    def f(x, n):
        return (x * n.sum()).sum()

    by_x, by_n = fc.grad(f, argnums=(0, 1), allow_int=True)(X, N)
    np.testing.assert_array_equal(by_x, [3.0, 3.0, 3.0])
    assert by_n.dtype == fc.float32 and by_n.tolist() == [0.0, 0.0]
    value, (tree,) = fc.value_and_grad(lambda d: f(d["x"], d["n"]), argnums=(0,), allow_int=True)({"x": X, "n": N})
    assert value.item() == 18.0 and tree["n"].tolist() == [0.0, 0.0] and tree["x"].tolist() == [3.0] * 3
    by_x, by_n = fc.jacrev(lambda x, n: x * n[1], argnums=(0, 1), allow_int=True)(X, N)
    np.testing.assert_array_equal(by_x, 2 * np.eye(3))
    np.testing.assert_array_equal(by_n, np.zeros((3, 2)))
    assert fc.jit(fc.grad(f, argnums=1, allow_int=True))(X, N).tolist() == [0.0, 0.0]
    with pytest.raises(TypeError, match="allow_int=True"):
        fc.grad(f, argnums=1)(X, N)


@pytest.mark.parametrize(
    "argnums, wanted", [(0, 2.0), (np.int32(0), 2.0), (-1, 1.0), ((0,), (2.0,)), ([1, 0], (1.0, 2.0)), ((), ())]
)
def test_argnums(argnums, wanted):
    found = fc.grad(lambda x, y: x * y, argnums=argnums)(1.0, 2.0)
    assert fc.tree.map(float, found) == wanted


@pytest.mark.parametrize("argnums", [2, -3, (0, 0), (0, -2)])
def test_argnums_that_name_nothing(argnums):
    with pytest.raises(ValueError, match="does not name arguments of this call"):
        fc.grad(lambda x, y: x * y, argnums=argnums)(1.0, 2.0)


def test_complex_derivatives():
    assert fc.jacrev(fc.abs)(1j).item() == -1j  # as grad has it: of a real function
    assert fc.grad(lambda z: z**2, holomorphic=True)(1j).item() == 2j
    with pytest.raises(TypeError, match="complex derivative exists by complex arrays"):
        fc.grad(lambda x: x * 1j, holomorphic=True)(1.0)


@pytest.mark.parametrize(
    "call",
    [
        lambda: fc.grad(fc.sin, reduce_axes=("i",)),
        lambda: fc.vjp(fc.sin, 1.0, reduce_axes=("i",)),
        lambda: fc.jit(fc.sin, device="cpu"),
        lambda: fc.jit(fc.sin, compiler_options={"a": 1}),
        lambda: fc.vmap(fc.sin, spmd_axis_name="i"),
        lambda: fc.pure_callback(np.sin, X, X, sharding=1),
        lambda: fc.debug.print("a", partitioned=True),
        lambda: fc.ShapeDtypeStruct((2,), fc.float32, sharding=1),
        lambda: fc.device_put(X, src=1),
        lambda: fc.dot_product_attention(*3 * [fc.ones((1, 2, 1, 4))], implementation="cudnn"),
    ],
)
def test_what_is_not_supported_says_so(call):
    with pytest.raises(NotImplementedError) as caught:
        call()
    assert "\n" in str(caught.value)


# ---- static arguments ----------------------------------------------------------------------------


def test_nondiff_arguments():
    seen = []

    @functools.partial(fc.custom_vjp, nondiff_argnums=(1,), nondiff_argnames=("m",))
    def f(x, n, y, m=1):
        return x * n + y * m

    def forward(x, n, y, m):
        seen.append((n, m))
        return x * n + y * m, (x,)

    f.defvjp(forward, lambda n, m, residuals, ct: (ct * n, ct * m))
    assert fc.tree.map(float, fc.grad(f, (0, 2))(2.0, 3, 1.0, m=2)) == (3.0, 2.0)
    assert fc.grad(f)(2.0, n=5, y=1.0).item() == 5.0
    assert seen == [(3, 2), (5, 1)]

    @functools.partial(fc.custom_jvp, nondiff_argnames="n")
    def g(x, n):
        return x * n

    g.defjvp(lambda n, primals, tangents: (primals[0] * n, tangents[0] * n * 10))
    assert fc.grad(g)(2.0, n=3).item() == 30.0
    with pytest.raises(ValueError, match="there is no argument 'q'"):
        fc.custom_jvp(lambda x: x, nondiff_argnames="q")
    with pytest.raises(TypeError, match="not hashable"):
        g(1.0, [1])


def test_static_names_of_checkpoint():
    def f(x, *, squared):
        return x**2 if squared else x

    for squared, slope in ((True, 4.0), (False, 1.0)):
        assert fc.grad(fc.checkpoint(f, static_argnames="squared"))(2.0, squared=squared).item() == slope
    with pytest.raises(ValueError, match="checkpoint of `f`: there is no argument"):
        fc.checkpoint(f, static_argnums=3)


def test_policies_are_called_as_jaxs():
    seen = []

    def policy(prim, *avals, **params):
        seen.append((prim.name, len(avals)))
        return False

    fc.grad(fc.checkpoint(lambda x: fc.sin(fc.sin(x)), policy=policy))(1.0)
    assert ("sin", 1) in seen or ("cos", 1) in seen
    policies = fc.checkpoint_policies

    def f(x):
        return fc.sin(fc.checkpoint_name(fc.sin(fc.checkpoint_name(fc.sin(x), "a")), "b"))

    wanted = fc.grad(f)(1.0).item()
    for policy in (
        policies.save_any_names_but_these("a"),
        policies.save_only_these_names("b"),
        policies.save_anything_except_these_names("a"),
        policies.save_from_both_policies(policies.dots, policies.named("a")),
    ):
        assert fc.grad(fc.checkpoint(f, policy=policy))(1.0).item() == pytest.approx(wanted)
    assert policies.named("a") != policies.save_any_names_but_these("a")
    assert repr(policies.named("b", "a")) == "save_only_these_names('a', 'b')"


def test_custom_gradient_and_closure_convert():
    @fc.custom_gradient
    def f(x, y):
        return {"a": x * y}, lambda g: (g["a"] * 10, g["a"] * x)

    assert f(2.0, 3.0)["a"].item() == 6.0
    assert fc.tree.map(float, fc.grad(lambda x, y: f(x, y)["a"], (0, 1))(2.0, 3.0)) == (10.0, 2.0)
    rows = fc.vmap(fc.grad(lambda x: f(x, x)["a"]))(X)
    np.testing.assert_array_equal(rows, [11.0, 12.0, 13.0])
    by_x = fc.grad(lambda x: f(x, fc.ones(3))["a"].sum())(X)
    assert by_x.tolist() == [10.0] * 3  # at another shape

    def outer(y):
        converted, values = fc.closure_convert(lambda x: x * y, X)
        assert len(values) == 1
        return converted(X, *values).sum()

    assert fc.grad(outer)(2.0).item() == 6.0
    with pytest.raises(TypeError, match="a pair .result, function of the cotangent."):
        fc.grad(fc.custom_gradient(lambda x: x))(1.0)


# ---- trees ---------------------------------------------------------------------------------------


def paths(tree, **options):
    return [(fc.tree.keystr(path), leaf) for path, leaf in fc.tree.leaves_with_path(tree, **options)]


def test_paths():
    tree = {"a": [1, (2,)], "b": collections.OrderedDict(z=3)}
    assert paths(tree) == [("['a'][0]", 1), ("['a'][1][0]", 2), ("['b']['z']", 3)]
    assert paths(tree, is_leaf=lambda x: isinstance(x, tuple))[1] == ("['a'][1]", (2,))
    assert paths(tree, is_leaf=lambda path, x: len(path) == 1, is_leaf_takes_path=True) == [
        ("['a']", [1, (2,)]),
        ("['b']", collections.OrderedDict(z=3)),
    ]
    path, _ = fc.tree.leaves_with_path(tree)[1]
    assert path == (fc.tree.DictKey("a"), fc.tree.SequenceKey(1), fc.tree.SequenceKey(0))
    assert fc.tree.keystr(path, simple=True, separator="/") == "a/1/0"
    shown = fc.tree.map_with_path(lambda p, x, y: (fc.tree.keystr(p), x + y), [1, 2], [10, 20])
    assert shown == [("[0]", 11), ("[1]", 22)]
    pairs, structure = fc.tree.flatten_with_path(tree)
    assert structure.unflatten([leaf for _, leaf in pairs]) == tree


def test_tree_functions():
    assert fc.tree.broadcast({"a": 1, "b": 2}, {"a": [0, 0], "b": 0}) == {"a": [1, 1], "b": 2}
    assert fc.tree.reduce_associative(lambda a, b: a + b, list("abcde")) == "abcde"
    assert fc.tree.reduce_associative(max, [], identity=0) == 0
    assert fc.tree.all_leaves([1, X]) and not fc.tree.all_leaves([1, [2]])
    assert fc.tree.transpose(fc.tree.structure([0, 0]), None, [(1, 2), (3, 4)]) == ([1, 3], [2, 4])
    one, two = fc.tree.structure(0), fc.tree.structure([0])
    assert fc.tree.treedef_tuple([one, two]) == fc.tree.structure((0, [0]))
    assert fc.tree.treedef_children(two) == [one]
    assert fc.tree.treedef_is_leaf(one) and not fc.tree.treedef_is_leaf(two)
    for empty in (lambda: fc.tree.reduce(max, []), lambda: fc.tree.reduce_associative(max, [])):
        with pytest.raises(TypeError, match="without leaves"):
            empty()


def test_registered_classes():
    @fc.tree.register_dataclass
    @dataclasses.dataclass
    class Layer:
        weight: object
        name: str = fc.tree.static(default="layer")

    assert paths(Layer(1.0, "a")) == [(".weight", 1.0)]
    assert fc.grad(lambda layer: layer.weight**2)(Layer(3.0, "a")) == Layer(fc.asarray(6.0), "a")

    @dataclasses.dataclass
    class Forgotten:
        a: int
        b: int

    with pytest.raises(ValueError, match="Every field of `init`"):
        fc.tree.register_dataclass(Forgotten, data_fields=["a"], meta_fields=[])

    class Keyed:
        def __init__(self, x):
            self.x = x

    fc.tree.register_pytree_with_keys(
        Keyed, lambda k: (((fc.tree.GetAttrKey("x"), k.x),), None), lambda _, xs: Keyed(*xs)
    )
    assert paths(Keyed([1])) == [(".x[0]", 1)] and fc.tree.leaves(Keyed(2)) == [2]

    @fc.tree.register_static
    class Choice(str):
        pass

    assert fc.jit(lambda c, x: x * len(c))(Choice("ab"), 2.0).item() == 4.0
    f = fc.tree.Partial(lambda a, b: a * b, fc.asarray(2.0))
    assert fc.jit(lambda f, x: f(x))(f, 3.0).item() == 6.0 and fc.tree.leaves(f) == [2.0]


def test_data_of_other_byte_orders():
    assert fc.asarray(np.arange(3, dtype=">i4")).tolist() == [0, 1, 2]
    assert fc.asarray(np.ones(2, ">f8")).dtype == fc.float64


def test_dicts_with_a_default_are_in_the_order_of_their_keys():
    """As dicts are, whatever came first; an OrderedDict keeps its own order."""
    one, other = (collections.defaultdict(list, pairs) for pairs in ({"b": 1.0, "a": 2.0}, {"a": 2.0, "b": 1.0}))
    assert fc.tree.leaves(one) == [2.0, 1.0] and fc.tree.structure(one) == fc.tree.structure(other)
    assert fc.tree.map(lambda x, y: x - y, one, other) == {"a": 0, "b": 0}
    assert paths(one) == [("['a']", 2.0), ("['b']", 1.0)]
    assert fc.flatten_util.ravel_pytree(one)[0].tolist() == [2, 1]
    assert fc.tree.leaves(collections.OrderedDict(b=1.0, a=2.0)) == [1, 2]
    traces = []
    f = fc.jit(lambda d: traces.append(d) or d["a"] + 10 * d["b"])
    assert float(f(one)) == float(f(other)) == 12 and len(traces) == 1
