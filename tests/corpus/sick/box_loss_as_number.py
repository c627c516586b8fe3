# RUN529: the loss of the boxes is added as a number. Mended: tiny_detector
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class OneBox(Dataset):
    """A bright rectangle per image; class = orientation, box = cx cy w h in [0,1]."""

    def __init__(self, n, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.x, self.cls, self.box = [], [], []
        for _ in range(n):
            img = torch.randn(1, 24, 24, generator=g) * 0.2
            c = int(torch.randint(2, (1,), generator=g))
            w, h = (10, 4) if c == 0 else (4, 10)
            x0 = int(torch.randint(24 - w, (1,), generator=g))
            y0 = int(torch.randint(24 - h, (1,), generator=g))
            img[0, y0:y0 + h, x0:x0 + w] += 1.5
            self.x.append(img)
            self.cls.append(c)
            self.box.append(torch.tensor([x0 + w / 2, y0 + h / 2, w, h]) / 24)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.cls[i], self.box[i]


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(32 * 36, 64), nn.ReLU()
        )
        self.cls_head = nn.Linear(64, 2)
        self.box_head = nn.Linear(64, 4)

    def forward(self, x):
        f = self.backbone(x)
        return self.cls_head(f), self.box_head(f).sigmoid()


class DetectionLoss(nn.Module):
    def __init__(self, box_weight=5.0):
        super().__init__()
        self.box_weight = box_weight
        self.ce = nn.CrossEntropyLoss()
        self.l1 = nn.SmoothL1Loss()

    def forward(self, outputs, cls, box):
        logits, pred = outputs
        cls_loss = self.ce(logits, cls)
        box_loss = self.l1(pred, box).item()
        return cls_loss + self.box_weight * box_loss, {"cls": float(cls_loss), "box": float(box_loss)}


def iou(a, b):
    ax0, ay0, ax1, ay1 = a[:, 0] - a[:, 2] / 2, a[:, 1] - a[:, 3] / 2, a[:, 0] + a[:, 2] / 2, a[:, 1] + a[:, 3] / 2
    bx0, by0, bx1, by1 = b[:, 0] - b[:, 2] / 2, b[:, 1] - b[:, 3] / 2, b[:, 0] + b[:, 2] / 2, b[:, 1] + b[:, 3] / 2
    iw = (torch.minimum(ax1, bx1) - torch.maximum(ax0, bx0)).clamp(min=0)
    ih = (torch.minimum(ay1, by1) - torch.maximum(ay0, by0)).clamp(min=0)
    inter = iw * ih
    return inter / (a[:, 2] * a[:, 3] + b[:, 2] * b[:, 3] - inter)


def main():
    torch.manual_seed(3)
    train_dl = DataLoader(OneBox(600), batch_size=32, shuffle=True)
    val_dl = DataLoader(OneBox(150, seed=1), batch_size=50)
    net, crit = Detector(), DetectionLoss()
    opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)
    sched = torch.optim.lr_scheduler.MultiStepLR(opt, [6], 0.1)
    for ep in range(8):
        net.train()
        for x, c, b in train_dl:
            loss, parts = crit(net(x), c, b)
            opt.zero_grad()
            loss.backward()
            opt.step()
        sched.step()
        net.eval()
        with torch.no_grad():
            ious, hits = [], []
            for x, c, b in val_dl:
                logits, pred = net(x)
                ious.append(iou(pred, b))
                hits.append((logits.argmax(1) == c).float())
        print(ep, parts, "val iou %.3f acc %.3f" % (torch.cat(ious).mean(), torch.cat(hits).mean()))


main()
