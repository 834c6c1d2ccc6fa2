"""What PyTorch's own test_modules.py asks of modules, against PyTorch."""

import pytest

from tests.nn.both import agree, failing


@pytest.mark.parametrize("n", [2, 3])
def test_fractional_pooling_takes_samples_of_more_examples(n):
    def program(t):
        F = t.nn.functional
        pool = getattr(F, f"fractional_max_pool{n}d")
        x = t.arange(2.0 * 5**n).reshape(2, *[5] * n)
        samples = t.linspace(0.0, 0.9, 3 * 2 * n).reshape(3, 2, n)
        size = [2, 3, 2][:n]
        one = pool(x, 2, output_size=size, return_indices=True, _random_samples=samples)
        two = pool(t.stack([x, -x]), 2, output_size=size, return_indices=True, _random_samples=samples)
        return one, two

    agree(program)


def test_batch_norm_of_no_eps():
    def program(t):
        x, zeros, ones = t.arange(6.0).reshape(2, 3), t.zeros(3), t.ones(3)
        calls = [failing(t.nn.functional.batch_norm, x, zeros, ones, training=True, eps=eps) for eps in (0.0, -1.0)]
        calls += [failing(t.nn.BatchNorm1d(3, eps=0.0), x)]
        return calls, t.nn.functional.batch_norm(x, zeros, ones, eps=0.0), t.nn.BatchNorm1d(3, eps=0.0).eval()(x)

    agree(program)


def test_tensors_made_for_tests_are_where_they_are_asked_for():
    def program(t):
        with t.device("meta"):
            tensors = [t.testing.make_tensor((3,), dtype=dtype, device=None) for dtype in (t.float32, t.int64, t.bool)]
            here = t.testing.make_tensor((3,), dtype=t.float32, device="cpu")
        away = t.testing.make_tensor((2, 3), dtype=t.complex64, device="meta", noncontiguous=True)
        default = t.testing.make_tensor((3,), dtype=t.float32, device=None)
        return [str(x.device) for x in (*tensors, here, away, default)], away.stride()

    agree(program)
