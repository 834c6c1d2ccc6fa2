"""functorch_core.scipy.spatial.transform against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import transform as theirs

import functorch_core as fc
from functorch_core.scipy.spatial import transform

rng = np.random.default_rng(11)
QUATS = rng.normal(size=(6, 4))
OURS, THEIRS = transform.Rotation.from_quat(fc.asarray(QUATS)), theirs.Rotation.from_quat(QUATS)


def close(found, wanted):
    np.testing.assert_allclose(found, wanted, 1e-9, 1e-10)


@pytest.mark.parametrize("form", ["matrix", "rotvec", "mrp"])
def test_forms_and_back(form):
    wanted = getattr(THEIRS, f"as_{form}")()
    close(getattr(OURS, f"as_{form}")(), wanted)
    back = getattr(transform.Rotation, f"from_{form}")(fc.asarray(wanted))
    close(back.as_quat(canonical=True), THEIRS.as_quat(canonical=True))


@pytest.mark.parametrize("seq", ["xyz", "ZYX", "zxz", "YXY", "yzx", "XZY"])
def test_angles(seq):
    angles = rng.uniform(-3, 3, size=(5, 3))
    close(
        transform.Rotation.from_euler(seq, fc.asarray(angles)).as_matrix(),
        theirs.Rotation.from_euler(seq, angles).as_matrix(),
    )
    close(OURS.as_euler(seq, degrees=True), THEIRS.as_euler(seq, degrees=True))


def test_one_axis():
    close(
        transform.Rotation.from_euler("z", fc.asarray(np.array(0.3))).as_quat(),
        theirs.Rotation.from_euler("z", 0.3).as_quat(),
    )
    many = np.array([0.3, 1.0, 2.0])
    close(
        transform.Rotation.from_euler("y", fc.asarray(many)).as_quat(),
        theirs.Rotation.from_euler("y", many[:, None]).as_quat(),
    )
    with pytest.raises(ValueError, match="sequence of axes"):
        transform.Rotation.from_euler("xY", fc.zeros(2))


def test_what_they_do():
    v = rng.normal(size=(6, 3))
    close(OURS.apply(fc.asarray(v)), THEIRS.apply(v))
    close(OURS.apply(fc.asarray(v), inverse=True), THEIRS.apply(v, inverse=True))
    close(OURS.magnitude(), THEIRS.magnitude())
    close((OURS * OURS.inv()[0]).as_matrix(), (THEIRS * THEIRS.inv()[0]).as_matrix())
    close(OURS.mean().as_matrix(), THEIRS.mean().as_matrix())
    close(OURS[1:3].as_matrix(), THEIRS[1:3].as_matrix())
    assert len(OURS) == 6 and OURS[0].single
    at = np.array([0.2, 1.7, 3.0, 4.99])
    ours, wanted = (m.Slerp for m in (transform, theirs))
    times = np.arange(6.0)
    close(ours.init(fc.asarray(times), OURS)(fc.asarray(at)).as_matrix(), wanted(times, THEIRS)(at).as_matrix())


def test_gradient_through_no_rotation():
    slope = fc.grad(lambda v: transform.Rotation.from_rotvec(v).apply(fc.asarray([1.0, 0.0, 0.0]))[1])(fc.zeros(3))
    close(slope, [0.0, 0.0, 1.0])
