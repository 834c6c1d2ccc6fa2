"""Corners that PyTorch's own test_torch.py goes into, against PyTorch."""

import numpy as np
import pytest

from functorch_core import torch as ours
from tests.nn.both import agree, failing


def test_errors_of_python_functions_on_elements():
    def program(t):
        one, four = t.ones(1), t.ones(4)
        calls = [
            (one.map_, four, lambda x, y: x),
            (one.map_, t.ones(1, dtype=t.int), lambda x, y: x),
            (t.ones(1, requires_grad=True).map_, one, lambda x, y: x),
            (one.map2_, four, four, lambda x, y, z: x),
            (one.map2_, t.ones(1, requires_grad=True), one, lambda x, y, z: x),
            (one.map2_, t.ones(1, dtype=t.int), one, lambda x, y, z: x),
        ]
        names = [failing(four.apply_, lambda x: "a")[0]]
        return four.map_(one, lambda x, y: x + y), [failing(f, *args) for f, *args in calls], names

    agree(program)


def test_errors_of_shapes_and_kinds():
    def program(t):
        x = t.ones(2, 3)
        calls = [
            lambda: t.ones(3).index_fill_(0, t.tensor([0]), 1 + 1j),
            lambda: t.diff(x, prepend=t.ones(1, 2)),
            lambda: t.diff(x, dim=0, append=t.ones(1, 2)),
            lambda: t.normal(t.ones(120), t.ones(2, 3, 4, 5)),
            lambda: t.empty(3, 3, memory_format=t.channels_last),
            lambda: t.empty(3, 3, 3, memory_format=t.channels_last_3d),
        ]
        return [failing(call) for call in calls], failing(t.device, -1)[0], t.ones(3).new(size=(2, 0))

    agree(program)


@pytest.fixture
def deterministic():
    """Deterministic algorithms in both libraries."""
    libraries = ours, pytest.importorskip("torch")
    for t in libraries:
        t.use_deterministic_algorithms(True)
    yield
    for t in libraries:
        t.utils.deterministic.fill_uninitialized_memory = True
        t.use_deterministic_algorithms(False)


