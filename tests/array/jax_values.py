"""Values that JAX computes, for what neither NumPy nor SciPy has.

    JAXPYTHON tests/array/jax_values.py     writes jax_values.npz anew, with a Python that has JAX

Each case is an expression of `lax`, `jnp`, `nn`, ... and of the data below. test_jax_values.py
evaluates the same expressions here.
"""

# ruff: noqa: E501  # the cases are lines

from __future__ import annotations

from pathlib import Path

import numpy as np

FILE = Path(__file__).with_name("jax_values.npz")
rng = np.random.default_rng(1)
spd = rng.normal(size=(4, 4))
DATA = {
    "x": rng.normal(size=(3, 4)),
    "y": rng.normal(size=(3, 4)),
    "m": rng.normal(size=(4, 4)),
    "spd": spd @ spd.T + 4 * np.eye(4),
    "v": rng.normal(size=6),
    "i": rng.integers(-20, 20, size=(3, 4)),
    "k": rng.integers(1, 5, size=(3, 4)),
    "u": rng.integers(0, 255, size=6).astype(np.uint8),
    "b": rng.random((3, 4)) > 0.5,
    "image": rng.normal(size=(2, 4, 7, 6)),
    "kernel": rng.normal(size=(6, 4, 3, 2)),
    "grouped": rng.normal(size=(6, 2, 3, 2)),
    "nhwc": rng.normal(size=(2, 7, 6, 4)),
    "hwio": rng.normal(size=(3, 2, 4, 6)),
    "vol": rng.normal(size=(2, 3, 5)),
    "local": rng.normal(size=(6, 24, 5, 5)),
    "at": np.array([[2], [0], [9]]),
    "p1": np.array([0.3, 0.9, 2.0, 7.0]),
    "p2": np.array([0.5, 1.5, 3.0, 0.2]),
}

