# RUN520: the labels are shifted, and the model shifts them again. Mended: gpt2_from_config
import torch
from torch.utils.data import DataLoader, Dataset
from transformers import GPT2Config, GPT2LMHeadModel, get_linear_schedule_with_warmup


class Blocks(Dataset):
    def __init__(self, n=400, length=24, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.rows = []
        for _ in range(n):
            start = int(torch.randint(50, (1,), generator=g))
            step = int(torch.randint(1, 5, (1,), generator=g))
            self.rows.append((start + step * torch.arange(length + 1)) % 50)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        return {"input_ids": row[:-1], "labels": row[1:]}


def evaluate(model, loader):
    model.eval()
    losses = []
    for batch in loader:
        with torch.no_grad():
            losses.append(model(**batch).loss)
    model.train()
    return torch.stack(losses).mean().item()


def main():
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=50, n_positions=32, n_embd=48, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0)
    model = GPT2LMHeadModel(config)
    train_loader = DataLoader(Blocks(), batch_size=16, shuffle=True)
    eval_loader = DataLoader(Blocks(80, seed=5), batch_size=16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    num_epochs = 3
    scheduler = get_linear_schedule_with_warmup(optimizer, 8, num_epochs * len(train_loader))
    model.train()
    for epoch in range(num_epochs):
        for step, batch in enumerate(train_loader):
            outputs = model(**batch)
            loss = outputs.loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        print(f"epoch {epoch}: train {loss.item():.3f} eval {evaluate(model, eval_loader):.3f}")
    prompt = torch.tensor([[3, 5, 7, 9]])
    model.eval()
    print(model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=6, do_sample=False, pad_token_id=0))


if __name__ == "__main__":
    main()
