"""Adversarial training with FGSM, and prediction with dropout left on."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
d = load_digits()
x, y = torch.tensor(d.data, dtype=torch.float32) / 16, torch.tensor(d.target)
train_loader = DataLoader(TensorDataset(x[:1400], y[:1400]), 50, shuffle=True)
test_loader = DataLoader(TensorDataset(x[1400:], y[1400:]), 100)
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)


def fgsm(x, y, epsilon=0.05):
    x = x.clone().requires_grad_(True)
    F.cross_entropy(model(x), y).backward()
    return (x + epsilon * x.grad.sign()).clamp(0, 1).detach()


for epoch in range(5):
    model.train()
    for xb, yb in train_loader:
        adv = fgsm(xb, yb)
        optimizer.zero_grad()
        loss = 0.5 * F.cross_entropy(model(xb), yb) + 0.5 * F.cross_entropy(model(adv), yb)
        loss.backward()
        optimizer.step()
    model.eval()
    clean = robust = 0
    for xb, yb in test_loader:
        adv = fgsm(xb, yb)
        with torch.no_grad():
            clean += (model(xb).argmax(1) == yb).sum().item()
            robust += (model(adv).argmax(1) == yb).sum().item()
    print(epoch, clean / 397, robust / 397)
model.eval()
for m in model.modules():
    if isinstance(m, nn.Dropout):
        m.train()
with torch.no_grad():
    probs = torch.stack([torch.cat([model(xb).softmax(1) for xb, _ in test_loader]) for _ in range(8)])
print("uncertainty", probs.std(0).mean().item())
