"""References to arrays, settings that hold, and the smaller modules of JAX's names."""

from __future__ import annotations

import numpy as np
import pytest

import functorch_core as fc
from functorch_core import jnn


def test_a_reference_in_a_function():
    @fc.jit
    def fibonacci(a, b):
        ref = fc.new_ref(fc.zeros(6))
        ref[0], ref[1] = a, b
        for i in range(2, 6):
            ref[i] = ref[i - 1] + ref[i - 2]
        ref[...] *= 2.0
        return fc.freeze(ref)

    assert fibonacci(1.0, 1.0).tolist() == [2.0, 2.0, 4.0, 6.0, 10.0, 16.0]
    slope = fc.grad(lambda a: fibonacci(a, 1.0).sum())(1.0)
    assert slope.item() == 2 * (1 + 0 + 1 + 1 + 2 + 3)


def test_references_stay_where_they_were_made():
    ref = fc.new_ref(fc.asarray(1.0))
    for wrong in (lambda x: ref[...] + x, lambda x: ref.set(..., x)):
        with pytest.raises(TypeError, match="fc.scan"):
            fc.jit(wrong)(2.0)
    assert ref[...].item() == 1.0
    with pytest.raises(TypeError, match="not an array"):
        fc.jit(lambda r: r[...])(ref)
    assert fc.freeze(ref).item() == 1.0
    with pytest.raises(ValueError, match="frozen"):
        ref[...]
    with pytest.raises(TypeError, match="new_ref"):
        fc.freeze(fc.asarray(1.0))


def test_settings_take_what_holds():
    with fc.no_tracing(False), fc.transfer_guard("allow"), fc.softmax_custom_jvp(True), fc.enable_checks(True):
        assert fc.zeros(1).item() == 0.0
    with pytest.raises(NotImplementedError, match="are copied"):
        with fc.transfer_guard("disallow"):
            pass
    assert (fc.host_id(), fc.host_ids(), fc.host_count(), fc.process_indices()) == (0, [0], 1, [0])


def test_scaled_products():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 3, 8)).astype("float32"), rng.normal(size=(2, 5, 8)).astype("float32")
    s, t = rng.random((2, 3, 4)).astype("float32"), rng.random((2, 5, 4)).astype("float32")
    wanted = np.einsum("bmk,bnk->bmn", a * s.repeat(2, -1), b * t.repeat(2, -1))
    np.testing.assert_allclose(jnn.scaled_matmul(a, b, s, t), wanted, rtol=2e-6, atol=1e-6)
    found = fc.lax.scaled_dot(
        a, b.swapaxes(1, 2), lhs_scale=s, rhs_scale=t.swapaxes(1, 2), preferred_element_type=fc.float32
    )
    np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=1e-6)
    with pytest.raises(ValueError, match="divide"):
        jnn.scaled_matmul(a, b, s[..., :3], t)


def test_ragged_products_of_batches():
    rng = np.random.default_rng(1)
    a, b, sizes = rng.normal(size=(4, 3, 2)), rng.normal(size=(4, 2, 5)), np.array([2, 1])
    numbers = fc.lax.RaggedDotDimensionNumbers((((2,), (1,)), ((0,), (0,))), (0,), ())
    wanted = a @ b * (np.arange(4) < 3)[:, None, None]
    np.testing.assert_allclose(fc.lax.ragged_dot_general(a, b, sizes, numbers), wanted, rtol=1e-12)


def test_profiles_can_be_read(tmp_path):
    options = fc.profiler.ProfileOptions()
    options.python_tracer_level = 0
    with fc.profiler.trace(tmp_path, profiler_options=options):
        fc.jit(lambda x: x @ x)(fc.ones((10, 10))).block_until_ready()
    (file,) = tmp_path.glob("**/*.xplane.pb")
    assert any("CPU" in plane.name for plane in fc.profiler.ProfileData.from_file(str(file)).planes)


def test_segments_want_their_number_under_jit():
    with pytest.raises(TypeError, match="static"):
        fc.jit(fc.ops.segment_sum)(fc.ones(3), fc.asarray([0, 1, 1]))
