"""Sentiment on synthetic reviews with an LSTM."""
import random

import torch
from torch import nn, optim
from torch.nn.utils.rnn import pad_sequence, pack_padded_sequence
from torch.utils.data import DataLoader, Dataset

GOOD = ["great", "good", "lovely", "superb", "fun"]
BAD = ["awful", "bad", "boring", "poor", "dull"]
FILL = ["the", "film", "was", "and", "a", "plot", "actor", "scene", "very", "it", "had", "with", "this"]
VOCAB = {w: i + 1 for i, w in enumerate(GOOD + BAD + FILL)}
PAD = 0


class Reviews(Dataset):
    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.items = []
        for _ in range(n):
            label = rng.randint(0, 1)
            words = [rng.choice(FILL) for _ in range(rng.randint(4, 40))]
            for _ in range(2):
                words.insert(rng.randint(0, len(words)), rng.choice(GOOD if label else BAD))
            self.items.append((torch.tensor([VOCAB[w] for w in words]), label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, idx):
        return self.items[idx]


def collate(batch):
    texts, labels = zip(*batch)
    lengths = torch.tensor([len(t) for t in texts])
    return pad_sequence(texts, batch_first=True, padding_value=PAD), lengths, torch.tensor(labels, dtype=torch.float)


class SentimentLSTM(nn.Module):
    def __init__(self, vocab_size, emb=32, hidden=48):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, emb, padding_idx=PAD)
        self.lstm = nn.LSTM(emb, hidden, batch_first=True)
        self.dropout = nn.Dropout(0.2)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, text, lengths):
        embedded = self.dropout(self.embedding(text))
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        output, (hidden, cell) = self.lstm(packed)
        last = hidden[-1]
        return self.fc(self.dropout(last)).squeeze(1)


def binary_accuracy(preds, y):
    return ((torch.sigmoid(preds) > 0.5).float() == y).float().mean()


def run_epoch(model, iterator, criterion, optimizer=None):
    model.train(optimizer is not None)
    total_loss = total_acc = 0.0
    with torch.set_grad_enabled(optimizer is not None):
        for text, lengths, labels in iterator:
            predictions = model(text, lengths)
            loss = criterion(predictions, labels)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
            total_loss += loss.item()
            total_acc += binary_accuracy(predictions, labels).item()
    return total_loss / len(iterator), total_acc / len(iterator)


torch.manual_seed(42)
train_iterator = DataLoader(Reviews(1500, 1), batch_size=64, shuffle=True, collate_fn=collate)
valid_iterator = DataLoader(Reviews(300, 2), batch_size=64, collate_fn=collate)
model = SentimentLSTM(len(VOCAB) + 1)
optimizer = optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(6):
    train_loss, train_acc = run_epoch(model, train_iterator, criterion, optimizer)
    valid_loss, valid_acc = run_epoch(model, valid_iterator, criterion)
    print(f"Epoch {epoch + 1:02} | train {train_loss:.3f} {train_acc:.3f} | val {valid_loss:.3f} {valid_acc:.3f}")
