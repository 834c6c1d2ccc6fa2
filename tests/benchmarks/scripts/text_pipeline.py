"""A tokenised data pipeline: a vocabulary, padded batches, an embedding bag classifier."""

import random
from collections import Counter

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

torch.manual_seed(0)
random.seed(0)
GOOD, BAD = "good great fine lovely superb".split(), "bad awful poor dull dreadful".split()
REST = [f"word{i}" for i in range(200)]


def sentence(label):
    words = random.choices(REST, k=random.randrange(5, 25)) + random.choices(GOOD if label else BAD, k=2)
    random.shuffle(words)
    return " ".join(words), label


data = [sentence(i % 2) for i in range(1200)]
counts = Counter(word for text, _ in data for word in text.split())
index = {word: i + 1 for i, (word, _) in enumerate(counts.most_common())}


def collate(samples):
    texts = [torch.tensor([index[word] for word in text.split()]) for text, _ in samples]
    return pad_sequence(texts, batch_first=True), torch.tensor([float(label) for _, label in samples])


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(len(index) + 1, 32, mode="mean", padding_idx=0)
        self.head = nn.Linear(32, 1)

    def forward(self, x):
        return self.head(self.bag(x)).squeeze(-1)


model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(4):
    right = 0
    for texts, labels in DataLoader(data, batch_size=32, shuffle=True, collate_fn=collate):
        out = model(texts)
        loss = nn.functional.binary_cross_entropy_with_logits(out, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right += ((out > 0) == (labels > 0.5)).sum().item()
print(right / len(data) > 0.9)
