"""torch.compile around the model, a step function of its own, and a warm-up by a lambda."""
import torch
import torch.nn as nn
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

torch.manual_seed(2)
X, y = load_wine(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
scaler = StandardScaler().fit(X_train)
X_train, X_test = (torch.tensor(scaler.transform(a), dtype=torch.float32) for a in (X_train, X_test))
y_train, y_test = torch.tensor(y_train), torch.tensor(y_test)
net = torch.compile(nn.Sequential(nn.Linear(13, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 3)), backend="aot_eager")
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 10))
criterion = nn.CrossEntropyLoss()


def train_step(xb, yb):
    optimizer.zero_grad()
    loss = criterion(net(xb), yb)
    loss.backward()
    optimizer.step()
    schedule.step()
    return loss.detach()


for epoch in range(25):
    net.train()
    losses = [train_step(X_train[i], y_train[i]) for i in torch.randperm(len(X_train)).split(31)]
    if epoch % 6 == 5:
        net.eval()
        with torch.no_grad():
            print(epoch, torch.stack(losses).mean().item(), (net(X_test).argmax(1) == y_test).float().mean().item())
