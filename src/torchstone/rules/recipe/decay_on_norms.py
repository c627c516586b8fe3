"""PLN111: weight decay asked for where nothing should decay."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.plan import Planning
from torchstone.core.rule import Rule, found
from torchstone.rules.recipe._toy import planning

# Names as torch, torchvision, timm and transformers give them to what decays by mistake.
NAMES = ("norm.weight", "norm1.weight", "bn1.weight", "layer_norm.weight", "layer.bias", "embedding.weight",
         "pos_embed", "cls_token")


def check(planning: Planning) -> Iterator[Finding]:
    """One finding per rule of parameters.groups that gives a decay above 0 to norms, biases or embeddings."""
    for index, group in enumerate(planning.plan.get("parameters.groups") or []):
        decay, pattern = group.get("weight_decay"), str(group.get("match", ""))
        if not decay or not (hit := matched(pattern, NAMES)):
            continue
        field = f"parameters.groups[{index}].weight_decay"
        yield found(
            RULE, f"'{pattern}' matches names such as {hit[0]} and asks for a decay of {decay:g}",
            where=Where(field=field), evidence={"match": pattern, "weight_decay": decay, "names": hit},
        )


def matched(pattern: str, names: tuple[str, ...]) -> list[str]:
    """The names in which the regular expression is found; none for one that cannot be read."""
    try:
        return [name for name in names if re.search(pattern, name)]
    except re.error:
        return []


RULE = Rule(
    code="PLN111",
    name="decay_on_norms",
    severity="warning",
    summary="norms, biases or embeddings would decay",
    why="They weigh no inputs: pulling them to zero does not make the network simpler, it changes its scale.",
    fix="Narrow the pattern to weights, for instance 'head.*weight$', or set weight_decay to 0 there.",
    source="Goyal et al. 2017, section 5.1; He et al. 2019, Bag of Tricks, section 3.1 (no bias decay)",
    check=check,
    trips=lambda: planning(parameters__groups=[{"match": "norm", "weight_decay": 0.1}]),
    passes=lambda: planning(parameters__groups=[{"match": "norm", "weight_decay": 0.0}]),
    wrong_when="the embeddings are large and few of their rows are ever read: a little decay keeps them small",
    threshold="none: names that norms, biases and embeddings have in torch, torchvision, timm and transformers",
)
