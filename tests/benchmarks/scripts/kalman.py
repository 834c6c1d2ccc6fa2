"""A Kalman filter in a Python loop, and its noise fitted by gradient descent through it."""

import torch

torch.manual_seed(0)
F = torch.tensor([[1.0, 0.1], [0.0, 1.0]])
H = torch.tensor([[1.0, 0.0]])
steps = 60
truth, measured = torch.zeros(2), []
for _ in range(steps):
    truth = F @ truth + 0.1 * torch.randn(2)
    measured.append(H @ truth + 0.5 * torch.randn(1))
log_q, log_r = torch.zeros((), requires_grad=True), torch.zeros((), requires_grad=True)
optimizer = torch.optim.Adam([log_q, log_r], lr=0.1)
for _ in range(25):
    x, P, loss = torch.zeros(2), torch.eye(2), 0.0
    Q, R = log_q.exp() * torch.eye(2), log_r.exp() * torch.eye(1)
    for z in measured:
        x, P = F @ x, F @ P @ F.T + Q
        S = H @ P @ H.T + R
        K = P @ H.T @ torch.linalg.inv(S)
        residual = z - H @ x
        loss = loss + 0.5 * (residual @ torch.linalg.solve(S, residual) + torch.logdet(S))
        x, P = x + K @ residual, (torch.eye(2) - K @ H) @ P
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.2f}")
