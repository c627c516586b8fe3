# RUN322: validation with dropout, without a loader. Mended: graph_nodes
"""Two-layer graph convolution on a made-up citation graph, full batch."""
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(4)
N, C = 300, 3
labels = torch.randint(C, (N,))
same = labels[:, None] == labels[None]
A = (torch.rand(N, N) < torch.where(same, 0.05, 0.008)).float()
A = ((A + A.t() + torch.eye(N)) > 0).float()
A_hat = A / A.sum(1).sqrt()[:, None] / A.sum(1).sqrt()[None]
X = torch.randn(N, 20) + F.one_hot(labels, 20).float()
train_mask, val_mask = torch.zeros(N, dtype=torch.bool), torch.zeros(N, dtype=torch.bool)
train_mask[:120], val_mask[120:200] = True, True


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1 = nn.Linear(20, 32)
        self.w2 = nn.Linear(32, C)
        self.dropout = nn.Dropout(0.4)

    def forward(self, x, adj):
        h = self.dropout(F.relu(adj @ self.w1(x)))
        return F.log_softmax(adj @ self.w2(h), dim=1)


model = GCN()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02, weight_decay=5e-4)


def train():
    model.train()
    optimizer.zero_grad()
    out = model(X, A_hat)
    loss = F.nll_loss(out[train_mask], labels[train_mask])
    loss.backward()
    optimizer.step()
    return loss.item()


@torch.no_grad()
def test():
    out = model(X, A_hat)
    val_loss = F.nll_loss(out[val_mask], labels[val_mask])
    acc = (out[val_mask].argmax(1) == labels[val_mask]).float().mean()
    return val_loss.item(), acc.item()


for epoch in range(80):
    loss = train()
    val_loss, acc = test()
    if epoch % 20 == 0:
        print(f"Epoch {epoch:03d} loss {loss:.4f} val {val_loss:.4f} acc {acc:.3f}")
torch.save(model.state_dict(), "gcn.pt")
