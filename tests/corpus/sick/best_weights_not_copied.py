# RUN523: the best weights are kept without a copy. Mended: early_stop_copied
import copy

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn


class EarlyStopping:
    def __init__(self, patience=5, verbose=True):
        self.patience, self.verbose = patience, verbose
        self.best_score, self.counter, self.early_stop = None, 0, False
        self.best_weights = None

    def __call__(self, val_loss, model):
        if self.best_score is None or val_loss < self.best_score:
            self.best_score, self.counter = val_loss, 0
            self.best_weights = model.state_dict()
        else:
            self.counter += 1
            if self.verbose:
                print(f"EarlyStopping counter: {self.counter} out of {self.patience}")
            self.early_stop = self.counter >= self.patience


def prepare():
    X, y = load_breast_cancer(return_X_y=True)
    Xtr, Xva, ytr, yva = train_test_split(X, y, test_size=0.4, random_state=7, stratify=y)
    sc = StandardScaler().fit(Xtr)
    f = lambda a: torch.tensor(a, dtype=torch.float32)
    return f(sc.transform(Xtr)), f(sc.transform(Xva)), f(ytr)[:, None], f(yva)[:, None]


def train():
    torch.manual_seed(0)
    Xtr, Xva, ytr, yva = prepare()
    model = nn.Sequential(nn.Linear(30, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1))
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    stopper = EarlyStopping()
    for epoch in range(60):
        model.train()
        for idx in torch.randperm(len(Xtr)).split(32):
            optimizer.zero_grad()
            loss = criterion(model(Xtr[idx]), ytr[idx])
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            val_loss = criterion(model(Xva), yva).item()
        print(f"epoch {epoch} train {loss.item():.4f} val {val_loss:.4f}")
        stopper(val_loss, model)
        if stopper.early_stop:
            print("Early stopping")
            break
    model.load_state_dict(stopper.best_weights)
    with torch.no_grad():
        acc = ((model(Xva) > 0).float() == yva).float().mean().item()
    print("accuracy of the best model", acc)


if __name__ == "__main__":
    train()
