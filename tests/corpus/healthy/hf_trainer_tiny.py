"""transformers.Trainer on a tiny classifier built from a config, with its own metrics."""
import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import DistilBertConfig, DistilBertForSequenceClassification, Trainer, TrainingArguments, set_seed

set_seed(0)


class Reviews(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.labels = rng.integers(0, 2, n)
        self.ids = rng.integers(30, 100, (n, 12))
        for row, label in zip(self.ids, self.labels):
            row[rng.choice(12, 4, replace=False)] = rng.integers(2 + 14 * label, 16 + 14 * label, 4)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return {"input_ids": torch.tensor(self.ids[i]), "attention_mask": torch.ones(12, dtype=torch.long),
                "labels": int(self.labels[i])}


config = DistilBertConfig(vocab_size=100, dim=32, n_layers=2, n_heads=2, hidden_dim=64, max_position_embeddings=16)
arguments = TrainingArguments(
    "out", num_train_epochs=3, per_device_train_batch_size=16, per_device_eval_batch_size=64, learning_rate=2e-3,
    warmup_steps=10, eval_strategy="epoch", save_strategy="no", logging_steps=20, report_to=[], use_cpu=True,
    disable_tqdm=True)
trainer = Trainer(
    DistilBertForSequenceClassification(config), arguments, train_dataset=Reviews(480, 1), eval_dataset=Reviews(150, 2),
    compute_metrics=lambda p: {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())})
trainer.train()
print("accuracy above 0.7:", trainer.evaluate()["eval_accuracy"] > 0.7)
