"""What a visitor can set, with its bounds, and what is made of values that cannot be taken as they are.

A browser may send anything, in a link or for a widget, so every value passes ``understood``
before it is used: it gives the nearest value or the default, and a sentence for the visitor.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace

from specdec_core.decoding.settings import RoundSettings, RuleName, Sampling
from specdec_core.experiments import opening
from specdec_core.ui import drafts

PROMPT_LIMIT = 4000
"""Characters of a prompt that can be run: a full page. As many fit into a link in any script."""

SYSTEM_LIMIT = 1000
"""Characters of a system prompt."""

MAX_STOPS, STOP_LIMIT = 4, 60
"""Texts that may end a run, and the characters of each."""

MAX_GAMMA, MAX_TEMPERATURE, MAX_TOP_K, MAX_TOKENS, MAX_SEED = 16, 2.0, 200, 512, 2**64 - 1
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
        draft: what drafts, as ``drafts.written`` puts it; "" for the pair's own. Fixed when a run starts.
        chat: whether the prompt is a message where the model has a chat template. Fixed likewise.
        system: system prompt of a chat, "" for none. Fixed likewise.
        stop: texts that end the run, one a line, as ``stop_strings`` reads them. Fixed likewise.
        gamma, temperature, top_k, top_p: in force from the next round on.
    """

    pair: str = opening.PAIR
    prompt: str = opening.PROMPT
    seed: int = opening.SEED
    rule: RuleName = opening.RULE
    max_tokens: int = opening.MAX_NEW_TOKENS
    draft: str = ""
    chat: bool = True
    system: str = ""
    stop: str = ""
    gamma: int = opening.ROUND.gamma
    temperature: float = opening.ROUND.sampling.temperature
    top_k: int = opening.ROUND.sampling.top_k
    top_p: float = opening.ROUND.sampling.top_p

    @property
    def stop_strings(self) -> tuple[str, ...]:
        """The texts that end the run; ``\\n`` and ``\\t`` stand for a line break and a tab.

        >>> Settings(stop="The end\\n.\\\\n").stop_strings
        ('The end', '.\\n')
        """
        texts = (line.replace("\\n", "\n").replace("\\t", "\t") for line in self.stop.splitlines())
        return tuple(filter(None, texts))

    @property
    def round(self) -> RoundSettings:
        """What the next round is told. A greedy run ignores the sampling settings by its rule."""
        return RoundSettings(self.gamma, Sampling(self.temperature, self.top_k, self.top_p))


DEFAULT = Settings()
NAMES = tuple(field.name for field in fields(Settings))
ROUND_NAMES = ("gamma", "temperature", "top_k", "top_p")
"""Those that are in force from the next round on; the others belong to a new run."""


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
    if name in _TEXTS:
        return _TEXTS[name](value)
    if name == "rule":
        known = value in tuple(RuleName)
        return (RuleName(value), "") if known else (default, _unknown("rule", value, default))  # type: ignore[arg-type]
    return (value, "") if value in pairs else (default, _unknown("pair", value, default))


def _draft(value: object) -> tuple[str, str]:
    used = drafts.tidied(value) if isinstance(value, str) else None
    return ("", f"There is no draft {quoted(value)}; the pair's own is used.") if used is None else (used, "")


def _chat(value: object) -> tuple[bool, str]:
    known = {"true": True, "1": True, "false": False, "0": False}
    used = known.get(str(value).strip().lower())
    return (
        (DEFAULT.chat, f"Chat {quoted(value)} is neither true nor false; true is used.")
        if used is None
        else (used, "")
    )


def _system(value: object) -> tuple[str, str]:
    if not isinstance(value, str):
        return "", "The system prompt is no text; none is used."
    cut = f"The system prompt has {len(value):,} characters; the first {SYSTEM_LIMIT:,} are used."
    return value[:SYSTEM_LIMIT], cut if len(value) > SYSTEM_LIMIT else ""


def _stop(value: object) -> tuple[str, str]:
    if not isinstance(value, str):
        return "", "The stop text is no text; none is used."
    lines = [line for line in value.splitlines() if line]
    used = "\n".join(line[:STOP_LIMIT] for line in lines[:MAX_STOPS])
    if used == "\n".join(lines):
        return used, ""
    return used, f"At most {MAX_STOPS} stop texts of {STOP_LIMIT} characters each are used."


_TEXTS = {"draft": _draft, "chat": _chat, "system": _system, "stop": _stop}


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
    number = _exact(value)
    if number is None:
        return default, f"{label} {quoted(value)} is not a number; {_plain(default)} is used."
    used = min(max(number, low), high)
    used = round(used) if isinstance(default, int) else float(used)
    what = f"{label} {str(value).strip()[:_SHOWN]}"
    if number < low:
        return used, f"{what} is less than the least, {_plain(low)}; {_plain(low)} is used."
    if number > high:
        return used, f"{what} is more than the most, {_plain(high)}; {_plain(high)} is used."
    return used, "" if used == number else f"{what} is not a whole number; {used} is used."


def _exact(value: object) -> float | None:
    """A value as a number: a whole one to its last digit, of which a float would lose some."""
    if isinstance(value, int | str):
        with suppress(ValueError):
            return int(value)
    return finite(value)


def _plain(number: float) -> str:
    return str(number) if isinstance(number, int) else f"{number:g}"


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
