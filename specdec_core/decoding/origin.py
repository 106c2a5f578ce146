"""How the tokens of one proposal were chosen: what a record says beside q itself."""

from dataclasses import dataclass
from enum import StrEnum


class Choice(StrEnum):
    """What picked the drafted tokens, and hence whether q is spread out or one-hot."""

    SAMPLED = "drawn from q"
    ARGMAX = "the draft's most probable token"
    COPIED = "copied from earlier text"


@dataclass(frozen=True)
class Origin:
    """Who proposed a round's drafts and how. One proposal never mixes two origins.

    Attributes:
        choice: what picked the tokens.
        by: name of the drafter that proposed, which may be one part of a composite.
        matched: tokens at the end of the sequence that matched earlier text.
        copied_from: index in the sequence of the first copied token, -1 if none was copied.
        occurrences: how often the matched tokens had occurred before.

    Example:
        >>> Origin(Choice.COPIED, "prompt lookup", matched=3, copied_from=17, occurrences=2).words
        'match of 3 tokens, copied from token 17, seen 2 times before'
    """

    choice: Choice = Choice.SAMPLED
    by: str = ""
    matched: int = 0
    copied_from: int = -1
    occurrences: int = 0

    @property
    def one_hot(self) -> bool:
        """Whether each place's q has all its mass on the drafted token, so that no dice were needed.

        Then a draft is kept with probability p, and the residual is p without it
        (Leviathan et al. 2023, algorithm 1, at q = 1).
        """
        return self.choice is not Choice.SAMPLED

    @property
    def words(self) -> str:
        """The origin as a phrase for a reader; counts tokens from 0 like every index."""
        if self.choice is not Choice.COPIED or self.copied_from < 0:
            return self.choice.value
        tokens = "1 token" if self.matched == 1 else f"{self.matched} tokens"
        seen = "once" if self.occurrences == 1 else f"{self.occurrences} times"
        return f"match of {tokens}, copied from token {self.copied_from}, seen {seen} before"
