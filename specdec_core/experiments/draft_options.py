"""What can be set of a draft, with bounds: the one home of both, for screen and command line."""

from dataclasses import dataclass

Value = int | float | str


@dataclass(frozen=True)
class Option:
    """One thing that can be set.

    Attributes:
        key: name in code and on the command line.
        title: name on screen.
        help: what it does, in one sentence.
        default: its value unless chosen. Its type is the option's type.
        minimum, maximum: bounds of a number, both allowed.
        step: distance between values that a slider offers.
        choices: the allowed texts; empty for a number.
    """

    key: str
    title: str
    help: str
    default: Value
    minimum: float = 0
    maximum: float = 0
    step: float = 1
    choices: tuple[str, ...] = ()

    def objection(self, value: Value) -> str | None:
        """What is wrong with a value, as a clause, or None.

        Example:
            >>> Option("depth", "Layers", "", 2, 1, 5).objection(9)
            'depth is 9; it must be a whole number from 1 to 5'
            >>> Option("tokens", "Tokens", "", "sampled", choices=("sampled", "argmax")).objection("argmax")
        """
        if self.choices:
            return None if value in self.choices else f"{self._is(value)} {' or '.join(self.choices)}"
        whole = isinstance(self.default, int)
        right = type(value) is int or (type(value) is float and not whole)
        if right and self.minimum <= value <= self.maximum:  # type: ignore[operator]
            return None
        number = "a whole number" if whole else "a number"
        return f"{self._is(value)} {number} from {self.minimum} to {self.maximum}"

    def _is(self, value: Value) -> str:
        return f"{self.key} is {value}; it must be"


TOKEN_OPTION = Option(
    "tokens",
    "Draft tokens are",
    "Sampled: drawn from q. Argmax: the most probable token, so that q is one-hot and it is kept with "
    "probability p.",
    "sampled",
    choices=("sampled", "argmax"),
)

NGRAM_OPTIONS = (
    Option("max_ngram", "Longest match", "Tokens tried first; a longer match is a surer one.", 3, 1, 16),
    Option(
        "min_ngram",
        "Shortest match",
        "Fewest tokens that have to match; with 1 nearly every round proposes something.",
        1,
        1,
        16,
    ),
)

MATCH_OPTIONS = (
    Option("max_match", "Longest match", "Longest suffix that is looked for, in tokens.", 24, 1, 64),
    Option("factor", "Reach", "Tokens proposed for each token that matches.", 2.0, 0.25, 8.0, 0.25),
    Option(
        "min_share",
        "Least likely",
        "Drafting stops where the share of earlier text that went this way falls below this.",
        0.1,
        0.0,
        1.0,
        0.05,
    ),
)


def depth_option(layers: int) -> Option:
    """How many of the target's first layers draft.

    Nine tenths of them unless chosen: an untrained exit much earlier says hardly anything that
    the target would (SmolLM2, 30 layers: Σ min(p, q) is 0.59 at 29, 0.41 at 27, 0.11 at 20).
    """
    return Option(
        "depth",
        "Layers run",
        f"Of the target's {layers} layers, how many run before the answer is read.",
        max(1, min(layers - 1, round(layers * 0.9))),
        1,
        layers - 1,
    )


def skipped_option(layers: int) -> Option:
    """How many of the target's inner layers are left out.

    A tenth of them unless chosen (SmolLM2, 30 layers, spread evenly: Σ min(p, q) is 0.73 with 1
    left out, 0.45 with 2, 0.42 with 5, 0.20 with 8; blocks of neighbours do no better).
    """
    return Option(
        "skipped",
        "Layers skipped",
        f"Of the target's {layers} layers, how many between the first and the last are left out.",
        max(1, round((layers - 2) / 10)),
        1,
        layers - 2,
    )
