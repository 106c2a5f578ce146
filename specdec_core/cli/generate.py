"""`python -m specdec_core generate`: one run as text, its rounds marked, and as a trace in JSON."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specdec_core.cli import INTERRUPTED
from specdec_core.cli.options import (
    DEFAULT,
    add_draft_options,
    add_pair_options,
    add_round_options,
    check_place,
    chosen_draft,
    chosen_pair,
    round_settings,
)
from specdec_core.decoding.settings import RoundSettings, RuleName, RunSettings
from specdec_core.decoding.types import Round, Source, Verdict
from specdec_core.experiments import opening
from specdec_core.text.display import label, running_text

if TYPE_CHECKING:
    from specdec_core.experiments.live import LiveRun
    from specdec_core.traces.trace import Trace

_SHAPING = ("temperature", "top_k", "top_p", "min_p")
"""Settings that never change which token is the most probable one."""

SEAM, CORRECTION, BONUS = "│", "↺", "★"

LEGEND = f"{SEAM} a round begins   the target's token: {CORRECTION} after a rejection, {BONUS} after none"

ROUNDS_LEGEND = """\
a line a round: its number, its drafts, then the target's token
✓ kept   ✕ rejected   ( ) not tested: a draft before it was rejected   [ ] not needed: the run had ended"""

DRAFT, TARGET, PLAIN = "\x1b[33m", "\x1b[34m", "\x1b[0m"
"""The terminal's own yellow and blue, which its theme keeps legible."""


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "generate",
        help="continue a prompt and show its rounds",
        description="Continues a prompt by speculative decoding, shows its rounds, and writes the trace.",
    )
    parser.add_argument(
        "prompt", nargs="?", default=opening.PROMPT, help=f"the text to continue{DEFAULT}"
    )
    add_pair_options(parser)
    add_draft_options(parser)
    add_round_options(parser)
    rules = ", ".join(map(_option, RuleName))
    parser.add_argument(
        "--rule", default=_option(opening.RULE), metavar="RULE", help=f"one of: {rules}{DEFAULT}"
    )
    parser.add_argument(
        "--seed", type=int, default=opening.SEED, metavar="N", help=f"of all draws, 0 or more{DEFAULT}"
    )
    parser.add_argument(
        "--max-new-tokens", type=int, default=opening.MAX_NEW_TOKENS, metavar="N", help=f"at most{DEFAULT}"
    )
    parser.add_argument(
        "--chat", action="store_true", help="the prompt is a message, framed by the target's chat template"
    )
    parser.add_argument("--system", default="", metavar="TEXT", help="a system message, with --chat")
    parser.add_argument(
        "--stop", action="append", default=[], metavar="TEXT", help="ends the run; may be given several times"
    )
    parser.add_argument("--rounds", action="store_true", help="also list each round with its drafts")
    parser.add_argument("--baseline", action="store_true", help="also time the target alone")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the whole trace as JSON")


def run(args: argparse.Namespace) -> int:
    """Make the run. Whatever ends it, the rounds made until then are shown and written.

    Returns:
        0, 1 if a model failed, or 130 after Ctrl+C.
    """
    check_place(args.out)
    settings = round_settings(args)
    live = _start(args)
    for remark in remarks(live, settings, args.max_new_tokens):
        print(remark, file=sys.stderr)
    try:
        code = _decode(live, settings, args.baseline)
    finally:
        if args.out:
            _save(live.trace, args.out)
    print("\n" + "\n".join(summary(live.trace, args.rounds)))
    return code


def _start(args: argparse.Namespace) -> "LiveRun":
    # Checked with a prompt that stands in, so that a slip is told before the models are loaded.
    asked = RunSettings((0,), args.rule.replace("-", " "), args.seed, max_new_tokens=args.max_new_tokens)

    if args.system and not args.chat:
        raise ValueError("--system needs --chat: a plain prompt has no system message")

    from specdec_core.experiments.live import LiveRun
    from specdec_core.traces.trace import Framing

    pair = chosen_pair(args)
    return LiveRun.start(
        pair,
        args.prompt,
        rule=asked.rule,
        seed=asked.seed,
        draft=chosen_draft(args),
        framing=Framing(args.chat, args.system, tuple(args.stop)),
        max_new_tokens=asked.max_new_tokens,
    )


def remarks(live: "LiveRun", settings: RoundSettings, most: int) -> Iterator[str]:
    """A line for what was asked for in vain: sampling settings of a greedy run, tokens beyond the context."""
    usual = opening.ROUND.sampling
    idle = [name for name in _SHAPING if getattr(settings.sampling, name) != getattr(usual, name)]
    if idle and live.run.rule is RuleName.GREEDY:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in idle)
        yield f"note: without effect, since the greedy rule takes the most probable token: {options}"
    room = live.pair.info.target.context_length - len(live.run.prompt_ids)
    if most > room:
        yield f"note: the target's context has room for {room} tokens after the prompt, not for {most}"


