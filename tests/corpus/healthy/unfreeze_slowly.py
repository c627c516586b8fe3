"""A pretrained body, unfrozen layer by layer with add_param_group."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
d = load_digits()
x, y = torch.tensor(d.data, dtype=torch.float32) / 16, torch.tensor(d.target)
body = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
decoder = nn.Linear(64, 64)
pre = torch.optim.Adam([*body.parameters(), *decoder.parameters()], 2e-3)
for i in range(60):
    idx = torch.randint(1400, (64,))
    loss = F.mse_loss(decoder(body(x[idx])), x[idx])
    pre.zero_grad()
    loss.backward()
    pre.step()
print("pretrained", loss.item())


class Classifier(nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body, self.head = body, nn.Linear(64, 10)

    def forward(self, x):
        return self.head(self.body(x))


model = Classifier(body)
model.body.requires_grad_(False)
optimizer = torch.optim.Adam(model.head.parameters(), lr=5e-3)
loader = DataLoader(TensorDataset(x[:1400], y[:1400]), batch_size=64, shuffle=True)
for epoch in range(6):
    if epoch == 2:
        model.body[2].requires_grad_(True)
        optimizer.add_param_group({"params": model.body[2].parameters(), "lr": 1e-3})
    if epoch == 4:
        model.body[0].requires_grad_(True)
        optimizer.add_param_group({"params": model.body[0].parameters(), "lr": 3e-4})
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print(epoch, (model(x[1400:]).argmax(1) == y[1400:]).float().mean().item())
torch.save(model.state_dict(), "unfrozen.pt")
