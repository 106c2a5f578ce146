"""How well the finished models do: overlap, acceptance and cost on held-out prompts.

Everything is measured with the product's own decoder on exported weights, so the figures
in the model cards are the figures a person sees in the app.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from specdec_core.decoding.baseline import decode_plain
from specdec_core.decoding.decoder import Decoder
from specdec_core.decoding.types import Round, RoundSettings, RuleName, RunSettings, Sampling
from specdec_core.drafting.model import ModelDrafter
from specdec_core.experiments.costs import measure_costs
from specdec_core.models.loading import load_spec
from specdec_core.models.pair import Pair
from specdec_core.models.registry import folder_pair
from specdec_core.training.corpus import opening
from specdec_core.training.export import load_exported
from specdec_core.training.language import nats_per_character
from specdec_core.training.whole import write_text
from specdec_core.training.workshop import Workshop

GAMMA = 4
PROMPTS = 20
PROMPT_WORDS = 12
NEW_TOKENS = 64
COST_REPEATS = 101
SAMPLE_TOKENS = 300
SETTINGS = {
    "temperature 1": (RuleName.SPECULATIVE_SAMPLING, Sampling(temperature=1.0)),
    "temperature 0.7": (RuleName.SPECULATIVE_SAMPLING, Sampling(temperature=0.7)),
    "greedy": (RuleName.GREEDY, Sampling(temperature=0.0)),
}


@dataclass(frozen=True)
class Acceptance:
    """What happened to the drafts of many rounds at one setting.

    Attributes:
        overlap: mean over tested places of the sum of min(p, q). Under greedy both laws have
            one token each, so it is the share of places where the two agree.
        kept_of_tested: accepted / tested.
        accepted_per_round: accepted / rounds; the correction or bonus is not counted.
        rounds, tested: what the means are taken over.
    """

    overlap: float
    kept_of_tested: float
    accepted_per_round: float
    rounds: int
    tested: int


@dataclass(frozen=True)
class Cost:
    """Medians in milliseconds, and c: one draft step in units of one token of plain decoding.

    Attributes:
        busy: more was waiting for a processor than this measurement can account for, so the
            times are rough.
    """

    target_ms: float
    draft_ms: float
    c: float
    threads: int
    processor: str
    busy: bool


def held_out_prompts(workshop: Workshop) -> list[str]:
    """The first words of 20 stories that no model was trained on."""
    return [opening(story, PROMPT_WORDS) for story in workshop.split.held_out[:PROMPTS]]


def pair_of(workshop: Workshop, draft: str) -> Pair:
    """The target and one of the drafts, loaded as the app loads them."""
    folders = workshop.model_folder("target"), workshop.model_folder(draft)
    spec = folder_pair(draft, draft, "", *folders, licence="Apache-2.0")
    return load_spec(spec, "cpu")


def measure_acceptance(pair: Pair, prompts: Sequence[str], rule: RuleName, sampling: Sampling) -> Acceptance:
    """Run every prompt to its end and take means over all tested places."""
    rounds = [
        done for seed, prompt in enumerate(prompts) for done in _rounds(pair, prompt, rule, sampling, seed)
    ]
    return summarise(rounds)


def summarise(rounds: Sequence[Round]) -> Acceptance:
    """Means over the tested places of some recorded rounds."""
    tested, accepted = sum(r.tested for r in rounds), sum(r.accepted for r in rounds)
    return Acceptance(
        overlap=float(mean(beta for r in rounds for beta in r.places.overlap[: r.tested])),
        kept_of_tested=accepted / tested,
        accepted_per_round=accepted / len(rounds),
        rounds=len(rounds),
        tested=tested,
    )


def _rounds(pair: Pair, prompt: str, rule: RuleName, sampling: Sampling, seed: int) -> list[Round]:
    decoder = Decoder(pair.target(), ModelDrafter(pair.draft(), "draft"), _run(pair, prompt, rule, seed))
    decoder.prefill()
    return list(decoder.rounds(RoundSettings(GAMMA, sampling)))


def _run(pair: Pair, prompt: str, rule: RuleName, seed: int, tokens: int = NEW_TOKENS) -> RunSettings:
    return RunSettings(pair.encode(prompt), rule=rule, seed=seed, max_new_tokens=tokens, end_ids=pair.end_ids)


def measure_cost(pair: Pair) -> Cost:
    """What the app's own cost table says of one draft step and of one token of plain decoding."""
    busy = os.getloadavg()[0] > pair.machine.threads + 0.5
    table, machine = measure_costs(pair, tokens=(1,), repeats=COST_REPEATS), pair.machine
    return Cost(1e3 * table.plain, 1e3 * table.draft, table.c, machine.threads, machine.processor, busy)


def sample_text(pair: Pair, prompt: str, seed: int, sampling: Sampling) -> str:
    """A prompt and the target's own continuation of at most 300 tokens."""
    run = _run(pair, prompt, RuleName.SPECULATIVE_SAMPLING, seed, SAMPLE_TOKENS)
    ids = [token.id for token in decode_plain(pair.target(), run, sampling)]
    return pair.tokenizer.decode([*run.prompt_ids, *ids], skip_special_tokens=True)


def held_out_nats(workshop: Workshop, name: str) -> float:
    """Nats a character of one exported model on all held-out stories."""
    characters = sum(map(len, workshop.split.held_out))
    return nats_per_character(
        load_exported(workshop.model_folder(name)), workshop.held_out_stream, characters
    )


def measure(workshop: Workshop, drafts: Sequence[str]) -> dict:
    """Everything the model cards quote, as plain data."""
    prompts = held_out_prompts(workshop)
    result: dict[str, Any] = {"gamma": GAMMA, "new_tokens": NEW_TOKENS, "prompts": prompts, "drafts": {}}
    result["held_out_nats_per_character"] = {n: held_out_nats(workshop, n) for n in ("target", *drafts)}
    for name in drafts:
        result["drafts"][name] = _measure_pair(pair_of(workshop, name), prompts)
    pair = pair_of(workshop, drafts[0])
    result["sample"] = sample_text(pair, "Once upon a time", workshop.seed, Sampling(temperature=0.7))
    return result


def _measure_pair(pair: Pair, prompts: Sequence[str]) -> dict:
    acceptance = {name: asdict(measure_acceptance(pair, prompts, *how)) for name, how in SETTINGS.items()}
    return {"acceptance": acceptance, "cost": asdict(measure_cost(pair))}


def write_report(path: Path, result: dict) -> None:
    """Write the report as JSON, in one step."""
    write_text(path, json.dumps(result, indent=2, ensure_ascii=False) + "\n")
