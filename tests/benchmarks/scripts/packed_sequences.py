"""A bidirectional LSTM over packed sequences, of other lengths in each batch."""

import random

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

torch.manual_seed(0)
random.seed(0)


class Classifier(nn.Module):
    """Embedding, LSTM, a linear layer on the mean of its outputs."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(100, 32)
        self.lstm = nn.LSTM(32, 64, batch_first=True, bidirectional=True)
        self.head = nn.Linear(128, 5)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(self.embedding(x), lengths, batch_first=True, enforce_sorted=False)
        out, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return self.head(out.mean(1))


data = [(torch.randint(0, 100, (random.randint(5, 40),)), random.randint(0, 4)) for _ in range(512)]
model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(4):
    random.shuffle(data)
    total = 0.0
    for i in range(0, len(data), 32):
        sequences, labels = zip(*data[i : i + 32])
        x, lengths = pad_sequence(sequences, batch_first=True), torch.tensor([len(s) for s in sequences])
        loss = nn.functional.cross_entropy(model(x, lengths), torch.tensor(labels))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
    print(epoch, f"{total / 16:.3f}")
