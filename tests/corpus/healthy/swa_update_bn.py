"""Stochastic weight averaging with fresh batch statistics at the end."""
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
digits = load_digits()
X, Y = torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target)
train_loader = DataLoader(TensorDataset(X[:1300], Y[:1300]), batch_size=50, shuffle=True)
test_loader = DataLoader(TensorDataset(X[1300:], Y[1300:]), batch_size=100)
model = nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=8)
swa_model = AveragedModel(model)
swa_start = 5
swa_scheduler = SWALR(optimizer, swa_lr=0.05, anneal_epochs=2)
loss_fn = nn.CrossEntropyLoss()


def accuracy(net):
    net.eval()
    with torch.no_grad():
        return sum((net(x).argmax(1) == y).sum().item() for x, y in test_loader) / len(test_loader.dataset)


for epoch in range(8):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss_fn(model(x), y).backward()
        optimizer.step()
    if epoch > swa_start:
        swa_model.update_parameters(model)
        swa_scheduler.step()
    else:
        scheduler.step()
    print(epoch, accuracy(model))
update_bn(train_loader, swa_model)
print("swa", accuracy(swa_model))
torch.save(swa_model.state_dict(), "swa.pt")
