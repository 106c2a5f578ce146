"""The drafts that a person can choose from, each with what it costs and the q it draws from.

Every kind stands behind the same small interface (``decoding.proposal.Drafter``: propose and
observe), and leaves the output exactly the target's under every verification rule. What
differs is how often its tokens are kept and what they cost.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from specdec_core.decoding.origin import Choice
from specdec_core.decoding.proposal import Drafter, Vocabulary
from specdec_core.drafting.fallback import FallbackDrafter
from specdec_core.drafting.lookup import LookupDrafter
from specdec_core.drafting.model import ModelDrafter
from specdec_core.drafting.suffix import SuffixDrafter
from specdec_core.drafting.uniform import UniformDrafter
from specdec_core.experiments.draft_options import (
    MATCH_OPTIONS,
    NGRAM_OPTIONS,
    TOKEN_OPTION,
    Option,
    Value,
    depth_option,
    skipped_option,
)
from specdec_core.models.lowered import cannot_lower, is_lowered, lowered
from specdec_core.models.pair import LoadedModel, Pair
from specdec_core.models.progress import Meter
from specdec_core.models.shallow import can_leave_out_layers, early_exit, shallow, skipping

Options = Mapping[str, Value]


class DraftError(ValueError):
    """A draft that there is not, or not for this pair, or an option out of its bounds; in words."""


@dataclass(frozen=True)
class DraftSettings:
    """A draft as chosen: its kind, and the options that differ from their defaults.

    Attributes:
        kind: a key of ``DRAFTS``.
        options: (key, value) pairs.

    Example:
        >>> DraftSettings.of("prompt-lookup", max_ngram=5)
        DraftSettings(kind='prompt-lookup', options=(('max_ngram', 5),))
    """

    kind: str = "model"
    options: tuple[tuple[str, Value], ...] = ()

    @classmethod
    def of(cls, kind: str, **options: Value) -> "DraftSettings":
        """The same from keyword arguments, in one order whatever order they are given in."""
        return cls(kind, tuple(sorted(options.items())))


@dataclass(frozen=True)
class DraftKind:
    """One kind of draft.

    Attributes:
        key: name in code, on the command line and in addresses.
        title: name on screen, the field's own term.
        summary: what it does, in one sentence.
        cost: what a drafted token costs, in words; the trace has the seconds.
        law: the q that its tokens are really drawn from.
        source: where it comes from.
        make: builds one for a run, given complete and checked options.
        gamma: a draft length that suits it.
        options: what can be set, for a given pair.
        missing: why it is not to be had for a pair, as a sentence, or None.
        ready: whether what it needs beside the pair's models is there, so that building one takes no time.
        prepare: makes that, which may take as long as loading the target; given a meter that is told
            of the progress and ends the work when it is cancelled.
        end: it is one of the two ends of what a draft can be, to learn from and not to gain by.
    """

    key: str
    title: str
    summary: str
    cost: str
    law: str
    source: str
    make: Callable[[Pair, Options], Drafter]
    gamma: int
    options: Callable[[Pair], tuple[Option, ...]] = lambda pair: ()
    missing: Callable[[Pair], str | None] = lambda pair: None
    ready: Callable[[Pair], bool] = lambda pair: True
    prepare: Callable[[Pair, Meter], object] = lambda pair, meter: None
    end: bool = False

    def build(self, pair: Pair, options: Options | None = None) -> Drafter:
        """A fresh drafter of this kind for one run.

        Args:
            pair: the models; their weights are shared, the drafter's caches are its own.
            options: those that differ from their defaults.

        Raises:
            DraftError: the kind is not to be had for this pair, or an option is unknown or
                out of its bounds.
        """
        if reason := self.missing(pair):
            raise DraftError(f"{self.title}: {reason}")
        return self.make(pair, self.complete(pair, options or {}))

    def complete(self, pair: Pair, options: Options) -> dict[str, Value]:
        """All options with their values, given those that differ from their defaults.

        Raises:
            DraftError: naming the option and what it may be.
        """
        known = {option.key: option for option in self.options(pair)}
        if unknown := sorted(set(options) - set(known)):
            raise DraftError(f"{self.title} has no option {', '.join(unknown)}")
        values = {key: options.get(key, option.default) for key, option in known.items()}
        for key, option in known.items():
            if reason := option.objection(values[key]):
                raise DraftError(f"{self.title}: {reason}")
        if values.get("min_ngram", 0) > values.get("max_ngram", 0):
            raise DraftError(f"{self.title}: the shortest match is longer than the longest one")
        return values


def default_draft(pair: Pair) -> DraftSettings:
    """What drafts unless a person chooses: the pair's draft model, or prompt lookup if it has none."""
    return DraftSettings("prompt-lookup" if pair.draft_model is None else "model")


