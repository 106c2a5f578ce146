"""Fetching and the doctor on the command line, without a network."""

from specdec_core import cli
from specdec_core.cli import doctor, fetch
from specdec_core.models import sources
from specdec_core.models.errors import PairError
from specdec_core.models.inventory import Finding
from specdec_core.models.registry import PAIRS


def test_a_pair_stands_for_its_models_and_each_is_fetched_once():
    names = [model.name for model in fetch.chosen(["smollm2-1.7b", "smollm2-135m", "hub:a/b"])]
    assert names == ["smollm2-1.7b", "smollm2-135m", "a/b"]


def test_fetching_says_where_the_model_is(monkeypatch, tmp_path, capsys):
    def obtain(model, meter):
        meter.stage("downloading", 100)
        meter.add(100)
        return tmp_path

    monkeypatch.setattr(sources, "obtain", obtain)
    assert cli.main(["fetch", "smollm2-135m"]) == 0
    assert f"SmolLM2 135M Instruct is in {tmp_path}" in capsys.readouterr().out


def test_what_cannot_be_fetched_ends_with_code_2_and_the_reason(monkeypatch, capsys):
    def refuse(model, meter):
        raise PairError("It is gated.")

    monkeypatch.setattr(sources, "obtain", refuse)
    assert cli.main(["fetch", "qwen3-0.6b"]) == 2
    assert "fetch: It is gated." in capsys.readouterr().err


def test_an_interrupt_cancels_the_work_before_it_ends(monkeypatch, capsys):
    stopped = []

    def obtain(model, meter):
        try:
            while True:
                meter.reach(0)
        finally:
            stopped.append(True)

    def interrupt(thread, meter):
        raise KeyboardInterrupt

    monkeypatch.setattr(sources, "obtain", obtain)
    monkeypatch.setattr(fetch, "_show_until_done", interrupt)
    assert cli.main(["fetch", "qwen3-0.6b"]) == 130
    assert stopped == [True]


def test_an_unknown_name_is_refused(capsys):
    assert cli.main(["fetch", "nothing"]) == 2
    assert "no model 'nothing'" in capsys.readouterr().err


def test_the_doctor_speaks_of_every_subject_and_every_pair(capsys):
    assert cli.main(["doctor"]) == 0
    printed = capsys.readouterr().out
    subjects = [line for line in printed.splitlines() if line and not line.startswith(" ")]
    assert subjects == ["Devices", "Libraries", "Folders", "Models", "Pairs"]
    assert all(f" {key} " in printed.partition("Pairs")[2] for key in PAIRS)


def test_what_is_missing_is_marked_and_explained():
    lines = doctor.lines((Finding("cpu", True, "64 GiB free"), Finding("cuda", False, "no driver")))
    assert lines == ["  ✓ cpu   64 GiB free", "  – cuda  no driver"]
