"""A trace survives being written and read to the last bit, and nothing else is read as one."""

import contextlib
import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import specdec_core.traces
from specdec_core.decoding.origin import Choice
from specdec_core.decoding.types import DraftStop, EndReason, RoundFlags, RuleName, RunSettings, Sampling
from specdec_core.traces import json_codec, metrics
from specdec_core.traces.json_codec import TraceError, dumps, loads
from specdec_core.traces.trace import TRACE_VERSION
from tests.traces.factory import make_trace

TRACE = make_trace(["AAR.", "", "AA--"], end=EndReason.END_TOKEN, replay=2, flags=[RoundFlags(cold=True)])
TEXT = dumps(TRACE)
GONE = object()
PAGE = (Path(specdec_core.traces.__file__).parent / "FORMAT.md").read_text(encoding="utf-8")


def same(one, two):
    """Equality through dataclasses and arrays, NaN equal to NaN, types and every bit included."""
    if isinstance(one, np.ndarray):
        return one.dtype == two.dtype and one.shape == two.shape and one.tobytes() == two.tobytes()
    if dataclasses.is_dataclass(one):
        names = [field.name for field in dataclasses.fields(one)]
        return type(one) is type(two) and all(same(getattr(one, n), getattr(two, n)) for n in names)
    if isinstance(one, tuple):
        return len(one) == len(two) and all(map(same, one, two))
    return type(one) is type(two) and one == two


def edited(path, value):
    """The text of ``TRACE`` with one field replaced, or left out if ``value`` is ``GONE``."""
    whole = json.loads(TEXT)
    place, key = {"": whole}, ""
    for step in re.findall(r"[^.\[\]]+", path):
        place = place[key]
        key = int(step) if isinstance(place, list) else step
    if value is GONE:
        del place[key]
    else:
        place[key] = value
    return json.dumps(whole)


@pytest.mark.parametrize("rule", RuleName)
def test_reading_what_was_written_gives_the_same_trace_to_the_last_bit(rule):
    trace = make_trace(rule=rule, replay=3, name="a tale")
    assert same(loads(dumps(trace)), trace)
    assert same(loads(TEXT), TRACE)


def test_a_trace_without_anything_optional_survives():
    trace = make_trace(["AR"], record=False, baseline=False, costs=False).with_(prefill=None)
    assert same(loads(dumps(trace)), trace)
    assert same(loads(dumps(make_trace([]))), make_trace([]))


@given(st.lists(st.floats(0.0, 1.0), min_size=2, max_size=2), st.floats(0.0, 1e9))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_floats_keep_every_bit(chances, seconds):
    item = make_trace(["AA"]).rounds[0]
    places = dataclasses.replace(item.places, p=np.array(chances))
    times = dataclasses.replace(item.times, verify=seconds)
    trace = make_trace(["AA"]).with_(rounds=(dataclasses.replace(item, places=places, times=times),))
    assert same(loads(dumps(trace)), trace)


def test_what_json_cannot_hold_is_written_as_documented():
    item = make_trace(["AA"]).rounds[0]
    places = dataclasses.replace(item.places, kl=np.array([np.inf, 0.5]))
    trace = make_trace(["AA"]).with_(rounds=(dataclasses.replace(item, places=places),))
    written = json.loads(dumps(trace), parse_constant=pytest.fail)["rounds"][0]["places"]
    assert written["kl"] == ["Infinity", 0.5]
    assert written["top_target"]["q"][-1] == [None] * len(written["top_target"]["q"][0])
    assert same(loads(dumps(trace)), trace)


def test_seeds_of_64_bits_are_text_because_javascript_would_round_them():
    run = RunSettings((5,), seed=2**64 - 1, branch=2**63 + 1)
    trace = make_trace([]).with_(run=run)
    assert json.loads(dumps(trace))["run"]["seed"] == "18446744073709551615"
    assert loads(dumps(trace)).run == run


def test_pieces_are_text_where_they_can_be_and_bytes_where_not():
    pieces = {**TRACE.pieces, 1: b"\xf0", 2: " 日本".encode(), 3: b"", 4: b"\n\x00\"<b>"}
    written = json.loads(dumps(TRACE.with_(pieces=pieces)))["pieces"]
    assert written["1"] == {"hex": "f0"} and written["2"] == " 日本"
    assert loads(dumps(TRACE.with_(pieces=pieces))).pieces == pieces


