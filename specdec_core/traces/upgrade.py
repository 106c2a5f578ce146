"""Older JSON traces in the form of today's, field by field, before anything is checked.

Each step knows one version and the next. What it meets may be malformed: it fills in what the
newer form has beside the old fields and leaves all else as it is, for the reader to judge.
"""

from collections.abc import Callable
from typing import Any

from specdec_core.decoding.origin import Origin

Fields = dict[str, Any]


def upgraded(fields: Fields, version: int) -> Fields:
    """The fields of a trace of that version as the newest version has them.

    Example:
        >>> old = {"costs": {"tokens": [1], "target": [0.006]}, "replay": [{"other": 0.1}], "rounds": []}
        >>> new = upgraded(old, 1)
        >>> new["costs"]["plain"], new["costs"]["rest"], new["replay"]
        (0.006, [0.0], [{'other': 0.1, 'record': 0.0}])
    """
    for step in _STEPS[version - 1 :]:
        fields = step(fields)
    return fields


def _to_2(fields: Fields) -> Fields:
    """Version 1 counted recording as other time, timed passes alone, and knew one kind of draft."""
    plain = {"framing": {"chat": False, "system": "", "stop_strings": []}}
    return plain | _changed(fields, costs=_costs_to_2, replay=_each(_times_to_2), rounds=_each(_round_to_2))


def _round_to_2(item: Fields) -> Fields:
    drawn = Origin()
    origin = {
        "choice": drawn.choice.value,
        "by": drawn.by,
        "matched": drawn.matched,
        "copied_from": drawn.copied_from,
        "occurrences": drawn.occurrences,
    }
    return {**_changed(item, times=_object(_times_to_2)), "origin": origin}


def _times_to_2(times: Fields) -> Fields:
    return {**times, "record": 0.0}


def _costs_to_2(costs: Any) -> Any:
    if not isinstance(costs, dict) or not isinstance(costs.get("target"), list) or not costs["target"]:
        return costs
    target = costs["target"]
    return {**costs, "rest": [0.0] * len(target), "plain": target[0]}


def _changed(fields: Fields, **changes: Callable[[Any], Any]) -> Fields:
    """Those fields changed that are there."""
    return {**fields, **{name: change(fields[name]) for name, change in changes.items() if name in fields}}


def _each(change: Callable[[Fields], Fields]) -> Callable[[Any], Any]:
    """The change for each object in a list."""
    one = _object(change)
    return lambda items: [one(item) for item in items] if isinstance(items, list) else items


def _object(change: Callable[[Fields], Fields]) -> Callable[[Any], Any]:
    return lambda value: change(value) if isinstance(value, dict) else value


_STEPS = (_to_2,)
"""What leads from version n to n + 1, in order."""
