"""The corpus: plain-text books in, stories out, a held-out share set aside by story.

A book is a text file with one paragraph a line. The files carry no mark between
stories, so a story is taken to begin at a paragraph that opens as stories do ("Once
upon a time", "There was once", "A certain king", ...). In books of fables most
paragraphs are a whole fable, so there every paragraph begins one, unless it is short or
spoken and therefore belongs to the fable before it.

Three simple rules keep the editors out of the stories: everything before a book's first
story is front matter, everything from the first "Source.--" note on is back matter, and
a paragraph with the words of a scholar or a printer in it ("translated from",
"amended to", "vol. ii") is commentary.
"""

import random
import re
from dataclasses import dataclass
from pathlib import Path

FABLE_BOOKS = ("pg11339", "pg28")
HELD_OUT_SHARE = 0.05
SHORTEST_STORY = 300
SHORTEST_FABLE = 200

_OPENING = re.compile(
    r"""["']?(
        Once\ upon\ a\ time | Once\ there\ (was|were|lived) | Once\ on\ a\ time
      | There\ (was|were|lived|dwelt)\ (once|formerly|in\ )
      | There\ once | There\ lived
      | There\ (was|were)\ (a|an|two|three)\ (certain|poor|rich|old|man|woman|king|queen|
          prince|soldier|merchant|miller|fisherman|widow|peasant|hunter|boy|girl|brothers)
      | In\ (the\ )?(olden|old|former|ancient)\ (times|days)
      | In\ a\ certain | In\ days\ of | In\ the\ (days|time|reign|land)\ of
      | A\ certain | A\ (poor|rich|king|farmer|woodcutter|soldier|merchant|peasant)\b[^,.]*\ (had|lived|was)
      | (A\ )?[Ll]ong(,\ long)?\ (time\ )?ago | (A\ great\ )?[Mm]any\ years\ ago
      | Far,?\ far\ away
    )""",
    re.VERBOSE,
)
_BACK_MATTER = re.compile(r"Sources?\.--")
_COMMENTARY = re.compile(
    r"https?:|Proofreading|E-text|amended to|[Tt]ranslat(ed|ion|or)|folk-?lore|[Ff]olk-?tale|[Mm]ytholog"
    r"|\bvol\.|\bpp?\. ?\d|\bNo\. ?\d|\b[ivx]+\. \d|\bedition|[Ss]kazk|Afanasief|Slavonic|Aryan|Sanskrit"
    r"|Parallels\.--|Remarks\.--|\bvariants?\b|\bversions?\b|Grimms?\b|Plates\b|\b1[6-9]\d\d\b"
)


@dataclass(frozen=True)
class Split:
    """Stories to train on and stories never trained on."""

    train: list[str]
    held_out: list[str]


def load_split(folder: Path, seed: int) -> Split:
    """Read every book under `folder` and hold out about 5 % of the stories, by seed.

    The training stories come back shuffled, so that neighbours in the token stream are
    not always from the same book.
    """
    stories = [story for path in sorted(folder.glob("pg*.txt")) for story in read_stories(path)]
    if not stories:
        raise FileNotFoundError(f"no book named pg*.txt with a story in it under {folder}")
    stories = sorted(set(stories))
    random.Random(seed).shuffle(stories)
    held_out = max(1, round(len(stories) * HELD_OUT_SHARE))
    return Split(train=stories[held_out:], held_out=stories[:held_out])


def read_stories(path: Path) -> list[str]:
    """The stories of one book, each a text with a newline between paragraphs."""
    paragraphs = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return split_stories(paragraphs, fables=path.stem in FABLE_BOOKS)


def split_stories(paragraphs: list[str], fables: bool = False) -> list[str]:
    """Cut a book's paragraphs into stories; see the module's docstring for the rules."""
    begins = _begins_fable if fables else _begins_story
    stories: list[list[str]] = []
    for paragraph in paragraphs:
        if _BACK_MATTER.match(paragraph):
            break
        if _COMMENTARY.search(paragraph):
            continue
        if begins(paragraph):
            stories.append([])
        if stories:
            stories[-1].append(paragraph)
    texts = ["\n".join(story) for story in stories]
    return [text for text in texts if len(text) >= (SHORTEST_FABLE if fables else SHORTEST_STORY)]


def _begins_story(paragraph: str) -> bool:
    return _OPENING.match(paragraph) is not None


def _begins_fable(paragraph: str) -> bool:
    return len(paragraph) >= SHORTEST_FABLE and paragraph[0] not in "\"'" and "fable" not in paragraph.lower()


def opening(story: str, words: int) -> str:
    """The first `words` words of a story: a prompt."""
    return " ".join(story.split()[:words])
