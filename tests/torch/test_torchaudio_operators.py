"""The operators of torchaudio's library against loops over samples."""

import numpy as np
import pytest

from functorch_core import torch

rng = np.random.default_rng(0)


@pytest.fixture(scope="module", autouse=True)
def loaded():
    for library in ("_torchaudio.abi3", "libtorchaudio"):
        torch.ops.load_library(f"/any/torchaudio/lib/{library}.so")
    assert torch.ops._torchaudio.is_align_available() is False and torch.ops._torchaudio.cuda_version() is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("order", [1, 3])
def test_filters(order, dtype):
    x = torch.tensor(rng.standard_normal((2, 3, 20)), dtype=dtype)
    a = torch.tensor(rng.uniform(-0.4, 0.4, (3, order)), dtype=dtype)
    a[:, -1] = 1.0  # flipped: the newest sample is the last
    out = torch.zeros(2, 3, 20 + order - 1, dtype=dtype)
    assert torch.ops.torchaudio._lfilter_core_loop(x, a, out) is None
    wanted = np.zeros((2, 3, 20 + order - 1))
    for t in range(20):
        past = (wanted[:, :, t : t + order - 1] * a.numpy()[:, :-1]).sum(-1)
        wanted[:, :, t + order - 1] = x.numpy()[:, :, t] - past
    np.testing.assert_allclose(out.numpy(), wanted, atol=1e-5 if dtype is torch.float32 else 1e-12)


def test_overdrive():
    x, distorted = (torch.tensor(rng.standard_normal((2, 15))) for _ in range(2))
    first_in, first_out = (torch.tensor(rng.standard_normal(2)) for _ in range(2))
    out = torch.zeros(2, 15).double()
    torch.ops.torchaudio._overdrive_core_loop(x, distorted, first_in.clone(), first_out.clone(), out)
    last_in, last_out = first_in.numpy(), first_out.numpy()
    for t in range(15):
        now = distorted.numpy()[:, t]
        last_in, last_out = now, now - last_in + 0.995 * last_out
        np.testing.assert_allclose(out.numpy()[:, t], x.numpy()[:, t] * 0.5 + last_out * 0.75)


def test_what_is_not_there_says_so():
    with pytest.raises(NotImplementedError, match="torch.ops.torchaudio.forced_align is not implemented"):
        torch.ops.torchaudio.forced_align(*[torch.ones(1)] * 4, 0)