CASES = """
lax.div(i, k)
lax.rem(i, k)
lax.rem(x, y)
lax.round(x * 4)
lax.round(x * 4, lax.RoundingMethod.TO_NEAREST_EVEN)
lax.integer_pow(x, 3)
lax.clamp(-0.5, x, 0.5)
lax.complex(x, y)
lax.clz(i)
lax.clz(u)
lax.population_count(u)
lax.shift_left(i, k)
lax.shift_right_logical(i, k)
lax.shift_right_arithmetic(i, k)
lax.mulhi(i * 2**60, k * 2**30)
lax.reduce_precision(x, 5, 7)
lax.convert_element_type(x, 'int32')
lax.bitcast_convert_type(x, 'int64')
lax.bitcast_convert_type(x, 'uint8')
lax.bitcast_convert_type(lax.bitcast_convert_type(x, 'uint8'), 'float64')
lax.select(b, x, y)
lax.select_n(b, x, y)
lax.igamma_grad_a(p1, p2)
lax.random_gamma_grad(p1, p2)
lax.broadcast(v, (2, 3))
lax.broadcast_in_dim(v, (6, 2), (0,))
lax.broadcast_to_rank(x, 4)
lax.broadcasted_iota('int32', (2, 3), 1)
lax.collapse(vol, 1)
lax.collapse(vol, 0, -1)
lax.concatenate([x, y], 1)
lax.expand_dims(x, (0, 3))
lax.reshape(x, (2, 6), (1, 0))
lax.rev(x, (0, 1))
lax.split(v, (1, 3, 2))
lax.squeeze(x[None], (0,))
lax.transpose(vol, (2, 0, 1))
lax.tile(v, (2,))
lax.slice(x, (1, 0), (3, 4), (1, 2))
lax.slice_in_dim(v, 1, -1, 2)
lax.slice_in_dim(x, None, 2, axis=1)
lax.index_in_dim(x, -1, 1)
lax.index_in_dim(x, 1, keepdims=False)
lax.dynamic_slice_in_dim(v, 4, 3)
lax.dynamic_index_in_dim(x, 2, 1, keepdims=False)
lax.dynamic_update_slice_in_dim(x, y[:2], 1, 0)
lax.dynamic_update_index_in_dim(x, v[:4], 1, 0)
lax.pad(x, 7.0, [(1, 0, 2), (-1, 2, 0)])
lax.index_take(x, (i[0] % 3, k[0] - 1), (0, 1))
lax.reduce_sum(i, (0,))
lax.reduce_prod(k, (1,))
lax.reduce_max(x, (0, 1))
lax.reduce_min(x, (1,))
lax.reduce_and(b, (0,))
lax.reduce_or(b, (0,))
lax.reduce_xor(b, (1,))
lax.argmax(x, 1, 'int32')
lax.argmin(x, 0, 'int32')
lax.cumsum(x, 1)
lax.cumsum(x, 0, reverse=True)
lax.cumprod(x, 1, reverse=True)
lax.cummax(x, 1)
lax.cummin(x, 0, reverse=True)
lax.cumlogsumexp(x, 1)
lax.sort(x, 0)
lax.sort((k, i, x), 1, num_keys=2)
lax.sort_key_val(v, u)
lax.top_k(x, 2)
lax.reduce(x, 0.0, lax.add, (0,))
lax.reduce(x, 1.0, lambda a, b: a * b, (1, 0))
lax.reduce_window(x, 0.0, lax.add, (2, 2))
lax.reduce_window(x, -jnp.inf, lax.max, (2, 3), (1, 2), 'SAME')
lax.reduce_window(x, 0.0, lax.add, (2, 2), (2, 1), ((1, 0), (0, 2)), (2, 1), (1, 2))
lax.dot(x, m)
lax.dot(v, v)
lax.dot_general(vol, vol, (((2,), (2,)), ((0,), (0,))))
lax.dot_general(x, m, (((1,), (1,)), ((), ())))
lax.batch_matmul(vol, vol.transpose((0, 2, 1)))
lax.ragged_dot(v.reshape((3, 2)), vol[:, :2], jnp.asarray([1, 2]))
lax.fft(lax.complex(x, y), 'FFT', (4,))
lax.fft(x, 'RFFT', (4,))
lax.fft(lax.complex(x, y), 'IRFFT', (6,))
lax.conv(image, kernel, (1, 1), 'SAME')
lax.conv(image, kernel, (2, 1), 'VALID')
lax.conv_with_general_padding(image, kernel, (1, 2), [(1, 0), (2, -1)], (2, 1), (1, 2))
lax.conv_general_dilated(image, grouped, (1, 1), 'SAME_LOWER', feature_group_count=2)
lax.conv_general_dilated(nhwc, hwio, (1, 2), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))
lax.conv_general_dilated(nhwc, hwio, (1, 2), ((1, 1), (0, 2)), (2, 1), (1, 2), ('NHWC', 'HWIO', 'NHWC'))
lax.conv_transpose(nhwc, hwio, (2, 3), 'SAME')
lax.conv_transpose(nhwc, hwio, (2, 3), 'VALID')
lax.conv_transpose(nhwc, hwio, (2, 1), [(1, 0), (0, 2)], (1, 2))
lax.conv_transpose(nhwc, hwio.transpose((0, 1, 3, 2)), (2, 3), 'SAME', transpose_kernel=True)
lax.conv_general_dilated_patches(image, (3, 2), (1, 1), 'VALID')
lax.conv_general_dilated_patches(nhwc, (3, 2), (2, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))
lax.conv_general_dilated_local(image, local, (1, 1), 'VALID', (3, 2))
lax.conv_general_shape_tuple((1, 8, 3), (3, 3, 4), (2,), 'SAME', ('NWC', 'WIO', 'NWC'))
lax.conv_shape_tuple((1, 3, 8), (4, 3, 3), (2,), 'VALID')
lax.conv_transpose_shape_tuple((1, 4, 3), (2, 3, 5), (2,), 'SAME', ('NWC', 'WIO', 'NWC'))
lax.reduce_window_shape_tuple((5, 6), (2, 3), (2, 1), ((0, 1), (1, 1)), (1, 2), (2, 1))
lax.gather(x, at, lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 4), mode='clip')
lax.gather(x, at, lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 4), mode='fill', fill_value=7.0)
lax.scatter(v, at, v[:3], lax.ScatterDimensionNumbers((), (0,), (0,)))
lax.scatter_add(x, at, y, lax.ScatterDimensionNumbers((1,), (0,), (0,)))
lax.scatter_sub(x, at, y, lax.ScatterDimensionNumbers((1,), (0,), (0,)), mode='clip')
lax.scatter_mul(v, at, v[:3], lax.ScatterDimensionNumbers((), (0,), (0,)))
lax.scatter_max(v, at, v[3:], lax.ScatterDimensionNumbers((), (0,), (0,)))
lax.scatter_min(v, at, v[3:], lax.ScatterDimensionNumbers((), (0,), (0,)))
lax.scatter_apply(v, at, jnp.square, lax.ScatterDimensionNumbers((), (0,), (0,)), update_shape=(3,))
lax.custom_linear_solve(lambda z: spd @ z, v[:4], lambda mv, b: jnp.linalg.solve(spd, b), symmetric=True)
grad(lambda a: lax.custom_linear_solve(lambda z: a @ z, v[:4], lambda mv, b: jnp.linalg.solve(jax.lax.stop_gradient(a), b), symmetric=True)[0])(spd)
grad(lambda c: lax.custom_root(lambda z: z**3 - c, p1[0], lambda f, z: jnp.cbrt(jax.lax.stop_gradient(c)), lambda g, y: y / g(jnp.ones_like(y))))(p1[3])
lax.linalg.cholesky(spd)
lax.linalg.cholesky_update(jnp.linalg.cholesky(spd).T, v[:4])
lax.linalg.householder_product(m[:, :3], p1[:3] / 3)
lax.linalg.lu(m)
lax.linalg.lu_pivots_to_permutation(jnp.asarray([2, 1, 3, 3], dtype='int32'), 4)
jnp.abs(lax.linalg.qr(x, full_matrices=False)[1])
lax.linalg.svd(x, compute_uv=False)
lax.linalg.symmetric_product(x, m[:3, :3], alpha=2.0, beta=0.5)
lax.linalg.triangular_solve(m, x, lower=True)
lax.linalg.triangular_solve(m, x.T, left_side=True, lower=True, transpose_a=True, unit_diagonal=True)
lax.linalg.tridiagonal_solve(v, v + 9, v * 2, v[:, None])
lax.linalg.tridiagonal(spd)[1:3]
lax.linalg.hessenberg(m)
lax.linalg.qdwh(m)[:2]
jnp.unique(i, size=9, fill_value=-99)
jnp.unique(i, return_index=True, return_inverse=True, return_counts=True, size=15)
jnp.nonzero(b, size=9, fill_value=5)
jnp.setdiff1d(i, k, size=20, fill_value=99)
jnp.union1d(i, k, size=20)
jnp.intersect1d(i, k, size=4, fill_value=-1)
jnp.fill_diagonal(m, 5.0, inplace=False)
jnp.put(x, jnp.asarray([0, 5]), 3.0, inplace=False)
jnp.place(x, b, v, inplace=False)
jnp.put_along_axis(x, k[:, :1] - 1, 5.0, 1, inplace=False)
jnp.resize(v, (2, 5))
jnp.polydiv(v, x[0, :3])
jnp.add.at(v, jnp.asarray([0, 0, 2]), 1.0, inplace=False)
jnp.frompyfunc(lambda a, b: a * b + 1, 2, 1, identity=1).reduce(x, axis=1)
jnp.vectorize(lambda a, b: (a * b).sum(), signature='(n),(n)->()')(x, v[:4])
jnp.fromfunction(lambda a, b: 10 * a + b, (2, 3), dtype=int)
flatten_util.ravel_pytree({'a': x, 'b': (v, i)})[0]
jax.image.resize(x, (6, 4), 'linear')
jax.image.resize(image, (2, 4, 3, 9), 'linear')
jax.image.resize(image, (2, 4, 3, 9), 'bilinear', antialias=False)
jax.image.resize(image, (2, 4, 10, 4), 'cubic')
jax.image.resize(image, (2, 4, 4, 4), 'bicubic', antialias=False)
jax.image.resize(image, (2, 4, 3, 9), 'lanczos3')
jax.image.resize(x, (7, 2), jax.image.ResizeMethod.LANCZOS5)
jax.image.resize(image, (2, 4, 5, 13), 'nearest')
jax.image.resize(k, (6, 8), 'linear')
jax.image.scale_and_translate(x, (5, 5), (0, 1), jnp.array([1.5, 0.7], 'float64'), jnp.array([0.3, -1.0], 'float64'), 'cubic')
jax.image.scale_and_translate(x, (3, 9), (1,), jnp.array([2.0]), jnp.array([0.5]), 'linear', antialias=False)
grad(lambda x: (jax.image.resize(x, (5, 3), 'cubic') ** 2).sum())(x)
jax.ops.segment_sum(v, jnp.array([0, 2, 2, -1, 7, 0]), 4)
jax.ops.segment_sum(x, jnp.array([1, 0, 1]), 2)
jax.ops.segment_prod(v, jnp.array([0, 2, 2, -1, 7, 0]), 4)
jax.ops.segment_max(v, jnp.array([0, 2, 2, -1, 7, 0]), 4)
jax.ops.segment_min(u, jnp.array([0, 2, 2, 1, 7, 0]), num_segments=4)
jax.ops.segment_max(i, jnp.array([1, 1, 3]), num_segments=5)
grad(lambda v: (jax.ops.segment_max(v, jnp.array([0, 2, 2, 1, 1, 0]), 3) ** 2).sum())(v)
lax.ragged_dot_general(m, vol.reshape(3, 10)[:, :4, None] * x[:, :, None], jnp.array([1, 0, 2]), lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,)))
lax.ragged_dot_general(x, y, jnp.array([1, 2]), lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), (0,), ()))
x.sum(where=b), x.mean(0, where=b), x.std(ddof=1), x.var(1, ddof=1), x.max(initial=0.5, axis=0), x.prod(where=b)
x.diagonal(1), m.trace(), v.sort().searchsorted(0.1), v.argpartition(2)[2], x.ptp(0)
x.reshape(2, 6, order='F'), x.round(1), x.round(decimals=2), x.ravel(order='F'), x.take(k % 4, axis=1, mode='clip')
x.at[i % 3].add(1.0, unique_indices=False, indices_are_sorted=False), v.at[jnp.array([1, 9])].set(0.0, mode=lax.GatherScatterMode.CLIP)
""".strip().splitlines()


def main():
    """Evaluate all cases with JAX."""
    import jax

    jax.config.update("jax_enable_x64", True)
    from jax import flatten_util

    data = {name: jax.numpy.asarray(value) for name, value in DATA.items()}
    names = {"lax": jax.lax, "jnp": jax.numpy, "nn": jax.nn, "scipy": jax.scipy, "grad": jax.grad, "jax": jax}
    found = {}
    for n, case in enumerate(CASES):
        try:
            out = eval(case, {**names, **data, "flatten_util": flatten_util})
        except Exception as error:
            raise SystemExit(f"{case}\n{error!r:.300}") from None
        for m, leaf in enumerate(jax.tree.leaves(out)):
            found[f"{n}_{m}"] = np.asarray(leaf)
    np.savez_compressed(FILE, cases=np.array(CASES), **found)
    print(len(CASES), "cases,", FILE.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
