"""A live run makes each round once, keeps what it made, and flags what spoils a time."""

import threading
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from specdec_core.decoding.checks import ModelFailure
from specdec_core.decoding.decoder import RunEnded
from specdec_core.decoding.types import EndReason, RoundSettings, Sampling
from specdec_core.experiments import live as live_module
from specdec_core.experiments.drafts import DraftSettings
from specdec_core.experiments.live import LiveRun
from specdec_core.experiments.replay import ReplayDiffers
from specdec_core.models.loading import load_spec
from specdec_core.models.pair import COLD_ROUNDS
from specdec_core.models.prompt import PromptError
from specdec_core.models.runner import Busy
from specdec_core.text.chat import ChatError
from specdec_core.traces.json_codec import dumps, loads
from specdec_core.traces.trace import Framing
from tests.models.tiny import pair_spec

SETTINGS = RoundSettings(gamma=3, sampling=Sampling(temperature=0.7))
PROMPT = "Once upon a time"


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    found = load_spec(pair_spec(tmp_path_factory.mktemp("pair")), "cpu")
    # Random models draw the end token now and then; these tests want runs of a known length.
    found.end_ids = frozenset()
    return found


def whole(pair, settings=SETTINGS, **options):
    run = LiveRun.start(pair, PROMPT, **{"max_new_tokens": 16, "seed": 5} | options)
    while not run.ended:
        run.next_round(settings)
    return run


def in_thread(work):
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_a_run_ends_at_its_limit_with_everything_in_the_trace(pair):
    run = whole(pair)
    trace = run.trace
    assert len(trace.emitted) == 16
    assert trace.end is EndReason.LIMIT
    assert (trace.pair, trace.machine, trace.prompt) == (pair.info, pair.machine, PROMPT)
    assert trace.prefill.tokens == len(pair.encode(PROMPT)) - 1
    assert b"".join(trace.pieces[id_] for id_ in trace.run.prompt_ids) == PROMPT.encode()


def test_every_id_of_the_trace_has_its_piece(pair):
    trace = whole(pair).trace
    for item in trace.rounds:
        for ids in (item.drafted, item.emitted, item.places.replacement, item.places.top_residual.ids):
            assert all(trace.pieces[int(id_)] == pair.piece(int(id_)) for id_ in ids.ravel())
        assert set(item.ids.tolist()) <= set(trace.pieces)


def test_equal_runs_are_equal_and_another_seed_is_not(pair):
    first, again, other = whole(pair), whole(pair), whole(pair, seed=6)
    assert first.trace.emitted == again.trace.emitted
    assert first.trace.emitted != other.trace.emitted


def test_settings_may_change_between_rounds(pair):
    run = LiveRun.start(pair, PROMPT)
    for gamma in (0, 5, 2):
        run.next_round(RoundSettings(gamma=gamma))
    assert [len(item.drafted) for item in run.trace.rounds] == [0, 5, 2]


def test_a_trace_once_taken_does_not_change(pair):
    run = LiveRun.start(pair, PROMPT)
    run.next_round(SETTINGS)
    before = run.trace
    run.next_round(SETTINGS)
    assert (len(before.rounds), len(run.trace.rounds)) == (1, 2)


def test_an_empty_prompt_is_refused(pair):
    with pytest.raises(PromptError):
        LiveRun.start(pair, "")


def test_after_the_end_there_is_no_round(pair):
    run = whole(pair)
    with pytest.raises(RunEnded, match="the run has ended: token limit"):
        run.next_round(SETTINGS)


def test_a_closed_run_keeps_its_trace(pair):
    run = LiveRun.start(pair, PROMPT)
    run.next_round(SETTINGS)
    run.close()
    assert run.ended and len(run.trace.rounds) == 1
    with pytest.raises(RunEnded, match="closed"):
        run.next_round(SETTINGS)


