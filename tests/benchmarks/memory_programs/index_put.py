"""Rows of a large tensor written and added at index tensors."""

import torch

table = torch.zeros(1 << 17, 512)
rows = torch.randint(0, 1 << 17, (1 << 16,))
values = torch.ones(1 << 16, 512)
for accumulate in (False, True):
    table.index_put_((rows,), values, accumulate=accumulate)
table[rows] = values
table[0, 0].item()
