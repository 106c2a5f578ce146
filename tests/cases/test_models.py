"""Public bug reports about caches and tokens, on models of kinds that the product does not ship."""

import pytest
from transformers import JambaConfig, MambaConfig

from specdec_core.decoding.cache import UnsupportedCache, rewindable_cache
from specdec_core.decoding.types import RoundSettings
from specdec_core.experiments.live import LiveRun
from specdec_core.models.loading import load_pair
from specdec_core.text.display import label, running_text
from specdec_core.traces import json_codec
from specdec_core.ui import payload

SMALL = {"vocab_size": 16, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 4}
RECURRENT = {
    "a state-space model": MambaConfig(**SMALL),
    "a hybrid of attention and states": JambaConfig(
        **SMALL, num_attention_heads=2, num_key_value_heads=2, attn_layer_period=2, attn_layer_offset=1
    ),
}


@pytest.mark.parametrize("config", RECURRENT.values(), ids=RECURRENT)
def test_a_model_with_a_recurrent_state_is_refused_by_name(config):
    """B44: a state cannot be rewound by dropping its newest tokens."""
    with pytest.raises(UnsupportedCache, match="cannot be rewound"):
        rewindable_cache(config, 64)


@pytest.fixture(scope="module")
def pair():
    return load_pair("embedded")


@pytest.mark.parametrize(
    "prompt", ["Say 👩‍🚀 日本語", "👨‍👩‍👧‍👦🏳️‍🌈é", "שלום مرحبا", "Hello  world\n\tagain "]
)
def test_characters_split_over_tokens_are_whole_in_the_text_and_bytes_alone(pair, prompt):
    """B84, B86: chips name the bytes, the running text is the prompt itself, spaces kept."""
    pieces = [pair.piece(id_) for id_ in pair.encode(prompt)]
    assert b"".join(pieces) == prompt.encode()
    assert "".join(running_text(pieces)) == prompt
    assert not any("\ufffd" in label(piece) or " " in label(piece) for piece in pieces)
    live = LiveRun.start(pair, prompt, max_new_tokens=8)
    live.next_round(RoundSettings(3))
    assert payload.head(live.trace)["prompt"] == prompt


@pytest.mark.parametrize("prompt", ["a \ud800 b", "a\udcff\udcfe", "\ud83d\ude00"])
def test_a_prompt_that_no_encoding_knows_gives_a_trace_that_can_be_kept(pair, prompt):
    """S13: bytes that are no text, as a command line hands them over, are replaced once and for all."""
    live = LiveRun.start(pair, prompt, max_new_tokens=2)
    live.next_round(RoundSettings(0))
    kept = json_codec.loads(json_codec.dumps(live.trace))
    assert pair.encode(kept.prompt) == pair.encode(prompt) == live.run.prompt_ids


def test_a_run_to_the_end_of_the_context_ends_there_and_says_so(pair):
    """B45, B80: a prompt that leaves room for a few tokens is no crash but a short run."""
    words = "hm " * pair.prompt_limit
    ids = pair.encode(words[: len(words) // 2])
    prompt = pair.tokenizer.decode(list(ids) * 3)[: 3 * pair.prompt_limit]
    while len(pair.tokenizer(prompt)["input_ids"]) > pair.prompt_limit - 3:
        prompt = prompt[:-3]
    live = LiveRun.start(pair, prompt, max_new_tokens=64)
    while not live.ended:
        live.next_round(RoundSettings(5))
    room = pair.info.target.context_length - len(live.run.prompt_ids)
    assert len(live.trace.emitted) <= room < 64
    assert live.trace.end.value in ("context full", "end token")
