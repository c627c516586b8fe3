"""Noisy stripes or checks, told apart by a small convolutional network; its features are looked at afterwards."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(4)


def pictures(n):
    y = torch.randint(0, 2, (n,))
    rows, cols = torch.meshgrid(torch.arange(32), torch.arange(32), indexing="ij")
    stripes, checks = (rows // 4 % 2).float(), ((rows // 4 + cols // 4) % 2).float()
    return torch.where(y[:, None, None] == 0, stripes, checks)[:, None] + torch.randn(n, 1, 32, 32), y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU())
        self.head = nn.Linear(16 * 16, 2)

    def forward(self, x):
        features = self.body(x)
        return self.head(F.adaptive_avg_pool2d(features, 4).flatten(1)), features


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
history = []
for step in range(280):
    x, y = pictures(64)
    logits, features = net(x)
    loss = F.cross_entropy(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(features.detach().mean((0, 2, 3)))
    if step % 40 == 0:
        print(step, round(loss.item(), 4), tuple(history[-1].shape))
net.eval()
with torch.no_grad():
    x, y = pictures(500)
    print("accuracy", (net(x)[0].argmax(1) == y).float().mean().item())
