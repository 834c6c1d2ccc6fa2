"""Numbers, pictures and graphs for TensorBoard, as the TensorBoard chapters of PyTorch's documentation show it.

    python examples/recipes/log_to_tensorboard.py [folder]           with PyTorch
    python -m functorch_core examples/recipes/log_to_tensorboard.py [folder]

Then `tensorboard --logdir folder`. Both write the same.
"""

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter

folder = sys.argv[1] if len(sys.argv) > 1 else "runs/recipe"
writer = SummaryWriter(folder)

# ---- a model that is fitted ----------------------------------------------------------------------

x = torch.arange(-5, 5, 0.1).view(-1, 1)
y = -5 * x + 0.1 * torch.sin(7 * x)
model = nn.Linear(1, 1)
nn.init.zeros_(model.weight)
nn.init.zeros_(model.bias)
criterion, optimizer = nn.MSELoss(), torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(10):
    loss = criterion(model(x), y)
    writer.add_scalar("Loss/train", loss, epoch)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"fitted: {model.weight.item():.4f} {model.bias.item():.4f}")
writer.flush()

# ---- each kind of summary ------------------------------------------------------------------------

for i in range(5):
    writer.add_scalar("y=2x", i * 2, i)
    writer.add_scalars("run_14h", {"xsinx": i * np.sin(i / 5), "xcosx": i * np.cos(i / 5), "tanx": np.tan(i / 5)}, i)
    writer.add_histogram("distribution centers", np.linspace(-1, 1, 100) ** 3 + i, i)

rows, columns = np.mgrid[0:10, 0:10]
image = np.stack([rows / 10, 1 - rows / 10, columns / 10])
writer.add_image("image", image, 0)
writer.add_image("image of other order", image.transpose(1, 2, 0), 0, dataformats="HWC")
writer.add_images("images", np.stack([image * k / 16 for k in range(16)]), 0)
writer.add_image_with_boxes("boxes", image, torch.tensor([[1.0, 2.0, 8.0, 9.0]]), 0, rescale=4)
writer.add_text("lstm", "This is an lstm", 0)
writer.add_audio("tone", np.sin(np.arange(800) / 8), 0, sample_rate=8000)
writer.add_pr_curve("pr_curve", np.arange(100) % 2, np.linspace(0, 1, 100), 0)
taiwan = {"twse": ["Multiline", ["twse/0050", "twse/2330"]]}
usa = {"dow": ["Margin", ["dow/aaa", "dow/bbb", "dow/ccc"]], "nasdaq": ["Margin", ["nasdaq/a", "nasdaq/b", "nasdaq/c"]]}
writer.add_custom_scalars({"Taiwan": taiwan, "USA": usa})
vertices = torch.tensor([[[1, 1, 1], [-1, -1, 1], [1, -1, -1], [-1, 1, -1]]], dtype=torch.float)
colors = torch.tensor([[[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 0, 255]]], dtype=torch.int)
faces = torch.tensor([[[0, 2, 3], [0, 3, 1], [0, 1, 2], [1, 3, 2]]], dtype=torch.int)
writer.add_mesh("my_mesh", vertices=vertices, colors=colors, faces=faces)
for i in range(3):
    metrics = {"hparam/accuracy": 10 * i, "hparam/loss": 10 * i}
    writer.add_hparams({"lr": 0.1 * i, "bsize": i}, metrics, run_name=f"trial {i}")
writer.add_embedding(torch.arange(12.0).view(4, 3), metadata=list("abcd"), global_step=1)
writer.close()
print("written")
