import torch
import torch.nn as nn
from sklearn.datasets import make_regression
from torch.optim.lr_scheduler import CyclicLR

torch.manual_seed(0)
X, y = make_regression(4000, 12, noise=5.0, random_state=1)
X = torch.tensor(X, dtype=torch.float32)
y = torch.tensor((y - y.mean()) / y.std(), dtype=torch.float32)[:, None]
net = nn.Sequential(nn.Linear(12, 64), nn.BatchNorm1d(64), nn.ELU(), nn.Linear(64, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
sched = CyclicLR(opt, base_lr=0.01, max_lr=0.2, step_size_up=15, mode="triangular2")
for step in range(80):
    net.train()
    loss = nn.functional.huber_loss(net(X[:3200]), y[:3200])
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    if step % 20 == 0:
        net.eval()
        with torch.no_grad():
            print(step, loss.item(), nn.functional.mse_loss(net(X[3200:]), y[3200:]).item())
torch.save(net.state_dict(), "housing.pt")
