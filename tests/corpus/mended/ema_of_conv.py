from copy import deepcopy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ModelEMA:
    """Keeps an exponential moving average of the model."""

    def __init__(self, model, decay=0.95):
        self.module = deepcopy(model).eval()
        self.decay = decay
        for p in self.module.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for ema_p, p in zip(self.module.parameters(), model.parameters()):
            ema_p.mul_(self.decay).add_(p, alpha=1 - self.decay)
        for ema_b, b in zip(self.module.buffers(), model.buffers()):
            ema_b.copy_(b)


def data(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(4, (n,), generator=g)
    x = torch.randn(n, 3, 16, 16, generator=g) * 2 + 5
    for i in range(n):
        r, c = divmod(int(y[i]), 2)
        x[i, :, r * 8:r * 8 + 8, c * 8:c * 8 + 8] += 1.0
    return TensorDataset(x, y)


def conv_bn(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, 2, 1, bias=False), nn.BatchNorm2d(o), nn.SiLU())


net = None


@torch.no_grad()
def validate(model, loader):
    model.eval()
    correct = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return correct / len(loader.dataset)


def main():
    torch.manual_seed(0)
    model = nn.Sequential(conv_bn(3, 16), conv_bn(16, 32), nn.Flatten(), nn.Linear(32 * 16, 4))
    ema = ModelEMA(model)
    train_loader = DataLoader(data(800, 0), batch_size=32, shuffle=True)
    val_loader = DataLoader(data(200, 1), batch_size=100)
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    crit = nn.CrossEntropyLoss(label_smoothing=0.05)
    for epoch in range(4):
        model.train()
        for x, y in train_loader:
            opt.zero_grad()
            loss = crit(model(x), y)
            loss.backward()
            opt.step()
            ema.update(model)
        print(f"epoch {epoch} loss {loss.item():.3f} ema acc {validate(ema.module, val_loader):.3f}")


if __name__ == "__main__":
    main()
