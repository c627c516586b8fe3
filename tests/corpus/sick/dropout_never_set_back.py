# RUN353: dropout is set to 0 for the first evaluation and never set back. Mended: dropout_by_eval
"""Handwritten digits, flattened, with a wide network and dropout."""
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(9)
digits = load_digits()
x, y = torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target)
order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
x, y = x[order], y[order]
train = DataLoader(TensorDataset(x[:1200], y[:1200]), batch_size=60, shuffle=True)
valid = DataLoader(TensorDataset(x[1200:], y[1200:]), batch_size=100)
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.3), nn.Linear(128, 64), nn.ReLU(), nn.Dropout(0.3),
                      nn.Linear(64, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)


def evaluate():
    model.eval()
    for layer in model:
        if isinstance(layer, nn.Dropout):
            layer.p = 0.0
    right = 0
    with torch.no_grad():
        for xb, yb in valid:
            right += (model(xb).argmax(1) == yb).sum().item()
    return right / len(valid.dataset)


for epoch in range(5):
    model.train()
    for xb, yb in train:
        loss = F.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, round(loss.item(), 4), round(evaluate(), 4))
