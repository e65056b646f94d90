"""The page's server answers its own page on this machine, and nobody else."""

import asyncio
import http.client
import json
import re
import socket
import threading

import pytest

from bridges.exports.guarded_server import listening
from policyloop.http_guard import Guard
from scenarios.cli import invoke
from scenarios.errors import UserError
from scenarios.watching.site import POLICY, TYPES, beside, endpoints, plain, show

JSON = {"Content-Type": "application/json"}
KEY = "key-of-the-test"


def refuses(asked, left):
    raise UserError("no\nsuch thing")


def breaks(asked, left):
    raise ZeroDivisionError("a <b>fault</b>")


@pytest.fixture(scope="module")
def port():
    calls = {"echo": lambda asked, left: asked, "refuses": refuses, "breaks": breaks}
    with listening(
        endpoints(KEY, "study.html", calls), Guard(), "127.0.0.1", 0, nothing="nothing here"
    ) as url:
        yield int(url.rpartition(":")[2])


def ask(port, path, body=None, headers=None, host=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        method = "GET" if body is None else "POST"
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        sent = {"Host": host or f"127.0.0.1:{port}"} | ({} if body is None else JSON) | (headers or {})
        connection.request(method, path, content, sent)
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers
    finally:
        connection.close()


def test_the_page_and_its_files_are_given_below_the_key_alone(port):
    status, body, headers = ask(port, f"/{KEY}/")
    assert status == 200 and b"<!doctype html>" in body
    assert headers["Content-Type"] == TYPES[".html"]
    for name in re.findall(rb'(?:href|src)="([^"]+)"', body):
        assert ask(port, f"/{KEY}/{name.decode()}")[0] == 200
    for path in ("/", "/study.js", f"/{KEY}", f"/{KEY}/../site.py", f"/{KEY}/%2e%2e/site.py"):
        status, body, _ = ask(port, path)
        assert status == 404 and KEY.encode() not in body


def test_the_page_may_load_nothing_but_its_own_files(port):
    headers = ask(port, f"/{KEY}/")[2]
    assert headers["Content-Security-Policy"] == POLICY
    assert "unsafe" not in POLICY and "http" not in POLICY and "default-src 'none'" in POLICY
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["Referrer-Policy"] == "no-referrer"
    assert "Access-Control-Allow-Origin" not in headers


def test_its_files_name_no_other_place_and_write_no_html():
    from importlib import resources

    for one in resources.files("scenarios.watching").joinpath("page").iterdir():
        text = one.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?:|//[a-z]+\.[a-z]", text), one.name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text), one.name
        assert not re.search(r'<[^>]+ (style|on\w+)="', text), one.name


@pytest.mark.parametrize(
    ("headers", "host"),
    [
        ({"Origin": "https://elsewhere.example"}, None),
        ({"Origin": "null"}, None),
        ({}, "elsewhere.example"),
        ({"Origin": "https://elsewhere.example", "Connection": "Upgrade", "Upgrade": "websocket"}, None),
        ({"Sec-Fetch-Site": "cross-site"}, None),
    ],
)
def test_pages_of_elsewhere_are_refused_websocket_or_not(port, headers, host):
    assert ask(port, f"/{KEY}/", headers=headers, host=host)[0] == 403
    assert ask(port, f"/{KEY}/echo", {}, headers=headers, host=host)[0] == 403


def test_no_websocket_is_opened_even_for_the_page_itself(port):
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        "Origin": f"http://127.0.0.1:{port}",
    }
    assert ask(port, f"/{KEY}/", headers=upgrade)[0] == 200
    assert ask(port, f"/{KEY}/echo", headers=upgrade)[0] == 405


def test_a_call_takes_and_gives_json(port):
    assert json.loads(ask(port, f"/{KEY}/echo", {"a": [1, None]})[1]) == {"a": [1, None]}
    for body in (b"[1]", b"{", b"\xff", b"[" * 5000):
        assert ask(port, f"/{KEY}/echo", body)[0] == 400
    assert ask(port, f"/{KEY}/echo", b"a=1", {"Content-Type": "application/x-www-form-urlencoded"})[0] == 415


def test_what_fails_is_said_in_one_line(port):
    status, body, _ = ask(port, f"/{KEY}/refuses", {})
    assert (status, json.loads(body)["error"]["message"]) == (422, "no such thing")
    status, body, _ = ask(port, f"/{KEY}/breaks", {})
    assert (status, json.loads(body)["error"]["type"]) == (500, "ZeroDivisionError")


def test_a_call_whose_asker_has_gone_is_told(tmp_path):
    begun, told = threading.Event(), threading.Event()

    def waits(asked, left):
        begun.set()
        if left.wait(60):
            told.set()

    with listening(endpoints(KEY, "study.html", {"waits": waits}), Guard(), "127.0.0.1", 0) as url:
        with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as client:
            client.sendall(
                f"POST /{KEY}/waits HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                "Content-Length: 2\r\n\r\n{}".encode()
            )
            assert begun.wait(60)
        assert told.wait(60)


def test_work_beside_the_loop_brings_its_result_or_its_error():
    assert asyncio.run(_waited(lambda: 7)) == 7
    with pytest.raises(ZeroDivisionError):
        asyncio.run(_waited(lambda: 1 / 0))


async def _waited(work):
    return await beside(work)


def test_texts_are_plain_and_numbers_that_are_none_are_null():
    assert plain({"a\x1b[31m": ["b\u202ec", float("nan"), float("inf"), (1, None, True)]}) == {
        "a\\x1b[31m": ["b\\u202ec", None, None, [1, None, True]]
    }


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.0.1", "example.org", "::", ""])
def test_a_host_that_is_not_this_machine_is_refused(host):
    with pytest.raises(UserError, match=f"--host {host}; accepted: 127.0.0.1"):
        show("study.html", {}, host=host, port=0, announce=print, browser=False)


def test_a_port_in_use_is_one_line(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=f"port={port}: cannot listen there"):
            show("study.html", {}, host="127.0.0.1", port=port, announce=print, browser=False)


def test_without_aiohttp_one_line_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "aiohttp", None)
    with pytest.raises(UserError, match=re.escape("pip install 'policyloop[page]'")):
        show("study.html", {}, host="127.0.0.1", port=0, announce=print, browser=False)


def test_a_study_that_is_not_there_is_one_line_and_exit_code_2(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert invoke(["watch", "none.sqlite"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert invoke(["watch"]) == 2
    assert "there is no study in this folder" in capsys.readouterr().err
