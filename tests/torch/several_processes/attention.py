"""context_parallel: attention over sequences divided over processes, and its gradients, beside those of whole ones."""

import os

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.experimental import context_parallel
from torch.distributed.tensor.experimental._attention import context_parallel_unshard

n = int(os.environ["WORLD_SIZE"])
mesh = init_device_mesh("cpu", (n,), mesh_dim_names=("cp",))
rank = dist.get_rank()
rng = np.random.default_rng(0)
q, k, v, weights = (torch.from_numpy(rng.standard_normal((2, 2, 4 * n, 3)).astype(np.float32)) for _ in range(4))
ahead = F.scaled_dot_product_attention


def close(found, wanted, what):
    found, wanted = (t.detach().numpy() for t in (found, wanted))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5, err_msg=f"rank {rank}: {what}")


for is_causal in (True, False):
    whole = [x.clone().requires_grad_() for x in (q, k, v)]
    wanted = F.scaled_dot_product_attention(*whole, is_causal=is_causal)
    (wanted * weights).sum().backward()
    parts = [x.clone() for x in (q, k, v, weights)]
    with context_parallel(mesh, buffers=parts, buffer_seq_dims=[2] * 4, no_restore_buffers={parts[3]}):
        assert all(x.shape == (2, 2, 4, 3) for x in parts)
        mine = [x.detach().clone().requires_grad_() for x in parts[:3]]
        out = F.scaled_dot_product_attention(*mine, is_causal=is_causal)
        (out * parts[3]).sum().backward()
        found, *grads = context_parallel_unshard(mesh, [out, *(x.grad for x in mine)], [2] * 4)
    close(found, wanted, f"attention, {is_causal=}")
    for name, grad, x in zip("qkv", grads, whole):
        close(grad, x.grad, f"gradient of {name}, {is_causal=}")
    assert torch.equal(parts[0], q) and parts[3].shape == (2, 2, 4, 3) and F.scaled_dot_product_attention is ahead
try:
    with context_parallel(mesh, buffers=[torch.ones(2 * n + 1)], buffer_seq_dims=[0]):
        raise AssertionError("an uneven length was taken")
except ValueError as error:
    assert "no multiple of" in str(error)
print(f"rank {rank} of {n}: all as wanted", flush=True)
dist.destroy_process_group()
