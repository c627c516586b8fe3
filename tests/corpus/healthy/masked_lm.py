import torch
import torch.nn as nn

torch.manual_seed(0)
V, L, MASK, PAD = 30, 16, 1, 0
data = (torch.arange(L) * torch.randint(1, 4, (1200, 1)) + torch.randint(0, V, (1200, 1))) % (V - 2) + 2


class Bert(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.tok, self.pos = nn.Embedding(V, d, padding_idx=PAD), nn.Embedding(L, d)
        self.enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(d, 4, 64, 0.1, batch_first=True), 1)
        self.norm, self.decoder = nn.LayerNorm(d), nn.Linear(d, V)
        nn.init.normal_(self.tok.weight, 0, 0.02)
        self.decoder.weight = self.tok.weight

    def forward(self, x):
        return self.decoder(self.norm(self.enc(self.tok(x) + self.pos(torch.arange(L)))))


def mask_tokens(x):
    labels = x.clone()
    chosen = torch.rand(x.shape) < 0.15
    labels[~chosen] = -100
    return torch.where(chosen & (torch.rand(x.shape) < 0.8), torch.full_like(x, MASK), x), labels


model = Bert()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for epoch in range(5):
    model.train()
    for x in data[torch.randperm(1000)].split(50):
        inputs, labels = mask_tokens(x)
        loss = nn.functional.cross_entropy(model(inputs).transpose(1, 2), labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
    with torch.no_grad():
        inputs, labels = mask_tokens(data[1000:])
        val = nn.functional.cross_entropy(model(inputs).transpose(1, 2), labels)
    print(epoch, loss.item(), val.item())
torch.save(model.state_dict(), "bert.pt")
