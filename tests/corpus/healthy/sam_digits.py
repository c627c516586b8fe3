import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits


class SAM(torch.optim.Optimizer):
    """Sharpness-aware minimisation around a base optimizer."""

    def __init__(self, params, base_optimizer, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    @torch.no_grad()
    def first_step(self):
        norm = torch.norm(torch.stack([p.grad.norm() for g in self.param_groups for p in g["params"]]))
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["old"] = p.clone()
                p.add_(p.grad, alpha=group["rho"] / (norm.item() + 1e-12))
        self.zero_grad()

    @torch.no_grad()
    def second_step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.copy_(self.state[p]["old"])
        self.base_optimizer.step()
        self.zero_grad()


torch.manual_seed(1)
bunch = load_digits()
x, y = torch.tensor(bunch.data, dtype=torch.float32) / 16, torch.tensor(bunch.target)
net = torch.nn.Sequential(torch.nn.Linear(64, 48), torch.nn.ReLU(), torch.nn.Linear(48, 10))
sam = SAM(net.parameters(), torch.optim.SGD, lr=0.1, momentum=0.9)
for epoch in range(5):
    for idx in torch.randperm(1400).split(64):
        F.cross_entropy(net(x[idx]), y[idx], label_smoothing=0.1).backward()
        sam.first_step()
        loss = F.cross_entropy(net(x[idx]), y[idx], label_smoothing=0.1)
        loss.backward()
        sam.second_step()
    with torch.no_grad():
        print(epoch, round(loss.item(), 4), (net(x[1400:]).argmax(1) == y[1400:]).float().mean().item())
torch.save(net.state_dict(), "sam.pt")
