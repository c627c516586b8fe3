import torch
from torch.distributions import Categorical

torch.manual_seed(0)


class Policy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = torch.nn.Linear(4, 32)
        self.dropout = torch.nn.Dropout(p=0.1)
        self.action_head = torch.nn.Linear(32, 3)
        self.value_head = torch.nn.Linear(32, 1)
        self.saved = []
        self.rewards = []

    def forward(self, x):
        x = torch.relu(self.dropout(self.affine1(x)))
        return torch.softmax(self.action_head(x), dim=-1), self.value_head(x)


policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
target = torch.randn(4, 3)
eps = 1e-6


def finish_episode():
    R, returns = 0, []
    for r in policy.rewards[::-1]:
        R = r + 0.5 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    policy_losses, value_losses = [], []
    for (log_prob, value), ret in zip(policy.saved, returns):
        policy_losses.append(-log_prob * (ret - value.item()))
        value_losses.append(torch.nn.functional.smooth_l1_loss(value.squeeze(), ret))
    optimizer.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
    loss.backward()
    optimizer.step()
    del policy.rewards[:], policy.saved[:]


running = 0.0
for episode in range(60):
    for t in range(15):
        state = torch.randn(4)
        probs, value = policy(state)
        m = Categorical(probs)
        action = m.sample()
        policy.saved.append((m.log_prob(action), value))
        policy.rewards.append(float(action.item() == (state @ target).argmax().item()))
    running = 0.9 * running + 0.1 * sum(policy.rewards)
    finish_episode()
    if episode % 20 == 0:
        print(f"Episode {episode}\tAverage reward: {running:.2f}")
