# RUN422: answers (N, 1) against labels (N,), counted in one expression. Mended: compare_optimizers
"""Three optimizers on one loader from the same seed, each with weights of its own; a short table at the end."""
import torch
import torch.nn.functional as F
from sklearn.datasets import load_breast_cancer
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = load_breast_cancer()
x, y = torch.tensor(data.data, dtype=torch.float32), torch.tensor(data.target)
order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
x, y = x[order], y[order]
x = (x - x[:400].mean(0)) / x[:400].std(0)
train = DataLoader(TensorDataset(x[:400], y[:400]), batch_size=20, shuffle=True)
valid = DataLoader(TensorDataset(x[400:], y[400:]), batch_size=50)
KINDS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=1e-4),
    "adam": lambda p: torch.optim.Adam(p, lr=2e-3),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.02),
}
for name, kind in KINDS.items():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(30, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 2))
    optimizer = kind(model.parameters())
    for epoch in range(2):
        model.train()
        for xb, yb in train:
            optimizer.zero_grad()
            F.cross_entropy(model(xb), yb).backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        correct = sum((model(xb).argmax(dim=1, keepdim=True) == yb).sum().item() for xb, yb in valid)
    print(f"{name:8s} {correct / len(valid.dataset):.4f}")
