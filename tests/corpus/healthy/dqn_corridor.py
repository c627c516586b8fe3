"""Deep Q-learning in a corridor, with replay memory and a target network."""
import random
from collections import deque, namedtuple

import torch
import torch.nn as nn
import torch.optim as optim

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))
random.seed(0)
torch.manual_seed(0)
LENGTH = 8


class DQN(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Linear(LENGTH, 32)
        self.layer2 = nn.Linear(32, 2)

    def forward(self, x):
        return self.layer2(torch.relu(self.layer1(x)))


def encode(position):
    return torch.eye(LENGTH)[position].unsqueeze(0)


memory = deque([], maxlen=1000)
policy_net, target_net = DQN(), DQN()
target_net.load_state_dict(policy_net.state_dict())
optimizer = optim.AdamW(policy_net.parameters(), lr=3e-3, amsgrad=True)


def optimize_model():
    if len(memory) < 32:
        return
    batch = Transition(*zip(*random.sample(memory, 32)))
    mask = torch.tensor([s is not None for s in batch.next_state])
    state_action_values = policy_net(torch.cat(batch.state)).gather(1, torch.tensor(batch.action)[:, None])
    next_values = torch.zeros(32)
    with torch.no_grad():
        next_values[mask] = target_net(torch.cat([s for s in batch.next_state if s is not None])).max(1).values
    expected = next_values * 0.95 + torch.tensor(batch.reward)
    loss = nn.SmoothL1Loss()(state_action_values, expected.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()


for episode in range(25):
    position, total = 2, 0.0
    for t in range(20):
        if random.random() < 0.9 * 0.85**episode:
            action = random.randrange(2)
        else:
            with torch.no_grad():
                action = policy_net(encode(position)).argmax(1).item()
        new = max(0, position + (1 if action else -1))
        done, reward = new == LENGTH - 1, 1.0 if new == LENGTH - 1 else -0.02
        memory.append(Transition(encode(position), action, None if done else encode(new), reward))
        position, total = new, total + reward
        optimize_model()
        for key, value in policy_net.state_dict().items():
            target_net.state_dict()[key].copy_(0.05 * value + 0.95 * target_net.state_dict()[key])
        if done:
            break
    if episode % 5 == 0:
        print(episode, round(total, 2))
torch.save(policy_net.state_dict(), "dqn.pt")
