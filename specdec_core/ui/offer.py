"""Which pairs this server offers to its visitors."""

from specdec_core.models.access import allowed_patterns, check_allowed
from specdec_core.models.errors import PairError
from specdec_core.models.registry import PAIRS
from specdec_core.models.specs import PairSpec


def presets() -> tuple[str, ...]:
    """Keys of the presets that visitors may choose; those that ship with the app always are."""
    return tuple(key for key, spec in PAIRS.items() if not refusal(spec))


def refusal(spec: PairSpec) -> str:
    """Why this server does not offer a pair, or ""."""
    try:
        for model in spec.models:
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
