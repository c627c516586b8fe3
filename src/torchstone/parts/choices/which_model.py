"""Which model: a table by what is read and how much of it there is."""

from __future__ import annotations

from torchstone.core.errors import StoneError
from torchstone.parts.choices.case import Case, Facts, first_that_holds

SMALL_SIDE = 64  # pixels; up to here a small residual network sees every pixel at a bearable cost on a CPU
LONG_TEXT = 512  # tokens; attention over twice as many costs four times as much (Tay et al. 2022)
TREES_WIN_BELOW = 100_000  # rows; the study of Grinsztajn et al. is of about 10,000, larger sets they leave open
CLOTHING = "measured on clothing10 and digits, 2026-12-01"
BANKING = "measured on banking77, 2026-12-01"
GRINSZTAJN = "Grinsztajn et al. 2022, Why do tree-based models still outperform deep learning on tabular data?"

MODELS: tuple[Case, ...] = (
    Case("image", f"at most {SMALL_SIDE} pixels a side",
         lambda f: f.get("modality") == "image" and int(f.get("size", 0)) <= SMALL_SIDE,
         "small_resnet", "a small residual network trains in minutes, from scratch", CLOTHING,
         "width 24 to 32, depth 1", changes_if="an accelerator and larger pictures: resnet18"),
    Case("image", "else", lambda f: f.get("modality") == "image",
         "resnet18", "the smallest of the usual networks first", "He et al. 2016; Kornblith et al. 2019",
         "with pretrained weights where few pictures are there", changes_if="it underfits: resnet50, convnext_tiny"),
    Case("text", f"more than {LONG_TEXT} words at the median",
         lambda f: f.get("modality") == "text" and int(f.get("words_p50", 0)) > LONG_TEXT,
         "text_cnn", "its cost grows in proportion to the length, that of attention with the square",
         f"Kim 2014; Tay et al. 2022, Efficient Transformers; {BANKING}",
         f"reads the first {LONG_TEXT} tokens",
         changes_if="the end of the texts decides: text_pretrained with an encoder for long texts (ModernBERT)"),
    Case("text", "else", lambda f: f.get("modality") == "text",
         "text_cnn", "short phrases decide; trains in a minute", f"Kim 2014; {BANKING}",
         changes_if="order over long distances matters: text_gru or text_transformer; few texts: text_pretrained"),
    Case("table", f"fewer than {TREES_WIN_BELOW:,} rows",
         lambda f: f.get("modality") == "table" and int(f.get("num_train", 0)) < TREES_WIN_BELOW,
         "table_mlp", "a good perceptron is hard to beat for larger networks; boosted trees often win here: their row "
         "stands among the baselines", f"Gorishniy et al. 2021; {GRINSZTAJN}",
         changes_if="the baseline boosted_trees is better: use trees"),
    Case("table", "else", lambda f: f.get("modality") == "table",
         "table_mlp", "a good perceptron is hard to beat for larger networks", "Gorishniy et al. 2021",
         changes_if="table_resnet is the other one to try"),
)  # fmt: skip


def which_model(facts: Facts) -> Case:
    """The model for what is read, by the table `MODELS`.

    facts: modality, and what the conditions ask for: size (pixels a side, as the model sees them), words_p50,
    num_train. Raises StoneError for another modality.
    """
    case = first_that_holds(MODELS, facts)
    if case is None:
        raise StoneError(f"no model is known for '{facts.get('modality')}'", fix="one of: image, text, table")
    return case
