"""What the commands share: where a pair runs, in which format, and whether its passes are compiled."""

from specdec_core.cli import main
from tests.cli.endings import code_of

SHORT = ["generate", "Once", "--pair", "tiny", "--device", "cpu", "--max-new-tokens", "3"]


def test_the_number_format_can_be_chosen_and_stands_beside_the_speeds(capsys):
    assert code_of(lambda: main([*SHORT, "--dtype", "bfloat16"])) == 0
    assert "bfloat16 · batch 1" in capsys.readouterr().out


def test_compiling_without_a_compiler_is_refused_in_words(capsys, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert code_of(lambda: main([*SHORT, "--compile"])) != 0
    assert "no-such-compiler is not installed" in capsys.readouterr().err
