import random

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Dataset

random.seed(0)
torch.manual_seed(0)


class Triplets(Dataset):
    def __init__(self, x, y):
        self.x, self.y = x, y
        self.by_class = {c: (y == c).nonzero().flatten().tolist() for c in range(10)}

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        c = self.y[i].item()
        other = random.choice([k for k in range(10) if k != c])
        return self.x[i], self.x[random.choice(self.by_class[c])], self.x[random.choice(self.by_class[other])]


d = load_digits()
x, y = torch.tensor(d.data, dtype=torch.float32) / 16, torch.tensor(d.target)
loader = DataLoader(Triplets(x[:1300], y[:1300]), batch_size=64, shuffle=True)
net = nn.Sequential(nn.Linear(64, 64), nn.PReLU(), nn.Linear(64, 16))
opt = torch.optim.Adagrad(net.parameters(), lr=0.02)
criterion = nn.TripletMarginLoss(margin=0.5)
for epoch in range(4):
    for anchor, positive, negative in loader:
        loss = criterion(net(anchor), net(positive), net(negative))
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        e, q = net(x[:1300]), net(x[1300:])
        print(epoch, loss.item(), (y[:1300][torch.cdist(q, e).argmin(1)] == y[1300:]).float().mean().item())
torch.save(net.state_dict(), "triplet.pt")
