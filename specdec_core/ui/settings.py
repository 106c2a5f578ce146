"""What a visitor can set, with its bounds, and what is made of values that cannot be taken as they are.

A browser may send anything, in a link or for a widget, so every value passes ``understood``
before it is used: it gives the nearest value or the default, and a sentence for the visitor.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

from specdec_core.decoding.settings import RoundSettings, RuleName, Sampling
from specdec_core.experiments import opening

PROMPT_LIMIT = 2000
"""Characters of a prompt that can be run. A link carries no more than this either."""

MAX_GAMMA, MAX_TEMPERATURE, MAX_TOP_K, MAX_TOKENS, MAX_SEED = 16, 2.0, 200, 512, 2**32 - 1
MIN_TOP_P = 0.05

_NUMBERS: dict[str, tuple[str, float, float]] = {
    "seed": ("Seed", 0, MAX_SEED),
    "max_tokens": ("Number of tokens", 1, MAX_TOKENS),
    "gamma": ("Draft length γ", 0, MAX_GAMMA),
    "temperature": ("Temperature", 0.0, MAX_TEMPERATURE),
    "top_k": ("Top-k", 0, MAX_TOP_K),
    "top_p": ("Top-p", MIN_TOP_P, 1.0),
}
"""Name on screen, least and most of every number."""

_SHOWN = 24
"""Characters of a value that is quoted back."""


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
NAMES = tuple(field.name for field in fields(Settings))


def cleaned(raw: Mapping[str, object], pairs: Sequence[str]) -> Settings:
    """Settings from values that came from a browser; the defaults stand for what is missing.

    Args:
        raw: values by the names of ``Settings``, of any type; unknown names are ignored.
        pairs: keys of the pairs there are.

    >>> cleaned({"gamma": "99", "temperature": "nan", "rule": "magic"}, ("embedded",)).gamma
    16
    """
    known = {name: understood(name, raw[name], pairs)[0] for name in NAMES if name in raw}
    return replace(DEFAULT, **known)  # type: ignore[arg-type]


def understood(name: str, value: object, pairs: Sequence[str]) -> tuple[object, str]:
    """The value to use for a setting, and a sentence if that is not the one given, else "".

    >>> understood("gamma", "99", ())
    (16, 'Draft length γ 99 is more than the most, 16; 16 is used.')
    >>> understood("seed", "1.5", ())
    (2, 'Seed 1.5 is not a whole number; 2 is used.')
    """
    default = getattr(DEFAULT, name)
    if name == "prompt":
        return (value, "") if isinstance(value, str) else (default, "The prompt is no text.")
    if name in _NUMBERS:
        return _number(name, value, default)
    if name == "rule":
        known = value in tuple(RuleName)
        return (RuleName(value), "") if known else (default, _unknown("rule", value, default))  # type: ignore[arg-type]
    return (value, "") if value in pairs else (default, _unknown("pair", value, default))


def over_limit(prompt: str) -> str:
    """A sentence about a prompt that is too long to be run, or ""."""
    if len(prompt) <= PROMPT_LIMIT:
        return ""
    return (
        f"The prompt has {len(prompt):,} characters; at most {PROMPT_LIMIT:,} can be run. "
        "Nothing has been cut: please shorten it."
    )


def _number(name: str, value: object, default: float) -> tuple[float, str]:
    label, low, high = _NUMBERS[name]
    number = finite(value)
    if number is None:
        return default, f"{label} {quoted(value)} is not a number; {default:g} is used."
    used = min(max(number, low), high)
    if not isinstance(default, float):
        used = round(used)
    what = f"{label} {str(value).strip()[:_SHOWN]}"
    if number < low:
        return used, f"{what} is less than the least, {low:g}; {low:g} is used."
    if number > high:
        return used, f"{what} is more than the most, {high:.10g}; {high:.10g} is used."
    return used, "" if used == number else f"{what} is not a whole number; {used} is used."


def finite(value: object) -> float | None:
    """A value as a finite number, or None if it is none."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _unknown(what: str, value: object, default: object) -> str:
    return f"There is no {what} {quoted(value)}; “{default}” is used."


def quoted(value: object) -> str:
    """A value as it may be said back to whoever sent it, however long it is."""
    text = str(value)
    return f"“{text[:_SHOWN]}{'…' if len(text) > _SHOWN else ''}”"
