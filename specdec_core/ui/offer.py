"""Which pairs this server offers to its visitors."""

from specdec_core.models.access import allowed_patterns, check_allowed, folder_names
from specdec_core.models.errors import PairError
from specdec_core.models.registry import FOLDER, HUB, PAIRS, SEPARATOR, custom_pair, find_model, find_pair
from specdec_core.models.specs import ModelRef, PairSpec


def presets() -> tuple[str, ...]:
    """Keys of the presets that visitors may choose; those that ship with the app always are."""
    return tuple(key for key, spec in PAIRS.items() if not refusal(spec))


def is_custom(pair: str) -> bool:
    """Whether a name is meant to be a pair put together by hand.

    >>> is_custom("hub:Qwen/Qwen3-1.7B"), is_custom("embedded")
    (True, False)
    """
    return pair not in PAIRS and (SEPARATOR in pair or pair.startswith((HUB, FOLDER)))


def custom(pair: str) -> PairSpec:
    """A pair put together by hand, from its name.

    Raises:
        PairError: there is no such pair, or this server does not offer it.
    """
    return _offered(find_pair(pair))


def put_together(kind: str, target: str, draft: str) -> PairSpec:
    """A pair of two models that a visitor names; without a draft, of one.

    Args:
        kind: ``registry.HUB`` or ``registry.FOLDER``: what the names are names of.
        target, draft: as they were typed or chosen.

    Raises:
        PairError: a name is none, or this server does not offer it.

    Example:
        >>> put_together(HUB, "Qwen/Qwen3-1.7B", "").key
        'hub:Qwen/Qwen3-1.7B'
    """
    names = filter(None, (target.strip(), draft.strip()))
    models = [find_model(kind + name) for name in names]
    if not target.strip():
        raise PairError("A pair needs a target; a draft it can do without.")
    return _offered(custom_pair(*models))


def hub_is_open() -> bool:
    """Whether visitors may name models on the hub, all or some."""
    return allowed_patterns() != ()


def folders() -> tuple[str, ...]:
    """The folders of this server that visitors may choose."""
    return tuple(name for name in folder_names() if _may_have(name))


def _may_have(folder: str) -> bool:
    try:
        return not _refusal(find_model(FOLDER + folder))
    except PairError:
        return False


def _offered(spec: PairSpec) -> PairSpec:
    if sentence := refusal(spec):
        raise PairError(sentence)
    return spec


def refusal(spec: PairSpec) -> str:
    """Why this server does not offer a pair, or ""."""
    return next(filter(None, map(_refusal, spec.models)), "")


def _refusal(model: ModelRef) -> str:
    try:
        check_allowed(model)
    except PairError as error:
        return str(error)
    return ""


def limits() -> str:
    """What a visitor should know about pairs that are not offered, or ""."""
    patterns = allowed_patterns()
    if patterns is None:
        return ""
    if not patterns:
        return "This server offers only the pairs that come with the app."
    return f"This server offers the pairs that come with the app, and models named {', '.join(patterns)}."
