"""`generate`: what it prints, what it writes, and what it says when it cannot."""

import re

import pytest

from specdec_core.cli import main, parser
from specdec_core.cli.generate import (
    BONUS,
    CORRECTION,
    LEGEND,
    ROUNDS_LEGEND,
    SEAM,
    marked_rounds,
    round_line,
)
from specdec_core.cli.options import round_settings
from specdec_core.decoding.types import EndReason, Source
from specdec_core.experiments.live import LiveRun
from specdec_core.text.display import running_text
from specdec_core.traces.json_codec import loads
from specdec_core.ui.settings import Settings
from tests.cli.endings import code_of
from tests.traces.factory import make_round, make_trace

PROMPT = "Once upon a time"


def generate(*options: str) -> int:
    return main(["generate", PROMPT, "--pair", "tiny", "--max-new-tokens", "24", *options])


@pytest.fixture
def written(tmp_path, capsys):
    """The trace that was written and the text that was printed, of the same run."""
    path = tmp_path / "trace.json"
    assert generate("--gamma", "3", "--seed", "7", "--out", str(path)) == 0
    return loads(path.read_text(encoding="utf-8")), capsys.readouterr().out


def without_marks(text: str) -> str:
    return re.sub(f"[{SEAM}{CORRECTION}{BONUS}]", "", text)


def test_the_printed_text_is_the_text_of_the_written_trace(written):
    trace, printed = written
    shown = "".join(marked_rounds(trace))
    assert printed.startswith(PROMPT + shown)
    assert without_marks(shown) == "".join(running_text([trace.pieces[id_] for id_ in trace.emitted]))


def test_every_round_has_one_seam_and_its_own_mark(written):
    trace, _ = written
    for each, shown in zip(trace.rounds, marked_rounds(trace), strict=True):
        assert shown.count(SEAM) == 1 and shown.startswith(SEAM)
        assert shown.count(CORRECTION) == list(each.sources).count(Source.CORRECTION)
        assert shown.count(BONUS) == list(each.sources).count(Source.BONUS)


def test_the_written_trace_keeps_every_setting(tmp_path):
    path = tmp_path / "trace.json"
    options = ["--gamma", "2", "--temperature", "0.7", "--top-k", "50", "--top-p", "0.9", "--min-p", "0.01"]
    more = ["--repetition-penalty", "1.1", "--rule", "exact-match", "--seed", "5"]
    assert generate(*options, *more, "--out", str(path)) == 0
    trace = loads(path.read_text(encoding="utf-8"))
    settings = trace.rounds[0].settings
    sampling = settings.sampling
    assert (settings.gamma, sampling.temperature, sampling.top_k, sampling.top_p) == (2, 0.7, 50, 0.9)
    assert (sampling.min_p, sampling.repetition_penalty) == (0.01, 1.1)
    assert (trace.run.rule, trace.run.seed, trace.run.max_new_tokens) == ("exact match", 5, 24)


def test_a_stop_text_ends_the_run_and_stands_in_the_trace(written, tmp_path):
    pieces = [written[0].pieces[id_] for id_ in written[0].emitted]
    wanted = next(piece.decode() for piece in pieces[3:] if piece and piece.isascii())
    path = tmp_path / "stopped.json"
    assert generate("--gamma", "3", "--seed", "7", "--stop", wanted, "--out", str(path)) == 0
    trace = loads(path.read_text(encoding="utf-8"))
    assert trace.end is EndReason.STOP_STRING and trace.framing.stop_strings == (wanted,)
    assert trace.emitted == written[0].emitted[: len(trace.emitted)]


def test_the_same_seed_prints_the_same_text(capsys):
    generate("--seed", "3")
    first = capsys.readouterr().out.split(SEAM)[:-1]
    generate("--seed", "3")
    assert capsys.readouterr().out.split(SEAM)[:-1] == first


def test_listed_rounds_give_every_draft_its_verdict(capsys):
    generate("--gamma", "3", "--rounds")
    rounds = re.findall(r"^ +\d+  (.*)$", capsys.readouterr().out, re.M)
    assert rounds
    for line in rounds[:-1]:
        assert line.count(CORRECTION) + line.count(BONUS) == 1
        assert line.count("✕") == line.count(CORRECTION)


def test_no_colours_outside_a_terminal(capsys):
    generate()
    assert "\x1b" not in capsys.readouterr().out


def test_the_legend_explains_every_sign_of_a_listed_round(capsys):
    generate("--gamma", "4", "--rounds", "--seed", "7")
    legend, rounds = capsys.readouterr().out.split(ROUNDS_LEGEND)
    assert LEGEND in legend
    for sign in set("✓✕()[]") & set(rounds):
        assert sign in ROUNDS_LEGEND
    assert {"✓", "✕", "("} & set(rounds)


