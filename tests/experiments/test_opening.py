"""The recorded run that is on screen first is the one that the defaults start again."""

import json
from pathlib import Path

from specdec_core.experiments import opening
from specdec_core.traces.json_codec import SAMPLING

RECORDED = Path(__file__).resolve().parents[2] / "assets" / "traces" / "opening.json"


def test_the_defaults_are_those_of_the_recorded_run():
    trace = json.loads(RECORDED.read_text(encoding="utf-8"))
    run, settings = trace["run"], trace["rounds"][0]["settings"]
    assert (trace["pair"]["key"], trace["prompt"]) == (opening.PAIR, opening.PROMPT)
    assert (run["rule"], int(run["seed"])) == (opening.RULE, opening.SEED)
    assert run["max_new_tokens"] == opening.MAX_NEW_TOKENS
    assert settings["gamma"] == opening.ROUND.gamma
    assert SAMPLING.read(settings["sampling"], "sampling") == opening.ROUND.sampling
