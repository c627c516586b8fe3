# RUN420: the mean of batch means of a formula of its own, the last batch has 20 pairs. Mended: siamese_pairs
"""A siamese network with a contrastive loss of its own: pairs of digits, the same or not."""
import random

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(8)
random.seed(8)
digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
labels = digits.target.tolist()


class Pairs(Dataset):
    def __init__(self, low, high, fixed):
        self.low, self.high, self.fixed = low, high, fixed
        self.by_label = {d: [i for i in range(low, high) if labels[i] == d] for d in range(10)}

    def __len__(self):
        return self.high - self.low

    def __getitem__(self, index):
        rnd = random.Random(index) if self.fixed else random
        i = self.low + index
        same = rnd.random() < 0.5
        j = rnd.choice(self.by_label[labels[i]]) if same else rnd.randrange(self.low, self.high)
        return images[i], images[j], torch.tensor(float(labels[i] == labels[j]))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                                 nn.Flatten(), nn.Linear(256, 16))

    def forward(self, a, b):
        return self.net(a), self.net(b)


def contrastive(za, zb, same, margin=1.0):
    distance = F.pairwise_distance(za, zb)
    return (same * distance.pow(2) + (1 - same) * (margin - distance).clamp_min(0).pow(2)).mean()


model = Encoder()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
train = DataLoader(Pairs(0, 1200, False), batch_size=60, shuffle=True)
held = DataLoader(Pairs(1200, 1700, True), batch_size=120)
for epoch in range(4):
    model.train()
    for a, b, same in train:
        loss = contrastive(*model(a, b), same)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    right, val_loss = 0, 0.0
    with torch.no_grad():
        for a, b, same in held:
            za, zb = model(a, b)
            val_loss += contrastive(za, zb, same).item()
            right += ((F.pairwise_distance(za, zb) < 0.5) == same.bool()).sum().item()
    print(epoch, round(loss.item(), 4), round(val_loss / len(held), 4), right / 500)
