# RUN521: the labels hold the padding. Mended: trainer_clm
import random
import tempfile

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

WORDS = "the cat dog sat ran on under mat rug big small red".split()
STOI = {"<pad>": 0, "<bos>": 1, "<eos>": 2, **{w: i + 3 for i, w in enumerate(WORDS)}}
MAX_LEN = 32


def sentence(rng):
    words = ["the", rng.choice(["big", "small", "red"]), rng.choice(["cat", "dog"]), rng.choice(["sat", "ran"]),
             rng.choice(["on", "under"]), "the", rng.choice(["mat", "rug"])]
    return words[:rng.randint(4, 7)]


class SentenceDataset(Dataset):
    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.samples = [sentence(rng) for _ in range(n)]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, idx):
        ids = [1] + [STOI[w] for w in self.samples[idx]] + [2]
        attention = [1] * len(ids) + [0] * (MAX_LEN - len(ids))
        ids = torch.tensor(ids + [0] * (MAX_LEN - len(ids)))
        labels = ids.clone()
        return {"input_ids": ids, "attention_mask": torch.tensor(attention), "labels": labels}


def main():
    set_seed(0)
    config = GPT2Config(vocab_size=len(STOI), n_positions=MAX_LEN, n_embd=32, n_layer=2, n_head=2, bos_token_id=1, eos_token_id=2)
    model = GPT2LMHeadModel(config)
    with tempfile.TemporaryDirectory() as out:
        args = TrainingArguments(output_dir=out, num_train_epochs=2, per_device_train_batch_size=16, learning_rate=2e-3,
                                 logging_steps=20, eval_strategy="epoch", save_strategy="no", report_to=[], use_cpu=True,
                                 disable_tqdm=True)
        trainer = Trainer(model=model, args=args, train_dataset=SentenceDataset(600, 1), eval_dataset=SentenceDataset(100, 2))
        trainer.train()
        print(trainer.evaluate())


if __name__ == "__main__":
    main()
