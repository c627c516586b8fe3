import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


def mixup_data(x, y, alpha=0.4):
    lam = np.random.beta(alpha, alpha)
    index = torch.randperm(x.size(0))
    return lam * x + (1 - lam) * x[index], y, y[index], lam


def main():
    np.random.seed(0)
    torch.manual_seed(0)
    d = load_digits()
    x = torch.tensor(d.images, dtype=torch.float32).unsqueeze(1) / 16.0
    y = torch.tensor(d.target)
    trainloader = DataLoader(TensorDataset(x[:1400], y[:1400]), batch_size=64, shuffle=True)
    testloader = DataLoader(TensorDataset(x[1400:], y[1400:]), batch_size=64)
    net = nn.Sequential(nn.Conv2d(1, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                        nn.Dropout(0.1), nn.Linear(144, 10))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[3, 5], gamma=0.1)
    for epoch in range(6):
        net.train()
        for inputs, targets in trainloader:
            inputs, a, b, lam = mixup_data(inputs, targets)
            outputs = net(inputs)
            loss = lam * F.cross_entropy(outputs, a) + (1 - lam) * F.cross_entropy(outputs, b)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()
        net.eval()
        correct = 0
        with torch.no_grad():
            for inputs, targets in testloader:
                correct += net(inputs).max(1)[1].eq(targets).sum().item()
        print(f"Epoch {epoch}: acc {100.0 * correct / len(testloader.dataset):.2f}")


if __name__ == "__main__":
    main()
