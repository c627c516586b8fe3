"""Which of the logged names is the training loss, the validation loss, the score, the learning rate: by their words."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from torchstone.core.curves import Curve, History
from torchstone.core.errors import StoneError, StoneErrors

TRAINING = ("train", "training", "tr", "fit")
VALIDATION = ("val", "valid", "validation", "eval", "evaluation", "dev", "heldout")
TEST = ("test", "testing")
PARTS = (*TRAINING, *VALIDATION, *TEST)
LOSS = ("loss", "losses", "nll", "cost", "objective", "crossentropy", "ce", "bce", "xent")
# Words that say how a number was taken, not what it is; of two such names the one with more points is used.
_HOW = ("step", "epoch", "batch", "iter", "iteration", "iterations", "avg", "average", "mean", "total", "running",
        "smoothed", "overall", "metrics", "metric", "scalars", "scalar", "logs", "log", "performance", "curve",
        "curves", "vs", "learning", "all", "per", "current", "value", "set", "data")  # fmt: skip
# Scores, the telling ones first; True where lower is better.
SCORES: dict[str, bool] = {
    "accuracy": False, "acc": False, "categoricalaccuracy": False, "top1": False, "f1": False, "auc": False,
    "auroc": False, "rocauc": False, "map": False, "map50": False, "ap": False, "iou": False, "miou": False,
    "dice": False, "mcc": False, "kappa": False, "bleu": False, "rouge": False, "rougel": False, "ndcg": False,
    "r2": False, "score": False, "precision": False, "recall": False, "wer": True, "cer": True, "perplexity": True,
    "ppl": True, "error": True, "err": True, "rmse": True, "mae": True, "mse": True, "fid": True,
}  # fmt: skip
# Adversaries and policies: their losses chase a moving target.
GAMES = ("reward", "rewards", "return", "returns", "episode", "policy", "actor", "critic", "discriminator", "generator",
         "adversarial", "gan", "lossd", "lossg", "dloss", "gloss")  # fmt: skip


@dataclass(frozen=True)
class Wanted:
    """Names that the user gave, instead of guessing."""

    train: str | None = None
    validation: str | None = None
    score: str | None = None


def tokens(name: str) -> list[str]:
    """The words of a name, in small letters: `Loss/trainEpoch_1` → loss, train, epoch, 1."""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    words = [word for word in re.split(r"[^0-9a-z]+", name.lower()) if word]
    split: list[str] = []
    for word in words:  # trainloss, valloss, valacc
        glued = re.fullmatch(r"(train|training|val|valid|validation|eval|test|dev)(loss|acc|accuracy|f1|auc)", word)
        split += glued.groups() if glued else [word]
    return split


def history_of(run: str, series: Mapping[str, Curve], wanted: Wanted) -> History:
    """The curves of a run by what they are.

    Raises StoneErrors that list the names where several fit equally well, where a given one is not there, and where
    neither a loss nor a score is found.
    """
    pick = _Pick(run, series)
    train = pick.given("--train", wanted.train) or pick.loss(TRAINING, "--train")
    validation = pick.given("--val", wanted.validation) or pick.loss(VALIDATION, "--val") or pick.loss(TEST, "--val")
    score = pick.given("--metric", wanted.score) or pick.score(VALIDATION) or pick.score(TEST)
    kind = _kind(score.name) if score else None
    train_score = pick.score(TRAINING, kind)
    if pick.errors:
        raise pick.errors[0] if len(pick.errors) == 1 else StoneErrors(pick.errors)
    if train is None and validation is None and score is None:
        raise pick.none_found()
    return History(
        run, train, validation, as_share(train_score), as_share(score), is_lower_better=SCORES.get(kind or "", False),
        rate=pick.rate(), update_ratio=series.get("update_ratio"), is_game=pick.is_game,
    )  # fmt: skip


def as_share(curve: Curve | None) -> Curve | None:
    """An accuracy that was written in percent, between 0 and 1."""
    if curve is None or not curve.values or SCORES.get(_kind(curve.name) or "", True):
        return curve
    if _kind(curve.name) in ("bleu", "rouge", "rougel", "score") or not 1.5 < max(curve.values) <= 100:
        return curve
    return replace(curve, values=tuple(value / 100 for value in curve.values))


def _kind(name: str) -> str | None:
    """Which score a name is."""
    words = tokens(name)
    glued = {"".join(pair) for pair in pairwise(words)}
    return next((kind for kind in SCORES if kind in words or kind in glued), None)


class _Pick:
    """Chooses among the names of one run; `errors` collects what it could not decide."""

    def __init__(self, run: str, series: Mapping[str, Curve]) -> None:
        self.run = run
        self.series = {name: curve for name, curve in series.items() if len(curve)}
        self.words = {name: tokens(name) for name in self.series}
        self.errors: list[StoneError] = []
        said = {word for words in self.words.values() for word in words}
        self.is_game = bool(said & set(GAMES)) or {"d", "g"} <= said

    def given(self, option: str, name: str | None) -> Curve | None:
        """The curve that the user named."""
        if name is None or name in self.series:
            return self.series[name] if name else None
        near = difflib.get_close_matches(name, self.series, n=1)
        fix = f"did you mean: {option} '{near[0]}'" if near else f"names: {_listed(self.series)}"
        self.errors.append(StoneError(f"{option}: nothing is called '{name}'; found: {_listed(self.series)}",
                                      where=self.run, fix=fix))
        return None

    def loss(self, part: Sequence[str], option: str) -> Curve | None:
        """The loss on one part; a loss that names no part is that on training examples."""
        def fits(words: list[str]) -> bool:
            return any(word in LOSS for word in words) and _kind_of_part(words) is part

        return self._best(fits, (*LOSS, *part), option)

    def score(self, part: Sequence[str], kind: str | None = None) -> Curve | None:
        """The most telling score on one part, or the one of this kind."""
        own = {name: found for name, words in self.words.items() if _kind_of_part(words) is part
               and not any(word in LOSS for word in words) and (found := _kind(name)) and kind in (None, found)}
        if not own:
            return None
        first = min(own.values(), key=list(SCORES).index)
        names = [name for name in own if own[name] == first]
        return self.series[min(names, key=lambda name: (len(self.words[name]), -len(self.series[name])))]

    def rate(self) -> Curve | None:
        """The learning rate of the first group."""
        names = [name for name, words in self.words.items()
                 if "lr" in words or ("learning" in words and "rate" in words)]
        return self.series[min(names, key=lambda name: (len(self.words[name]), name))] if names else None

    def _best(self, fits: Callable[[list[str]], bool], known: Iterable[str], option: str) -> Curve | None:
        """The name with the fewest words that say something else; the finest of those that differ in how they count."""
        of = {name: [word for word in words if word not in known and word not in _HOW]
              for name, words in self.words.items() if fits(words) and not set(words) & set(GAMES)}
        several = [name for name in of if len(self.series[name]) > 1]
        names = several or list(of)
        fewest = min((len(of[name]) for name in names), default=0)
        names = [name for name in names if len(of[name]) == fewest]
        if len({tuple(of[name]) for name in names}) > 1:
            fix = f"say which one it is: {option} '{names[0]}'"
            what = f"{len(names)} names may be the {'training' if option == '--train' else 'validation'} loss: "
            self.errors.append(StoneError(what + _listed(names), where=self.run, fix=fix))
            return None
        if not names:
            return None
        explicit = [name for name in names if set(self.words[name]) & set(PARTS)] or names
        if option == "--val":  # one number a validation, not one a batch
            explicit = [name for name in explicit if not {"step", "batch"} & set(self.words[name])] or explicit
        return self.series[max(explicit, key=lambda name: (len(self.series[name]), -len(name)))]

    def none_found(self) -> StoneError:
        """The error where no name fits."""
        return StoneError(f"no loss is recognised among {len(self.series)} names: {_listed(self.series)}",
                          where=self.run, fix="name it: --train NAME, --val NAME, --metric NAME")


def _kind_of_part(words: list[str]) -> Sequence[str]:
    """The words of the part that a name is about; without one it is training."""
    for part in (VALIDATION, TEST):
        if any(word in part for word in words):
            return part
    return TRAINING


def _listed(names: Iterable[str], most: int = 12) -> str:
    listed = list(names)
    return ", ".join(listed[:most]) + (f", … ({len(listed)} in all)" if len(listed) > most else "") or "none"
