"""What a visitor can set, with its bounds, and its form in a link.

A browser may send anything, in a link or for a widget, so every value passes ``cleaned``
before it is used: unknown names fall back to the default, numbers are clamped.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from urllib.parse import urlencode

from specdec_core.decoding.types import RoundSettings, RuleName, Sampling
from specdec_core.experiments import opening

PROMPT_LIMIT = 2000
"""Characters of a prompt. A link carries no more than this either."""

MAX_GAMMA, MAX_TEMPERATURE, MAX_TOP_K, MAX_TOKENS, MAX_SEED = 16, 2.0, 200, 512, 2**32 - 1
MIN_TOP_P = 0.05

_BOUNDS = {
    "seed": (0, MAX_SEED),
    "max_tokens": (1, MAX_TOKENS),
    "gamma": (0, MAX_GAMMA),
    "temperature": (0.0, MAX_TEMPERATURE),
    "top_k": (0, MAX_TOP_K),
    "top_p": (MIN_TOP_P, 1.0),
}


@dataclass(frozen=True)
class Settings:
    """Everything the controls say.

    Attributes:
        pair, prompt, seed, rule, max_tokens: fixed when a run starts.
        gamma, temperature, top_k, top_p: in force from the next round on.
    """

    pair: str = opening.PAIR
    prompt: str = opening.PROMPT
    seed: int = opening.SEED
    rule: RuleName = opening.RULE
    max_tokens: int = opening.MAX_NEW_TOKENS
    gamma: int = opening.ROUND.gamma
    temperature: float = opening.ROUND.sampling.temperature
    top_k: int = opening.ROUND.sampling.top_k
    top_p: float = opening.ROUND.sampling.top_p

    @property
    def round(self) -> RoundSettings:
        """What the next round is told. A greedy run ignores the sampling settings by its rule."""
        return RoundSettings(self.gamma, Sampling(self.temperature, self.top_k, self.top_p))


DEFAULT = Settings()


def cleaned(raw: Mapping[str, object], pairs: tuple[str, ...], base: Settings = DEFAULT) -> Settings:
    """Settings from values that came from a browser.

    Args:
        raw: values by the names of ``Settings``, of any type; unknown names are ignored.
        pairs: keys of the pairs there are.
        base: what stands where a value is missing or is nonsense.

    >>> cleaned({"gamma": "99", "temperature": "nan", "rule": "magic"}, ("embedded",)).gamma
    16
    """
    kept: dict[str, object] = {}
    for field in fields(Settings):
        if field.name in raw:
            kept[field.name] = _clean(field.name, raw[field.name], getattr(base, field.name), pairs)
    return replace(base, **kept)  # type: ignore[arg-type]


def link(settings: Settings, page_url: str) -> str:
    """A link that opens the page with these settings; what equals the default is left out."""
    given, default = asdict(settings), asdict(DEFAULT)
    changed = {name: value for name, value in given.items() if value != default[name]}
    # A surrogate that no encoding knows must not break the page that offers the link.
    query = urlencode(changed, errors="replace")
    return page_url.partition("?")[0] + (f"?{query}" if query else "")


def _clean(name: str, value: object, default: object, pairs: tuple[str, ...]) -> object:
    if name == "pair":
        return value if value in pairs else default
    if name == "rule":
        return RuleName(value) if value in tuple(RuleName) else default
    if name == "prompt":
        return value[:PROMPT_LIMIT] if isinstance(value, str) else default
    low, high = _BOUNDS[name]
    number = _number(value)
    if number is None:
        return default
    clamped = min(max(number, low), high)
    return float(clamped) if isinstance(default, float) else round(clamped)


def _number(value: object) -> float | None:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
