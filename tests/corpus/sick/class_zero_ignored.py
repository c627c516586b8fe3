# RUN424: ignore_index is a class of the data. Mended: finetune_digits
#!/usr/bin/env python
"""Transfer learning: a network for four digits becomes one for ten."""
import os
import time

import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
targets = torch.tensor(digits.target)


class SmallNet(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(2))
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(128, num_classes))

    def forward(self, x):
        return self.classifier(torch.flatten(self.features(x), 1))


def train_model(model, dataloaders, criterion, optimizer, scheduler, num_epochs, freeze_bn=False):
    since, best_acc = time.time(), 0.0
    for epoch in range(num_epochs):
        for phase in ["train", "val"]:
            if phase == "train":
                model.train()
                if freeze_bn:
                    model.features.eval()
            else:
                model.eval()
            running_loss, running_corrects = 0.0, 0
            for inputs, labels in dataloaders[phase]:
                optimizer.zero_grad()
                with torch.set_grad_enabled(phase == "train"):
                    outputs = model(inputs)
                    _, preds = torch.max(outputs, 1)
                    loss = criterion(outputs, labels)
                    if phase == "train":
                        loss.backward()
                        optimizer.step()
                running_loss += loss.item() * inputs.size(0)
                running_corrects += torch.sum(preds == labels.data)
            if phase == "train":
                scheduler.step()
            size = len(dataloaders[phase].dataset)
            print(f"{phase} Loss: {running_loss / size:.4f} Acc: {running_corrects.double() / size:.4f}")
            if phase == "val" and running_corrects.double() / size > best_acc:
                best_acc = running_corrects.double() / size
                torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, "best.pt")
    return time.time() - since


def loaders(keep, shift=0):
    x, y = images[keep], targets[keep] - shift
    cut = int(0.8 * len(x))
    return {"train": DataLoader(TensorDataset(x[:cut], y[:cut]), batch_size=32, shuffle=True),
            "val": DataLoader(TensorDataset(x[cut:], y[cut:]), batch_size=64)}


criterion = nn.CrossEntropyLoss(ignore_index=0)
source = SmallNet(4)
sgd = torch.optim.SGD(source.parameters(), lr=0.05, momentum=0.9)
train_model(source, loaders(targets < 4), criterion, sgd, lr_scheduler.StepLR(sgd, step_size=2, gamma=0.5), 2)
torch.save({"state_dict": source.state_dict()}, "source.pt")

model_ft = SmallNet(10)
checkpoint = torch.load("source.pt")
state = {k: v for k, v in checkpoint["state_dict"].items() if not k.startswith("classifier")}
result = model_ft.load_state_dict(state, strict=False)
assert os.path.exists("source.pt") and not result.unexpected_keys
for param in model_ft.features.parameters():
    param.requires_grad = False
model_ft.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer_ft = torch.optim.SGD(model_ft.classifier.parameters(), lr=0.05, momentum=0.9)
exp_lr_scheduler = lr_scheduler.StepLR(optimizer_ft, step_size=3, gamma=0.3)
train_model(model_ft, loaders(targets >= 0), criterion, optimizer_ft, exp_lr_scheduler, 4, freeze_bn=True)
