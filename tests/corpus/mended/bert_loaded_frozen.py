"""Which of two words a sequence speaks of: a head on a frozen BERT."""
import tempfile

import torch
import torch.nn.functional as F
from torch import nn
from transformers import BertConfig, BertModel

torch.manual_seed(3)
config = BertConfig(vocab_size=60, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96,
                    max_position_embeddings=24, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)


def sentences(n):
    tokens = torch.randint(4, 60, (n, 16))
    labels = torch.randint(0, 2, (n,))
    place = torch.randint(0, 16, (n,))
    tokens[torch.arange(n), place] = 2 + labels
    return tokens, labels


class Classifier(nn.Module):
    def __init__(self, bert, num):
        super().__init__()
        self.bert, self.head = bert, nn.Linear(48, num)

    def forward(self, tokens):
        return self.head(self.bert(input_ids=tokens).last_hidden_state.mean(1))


def fit(model, parameters, steps):
    optimizer = torch.optim.AdamW(parameters, lr=2e-3)
    for step in range(steps):
        tokens, labels = sentences(32)
        loss = F.cross_entropy(model(tokens), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(step, round(loss.item(), 4))


first = Classifier(BertModel(config, add_pooling_layer=False), 2)
fit(first, first.parameters(), 60)
with tempfile.TemporaryDirectory() as folder:
    first.bert.save_pretrained(folder)
    bert = BertModel.from_pretrained(folder, add_pooling_layer=False)
bert.requires_grad_(False)
model = Classifier(bert, 2)
fit(model, model.head.parameters(), 60)
model.eval()
with torch.no_grad():
    tokens, labels = sentences(400)
    print("accuracy", (model(tokens).argmax(1) == labels).float().mean().item())
