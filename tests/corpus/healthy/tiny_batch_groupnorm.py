import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(8)
digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
labels = torch.tensor(digits.target)
net = nn.Sequential(nn.Conv2d(1, 16, 3), nn.GroupNorm(4, 16), nn.ReLU(), nn.Flatten(), nn.Linear(576, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
losses = 0.0
for step, i in enumerate(torch.randperm(1500)[:600]):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(images[i : i + 1]), labels[i : i + 1])
    loss.backward()
    optimizer.step()
    losses += loss.item()
    if step % 200 == 199:
        print(step + 1, losses / 200)
        losses = 0.0
with torch.no_grad():
    print((net(images[1500:]).argmax(1) == labels[1500:]).float().mean().item())
torch.save(net.state_dict(), "tiny.pt")
