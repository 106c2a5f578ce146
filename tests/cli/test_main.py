"""The command line as a whole: help without waiting, and endings that a shell understands."""

import subprocess
import sys
from pathlib import Path

import pytest

from specdec_core import cli

ROOT = Path(__file__).resolve().parents[2]


def test_help_lists_every_command(capsys):
    with pytest.raises(SystemExit) as ending:
        cli.main(["--help"])
    assert ending.value.code == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in cli.COMMANDS)


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_explains_itself(name, capsys):
    with pytest.raises(SystemExit) as ending:
        cli.main([name, "--help"])
    assert ending.value.code == 0
    assert name in capsys.readouterr().out


def test_the_parser_is_there_before_torch_is():
    program = "import sys; from specdec_core.cli import parser; parser(); print('torch' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert result.stdout.strip() == "False", result.stderr


def test_an_unknown_command_ends_with_code_2(capsys):
    with pytest.raises(SystemExit) as ending:
        cli.main(["conjure"])
    assert ending.value.code == 2
    assert "conjure" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code"),
    [(ValueError("x is 3"), 2), (OSError("no room"), 2), (KeyboardInterrupt(), 130)],
)
def test_what_a_person_can_mend_never_ends_in_a_traceback(error, code, monkeypatch, capsys):
    def fail(args):
        raise error

    monkeypatch.setattr("specdec_core.cli.generate.run", fail)
    assert cli.main(["generate", "Once"]) == code
    assert str(error) in capsys.readouterr().err


def test_a_fault_of_the_program_is_not_passed_off_as_a_mistake(monkeypatch):
    def fail(args):
        raise AssertionError("a fault")

    monkeypatch.setattr("specdec_core.cli.generate.run", fail)
    with pytest.raises(AssertionError):
        cli.main(["generate", "Once"])
