import math
import random
import time

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

SOS, EOS, PAD = 1, 2, 0
N_TOK = 20


def make_pairs(n, seed=0):
    """reverse the digits: source 'a b c', target 'c b a'"""
    rng = random.Random(seed)
    src, trg = [], []
    for _ in range(n):
        s = [rng.randint(3, N_TOK - 1) for _ in range(6)]
        src.append(s)
        trg.append([SOS] + s[::-1] + [EOS])
    return torch.tensor(src), torch.tensor(trg)


class Encoder(nn.Module):
    def __init__(self, input_dim, emb_dim, hid_dim):
        super().__init__()
        self.embedding = nn.Embedding(input_dim, emb_dim)
        self.rnn = nn.GRU(emb_dim, hid_dim, batch_first=True)

    def forward(self, src):
        _, hidden = self.rnn(self.embedding(src))
        return hidden


class Decoder(nn.Module):
    def __init__(self, output_dim, emb_dim, hid_dim):
        super().__init__()
        self.embedding = nn.Embedding(output_dim, emb_dim)
        self.rnn = nn.GRU(emb_dim, hid_dim, batch_first=True)
        self.out = nn.Linear(hid_dim, output_dim)

    def forward(self, inputs, hidden):
        output, hidden = self.rnn(self.embedding(inputs), hidden)
        return self.out(output), hidden


class Seq2Seq(nn.Module):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def forward(self, src, decoder_in):
        hidden = self.encoder(src)
        logits, _ = self.decoder(decoder_in, hidden)
        return logits

    @torch.no_grad()
    def greedy(self, src, max_len=7):
        hidden = self.encoder(src)
        token = torch.full((len(src), 1), SOS)
        out = []
        for _ in range(max_len):
            logits, hidden = self.decoder(token, hidden)
            token = logits.argmax(-1)
            out.append(token)
        return torch.cat(out, 1)


def train_epoch(model, loader, optimizer, criterion, clip):
    model.train()
    epoch_loss = 0
    for src, trg in loader:
        optimizer.zero_grad()
        output = model(src, trg[:, :-1])
        loss = criterion(output.reshape(-1, output.shape[-1]), trg[:, 1:].reshape(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        epoch_loss += loss.item()
    return epoch_loss / len(loader)


def main():
    torch.manual_seed(0)
    src, trg = make_pairs(1500)
    val_src, val_trg = make_pairs(200, seed=9)
    loader = DataLoader(TensorDataset(src, trg), batch_size=50, shuffle=True)
    model = Seq2Seq(Encoder(N_TOK, 32, 96), Decoder(N_TOK, 32, 96))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    for epoch in range(10):
        start = time.time()
        loss = train_epoch(model, loader, optimizer, criterion, 1.0)
        model.eval()
        hit = (model.greedy(val_src) == val_trg[:, 1:]).float().mean().item()
        print(f"Epoch {epoch + 1} | loss {loss:.3f} | ppl {math.exp(loss):.2f} | token acc {hit:.3f} | {time.time() - start:.1f}s")


if __name__ == "__main__":
    main()
