"""Plain autoregressive decoding on the target: what speculation is measured against.

It uses the correct draws of the same key, so exact match gives its tokens one for one, and
greedy speculation gives greedy plain decoding's.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter

import torch

from .cache import SequenceModel
from .checks import read
from .clock import Clock, host_clock
from .draws import Draws, draw_each
from .ending import ending
from .filters import law
from .types import EndReason, RunSettings, Sampling, Stop


@dataclass(frozen=True)
class PlainToken:
    """One token of plain decoding.

    Attributes:
        id: the token.
        u: the uniform that drew it.
        seconds: time of its pass and draw.
        end: why the run ends here, or None.
    """

    id: int
    u: float
    seconds: float
    end: EndReason | None


def prefill_plain(target: SequenceModel, run: RunSettings, clock: Clock = host_clock) -> float:
    """Read all of the prompt but its last token; seconds that it took, by the device's clock."""
    started = perf_counter()
    if prompt := run.prompt_ids[:-1]:
        target.feed(prompt, keep=1)
    return clock()() - started


def decode_plain(
    target: SequenceModel, run: RunSettings, sampling: Sampling, stop: Stop | None = None
) -> Iterator[PlainToken]:
    """Draw token after token from the target, one pass each, until the run ends.

    Args:
        target: the target, its cache holding all of the prompt but the last token.
        run: the same settings as a speculative run's; its rule only decides on greedy.
        sampling: what shapes p, for the whole run.
        stop: text condition, as in ``Decoder``.

    Yields:
        Each token as it is made; the last one says why the run ends. A token that a text condition
        takes back comes all the same, since it was made and timed.

    Raises:
        ModelFailure: the target's logits are unusable.

    Example:
        >>> from transformers import LlamaConfig, LlamaForCausalLM
        >>> from specdec_core.decoding.cache import CachedModel
        >>> config = LlamaConfig(vocab_size=8, hidden_size=16, intermediate_size=16,
        ...                      num_hidden_layers=1, num_attention_heads=2)
        >>> target = CachedModel(LlamaForCausalLM(config).eval())
        >>> run = RunSettings((1, 2, 3), max_new_tokens=4)
        >>> seconds = prefill_plain(target, run)
        >>> made = list(decode_plain(target, run, Sampling()))
        >>> len(made), made[-1].end
        (4, <EndReason.LIMIT: 'token limit'>)
    """
    ids, draws = list(run.prompt_ids), Draws(run.seed, run.branch)
    sampling, end = run.in_force(sampling), None
    while end is None:
        started = perf_counter()
        token, u = _next(target, ids, sampling, draws)
        ids.append(token)
        before = ids[len(run.prompt_ids) : -1]
        met = ending(run, target.context_length, before, ids[-1:], stop)
        end = met[1] if met else None
        yield PlainToken(token, u, perf_counter() - started, end)


@torch.inference_mode()
def _next(target: SequenceModel, ids: list[int], sampling: Sampling, draws: Draws) -> tuple[int, float]:
    logits = target.feed(ids[target.length :], keep=1)
    u = draws.correct(len(ids), 1)
    drawn = draw_each(law(logits, sampling, ids).cumsum(-1), u)
    return read(logits, "target", drawn)[0][0], float(u[0])
