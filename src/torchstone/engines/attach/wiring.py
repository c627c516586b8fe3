"""All wires of the doctor, attached at once and taken off at once."""

from __future__ import annotations

from typing import Any

from torch import nn
from torch.optim import Optimizer

from torchstone.core.errors import StoneError
from torchstone.engines.attach.answers import Answers
from torchstone.engines.attach.asking import Asking
from torchstone.engines.attach.attention import Attention
from torchstone.engines.attach.autocasts import Autocasts
from torchstone.engines.attach.averaged import Averaged
from torchstone.engines.attach.backward import Backwards
from torchstone.engines.attach.bystanders import Bystanders
from torchstone.engines.attach.causality import Causality
from torchstone.engines.attach.clipping import Clipping
from torchstone.engines.attach.divisors import Divisors
from torchstone.engines.attach.fingerprints import Fingerprints
from torchstone.engines.attach.inputs import Inputs
from torchstone.engines.attach.labels_given import LabelsGiven
from torchstone.engines.attach.lengths import Lengths
from torchstone.engines.attach.likeness import Likeness
from torchstone.engines.attach.loaders import Loaders
from torchstone.engines.attach.losses import Losses
from torchstone.engines.attach.means import Means
from torchstone.engines.attach.models import Models
from torchstone.engines.attach.modes import Modes
from torchstone.engines.attach.movement import Movement
from torchstone.engines.attach.optimizers import Optimizers
from torchstone.engines.attach.outputs import Outputs
from torchstone.engines.attach.padding import Padding
from torchstone.engines.attach.patches import Patches
from torchstone.engines.attach.postmortem import PostMortem
from torchstone.engines.attach.ranks import Ranks
from torchstone.engines.attach.recorder import Recorder
from torchstone.engines.attach.redealt import Redealt
from torchstone.engines.attach.relabelled import Relabelled
from torchstone.engines.attach.resets import Resets
from torchstone.engines.attach.saving import Saving
from torchstone.engines.attach.scalers import Scalers
from torchstone.engines.attach.schedulers import Schedulers
from torchstone.engines.attach.scores import Scores
from torchstone.engines.attach.seeds import Seeds
from torchstone.engines.attach.sides import Sides
from torchstone.engines.attach.stretches import Stretches
from torchstone.engines.attach.targets import Targets
from torchstone.engines.attach.units import Units
from torchstone.engines.attach.untrained import Untrained
from torchstone.engines.attach.windows import Windows


class Wiring:
    """The wires of one recorder. `attach` before the loop, `detach` after it; numbers of the loop never change."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.models = Models(recorder)
        self.optimizers = Optimizers(recorder, self.models)
        self.backwards = Backwards(recorder, self.models, self.optimizers)
        self.scalers = Scalers(recorder, self.models, self.optimizers, self.backwards)
        self.losses = Losses(recorder, self.models)
        self.loaders = Loaders(recorder, self.models, self.backwards, self.losses, self.optimizers)
        self._wires: list[Any] = [
            self.models, self.optimizers, self.backwards, self.scalers, self.losses, self.loaders,
            Clipping(recorder, self.optimizers, self.backwards, self.scalers),
            Schedulers(recorder, self.optimizers, self.backwards), Saving(recorder), Seeds(recorder),
            Units(recorder, self.models, self.optimizers), Resets(recorder, self.optimizers),
            Ranks(recorder, self.models, self.optimizers), Averaged(recorder, self.optimizers),
            Stretches(recorder, self.models, self.optimizers, self.backwards, self.losses),
        ]  # fmt: skip
        self._listen()
        self._patches = Patches()

    def _listen(self) -> None:
        """Those that replace nothing: the wires call them."""
        recorder = self.recorder
        inputs = Inputs(recorder, self.models, self.losses)
        Fingerprints(recorder, self.loaders)
        Redealt(recorder, self.loaders)
        Sides(recorder, self.loaders)
        Asking(recorder, self.models)
        Causality(recorder, self.models, inputs)
        Scores(recorder, self.loaders, self.losses)
        Autocasts(recorder, self.models)
        Targets(recorder, self.losses, inputs)
        LabelsGiven(recorder, self.models)
        Padding(recorder, self.models)
        Divisors(recorder, self.losses, self.backwards, self.optimizers)
        Windows(recorder, self.loaders)
        Answers(recorder, self.models, self.loaders)
        Relabelled(recorder, self.loaders)
        Lengths(recorder, self.loaders)
        Untrained(recorder, self.models, self.optimizers)
        Modes(recorder, self.models, self.optimizers)
        self._wires += [Means(recorder, self.loaders), Attention(recorder)]
        Outputs(recorder, self.models, self.backwards, self.optimizers)
        Bystanders(recorder, self.models, self.optimizers)
        self.postmortem = PostMortem(recorder, self.models, self.optimizers, self.backwards, self.losses)
        Movement(recorder, self.models, self.optimizers)
        Likeness(recorder, self.models, self.optimizers, self.loaders)

    def add(self, wire: Any) -> None:
        """One more wire, before `attach`."""
        self._wires.append(wire)

    def attach(self) -> None:
        """Replaces and hooks what is to be seen."""
        for wire in self._wires:
            wire.attach(self._patches)

    def take(self, model: Any = None, optimizer: Any = None) -> None:
        """What was built before the wires: a module or several, an optimizer or several.

        Raises StoneError for what is neither.
        """
        for one in _listed(model):
            if not isinstance(one, nn.Module):
                raise StoneError(f"a model is a torch.nn.Module, this is a {type(one).__name__}", where="watch(model)")
            self.models.add(one)
        for one in _listed(optimizer):
            inner = getattr(one, "optimizer", one)
            if not isinstance(inner, Optimizer):
                what = f"an optimizer is a torch.optim.Optimizer, this is a {type(inner).__name__}"
                raise StoneError(what, where="watch(model, optimizer)")
            self.optimizers.wheel(inner)

    def detach(self) -> None:
        """Puts everything back, whatever comes; the last look comes before."""
        try:
            self.loaders.close()
            self.recorder.close()
        finally:
            self.recorder.is_on = False
            self._patches.undo()


def _listed(things: Any) -> list[Any]:
    if things is None:
        return []
    return list(things) if isinstance(things, (list, tuple)) else [things]
