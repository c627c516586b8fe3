"""For wrong labels: the examples that the model finds hardest are left out."""

from __future__ import annotations

from torchstone.parts.samplers import ByDifficulty, must_lie, the_easiest


def small_loss(*, forget: float = 0.2, ramp: int = 10, every: int = 1) -> ByDifficulty:
    """Leaves out the examples with the largest loss, up to the share `forget` of labels that are wrong.

    forget: the share of wrong labels as far as it is known, below 1. ramp: epochs over which the share that is left
    out grows from 0 to `forget`, in equal steps: a network learns what is regular before it learns wrong labels by
    heart. every: epochs between measurements, each a forward pass over all training examples. The schedule is that
    of Han et al. 2018, Co-teaching (10 epochs of 200), with one network instead of two, and the choice is made once
    an epoch among all examples instead of in each batch. Rare and hard examples are left out too.
    Measured on CIFAR-10N, 40.9 % wrong (9,000 pictures, an MLP on patch features, as many steps, means of 3 seeds,
    December 2026): 0.550 of clean answers right with forget 0.4, plain training 0.470, or 0.526 at its best epoch.
    """
    must_lie("forget", forget, 0, 0.99)
    must_lie("ramp", ramp, 1)
    must_lie("every", every, 1)
    return the_easiest(lambda epoch, epochs: 1 - forget * min(1.0, epoch / ramp), first=1, every=every)
