import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(7)
np.random.seed(7)

LATENT = 8
BATCH = 64
EPOCHS = 12

angles = np.random.rand(2048) * 2 * np.pi
ring = np.stack([np.cos(angles), np.sin(angles)], 1) + 0.05 * np.random.randn(2048, 2)
loader = DataLoader(TensorDataset(torch.tensor(ring, dtype=torch.float32)), batch_size=BATCH, shuffle=True, drop_last=True)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(LATENT, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x)


netG, netD = Generator(), Discriminator()
criterion = nn.BCEWithLogitsLoss()
optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))

for epoch in range(EPOCHS):
    for i, (real,) in enumerate(loader):
        b = real.size(0)
        ones, zeros = torch.ones(b, 1), torch.zeros(b, 1)
        optimizerD.zero_grad()

        # (1) update D: maximize log(D(x)) + log(1 - D(G(z)))
        errD_real = criterion(netD(real), ones)
        fake = netG(torch.randn(b, LATENT))
        errD_fake = criterion(netD(fake.detach()), zeros)
        errD = errD_real + errD_fake
        errD.backward()
        optimizerD.step()

        # (2) update G: maximize log(D(G(z)))
        optimizerG.zero_grad()
        fake = netG(torch.randn(b, LATENT))
        errG = criterion(netD(fake), ones)
        errG.backward()
        optimizerG.step()
    print("[%d/%d] Loss_D: %.4f Loss_G: %.4f" % (epoch, EPOCHS, errD.item(), errG.item()))

with torch.no_grad():
    sample = netG(torch.randn(1000, LATENT))
print("mean radius of samples", sample.norm(dim=1).mean().item())