def make_drafter(pair: Pair, settings: DraftSettings | None = None) -> Drafter:
    """The drafter that the settings describe, fresh for one run; None takes the pair's default.

    Raises:
        DraftError: see ``DraftKind.build``; also for an unknown kind.
        PairError: a copy of the target was needed and could not be read.
    """
    settings = settings or default_draft(pair)
    if settings.kind not in DRAFTS:
        raise DraftError(f"there is no draft {settings.kind!r}; known are {', '.join(DRAFTS)}")
    return DRAFTS[settings.kind].build(pair, dict(settings.options))


def _no_draft_model(pair: Pair) -> str | None:
    return "This pair has no draft model." if pair.draft_model is None else None


def _draft_model(pair: Pair, options: Options) -> ModelDrafter:
    assert pair.draft_model is not None, "checked before"
    return _model(pair.draft_model, options)


def _model(model: LoadedModel, options: Options, name: str | None = None) -> ModelDrafter:
    argmax = options["tokens"] == "argmax"
    name = name or model.info.name
    return ModelDrafter(
        model.sequence(), f"{name}, argmax" if argmax else name, Choice.ARGMAX if argmax else Choice.SAMPLED
    )


def _vocabulary(pair: Pair) -> Vocabulary:
    return Vocabulary(pair.info.vocab_size, pair.target_model.laws_on)


def _lookup(pair: Pair, options: Options) -> LookupDrafter:
    sizes = {key: int(options[key]) for key in ("min_ngram", "max_ngram")}
    return LookupDrafter(_vocabulary(pair), **sizes)


def _suffix(pair: Pair, options: Options) -> SuffixDrafter:
    return SuffixDrafter(
        _vocabulary(pair),
        max_match=int(options["max_match"]),
        factor=float(options["factor"]),
        min_share=float(options["min_share"]),
    )


def _early_exit(pair: Pair, options: Options) -> ModelDrafter:
    depth, all_layers = int(options["depth"]), pair.info.target.layers
    name = f"{pair.info.target.name}, first {depth} of {all_layers} layers"
    return _model(shallow(pair.target_model, early_exit(depth)), options, name)


def _layer_skip(pair: Pair, options: Options) -> ModelDrafter:
    skipped, all_layers = int(options["skipped"]), pair.info.target.layers
    name = f"{pair.info.target.name}, {skipped} of {all_layers} layers skipped"
    return _model(shallow(pair.target_model, skipping(all_layers, skipped)), options, name)


def _layers_missing(fewest: int) -> Callable[[Pair], str | None]:
    def reason(pair: Pair) -> str | None:
        if pair.info.target.layers < fewest:
            return f"The target has {pair.info.target.layers} layers; this takes {fewest} or more."
        if not can_leave_out_layers(pair.target_model.passes):
            return "The layers of this kind of model cannot be run one by one."
        return None

    return reason


_SOFT = "the model's own distribution after temperature and filters, or one-hot where its argmax is taken"
_ONE_HOT = "one-hot: a token is kept with probability p, and the residual is p without it"


def _tokens(pair: Pair) -> tuple[Option, ...]:
    return (TOKEN_OPTION,)


def _lowered_kind(format_: str, title: str, summary: str, cost: str, source: str) -> DraftKind:
    return DraftKind(
        key=format_,
        title=title,
        summary=summary,
        cost=cost,
        law=_SOFT,
        source=source,
        make=lambda pair, options: _model(lowered(pair.target_model, format_), options),
        gamma=3,
        options=_tokens,
        missing=lambda pair: cannot_lower(pair.target_model, format_),
        ready=lambda pair: is_lowered(pair.target_model, format_),
        prepare=lambda pair, meter: lowered(pair.target_model, format_, meter),
    )


