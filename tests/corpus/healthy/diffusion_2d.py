import copy

import torch
import torch.nn as nn
from sklearn.datasets import make_moons

torch.manual_seed(0)
T = 50
betas = torch.linspace(1e-4, 0.1, T)
alpha_bar = torch.cumprod(1 - betas, 0)
data = torch.tensor(make_moons(2000, noise=0.05, random_state=0)[0], dtype=torch.float32)
data = (data - data.mean(0)) / data.std(0)


class Denoiser(nn.Module):
    def __init__(self, h=64):
        super().__init__()
        self.time = nn.Embedding(T, 16)
        self.net = nn.Sequential(nn.Linear(18, h), nn.SiLU(), nn.Linear(h, h), nn.SiLU(), nn.Linear(h, 2))

    def forward(self, x, t):
        return self.net(torch.cat([x, self.time(t)], dim=-1))


model = Denoiser()
ema_model = copy.deepcopy(model).eval()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
for step in range(300):
    x0 = data[torch.randint(len(data), (128,))]
    t = torch.randint(T, (128,))
    noise = torch.randn_like(x0)
    xt = alpha_bar[t, None].sqrt() * x0 + (1 - alpha_bar[t, None]).sqrt() * noise
    loss = nn.functional.mse_loss(model(xt, t), noise)
    opt.zero_grad()
    loss.backward()
    opt.step()
    for e, p in zip(ema_model.parameters(), model.parameters()):
        e.data.mul_(0.99).add_(p.data, alpha=0.01)
    if step % 100 == 0:
        print(step, loss.item())
with torch.no_grad():
    x = torch.randn(200, 2)
    for t in reversed(range(T)):
        eps = ema_model(x, torch.full((200,), t))
        x = (x - betas[t] / (1 - alpha_bar[t]).sqrt() * eps) / (1 - betas[t]).sqrt()
        if t:
            x += betas[t].sqrt() * torch.randn_like(x)
print(x.mean().item(), x.std().item())
torch.save(ema_model.state_dict(), "diffusion.pt")
