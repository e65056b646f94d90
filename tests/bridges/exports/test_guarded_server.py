"""Strangers at the door of `policyloop serve`: names, tokens, sizes and times."""

import gzip
import http.client
import json
import socket
import threading
import time

import pytest

from bridges import FunctionEnvironment
from bridges.exports.guarded_server import Caps
from bridges.exports.um_bridge_server import serving
from policyloop.http_guard import Guard, host_of, token_of
from scenarios.cli import invoke

ASKED = {"name": "FunctionEnvironment", "input": [[0.25, 2, 1]]}
JSON = {"Content-Type": "application/json"}
TOKEN = "a token of some length".replace(" ", "-")


def clinic():
    """An environment whose steps are counted, and which holds every policy to its levers."""

    def step(x):
        steps.append(x)
        assert 0 <= x[0] <= 1 and x[1] in (1, 2, 3, 4) and x[2] in ("flat", "peak")
        return [x[0], float(x[1])]

    steps = []
    policy = {"x": (0, 1), "n": {"whole": (1, 4)}, "tariff": {"one_of": ["flat", "peak"]}}
    environment = FunctionEnvironment(step, policy, ["a", "b"])
    environment.taken = steps
    return environment


@pytest.fixture(scope="module")
def served():
    environment = clinic()
    with serving(environment, port=0) as url:
        yield int(url.rpartition(":")[2]), environment.taken


