"""Multi-task: two heads, two losses, two backward passes into one body."""
import torch
from torch import nn
from sklearn.datasets import load_digits

torch.manual_seed(0)
d = load_digits()
x = torch.tensor(d.data, dtype=torch.float32) / 16
digit, parity = torch.tensor(d.target), torch.tensor(d.target % 2, dtype=torch.float32)


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.1))
        self.digit, self.parity = nn.Linear(64, 10), nn.Linear(64, 1)

    def forward(self, x):
        z = self.body(x)
        return self.digit(z), self.parity(z).squeeze(-1)


net = TwoHeads()
opt = torch.optim.AdamW(
    [{"params": net.body.parameters(), "lr": 2e-3}, {"params": [*net.digit.parameters(), *net.parity.parameters()]}], lr=4e-3)
for epoch in range(5):
    net.train()
    for idx in torch.randperm(1400).split(64):
        opt.zero_grad()
        a, b = net(x[idx])
        loss_a = nn.functional.cross_entropy(a, digit[idx])
        loss_b = nn.functional.binary_cross_entropy_with_logits(b, parity[idx])
        loss_a.backward(retain_graph=True)
        (0.5 * loss_b).backward()
        opt.step()
    net.eval()
    with torch.inference_mode():
        a, b = net(x[1400:])
    print(epoch, (a.argmax(1) == digit[1400:]).float().mean().item(), ((b > 0) == parity[1400:].bool()).float().mean().item())