def test_each_round_is_a_line_of_its_own():
    assert len(TEXT.splitlines()) == len(TRACE.rounds) + 2
    json.loads(TEXT.splitlines()[1].rstrip(","))


def test_bytes_are_read_as_utf_8_with_or_without_a_mark():
    assert same(loads(TEXT.encode()), TRACE)
    assert same(loads(b"\xef\xbb\xbf" + TEXT.encode()), TRACE)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not JSON"),
        ("{", "is not JSON"),
        ("[]", "must be an object, not a list"),
        ("17", "must be an object, not 17"),
        ("{}", "is no trace"),
        ('{"format": "GGUF"}', "is no trace"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        ("9" * 5000, "too many digits"),
        ('{"a": NaN}', "holds NaN"),
        ('{"a": -Infinity}', "holds -Infinity"),
        ('{"a": 1, "a": 2}', "'a' twice"),
        (b"\xff\xfe", "UTF-8"),
        ("[" + "[]," * 2_200_000 + "[]]", "more than 2097152 lists"),
        ("[" + "1," * 17_000_000 + "1]", "more than 16777216 values"),
    ],
)  # fmt: skip
def test_what_is_no_trace_is_refused_in_words(text, words):
    with pytest.raises(TraceError, match=re.escape(words)):
        loads(text)


def test_what_is_too_large_is_not_even_parsed(monkeypatch):
    monkeypatch.setattr(json_codec, "MOST_BYTES", 1000)
    monkeypatch.setattr(json_codec.json, "loads", pytest.fail)
    with pytest.raises(TraceError, match="larger than"):
        loads(TEXT)


def test_a_version_from_the_future_is_refused_by_both_versions():
    with pytest.raises(TraceError, match="written as version 9; this program reads versions up to 2"):
        loads(edited("version", 9))