DRAFTS: dict[str, DraftKind] = {
    kind.key: kind
    for kind in (
        DraftKind(
            key="model",
            title="Draft model",
            summary="A separate, smaller model with the same tokens writes ahead.",
            cost="one pass of the small model for each token, and its memory beside the target's",
            law=_SOFT,
            source="Leviathan et al. 2023, arXiv 2211.17192; Chen et al. 2023, arXiv 2302.01318",
            make=_draft_model,
            gamma=4,
            options=_tokens,
            missing=_no_draft_model,
        ),
        DraftKind(
            key="prompt-lookup",
            title="Prompt lookup (n-gram)",
            summary="Copies what followed the last time the newest tokens stood in the prompt or the output.",
            cost="next to nothing; where nothing matches, the round is a plain step of the target",
            law=_ONE_HOT,
            source="Saxena 2023, prompt lookup decoding; n-gram speculation in vLLM",
            make=_lookup,
            gamma=6,
            options=lambda pair: NGRAM_OPTIONS,
        ),
        DraftKind(
            key="suffix",
            title="Suffix matching",
            summary="Looks at every place where the newest tokens stood before and proposes what most often "
            "followed, further ahead the longer the match.",
            cost="a scan of the text, well under a millisecond",
            law=_ONE_HOT,
            source="SuffixDecoding, Oliaro et al. 2024, arXiv 2411.04975",
            make=_suffix,
            gamma=6,
            options=lambda pair: MATCH_OPTIONS,
        ),
        DraftKind(
            key="lookup-or-model",
            title="Prompt lookup, else draft model",
            summary="Copies where the text so far has a match, and asks the draft model where it has none.",
            cost="next to nothing where it copies, elsewhere the draft model's passes",
            law="one-hot in rounds that copy, the draft model's in the others; the record says which",
            source="prompt lookup (Saxena 2023) in front of Leviathan et al. 2023",
            make=lambda pair, options: FallbackDrafter(_lookup(pair, options), _draft_model(pair, options)),
            gamma=4,
            options=lambda pair: (*NGRAM_OPTIONS, TOKEN_OPTION),
            missing=_no_draft_model,
        ),
        _lowered_kind(
            "bfloat16",
            "The target in bfloat16",
            "The target's own weights in half the bytes: agrees nearly always, and is dear.",
            "a pass that reads half of the target's bytes, and a copy of it in memory",
            "self-speculation by lower precision, as in QSpec, Zhao et al. 2024, arXiv 2410.11305",
        ),
        _lowered_kind(
            "int8",
            "The target with int8 weights",
            "The target's weights rounded to 8 bits: agrees nearly as often, a little cheaper.",
            "a pass that reads a quarter of the target's bytes, and a copy of it in memory",
            "self-speculation by quantisation, as in QSpec; absmax rounding as in LLM.int8(), "
            "Dettmers et al. 2022, arXiv 2208.07339",
        ),
        DraftKind(
            key="early-exit",
            title="Early exit (first layers)",
            summary="Reads the answer after the first layers; poor unless the target was trained for it.",
            cost="those layers' share of a target pass, and the output layer; no weights beside the target's",
            law=_SOFT,
            source="LayerSkip, Elhoushi et al. 2024, arXiv 2404.16710",
            make=_early_exit,
            gamma=2,
            options=lambda pair: (depth_option(pair.info.target.layers), TOKEN_OPTION),
            missing=_layers_missing(2),
        ),
        DraftKind(
            key="layer-skip",
            title="Layer skip",
            summary="Runs the target without some layers in the middle; poor unless they are chosen well.",
            cost="the remaining layers' share of a target pass, and the output layer",
            law=_SOFT,
            source="Draft & Verify, Zhang et al. 2023, arXiv 2309.08168",
            make=_layer_skip,
            gamma=2,
            options=lambda pair: (skipped_option(pair.info.target.layers), TOKEN_OPTION),
            missing=_layers_missing(3),
        ),
        DraftKind(
            key="uniform",
            title="Uniform (knows nothing)",
            summary="Any token, all equally likely: the lower end of what a draft can be, and still exact.",
            cost="nothing, but every round verifies tokens that are thrown away",
            law="1/V for each of the V tokens, whatever the settings",
            source="the ratio test is exact for any q: Leviathan et al. 2023, appendix A.1",
            make=lambda pair, options: UniformDrafter(_vocabulary(pair)),
            gamma=2,
            end=True,
        ),
        DraftKind(
            key="oracle",
            title="Oracle (the target itself)",
            summary="The target drafts for itself: everything is kept, and nothing is gained.",
            cost="a full pass of the target for each token, so c is 1",
            law="the target's p, or one-hot where its argmax is taken",
            source="the upper end of acceptance: Σ min(p, p) = 1",
            make=lambda pair, options: _model(
                pair.target_model, options, f"{pair.info.target.name} itself (oracle)"
            ),
            gamma=2,
            end=True,
            options=_tokens,
        ),
    )
}
"""Every kind of draft by its key; the first one is the default."""
