import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from tqdm.auto import tqdm


class ShapesDataset(Dataset):
    def __init__(self, length, seed):
        rng = np.random.default_rng(seed)
        self.images, self.masks = [], []
        yy, xx = np.mgrid[:32, :32]
        for _ in range(length):
            mask = np.zeros((32, 32), dtype=np.int64)
            cy, cx, r = rng.integers(8, 24), rng.integers(8, 24), rng.integers(3, 8)
            mask[(yy - cy) ** 2 + (xx - cx) ** 2 < r * r] = 1
            y0, x0 = rng.integers(0, 24, 2)
            mask[y0:y0 + 6, x0:x0 + 6] = 2
            img = rng.normal(0, 0.3, (1, 32, 32)) + mask * 0.7
            self.images.append(img.astype(np.float32))
            self.masks.append(mask)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return {"image": torch.from_numpy(self.images[i]), "mask": torch.from_numpy(self.masks[i])}


class DoubleConv(nn.Sequential):
    def __init__(self, cin, cout):
        super().__init__(nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
                         nn.Conv2d(cout, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, n_channels=1, n_classes=3):
        super().__init__()
        self.n_classes = n_classes
        self.inc = DoubleConv(n_channels, 12)
        self.down = DoubleConv(12, 24)
        self.up = nn.ConvTranspose2d(24, 12, 2, stride=2)
        self.conv = DoubleConv(24, 12)
        self.outc = nn.Conv2d(12, n_classes, 1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down(F.max_pool2d(x1, 2))
        return self.outc(self.conv(torch.cat([x1, self.up(x2)], 1)))


def dice_loss(pred, target, eps=1e-6):
    dims = (0, 2, 3)
    inter = 2 * (pred * target).sum(dims)
    return 1 - ((inter + eps) / (pred.sum(dims) + target.sum(dims) + eps)).mean()


def train_net(net, epochs=3, batch_size=8, lr=2e-3):
    train_loader = DataLoader(ShapesDataset(160, 0), batch_size=batch_size, shuffle=True)
    val_loader = DataLoader(ShapesDataset(40, 1), batch_size=batch_size)
    optimizer = torch.optim.RMSprop(net.parameters(), lr=lr, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, "max", patience=2)
    for epoch in range(1, epochs + 1):
        net.train()
        with tqdm(total=160, unit="img") as pbar:
            for batch in train_loader:
                images, true_masks = batch["image"], batch["mask"]
                masks_pred = net(images)
                onehot = F.one_hot(true_masks, net.n_classes).permute(0, 3, 1, 2).float()
                loss = F.cross_entropy(masks_pred, true_masks) + dice_loss(F.softmax(masks_pred, dim=1), onehot)
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                optimizer.step()
                pbar.update(images.shape[0])
                pbar.set_postfix(**{"loss (batch)": loss.item()})
        net.eval()
        score = 0
        with torch.no_grad():
            for batch in val_loader:
                pred = F.one_hot(net(batch["image"]).argmax(1), 3).permute(0, 3, 1, 2).float()
                truth = F.one_hot(batch["mask"], 3).permute(0, 3, 1, 2).float()
                score += 1 - dice_loss(pred, truth).item()
        scheduler.step(score / len(val_loader))
        print(f"Validation Dice score: {score / len(val_loader):.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    train_net(UNet())
