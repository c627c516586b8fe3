"""SimCLR-like pretraining on 8x8 digits, then a linear probe."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

torch.manual_seed(0)
data = load_digits()
X = torch.tensor(data.images, dtype=torch.float32)[:, None] / 16
y = data.target


def augment(x):
    shift = torch.randint(-1, 2, (2,))
    x = torch.roll(x, (int(shift[0]), int(shift[1])), dims=(2, 3))
    x = x * (0.7 + 0.6 * torch.rand(len(x), 1, 1, 1))
    return x + 0.1 * torch.randn_like(x)


class Encoder(nn.Module):
    def __init__(self, dim=64, proj=32):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, stride=2, padding=1), nn.ReLU(),
                                      nn.Flatten(), nn.Linear(32 * 16, dim))
        self.projector = nn.Sequential(nn.ReLU(), nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, proj))

    def forward(self, x):
        h = self.features(x)
        return h, F.normalize(self.projector(h), dim=1)


def nt_xent(z1, z2, temperature=0.2):
    n = len(z1)
    z = torch.cat([z1, z2])
    sim = z @ z.t() / temperature
    sim.fill_diagonal_(float("-inf"))
    labels = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(sim, labels)


def pretrain(encoder, epochs=6, batch=128):
    optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3)
    encoder.train()
    for epoch in range(epochs):
        losses = []
        for idx in torch.randperm(1400).split(batch):
            _, z1 = encoder(augment(X[idx]))
            _, z2 = encoder(augment(X[idx]))
            loss = nt_xent(z1, z2)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: contrastive loss {sum(losses) / len(losses):.3f}")


def probe(encoder):
    encoder.eval()
    with torch.no_grad():
        h, _ = encoder(X)
    clf = LogisticRegression(max_iter=500).fit(h[:1400].numpy(), y[:1400])
    return clf.score(h[1400:].numpy(), y[1400:])


encoder = Encoder()
pretrain(encoder)
print("linear probe", probe(encoder))
