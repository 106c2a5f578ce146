"""What the server does before it answers: afterwards the first visitor waits for no import."""

import subprocess
import sys
from pathlib import Path

from streamlit.web.server.app_discovery import discover_asgi_app

APP = Path(__file__).parents[2] / "app.py"

FIRST_VISIT = f"""
import sys
from streamlit.testing.v1 import AppTest
from specdec_core.ui import server
server.prepare()
ready = set(sys.modules)
visit = AppTest.from_file({str(APP)!r}, default_timeout=60).run()
assert not visit.exception and visit.get("bidi_component")
print(sorted(name for name in set(sys.modules) - ready if name.startswith("specdec_core")))
print(sorted({{"torch", "pandas", "transformers"}} & set(sys.modules)))
"""


def test_the_first_visitor_finds_everything_imported_and_nothing_heavy():
    command = [sys.executable, "-c", FIRST_VISIT]
    result = subprocess.run(command, cwd=APP.parent, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["[]", "[]"]


def test_streamlit_finds_the_app_that_it_shall_serve():
    assert discover_asgi_app(APP).import_string == "app:app"
