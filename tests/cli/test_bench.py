"""`bench`: the table follows from the raw times, and the raw times are of comparable runs."""

import contextlib
import io
import json
import re
from dataclasses import replace
from statistics import median

import pytest

from specdec_core.cli import main
from specdec_core.experiments import bench, shape_bench
from specdec_core.experiments.bench_plan import DRAFTING, Job, Mode, Way
from specdec_core.experiments.bench_summary import median_interval
from specdec_core.experiments.shapes import Shape, ShapedPair
from specdec_core.models import registry
from specdec_core.traces.trace import CostTable
from tests.cli.endings import code_of

TOKENS = 12
SHAPED = ShapedPair("noise", Shape(2, 32, 48, 4, 2), Shape(1, 16, 24, 2, 1), vocab_size=100)


@pytest.fixture(scope="module")
def report_and_table(tiny_spec, tmp_path_factory):
    """The JSON report and the printed lines of one small benchmark."""
    path = tmp_path_factory.mktemp("bench") / "bench.json"
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setitem(registry.PAIRS, "tiny", tiny_spec)
        patch.setattr(shape_bench, "ON_CPU", (SHAPED,))
        command = ["bench", "--pair", "tiny", "--device", "cpu", "--quick", "--tokens", str(TOKENS)]
        assert main([*command, "--json", str(path)]) == 0
    return json.loads(path.read_text(encoding="utf-8")), printed.getvalue().splitlines()


@pytest.fixture
def report(report_and_table):
    return report_and_table[0]


def runs(report, way, mode, gamma):
    job = {"way": way, "mode": mode, "gamma": gamma}
    return {(run["prompt"], run["repeat"]): run for run in report["measurements"] if run["job"] == job}


def speed(run):
    return run["tokens"] / run["seconds"]


def test_every_way_was_run_as_often_and_made_as_many_tokens(report):
    assert {run["tokens"] for run in report["measurements"]} == {TOKENS}
    for mode in Mode:
        for way in Way:
            for gamma in (2, 4) if way in DRAFTING else (0,):
                assert len(runs(report, way, mode, gamma)) == 2


def test_ratios_are_those_of_the_raw_times(report):
    for row in report["rows"]:
        way, mode, gamma = row["job"].values()
        ours = runs(report, way, mode, gamma)
        plain, assisted = runs(report, Way.PLAIN, mode, 0), runs(report, Way.ASSISTED, mode, gamma)
        expected = median(speed(ours[pair]) / speed(plain[pair]) for pair in ours)
        assert row["versus_plain"]["median"] == pytest.approx(expected)
        assert row["speed"] == pytest.approx(median(map(speed, ours.values())))
        if way in DRAFTING:
            expected = median(speed(ours[pair]) / speed(assisted[pair]) for pair in ours)
            assert row["versus_assisted"]["median"] == pytest.approx(expected)


def test_the_prediction_is_the_closed_form_of_the_raw_counts(report):
    costs = report["costs"]
    verify = {n: t + rest for n, t, rest in zip(costs["tokens"], costs["target"], costs["rest"], strict=True)}
    for row in report["rows"]:
        if row["job"]["way"] == Way.SPECULATIVE:
            _, mode, gamma = row["job"].values()
            ours = runs(report, Way.SPECULATIVE, mode, gamma).values()
            tokens_per_pass = sum(run["tokens"] for run in ours) / sum(run["passes"] for run in ours)
            cost = (gamma * costs["draft"] + verify[gamma + 1]) / costs["plain"]
            assert row["predicted"] == pytest.approx(tokens_per_pass / cost)
            closed = sum(row["alpha"] ** k for k in range(gamma + 1))
            assert row["predicted_closed"] == pytest.approx(closed / cost)


def test_the_table_shows_every_row_of_the_report(report_and_table):
    report, table = report_and_table
    for row in report["rows"]:
        way, _, gamma = row["job"].values()
        shown = f"{row['speed']:.1f}"
        ratio = f"{row['versus_plain']['median']:.2f} ["
        assert any(line.startswith(way) and shown in line and ratio in line for line in table), row["job"]


def test_recording_changes_no_token(report):
    for mode in Mode:
        for gamma in (2, 4):
            bare, recorded = (runs(report, way, mode, gamma) for way in (Way.SPECULATIVE, Way.RECORDED))
            for pair in bare:
                for count in ("passes", "drafted", "tested", "accepted"):
                    assert bare[pair][count] == recorded[pair][count]


def test_the_share_of_recording_is_that_of_the_time_around_it(report):
    recorded = [run for run in report["measurements"] if run["job"]["way"] == Way.RECORDED]
    bare = [run for run in report["measurements"] if run["job"]["way"] == Way.SPECULATIVE]
    parts = ("draft", "verify", "sample", "other")
    shares = sorted(run["record"] / sum(run[part] for part in (*parts, "record")) for run in recorded)
    assert report["recording"]["median"] == pytest.approx(median(shares))
    assert report["recording"]["pairs"] == len(recorded)
    assert all(run["record"] < 1e-3 for run in bare)