def test_many_scripts_at_once_lose_no_round_and_double_none(pair):
    run = LiveRun.start(pair, PROMPT, max_new_tokens=100)
    made = []
    threads = [
        in_thread(lambda: made.extend(run.next_round(RoundSettings(1)).index for _ in range(5)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.join(60)
    assert sorted(made) == list(range(20))
    assert [item.index for item in run.trace.rounds] == list(range(20))


def test_a_round_that_another_script_made_is_returned_and_not_made_again(pair):
    run = LiveRun.start(pair, PROMPT)
    results = []
    threads = [in_thread(lambda: results.append(run.next_round(SETTINGS, index=0))) for _ in range(4)]
    for thread in threads:
        thread.join(60)
    assert len(run.trace.rounds) == 1
    assert all(item is run.trace.rounds[0] for item in results)


def test_a_busy_device_changes_nothing(pair):
    run = LiveRun.start(pair, PROMPT)
    held, release = threading.Event(), threading.Event()

    def hold():
        with pair.runner.turn():
            held.set()
            release.wait(60)

    thread = in_thread(hold)
    held.wait(60)
    with pytest.raises(Busy, match="busy, 0 waiting"):
        run.next_round(SETTINGS, timeout=0.01)
    release.set()
    thread.join(60)
    assert run.next_round(SETTINGS).index == 0


def test_stepped_cold_and_contended_rounds_are_flagged(pair, monkeypatch):
    monkeypatch.setattr(pair, "_rounds", 0)
    run = LiveRun.start(pair, PROMPT)
    flags = [run.next_round(SETTINGS).flags for _ in range(COLD_ROUNDS + 1)]
    assert [flag.cold for flag in flags] == [True] * COLD_ROUNDS + [False]
    assert flags[-1].clean
    assert run.next_round(SETTINGS, single=True).flags.single
    monkeypatch.setattr(type(pair.runner), "waiting", 1)
    assert run.next_round(SETTINGS).flags.contended


def test_a_model_that_fails_ends_the_run_and_leaves_the_trace(pair):
    run = LiveRun.start(pair, PROMPT)
    run.next_round(SETTINGS)
    run._decoder._target.feed = broken(ModelFailure("the target returned NaN at place 1 of the round"))
    with pytest.raises(ModelFailure):
        run.next_round(SETTINGS)
    assert run.ended and len(run.trace.rounds) == 1
    assert run.failure == "the target returned NaN at place 1 of the round"
    with pytest.raises(RunEnded, match="failed: the target returned NaN"):
        run.next_round(SETTINGS)
    with pair.runner.turn(timeout=0):
        pass


def test_an_unforeseen_error_is_named_by_kind_alone(pair):
    run = LiveRun.start(pair, PROMPT)
    run._decoder._target.feed = broken(RuntimeError("/secret/path"))
    with pytest.raises(RuntimeError):
        run.next_round(SETTINGS)
    assert run.failure == "an error in the model (RuntimeError)"


def broken(error):
    def feed(*_, **__):
        raise error

    return feed


def test_the_baseline_is_what_exact_match_writes(pair):
    run = whole(pair, rule="exact match")
    baseline = run.measure_baseline(SETTINGS.sampling)
    assert baseline.ids.tolist() == run.trace.emitted
    assert run.trace.baseline is baseline
    assert len(baseline.seconds) == 16 and (baseline.seconds > 0).all()
    assert set(baseline.ids.tolist()) <= set(run.trace.pieces)


def test_a_baseline_cancelled_before_its_first_token_is_not_kept(pair):
    run = LiveRun.start(pair, PROMPT)
    cancel = threading.Event()
    cancel.set()
    assert len(run.measure_baseline(Sampling(), cancel=cancel).ids) == 0
    assert run.trace.baseline is None


def test_a_baseline_cancelled_on_its_way_keeps_what_was_written(pair):
    run = LiveRun.start(pair, PROMPT, rule="exact match", max_new_tokens=60)
    cancel = threading.Event()
    run._stop = lambda emitted: cancel.set() if len(emitted) == 5 else None
    baseline = run.measure_baseline(Sampling(), cancel=cancel)
    assert len(baseline.ids) == 5
    assert run.trace.baseline is baseline


def test_the_baseline_lets_other_runs_in_after_each_token(pair):
    run, other = LiveRun.start(pair, PROMPT, max_new_tokens=100), LiveRun.start(pair, PROMPT)
    thread = in_thread(lambda: run.measure_baseline(Sampling()))
    while thread.is_alive() and not other.ended:
        other.next_round(RoundSettings(1))
    thread.join(60)
    assert run.trace.baseline.contended


def test_a_replay_times_the_same_rounds(pair):
    run = LiveRun.start(pair, PROMPT, max_new_tokens=24)
    for gamma in (2, 0, 4):
        run.next_round(RoundSettings(gamma), single=True)
    emitted = run.trace.emitted
    times = list(run.replay())
    assert run.trace.replay == tuple(times)
    assert [len(item.draft) for item in times] == [2, 0, 4]
    assert run.trace.emitted == emitted
    assert run.next_round(SETTINGS).index == 3


def test_a_replay_follows_a_run_that_goes_on(pair):
    run = LiveRun.start(pair, PROMPT)
    run.next_round(SETTINGS)
    replay = run.replay()
    next(replay)
    run.next_round(SETTINGS)
    next(replay)
    assert next(replay, None) is None
    assert len(run.trace.replay) == 2


def test_a_shorter_replay_does_not_replace_a_longer_one(pair):
    run = whole(pair)
    longest = len(list(run.replay()))
    next(run.replay())
    assert len(run.trace.replay) == longest


def test_the_target_alone_is_timed_in_turns_with_the_replay(pair):
    run = whole(pair)
    started = run.measure_baseline(Sampling())
    list(run.replay(Sampling()))
    beside = run.trace.baseline
    assert np.array_equal(beside.ids, started.ids) and not beside.contended
    assert not np.isin(beside.seconds, started.seconds).any()
    list(run.replay(Sampling()))
    # What is on screen stays, unless it is asked for again.
    assert np.array_equal(run.trace.baseline.seconds, beside.seconds)
    times = run.trace.replay
    list(run.replay(Sampling(), afresh=True))
    assert not set(run.trace.replay) & set(times)
    assert not np.isin(run.trace.baseline.seconds, beside.seconds).any()


def test_a_replay_of_the_first_rounds_times_as_many_tokens(pair):
    run = LiveRun.start(pair, PROMPT, max_new_tokens=30)
    run.next_round(SETTINGS)
    started = run.measure_baseline(Sampling())
    replay = run.replay(Sampling())
    next(replay)
    replay.close()
    changed = run.trace.baseline.seconds != started.seconds
    count = len(run.trace.emitted)
    assert changed[:count].all() and not changed[count:].any()


def test_without_a_baseline_the_replay_makes_one_of_its_own(pair):
    run = whole(pair)
    list(run.replay(Sampling()))
    assert len(run.trace.baseline.ids) == 16 and not run.trace.baseline.contended


def test_a_round_that_was_warmed_up_is_the_same_round(pair):
    plain, warm = whole(pair), LiveRun.start(pair, PROMPT, max_new_tokens=16, seed=5)
    while not warm.ended:
        warm.next_round(SETTINGS, warm_up=True)
    assert warm.trace.emitted == plain.trace.emitted
    assert all(item.flags.clean for item in warm.trace.rounds)


def test_a_replay_that_differs_is_an_error(pair):
    run = whole(pair)
    first = run.trace.rounds[0]
    forged = replace(first, emitted=first.emitted + 1)
    run._trace = run.trace.with_(rounds=(forged, *run.trace.rounds[1:]))
    with pytest.raises(ReplayDiffers, match="round 1 gave other tokens"):
        list(run.replay())


def test_a_replay_ends_when_another_run_wants_the_device(pair, monkeypatch):
    run = whole(pair)
    replay = run.replay()
    next(replay)
    monkeypatch.setattr(type(pair.runner), "waiting", 1)
    assert next(replay, None) is None
    assert len(run.trace.replay) == 1


def test_costs_are_measured_once_for_all_runs(pair, monkeypatch):
    calls = []
    table = SimpleNamespace()
    monkeypatch.setattr(pair, "_costs", {})
    monkeypatch.setattr(live_module, "measure_costs", lambda *asked: calls.append(asked) or table)
    first, second = LiveRun.start(pair, PROMPT), LiveRun.start(pair, PROMPT)
    assert first.measure_costs() is second.measure_costs() is first.trace.costs is table
    assert calls == [(pair, first.draft)]


def test_each_draft_has_costs_of_its_own(pair, monkeypatch):
    monkeypatch.setattr(pair, "_costs", {})
    monkeypatch.setattr(live_module, "measure_costs", lambda pair, draft: SimpleNamespace(draft=draft))
    lookup = DraftSettings("prompt-lookup")
    runs = [LiveRun.start(pair, PROMPT, draft=draft) for draft in (None, lookup)]
    assert runs[1].measure_costs().draft == lookup != runs[0].measure_costs().draft


@pytest.mark.parametrize("kind", ["prompt-lookup", "oracle", "uniform"])
def test_a_run_drafts_with_what_it_was_told_and_replays_so(pair, kind):
    run = LiveRun.start(pair, PROMPT, draft=DraftSettings(kind), max_new_tokens=12)
    while not run.ended:
        run.next_round(RoundSettings(3))
    assert len(list(run.replay())) == len(run.trace.rounds)
    if kind == "oracle":
        assert all(item.accepted == len(item.drafted) for item in run.trace.rounds)


def test_a_run_that_rests_goes_on_with_the_same_tokens(pair):
    runs = [LiveRun.start(pair, PROMPT, seed=3, max_new_tokens=20) for _ in range(2)]
    for run in runs:
        run.next_round(RoundSettings(3))
    assert runs[0].cache_bytes > 0
    runs[0].rest()
    assert runs[0].cache_bytes == 0
    for run in runs:
        while not run.ended:
            run.next_round(RoundSettings(3))
    assert runs[0].trace.emitted == runs[1].trace.emitted
    # The round that reads the whole sequence anew says nothing about speed.
    before, after = ([item.flags.cold for item in run.trace.rounds[1:3]] for run in runs[::-1])
    assert (before, after) == ([False, False], [True, False])


def test_a_stop_string_ends_the_run_and_its_replay_at_one_token(pair):
    plain = whole(pair, RoundSettings(3))
    pieces = [pair.piece(id_) for id_ in plain.trace.emitted]
    wanted = next(piece.decode() for piece in pieces[2:] if piece.isascii() and piece)
    run = whole(pair, RoundSettings(3), framing=Framing(stop_strings=(wanted,)))
    assert run.trace.end is EndReason.STOP_STRING and run.trace.framing.stop_strings == (wanted,)
    length = next(n for n in range(len(pieces)) if wanted.encode() in b"".join(pieces[:n]))
    assert run.trace.emitted == plain.trace.emitted[:length]
    assert len(list(run.replay())) == len(run.trace.rounds)


def test_a_run_with_halves_of_characters_in_its_texts_can_be_written(pair):
    framing = Framing(stop_strings=("\ud800", "\ud83d\ude00"))
    run = whole(pair, framing=framing)
    assert run.trace.framing.stop_strings == ("\ufffd", "😀")
    assert loads(dumps(run.trace)).framing == run.trace.framing


def test_an_empty_stop_string_and_a_chat_without_a_template_are_refused(pair):
    with pytest.raises(ValueError, match="stop string is empty"):
        LiveRun.start(pair, PROMPT, framing=Framing(stop_strings=("",)))
    with pytest.raises(ChatError, match="no chat template"):
        LiveRun.start(pair, PROMPT, framing=Framing(chat=True))


def test_changes_from_two_threads_are_all_kept(pair):
    run = LiveRun.start(pair, PROMPT, max_new_tokens=60)
    thread = in_thread(lambda: run.measure_baseline(Sampling()))
    while not run.ended:
        run.next_round(RoundSettings(2))
    thread.join(60)
    assert run.trace.baseline is not None
    assert len(run.trace.emitted) == 60
    assert np.concatenate([item.emitted for item in run.trace.rounds]).tolist() == run.trace.emitted
