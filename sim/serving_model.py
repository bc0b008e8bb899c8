"""How long a step of a serving engine takes on the device, from what it processes.

    seconds = base + spread · decodes^½ + token · prefill tokens + pair · query-key pairs

- *base*: what every step does whatever it processes (weights that every token reads, launches);
- *spread*: a mixture of experts reads more weights the more sequences decode together, at a falling
  rate, since they share popular experts. Under skewed popularity the number of distinct experts met
  grows like a power of the number of draws (Heaps' law); the exponent ½ is a choice of the model,
  not fitted;
- *token*: the work on a prompt token that does not depend on the length of the prompt;
- *pair*: causal attention of prefills: a chunk of n tokens after s earlier ones has n·s + n²/2
  query-key pairs.

The parameters of a model are fitted by `benchmarks/fit_serving.py` and stand in `models/`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..model.errors import BadInput

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from .serving_scheduler import Batch

HERE = Path(__file__).parent / "models"

EXPONENT = 0.5
"""Of the decoding sequences, in what a step costs beside its base."""


class Features(NamedTuple):
    """What the duration of a step is linear in."""

    steps: float
    spread: float
    tokens: float
    pairs: float


class StepModel(NamedTuple):
    """A fitted cost model: seconds for each feature of a step."""

    name: str
    base: float
    spread: float
    token: float
    pair: float

    def seconds(self, features: Features) -> float:
        """How long a step with these features takes."""
        steps, spread, tokens, pairs = features
        return self.base * steps + self.spread * spread + self.token * tokens + self.pair * pairs


def features(batch: Batch) -> Features:
    """What a step processes, as the model sees it."""
    tokens = pairs = 0
    for chunk in batch.chunks:
        tokens += chunk.length
        pairs += chunk.length * chunk.start + chunk.length * chunk.length // 2
    return Features(1.0, batch.decodes**EXPONENT, float(tokens), float(pairs))


def model_names() -> list[str]:
    """The fitted models that come with the package."""
    return sorted(path.stem for path in HERE.glob("*.toml"))


def load_model(name: str) -> StepModel:
    """A fitted model by name; raises `BadInput` with the names that exist."""
    path = HERE / f"{name}.toml"
    if not path.is_file():
        raise BadInput(f"no cost model {name!r}: it is one of {', '.join(model_names())}")
    data = tomllib.loads(path.read_text(encoding="utf-8"))["seconds"]
    return StepModel(name, data["base_us"] * 1e-6, data["spread_us"] * 1e-6,
                     data["token_ns"] * 1e-9, data["pair_ps"] * 1e-12)  # fmt: skip
