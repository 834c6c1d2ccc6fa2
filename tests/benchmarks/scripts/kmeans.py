"""Lloyd's k-means until nothing moves, for several numbers of centres."""

import torch

torch.manual_seed(0)
points = torch.cat([torch.randn(500, 2) * 0.3 + torch.tensor([i % 3, i // 3]) * 2.0 for i in range(9)])
for k in (3, 5, 9, 12):
    centres = points[torch.randperm(len(points))[:k]].clone()
    for step in range(100):
        nearest = torch.cdist(points, centres).argmin(1)
        sums = torch.zeros_like(centres).index_add_(0, nearest, points)
        counts = torch.bincount(nearest, minlength=k).clamp(min=1)
        moved = sums / counts[:, None]
        shift = (moved - centres).norm().item()
        centres = moved
        if shift < 1e-4:
            break
    inertia = (points - centres[nearest]).square().sum().item()
    print(k, f"{inertia:.0f}")