def test_each_verdict_has_a_sign_of_its_own():
    ends = {"AR..": None, "AA--": EndReason.LIMIT}
    shown = [round_line(make_trace([way], end=end), make_round(way, end=end)) for way, end in ends.items()]
    assert [shown[0].count(sign) for sign in "✓✕(["] == [1, 1, 2, 0]
    assert [shown[1].count(sign) for sign in "✓✕(["] == [2, 0, 0, 2]


def test_without_options_the_run_is_the_one_that_the_app_opens_on():
    asked = parser().parse_args(["generate"])
    shown = Settings()
    assert (asked.pair, asked.prompt, asked.seed) == (shown.pair, shown.prompt, shown.seed)
    assert asked.rule.replace("-", " ") == shown.rule
    assert (asked.max_new_tokens, round_settings(asked)) == (shown.max_tokens, shown.round)


@pytest.mark.parametrize("rounds", [0, 2])
def test_what_was_made_before_ctrl_c_is_kept(rounds, tmp_path, monkeypatch, capsys):
    made = LiveRun.next_round

    def next_round(live, settings):
        if len(live.trace.rounds) == rounds:
            raise KeyboardInterrupt
        return made(live, settings)

    monkeypatch.setattr(LiveRun, "next_round", next_round)
    path = tmp_path / "trace.json"
    assert generate("--gamma", "2", "--out", str(path)) == 130
    trace = loads(path.read_text(encoding="utf-8"))
    assert len(trace.rounds) == rounds and trace.end is None
    assert capsys.readouterr().out.startswith(PROMPT + "".join(marked_rounds(trace)))


def test_what_was_made_before_a_fault_is_kept(tmp_path, monkeypatch):
    def next_round(live, settings):
        raise AssertionError("a fault")

    monkeypatch.setattr(LiveRun, "next_round", next_round)
    path = tmp_path / "trace.json"
    with pytest.raises(AssertionError):
        generate("--out", str(path))
    assert loads(path.read_text(encoding="utf-8")).rounds == ()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--pair", "nowhere"], "nowhere"),
        (["--gamma", "99"], "gamma is 99"),
        (["--temperature", "-1"], "temperature is -1"),
        (["--temperature", "nan"], "temperature is nan"),
        (["--top-p", "0"], "top_p is 0"),
        (["--rule", "wishful"], "rule is wishful"),
        (["--seed", "-1"], "seed is -1"),
        (["--seed", "0x7"], "0x7"),
        (["--seed", str(2**64)], "seed is"),
        (["--max-new-tokens", "0"], "max_new_tokens is 0"),
        (["--device", "moon"], "no device moon here"),
        (["--stop", ""], "a stop string is empty"),
        (["--system", "Be brief."], "--system needs --chat"),
        (["--chat"], "no chat template"),
        (["--device", "cuda:99"], "finds cpu"),
        (["--out", "/no/such/folder/trace.json"], "/no/such/folder"),
        (["--out", "/"], "is a folder"),
    ],
)
def test_a_mistake_is_answered_in_one_line_and_code_2(options, says, capsys):
    assert code_of(lambda: generate(*options)) == 2
    error = capsys.readouterr().err.strip()
    assert says in error and "Traceback" not in error and "\n" not in error


@pytest.mark.parametrize("mistake", ["--rule wishful", "--seed -1", "--out /", "--gamma 99"])
def test_a_mistake_is_told_before_any_model_is_loaded(mistake, monkeypatch):
    monkeypatch.setattr("specdec_core.models.loading.load_pair", pytest.fail)
    assert generate(*mistake.split()) == 2


def test_a_file_that_may_not_be_written_is_refused_before_the_run(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert generate("--out", str(tmp_path / "trace.json")) == 2
    assert "may not be written" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--rule greedy --temperature 1 --top-k 5", "most probable token: --temperature, --top-k"),
        ("--rule greedy", ""),
        ("--temperature 1", ""),
        ("--max-new-tokens 100000", "after the prompt, not for 100000"),
    ],
)
def test_what_is_asked_for_in_vain_is_said_on_the_side(options, said, capsys, monkeypatch):
    monkeypatch.setattr("specdec_core.cli.generate._decode", lambda live, settings, baseline: 0)
    assert generate(*options.split()) == 0
    error = capsys.readouterr().err
    assert said in error if said else not error


@pytest.mark.parametrize("prompt", ["", "word " * 1000])
def test_a_prompt_that_cannot_be_read_is_refused(prompt, capsys):
    assert main(["generate", prompt, "--pair", "tiny"]) == 2
    error = capsys.readouterr().err.strip()
    assert "prompt" in error and "\n" not in error
