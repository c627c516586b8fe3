import numpy as np
import torch
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
X, y = load_iris(return_X_y=True)
X = X.astype(np.float32)
scores = []


def reset_weights(m):
    if hasattr(m, "reset_parameters"):
        m.reset_parameters()


model = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Dropout(0.1), nn.Linear(24, 3))
for fold, (train_idx, val_idx) in enumerate(StratifiedKFold(4, shuffle=True, random_state=0).split(X, y)):
    scaler = StandardScaler().fit(X[train_idx])
    train_ds = TensorDataset(torch.from_numpy(scaler.transform(X[train_idx])), torch.from_numpy(y[train_idx]))
    val_ds = TensorDataset(torch.from_numpy(scaler.transform(X[val_idx])), torch.from_numpy(y[val_idx]))
    train_loader = DataLoader(train_ds, batch_size=16, shuffle=True)
    val_loader = DataLoader(val_ds, batch_size=len(val_ds))
    model.apply(reset_weights)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(8):
        model.train()
        for xb, yb in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(xb), yb)
            loss.backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        xb, yb = next(iter(val_loader))
        scores.append((model(xb).argmax(1) == yb).float().mean().item())
    print("fold", fold, scores[-1])
print("mean", np.mean(scores))
