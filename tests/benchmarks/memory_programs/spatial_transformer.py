"""A network that transforms its images before it looks at them: affine_grid and grid_sample, batches of 64."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.localization = nn.Sequential(
            nn.Conv2d(1, 8, 7), nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(8, 10, 5), nn.MaxPool2d(2), nn.ReLU()
        )
        self.transformation = nn.Sequential(nn.Linear(90, 32), nn.ReLU(), nn.Linear(32, 6))
        nn.init.zeros_(self.transformation[2].weight)
        self.transformation[2].bias.data.copy_(torch.tensor([1.0, 0, 0, 0, 1, 0]))
        self.conv1, self.conv2, self.dropout = nn.Conv2d(1, 10, 5), nn.Conv2d(10, 20, 5), nn.Dropout2d()
        self.fc1, self.fc2 = nn.Linear(320, 50), nn.Linear(50, 10)

    def forward(self, x):
        theta = self.transformation(self.localization(x).flatten(1)).view(-1, 2, 3)
        x = F.grid_sample(x, F.affine_grid(theta, x.shape, align_corners=False), align_corners=False)
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.dropout(self.conv2(x)), 2)).flatten(1)
        return F.log_softmax(self.fc2(F.dropout(F.relu(self.fc1(x)), training=self.training)), 1)


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(20):
    loss = F.nll_loss(model(torch.rand(64, 1, 28, 28)), torch.randint(10, (64,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    loss.item()
