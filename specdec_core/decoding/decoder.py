"""Speculative decoding: draft, verify, test, correct, rewind; one ``Round`` at a time.

The algorithm of Leviathan et al. 2023 (arXiv 2211.17192, algorithm 1), with the verification
rule, the drafter and the recorder as objects. The loop knows token ids and logits only:
nothing of tokenizers, text, devices or screens.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
import torch
from torch import Tensor

from .cache import SequenceModel
from .checks import read
from .clock import Clock, host_clock
from .draws import Draws
from .ending import ending, room
from .evidence import Evidence, weigh
from .filters import law
from .proposal import Drafter, DraftRequest, Proposal
from .record import FullRecorder, Recorder
from .rules import RULES, Rule
from .types import (
    DraftStop,
    EndReason,
    Prefill,
    Round,
    RoundFlags,
    RoundSettings,
    RoundTimes,
    RunSettings,
    Sampling,
    Source,
    Stop,
    Verdict,
)

_UNFLAGGED = RoundFlags()
_SHORTAGE = {EndReason.LIMIT: DraftStop.LIMIT, EndReason.CONTEXT: DraftStop.CONTEXT}
"""Why a round drafts no more, by what leaves the run no room."""


class RunEnded(RuntimeError):
    """The run has ended; there is no further round."""


@dataclass(frozen=True)
class Outcome:
    """What one round adds to the sequence.

    Attributes:
        tokens: the emitted tokens, clipped where the run ends.
        kept: how many of them were drafted.
        tested: how many drafts were tested before the run ended.
        end: why the run ends here, or None.
        clipped: accepted drafts that lie after the end.
    """

    tokens: list[int]
    kept: int
    tested: int
    end: EndReason | None
    clipped: int


class Decoder:
    """One run: a sequence growing by one round at a time.

    Args:
        target: the target with an empty cache of its own.
        drafter: proposes tokens.
        run: what is fixed for the run.
        recorder: turns a round's evidence into its record.
        stop: tells from the emitted tokens whether a text condition ends the run.
        clock: notes moments on the device that the models run on.
        rule: verifies in place of the run's own; for times at an acceptance rate of one's choosing.

    Attributes:
        ids: the committed sequence, prompt included.
        end: why the run ended, or None while it goes on.

    Example:
        A model that drafts for itself has all of its drafts kept:

        >>> from transformers import LlamaConfig, LlamaForCausalLM
        >>> from specdec_core.decoding.cache import CachedModel
        >>> from specdec_core.drafting.model import ModelDrafter
        >>> config = LlamaConfig(vocab_size=8, hidden_size=16, intermediate_size=16,
        ...                      num_hidden_layers=1, num_attention_heads=2)
        >>> model = LlamaForCausalLM(config).eval()
        >>> drafter = ModelDrafter(CachedModel(model), "itself")
        >>> decoder = Decoder(CachedModel(model), drafter, RunSettings((1, 2, 3), max_new_tokens=9))
        >>> prefill = decoder.prefill()
        >>> [(each.accepted, len(each.emitted)) for each in decoder.rounds(RoundSettings(gamma=4))]
        [(4, 5), (3, 4)]
    """

    def __init__(
        self,
        target: SequenceModel,
        drafter: Drafter,
        run: RunSettings,
        recorder: Recorder | None = None,
        stop: Stop | None = None,
        clock: Clock = host_clock,
        rule: Rule | None = None,
    ) -> None:
        if len(run.prompt_ids) >= target.context_length:
            raise ValueError(
                f"the prompt has {len(run.prompt_ids)} tokens; the target's context holds "
                f"{target.context_length}, and at least one must be left to write"
            )
        self.ids: list[int] = list(run.prompt_ids)
        self.end: EndReason | None = None
        self._target, self._drafter, self._run = target, drafter, run
        self._rule = rule or RULES[run.rule]
        self._draws = Draws(run.seed, run.branch)
        self._recorder = recorder or FullRecorder()
        self._stop, self._clock = stop, clock
        self._rounds = 0

    @property
    def emitted(self) -> list[int]:
        """All tokens the run has added to the prompt."""
        return self.ids[len(self._run.prompt_ids) :]

    def prefill(self) -> Prefill:
        """Read all of the prompt but its last token with both models."""
        prompt = self.ids[:-1]
        started = perf_counter()
        if prompt:
            self._target.feed(prompt, keep=1)
        between = self._clock()
        self._drafter.prefill(prompt)
        end = self._clock()
        return Prefill(between() - started, end() - between(), len(prompt))

    @property
    def cache_bytes(self) -> int:
        """Memory of both caches."""
        return self._target.nbytes + self._drafter.nbytes

    def rest(self) -> None:
        """Give the memory of both caches back; the next round reads the whole sequence anew."""
        self._target.rewind(0)
        self._drafter.observe(1)

    def rounds(self, settings: RoundSettings) -> Iterator[Round]:
        """All rounds to the end of the run under one setting, recorded several at a time.

        Raises:
            ModelFailure: as in ``step``, once all rounds before it were given.
        """
        while self.end is None:
            yield from self._make(settings, _UNFLAGGED, self._recorder.together)

    def step(self, settings: RoundSettings, flags: RoundFlags = _UNFLAGGED) -> Round:
        """One round. If it fails, the run stands as it was before it.

        Raises:
            RunEnded: the run has ended.
            ModelFailure: naming the model and the place whose logits are unusable.
        """
        (item,) = self._make(settings, flags, lambda _: 1)
        return item

    @torch.inference_mode()
    def _make(
        self, settings: RoundSettings, flags: RoundFlags, together: Callable[[Evidence], int]
    ) -> list[Round]:
        """One round or several. If that fails, the run stands as it was before the first of them."""
        if self.end is not None:
            raise RunEnded(f"the run has ended: {self.end}")
        before = len(self.ids), self._rounds
        try:
            made = [self._round(settings, flags)]
            most = together(made[0][1])
            while self.end is None and len(made) < most and (more := self._further(settings, flags)):
                made.append(more)
            return self._recorded(made)
        except BaseException:
            self._return_to(*before)
            raise

    def _further(self, settings: RoundSettings, flags: RoundFlags) -> tuple[Round, Evidence] | None:
        """The next round, or None if it fails: the rounds before it are told first, then it fails again."""
        before = len(self.ids), self._rounds
        try:
            return self._round(settings, flags)
        except Exception:
            self._return_to(*before)
            return None

    def _return_to(self, length: int, rounds: int) -> None:
        """Take back whatever was made since the sequence had that length."""
        del self.ids[length:]
        self.end, self._rounds = None, rounds
        self._rewind()

    def _recorded(self, made: Sequence[tuple[Round, Evidence]]) -> list[Round]:
        """The rounds with their records, the time of which they share."""
        started = perf_counter()
        records = self._recorder.record([evidence for _, evidence in made])
        seconds = (perf_counter() - started) / len(made)
        return [
            replace(item, places=places, times=replace(item.times, record=seconds))
            for (item, _), places in zip(made, records, strict=True)
        ]

    def _round(self, settings: RoundSettings, flags: RoundFlags) -> tuple[Round, Evidence]:
        """Draft, verify, test, commit, rewind; the round without its record, and what that is made from."""
        started = perf_counter()
        sampling = self._run.in_force(settings.sampling)
        proposal = self._draft(settings.gamma, sampling)
        drafted = perf_counter()
        logits = self._verify(proposal)
        passed = self._clock()
        evidence = self._evidence(proposal, logits, sampling)
        outcome = self._test(evidence)
        sampled = perf_counter()
        verified = min(passed(), sampled)
        start = len(self.ids)
        self.ids += outcome.tokens
        self.end = outcome.end
        self._rewind()
        self._rounds += 1
        around = (drafted - started) - sum(proposal.seconds) + (perf_counter() - sampled)
        item = Round(
            index=self._rounds - 1,
            start=start,
            settings=settings,
            draft=self._drafter.name,
            drafted=np.array(proposal.ids, dtype=np.int32),
            verdicts=_verdicts(outcome, len(proposal.ids)),
            emitted=np.array(outcome.tokens, dtype=np.int32),
            sources=_sources(outcome, len(proposal.ids)),
            clipped=outcome.clipped,
            draft_stop=proposal.stop,
            end=outcome.end,
            times=RoundTimes(proposal.seconds, verified - drafted, sampled - verified, around),
            flags=flags,
            target_cache=self._target.length,
            draft_cache=self._drafter.length,
            origin=proposal.origin,
        )
        return item, evidence

    def _draft(self, gamma: int, sampling: Sampling) -> Proposal:
        left, reason = room(self._run, self._target.context_length, len(self.emitted))
        # One place is left for the target's own token, which every round ends in.
        limit = min(gamma, left - 1)
        if limit == 0:
            proposal = Proposal.nothing(self._target.vocab_size, DraftStop.GAMMA)
        else:
            request = DraftRequest(
                self.ids, limit, sampling, self._draws, self._rounds, self._run.end_ids
            )
            proposal = self._drafter.propose(request)
        cut_short = _cut_short(proposal, gamma, left - 1)
        return replace(proposal, stop=_SHORTAGE[reason]) if cut_short else proposal

    def _verify(self, proposal: Proposal) -> Tensor:
        """One target pass over whatever is not in its cache and the K drafts; [K+1, V] logits."""
        unread = self.ids[self._target.length :] + list(proposal.ids)
        return self._target.feed(unread, keep=len(proposal.ids) + 1)

    def _evidence(self, proposal: Proposal, logits: Tensor, sampling: Sampling) -> Evidence:
        count, start = len(proposal.ids), len(self.ids)
        return weigh(
            self._rule,
            sampling,
            proposal,
            logits,
            law(logits, sampling, self.ids, proposal.ids),
            self._draws.accept(start, count) if count else np.empty(0),
            self._draws.correct(start, count + 1),
        )

    def _test(self, evidence: Evidence) -> Outcome:
        """Left to right until a draft fails or the run ends; then the target's own token."""
        passed, own = read(evidence.target_logits, "target", evidence.passed, evidence.own)
        kept = passed.index(0) if 0 in passed else len(passed)
        tokens = list(evidence.proposal.ids[:kept])
        if met := self._ending(tokens):
            count, reason = met
            return Outcome(tokens[:count], count, count, reason, kept - count)
        tokens.append(own[kept])
        _, reason = self._ending(tokens) or (len(tokens), None)
        return Outcome(tokens, kept, min(kept + 1, len(passed)), reason, clipped=0)

    def _ending(self, tokens: Sequence[int]) -> tuple[int, EndReason] | None:
        return ending(self._run, self._target.context_length, self.emitted, tokens, self._stop)

    def _rewind(self) -> None:
        """Drop what was not committed; the newest token is fed with the next round."""
        self._target.rewind(min(self._target.length, len(self.ids) - 1))
        self._drafter.observe(len(self.ids))


def _cut_short(proposal: Proposal, gamma: int, room: int) -> bool:
    """Whether drafting stopped for want of room rather than at γ."""
    return proposal.stop is DraftStop.GAMMA and len(proposal.ids) == room < gamma


def _verdicts(outcome: Outcome, drafted: int) -> np.ndarray:
    """One verdict a draft; a run that ended among the drafts needs none of the later ones."""
    after = Verdict.NOT_TESTED if outcome.tested > outcome.kept else Verdict.NOT_NEEDED
    verdicts = np.full(drafted, after, dtype=np.int8)
    verdicts[: outcome.kept] = Verdict.ACCEPTED
    verdicts[outcome.kept : outcome.tested] = Verdict.REJECTED
    return verdicts


def _sources(outcome: Outcome, drafted: int) -> np.ndarray:
    """One source a token: kept drafts, then the target's own token if the round has one."""
    sources = np.full(len(outcome.tokens), Source.ACCEPTED, dtype=np.int8)
    sources[outcome.kept :] = Source.BONUS if outcome.kept == drafted else Source.CORRECTION
    return sources

