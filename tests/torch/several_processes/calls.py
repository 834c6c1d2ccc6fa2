"""torch.distributed.rpc: calls, references, errors, time limits; a worker that is killed."""

import copy
import os
import pickle
import threading
import time

import torch
import torch.distributed as dist
import torch.distributed.autograd as dist_autograd
import torch.distributed.rpc as rpc
from torch import nn
from torch.distributed.optim import DistributedOptimizer
from torch.distributed.rpc import contexts, rref

rank, n = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
rpc.init_rpc(f"worker{rank}", rank=rank, world_size=n)
other = f"worker{(rank + 1) % n}"
kept, word = [], threading.Event()


def refused(kind, texts, function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except kind as error:
        assert all(text in str(error) for text in texts), error
    else:
        raise AssertionError(f"{function} took {args}")


def me():
    return rpc.get_worker_info().name


def fails(x):
    raise ValueError(f"no {x}")


def nested(to, x):
    return rpc.rpc_sync(to, torch.add, args=(x, 1))


def total(of, x):
    return of.to_here() + x


def wait():
    word.wait(60)


def give_word():
    word.set()


def keep(value):
    kept.append(value)


def forget():
    kept.clear()


def n_kept():
    return len(rref.context().keeper.kept)


def until(condition, what):
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def first_layer():
    layer = nn.Linear(3, 4)
    with torch.no_grad():
        layer.weight.copy_(torch.arange(12.0).reshape(4, 3) / 10 - 0.5), layer.bias.fill_(0.1)
    return layer


def parameters_of(of):
    return [rpc.RRef(p) for p in of.local_value().parameters()]


def gradients_of(id, of):
    found = dist_autograd.get_gradients(id)
    return [found[p] for p in of.local_value().parameters()]


def back_and_forth(to, x, w, n):
    y = x * w + x.sin()
    if n == 0:
        return y
    if to is None:
        return back_and_forth(None, y / 4, w, n - 1) + y
    return rpc.rpc_sync(to, back_and_forth, args=(me(), y / 4, w, n - 1)) + y


def n_contexts():
    return len(contexts._contexts)


@rpc.functions.async_execution
def chained(to, x, y):
    return rpc.rpc_async(to, torch.add, args=(x, y)).then(lambda future: future.wait() * 2)


@rpc.functions.async_execution
def no_future():
    return 1


class Counter:
    def __init__(self, start):
        self.number, self.lock = start, threading.Lock()

    def add(self, by):
        with self.lock:
            self.number += by
            return self.number

    @staticmethod
    @rpc.functions.async_execution
    def later(x):
        made = torch.futures.Future()
        made.set_result(x)
        return made


# ---- calls
x = torch.arange(3.0, requires_grad=True)
assert torch.equal(rpc.rpc_sync(other, torch.add, args=(x, 2)), torch.arange(3.0) + 2)
assert rpc.rpc_sync(other, me) == other and rpc.rpc_sync((rank + 1) % n, me) == other
assert rpc.rpc_sync(rpc.get_worker_info(other), me) == other and rpc.rpc_sync(me(), me) == me()
assert rpc.get_worker_info(other).id == (rank + 1) % n
assert torch.equal(rpc.rpc_sync(other, torch.sum, args=(x,), kwargs={"dim": 0}), x.sum().detach())
assert [f.wait() for f in [rpc.rpc_async(other, pow, args=(2, i)) for i in range(50)]] == [2**i for i in range(50)]
assert torch.equal(rpc.rpc_sync(other, nested, args=(me(), torch.ones(2))), torch.full((2,), 2.0))
assert torch.equal(rpc.rpc_sync(other, chained, args=(me(), torch.ones(2), 3)), torch.full((2,), 8.0))
half = rpc.rpc_sync(other, torch.Tensor.bfloat16, args=(torch.ones(2),))
assert half.dtype == torch.bfloat16
assert rpc.rpc_async(other, max, args=(1, 2)).then(lambda f: f.wait() + 1).wait() == 3
refused(
    ValueError,
    [f"On WorkerInfo(id={(rank + 1) % n}, name={other})", "no 7", "in fails"],
    rpc.rpc_sync,
    other,
    fails,
    (7,),
)
refused(RuntimeError, ["set timeout (100 ms)"], rpc.rpc_sync, other, wait, timeout=0.1)
refused(RuntimeError, ["could not find destination name nobody"], rpc.rpc_sync, "nobody", me)
refused(RuntimeError, ["must return a torch.futures.Future"], rpc.rpc_sync, other, no_future)

# ---- references
there = rpc.remote(other, torch.add, args=(torch.ones(2), 1))
assert not there.is_owner() and there.owner_name() == other and torch.equal(there.to_here(), torch.full((2,), 2.0))
assert torch.equal(rpc.rpc_sync(other, total, args=(there, 1)), torch.full((2,), 3.0))
refused(RuntimeError, ["Call it on owner"], there.local_value)
refused(RuntimeError, ["rref can only be pickled when using RPC"], pickle.dumps, there)
counter = rpc.remote(other, Counter, args=(10,))
assert counter.rpc_sync().add(5) == 15 and counter.rpc_async().add(1).wait() == 16
assert counter.remote().add(1).to_here() == 17 and counter.rpc_sync().later("now") == "now"
failed = rpc.remote(other, fails, args=(3,))
for _ in range(2):
    refused(ValueError, ["no 3"], failed.to_here)
refused(RuntimeError, ["set timeout (100 ms)"], rpc.remote(other, wait).to_here, 0.1)
rpc.rpc_sync(other, give_word)
mine = rpc.RRef(torch.full((2,), 5.0))
assert mine.is_owner() and torch.equal(rpc.rpc_sync(other, total, args=(mine, 1)), torch.full((2,), 6.0))
assert torch.equal(rpc.remote(me(), torch.add, args=(torch.ones(1), 1)).to_here(), torch.full((1,), 2.0))
layer = rpc.remote(other, nn.Linear, args=(3, 2))
assert layer.rpc_sync().forward(torch.ones(4, 3)).shape == (4, 2)
rpc.rpc_sync(other, keep, args=(mine,))
assert n_kept() >= 1
rpc.rpc_sync(other, forget)
del there, counter, layer, failed
until(lambda: n_kept() == 0, "what nobody holds on to is forgotten")

# ---- backward passes over several workers
net = rpc.remote(other, first_layer)
own = nn.Linear(4, 2)
with torch.no_grad():
    own.weight.fill_(0.25), own.bias.zero_()
optimizer = DistributedOptimizer(
    torch.optim.SGD, rpc.rpc_sync(other, parameters_of, args=(net,)) + [rpc.RRef(p) for p in own.parameters()], lr=0.1
)
alone = nn.Sequential(first_layer(), nn.Tanh(), copy.deepcopy(own))
whole = torch.optim.SGD(alone.parameters(), lr=0.1)
inputs = torch.arange(12.0).reshape(4, 3) / 12 + rank
for _ in range(3):
    with dist_autograd.context() as id:
        x = inputs.clone().requires_grad_()
        loss = own(torch.tanh(net.rpc_sync().forward(x))).square().mean()
        dist_autograd.backward(id, [loss])
        found = dist_autograd.get_gradients(id)
        assert own.weight.grad is None or own.weight.grad is not found[own.weight]
        there = rpc.rpc_sync(other, gradients_of, args=(id, net))
        optimizer.step(id)
    whole.zero_grad()
    y = inputs.clone().requires_grad_()
    wanted = alone(y).square().mean()
    wanted.backward()
    assert torch.allclose(loss, wanted, atol=1e-6)
    assert torch.allclose(found[x], y.grad, atol=1e-6) and torch.allclose(there[0], alone[0].weight.grad, atol=1e-6)
    assert torch.allclose(found[own.weight], alone[2].weight.grad, atol=1e-6)
    whole.step()
x, w = torch.full((3,), 2.0, requires_grad=True), torch.full((3,), 5.0, requires_grad=True)
with dist_autograd.context() as id:  # through both, there and back, several times and side by side
    z = rpc.rpc_sync(other, back_and_forth, args=(me(), x, w, 6))
    z = z + rpc.rpc_async(other, torch.mul, args=(z, w)).wait() + rpc.remote(other, torch.mul, args=(x, x)).to_here()
    rpc.RRef(z.sum()).backward(id)
    found = dist_autograd.get_gradients(id)
    assert found.keys() == {x, w}
u, v = x.detach().clone().requires_grad_(), w.detach().clone().requires_grad_()
z = back_and_forth(None, u, v, 6)
(z + z * v + u * u).sum().backward()
assert torch.allclose(found[x], u.grad) and torch.allclose(found[w], v.grad)
assert x.grad is None and not rpc.rpc_sync(other, torch.mul, args=(x, 2)).requires_grad
refused(RuntimeError, ["Could not find autograd context"], dist_autograd.get_gradients, id)
with dist_autograd.context() as id:
    refused(RuntimeError, ["not a scalar"], dist_autograd.backward, id, [x])
    refused(ValueError, ["no 7"], rpc.rpc_sync, other, fails, (7,))
del net, optimizer, there
until(lambda: n_contexts() == 0 and rpc.rpc_sync(other, n_contexts) == 0, "contexts that are over are forgotten")

# ---- beside a process group, that meets at the same address
dist.init_process_group("gloo")
ones = torch.ones(2)
dist.all_reduce(ones)
assert ones.tolist() == [n, n]
rpc.shutdown()
refused(RuntimeError, ["has not been initialized"], rpc.rpc_sync, other, me)
options = rpc.TensorPipeRpcBackendOptions(num_worker_threads=2, rpc_timeout=20)
rpc.init_rpc(f"again{rank}", rpc_backend_options=options)
assert rpc.get_rpc_timeout() == 20 and rpc.rpc_sync(f"again{(rank + 1) % n}", me) == f"again{(rank + 1) % n}"
rpc.shutdown()
dist.destroy_process_group()

# ---- a worker that dies
rpc.init_rpc(f"last{rank}", rank=rank, world_size=n)
if rank == 0:
    began = time.monotonic()
    waiting = rpc.rpc_async("last1", time.sleep, args=(100,))
    rpc.rpc_async("last1", os._exit, args=(0,))
    refused(RuntimeError, ["last1", "has ended"], waiting.wait)
    refused(RuntimeError, ["last1"], rpc.rpc_sync, "last1", me)
    refused(RuntimeError, ["last1"], rpc.shutdown)
    assert time.monotonic() - began < 20
    print(f"rank {rank} of {n}: all as wanted", flush=True)
else:
    print(f"rank {rank} of {n}: all as wanted", flush=True)
    rpc.shutdown()
    raise SystemExit("a worker that is to be ended was not")
