"""What descriptions of common layers and functions say of errors and shapes holds in both libraries."""

import re

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
nn.Conv1d(2, 4, 3, groups=3): ValueError
nn.ConvTranspose2d(2, 4, 3, groups=3): ValueError
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
torch.clip(torch.ones(2)): RuntimeError
torch.histc(torch.ones(2), 0): RuntimeError
torch.eig(torch.ones(2, 2)): RuntimeError
torch.symeig(torch.ones(2, 2)): RuntimeError
torch.lstsq(torch.ones(2, 2), torch.ones(2, 2)): RuntimeError
torch.solve(torch.ones(2, 2), torch.ones(2, 2)): RuntimeError
torch.matrix_rank(torch.ones(2, 2)): RuntimeError
nn.AvgPool1d(3)(torch.ones(4)): RuntimeError
nn.AvgPool1d(3, padding=2)(torch.ones(1, 4)): RuntimeError
nn.MaxPool1d(3)(torch.ones(4)): RuntimeError
nn.MaxPool1d(3, padding=2)(torch.ones(1, 4)): RuntimeError
nn.MaxPool3d(2)(torch.ones(4, 4, 4)): RuntimeError
nn.MaxPool3d(2, padding=2)(torch.ones(1, 4, 4, 4)): RuntimeError
nn.AvgPool3d(2)(torch.ones(4, 4, 4)): RuntimeError
nn.AvgPool3d(2, padding=2)(torch.ones(1, 4, 4, 4)): RuntimeError
nn.LPPool1d(2, 3)(torch.ones(4)): RuntimeError
nn.AdaptiveAvgPool1d(2)(torch.ones(4)): RuntimeError
nn.AdaptiveAvgPool2d(2)(torch.ones(4, 4)): RuntimeError
nn.AdaptiveAvgPool3d(2)(torch.ones(4, 4, 4)): RuntimeError
nn.AdaptiveMaxPool1d(2)(torch.ones(4)): RuntimeError
nn.AdaptiveMaxPool2d(2)(torch.ones(4, 4)): RuntimeError
nn.AdaptiveMaxPool3d(2)(torch.ones(4, 4, 4)): RuntimeError
nn.FractionalMaxPool2d(2, output_size=5)(torch.ones(1, 4, 4)): RuntimeError
nn.FractionalMaxPool2d(2): ValueError
nn.MaxUnpool1d(2)(torch.ones(1, 1, 2), torch.zeros(1, 1, 3, dtype=torch.int64)): RuntimeError
nn.MaxUnpool2d(2)(torch.ones(1, 1, 2, 2), torch.zeros(1, 1, 2, 2)): RuntimeError
nn.MaxUnpool2d(2)(torch.ones(1, 1, 2, 2), torch.full((1, 1, 2, 2), 16)): RuntimeError
nn.Conv3d(2, 4, 3)(torch.ones(1, 3, 5, 5, 5)): RuntimeError
nn.Conv3d(2, 4, 3)(torch.ones(2, 5, 5)): RuntimeError
nn.ConvTranspose1d(2, 4, 3)(torch.ones(1, 3, 5)): RuntimeError
nn.ConvTranspose3d(2, 4, 3)(torch.ones(1, 3, 5, 5, 5)): RuntimeError
nn.ConvTranspose1d(2, 4, 3, stride=2, output_padding=2)(torch.ones(1, 2, 5)): RuntimeError
nn.BatchNorm3d(3)(torch.ones(2, 3, 4, 4)): ValueError
nn.Bilinear(2, 3, 4)(torch.ones(5, 2), torch.ones(4, 3)): RuntimeError
nn.Bilinear(2, 3, 4)(torch.ones(5, 2), torch.ones(5, 2)): RuntimeError
nn.CTCLoss()(torch.zeros(3, 1, 2), torch.tensor([[1]]), torch.tensor([4]), torch.tensor([1])): RuntimeError
nn.ChannelShuffle(2)(torch.ones(1, 3, 2, 2)): RuntimeError
nn.CircularPad1d(5)(torch.ones(1, 2, 4)): RuntimeError
nn.CircularPad1d(1)(torch.ones(4)): ValueError
nn.CircularPad2d(5)(torch.ones(1, 4, 4)): RuntimeError
nn.CircularPad2d(1)(torch.ones(4, 4)): ValueError
nn.ReflectionPad1d(4)(torch.ones(1, 2, 4)): RuntimeError
nn.ReflectionPad2d(4)(torch.ones(1, 4, 4)): RuntimeError
nn.ReflectionPad3d(4)(torch.ones(1, 4, 4, 4)): RuntimeError
nn.ReplicationPad1d(4)(torch.ones(4)): NotImplementedError
nn.ReplicationPad2d(4)(torch.ones(4, 4)): NotImplementedError
nn.ConstantPad1d(-3, 1.)(torch.ones(1, 4)): RuntimeError
nn.ZeroPad1d(-3)(torch.ones(1, 4)): RuntimeError
nn.CosineEmbeddingLoss()(torch.ones(3, 2), torch.ones(3, 2), torch.ones(2, 2)): RuntimeError
nn.CosineSimilarity()(torch.ones(3, 2), torch.ones(3, 4)): RuntimeError
nn.PairwiseDistance()(torch.ones(3, 2), torch.ones(3, 4)): RuntimeError
nn.EmbeddingBag(3, 2)(torch.tensor([0, 1])): ValueError
nn.EmbeddingBag(3, 2)(torch.tensor([[0, 3]])): RuntimeError
nn.Flatten(2, 1)(torch.ones(2, 3, 4)): RuntimeError
nn.Flatten(1, 5)(torch.ones(2, 3, 4)): IndexError
nn.Unflatten(1, (2, 2))(torch.ones(2, 3)): RuntimeError
nn.Unflatten(1, (2, -1))(torch.ones(2, 3)): RuntimeError
nn.Fold((4, 4), 2)(torch.ones(1, 4, 8)): RuntimeError
nn.Unfold(5)(torch.ones(1, 1, 4, 4)): RuntimeError
nn.GLU()(torch.ones(3)): RuntimeError
nn.GRUCell(2, 3)(torch.ones(4, 3)): RuntimeError
nn.GRUCell(2, 3)(torch.ones(4, 2), torch.ones(3, 3)): RuntimeError
nn.GRUCell(2, 3)(torch.ones(1, 4, 2)): ValueError
nn.LSTMCell(2, 3)(torch.ones(4, 3)): RuntimeError
nn.LSTMCell(2, 3)(torch.ones(1, 4, 2)): ValueError
nn.RNNCell(2, 3)(torch.ones(4, 3)): RuntimeError
nn.RNNCell(2, 3)(torch.ones(1, 4, 2)): ValueError
nn.GaussianNLLLoss()(torch.ones(2, 3), torch.ones(2, 3), torch.ones(3, 3)): ValueError
nn.GaussianNLLLoss()(torch.ones(3), torch.ones(3), torch.full((3,), -1.)): ValueError
nn.HuberLoss(delta=0)(torch.ones(3), torch.ones(3)): RuntimeError
nn.HuberLoss()(torch.ones(3), torch.ones(2)): RuntimeError
nn.SmoothL1Loss(beta=-1)(torch.ones(3), torch.ones(3)): RuntimeError
nn.SmoothL1Loss()(torch.ones(3), torch.ones(2)): RuntimeError
nn.KLDivLoss()(torch.ones(3), torch.ones(2)): RuntimeError
nn.PoissonNLLLoss()(torch.ones(3), torch.ones(2)): RuntimeError
nn.SoftMarginLoss()(torch.ones(3), torch.ones(2)): RuntimeError
nn.HingeEmbeddingLoss()(torch.ones(3), torch.ones(2)): RuntimeError
nn.MarginRankingLoss()(torch.ones(3), torch.ones(3, 1), torch.ones(3)): RuntimeError
nn.MultiMarginLoss()(torch.ones(2, 3), torch.tensor([0])): RuntimeError
nn.MultiMarginLoss()(torch.ones(2, 3), torch.tensor([0, 3])): RuntimeError
nn.MultiMarginLoss(p=3): ValueError
nn.MultiLabelMarginLoss()(torch.ones(2, 3), torch.tensor([[0, -1]])): RuntimeError
nn.MultiLabelSoftMarginLoss()(torch.ones(2, 3), torch.ones(2, 2)): RuntimeError
nn.TripletMarginLoss()(torch.ones(3, 2), torch.ones(3, 2), torch.ones(2)): RuntimeError
nn.InstanceNorm1d(3)(torch.ones(2)): ValueError
nn.InstanceNorm1d(3)(torch.ones(1, 3, 1)): ValueError
nn.InstanceNorm2d(3)(torch.ones(2, 2)): ValueError
nn.InstanceNorm2d(3)(torch.ones(1, 3, 1, 1)): ValueError
nn.InstanceNorm3d(3)(torch.ones(2, 2)): ValueError
nn.InstanceNorm3d(3)(torch.ones(1, 3, 1, 1, 1)): ValueError
nn.PReLU(3)(torch.ones(2, 4)): RuntimeError
nn.PixelShuffle(2)(torch.ones(1, 3, 2, 2)): RuntimeError
nn.PixelShuffle(2)(torch.ones(4, 2)): RuntimeError
nn.PixelUnshuffle(2)(torch.ones(1, 1, 3, 4)): RuntimeError
nn.PixelUnshuffle(2)(torch.ones(4, 2)): RuntimeError
nn.RMSNorm(3)(torch.ones(2, 4)): RuntimeError
nn.Softmax2d()(torch.ones(2, 2)): ValueError
nn.LogSoftmax(2)(torch.ones(2, 2)): IndexError
nn.LocalResponseNorm(2)(torch.ones(3, 3)): ValueError
nn.Upsample(size=4, scale_factor=2)(torch.ones(1, 1, 2)): ValueError
nn.Upsample()(torch.ones(1, 1, 2)): ValueError
nn.Upsample(scale_factor=2, mode="bilinear")(torch.ones(1, 1, 2)): NotImplementedError
nn.Dropout2d(2): ValueError
nn.Transformer(8, 2, 1, 1, 16)(torch.ones(3, 2, 6), torch.ones(3, 2, 6)): RuntimeError
nn.Transformer(8, 2, 1, 1, 16)(torch.ones(3, 2, 8), torch.ones(3, 1, 8)): RuntimeError
nn.MultiheadAttention(5, 2): AssertionError
nn.MultiheadAttention(4, 2)(*[torch.ones(2, 1, 3)] * 3): AssertionError
nn.AdaptiveLogSoftmaxWithLoss(4, 5, [2, 6]): ValueError
nn.AdaptiveLogSoftmaxWithLoss(4, 5, [2])(torch.ones(3, 4), torch.tensor([0, 1, 5])): RuntimeError
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
nn.MaxPool1d(3, stride=2, padding=1, dilation=2, ceil_mode=True)(torch.ones(2, 10)): 2, 5
nn.AvgPool1d(3, padding=1)(torch.ones(2, 10)): 2, 4
nn.LPPool1d(2, 3, stride=2)(torch.ones(2, 10)): 2, 4
nn.MaxPool3d(3, padding=1)(torch.ones(2, 5, 6, 7)): 2, 2, 2, 3
nn.AvgPool3d(3, ceil_mode=True)(torch.ones(2, 5, 6, 7)): 2, 2, 2, 3
nn.AdaptiveAvgPool2d((None, 3))(torch.ones(1, 2, 5, 6)): 1, 2, 5, 3
nn.AdaptiveMaxPool3d((2, None, 3))(torch.ones(2, 5, 6, 7)): 2, 2, 6, 3
nn.AdaptiveMaxPool1d(3)(torch.ones(2, 5)): 2, 3
nn.FractionalMaxPool2d(2, output_ratio=0.5)(torch.ones(1, 2, 5, 7)): 1, 2, 2, 3
nn.MaxUnpool1d(3, stride=2, padding=1)(torch.ones(1, 4), torch.zeros(1, 4, dtype=torch.int64)): 1, 7
nn.MaxUnpool2d(2)(torch.ones(1, 2, 3), torch.zeros(1, 2, 3, dtype=torch.int64)): 1, 4, 6
nn.MaxUnpool3d(2)(torch.ones(1, 1, 2, 2), torch.zeros(1, 1, 2, 2, dtype=torch.int64)): 1, 2, 4, 4
nn.ConvTranspose1d(2, 4, 3, stride=2, padding=1, output_padding=1, dilation=2)(torch.ones(1, 2, 5)): 1, 4, 12
nn.Bilinear(2, 3, 4)(torch.ones(5, 6, 2), torch.ones(5, 6, 3)): 5, 6, 4
nn.CTCLoss(reduction="none")(torch.zeros(3, 1, 2), torch.tensor([[1]]), torch.tensor([3]), torch.tensor([1])): 1,
nn.CircularPad1d((1, 3))(torch.ones(2, 4)): 2, 8
nn.CircularPad2d((1, 2, 3, 4))(torch.ones(1, 4, 4)): 1, 11, 7
nn.ReflectionPad1d((1, 3))(torch.ones(2, 4)): 2, 8
nn.ReflectionPad2d((1, 2, 3, 0))(torch.ones(1, 4, 4)): 1, 7, 7
nn.ReflectionPad3d((1, 2, 3, 0, 1, 1))(torch.ones(1, 4, 4, 4)): 1, 6, 7, 7
nn.ReplicationPad1d((1, 3))(torch.ones(2, 4)): 2, 8
nn.ReplicationPad2d((1, 2, 3, 0))(torch.ones(1, 4, 4)): 1, 7, 7
nn.ConstantPad1d((-1, 3), 1.)(torch.ones(4)): 6,
nn.ZeroPad1d((-1, 3))(torch.ones(1, 4)): 1, 6
nn.CosineEmbeddingLoss(reduction="none")(torch.ones(3, 2), torch.ones(3, 2), torch.ones(3)): 3,
nn.CosineSimilarity(dim=-1)(torch.ones(5, 1, 2), torch.ones(3, 2)): 5, 3
nn.PairwiseDistance(keepdim=True)(torch.ones(5, 1, 2), torch.ones(3, 2)): 5, 3, 1
nn.EmbeddingBag(3, 2)(torch.tensor([[0, 1, 2], [1, 1, 1]])): 2, 2
nn.EmbeddingBag(3, 2)(torch.tensor([0, 1, 2]), torch.tensor([0, 2])): 2, 2
nn.Unflatten(1, (2, -1))(torch.ones(2, 6)): 2, 2, 3
nn.Fold((4, 5), 2)(torch.ones(1, 8, 12)): 1, 2, 4, 5
nn.Unfold(2, dilation=2, padding=1, stride=2)(torch.ones(1, 3, 4, 5)): 1, 12, 6
nn.GLU(0)(torch.ones(4, 3)): 2, 3
nn.GRUCell(2, 3)(torch.ones(2)): 3,
nn.LSTMCell(2, 3)(torch.ones(4, 2))[1]: 4, 3
nn.RNNCell(2, 3)(torch.ones(4, 2), torch.ones(4, 3)): 4, 3
nn.GaussianNLLLoss(reduction="none")(torch.ones(2, 3), torch.ones(2, 3), torch.ones(2)): 2, 3
nn.GaussianNLLLoss(reduction="none")(torch.ones(2, 3), torch.ones(2, 3), torch.ones(2, 1)): 2, 3
nn.MultiLabelSoftMarginLoss(reduction="none")(torch.ones(2, 3), torch.ones(2, 3)): 2,
nn.TripletMarginLoss(reduction="none")(torch.ones(3, 2), torch.ones(1, 2), torch.ones(3, 2)): 3,
nn.Upsample(scale_factor=1.5)(torch.ones(1, 1, 5)): 1, 1, 7
nn.AdaptiveLogSoftmaxWithLoss(4, 5, [2])(torch.ones(3, 4), torch.tensor([0, 1, 4]))[0]: 3,
nn.MultiheadAttention(4, 2)(*[torch.ones(3, 1, 4)] * 3)[1]: 1, 3, 3
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


def test_every_error_that_a_layer_tells_is_provoked():
    provoked = {(call.partition("(")[0], error) for call, error in told(ERRORS)}
    layers = [(name, thing.__doc__ or "") for name, thing in vars(torch.nn).items() if isinstance(thing, type)]
    described = {(f"nn.{name}", error) for name, text in layers for error in re.findall(r"\b[A-Z]\w+Error\b", text)}
    assert len(described) > 90
    assert not described - provoked