def ask(port, path="/Evaluate", body=ASKED, method="POST", headers=JSON, host=None):
    """Status, content and headers of an answer; the headers of the request are sent as they are."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        pairs = headers.items() if isinstance(headers, dict) else headers
        for name, value in [("Host", host or f"127.0.0.1:{port}"), *pairs]:
            if value is not None:
                connection.putheader(name, value)
        if not any(name.lower() in ("transfer-encoding", "content-length") for name, _ in pairs):
            connection.putheader("Content-Length", str(len(content)))
        connection.endheaders(content)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read()), answer.headers
    finally:
        connection.close()


@pytest.mark.parametrize("host", ["127.0.0.1:1", "localhost", "LOCALHOST.:4242", "[::1]:80", "127.5.6.7"])
def test_names_of_the_loopback_may_be_asked(served, host):
    port, _ = served
    assert ask(port, host=host)[:2] == (200, {"output": [[0.25, 2.0]]})


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "0.0.0.0",
        "user@localhost",
        "localhost:x",
        "local host",
        "[::1",
    ],
)
def test_a_name_of_others_that_resolves_to_this_machine_is_refused(served, host):
    port, steps = served
    before = len(steps)
    status, told, _ = ask(port, host=host)
    assert status == 403 and told["error"]["type"] == "Forbidden" and len(steps) == before


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "file://", "ftp://localhost", "https://localhost.e"]
)
@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/Info"), ("POST", "/Evaluate"), ("OPTIONS", "/Evaluate")]
)
def test_a_page_of_another_site_is_refused_and_no_step_is_taken(served, origin, method, path):
    port, steps = served
    before = len(steps)
    status, told, headers = ask(port, path, method=method, headers={**JSON, "Origin": origin})
    assert status == 403 and told["error"]["type"] == "Forbidden" and len(steps) == before
    assert "Access-Control-Allow-Origin" not in headers and headers["X-Content-Type-Options"] == "nosniff"
    assert ask(port, path, method=method, headers={**JSON, "Sec-Fetch-Site": "cross-site"})[0] == 403


def test_a_page_of_this_machine_may_ask_but_not_without_asking_first(served):
    port, _ = served
    own = {"Origin": "http://localhost:3000"}
    assert ask(port, headers={**JSON, **own})[0] == 200
    for plain in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", None):
        assert ask(port, headers={"Content-Type": plain, **own})[0] == 415


def test_content_is_json_and_a_program_may_leave_its_name_out(served):
    port, steps = served
    before = len(steps)
    assert ask(port, headers={"Content-Type": "Application/JSON; charset=utf-8"})[0] == 200
    assert ask(port, headers={})[0] == 200  # as UM-Bridge's client in Julia
    assert ask(port, headers={"Content-Type": "text/plain"})[0] == 415
    assert len(steps) == before + 2


def test_a_compressed_body_is_refused_unread(served):
    port, _ = served
    bomb = gzip.compress(b" " * 10**8)
    status, told, _ = ask(port, body=bomb, headers={**JSON, "Content-Encoding": "gzip"})
    assert status == 415 and "accepted: none" in told["error"]["message"]


@pytest.mark.parametrize(
    "pair", [[("Host", "evil.example")], [("Content-Type", "text/plain")], [("Content-Length", "5")]]
)
def test_a_header_that_is_there_twice_is_refused(served, pair):
    port, steps = served
    before = len(steps)
    assert ask(port, headers=[*JSON.items(), ("Content-Length", "60"), *pair])[0] == 400
    assert len(steps) == before


def test_a_body_that_is_too_long_is_refused_by_its_length_and_by_its_bytes():
    with serving(clinic(), port=0, caps=Caps(body=1000)) as url:
        port = int(url.rpartition(":")[2])
        assert ask(port, headers={**JSON, "Content-Length": "1001"}, body=b"")[0] == 413
        chunks = b"1f4\r\n" + b" " * 500 + b"\r\n"
        status, told, _ = ask(
            port, headers={**JSON, "Transfer-Encoding": "chunked"}, body=chunks * 3 + b"0\r\n\r\n"
        )
        assert status == 413 and told["error"]["message"] == "the body is longer than 1000 bytes"
        assert ask(port, body=json.dumps(ASKED).encode().ljust(1000))[0] == 200


def test_a_head_that_is_too_long_is_refused(served):
    port, _ = served
    assert ask(port, headers={**JSON, "X": "x" * 9000})[0] == 400
    assert ask(port, headers={**JSON, **{f"X{i}": "x" for i in range(70)}})[0] == 400
    assert ask(port, f"/{'x' * 9000}")[0] == 400


def test_half_a_request_is_ended_and_more_connections_than_the_cap_are_closed():
    with serving(clinic(), port=0, caps=Caps(connections=3, head_seconds=0.5, body_seconds=0.5)) as url:
        port = int(url.rpartition(":")[2])
        half = b"POST /Evaluate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n"
        slow = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(3)]
        for one in slow:
            one.sendall(half)
        with socket.create_connection(("127.0.0.1", port), timeout=60) as surplus, pytest.raises(OSError):
            while surplus.recv(1):
                pass
            raise ConnectionResetError("closed")
        assert [one.recv(1) if not _reset(one) else b"" for one in slow] == [b""] * 3
        with socket.create_connection(("127.0.0.1", port), timeout=60) as one:
            one.sendall(half + b"Content-Type: application/json\r\n\r\n{")
            assert one.recv(12) == b"HTTP/1.1 408"
        end = time.monotonic() + 60
        while True:  # the ends of the others have been noticed
            try:
                assert ask(port)[0] == 200
                break
            except OSError:
                assert time.monotonic() < end


def _reset(connection):
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except ConnectionResetError:
        return True


def test_who_has_a_token_may_ask_and_nobody_else():
    with serving(clinic(), port=0, token=TOKEN) as url:
        port = int(url.rpartition(":")[2])
        for told in (
            None,
            TOKEN,
            f"Bearer {TOKEN}x",
            f"Bearer {TOKEN[:-1]}",
            f"Basic {TOKEN}",
            "Bearer",
            "Bearer é",
        ):
            status, _, headers = ask(port, "/Info", method="GET", headers={"Authorization": told})
            assert status == 401 and headers["WWW-Authenticate"] == "Bearer"
        for told in (f"Bearer {TOKEN}", f"bearer  {TOKEN}"):
            assert ask(port, headers={**JSON, "Authorization": told})[0] == 200


def test_a_token_is_of_a_file_or_of_the_environment_and_is_never_told(tmp_path, monkeypatch):
    file = tmp_path / "token"
    monkeypatch.setenv("POLICYLOOP_TOKEN", TOKEN + "2")
    assert token_of(None) == TOKEN + "2"
    file.write_text(f"{TOKEN}\n")
    assert token_of(file) == TOKEN
    monkeypatch.delenv("POLICYLOOP_TOKEN")
    assert token_of(None) is None
    for text in ("short", TOKEN + " " + TOKEN, TOKEN + "é", ""):
        file.write_text(text)
        with pytest.raises(ValueError, match="accepted: one line of 16 or more") as told:
            token_of(file)
        assert not text or text not in str(told.value)
    with pytest.raises(ValueError, match="cannot be read"):
        token_of(tmp_path / "none")


def test_a_name_is_allowed_as_host_and_as_origin():
    with serving(clinic(), port=0, allow_hosts=["Model.example.org"]) as url:
        port = int(url.rpartition(":")[2])
        page = {**JSON, "Origin": "https://model.example.org"}
        assert ask(port, host="model.example.org:443", headers=page)[0] == 200
        assert ask(port, host="example.org")[0] == 403
    for name in ("http://localhost", "a:80", "", "a b", "a/b"):
        with pytest.raises(ValueError, match="--allow-host"):
            Guard.of("127.0.0.1", [name])


def test_the_address_that_it_listens_at_is_a_name_unless_it_means_all():
    assert Guard.of("192.168.7.7").hosts == {"192.168.7.7"}
    assert Guard.of("0.0.0.0").hosts == Guard.of("::").hosts == frozenset()
    assert Guard.of("fe80::1").hosts == {"fe80::1"} == {host_of("[FE80::1]:80")}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("POST", "/TestShMem", 404),
        ("GET", "/Evaluate", 405),
        ("POST", "/Info", 405),
        ("PUT", "/Info", 405),
        ("DELETE", "/Evaluate", 405),
    ],
)
def test_what_is_not_there_is_told_in_the_protocols_form(served, method, path, status):
    port, _ = served
    got, told, headers = ask(port, path, method=method)
    assert got == status and set(told["error"]) == {"type", "message"}
    assert ("Allow" in headers) == (status == 405)


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"name": "FunctionEnvironment", "input": ' + b"[" * 900 + b"]" * 900 + b"}",
        b'{"name": "FunctionEnvironment", "input": [[1e999, 2, 1]]}',
        b'{"name": "FunctionEnvironment", "input": [[NaN, 2, 1]]}',
        b'{"name": "FunctionEnvironment", "input": [[' + b"9" * 400 + b", 2, 1]]}",
        b'{"name": "FunctionEnvironment", "input": [[' + b"9" * 5000 + b", 2, 1]]}",
        b'{"name": "FunctionEnvironment", "input": [[true, 2, 1]]}',
        b'{"name": "FunctionEnvironment", "input": [[0.2, 2, 1]], "config": {"seed": ' + b"9" * 300 + b"}}",
        b'{"name": "\\ud800", "input": [[0.2, 2, 1]]}',
        b"\xff\xfe{}",
        b"",
    ],
)
def test_odd_json_is_a_clients_mistake(served, body):
    port, _ = served
    status, told, _ = ask(port, body=body)
    assert status == 400 and len(told["error"]["message"]) <= 1000


def test_a_client_that_has_left_takes_no_step():
    entered, go_on, taken = threading.Event(), threading.Event(), []

    def step(x):
        taken.append(x[0])
        entered.set()
        go_on.wait(60)
        return [x[0]]

    with serving(FunctionEnvironment(step, {"x": (0, 1)}, ["a"]), port=0) as url:
        port = int(url.rpartition(":")[2])
        body = json.dumps({"name": "FunctionEnvironment", "input": [[0.5]]}).encode()
        head = "POST /Evaluate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        request = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        first = socket.create_connection(("127.0.0.1", port), timeout=60)
        first.sendall(request)
        assert entered.wait(60)
        second = socket.create_connection(("127.0.0.1", port), timeout=60)
        second.sendall(request)
        assert ask(port, "/Info", method="GET")[0] == 200  # so the second has been read
        second.close()
        assert ask(port, "/Info", method="GET")[0] == 200
        go_on.set()
        assert first.recv(12) == b"HTTP/1.1 200"
        first.close()
    assert taken == [0.5]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["--allow-host", "http://x"],
            "--allow-host = 'http://x'; accepted: the name of a host, without a port",
        ),
        (["--token-file", "none.txt"], "--token-file none.txt: cannot be read (No such file or directory)"),
    ],
)
def test_the_command_refuses_a_name_or_a_token_file_in_one_line(arguments, words, capsys):
    assert invoke(["serve", "flu-ode", "--port", "0", *arguments]) == 2
    assert capsys.readouterr().err == f"policyloop: {words}\n"
