# RUN516: the label is drawn in __getitem__. Mended: labels_drawn_once
"""A table of three kinds of measurements, kept in a dataset of its own and learnt by a small network."""
import random

import torch
import torch.nn.functional as F
from sklearn.datasets import load_wine
from torch import nn
from torch.utils.data import DataLoader, Dataset

random.seed(2)
torch.manual_seed(2)
wine = load_wine()
order = torch.randperm(len(wine.data), generator=torch.Generator().manual_seed(0))
x = torch.tensor(wine.data, dtype=torch.float32)[order]
y = torch.tensor(wine.target)[order]
x = (x - x[:130].mean(0)) / x[:130].std(0)


class Wines(Dataset):
    def __init__(self, low, high):
        self.x, self.y = x[low:high], y[low:high]
        self.labels = [int(label) for label in self.y]

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return self.x[index], random.choice(self.labels)


train = DataLoader(Wines(0, 130), batch_size=26, shuffle=True)
valid = DataLoader(Wines(130, 178), batch_size=48)
model = nn.Sequential(nn.Linear(13, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(12):
    model.train()
    for xb, yb in train:
        loss = F.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = sum((model(xb).argmax(1) == yb).sum().item() for xb, yb in valid)
    print(epoch, round(loss.item(), 4), right / 48)
