# RUN322: evaluation by IoU alone, in train mode. Mended: unet_blobs
"""Segmentation of discs and squares, a small U-Net with augmentation."""
import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

random.seed(0), np.random.seed(0), torch.manual_seed(0)


class Blobs(Dataset):
    def __init__(self, num, seed, augment=False):
        rng = np.random.default_rng(seed)
        self.augment = augment
        self.images = np.zeros((num, 1, 24, 24), np.float32)
        self.masks = np.zeros((num, 24, 24), np.int64)
        yy, xx = np.mgrid[:24, :24]
        for i in range(num):
            for kind in (1, 2):
                cy, cx, r = rng.integers(5, 19), rng.integers(5, 19), rng.integers(2, 5)
                inside = ((yy - cy) ** 2 + (xx - cx) ** 2 < r * r) if kind == 1 else (
                    (abs(yy - cy) < r) & (abs(xx - cx) < r))
                self.masks[i][inside] = kind
            self.images[i, 0] = self.masks[i] * 0.5 + rng.normal(0, 0.2, (24, 24))
        self.images -= 0.1

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image, mask = self.images[i], self.masks[i]
        if self.augment:
            if random.random() < 0.5:
                image, mask = image[:, :, ::-1].copy(), mask[:, ::-1].copy()
            image = image + np.random.normal(0, 0.05, image.shape).astype(np.float32)
        return {"image": torch.from_numpy(image), "mask": torch.from_numpy(mask)}


def double_conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True),
                         nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, n_classes=3):
        super().__init__()
        self.down1, self.down2 = double_conv(1, 8), double_conv(8, 16)
        self.pool = nn.MaxPool2d(2)
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.conv = double_conv(16, 8)
        self.outc = nn.Conv2d(8, n_classes, 1)

    def forward(self, x):
        x1 = self.down1(x)
        x2 = self.down2(self.pool(x1))
        return self.outc(self.conv(torch.cat([self.up(x2), x1], dim=1)))


def evaluate(net, loader):
    inter, union = torch.zeros(3), torch.zeros(3)
    with torch.inference_mode():
        for batch in loader:
            pred = net(batch["image"]).argmax(dim=1)
            for c in range(3):
                inter[c] += ((pred == c) & (batch["mask"] == c)).sum()
                union[c] += ((pred == c) | (batch["mask"] == c)).sum()
    net.train()
    return (inter / union.clamp(min=1)).mean().item()


train_set, val_set = Blobs(160, seed=1, augment=True), Blobs(48, seed=2)
train_loader = DataLoader(train_set, batch_size=16, shuffle=True, drop_last=True)
val_loader = DataLoader(val_set, batch_size=20)
net = UNet()
optimizer = torch.optim.RMSprop(net.parameters(), lr=2e-3, weight_decay=1e-8, momentum=0.9)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, "max", patience=2)
criterion = nn.CrossEntropyLoss()
for epoch in range(6):
    net.train()
    for batch in train_loader:
        masks_pred = net(batch["image"])
        loss = criterion(masks_pred, batch["mask"])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
    val_iou = evaluate(net, val_loader)
    scheduler.step(val_iou)
    print(f"epoch {epoch} loss {loss.item():.3f} mIoU {val_iou:.3f}")
torch.save(net.state_dict(), "unet.pth")