DTYPES = ["float32", "bfloat16", "complex64", "int8", "uint8", "int64", "bool", "uint16", "uint64", "float16"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_uninitialized_memory_shows(deterministic, dtype):
    def program(t):
        d = getattr(t, dtype)
        one = t.ones(1, dtype=d)
        made = [
            t.empty(2, dtype=d),
            t.empty_like(t.ones(2, 2, dtype=d)),
            one.new_empty(2),
            one.new_empty_strided((2,), (2,)),
        ]
        made += [t.empty_strided((2,), (2,), dtype=d), t.ones(1, dtype=d).resize_(3), t.Tensor(2)]
        return [repr(x) for x in made]

    agree(program)


def test_uninitialized_memory_is_left_alone(deterministic):
    for t in (ours, pytest.importorskip("torch")):
        t.utils.deterministic.fill_uninitialized_memory = False
        assert t.utils.deterministic.fill_uninitialized_memory is False
        assert not t.empty(2).isnan().any() or t is not ours
        t.utils.deterministic.fill_uninitialized_memory = True
        assert t.empty(2).isnan().all()


def test_former_jacobians():
    def program(t):
        check = t.autograd.gradcheck.__globals__
        a, b = (t.rand(2, dtype=t.float64, requires_grad=True) for _ in range(2))
        numerical = check["_get_numerical_jacobian"](lambda x, y: (2 * x + y, x * y), (a, b), eps=1e-6)
        with pytest.warns(FutureWarning):
            old = check["get_numerical_jacobian"](lambda xs: xs[0] * 2, (a,))
            found, same, *_ = check["get_analytical_jacobian"]((a, b), 2 * a + b)
        return [list(row) for row in numerical], old, found, same, len([*check["_iter_tensors"](([a], (b, 1)))])

    agree(program, rtol=1e-4)


def test_errors_of_nn_functional():
    def program(t):
        f = t.nn.functional
        image, grid = t.ones(1, 1, 2, 2), t.ones(1, 1, 1, 2)
        x = t.ones(1, 1, 16, 16)
        calls = [
            lambda: f.grid_sample(image[0], grid, align_corners=False),
            lambda: f.grid_sample(image, t.ones(1, 1, 1, 1, 3), align_corners=False),
            lambda: f.cosine_embedding_loss(t.ones(2, 3), t.ones(3), t.ones(2)),
            lambda: f.cosine_embedding_loss(t.ones(2, 3), t.ones(2, 3), t.ones(())),
            lambda: f.cosine_embedding_loss(t.ones(2, 3), t.ones(2, 3), t.ones(1, 2)),
            lambda: t.nn.Fold((4, 5), (2, 2), dilation=8)(t.ones(1, 12, 12)),
            lambda: t.nn.FractionalMaxPool2d([2, 1], output_ratio=[0.5, 0.5, 0.6])(x),
            lambda: f.interpolate(x, scale_factor=1e20, mode="bilinear"),
        ]
        sizes = failing(f.interpolate, x, size=(4.0, 4.0))
        kinds = [failing(call)[0] for call in calls]
        return kinds, [failing(call)[1].partition(", but")[0] for call in calls[2:]], sizes

    agree(program)


def test_grids_of_one_position_warn():
    def program(t):
        with pytest.warns(UserWarning) as seen:
            t.nn.functional.affine_grid(t.ones(1, 2, 3), (1, 1, 2, 1), align_corners=True)
        return [str(w.message) for w in seen]

    agree(program)


def test_fused_steps_need_floating_parameters_with_data():
    def program(t):
        layer = t.nn.Linear(2, 2, device="meta")
        optimizer = t.optim.Adam(layer.parameters(), fused=True)
        for p in layer.parameters():
            p.grad = t.rand_like(p)
        return failing(optimizer.step)[1].partition("[")[0]

    agree(program)


def test_tensors_in_lists_are_numbers():
    def program(t):
        made = [
            t.tensor([t.tensor([1]), t.tensor([2])]),
            t.tensor([t.tensor([[1.5]]), 3]),
            t.tensor([(t.tensor([1]), t.tensor(2))]),
        ]
        given = [[t.ones(2, dtype=t.int64)], [t.ones(2)], [0, "a"], ["a", 1], [[1, 2], [3, "a"]]]
        return made, [failing(t.tensor, x) for x in given]

    agree(program)


def test_sizes_beyond_64_bits():
    def program(t):
        calls = [
            lambda: t.arange(1.175494351e-38, 3.402823466e38),
            lambda: t.arange(0, 2**62),
            lambda: t.zeros(2**62),
            lambda: t.empty([2, 4, 2**29, 2**29], dtype=t.float64),
        ]
        return [failing(call) for call in calls]

    agree(program)


def test_nothing_is_joined_along_any_dimension():
    def program(t):
        out = t.ones(2)
        t.zeros(2, out=out, requires_grad=True)
        return t.cat([t.ones(0), t.ones(0)], dim=1), out.requires_grad

    agree(program)


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "int64", "uint8"])
def test_random_numbers_up_to_the_largest(dtype):
    def program(t):
        x = t.zeros(6, dtype=getattr(t, dtype))
        t.manual_seed(3)
        return [x.random_(5, None).clone(), x.random_(9).clone(), x.random_(2, 7).clone(), x.random_(to=4).clone()]

    agree(program)


def test_bools_are_no_dimensions_and_arrays_no_tensors():
    def program(t):
        x = t.ones(2, 3)
        calls = [
            lambda: x.flatten(True),
            lambda: x.flatten(0, True),
            lambda: x.transpose(True, False),
            lambda: x.softmax(True),
            lambda: x.amax(True),
            lambda: t.cat([x], True),
            lambda: x.size(True),
            lambda: x.chunk(1, True),
            lambda: t.isclose(x, x, t.ones(2)),
        ]
        copies = [lambda: x.copy_(np.ones(3)), lambda: x.copy_([1, 2, 3])]
        return [failing(call)[0] for call in calls], [failing(copy) for copy in copies], x.clone().copy_(3)

    agree(program)


def test_tolerances_may_be_tensors():
    def program(t):
        near = t.isclose(t.ones(3), t.tensor([1.0, 1.1, 1.5]), t.tensor(0.2), t.tensor(0.0))
        return (
            near,
            t.allclose(t.ones(3), t.ones(3) * 1.1, rtol=t.tensor(0.2)),
            failing(t.isclose, near, near, t.tensor(-1.0)),
        )

    agree(program)


def test_shapes_of_margin_losses():
    def program(t):
        sizes = [((0,), (10,)), ((10, 0), (10,)), ((0, 10), (0,)), ((0, 10), (0, 10)), ((0,), (0,)), ((3,), (1, 3))]
        calls = [(s, labels, loss) for s, labels in sizes for loss in (t.nn.MultiMarginLoss, t.nn.MultiLabelMarginLoss)]
        return [failing(lambda c=c: c[2]()(t.zeros(c[0]), t.zeros(c[1], dtype=t.long)).shape) for c in calls]

    agree(program)


