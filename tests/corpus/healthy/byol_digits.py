import copy

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader


def block(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Linear(h, o))


class BYOL(nn.Module):
    def __init__(self):
        super().__init__()
        self.online = block(64, 64, 24)
        self.target = copy.deepcopy(self.online)
        self.predictor = block(24, 32, 24)
        for p in self.target.parameters():
            p.requires_grad = False

    @torch.no_grad()
    def update(self, tau=0.98):
        for t, o in zip(self.target.parameters(), self.online.parameters()):
            t.data.mul_(tau).add_(o.data, alpha=1 - tau)

    def half(self, a, b):
        p = self.predictor(self.online(a))
        with torch.no_grad():
            z = self.target(b)
        return 2 - 2 * F.cosine_similarity(p, z, dim=-1).mean()

    def forward(self, a, b):
        return self.half(a, b) + self.half(b, a)


torch.manual_seed(0)
images = torch.tensor(load_digits().data, dtype=torch.float32) / 16
loader = DataLoader(images, batch_size=128, shuffle=True, drop_last=True)
byol = BYOL()
trainable = [p for p in byol.parameters() if p.requires_grad]
opt = torch.optim.Adam(trainable, lr=2e-3)
for epoch in range(6):
    for x in loader:
        a, b = (x + 0.15 * torch.randn_like(x) for _ in range(2))
        loss = byol(a, b)
        opt.zero_grad()
        loss.backward()
        opt.step()
        byol.update()
    print(f"{epoch} {loss.item():.4f}")
