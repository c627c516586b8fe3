"""A right training script, and changes of it: the executed examples of rules about source code."""

from __future__ import annotations

from torchstone.parts.source.read import Source, sketch

TRAINING = """
import torch
from torch import nn
from torch.utils.data import DataLoader
train_loader, val_loader = DataLoader(train_set, shuffle=True), DataLoader(val_set)
model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.1), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs * len(train_loader))
for epoch in range(epochs):
    model.train()
    total = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        for x, y in val_loader:
            total += nn.functional.mse_loss(model(x), y).item()
"""
ACCUMULATED = """
import torch
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=100)
for i, (x, y) in enumerate(loader):
    loss = torch.nn.functional.mse_loss(model(x), y) / 4
    loss.backward()
    if (i + 1) % 4 == 0 or i + 1 == len(loader):
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
"""
SCALED = """
import torch
model = torch.nn.Linear(4, 1).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda")
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = torch.nn.functional.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
"""
KERAS = """
import keras
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(3)])
model.compile("adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
"""
DISTRIBUTED = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
dist.init_process_group("gloo")
sampler = DistributedSampler(train_set)
train_loader = DataLoader(train_set, batch_size=32, sampler=sampler)
model = DDP(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(epochs):
    sampler.set_epoch(epoch)
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
"""


def changed(text: str, *pairs: tuple[str, str]) -> Source:
    """A text read with each first part replaced by the second; raises ValueError where a first part is not in it."""
    for old, new in pairs:
        if old not in text:
            raise ValueError(f"the sketch has no {old!r}")
        text = text.replace(old, new)
    return sketch(text)
