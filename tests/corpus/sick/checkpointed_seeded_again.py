# RUN512: the seed is set at the start of each epoch. Mended: checkpointed_blocks
"""Gradient checkpointing (without re-entrance) in a residual network of blocks, accumulation done right."""
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(15)
digits = load_digits()
x, y = torch.tensor(digits.data, dtype=torch.float32) / 8 - 1, torch.tensor(digits.target)


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm, self.a, self.b, self.drop = nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.Linear(2 * d, d), nn.Dropout(0.1)

    def forward(self, h):
        return h + self.drop(self.b(nn.functional.gelu(self.a(self.norm(h)))))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.blocks, self.head = nn.Linear(64, 48), nn.ModuleList(Block(48) for _ in range(4)), nn.Linear(48, 10)

    def forward(self, h):
        h = self.stem(h)
        for block in self.blocks:
            h = checkpoint(block, h, use_reentrant=False) if self.training else block(h)
        return self.head(h)


net, accumulation = Net(), 4
optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=0.02)
loader = DataLoader(TensorDataset(x[:1440], y[:1440]), batch_size=24, shuffle=True)
valid = DataLoader(TensorDataset(x[1440:], y[1440:]), batch_size=357)
for epoch in range(4):
    torch.manual_seed(15)
    net.train()
    for i, (xb, yb) in enumerate(loader):
        (nn.functional.cross_entropy(net(xb), yb) / accumulation).backward()
        if (i + 1) % accumulation == 0 or i + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()
    net.eval()
    with torch.inference_mode():
        for xb, yb in valid:
            print(epoch, (net(xb).argmax(1) == yb).float().mean().item())