@pytest.mark.parametrize("version", [0, -1, "1", 1.0, True, None, GONE])
def test_a_version_that_never_was_is_refused(version):
    with pytest.raises(TraceError, match="^version must be"):
        loads(edited("version", version))


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("prompt", GONE, "the trace lacks the field prompt"),
        ("extra", 1, "the trace has a field 'extra'"),
        ("prompt", 3, "prompt must be text, not 3"),
        ("prompt", "\ud800", "prompt holds half of a surrogate pair"),
        ("name", "x" * 500, "name has 500 characters"),
        ("created", ["2026"], "created must be text, not a list"),
        ("pair.target.layers", GONE, "pair.target lacks the field layers"),
        ("pair.target.layers", 1e300, "pair.target.layers must be a whole number"),
        ("pair.vocab_size", 10, "holds the token id"),
        ("pair.vocab_size", 0, "pair.vocab_size must be a whole number from 1"),
        ("machine.threads", True, "machine.threads must be a whole number"),
        ("run.rule", "typical", "run.rule must be one of speculative sampling, greedy, exact match"),
        ("run.seed", 7, "run.seed must be"),
        ("run.seed", "-1", "run.seed must be"),
        ("run.seed", str(2**64), "run.seed must be"),
        ("run.prompt_ids", [], "run is not valid: prompt_ids"),
        ("run.prompt_ids", [5, -6], "run.prompt_ids[1] must be a whole number from 0"),
        ("run.prompt_ids", [5, 62, 7, 8], "run.prompt_ids holds the token id 62; the vocabulary has 62"),
        ("run.end_ids", [99], "run.end_ids holds the token id 99"),
        ("run.max_new_tokens", 3, "rounds emit 6 tokens; the limit is 3"),
        ("pieces", {"x": "a"}, "pieces must be keyed by token ids, not 'x'"),
        ("pieces", {"05": "a"}, "pieces must be keyed by token ids"),
        ("pieces.5", {"hex": "0g"}, "pieces.5 must be text or"),
        ("pieces.5", {"hex": "00", "b": 1}, "pieces.5 must be text or"),
        ("pieces.5", None, "pieces.5 must be an object, not null"),
        ("pieces.5", GONE, "holds the token id 5, which pieces lacks"),
        ("pieces.99", "a", "pieces holds the token id 99"),
        ("prefill.target", -1, "prefill.target must be a number from 0"),
        ("prefill.target", 10**400, "prefill.target must be a number from 0"),
        ("costs.tokens", [2, 3, 4, 5, 6], "costs is not valid"),
        ("costs.target", [0.01], "costs is not valid"),
        ("costs.target", [0, 0, 0, 0, 0], "costs is not valid"),
        ("baseline.ids", [5], "baseline has 1 ids, but 24 times"),
        ("baseline.ids[3]", 61.0, "baseline.ids must hold whole numbers"),
        ("baseline.seconds", "fast", "baseline.seconds must be a list"),
        ("baseline.seconds[0]", None, "baseline.seconds must hold numbers, not null"),
        ("baseline.seconds[0]", 10**400, "baseline.seconds holds a number beyond"),
        ("replay", [json.loads(TEXT)["replay"][0]] * 4, "replay has 4 entries, but there are 3 rounds"),
        ("rounds", {}, "rounds must be a list, not an object"),
        ("rounds[0]", None, "rounds[0] must be an object, not null"),
        ("rounds[1].index", 5, "rounds[1].index is 5; it must be 1"),
        ("rounds[1].start", 5, "rounds[1].start is 5"),
        ("rounds[0].end", "token limit", "rounds[0].end says that the run ended"),
        ("rounds[0].end", "boredom", "rounds[0].end must be one of end token"),
        ("rounds[0].draft_stop", "tired", "rounds[0].draft_stop must be one of"),
        ("rounds[0].settings.gamma", 99, "rounds[0].settings is not valid: gamma"),
        ("rounds[0].settings.gamma", 2, "rounds[0].drafted has 4 tokens; the draft length is 2"),
        ("rounds[0].settings.sampling.top_p", 0, "rounds[0].settings.sampling is not valid: top_p"),
        ("rounds[0].settings.sampling.temperature", "hot", "temperature must be a number"),
        ("rounds[0].drafted", [1, 2], "rounds[0].verdicts has 4 entries for 2"),
        ("rounds[0].drafted[0]", -1, "rounds[0].drafted must hold whole numbers from 0"),
        ("rounds[0].drafted[3]", 62, "rounds[0].drafted holds the token id 62"),
        ("rounds[2].end", None, "rounds[2].verdicts says that drafts are not needed, but end does not say"),
        ("rounds[0].verdicts[1]", "maybe", "rounds[0].verdicts[1] must be one of accepted, rejected"),
        ("rounds[0].verdicts[1]", "rejected", "rounds[0].verdicts must be accepted ones, then"),
        ("rounds[0].sources[2]", "bonus", "rounds[0].sources must be"),
        ("rounds[0].sources", ["accepted"], "rounds[0].sources has 1 entries for 3"),
        ("rounds[0].emitted[0]", 61, "rounds[0].emitted must begin with the accepted drafts"),
        ("rounds[0].clipped", 1, "rounds[0].clipped is 1"),
        ("rounds[0].times.draft", [0.001, "x"], "rounds[0].times.draft[1] must be a number"),
        ("rounds[0].flags.cold", 1, "rounds[0].flags.cold must be true or false, not 1"),
        ("rounds[0].places.p", [0.5], "rounds[0].places.p has 1 entries; 4 drafts make it 4"),
        ("rounds[0].places.p[0]", 1.5, "rounds[0].places.p must hold numbers from 0 to 1, not 1.5"),
        ("rounds[0].places.p[0]", "Infinity", "rounds[0].places.p must hold numbers"),
        ("rounds[0].places.kl[0]", "huge", "rounds[0].places.kl must hold numbers"),
        ("rounds[0].places.correct_u", [0.5] * 4, "rounds[0].places.correct_u has 4 entries"),
        ("rounds[0].places.draft_interval[0]", [0.1], "must hold lists of 2 numbers"),
        ("rounds[0].places.residual_fallback[0]", 0, "must hold true and false only"),
        ("rounds[0].places.top_target.ids[0]", [1], "must hold lists of equal length"),
        ("rounds[0].places.top_target.ids[0][0]", 99, "holds the token id 99"),
        ("rounds[0].places.top_target.p", [[0.1]] * 5, "must have a p and a q for every id"),
        ("rounds[0].places.top_target.ids", [[1] * 33] * 5, "is 5 rows of 33"),
        ("rounds[0].places.top_target.rest", [0.0], "a rest for every place"),
    ],
)  # fmt: skip
def test_every_field_that_is_wrong_is_named_with_what_is_wrong(path, value, words):
    with pytest.raises(TraceError) as caught:
        loads(edited(path, value))
    message = str(caught.value)
    assert words in message
    assert "Traceback" not in message and "\n" not in message and len(message) < 300


