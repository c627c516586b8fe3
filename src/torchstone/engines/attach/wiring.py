"""All wires of the doctor, attached at once and taken off at once."""

from __future__ import annotations

from typing import Any

from torchstone.engines.attach.backward import Backwards
from torchstone.engines.attach.clipping import Clipping
from torchstone.engines.attach.fingerprints import Fingerprints
from torchstone.engines.attach.inputs import Inputs
from torchstone.engines.attach.loaders import Loaders
from torchstone.engines.attach.losses import Losses
from torchstone.engines.attach.models import Models
from torchstone.engines.attach.optimizers import Optimizers
from torchstone.engines.attach.patches import Patches
from torchstone.engines.attach.recorder import Recorder
from torchstone.engines.attach.saving import Saving
from torchstone.engines.attach.scalers import Scalers
from torchstone.engines.attach.schedulers import Schedulers
from torchstone.engines.attach.seeds import Seeds


class Wiring:
    """The wires of one recorder. `attach` before the loop, `detach` after it; numbers of the loop never change."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.models = Models(recorder)
        self.optimizers = Optimizers(recorder, self.models)
        self.backwards = Backwards(recorder, self.models, self.optimizers)
        self.scalers = Scalers(recorder, self.models, self.optimizers, self.backwards)
        self.losses = Losses(recorder, self.models)
        self.loaders = Loaders(recorder, self.models, self.backwards, self.losses)
        self.inputs = Inputs(recorder, self.models, self.losses)
        self.fingerprints = Fingerprints(recorder, self.loaders)
        self._wires: list[Any] = [
            self.models, self.optimizers, self.backwards, self.scalers, self.losses, self.loaders,
            Clipping(recorder, self.optimizers, self.backwards, self.scalers),
            Schedulers(recorder, self.optimizers, self.backwards), Saving(recorder), Seeds(recorder),
        ]  # fmt: skip
        self._patches = Patches()

    def attach(self) -> None:
        """Replaces and hooks what is to be seen."""
        for wire in self._wires:
            wire.attach(self._patches)

    def take(self, model: Any = None, optimizer: Any = None) -> None:
        """What was built before the wires: a module or several, an optimizer or several."""
        for one in _listed(model):
            self.models.add(one)
        for one in _listed(optimizer):
            self.optimizers.wheel(getattr(one, "optimizer", one))

    def detach(self) -> None:
        """Puts everything back; the last look comes before."""
        self.recorder.close()
        self._patches.undo()


def _listed(things: Any) -> list[Any]:
    if things is None:
        return []
    return list(things) if isinstance(things, (list, tuple)) else [things]
