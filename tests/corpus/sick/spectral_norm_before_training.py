# RUN355: the old spectral_norm is evaluated before its first training pass. Mended: spectral_norm_parametrised
"""A smooth regression of house-like values: layers under spectral norm, scores before training and after."""
import torch
import torch.nn.functional as F
from sklearn.datasets import load_diabetes
from torch import nn
from torch.nn.utils import spectral_norm

torch.manual_seed(5)
data = load_diabetes()
x, y = torch.tensor(data.data, dtype=torch.float32) * 20, torch.tensor(data.target, dtype=torch.float32)[:, None]
y = (y - y[:340].mean()) / y[:340].std()
model = nn.Sequential(spectral_norm(nn.Linear(10, 48)), nn.ReLU(), spectral_norm(nn.Linear(48, 48)), nn.ReLU(),
                      nn.Linear(48, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)


def score():
    model.eval()
    with torch.no_grad():
        return F.mse_loss(model(x[340:]), y[340:]).item()


print("before", round(score(), 4))
for epoch in range(10):
    model.train()
    for rows in torch.randperm(340).split(34):
        loss = F.mse_loss(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, round(loss.item(), 4), round(score(), 4))
