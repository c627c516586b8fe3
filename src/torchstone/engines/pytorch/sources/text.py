"""Texts as rows of token numbers, padded to the longest of their batch.

Legend of axes: N examples, B examples of a batch, T tokens.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from torchstone.core import catalog
from torchstone.core.dataset import Dataset
from torchstone.core.errors import StoneError, missing_extra
from torchstone.core.plan import Plan
from torchstone.engines.pytorch.batch import Batch, Shape
from torchstone.engines.pytorch.edits import Edit, Text
from torchstone.engines.pytorch.sources.draws import uniform
from torchstone.engines.pytorch.targets import fit_target, target_tensor

PADDING, UNKNOWN = "[PAD]", "[UNK]"  # numbers 0 and 1 of every vocabulary
VOCABULARY = 8000  # where the plan names none
LENGTH_QUANTILE = 0.99  # where the plan names no length: this share of the training texts stays whole
LONGEST = 512  # and no text costs more than this many tokens
WORD = "▁"  # what the first token of a word begins with
ROUND = 4  # batches are padded to a multiple of this: fewer distinct shapes, at most 3 tokens of waste


def fit(dataset: Dataset, plan: Plan, tokenizer: str | None = None) -> dict[str, Any]:
    """A tokenizer trained on the training texts, or the given one (as JSON), and how many tokens of a text are kept.

    Byte-pair encoding (Sennrich et al. 2016) within words after Unicode NFKC, lower-case unless
    `text.lowercase` is false; at most `text.vocabulary` tokens, of which 0 pads and 1 stands for unseen
    characters. `text.max_length` where the plan has it, else the 99th percentile of the training lengths,
    at most 512; longer texts lose their end. The encoding says how many training texts do.
    Raises StoneError where there is no text column or the package tokenizers is missing.
    """
    texts = texts_of(dataset.take(dataset.rows("train")))
    if tokenizer is not None:
        learnt = _library().Tokenizer.from_str(tokenizer)
    else:
        learnt = _train(texts, plan.get("text.vocabulary") or VOCABULARY, plan.get("text.lowercase") is not False)
    _, lengths = _tokenize(learnt, texts, None)
    max_length = plan.get("text.max_length") or enough(lengths)
    return {
        "tokenizer": learnt.to_str(),
        "vocabulary": learnt.get_vocab_size(),
        "max_length": max_length,
        "train_texts_cut": int((lengths > max_length).sum()),
        **fit_target(dataset),
    }


def open_source(dataset: Dataset, encoding: dict[str, Any], plan: Plan) -> TextSource:
    """All texts of `dataset`, tokenised once, ready to give batches.

    Plan: text.augment (.name, .options.*) edits the words of training texts, after a long text was cut; train.seed.
    """
    tokenizer = _library().Tokenizer.from_str(encoding["tokenizer"])
    tokens, lengths = _tokenize(tokenizer, texts_of(dataset), encoding["max_length"])
    source = TextSource(tokens, lengths, target_tensor(dataset, encoding), notes_on(encoding))
    if name := plan.get("text.augment.name"):
        edit = catalog.find("torchstone.engines.pytorch.edits", name)(**plan.section("text.augment.options"))
        source.edit_with(edit, _word_starts(tokenizer), int(plan.get("train.seed", 0)))
    return source


def shape(encoding: dict[str, Any], num_outputs: int) -> Shape:
    """What a text model is built for."""
    return Shape(num_outputs, vocabulary=encoding["vocabulary"], max_length=encoding["max_length"])


class TextSource:
    """N tokenised texts in one flat array; a batch is one gather."""

    is_heavy = False

    def __init__(
        self, tokens: np.ndarray, lengths: np.ndarray, target: torch.Tensor, notes: Sequence[str] = ()
    ) -> None:
        """tokens: int32, all texts one after the other; lengths: int64 [N]; target: one row per text."""
        self._tokens = np.append(tokens, np.int32(0))
        self._lengths = lengths
        self._starts = np.cumsum(lengths) - lengths
        self._target = target
        self._edit: Edit | None = None
        self._word_starts = np.zeros(0, dtype=bool)
        self._seed = 0
        self.notes = notes

    def edit_with(self, edit: Edit, word_starts: np.ndarray, seed: int) -> None:
        """From now on training texts are edited, as (seed, epoch, row) say; word_starts: bool [vocabulary]."""
        self._edit, self._word_starts, self._seed = edit, word_starts, seed

    def __len__(self) -> int:
        return len(self._lengths)

    def batch(self, rows: np.ndarray, epoch: int | None) -> Batch:
        """tokens_BT int64, T the longest of these rows rounded up to a multiple of 4, at least 4."""
        if epoch is None or self._edit is None:
            tokens_BT = _gathered(self._tokens, self._starts[rows], self._lengths[rows])
        else:
            edited = self._edit(
                lambda count: uniform(self._seed, epoch, rows, count), [self._words(row) for row in rows.tolist()]
            )
            flat = [[token for word in words for token in word] for words in edited]
            lengths = np.array([len(tokens) for tokens in flat], dtype=np.int64)
            joined = np.array([*(token for tokens in flat for token in tokens), 0], dtype=np.int32)
            tokens_BT = _gathered(joined, np.cumsum(lengths) - lengths, lengths)
        tokens = torch.from_numpy(tokens_BT.astype(np.int64))
        return Batch((tokens,), self._target.index_select(0, torch.from_numpy(rows)), rows)

    def _words(self, row: int) -> Text:
        start = self._starts[row]
        tokens = self._tokens[start : start + self._lengths[row]]
        cuts = [0, *(np.flatnonzero(self._word_starts[tokens[1:]]) + 1).tolist(), len(tokens)]
        numbers = tokens.tolist()
        return [numbers[a:b] for a, b in itertools.pairwise(cuts) if a < b]


def _gathered(tokens: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Runs of a flat array, of which the last token is in no run, as rows padded with 0: int32 [B, T]."""
    width = max(-(-int(lengths.max(initial=0)) // ROUND), 1) * ROUND
    steps = np.arange(width)
    tokens_BT: np.ndarray = tokens.take(starts[:, None] + steps, mode="clip")
    tokens_BT *= steps < lengths[:, None]
    return tokens_BT


def _word_starts(tokenizer: Any) -> np.ndarray:
    """Which tokens begin a word, bool [vocabulary]; raises StoneError for a tokenizer that marks words otherwise."""
    tokens = (tokenizer.id_to_token(number) for number in range(tokenizer.get_vocab_size()))
    starts = np.array([token.startswith(WORD) for token in tokens], dtype=bool)
    if not starts.any():
        raise StoneError("this tokenizer does not mark the starts of words as torchstone's own does",
                         where="text.augment", fix="leave text.augment out, or weights that bring a tokenizer along")
    return starts


def _library() -> Any:
    try:
        import tokenizers
    except ImportError as error:
        raise missing_extra("tokenizers", "text", "reading text") from error
    return tokenizers


def notes_on(encoding: Mapping[str, Any]) -> list[str]:
    """What a person should know of an encoding: how many training texts lose their end."""
    num = encoding["train_texts_cut"]
    told = f"{num:,} training texts are longer than {encoding['max_length']} tokens and lose their end"
    return [told] if num else []


def texts_of(dataset: Dataset) -> list[str]:
    """All texts, in order; raises StoneError where there is no text column."""
    if not dataset.columns("text"):
        found = ", ".join(f"{name} ({kind})" for name, kind in dataset.kinds.items()) or "none"
        raise StoneError(
            f"there is no text column; found: {found}", where=dataset.source, fix="name it with data.text: COLUMN"
        )
    return dataset.texts()


def _train(texts: Sequence[str], vocabulary: int, lowercase: bool) -> Any:
    library = _library()
    tokenizer = library.Tokenizer(library.models.BPE(unk_token=UNKNOWN))
    steps = [library.normalizers.NFKC()] + [library.normalizers.Lowercase()] * lowercase
    tokenizer.normalizer = library.normalizers.Sequence(steps)
    # The mark "▁" tells the start of a word from its middle. Marking the middle instead (the trainer's own
    # continuing_subword_prefix) numbers tokens in the order of a hash table: another vocabulary at every run.
    mark = library.pre_tokenizers.Metaspace(prepend_scheme="always", split=False)
    tokenizer.pre_tokenizer = library.pre_tokenizers.Sequence([library.pre_tokenizers.Whitespace(), mark])
    trainer = library.trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=[PADDING, UNKNOWN], show_progress=False
    )
    tokenizer.train_from_iterator(_chunks(texts), trainer)
    return tokenizer


def _chunks(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(texts), 1000):
        yield texts[start : start + 1000]


def _tokenize(tokenizer: Any, texts: Sequence[str], max_length: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Tokens of all texts in one int32 array, and the length of each, int64."""
    flat: list[np.ndarray] = []
    lengths: list[int] = []
    for chunk in _chunks(texts):
        for encoded in tokenizer.encode_batch_fast(chunk, add_special_tokens=False):
            ids = encoded.ids if max_length is None else encoded.ids[:max_length]
            flat.append(np.array(ids, dtype=np.int32))
            lengths.append(len(ids))
    joined = np.concatenate(flat) if flat else np.zeros(0, np.int32)
    return joined, np.array(lengths, dtype=np.int64)


def enough(lengths: np.ndarray) -> int:
    """Tokens that keep 99 % of texts of these lengths whole, int64 [N]: at least 4, at most 512."""
    quantile = int(np.ceil(np.quantile(lengths, LENGTH_QUANTILE))) if len(lengths) else 1
    return min(max(quantile, 4), LONGEST)
