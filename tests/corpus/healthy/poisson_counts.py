"""Counts by a Poisson regression and quantiles by a pinball loss, side by side, on one table."""
import torch
from torch import nn

torch.manual_seed(31)
x = torch.randn(1200, 6)
rate = torch.exp(0.4 * x[:, 0] - 0.3 * x[:, 1] + 0.5)
counts = torch.poisson(rate)
amount = rate + 0.3 * torch.randn(1200) * (1 + x[:, 2].abs())
train, test = slice(0, 900), slice(900, 1200)
counter = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1), nn.Softplus())
quantiles = nn.Sequential(nn.Linear(6, 32), nn.ELU(), nn.Linear(32, 3))
levels = torch.tensor([0.1, 0.5, 0.9])
poisson = nn.PoissonNLLLoss(log_input=False)
one = torch.optim.NAdam(counter.parameters(), lr=5e-3)
two = torch.optim.SGD(quantiles.parameters(), lr=0.05, momentum=0.9, nesterov=True)


def pinball(answer, target):
    error = target.unsqueeze(1) - answer
    return torch.maximum(levels * error, (levels - 1) * error).mean()


for epoch in range(12):
    for i in torch.randperm(900).split(50):
        one.zero_grad()
        poisson(counter(x[i]).squeeze(1), counts[i]).backward()
        one.step()
        two.zero_grad()
        pinball(quantiles(x[i]), amount[i]).backward()
        two.step()
    with torch.no_grad():
        inside = (quantiles(x[test])[:, 0] < amount[test]) & (amount[test] < quantiles(x[test])[:, 2])
        if epoch % 4 == 3:
            print(epoch, poisson(counter(x[test]).squeeze(1), counts[test]).item(), inside.float().mean().item())