def _decode(live: "LiveRun", settings: RoundSettings, baseline: bool) -> int:
    from specdec_core.decoding.checks import ModelFailure

    try:
        _write(live, lambda: live.next_round(settings), painted=sys.stdout.isatty())
        if baseline:
            live.measure_baseline(settings.sampling)
            live.measure_costs()
    except ModelFailure as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return INTERRUPTED
    return 0


def _option(rule: RuleName) -> str:
    """A rule as it is typed, without a space to quote."""
    return rule.replace(" ", "-")


def _write(live: "LiveRun", next_round: Callable[[], Round], painted: bool) -> None:
    """Print the prompt, then each round as it is made."""
    print("".join(_texts(live.trace, live.run.prompt_ids)), end="", flush=True)
    while not live.ended:
        next_round()
        print(marked_rounds(live.trace, painted)[-1], end="", flush=True)
    print()


def marked_rounds(trace: "Trace", painted: bool = False) -> list[str]:
    """The emitted text of each round behind a seam, its last token marked ↺ or ★.

    Without the marks the rounds are the run's text, whole characters only. ``painted`` adds the
    colours of the two models for a terminal.
    """
    texts = iter(_texts(trace, trace.emitted))
    signs = {
        Source.ACCEPTED: (DRAFT, ""),
        Source.CORRECTION: (TARGET, CORRECTION),
        Source.BONUS: (TARGET, BONUS),
    }
    rounds = []
    for each in trace.rounds:
        tokens = [(*signs[Source(source)], next(texts)) for source in each.sources]
        shown = [f"{colour}{sign}{text}{PLAIN}" if painted else sign + text for colour, sign, text in tokens]
        rounds.append(SEAM + "".join(shown))
    return rounds


def _texts(trace: "Trace", ids: Sequence[int]) -> list[str]:
    return running_text([trace.pieces[id_] for id_ in ids])


def summary(trace: "Trace", rounds: bool) -> Iterator[str]:
    """What the run came to, in lines; each figure with its formula."""
    yield LEGEND
    if rounds:
        yield ROUNDS_LEGEND
        yield ""
        yield from (round_line(trace, each) for each in trace.rounds)
    yield ""
    yield from _figures(trace)
    yield f"{trace.pair.title}; {trace.conditions}; seed {trace.run.seed}"


def round_line(trace: "Trace", each: Round) -> str:
    """One round: every draft with its verdict, then the target's own token.

    Drafts are marked as ``ROUNDS_LEGEND`` says, whitespace and odd bytes are made visible.
    """
    forms = {
        Verdict.ACCEPTED: "{}✓",
        Verdict.REJECTED: "{}✕",
        Verdict.NOT_TESTED: "({})",
        Verdict.NOT_NEEDED: "[{}]",
    }
    marks = {Source.CORRECTION: CORRECTION, Source.BONUS: BONUS}
    drafts = [
        forms[Verdict(verdict)].format(label(trace.pieces[int(id_)]))
        for id_, verdict in zip(each.drafted, each.verdicts, strict=True)
    ]
    own = [
        marks[Source(source)] + label(trace.pieces[int(id_)])
        for id_, source in zip(each.emitted, each.sources, strict=True)
        if source != Source.ACCEPTED
    ]
    return f"{each.index + 1:4}  {'  '.join(drafts + own)}"


def _figures(trace: "Trace") -> Iterator[str]:
    from specdec_core.traces import metrics

    counts = metrics.counts(trace)
    yield f"{counts.emitted} tokens in {counts.rounds} rounds; {trace.end.value if trace.end else 'stopped'}"
    yield f"kept of tested      {counts.accepted} of {counts.tested}"
    yield f"kept of drafted     {counts.accepted} of {counts.drafted}"
    yield f"tokens per round    {_number(metrics.tokens_per_round(trace))}, correction or bonus included"
    yield f"overlap Σ min(p, q) {_number(metrics.mean_overlap(trace))}, mean over tested places"
    yield f"time per token      {_milliseconds(metrics.time_per_token(trace))}"
    if trace.baseline and trace.costs:
        yield f"target alone        {_milliseconds(metrics.baseline_time_per_token(trace))}"
        yield f"speed-up            {_times(metrics.speedup_measured(trace))} measured"
        yield f"  E / (γ·c + v(γ))  {_times(metrics.speedup_expected(trace))} with E as measured"
        yield f"                    {_times(metrics.speedup_model(trace))} with E = (1 − α^(γ+1)) / (1 − α)"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _times(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}×"


def _milliseconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{1e3 * seconds:.2f} ms"


def _save(trace: "Trace", path: Path) -> None:
    from specdec_core.traces.json_codec import dumps

    path.write_text(dumps(trace), encoding="utf-8")
    print(f"trace written to {path}", file=sys.stderr)
