"""The easy examples first."""

from __future__ import annotations

from typing import Literal

from torchstone.core.errors import StoneError
from torchstone.parts.samplers import ByDifficulty, must_lie, the_easiest, way_from


def curriculum(
    *, by: Literal["loss", "given"] = "loss", pace: Literal["linear", "exponential", "step"] = "linear",
    start: float = 0.2, full_at: float = 0.5, warm_up: int | None = None,
) -> ByDifficulty:  # fmt: skip
    """Begins with the easiest `start` of the examples and takes in harder ones until, at `full_at`, all take part.

    by: what says how hard an example is: `given`, the column that data.difficulty names; `loss`, the model's own loss,
    measured once, after `warm_up` epochs (default 1) on all examples; with weights from another training, warm_up 0
    asks those. start: share of the examples, above 0. full_at: share of the run's epochs. pace: how the share grows,
    in equal steps, by equal factors, or all at once (Bengio et al. 2009, Curriculum Learning; pacing functions of
    Hacohen & Weinshall 2019, On The Power of Curriculum Learning). Epochs are shorter at first; start and full_at are
    starting points, tune on your data. Does little on clean data with time enough (Wu et al. 2021, When Do Curricula
    Work?), and by loss nothing for the last epoch in the measurement that small_loss names: 0.470, as plain training.
    """
    must_lie("start", start, 1e-9, 1)
    must_lie("full_at", full_at, 0, 1)
    if by == "given" and warm_up is not None:
        raise StoneError("warm_up has no effect where the data says how hard the examples are",
                         where="sampler.warm_up", fix="remove warm_up, or set sampler.by to loss")  # fmt: skip
    wait = 0 if by == "given" else 1 if warm_up is None else warm_up
    must_lie("warm_up", wait, 0)

    def share(epoch: int, epochs: int) -> float:
        if epoch < wait:
            return 1.0
        past = way_from(wait, full_at * epochs, epoch)
        if past >= 1 or pace == "step":
            return 1.0 if past >= 1 else start
        return start + (1 - start) * past if pace == "linear" else float(start ** (1 - past))

    return the_easiest(share, is_given=by == "given", first=wait)
