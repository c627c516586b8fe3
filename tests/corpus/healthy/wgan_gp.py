import torch
from torch import autograd, nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.0, 0.9))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.0, 0.9))


def real_batch(n=64):
    angle = torch.rand(n) * 6.283
    return torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(n, 2)


def gradient_penalty(real, fake):
    a = torch.rand(len(real), 1)
    mid = (a * real + (1 - a) * fake).requires_grad_(True)
    (g,) = autograd.grad(D(mid).sum(), mid, create_graph=True)
    return 10 * ((g.norm(2, dim=1) - 1) ** 2).mean()


for it in range(60):
    for p in D.parameters():
        p.requires_grad_(True)
    for _ in range(5):
        real = real_batch()
        with torch.no_grad():
            fake = G(torch.randn(64, 4))
        loss_d = D(fake).mean() - D(real).mean() + gradient_penalty(real, fake)
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()
    for p in D.parameters():
        p.requires_grad_(False)
    loss_g = -D(G(torch.randn(64, 4))).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if it % 20 == 0:
        print(it, loss_d.item(), loss_g.item())
torch.save(G.state_dict(), "wgan.pt")
