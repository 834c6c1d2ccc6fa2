"""A regression that reads its validation loss each step and stops when it has not fallen for a while."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(400, 10)
y = (x @ torch.randn(10, 1)).sin() + 0.1 * torch.randn(400, 1)
train, valid = (x[:300], y[:300]), (x[300:], y[300:])
model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=5)
best, kept, waited = float("inf"), None, 0
for epoch in range(400):
    model.train()
    for i in range(0, 300, 100):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(train[0][i : i + 100]), train[1][i : i + 100])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        found = nn.functional.mse_loss(model(valid[0]), valid[1]).item()
    schedule.step(found)
    if found < best - 1e-4:
        best, kept, waited = found, copy.deepcopy(model.state_dict()), 0
    else:
        waited += 1
        if waited == 30:
            break
model.load_state_dict(kept)
print(f"{best < 1}")
