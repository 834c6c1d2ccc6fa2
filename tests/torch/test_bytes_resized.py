"""Pictures of bytes are resized to the same bytes as PyTorch's."""

import numpy as np
import pytest
import torch as reference

from functorch_core import engine, torch

SIZES = ({"size": (5, 11)}, {"size": (17, 4)}, {"size": (9, 7)}, {"scale_factor": (0.4, 1.7)})


def resized(library, array, last, **options):
    """The bytes, and how they lie."""
    x = library.tensor(array)
    if last:
        x = x.contiguous(memory_format=library.channels_last)
    y = library.nn.functional.interpolate(x, **options)
    assert y.dtype is library.uint8
    return y.numpy().copy(), y.stride()


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("tier", ["reference", "fused"])
def test_bytes_are_resized_to_the_same_bytes(mode, tier):
    array = np.random.default_rng(0).integers(0, 256, (2, 3, 9, 7)).astype(np.uint8)
    before = engine.get_tier()
    engine.set_tier(tier)
    try:
        for size in SIZES:
            for antialias, align, last in (
                (True, False, True),
                (True, True, False),
                (False, False, True),
                (False, True, False),
            ):
                options = {**size, "mode": mode, "antialias": antialias, "align_corners": align}
                found, wanted = (resized(library, array, last, **options) for library in (torch, reference))
                np.testing.assert_array_equal(found[0], wanted[0], err_msg=str(options))
                assert found[1] == wanted[1]
    finally:
        engine.set_tier(before)


def test_one_channel_and_one_row():
    for shape in ((1, 1, 1, 8), (1, 4, 6, 1)):
        array = np.random.default_rng(1).integers(0, 256, shape).astype(np.uint8)
        for antialias in (True, False):
            options = {"size": (3, 5), "mode": "bilinear", "antialias": antialias}
            found, wanted = (resized(library, array, False, **options) for library in (torch, reference))
            np.testing.assert_array_equal(found[0], wanted[0])