def test_threshold_of_overlapping_memory():
    def program(t):
        x = t.tensor([[0.2, 0.7, -1.0]]).expand(3, 3)
        first = t.nn.functional.threshold(x, 0.5, 0.5, inplace=True).clone()
        return first, t.nn.functional.threshold_(x, 0.6, 0.1), failing(t.nn.functional.elu_, x)[0]

    agree(program)


def test_masked_softmax():
    def program(t):
        x = t.linspace(-2, 2, 32).reshape(2, 1, 4, 4).requires_grad_()
        rows, square = t.tensor([[0, 1, 0, 1], [1, 1, 1, 1]]).bool(), t.eye(4).bool()
        found = [t._masked_softmax(x, square, 3, 0), t._masked_softmax(x, rows, None, 1)]
        found.append(t._masked_softmax(x, square.expand(2, 1, 4, 4), 0))
        found[2].square().sum().backward()
        calls = [
            lambda: t._masked_softmax(x, square.float(), 3, 0),
            lambda: t._masked_softmax(x, square, 3, 4),
            lambda: t._masked_softmax(x, t.ones(5, 4).bool(), 3, 0),
            lambda: t._masked_softmax(x, square, 3, 1),
            lambda: t._masked_softmax(x, square, 3, 2),
        ]
        return found, x.grad, [failing(call) for call in calls]

    agree(program)


def test_long_rows_are_normalised_as_exactly_as_short_ones():
    x = ours.linspace(0.0, 1.0, 1 << 22).reshape(2, -1)
    for f in (lambda x: ours.nn.functional.layer_norm(x, x.shape[1:]), lambda x: ours.nn.functional.group_norm(x, 1)):
        assert (f(x).double() - f(x.double())).abs().max() < 1e-6


def test_skipped_initialisation():
    state = ours.get_rng_state()
    made = ours.nn.utils.skip_init(ours.nn.Linear, 5, 1, bias=False, dtype=ours.float64)
    assert made.weight.requires_grad and made.weight.is_leaf and made.weight.shape == (1, 5)
    assert made.weight.device.type == "cpu" and made.weight.dtype == ours.float64
    assert ours.equal(state, ours.get_rng_state())
    assert ours.nn.utils.skip_init(ours.nn.Linear, 5, 1, device="meta").weight.is_meta


@pytest.mark.parametrize("name", ["max_pool1d", "max_pool2d", "max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d"])
def test_sizes_of_windows(name):
    n = int(name[-2])

    def program(t):
        wrong = [0, -1, 9, (), (1,), (1,) * 2, (1,) * 3, (1,) * 4]
        kinds = ["kernel_size", "stride", "padding", *["dilation"] * name.startswith("max")]
        function, x = getattr(t.nn.functional, name), t.ones([1, 2] + n * [4])
        return [failing(lambda k=k, v=v: function(x, **{"kernel_size": 2, k: v}).shape) for k in kinds for v in wrong]

    agree(program)


@pytest.mark.parametrize("n", [2, 3])
def test_sizes_of_fractional_windows(n):
    def program(t):
        function, x = getattr(t.nn.functional, f"fractional_max_pool{n}d"), t.ones([1, 2] + n * [7])
        kernels, outs = [(), (1,), (2,) * 4, 2], [3, (3,), (), (3,) * 4, (9, *(3,) * (n - 1)), (*(3,) * (n - 1), 9)]
        return [failing(lambda k=k, m=m: function(x, k, output_size=m).shape) for k in kernels for m in outs]

    agree(program)


def test_memory_of_pooled_volumes_without_a_batch():
    def program(t):
        found = []
        for size in ((1, 8, 6, 6, 6), (1, 1, 6, 6, 6), (2, 3, 6, 6, 6)):
            x = t.arange(float(np.prod(size))).reshape(size).contiguous(memory_format=t.channels_last_3d)
            for y in (x, x[0], x.squeeze(0).clone()):
                made = [t.nn.functional.max_pool3d(y, 3), *t.nn.functional.max_pool3d(y, 2, return_indices=True)]
                found.append([(part, part.stride()) for part in made])
        return found

    agree(program)


def test_softmax_by_its_operators_name():
    def program(t):
        x = t.linspace(-1, 1, 6).reshape(2, 3).requires_grad_()
        found = t._softmax(x, 1, False), t._log_softmax(x, 0, False)
        (found[0] * found[1]).sum().backward()
        return found, x.grad

    agree(program)
