"""The pairs a person can choose from: presets, and any two models put together by hand."""

from pathlib import Path

from specdec_core.models.access import folder_model, hub_model
from specdec_core.models.errors import PairError
from specdec_core.models.presets import read_presets
from specdec_core.models.specs import ModelRef, PairSpec

_ASSETS = Path(__file__).resolve().parents[2] / "assets"

PAIRS: dict[str, PairSpec] = read_presets(_ASSETS / "pairs.toml", _ASSETS / "models")
"""Every preset by its key; the first one is the default."""

HUB, FOLDER = "hub:", "folder:"
"""What a model's name in a custom pair begins with."""

SEPARATOR = "<-"


def known_models() -> dict[str, ModelRef]:
    """Every model of the presets by its name."""
    return {model.name: model for spec in PAIRS.values() for model in spec.models}


def find_pair(key: str) -> PairSpec:
    """A preset by its key, or two models of a person's own choice.

    A custom pair is written ``TARGET<-DRAFT`` or ``TARGET`` alone, each model as ``hub:ID``,
    as ``folder:NAME`` inside ``SPECDEC_MODELS_DIR``, or by its name in the presets.

    Raises:
        PairError: there is no such pair, or a name in it is not allowed.

    Example:
        >>> find_pair("hub:Qwen/Qwen3-1.7B <- qwen3-0.6b").title
        'Qwen3-1.7B with Qwen3 0.6B'
    """
    if key in PAIRS:
        return PAIRS[key]
    names = [name.strip() for name in key.split(SEPARATOR)]
    custom = len(names) == 2 or names[0].startswith((HUB, FOLDER)) or names[0] in known_models()
    if not custom or len(names) > 2:
        raise PairError(f"There is no pair {key[:200]!r}. Known pairs: {', '.join(PAIRS)}.")
    return custom_pair(*map(find_model, names))


def find_model(name: str) -> ModelRef:
    """A model as a custom pair names it: ``hub:ID``, ``folder:NAME``, or a name in the presets.

    Raises:
        PairError: there is no such model, or the name is not allowed.
    """
    if name.startswith(HUB):
        return hub_model(name.removeprefix(HUB).strip())
    if name.startswith(FOLDER):
        return folder_model(name.removeprefix(FOLDER).strip())
    if name not in known_models():
        raise PairError(f"There is no model {name[:100]!r}. Known models: {', '.join(known_models())}.")
    return known_models()[name]


def custom_pair(target: ModelRef, draft: ModelRef | None = None) -> PairSpec:
    """Two models as a pair; whether they belong together is for the checklist to say."""
    models = [target, draft] if draft else [target]
    licences = {model.licence for model in models if model.licence}
    return PairSpec(
        key=SEPARATOR.join(map(_written, models)),
        title=" with ".join(model.title for model in models),
        summary="A pair put together by hand.",
        target=target,
        draft=draft,
        licence=", ".join(sorted(licences)) or "see the models' own pages",
    )


def folder_pair(key: str, title: str, summary: str, target: Path, draft: Path, licence: str) -> PairSpec:
    """A pair of two folders that the program itself has chosen."""
    models = [ModelRef(each.name, each.name, folder=each, licence=licence) for each in (target, draft)]
    return PairSpec(key, title, summary, *models, licence)


def _written(model: ModelRef) -> str:
    if model.name in known_models():
        return model.name
    return f"{HUB}{model.hub_id}" if model.hub_id else f"{FOLDER}{model.name}"
