# RUN419: a ReLU after the last convolution. Mended: dice_segmentation
"""Segmentation with Dice and cross-entropy written by hand, class weights, and a metric per class."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(12)


def scenes(n):
    x, y = torch.randn(n, 1, 16, 16) * 0.2, torch.zeros(n, 16, 16, dtype=torch.long)
    for i in range(n):
        r, c = torch.randint(1, 8, (2,)).tolist()
        k = int(torch.randint(1, 3, (1,)))
        x[i, 0, r : r + 6, c : c + 6] += 1.0 if k == 1 else -1.0
        y[i, r : r + 6, c : c + 6] = k
    return TensorDataset(x, y)


def dice_loss(logits, target, eps=1.0):
    p = logits.softmax(1)
    t = nn.functional.one_hot(target, logits.shape[1]).permute(0, 3, 1, 2).float()
    inter, total = (p * t).sum((0, 2, 3)), (p + t).sum((0, 2, 3))
    return 1 - ((2 * inter + eps) / (total + eps)).mean()


train_set, val_set = random_split(scenes(300), [240, 60], torch.Generator().manual_seed(1))
train = DataLoader(train_set, batch_size=16, shuffle=True, drop_last=True)
val = DataLoader(val_set, batch_size=16)
net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.InstanceNorm2d(16, affine=True), nn.ReLU(),
                    nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 3, 1), nn.ReLU())
ce = nn.CrossEntropyLoss(weight=torch.tensor([0.5, 1.0, 1.0]))
optimizer = torch.optim.AdamW(net.parameters(), lr=5e-3)
for epoch in range(4):
    net.train()
    for xb, yb in train:
        out = net(xb)
        loss = 0.5 * ce(out, yb) + 0.5 * dice_loss(out, yb)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    net.eval()
    inter, union = torch.zeros(3), torch.zeros(3)
    with torch.no_grad():
        for xb, yb in val:
            pred = net(xb).argmax(1)
            for k in range(3):
                inter[k] += ((pred == k) & (yb == k)).sum()
                union[k] += ((pred == k) | (yb == k)).sum()
    print(epoch, round(loss.item(), 4), [round(v, 3) for v in (inter / union).tolist()])
