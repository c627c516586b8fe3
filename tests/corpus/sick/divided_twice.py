# RUN525: the loss is divided here and by accelerator.backward. Mended: accelerate_accumulated
import argparse

import torch
import torch.nn as nn
from accelerate import Accelerator
from accelerate.utils import set_seed
from sklearn.datasets import make_classification
from torch.utils.data import DataLoader, TensorDataset


def get_dataloaders(batch_size):
    X, y = make_classification(n_samples=2000, n_features=20, n_informative=10, n_classes=4, random_state=0)
    X, y = torch.tensor(X, dtype=torch.float32), torch.tensor(y)
    return (DataLoader(TensorDataset(X[:1600], y[:1600]), shuffle=True, batch_size=batch_size),
            DataLoader(TensorDataset(X[1600:], y[1600:]), shuffle=False, batch_size=100))


def training_function(config, args):
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=args.gradient_accumulation_steps)
    set_seed(config["seed"])
    train_dataloader, eval_dataloader = get_dataloaders(config["batch_size"])
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"], momentum=0.9)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: max(0.0, 1 - s / 500))
    criterion = nn.CrossEntropyLoss()
    model, optimizer, train_dataloader, eval_dataloader, scheduler = accelerator.prepare(
        model, optimizer, train_dataloader, eval_dataloader, scheduler)
    for epoch in range(config["num_epochs"]):
        model.train()
        for step, (inputs, targets) in enumerate(train_dataloader):
            with accelerator.accumulate(model):
                loss = criterion(model(inputs), targets)
                loss = loss / args.gradient_accumulation_steps
                accelerator.backward(loss)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
        model.eval()
        correct = total = 0
        for inputs, targets in eval_dataloader:
            with torch.no_grad():
                predictions = model(inputs).argmax(dim=-1)
            predictions, references = accelerator.gather_for_metrics((predictions, targets))
            correct += (predictions == references).sum().item()
            total += len(references)
        accelerator.print(f"epoch {epoch}: accuracy {correct / total:.3f}")
    accelerator.end_training()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gradient_accumulation_steps", type=int, default=4)
    args = parser.parse_args()
    training_function({"lr": 0.05, "num_epochs": 5, "seed": 42, "batch_size": 16}, args)


if __name__ == "__main__":
    main()
