"""`train`: mistakes are told before an hour has gone by, and stopping loses nothing."""

import pytest

from specdec_core.cli import main
from specdec_core.training import pipeline
from specdec_core.training.defaults import StepName
from tests.cli.endings import code_of


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    return folder


def train(corpus, *options: str) -> int:
    place = ["--out", str(corpus.parent / "models"), "--work-dir", str(corpus.parent / "work")]
    return code_of(lambda: main(["train", "--corpus", str(corpus), *place, *options]))


def test_every_step_there_is_can_be_asked_for():
    assert list(pipeline.STEPS) == list(StepName)


def test_steps_are_done_in_the_order_asked_for(corpus, monkeypatch):
    done = []
    for name in StepName:
        monkeypatch.setitem(pipeline.STEPS, name, lambda workshop, plan, say, name=name: done.append(name))
    assert train(corpus, "--steps", "report", "sample") == 0
    assert done == [StepName.REPORT, StepName.SAMPLE]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--steps", "dream"], "tokenizer, target"),
        (["--target-tokens", "0"], "no number above 0"),
        (["--target-tokens", "-3"], "no number above 0"),
        (["--draft-minutes", "0"], "no number above 0"),
        (["--draft-minutes", "inf"], "no number above 0"),
        (["--draft-tokens", "many"], "no number above 0"),
        (["--seed", "-1"], "no whole number"),
        ([], "pg*.txt"),
    ],
)
def test_a_mistake_is_answered_in_one_line_and_code_2(options, says, corpus, capsys):
    assert train(corpus, *options) == 2
    error = capsys.readouterr().err.strip()
    assert says in error and "\n" not in error


def test_a_place_that_cannot_be_written_is_found_out_at_once(corpus, capsys):
    (corpus.parent / "models").write_text("a file where a folder should be")
    assert train(corpus) == 2
    assert "models" in capsys.readouterr().err


def test_a_report_without_the_trainings_is_refused_before_it_measures(corpus, monkeypatch, capsys):
    monkeypatch.setattr(pipeline, "measure", pytest.fail)
    assert train(corpus, "--steps", "report") == 2
    assert "target.pt is missing" in capsys.readouterr().err


def test_stopping_says_how_to_go_on(corpus, monkeypatch, capsys):
    def stop(workshop, plan, say):
        raise KeyboardInterrupt

    monkeypatch.setitem(pipeline.STEPS, StepName.TARGET, stop)
    assert train(corpus, "--steps", "target") == 130
    assert "goes on from the last checkpoint" in capsys.readouterr().err
