import numpy as np
import torch
import torch.nn as nn
from sklearn.model_selection import train_test_split

LOOKBACK = 24
HORIZON = 1


def series(n=1200, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(n)
    walk = np.cumsum(rng.normal(0, 0.15, n))
    return (np.sin(2 * np.pi * t / 24) + 0.002 * t + walk).astype("float32")


def create_dataset(values, lookback):
    X, y = [], []
    for i in range(len(values) - lookback - HORIZON + 1):
        X.append(values[i:i + lookback])
        y.append(values[i + lookback:i + lookback + HORIZON])
    return torch.tensor(np.array(X))[..., None], torch.tensor(np.array(y))


class GRUForecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(input_size=1, hidden_size=32, num_layers=1, batch_first=True)
        self.linear = nn.Linear(32, HORIZON)

    def forward(self, x):
        out, _ = self.gru(x)
        return self.linear(out[:, -1])


torch.manual_seed(0)
values = series()
values = (values - values[:900].mean()) / values[:900].std()
cut = int(len(values) * 0.8)
X_train, y_train = create_dataset(values[:cut], LOOKBACK)
X_val, y_val = create_dataset(values[cut:], LOOKBACK)
train_loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X_train, y_train), shuffle=True, batch_size=32)
val_loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X_val, y_val), batch_size=64)

model = GRUForecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
loss_fn = nn.MSELoss()

for epoch in range(6):
    model.train()
    for X_batch, y_batch in train_loader:
        y_pred = model(X_batch)
        loss = loss_fn(y_pred, y_batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        rmse = np.sqrt(np.mean([loss_fn(model(a), b).item() for a, b in val_loader]))
    print("Epoch %d: val RMSE %.4f" % (epoch, rmse))
