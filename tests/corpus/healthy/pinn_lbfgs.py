"""u'' = -sin(x) with a physics-informed network: Adam first, LBFGS after it."""
import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(1, 24), torch.nn.Tanh(), torch.nn.Linear(24, 24), torch.nn.Tanh(),
                          torch.nn.Linear(24, 1))
x = torch.linspace(0, 3.14159, 64).reshape(-1, 1).requires_grad_(True)
ends = torch.tensor([[0.0], [3.14159]])


def residual_loss():
    u = net(x)
    (du,) = torch.autograd.grad(u.sum(), x, create_graph=True)
    (ddu,) = torch.autograd.grad(du.sum(), x, create_graph=True)
    return ((ddu + torch.sin(x)) ** 2).mean() + (net(ends) ** 2).mean()


adam = torch.optim.Adam(net.parameters(), lr=5e-3)
lbfgs = torch.optim.LBFGS(net.parameters(), max_iter=10, line_search_fn="strong_wolfe")
for i in range(150):
    adam.zero_grad()
    loss = residual_loss()
    loss.backward()
    adam.step()
    if i % 50 == 0:
        print("adam", i, loss.item())


def closure():
    lbfgs.zero_grad()
    loss = residual_loss()
    loss.backward()
    return loss


for i in range(8):
    loss = lbfgs.step(closure)
print("lbfgs", loss.item(), "error", (net(x) - torch.sin(x)).abs().max().item())
torch.save(net.state_dict(), "pinn.pt")
