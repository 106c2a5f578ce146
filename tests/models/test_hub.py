"""The hub, played by a small server: what is fetched, what is sent, what is said when it refuses."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from specdec_core.models import hub
from specdec_core.models.access import hub_model
from specdec_core.models.errors import PairError
from specdec_core.models.inspection import inspect
from specdec_core.models.progress import Cancelled, Meter
from specdec_core.models.registry import custom_pair
from specdec_core.models.sources import obtain

from .tiny import model, save, tokenizer

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class FakeHub:
    """Serves folders as hub models; ``gated`` ids want the token ``hf_good``."""

    def __init__(self):
        self.models, self.gated, self.asked, self.tokens = {}, set(), [], []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def _handler(fake):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                path = self.path.partition("?")[0]
                if not path.startswith(("/api/models/", "/someone/")):
                    return self.answer(404, b"{}")  # what else the library asks of the hub
                fake.tokens.append(self.headers.get("authorization"))
                if path.startswith("/api/models/"):
                    return self.info(path.removeprefix("/api/models/").partition("/revision/")[0])
                hub_id, _, name = path.strip("/").partition(f"/resolve/{COMMIT}/")
                self.file(hub_id, name)

            do_HEAD = do_GET

            def info(self, hub_id):
                if hub_id not in fake.models:
                    return self.answer(404, b"{}", {"X-Error-Code": "RepoNotFound"})
                files = [
                    {"rfilename": path.name, "size": path.stat().st_size}
                    for path in fake.models[hub_id].iterdir()
                ]
                body = {
                    "id": hub_id,
                    "sha": COMMIT,
                    "siblings": files,
                    "gated": hub_id in fake.gated and "manual",
                }
                self.answer(200, json.dumps(body).encode())

            def file(self, hub_id, name):
                if hub_id in fake.gated and self.headers.get("authorization") != "Bearer hf_good":
                    return self.answer(403, b"", {"X-Error-Code": "GatedRepo"})
                path = fake.models[hub_id] / name
                if not path.is_file():
                    return self.answer(404, b"", {"X-Error-Code": "EntryNotFound"})
                if self.command == "GET":
                    fake.asked.append(name)
                data = path.read_bytes()
                self.answer(
                    200, data, {"ETag": f'"{hashlib.sha256(data).hexdigest()}"', "X-Repo-Commit": COMMIT}
                )

            def answer(self, status, body, headers=None):
                self.send_response(status)
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body)

            def log_message(self, *_):
                pass

        return Handler


@pytest.fixture
def fake(tmp_path, monkeypatch):
    from huggingface_hub import constants

    server = FakeHub()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", server.address)
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", server.address + "/{repo_id}/resolve/{revision}/{filename}"
    )
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(hub._silent, "until", 0.0)
    monkeypatch.setenv("SPECDEC_CACHE_DIR", str(tmp_path / "product"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    words = tokenizer()
    folder = save(tmp_path / "served", model(len(words), layers=1, seed=1), words)
    (folder / "pytorch_model.bin").write_bytes(b"a pickle")
    (folder / "modeling_mine.py").write_text("raise SystemExit")
    (folder / "consolidated.safetensors").write_bytes(b"the same again")
    server.models["someone/tiny"] = folder
    yield server
    server.server.shutdown()


def test_a_model_is_fetched_whole_without_pickles_or_code(fake):
    meter, model = Meter(), hub_model("someone/tiny")
    folder = obtain(model, meter)
    assert {"config.json", "tokenizer.json", "model.safetensors"} <= {path.name for path in folder.iterdir()}
    assert not {"pytorch_model.bin", "modeling_mine.py", "consolidated.safetensors"} & set(fake.asked)
    assert meter.progress.bytes_done == meter.progress.bytes_total > 0
    asked = len(fake.tokens)
    assert obtain(model, Meter()) == folder and len(fake.tokens) == asked


def test_a_checklist_fetches_no_weights(fake):
    found = inspect(custom_pair(hub_model("someone/tiny")), "cpu")
    assert found.refusal is None and "model.safetensors" not in fake.asked
    assert hub.cached("someone/tiny") is None


def test_a_download_that_is_cancelled_is_no_model_and_goes_on_later(fake):
    meter = Meter()
    reach = meter.reach

    def cancel_at_weights(count):
        if "model.safetensors" in fake.asked:
            meter.cancel()
        reach(count)

    meter.reach = cancel_at_weights
    with pytest.raises(Cancelled):
        obtain(hub_model("someone/tiny"), meter)
    assert hub.cached("someone/tiny") is None
    obtain(hub_model("someone/tiny"), Meter())
    assert hub.cached("someone/tiny")


def test_a_missing_model_is_said_to_be_missing(fake):
    with pytest.raises(PairError, match="no model someone/else, or it is private"):
        obtain(hub_model("someone/else"), Meter())


def test_a_model_without_safetensors_is_refused(fake):
    (fake.models["someone/tiny"] / "model.safetensors").unlink()
    with pytest.raises(PairError, match="no weights in safetensors"):
        obtain(hub_model("someone/tiny"), Meter())
    assert "no safetensors" in inspect(custom_pair(hub_model("someone/tiny")), "cpu").refusal.reason


def test_a_gated_model_says_how_to_get_it(fake):
    fake.gated.add("someone/tiny")
    found = inspect(custom_pair(hub_model("someone/tiny")), "cpu")
    assert "is gated" in found.refusal.reason and "HF_TOKEN" in found.refusal.reason


def test_a_token_comes_from_the_environment_and_is_never_shown(fake, monkeypatch):
    fake.gated.add("someone/tiny")
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    with pytest.raises(PairError, match="token in HF_TOKEN has no access") as caught:
        obtain(hub_model("someone/tiny"), Meter())
    assert "hf_wrong" not in str(caught.value)
    monkeypatch.setenv("HF_TOKEN", "hf_good")
    assert obtain(hub_model("someone/tiny"), Meter())


def test_a_token_that_a_login_left_on_the_disk_is_not_sent(fake, tmp_path, monkeypatch):
    from huggingface_hub import constants

    (tmp_path / "token").write_text("hf_left_behind")
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    obtain(hub_model("someone/tiny"), Meter())
    assert set(fake.tokens) == {None}


def test_a_silent_hub_is_not_asked_again_at_once(fake, monkeypatch):
    fake.server.shutdown()
    fake.server.server_close()
    with pytest.raises(hub.HubUnreachable, match="no answer"):
        hub.describe("someone/tiny")
    monkeypatch.setattr(hub, "HfApi", None)
    with pytest.raises(hub.HubUnreachable, match="no answer"):
        hub.describe("someone/tiny")
    assert not hub.answers()
