"""Advantage actor-critic on a small grid: one loss of policy, value and entropy; acting without gradients."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(5)
SIZE, GOAL = 4, 15
MOVES = [-SIZE, SIZE, -1, 1]


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(16, 32), nn.Tanh())
        self.policy, self.value = nn.Linear(32, 4), nn.Linear(32, 1)

    def forward(self, s):
        h = self.body(F.one_hot(s, 16).float())
        return self.policy(h), self.value(h).squeeze(-1)


def move(s, a):
    new = s + MOVES[a]
    if new < 0 or new > 15 or (a == 2 and s % SIZE == 0) or (a == 3 and s % SIZE == SIZE - 1):
        new = s
    return new, float(new == GOAL) - 0.02, new == GOAL


net = ActorCritic()
optimizer = torch.optim.RMSprop(net.parameters(), lr=3e-3)
lengths = []
for episode in range(120):
    s, states, actions, rewards, done = 0, [], [], [], False
    while not done and len(states) < 40:
        with torch.no_grad():
            logits, _ = net(torch.tensor(s))
        a = Categorical(logits=logits).sample().item()
        new, reward, done = move(s, a)
        states.append(s)
        actions.append(a)
        rewards.append(reward)
        s = new
    returns, total = [], 0.0
    for reward in reversed(rewards):
        total = reward + 0.97 * total
        returns.insert(0, total)
    returns = torch.tensor(returns)
    logits, values = net(torch.tensor(states))
    dist = Categorical(logits=logits)
    advantage = returns - values.detach()
    loss = -(dist.log_prob(torch.tensor(actions)) * advantage).mean() + 0.5 * F.smooth_l1_loss(values, returns)
    loss = loss - 0.01 * dist.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    optimizer.step()
    lengths.append(len(states))
print("steps to the goal", sum(lengths[:20]) / 20, sum(lengths[-20:]) / 20)
