"""When a run ends, and after which token: one answer for speculation and for plain decoding."""

from collections.abc import Sequence

from .types import EndReason, RunSettings, Stop


def room(run: RunSettings, context: int, emitted: int) -> tuple[int, EndReason]:
    """How many tokens a run may still emit, and what leaves no more.

    Args:
        run: the run's settings.
        context: most tokens that the target's context holds.
        emitted: how many tokens were emitted so far.

    Example:
        >>> room(RunSettings((7, 8), max_new_tokens=5), context=100, emitted=3)
        (2, <EndReason.LIMIT: 'token limit'>)
        >>> room(RunSettings((7, 8), max_new_tokens=5), context=6, emitted=3)
        (1, <EndReason.CONTEXT: 'context full'>)
    """
    free = context - len(run.prompt_ids)
    if run.max_new_tokens <= free:
        return run.max_new_tokens - emitted, EndReason.LIMIT
    return free - emitted, EndReason.CONTEXT


def ending(
    run: RunSettings, context: int, emitted: Sequence[int], new: Sequence[int], stop: Stop | None
) -> tuple[int, EndReason] | None:
    """How many of some new tokens to keep and why the run ends there, or None while it goes on.

    Args:
        run, context: as in ``room``.
        emitted: tokens emitted before.
        new: tokens that would come next, one or several.
        stop: the run's text condition.

    Returns:
        The ending that keeps the fewest tokens; of equals an end token, then the text condition,
        then want of room.

    Example:
        >>> run = RunSettings((7, 8), max_new_tokens=4, end_ids=frozenset({0}))
        >>> ending(run, 100, emitted=[5], new=[3, 0, 6, 2], stop=None)
        (2, <EndReason.END_TOKEN: 'end token'>)
        >>> ending(run, 100, emitted=[5], new=[3, 6], stop=None) is None
        True
    """
    found: list[tuple[int, EndReason]] = []
    if (place := next((i for i, token in enumerate(new) if token in run.end_ids), None)) is not None:
        found.append((place + 1, EndReason.END_TOKEN))
    if stop and (met := stop([*emitted, *new])):
        found.append((max(0, met[0] - len(emitted)), met[1]))
    left, reason = room(run, context, len(emitted))
    if left <= len(new):
        found.append((left, reason))
    return min(found, key=lambda each: each[0], default=None)
