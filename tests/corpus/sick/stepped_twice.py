# RUN305: two optimizer steps for one backward pass. Mended: char_gru
# Character-level language model, GRU, truncated backpropagation through time
import torch
from torch import nn

torch.manual_seed(1337)
text = ("the quick brown fox jumps over the lazy dog. pack my box with five dozen liquor jugs. "
        "how vexingly quick daft zebras jump! sphinx of black quartz, judge my vow. ") * 40
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
batch_size, seq_len = 16, 32
n = len(data) // batch_size
streams = data[: n * batch_size].view(batch_size, n)


class CharRNN(nn.Module):
    def __init__(self, vocab, hidden=64):
        super().__init__()
        self.embed = nn.Embedding(vocab, 32)
        self.gru = nn.GRU(32, hidden, batch_first=True)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, x, h=None):
        z, h = self.gru(self.embed(x), h)
        return self.out(self.drop(z)), h


model = CharRNN(len(chars))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
history = []
for epoch in range(6):
    h = None
    for i in range(0, n - seq_len - 1, seq_len):
        x = streams[:, i : i + seq_len]
        y = streams[:, i + 1 : i + seq_len + 1]
        if h is not None:
            h = h.detach()
        logits, h = model(x, h)
        loss = criterion(logits.reshape(-1, len(chars)), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for _ in range(2):
            optimizer.step()
        history.append(loss.item())
    print(f"epoch {epoch} loss {sum(history[-10:]) / 10:.3f}")


@torch.no_grad()
def sample(length=40):
    model.eval()
    x, h, out = torch.tensor([[stoi["t"]]]), None, "t"
    for _ in range(length):
        logits, h = model(x, h)
        x = torch.multinomial(logits[:, -1].softmax(-1), 1)
        out += chars[x.item()]
    return out


print(sample())
torch.save(model.state_dict(), "char_gru.pt")
