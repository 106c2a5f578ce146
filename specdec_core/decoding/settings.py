"""What a run is told: how tokens are chosen, what may change between rounds, what stays.

Free of torch, so that a page or a command line can name and check settings at once.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from numbers import Integral

MOST_DRAFTED = 64
"""The largest draft length that a round accepts."""


def _require(ok: bool, name: str, value: object, wanted: str) -> None:
    if not ok:
        raise ValueError(f"{name} is {value}; it must be {wanted}")


def _whole(value: object, low: int, high: int) -> bool:
    """Whether a value is a whole number from ``low`` to ``high``, numpy's included."""
    return isinstance(value, Integral) and low <= value <= high


class RuleName(StrEnum):
    """The verification rules, by the words that stand on screen and in records.

    ``decoding.rules.RULES`` says what each one does; the names alone need no torch.
    """

    SPECULATIVE_SAMPLING = "speculative sampling"
    GREEDY = "greedy"
    EXACT_MATCH = "exact match"


@dataclass(frozen=True)
class Sampling:
    """How logits become a law: the same settings shape both p and q.

    Attributes:
        temperature: divides the logits; 0 puts all mass on the argmax (a branch, no limit).
        top_k: keep the k most probable tokens; 0 keeps all.
        top_p: keep the smallest set of most probable tokens with at least this mass; 1 keeps all.
        min_p: keep tokens with at least this share of the largest probability; 0 keeps all.
        repetition_penalty: logits of tokens already in the sequence are divided by it if
            positive and multiplied if negative (Keskar et al. 2019, section 4.1); 1 is off.

    Raises:
        ValueError: naming the setting that lies outside its range.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0

    @property
    def greedy(self) -> bool:
        """Whether the law puts all mass on the most probable token."""
        return self.temperature == 0.0

    def argmax(self) -> "Sampling":
        """These settings with all mass on the most probable token, which is what temperature 0 means."""
        return replace(self, temperature=0.0)

    def __post_init__(self) -> None:
        _require(0.0 <= self.temperature <= 100.0, "temperature", self.temperature, "from 0 to 100")
        _require(_whole(self.top_k, 0, 2**31), "top_k", self.top_k, "a whole number, 0 (off) or more")
        _require(0.0 < self.top_p <= 1.0, "top_p", self.top_p, "above 0 and at most 1")
        _require(0.0 <= self.min_p <= 1.0, "min_p", self.min_p, "from 0 to 1")
        _require(
            0.0 < self.repetition_penalty <= 100.0,
            "repetition_penalty",
            self.repetition_penalty,
            "above 0 and at most 100",
        )


@dataclass(frozen=True)
class RoundSettings:
    """What may change from one round to the next: draft length and sampling."""

    gamma: int = 4
    sampling: Sampling = Sampling()

    def __post_init__(self) -> None:
        wanted = f"a whole number from 0 to {MOST_DRAFTED}"
        _require(_whole(self.gamma, 0, MOST_DRAFTED), "gamma", self.gamma, wanted)


@dataclass(frozen=True)
class RunSettings:
    """What is fixed for a whole run.

    Attributes:
        prompt_ids: the prompt, at least one token.
        rule: the verification rule; its plain text, such as "exact match", will do.
        seed: key of all draws; two runs with equal settings and seed are equal.
        branch: second half of the key; a fork of a run gets a new one.
        max_new_tokens: the run ends after this many emitted tokens.
        end_ids: tokens that end the run.

    Raises:
        ValueError: naming the setting that lies outside its range.

    Example:
        >>> RunSettings((1, 2), "exact match").rule
        <RuleName.EXACT_MATCH: 'exact match'>
        >>> RunSettings((1, 2), "typical")
        Traceback (most recent call last):
            ...
        ValueError: rule is typical; it must be speculative sampling, greedy or exact match
    """

    prompt_ids: tuple[int, ...]
    rule: RuleName = RuleName.SPECULATIVE_SAMPLING
    seed: int = 0
    branch: int = 0
    max_new_tokens: int = 64
    end_ids: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        *most, last = RuleName
        _require(self.rule in tuple(RuleName), "rule", self.rule, f"{', '.join(most)} or {last}")
        object.__setattr__(self, "rule", RuleName(self.rule))
        _require(len(self.prompt_ids) >= 1, "prompt_ids", "an empty prompt", "at least one token")
        key = "a whole number from 0 to 2^64 - 1"
        _require(_whole(self.seed, 0, 2**64 - 1), "seed", self.seed, key)
        _require(_whole(self.branch, 0, 2**64 - 1), "branch", self.branch, key)
        tokens = self.max_new_tokens
        _require(_whole(tokens, 1, 2**63), "max_new_tokens", tokens, "a whole number, 1 or more")

    def in_force(self, sampling: Sampling) -> Sampling:
        """What really shapes both laws: the greedy rule is temperature 0, whatever is set.

        Example:
            >>> RunSettings((1,), RuleName.GREEDY).in_force(Sampling(0.8, top_k=5))
            Sampling(temperature=0.0, top_k=5, top_p=1.0, min_p=0.0, repetition_penalty=1.0)
        """
        return sampling.argmax() if self.rule is RuleName.GREEDY else sampling
