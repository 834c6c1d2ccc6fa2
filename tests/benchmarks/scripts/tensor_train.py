"""A tensor train by successive SVDs, its rounding, and products with it."""

import torch

torch.manual_seed(0)


def decompose(full, ranks):
    cores, left, rest = [], 1, full
    for size, rank in zip(full.shape[:-1], ranks):
        u, s, v = torch.linalg.svd(rest.reshape(left * size, -1), full_matrices=False)
        rank = min(rank, len(s), int((s > 1e-10 * s[0]).sum()))
        cores.append(u[:, :rank].reshape(left, size, rank))
        rest, left = s[:rank, None] * v[:rank], rank
    return [*cores, rest.reshape(left, full.shape[-1], 1)]


def whole(cores):
    found = cores[0]
    for core in cores[1:]:
        found = torch.tensordot(found, core, dims=1)
    return found.squeeze(0).squeeze(-1)


def inner(a, b):
    found = torch.ones(1, 1, dtype=torch.float64)
    for x, y in zip(a, b):
        found = torch.einsum("ab,aic,bid->cd", found, x, y)
    return found.item()


for size in range(4, 10):
    grid = torch.linspace(0, 1, size, dtype=torch.float64)
    full = sum(torch.meshgrid(*[grid] * 5, indexing="ij")).sin()
    for rank in (1, 2, 4):
        cores = decompose(full, [rank] * 4)
        error = (whole(cores) - full).norm() / full.norm()
        norm = inner(cores, cores) ** 0.5
    print(size, f"{error.item() < 1e-8} {norm:.6f}")