def paths(value, path=""):
    """The path of every value in a JSON document, but for the inside of long lists."""
    yield path
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from paths(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for place, inner in enumerate(value[:2]):
            yield from paths(inner, f"{path}[{place}]")


EVERY_PATH = [path for path in paths(json.loads(TEXT)) if path]
ODD_VALUES = [
    None, True, -1, 0, 3, 2**70, 10**400, 1.5, -0.5, 1e308, "", "x", "Infinity", "9" * 30,
    [], [None], [[]], [-1], ["x"], [{}], {}, {"hex": "zz"}, GONE,
]  # fmt: skip


FIGURES = [
    metrics.counts, metrics.running, metrics.survival, metrics.break_even, metrics.latency_split,
    metrics.race, metrics.inter_token_latency, metrics.time_to_first_token, metrics.speedup_measured,
    metrics.speedup_model,
    metrics.speedup_expected, metrics.mean_overlap, metrics.accepted_histogram,
]  # fmt: skip


@given(st.sampled_from(EVERY_PATH), st.sampled_from(ODD_VALUES))
@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow])
def test_any_field_with_any_value_is_read_or_refused_and_nothing_else(path, value):
    text = edited(path, value)
    try:
        trace = loads(text)
    except TraceError as error:
        assert "\n" not in str(error)
    else:
        # What is read is a whole trace: it can be written again and every figure can be made of it.
        assert same(loads(dumps(trace)), trace)
        for figure in FIGURES:
            figure(trace)


@given(st.integers(0, len(TEXT)), st.text(max_size=3), st.integers(0, 3))
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
def test_damaged_text_is_read_or_refused_and_nothing_else(place, put, cut):
    damaged = TEXT[:place] + put + TEXT[place + cut :]
    with contextlib.suppress(TraceError):
        loads(damaged)


def test_a_trace_that_could_not_be_read_back_is_not_written():
    with pytest.raises(TraceError, match="which pieces lacks"):
        dumps(TRACE.with_(pieces={}))
    with pytest.raises(TraceError, match="surrogate"):
        dumps(TRACE.with_(prompt="\ud800"))


def names(form):
    """Every field name that a form writes, at any depth."""
    for name, inner in getattr(form, "fields", {}).items():
        yield name
        yield from names(inner)
    if hasattr(form, "form"):
        yield from names(form.form)


def test_every_field_is_documented():
    missing = [name for name in names(json_codec.TRACE) if f"`{name}`" not in PAGE]
    assert not missing


@pytest.mark.parametrize("words", [RuleName, DraftStop, EndReason, Choice], ids=lambda words: words.__name__)
def test_every_word_of_an_enumeration_is_documented(words):
    assert not [word for word in words if f'"{word}"' not in PAGE]


def test_the_documented_version_is_the_one_that_is_written():
    assert f"# The trace as JSON, version {TRACE_VERSION}\n" in PAGE
    assert f"| `version` | {TRACE_VERSION} |" in PAGE


def test_only_the_last_round_may_lack_the_targets_own_token():
    item = make_trace(["AA"]).rounds[0]
    kept = dataclasses.replace(item, emitted=item.emitted[:2], sources=item.sources[:2])
    with pytest.raises(TraceError, match="lacks the target's own token"):
        dumps(make_trace(["AA"]).with_(rounds=(kept,)))
    ended = dataclasses.replace(kept, end=EndReason.STOP_STRING)
    assert loads(dumps(make_trace(["AA"]).with_(rounds=(ended,)))).end is EndReason.STOP_STRING


def test_every_field_of_the_record_is_written():
    written = set(names(json_codec.TRACE)) | {"version"}
    for kind in (type(TRACE), type(TRACE.rounds[0]), type(TRACE.rounds[0].places), Sampling, RunSettings):
        assert {field.name for field in dataclasses.fields(kind)} <= written
