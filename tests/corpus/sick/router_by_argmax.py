# RUN306: the router's choice carries no gradient. Mended: moe_table
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import make_classification

torch.manual_seed(5)
X, y = make_classification(1400, 16, n_informative=10, n_classes=4, n_clusters_per_class=2, random_state=5)
X, y = torch.tensor(X, dtype=torch.float32), torch.tensor(y)
train_x, train_y, dev_x, dev_y = X[:1100], y[:1100], X[1100:], y[1100:]


class Expert(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.w1, self.w2 = nn.Linear(d, h), nn.Linear(h, d)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)))


class SparseMoE(nn.Module):
    def __init__(self, d, num_experts=4, top_k=2):
        super().__init__()
        self.router = nn.Linear(d, num_experts)
        self.experts = nn.ModuleList([Expert(d, 2 * d) for _ in range(num_experts)])
        self.top_k = top_k

    def forward(self, x):
        probs = self.router(x).softmax(dim=-1)
        weight, index = probs.topk(self.top_k, dim=-1)
        weight = torch.full_like(weight, 0.5)
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            row, slot = torch.where(index == e)
            if len(row):
                out = out.index_add(0, row, weight[row, slot, None] * expert(x[row]))
        load = F.one_hot(index, len(self.experts)).float().sum(1).mean(0)
        self.aux_loss = len(self.experts) * (load * probs.mean(0)).sum()
        return out


class Model(nn.Module):
    def __init__(self, d_in=16, d=32, layers=2):
        super().__init__()
        self.inp = nn.Linear(d_in, d)
        self.layers = nn.ModuleList([SparseMoE(d) for _ in range(layers)])
        self.norms = nn.ModuleList([nn.LayerNorm(d) for _ in range(layers)])
        self.out = nn.Linear(d, 4)

    def forward(self, x):
        x = self.inp(x)
        for norm, layer in zip(self.norms, self.layers):
            x = x + layer(norm(x))
        return self.out(x), sum(layer.aux_loss for layer in self.layers)


model = Model()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
for epoch in range(6):
    model.train()
    for idx in torch.randperm(len(train_x)).split(50):
        logits, aux = model(train_x[idx])
        loss = F.cross_entropy(logits, train_y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        logits, _ = model(dev_x)
        acc = (logits.argmax(-1) == dev_y).float().mean()
    print(f"epoch {epoch}: loss {loss.item():.4f} dev acc {acc:.4f}")
torch.save(model.state_dict(), "moe.pt")
