"""Matrix factorisation with sparse embeddings: one optimizer for the tables, one for the rest."""
import torch
from torch import nn

torch.manual_seed(0)
users, items, k = 200, 150, 8
true_u, true_i = torch.randn(users, k) / k**0.5, torch.randn(items, k)
pairs = torch.stack([torch.randint(users, (6000,)), torch.randint(items, (6000,))], 1)
ratings = (true_u[pairs[:, 0]] * true_i[pairs[:, 1]]).sum(1) + 0.1 * torch.randn(6000)


class Factors(nn.Module):
    def __init__(self):
        super().__init__()
        self.user, self.item = nn.Embedding(users, k, sparse=True), nn.Embedding(items, k, sparse=True)
        nn.init.normal_(self.user.weight, 0, 0.3)
        nn.init.normal_(self.item.weight, 0, 0.3)
        self.mlp = nn.Sequential(nn.Linear(2 * k, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, u, i):
        a, b = self.user(u), self.item(i)
        return (a * b).sum(1) + self.mlp(torch.cat([a, b], 1)).squeeze(1)


model = Factors()
opts = [torch.optim.SparseAdam([model.user.weight, model.item.weight], lr=0.03),
        torch.optim.Adam(model.mlp.parameters(), lr=1e-3)]
for epoch in range(4):
    for idx in torch.randperm(5000).split(100):
        loss = nn.functional.mse_loss(model(pairs[idx, 0], pairs[idx, 1]), ratings[idx])
        for o in opts:
            o.zero_grad()
        loss.backward()
        for o in opts:
            o.step()
    with torch.no_grad():
        print(epoch, loss.item(), nn.functional.mse_loss(model(pairs[5000:, 0], pairs[5000:, 1]), ratings[5000:]).item())
