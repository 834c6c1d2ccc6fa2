"""Arrays of the functional face over the devices of two processes with two devices each."""

import numpy as np

import functorch_core as fc
from functorch_core import lax
from functorch_core import numpy as jnp
from functorch_core.sharding import NamedSharding
from functorch_core.sharding import PartitionSpec as P

before = fc.ones(3).sum()  # a process may join after it has computed
fc.distributed.initialize()
rank = fc.process_index()
assert fc.process_count() == 2 and len(fc.devices()) == 4
assert len(fc.local_devices()) == 2 and all(d.process_index == rank for d in fc.local_devices())

mesh = fc.make_mesh((2, 2), ("data", "model"))
rows, whole = NamedSharding(mesh, P("data")), NamedSharding(mesh, P())
rng = np.random.default_rng(0)
x, w, y = (rng.standard_normal(s).astype(np.float32) for s in [(8, 6), (6, 4), (8, 4)])


def same(found, wanted, what):
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-5, atol=1e-5, err_msg=f"process {rank}: {what}")


a = fc.device_put(x, rows)  # the same array in both processes, of which each puts its half
assert not a.is_fully_addressable and [s.data.shape for s in a.addressable_shards] == [(4, 6)] * 2
same(a.addressable_shards[0].data, x[4 * rank : 4 * rank + 4], "a shard")
parts = [fc.device_put(x[4 * rank : 4 * rank + 4], d) for d in fc.local_devices()]
same(fc.device_put(fc.make_array_from_single_device_arrays((8, 6), rows, parts), whole), x, "made of parts")
called = fc.make_array_from_callback((8, 6), NamedSharding(mesh, P("model", "data")), lambda i: x[i])
same(fc.device_put(called, whole), x, "made by a callback")
same((a @ w).sum(), (x @ w).sum(), "eager operations")


def loss(w, x, y):
    return ((jnp.tanh(x @ w) - y) ** 2).mean()


step = fc.jit(lambda w, x, y: w - 0.1 * fc.grad(loss)(w, x, y), in_shardings=(whole, rows, rows), out_shardings=whole)
v, u = fc.device_put(w, whole), w
for _ in range(5):
    v = step(v, a, fc.device_put(y, rows))
    z = np.tanh(x @ u)
    u = u - 0.1 * x.T @ (2 * (z - y) / y.size * (1 - z * z))
same(v, u, "training")

mapped = fc.shard_map(lambda x: lax.psum(x.sum(), "data"), mesh=mesh, in_specs=P("data"), out_specs=P())
same(mapped(a), x.sum(), "shard_map")
try:
    np.asarray(a)
    raise SystemExit("half an array was read as a whole")
except RuntimeError as error:
    assert "addressable_shards" in str(error)
same(before, 3, "what was computed before")
print(f"rank {rank} of 2: all as wanted", flush=True)
