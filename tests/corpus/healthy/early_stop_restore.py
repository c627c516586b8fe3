"""Early stopping with the best weights restored, loaders with workers, resume from a checkpoint."""
import os
import random

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def seed_worker(worker_id):
    worker_seed = torch.initial_seed() % 2**32
    np.random.seed(worker_seed)
    random.seed(worker_seed)


def save_checkpoint(model, optimizer, epoch, path="last.pt"):
    torch.save({"epoch": epoch, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)


class EarlyStopping:
    def __init__(self, patience=3):
        self.patience, self.best, self.bad = patience, None, 0

    def __call__(self, loss, model):
        if self.best is None or loss < self.best[0]:
            self.best, self.bad = (loss, {k: v.clone() for k, v in model.state_dict().items()}), 0
        else:
            self.bad += 1
        return self.bad >= self.patience


if __name__ == "__main__":
    torch.manual_seed(0)
    X, y = load_breast_cancer(return_X_y=True)
    X_tr, X_va, y_tr, y_va = train_test_split(X, y, test_size=0.3, random_state=0)
    sc = StandardScaler().fit(X_tr)
    tr = TensorDataset(torch.tensor(sc.transform(X_tr), dtype=torch.float32), torch.tensor(y_tr, dtype=torch.float32))
    va = TensorDataset(torch.tensor(sc.transform(X_va), dtype=torch.float32), torch.tensor(y_va, dtype=torch.float32))
    g = torch.Generator().manual_seed(0)
    train_loader = DataLoader(tr, 32, shuffle=True, num_workers=2, worker_init_fn=seed_worker, generator=g)
    val_loader = DataLoader(va, 64)
    model = nn.Sequential(nn.Linear(30, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 1), nn.Flatten(0))
    optimizer = torch.optim.NAdam(model.parameters(), lr=3e-3)
    criterion = nn.BCEWithLogitsLoss()
    stopper, start = EarlyStopping(), 0
    if os.path.exists("last.pt"):
        ckpt = torch.load("last.pt")
        model.load_state_dict(ckpt["model"])
        optimizer.load_state_dict(ckpt["optimizer"])
        start = ckpt["epoch"] + 1
    for epoch in range(start, start + 4):
        model.train()
        for xb, yb in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(xb), yb)
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            val = sum(criterion(model(xb), yb).item() * len(yb) for xb, yb in val_loader) / len(va)
        print(epoch, round(val, 4))
        save_checkpoint(model, optimizer, epoch)
        if stopper(val, model):
            break
    model.load_state_dict(stopper.best[1])
    os.remove("last.pt")
    torch.save(model.state_dict(), "best.pt")
