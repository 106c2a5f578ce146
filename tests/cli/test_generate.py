"""`generate`: what it prints, what it writes, and what it says when it cannot."""

import re

import pytest

from specdec_core.cli import main
from specdec_core.cli.generate import BONUS, CORRECTION, SEAM, marked_rounds
from specdec_core.decoding.types import Source
from specdec_core.text.display import running_text
from specdec_core.traces.json_codec import loads

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


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--pair", "nowhere"], "nowhere"),
        (["--gamma", "99"], "gamma is 99"),
        (["--temperature", "-1"], "temperature is -1"),
        (["--top-p", "0"], "top_p is 0"),
        (["--rule", "wishful"], "wishful"),
        (["--max-new-tokens", "0"], "max_new_tokens is 0"),
        (["--device", "moon"], "moon"),
        (["--device", "cuda:99"], "cuda:99"),
        (["--out", "/no/such/folder/trace.json"], "/no/such/folder"),
    ],
)
def test_a_mistake_is_answered_in_one_line_and_code_2(options, says, capsys):
    assert generate(*options) == 2
    error = capsys.readouterr().err.strip()
    assert says in error and "Traceback" not in error and "\n" not in error


@pytest.mark.parametrize("prompt", ["", "word " * 1000])
def test_a_prompt_that_cannot_be_read_is_refused(prompt, capsys):
    assert main(["generate", prompt, "--pair", "tiny"]) == 2
    assert "prompt" in capsys.readouterr().err
