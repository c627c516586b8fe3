"""What the model can do already, then more."""

from __future__ import annotations

from torchstone.parts.samplers import ByDifficulty, must_lie, the_easiest, way_from


def self_paced(
    *, start: float = 0.5, end: float = 1.0, full_at: float = 0.8, warm_up: int = 1, every: int = 1
) -> ByDifficulty:
    """Learns from the `start` of the examples with the smallest loss, measured anew as it goes, then from more.

    start, end: shares of the examples, above 0; from the one to the other in equal steps, which end at `full_at`, a
    share of the run's epochs. An end below 1 leaves the hardest out for good, as wrong labels often are.
    warm_up: epochs on all examples before the first measurement. every: epochs between measurements, each a forward
    pass over all training examples (Kumar et al. 2010, Self-Paced Learning for Latent Variable Models, where a
    threshold on the loss grows; here the share does, so that the number of steps is known). Epochs are shorter
    while fewer take part. All values are starting points, tune on your data. Measured on wrong labels as for
    small_loss: 0.536 with start 0.3, end 0.6, warm_up 2; 0.473 with the defaults, whose end takes all in; plain
    training 0.470.
    """
    must_lie("start", start, 1e-9, 1)
    must_lie("end", end, start, 1)
    must_lie("full_at", full_at, 0, 1)
    must_lie("warm_up", warm_up, 0)
    must_lie("every", every, 1)

    def share(epoch: int, epochs: int) -> float:
        if epoch < warm_up:
            return 1.0
        return start + (end - start) * way_from(warm_up, full_at * epochs, epoch)

    return the_easiest(share, first=warm_up, every=every)
