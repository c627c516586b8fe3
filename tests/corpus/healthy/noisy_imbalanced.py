"""Imbalanced classes with wrong labels, a weighted sampler, focal loss by hand, test-time augmentation."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import make_classification
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

torch.manual_seed(0)
X, y = make_classification(1500, 20, n_informative=8, n_classes=3, weights=[0.8, 0.15, 0.05], flip_y=0.1, random_state=0)
X, y = torch.tensor(X, dtype=torch.float32), torch.tensor(y)
X_tr, y_tr, X_va, y_va = X[:1200], y[:1200], X[1200:], y[1200:]
counts = torch.bincount(y_tr)
sampler = WeightedRandomSampler((1.0 / counts.float())[y_tr].tolist(), num_samples=len(y_tr), replacement=True)
loader = DataLoader(TensorDataset(X_tr, y_tr), batch_size=40, sampler=sampler)
val_loader = DataLoader(TensorDataset(X_va, y_va), batch_size=100)


class FocalLoss(nn.Module):
    def __init__(self, gamma=1.5):
        super().__init__()
        self.gamma = gamma

    def forward(self, logits, target):
        ce = F.cross_entropy(logits, target, reduction="none")
        return ((1 - torch.exp(-ce)) ** self.gamma * ce).mean()


net = nn.Sequential(nn.Linear(20, 40), nn.ReLU(), nn.Dropout(0.2), nn.Linear(40, 3))
crit, opt = FocalLoss(), torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(6):
    net.train()
    for xb, yb in loader:
        opt.zero_grad()
        loss = crit(net(xb), yb)
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        probs = torch.cat([sum(net(xb + 0.05 * torch.randn_like(xb)).softmax(1) for _ in range(4)) / 4 for xb, _ in val_loader])
    recall = [(probs.argmax(1)[y_va == c] == c).float().mean().item() for c in range(3)]
    print(epoch, f"{loss.item():.4f}", [round(r, 2) for r in recall])
