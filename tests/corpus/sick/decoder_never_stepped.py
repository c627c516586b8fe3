# RUN332: one of two optimizers never steps. Mended: teacher_forcing_gru
"""Sequence to sequence with GRUs, token by token, with teacher forcing half of the time; padding is masked by hand."""
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

PAD, BOS, EOS, VOCAB = 0, 1, 2, 14
torch.manual_seed(4)
random.seed(4)


def batch(n):
    pairs = [[random.randint(3, VOCAB - 1) for _ in range(random.randint(2, 6))] for _ in range(n)]
    width = max(map(len, pairs)) + 1
    src = torch.tensor([p + [EOS] + [PAD] * (width - len(p) - 1) for p in pairs])
    tgt = torch.tensor([sorted(p) + [EOS] + [PAD] * (width - len(p) - 1) for p in pairs])
    return src, tgt


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.gru = nn.Embedding(VOCAB, 24, padding_idx=PAD), nn.GRU(24, 48, batch_first=True)

    def forward(self, src):
        return self.gru(self.emb(src))[1]


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.gru = nn.Embedding(VOCAB, 24, padding_idx=PAD), nn.GRU(24, 48, batch_first=True)
        self.out = nn.Linear(48, VOCAB)

    def forward(self, token, hidden):
        answer, hidden = self.gru(self.emb(token), hidden)
        return self.out(answer[:, 0]), hidden


encoder, decoder = Encoder(), Decoder()
optimizers = [torch.optim.Adam(m.parameters(), lr=4e-3) for m in (encoder, decoder)]
for step in range(150):
    src, tgt = batch(32)
    hidden = encoder(src)
    token = torch.full((len(src), 1), BOS)
    forced = random.random() < 0.5
    loss, count = 0.0, 0
    for t in range(tgt.size(1)):
        logits, hidden = decoder(token, hidden)
        mask = tgt[:, t] != PAD
        loss = loss + F.cross_entropy(logits[mask], tgt[mask, t], reduction="sum")
        count += int(mask.sum())
        token = tgt[:, t : t + 1] if forced else logits.argmax(1, keepdim=True).detach()
    for optimizer in optimizers:
        optimizer.zero_grad()
    (loss / count).backward()
    optimizers[0].step()
    if step % 50 == 49:
        print(step, round(loss.item() / count, 3))
