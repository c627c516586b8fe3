# RUN523: the target network is the policy network itself. Mended: dqn_chain
import copy
import random
from collections import deque, namedtuple

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

Transition = namedtuple("Transition", ("state", "action", "reward", "next_state", "done"))


class Corridor:
    """walk right to the goal; 10 cells"""

    def __init__(self, n=10):
        self.n = n

    def reset(self):
        self.pos, self.t = 0, 0
        return self.obs()

    def obs(self):
        v = np.zeros(self.n, dtype=np.float32)
        v[self.pos] = 1
        return v

    def step(self, a):
        self.t += 1
        self.pos = min(self.n - 1, max(0, self.pos + (1 if a == 1 else -1)))
        done = self.pos == self.n - 1 or self.t >= 40
        return self.obs(), 1.0 if self.pos == self.n - 1 else -0.01, done


class DQN(nn.Module):
    def __init__(self, n_obs, n_actions):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(n_obs, 64), nn.ReLU(), nn.Linear(64, n_actions))

    def forward(self, x):
        return self.layers(x)


class Agent:
    def __init__(self, gamma=0.95, lr=1e-3, batch=32, sync=50):
        self.policy_net = DQN(10, 2)
        self.target_net = self.policy_net
        self.target_net.load_state_dict(self.policy_net.state_dict())
        self.optimizer = optim.AdamW(self.policy_net.parameters(), lr=lr)
        self.memory = deque(maxlen=5000)
        self.gamma, self.batch, self.sync, self.steps = gamma, batch, sync, 0

    def act(self, s, eps):
        if random.random() < eps:
            return random.randrange(2)
        with torch.no_grad():
            return int(self.policy_net(torch.from_numpy(s)[None]).argmax())

    def learn(self):
        if len(self.memory) < self.batch:
            return
        b = Transition(*zip(*random.sample(self.memory, self.batch)))
        s, s2 = torch.from_numpy(np.stack(b.state)), torch.from_numpy(np.stack(b.next_state))
        a = torch.tensor(b.action)[:, None]
        r, d = torch.tensor(b.reward), torch.tensor(b.done, dtype=torch.float32)
        q = self.policy_net(s).gather(1, a).squeeze(1)
        with torch.no_grad():
            target = r + self.gamma * (1 - d) * self.target_net(s2).max(1).values
        loss = nn.SmoothL1Loss()(q, target)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(self.policy_net.parameters(), 100)
        self.optimizer.step()
        self.steps += 1
        if self.steps % self.sync == 0:
            self.target_net.load_state_dict(self.policy_net.state_dict())


if __name__ == "__main__":
    random.seed(0)
    torch.manual_seed(0)
    env, agent = Corridor(), Agent()
    for episode in range(60):
        s, done, total = env.reset(), False, 0
        eps = max(0.05, 1 - episode / 40)
        while not done:
            a = agent.act(s, eps)
            s2, r, done = env.step(a)
            agent.memory.append(Transition(s, a, r, s2, done))
            s, total = s2, total + r
            agent.learn()
        if episode % 10 == 0:
            print(f"episode {episode} return {total:.2f} eps {eps:.2f}")
