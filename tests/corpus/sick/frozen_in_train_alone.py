# RUN356: the stem is frozen in train(), which nobody calls before the first epoch. Mended: frozen_in_train_too
"""A pretrained stem that is to stay as it is, and a body that learns another task."""
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(10)
digits = load_digits()
x, y = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16, torch.tensor(digits.target)


class Net(nn.Module):
    def __init__(self, num, is_frozen):
        super().__init__()
        self.is_frozen = is_frozen
        self.stem = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(256, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, num))

    def train(self, mode=True):
        super().train(mode)
        if mode and self.is_frozen:
            self.stem.requires_grad_(False)
        return self

    def forward(self, x):
        return self.body(self.stem(x))


def fit(net, x, y, epochs):
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    for epoch in range(epochs):
        for rows in torch.randperm(1000).split(50):
            loss = F.cross_entropy(net(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        net.eval()
        with torch.no_grad():
            print(epoch, round((net(x[1000:]).argmax(1) == y[1000:]).float().mean().item(), 4))
        net.train()


first = Net(10, is_frozen=False)
fit(first, x, y, 3)
net = Net(2, is_frozen=True)
net.stem.load_state_dict(first.stem.state_dict())
fit(net, x, y % 2, 3)
