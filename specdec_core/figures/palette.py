"""The colours of every picture: orange is the draft, blue is the target, all else is ink or grey.

Colour says which model and nothing else, so there is no third hue. One value cannot be legible
on white and on near-black, so each theme has its own palette. Text reaches a contrast of 4.5:1
against ``surface`` and marks 3:1; the light orange fill does not, so it is always outlined.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Palette:
    """The colours of one theme, as ``#rrggbb``.

    Attributes:
        name: ``"light"`` or ``"dark"``.
        surface: what the figure stands on; figures themselves are transparent.
        ink: words, verdicts, cursors.
        grey: secondary words, and marks of time that belongs to no model.
        grid: hairlines.
        draft_text, draft_line, draft_fill: words, outlines and areas of the draft.
        target_text, target_line, target_fill: the same of the target.
    """

    name: str
    surface: str
    ink: str
    grey: str
    grid: str
    draft_text: str
    draft_line: str
    draft_fill: str
    target_text: str
    target_line: str
    target_fill: str


LIGHT = Palette(
    name="light",
    surface="#FFFFFF",
    ink="#17202B",
    grey="#4D5B6A",
    grid="#D8DFE7",
    draft_text="#7A5200",
    draft_line="#7A5200",
    draft_fill="#E69F00",
    target_text="#005F96",
    target_line="#0072B2",
    target_fill="#0072B2",
)

DARK = Palette(
    name="dark",
    surface="#171D24",
    ink="#E8ECF1",
    grey="#AAB7C5",
    grid="#313C48",
    draft_text="#E69F00",
    draft_line="#E69F00",
    draft_fill="#E69F00",
    target_text="#56B4E9",
    target_line="#2C8FCC",
    target_fill="#2C8FCC",
)


def palette_for(theme: str | None) -> Palette:
    """The palette of a theme's name; anything but ``"dark"`` (an unknown theme too) is light."""
    return DARK if theme == "dark" else LIGHT


def faint(colour: str, opacity: float) -> str:
    """``colour`` as CSS ``rgba`` with the given opacity, for bands behind lines.

    >>> faint("#0072B2", 0.25)
    'rgba(0,114,178,0.25)'
    """
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"
