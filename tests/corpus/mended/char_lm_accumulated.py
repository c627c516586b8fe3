import argparse
import math
import os

import torch
import torch.nn as nn
from torch.nn import functional as F

TEXT = ("in the beginning there was a small model and the small model read the text again and again "
        "until it could say what came next and then it read some more of the same old story ") * 60


class Block(nn.Module):
    def __init__(self, n_embd, n_head, dropout):
        super().__init__()
        self.ln1 = nn.LayerNorm(n_embd)
        self.attn = nn.MultiheadAttention(n_embd, n_head, dropout=dropout, batch_first=True)
        self.ln2 = nn.LayerNorm(n_embd)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd), nn.Dropout(dropout))

    def forward(self, x):
        t = x.size(1)
        mask = torch.triu(torch.ones(t, t, dtype=torch.bool), diagonal=1)
        h = self.ln1(x)
        a, _ = self.attn(h, h, h, attn_mask=mask, need_weights=False)
        x = x + a
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, vocab, block, n_embd=64, n_head=4, n_layer=2, dropout=0.1):
        super().__init__()
        self.tok = nn.Embedding(vocab, n_embd)
        self.pos = nn.Embedding(block, n_embd)
        self.blocks = nn.Sequential(*[Block(n_embd, n_head, dropout) for _ in range(n_layer)])
        self.ln_f = nn.LayerNorm(n_embd)
        self.head = nn.Linear(n_embd, vocab, bias=False)

    def forward(self, idx, targets=None):
        x = self.tok(idx) + self.pos(torch.arange(idx.size(1)))
        logits = self.head(self.ln_f(self.blocks(x)))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
        return logits, loss


def get_batch(data, block, batch):
    ix = torch.randint(len(data) - block - 1, (batch,))
    x = torch.stack([data[i:i + block] for i in ix])
    y = torch.stack([data[i + 1:i + 1 + block] for i in ix])
    return x, y


def get_lr(it, args):
    if it < args.warmup:
        return args.lr * (it + 1) / args.warmup
    ratio = (it - args.warmup) / max(1, args.max_iters - args.warmup)
    return args.lr * (0.1 + 0.45 * (1 + math.cos(math.pi * ratio)))


@torch.no_grad()
def estimate_loss(model, data, args):
    model.eval()
    out = torch.stack([model(*get_batch(data, args.block, args.batch))[1] for _ in range(5)]).mean()
    model.train()
    return out.item()


p = argparse.ArgumentParser()
p.add_argument("--block", type=int, default=32)
p.add_argument("--batch", type=int, default=8)
p.add_argument("--lr", type=float, default=2e-3)
p.add_argument("--warmup", type=int, default=10)
p.add_argument("--max-iters", type=int, default=80)
p.add_argument("--grad-accum", type=int, default=4)
args = p.parse_args()
torch.manual_seed(1337)
chars = sorted(set(TEXT))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in TEXT])
split = int(0.9 * len(data))
train_data, val_data = data[:split], data[split:]
model = GPT(len(chars), args.block)
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.1)
for it in range(args.max_iters):
    for group in optimizer.param_groups:
        group["lr"] = get_lr(it, args)
    if it % 20 == 0:
        print(f"iter {it}: val loss {estimate_loss(model, val_data, args):.4f}")
    optimizer.zero_grad(set_to_none=True)
    for micro in range(args.grad_accum):
        xb, yb = get_batch(train_data, args.block, args.batch)
        _, loss = model(xb, yb)
        (loss / args.grad_accum).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
print("final", estimate_loss(model, val_data, args))
