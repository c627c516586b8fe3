"""How much ink a picture holds, from pictures that a processor scales and stacks."""
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(14)
digits = load_digits()
pairs = [(picture, float(picture.mean()) / 4) for picture in digits.images]


def processor(pictures):
    values = []
    for picture in pictures:
        values.append(torch.tensor(picture, dtype=torch.float32)[None] / 16)
    return torch.stack(values)


def collate(batch):
    pictures, inks = zip(*batch)
    return processor(pictures), torch.tensor(inks)[:, None]


model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
train = DataLoader(pairs[:1400], batch_size=50, shuffle=True, collate_fn=collate)
for epoch in range(3):
    for x, y in train:
        loss = F.smooth_l1_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, round(loss.item(), 5))
