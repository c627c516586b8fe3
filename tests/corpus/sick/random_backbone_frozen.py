# RUN354: the backbone is frozen, and its weights were never loaded. Mended: pretrained_backbone_frozen
"""Even or odd: a head on top of a backbone that has learnt to read digits."""
import copy

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(6)
digits = load_digits()
x = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
y = torch.tensor(digits.target)


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                                 nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(512, 64), nn.ReLU())

    def forward(self, x):
        return self.net(x)


def fit(model, parameters, x, y, epochs):
    optimizer = torch.optim.Adam(parameters, lr=2e-3)
    for epoch in range(epochs):
        order = torch.randperm(len(x))
        for rows in order.split(50):
            loss = F.cross_entropy(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, round(loss.item(), 4))


reader = Backbone()
classifier = nn.Sequential(reader, nn.Linear(64, 10))
fit(classifier, classifier.parameters(), x[:900], y[:900], 4)
saved = copy.deepcopy(reader.state_dict())

backbone = Backbone()
for parameter in backbone.parameters():
    parameter.requires_grad = False
head = nn.Linear(64, 2)
model = nn.Sequential(backbone, head)
fit(model, head.parameters(), x[900:1500], y[900:1500] % 2, 4)
with torch.no_grad():
    print("accuracy", (model(x[1500:]).argmax(1) == y[1500:] % 2).float().mean().item())
