"""What descriptions of common layers and functions say of errors and shapes holds in both libraries."""

import pytest
import torch as real

from functorch_core import torch

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of shapes that differ, of LSTMs with projections
# A call, and the error that the description of the first name in it tells.
ERRORS = """
nn.Linear(3, 4)(torch.ones(2, 5)): RuntimeError
nn.Linear(3, 4)(torch.ones(2, 3, dtype=torch.float64)): RuntimeError
nn.Conv1d(2, 4, 3)(torch.ones(1, 3, 9)): RuntimeError
nn.Conv1d(2, 4, 3)(torch.ones(9)): RuntimeError
nn.Conv2d(2, 4, 3)(torch.ones(1, 3, 9, 9)): RuntimeError
nn.Conv2d(2, 4, 3)(torch.ones(1, 2, 9, 9, dtype=torch.float64)): RuntimeError
nn.Conv2d(2, 4, 3, groups=3): ValueError
nn.ConvTranspose2d(2, 4, 3)(torch.ones(1, 3, 9, 9)): RuntimeError
nn.BatchNorm1d(3)(torch.ones(2, 3, 4, 5)): ValueError
nn.BatchNorm1d(3)(torch.ones(1, 3)): ValueError
nn.BatchNorm1d(3)(torch.ones(2, 4)): RuntimeError
nn.BatchNorm2d(3)(torch.ones(2, 3)): ValueError
nn.BatchNorm2d(3)(torch.ones(2, 4, 5, 5)): RuntimeError
nn.LayerNorm(3)(torch.ones(2, 4)): RuntimeError
nn.GroupNorm(2, 3): ValueError
nn.GroupNorm(2, 4)(torch.ones(1, 6, 3)): RuntimeError
nn.Embedding(3, 2)(torch.tensor([3])): IndexError
nn.Embedding(3, 2)(torch.tensor([1.0])): RuntimeError
nn.LSTM(3, 4)(torch.ones(5, 2, 4)): RuntimeError
nn.LSTM(3, 4)(torch.ones(5)): ValueError
nn.LSTM(3, 4, dropout=2): ValueError
nn.GRU(3, 4)(torch.ones(5, 2, 4)): RuntimeError
nn.GRU(3, 4)(torch.ones(5)): ValueError
nn.RNN(3, 4)(torch.ones(5, 2, 4)): RuntimeError
nn.RNN(3, 4, dropout=2): ValueError
nn.TransformerEncoderLayer(8, 3, 16): AssertionError
nn.TransformerEncoderLayer(8, 2, 16)(torch.ones(5, 2, 6)): AssertionError
nn.Dropout(2): ValueError
nn.CrossEntropyLoss()(torch.zeros(3, 2), torch.tensor([0, 5, 1])): IndexError
nn.CrossEntropyLoss()(torch.zeros(3, 2), torch.tensor([0, 1])): ValueError
nn.NLLLoss()(torch.zeros(3, 2), torch.tensor([0, 5, 1])): IndexError
nn.NLLLoss()(torch.zeros(3, 2), torch.tensor([0, 1])): ValueError
nn.MSELoss()(torch.zeros(3), torch.zeros(2)): RuntimeError
nn.MSELoss(reduction="other")(torch.zeros(3), torch.zeros(3)): ValueError
nn.L1Loss()(torch.zeros(3), torch.zeros(2)): RuntimeError
nn.L1Loss(reduction="other")(torch.zeros(3), torch.zeros(3)): ValueError
nn.BCELoss()(torch.zeros(3), torch.zeros(2)): ValueError
nn.BCELoss()(torch.full((3,), 2.0), torch.zeros(3)): RuntimeError
nn.BCEWithLogitsLoss()(torch.zeros(3), torch.zeros(2)): ValueError
nn.MaxPool2d(2)(torch.ones(4, 4)): RuntimeError
nn.MaxPool2d(2, padding=2)(torch.ones(1, 4, 4)): RuntimeError
nn.AvgPool2d(2, padding=2)(torch.ones(1, 4, 4)): RuntimeError
torch.bmm(torch.ones(2, 3, 4), torch.ones(2, 3, 4)): RuntimeError
torch.bmm(torch.ones(2, 3, 3), torch.ones(2, 3, 3, dtype=torch.float64)): RuntimeError
torch.cat([torch.ones(2, 3), torch.ones(2, 4)]): RuntimeError
torch.cat([torch.ones(2), torch.ones(2)], 1): IndexError
torch.stack([torch.ones(2), torch.ones(3)]): RuntimeError
torch.mean(torch.arange(3)): RuntimeError
torch.softmax(torch.ones(2), 1): IndexError
torch.softmax(torch.arange(3), 0): NotImplementedError
torch.gather(torch.ones(2, 2), 0, torch.tensor([[5]])): RuntimeError
torch.gather(torch.ones(2, 2), 0, torch.tensor([0])): RuntimeError
torch.gather(torch.ones(2, 2), 0, torch.tensor([[0, 0, 0]])): RuntimeError
torch.topk(torch.ones(2), 3): RuntimeError
torch.arange(0, 3, 0): RuntimeError
torch.arange(3, 0): RuntimeError
torch.index_select(torch.ones(2), 0, torch.tensor([5])): IndexError
torch.index_select(torch.ones(2), 0, torch.tensor([[0]])): IndexError
torch.masked_select(torch.ones(2), torch.tensor([0, 1])): RuntimeError
torch.reshape(torch.ones(6), (4, -1)): RuntimeError
torch.permute(torch.ones(2, 3), (0, 0)): RuntimeError
torch.clamp(torch.ones(2)): RuntimeError
"""
# A call, and the shape that the description tells.
SHAPES = """
nn.Linear(3, 4)(torch.ones(2, 5, 3)): 2, 5, 4
nn.Conv2d(2, 4, 3, stride=2, padding=1, dilation=2)(torch.ones(1, 2, 11, 9)): 1, 4, 5, 4
nn.ConvTranspose2d(2, 4, 3, stride=2, padding=1, output_padding=1)(torch.ones(1, 2, 5, 4)): 1, 4, 10, 8
nn.Embedding(3, 2)(torch.zeros(4, 5, dtype=torch.int32)): 4, 5, 2
nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2)(torch.ones(5, 6, 3))[0]: 5, 6, 4
nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2)(torch.ones(5, 6, 3))[1][0]: 4, 6, 2
nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2)(torch.ones(5, 6, 3))[1][1]: 4, 6, 4
nn.GRU(3, 4, batch_first=True)(torch.ones(6, 5, 3))[0]: 6, 5, 4
nn.RNN(3, 4)(torch.ones(5, 3))[0]: 5, 4
nn.CrossEntropyLoss(reduction="none")(torch.zeros(3, 2, 5), torch.zeros(3, 5, dtype=torch.int64)): 3, 5
nn.NLLLoss(reduction="none")(torch.zeros(2), torch.tensor(1)): ()
nn.MSELoss(reduction="none")(torch.zeros(3), torch.zeros(3)): 3,
nn.MaxPool2d(3, ceil_mode=True)(torch.ones(1, 8, 10)): 1, 3, 4
nn.AvgPool2d(3, padding=1)(torch.ones(1, 8, 10)): 1, 3, 4
torch.bmm(torch.ones(2, 3, 4), torch.ones(2, 4, 5)): 2, 3, 5
torch.cat([torch.ones(0), torch.ones(2, 3)]): 2, 3
torch.gather(torch.ones(2, 3), 1, torch.tensor([[0]], dtype=torch.int32)): 1, 1
"""


def told(text: str) -> list[tuple[str, str]]:
    return [tuple(line.rsplit(": ", 1)) for line in text.strip().splitlines()]


@pytest.mark.parametrize("call, error", told(ERRORS))
def test_errors(call, error):
    for lib in (torch, real):
        with pytest.raises(Exception) as raised:
            str(eval(call, {"torch": lib, "nn": lib.nn}))
        assert type(raised.value).__name__ == error, lib.__name__


@pytest.mark.parametrize("call, shape", told(SHAPES))
def test_shapes(call, shape):
    for lib in (torch, real):
        assert tuple(eval(call, {"torch": lib, "nn": lib.nn}).shape) == eval(shape), lib.__name__
