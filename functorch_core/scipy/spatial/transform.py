"""jax.scipy.spatial.transform: rotations in three dimensions as unit quaternions (x, y, z, w)."""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

import functorch_core as fc

from ...array.compose import missing_name
from ...numpy.elementwise import floats

AXES = "xyz"
SEQUENCE = "a sequence of axes is one to three of 'xyz' (fixed axes) or of 'XYZ' (turning ones), got {seq!r}"


def _unit(q):
    return q / fc.sqrt(fc.sum(q * q, axis=-1, keepdims=True))


def _product(p, q):
    """The quaternion of q and then p."""
    (a, d), (b, e) = ((v[..., :3], v[..., 3:]) for v in (p, q))
    a, b = fc.broadcast_arrays(a, b)
    vector = d * b + e * a + fc.linalg.cross(a, b)
    return fc.concat([vector, d * e - fc.sum(a * b, axis=-1, keepdims=True)], axis=-1)


def _sinc_half(angle):
    """sin(angle / 2) / angle, right at 0."""
    return fc.sinc(angle / (2 * math.pi)) / 2


class Rotation(NamedTuple):
    """A rotation, or several: made by from_quat, from_rotvec, from_matrix, from_euler, from_mrp.

    >>> from functorch_core.scipy.spatial.transform import Rotation
    >>> import functorch_core as fc
    >>> Rotation.from_euler("z", 90., degrees=True).apply(fc.asarray([1., 0., 0.])).round(3)
    Array([0., 1., 0.], dtype=float32)
    """

    quat: Any

    # ---- from other forms

    @classmethod
    def from_quat(cls, quat):
        """Of quaternions (x, y, z, w), which are scaled to size 1."""
        return cls(_unit(floats(quat)))

    @classmethod
    def from_rotvec(cls, rotvec, degrees=False):
        """Of vectors along the axis, whose length is the angle."""
        v = floats(rotvec)
        v = v * (math.pi / 180) if degrees else v
        square = fc.sum(v * v, axis=-1, keepdims=True)
        angle = fc.sqrt(fc.where(square == 0, fc.ones_like(square), square))
        angle = fc.where(square == 0, fc.zeros_like(angle), angle)
        return cls(fc.concat([v * _sinc_half(angle), fc.cos(angle / 2)], axis=-1))

    @classmethod
    def from_mrp(cls, mrp):
        """Of modified Rodrigues parameters: the axis times tan(angle / 4)."""
        m = floats(mrp)
        square = fc.sum(m * m, axis=-1, keepdims=True)
        return cls(fc.concat([2 * m, 1 - square], axis=-1) / (1 + square))

    @classmethod
    def from_matrix(cls, matrix):
        """Of orthogonal matrices [..., 3, 3]."""
        m = floats(matrix)
        diagonal = [m[..., i, i] for i in range(3)]
        trace = diagonal[0] + diagonal[1] + diagonal[2]
        rows = []
        for i in range(3):  # by the greatest of x, y, z, w
            j, k = (i + 1) % 3, (i + 2) % 3
            parts = [None] * 4
            parts[i] = 1 - trace + 2 * diagonal[i]
            parts[j], parts[k] = m[..., j, i] + m[..., i, j], m[..., k, i] + m[..., i, k]
            parts[3] = m[..., k, j] - m[..., j, k]
            rows.append(fc.stack(parts, axis=-1))
        last = [m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1], 1 + trace]
        rows.append(fc.stack(last, axis=-1))
        place = fc.argmax(fc.stack([*diagonal, trace], axis=-1), axis=-1)[..., None, None]
        found = fc.take_along_axis(fc.stack(rows, axis=-2), fc.broadcast_to(place, (*m.shape[:-2], 1, 4)), axis=-2)
        return cls(_unit(found[..., 0, :]))

    @classmethod
    def from_euler(cls, seq, angles, degrees=False):
        """Of angles about axes, one after the other: 'xyz' of fixed axes, 'XYZ' of turning ones."""
        intrinsic = _sequence(seq)
        angles = floats(angles)
        angles = angles * (math.pi / 180) if degrees else angles
        if not angles.ndim:
            angles = angles[None]
        if len(seq) == 1 and angles.shape[-1] != 1:
            angles = angles[..., None]
        out = None
        for i, axis in enumerate(seq.lower()):
            half = angles[..., i] / 2
            parts = [fc.zeros_like(half)] * 3 + [fc.cos(half)]
            parts[AXES.index(axis)] = fc.sin(half)
            q = fc.stack(parts, axis=-1)
            out = q if out is None else _product(out, q) if intrinsic else _product(q, out)
        return cls(out[0] if len(seq) == 1 and out.shape[:-1] == (1,) else out)

    @classmethod
    def identity(cls, num=None, dtype=float):
        """No rotation, or several of them."""
        one = fc.asarray([0, 0, 0, 1], dtype=dtype)
        return cls(one if num is None else fc.tile(one, (num, 1)))

    @classmethod
    def random(cls, random_key, num=None):
        """Uniformly drawn rotations."""
        return cls.from_quat(fc.random.normal(random_key, (4,) if num is None else (num, 4)))

    @classmethod
    def concatenate(cls, rotations):
        """Several as one."""
        return cls(fc.concat([fc.reshape(r.quat, (-1, 4)) for r in rotations], axis=0))

    # ---- to other forms

    def as_quat(self, canonical=False, scalar_first=False):
        """The quaternions (x, y, z, w); canonical: with w >= 0; scalar_first: (w, x, y, z)."""
        q = self.quat
        if canonical:
            nonzero = q != 0
            sign = fc.where(nonzero[..., 2], q[..., 2], fc.where(nonzero[..., 1], q[..., 1], q[..., 0]))
            for i in (2, 1, 0):
                sign = fc.where(nonzero[..., i] & (fc.sum(nonzero[..., :i], axis=-1) == 0), q[..., i], sign)
            sign = fc.where(nonzero[..., 3], q[..., 3], sign)
            q = fc.where((sign < 0)[..., None], -q, q)
        return fc.roll(q, 1, axis=-1) if scalar_first else q

    def as_rotvec(self, degrees=False):
        """The vectors along the axis, whose length is the angle in [0, pi]."""
        q = self.quat
        q = fc.where(q[..., 3:] < 0, -q, q)
        square = fc.sum(q[..., :3] * q[..., :3], axis=-1, keepdims=True)
        size = fc.sqrt(fc.where(square == 0, fc.ones_like(square), square))
        angle = 2 * fc.atan2(fc.where(square == 0, fc.zeros_like(size), size), q[..., 3:])
        out = q[..., :3] / _sinc_half(angle)
        return out * (180 / math.pi) if degrees else out

    def as_mrp(self):
        """The modified Rodrigues parameters."""
        q = fc.where(self.quat[..., 3:] < 0, -self.quat, self.quat)
        return q[..., :3] / (1 + q[..., 3:])

    def as_matrix(self):
        """The matrices [..., 3, 3]."""
        x, y, z, w = (self.quat[..., i] for i in range(4))
        rows = [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
        return fc.stack([fc.stack(row, axis=-1) for row in rows], axis=-2)

    def as_euler(self, seq, degrees=False):
        """The angles about three axes; see from_euler. Of a gimbal lock the third is 0."""
        intrinsic = _sequence(seq)
        if len(seq) != 3:
            raise ValueError("as_euler takes three axes, like 'xyz'")
        names = seq.lower()[::-1] if intrinsic else seq.lower()
        i, j, k = map(AXES.index, names)
        symmetric = i == k
        k = 3 - i - j if symmetric else k
        sign = (i - j) * (j - k) * (k - i) / 2
        x, y, z, w = (self.quat[..., n] for n in (i, j, k, 3))
        z = z * sign
        a, b, c, d = (w, x, y, z) if symmetric else (w - y, x + z, y + w, z - x)
        middle = 2 * fc.atan2(fc.hypot(c, d), fc.hypot(a, b))
        half_sum, half_difference = fc.atan2(b, a), fc.atan2(d, c)
        near_zero, near_pi = fc.abs(middle) <= 1e-7, fc.abs(middle - math.pi) <= 1e-7
        locked = near_zero | near_pi
        first, third = half_sum - half_difference, half_sum + half_difference
        if intrinsic:
            alone = fc.where(near_zero, 2 * half_sum, 2 * half_difference)
            first, third = fc.where(locked, fc.zeros_like(first), first), fc.where(locked, alone, third)
        else:
            alone = fc.where(near_zero, 2 * half_sum, -2 * half_difference)
            first, third = fc.where(locked, alone, first), fc.where(locked, fc.zeros_like(third), third)
        if not symmetric:
            third, middle = third * sign, middle - math.pi / 2
        angles = [first, middle, third][:: -1 if intrinsic else 1]
        out = fc.stack([fc.remainder(v + math.pi, 2 * math.pi) - math.pi for v in angles], axis=-1)
        return out * (180 / math.pi) if degrees else out

    # ---- what they do

    def apply(self, vectors, inverse=False):
        """The vectors [..., 3] turned."""
        matrix = self.as_matrix()
        matrix = fc.matrix_transpose(matrix) if inverse else matrix
        return fc.squeeze(matrix @ floats(vectors)[..., None], axis=-1)

    def inv(self):
        """The rotations back."""
        return Rotation(self.quat * fc.asarray([-1, -1, -1, 1], dtype=self.quat.dtype))

    def magnitude(self):
        """The angles, in [0, pi]."""
        size = fc.sqrt(fc.sum(self.quat[..., :3] ** 2, axis=-1))
        return 2 * fc.atan2(size, fc.abs(self.quat[..., 3]))

    def mean(self, weights=None):
        """The rotation nearest to all."""
        q = fc.reshape(self.quat, (-1, 4))
        weights = fc.ones(q.shape[0], dtype=q.dtype) if weights is None else floats(weights).astype(q.dtype)
        return Rotation(fc.linalg.eigh((weights[:, None] * q).T @ q).eigenvectors[:, -1])

    @property
    def single(self) -> bool:
        """Whether it is one."""
        return self.quat.ndim == 1

    def __mul__(self, other):
        return Rotation(_unit(_product(self.quat, other.quat)))

    def __getitem__(self, index):
        if self.single:
            raise TypeError("one rotation has no parts: r[i] is of several")
        return Rotation(self.quat[index])

    def __len__(self):
        if self.single:
            raise TypeError("one rotation has no length")
        return self.quat.shape[0]


def _sequence(seq: str) -> bool:
    """Whether the axes of a sequence are turning ones; ValueError for what is none."""
    if not re.fullmatch("[xyz]{1,3}|[XYZ]{1,3}", seq):
        raise ValueError(SEQUENCE.format(seq=seq))
    return seq.isupper()


class Slerp(NamedTuple):
    """Rotations interpolated between times: made by Slerp.init(times, rotations), called with times.

    >>> from functorch_core.scipy.spatial.transform import Rotation, Slerp
    >>> import functorch_core as fc
    >>> turns = Rotation.from_euler("z", fc.asarray([0., 90.]), degrees=True)
    >>> Slerp.init(fc.asarray([0., 1.]), turns)(fc.asarray(0.5)).as_euler("xyz", degrees=True).round(3)
    Array([ 0., -0., 45.], dtype=float32)
    """

    times: object
    timedelta: object
    rotations: Rotation
    rotvecs: object

    @classmethod
    def init(cls, times, rotations):
        """Of rising times [n] and as many rotations."""
        times = floats(times)
        if times.ndim != 1 or rotations.quat.shape[0] != times.shape[0]:
            raise ValueError(f"Slerp takes times [n] and n rotations, got {times.aval} and {rotations.quat.aval}")
        first = Rotation(rotations.quat[:-1])
        steps = (first.inv() * Rotation(rotations.quat[1:])).as_rotvec()
        return cls(times, fc.diff(times), first, steps)

    def __call__(self, times):
        """The rotations at times."""
        times = floats(times)
        place = fc.clip(fc.searchsorted(self.times, times, side="right") - 1, 0, self.timedelta.shape[0] - 1)
        share = (times - self.times[place]) / self.timedelta[place]
        return Rotation(self.rotations.quat[place]) * Rotation.from_rotvec(self.rotvecs[place] * share[..., None])


__getattr__ = missing_name("scipy.spatial.transform", {})

__all__ = ["Rotation", "Slerp"]
