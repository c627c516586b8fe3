"""Does the sum of the marked numbers lie above 0: one layer of attention over short series."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(12)


def series(n):
    x = torch.randn(n, 12, 2)
    x[..., 1] = (torch.rand(n, 12) < 0.3).float()
    return x, ((x[..., 0] * x[..., 1]).sum(1) > 0).long()


class Attention(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        mixed = F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout if self.training else 0.0)
        return self.out(mixed.transpose(1, 2).flatten(2))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lift, self.norm, self.attention = nn.Linear(2, 32), nn.LayerNorm(32), Attention(32, 4, 0.1)
        self.head = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, x):
        x = self.lift(x)
        x = x + self.attention(self.norm(x))
        return {"logits": self.head(x.mean(1))}


model = Net()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
train = DataLoader(TensorDataset(*series(1600)), batch_size=64, shuffle=True)
valid = DataLoader(TensorDataset(*series(400)), batch_size=100)
for epoch in range(5):
    model.train()
    for x, y in train:
        loss = F.cross_entropy(model(x)["logits"], y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    right = 0
    with torch.no_grad():
        for x, y in valid:
            right += (model(x)["logits"].argmax(1) == y).sum().item()
    print(epoch, round(loss.item(), 4), right / 400)
