# RUN601: missing values go into the model. Mended: table_regression
import copy

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

torch.manual_seed(7)
X, y = make_friedman1(n_samples=900, n_features=8, noise=0.5, random_state=3)
X = X * np.array([1, 10, 100, 1000, 5, 2000, 1, 30])
X[::50, 2] = np.nan
X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.25, random_state=3)
scaler = StandardScaler().fit(X_train)
X_train, X_val = scaler.transform(X_train), scaler.transform(X_val)
y_mean, y_std = y_train.mean(), y_train.std()
X_train = torch.tensor(X_train, dtype=torch.float32)
X_val = torch.tensor(X_val, dtype=torch.float32)
y_train = torch.tensor((y_train - y_mean) / y_std, dtype=torch.float32).unsqueeze(1)
y_val = torch.tensor((y_val - y_mean) / y_std, dtype=torch.float32).unsqueeze(1)

model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Dropout(0.05), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="min", factor=0.3, patience=2, min_lr=1e-5)
best, best_state, wait = float("inf"), copy.deepcopy(model.state_dict()), 0
for epoch in range(30):
    model.train()
    perm = torch.randperm(len(X_train))
    for i in range(0, len(X_train), 32):
        idx = perm[i : i + 32]
        pred = model(X_train[idx])
        loss = ((pred - y_train[idx]) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        pred = model(X_val)
        val_loss = ((pred - y_val) ** 2).mean().item()
        r2 = 1 - val_loss / y_val.var().item()
    scheduler.step(val_loss)
    if epoch % 5 == 0:
        print(f"epoch {epoch:3d}  val mse {val_loss:.4f}  r2 {r2:.4f}")
    if val_loss < best:
        best, best_state, wait = val_loss, copy.deepcopy(model.state_dict()), 0
    else:
        wait += 1
        if wait >= 8:
            break
model.load_state_dict(best_state)
torch.save(best_state, "regression.pt")
print("best", round(best, 4))