def test_every_goal_is_said_to_be_met_or_missed(report_and_table):
    report, table = report_and_table
    assert len(report["goals"]) == 5
    for goal in report["goals"]:
        word = "met" if goal["met"] else "missed"
        assert any(line.startswith(goal["text"]) and f" {word} " in line for line in table)


@pytest.mark.parametrize("mistake", ["--gammas 0", "--gammas 1,x", "--prompts 99", "--tokens 1"])
def test_a_mistake_is_answered_in_one_line_and_code_2(mistake, capsys):
    assert code_of(lambda: main(["bench", "--pair", "tiny", *mistake.split()])) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_transformers_options_are_as_before_after_a_run(tiny_spec):
    from specdec_core.models.loading import load_spec

    pair = load_spec(tiny_spec)
    before = pair.target_module.generation_config, pair.draft_module.generation_config
    bench._run(pair, Job(Way.ASSISTED, Mode.GREEDY, 2), pair.encode("Once"), 4, seed=0)
    assert (pair.target_module.generation_config, pair.draft_module.generation_config) == before


@pytest.mark.parametrize("n", [1, 5, 6, 20, 101])
def test_a_median_interval_holds_the_median_and_lies_within_the_values(n):
    values = [float(value) for value in range(n)]
    middle, low, high = median_interval(values)
    assert values[0] <= low <= middle <= high <= values[-1]
    assert middle - low == pytest.approx(high - middle)


def test_a_median_interval_of_95_percent_covers_it_that_often():
    import numpy as np

    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(2000):
        _, low, high = median_interval(rng.exponential(size=25).tolist())
        covered += low <= np.log(2) <= high
    # The exact coverage at n = 25 is 95.7 %; four standard errors of 2,000 trials are 1.8 %.
    assert 0.939 < covered / 2000 < 0.975


def test_costs_are_pooled_field_by_field():
    """Each field of the pooled table is the median of that field, so that c and v are of one measurement."""
    low, middle, high = (
        CostTable((1, 3), (s, 2 * s), (3 * s, 4 * s), plain=5 * s, draft=6 * s, context=9, repeats=2)
        for s in (0.004, 0.006, 0.02)
    )
    assert bench._pooled([high, low, middle]) == replace(middle, repeats=6)


@pytest.mark.parametrize("whole", [0, 1])
def test_ctrl_c_keeps_the_repetitions_that_were_complete(whole, tmp_path, monkeypatch, capsys):
    path, made = tmp_path / "bench.json", bench._run

    def run(pair, job, prompt, tokens, seed):
        if tokens != bench.WARM_UP_TOKENS and seed == whole:
            raise KeyboardInterrupt
        return made(pair, job, prompt, tokens, seed)

    monkeypatch.setattr(bench, "_run", run)
    options = ["--gammas", "2", "--prompts", "1", "--tokens", "4", "--repeats", "3", "--json", str(path)]
    assert main(["bench", "--pair", "tiny", *options]) == 130
    assert path.exists() == bool(whole)
    if whole:
        report = json.loads(path.read_text(encoding="utf-8"))
        assert report["settings"]["repeats"] == whole
        assert {run["repeat"] for run in report["measurements"]} == set(range(whole))
        assert "1 of 3 repetitions" in capsys.readouterr().err


def test_a_quick_look_ends_with_the_larger_pairs(report_and_table):
    report, table = report_and_table
    (shaped,) = report["shapes"]
    start = next(place for place, line in enumerate(table) if line.startswith("noise: target"))
    assert not any(line.startswith("plain decoding") for line in table[start:])
    shown = "\n".join(table[start:])
    assert f"c = {shaped['costs']['c']:.3f}" in shown and "waits       –" in shown
    for n, seconds in zip(shaped["costs"]["tokens"], shaped["costs"]["target"], strict=True):
        assert f"{n}: {1e3 * seconds:.2f} (" in shown
    assert shaped["costs"]["tokens"] == list(range(1, 17))
    for run in shaped["runs"]:
        cells = [f"{run[name]:.2f}" for name in ("acceptance", "measured", "predicted")]
        assert re.search(" .*".join(map(re.escape, cells)) + "$", shown, re.M)


def test_shapes_alone_load_no_pair_and_keep_what_ctrl_c_left(tmp_path, monkeypatch, capsys):
    path, measured = tmp_path / "shapes.json", shape_bench.bench_shape

    def once(pair, device, dtype, **way):
        if pair.title == "second":
            raise KeyboardInterrupt
        return measured(pair, device, dtype, **way)

    monkeypatch.setattr("specdec_core.models.loading.load_pair", pytest.fail)
    monkeypatch.setattr(shape_bench, "ON_CPU", (SHAPED, replace(SHAPED, title="second")))
    monkeypatch.setattr(shape_bench, "bench_shape", once)
    assert main(["bench", "--shapes", "--device", "cpu", "--json", str(path)]) == 130
    report = json.loads(path.read_text(encoding="utf-8"))
    assert [shaped["title"] for shaped in report["shapes"]] == ["noise"]
    assert report["machine"]["device"] == "cpu" and "rows" not in report
    assert "left out" in capsys.readouterr().err
