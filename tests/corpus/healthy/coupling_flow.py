"""A normalising flow of coupling layers on two moons: density by its own formula, double precision, grad norms logged."""
import math

import torch
from sklearn.datasets import make_moons
from torch import nn

torch.manual_seed(23)
data = torch.tensor(make_moons(1000, noise=0.06, random_state=1)[0])
data = (data - data.mean(0)) / data.std(0)


class Coupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 2))
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        if self.flip:
            a, b = b, a
        scale, shift = self.net(a).chunk(2, dim=1)
        b = b * torch.exp(torch.tanh(scale)) + shift
        return torch.cat([b, a] if self.flip else [a, b], dim=1), torch.tanh(scale).sum(1)


layers = nn.ModuleList(Coupling(bool(i % 2)) for i in range(6)).double()
optimizer = torch.optim.Adam(layers.parameters(), lr=5e-3)
decay = torch.optim.lr_scheduler.MultiStepLR(optimizer, [120, 160], gamma=0.3)
for step in range(200):
    z, log_det = data[torch.randint(0, 800, (128,))], 0.0
    for layer in layers:
        z, change = layer(z)
        log_det = log_det + change
    nll = (0.5 * z.pow(2).sum(1) + math.log(2 * math.pi) - log_det).mean()
    optimizer.zero_grad()
    nll.backward()
    norm = nn.utils.clip_grad_norm_(layers.parameters(), 10.0)
    optimizer.step()
    decay.step()
    if step % 50 == 49:
        print(step, round(nll.item(), 4), round(norm.item(), 3))
