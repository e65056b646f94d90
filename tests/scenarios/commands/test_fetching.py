"""Fetching an answer once, of this machine: what is written, what is refused, and what no message repeats."""

import http.server
import json
import threading

import pytest

from scenarios import UserError
from scenarios.commands import fetching
from scenarios.commands.fetching import fetch

ANSWER = json.dumps(
    [
        {
            "icaoId": f"K{i}",
            "lat": 40 + i,
            "lon": -100.0,
            "temp": 20,
            "dewp": 10,
            "wspd": 5,
            "obsTime": 1772366400,
        }
        for i in range(3)
    ]
)


class Service(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith("/elsewhere"):
            self.send_response(302)
            self.send_header("Location", "http://example.invalid/metar")
            self.end_headers()
            return
        found = {"/metar": (200, ANSWER.encode()), "/empty": (200, b""), "/large": (200, b"x" * 5000)}
        code, body = found.get(self.path.partition("?")[0], (403, b"no"))
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_an_answer_is_written_whole_and_read_as_a_file(address, tmp_path, policyloop):
    file = tmp_path / "metar.json"
    code, out, error = policyloop("stations", file, "--fetch", f"{address}/metar?token=secret")
    assert code == 0 and file.read_text() == ANSWER
    assert "3 stations kept" in out and "wrote" in error and "secret" not in out + error
    code, _, error = policyloop("stations", file, "--fetch", f"{address}/metar")
    assert code == 2 and "exists" in error and error.count("\n") == 1
    code, _, _ = policyloop("stations", file, "--fetch", f"{address}/metar", "--force")
    assert code == 0


@pytest.mark.parametrize(("path", "words"), [("/none?token=secret", "answers 403"), ("/empty", "is empty")])
def test_an_error_is_one_line_without_the_key_and_writes_nothing(address, tmp_path, path, words):
    with pytest.raises(UserError, match=words) as caught:
        fetch(address + path, tmp_path / "a.json")
    assert "secret" not in str(caught.value) and not list(tmp_path.iterdir())


def test_an_answer_that_is_too_large_is_given_up(address, tmp_path, monkeypatch):
    monkeypatch.setattr(fetching, "LARGEST", 1000)
    with pytest.raises(UserError, match="larger than"):
        fetch(f"{address}/large", tmp_path / "a.json")
    assert not list(tmp_path.iterdir())


def test_only_https_is_fetched_and_followed(address, tmp_path):
    for url in (
        "http://example.com/metar",
        "file:///etc/passwd",
        "ftp://x/y",
        "nothing",
        "https://",
        "http://[x",
    ):
        with pytest.raises(UserError, match="begins with https://"):
            fetch(url, tmp_path / "a.json")
    with pytest.raises(UserError, match="begins with https://"):
        fetch(f"{address}/elsewhere", tmp_path / "a.json")
    with pytest.raises(UserError, match="cannot be fetched"):
        fetch("http://127.0.0.1:9/", tmp_path / "a.json")
    assert not list(tmp_path.iterdir())
