"""Ten thousand odd requests to `policyloop serve`: none is answered as a failure of the server."""

import gzip
import json
import socket
import urllib.request

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bridges import FunctionEnvironment
from bridges.exports.guarded_server import Caps
from bridges.exports.um_bridge_server import serving


def outcomes(x):
    """Of a policy that keeps to its levers; any other would be a failure of the model, status 500."""
    assert 0 <= x[0] <= 1 and x[1] in (1, 2, 3, 4) and x[2] in ("flat", "peak")
    return [x[0], float(x[1])]


LEVERS = {"x": (0, 1), "n": {"whole": (1, 4)}, "tariff": {"one_of": ["flat", "peak"]}}


TEXT = st.text(max_size=30)
NUMBERS = st.one_of(
    st.floats(), st.integers(), st.sampled_from([0.5, 2, 1, 10**400, 2**63, -1, True, None, 1e308])
)
VALUES = st.recursive(
    st.one_of(NUMBERS, TEXT, st.none()),
    lambda below: st.one_of(st.lists(below, max_size=4), st.dictionaries(TEXT, below, max_size=4)),
    max_leaves=12,
)
VECTORS = st.lists(st.lists(NUMBERS, max_size=4), max_size=3)
MODELS = st.sampled_from(["FunctionEnvironment", "FunctionEnvironment-objective"])
POLICY = st.tuples(st.floats(0, 1), st.integers(1, 4), st.integers(0, 1)).map(lambda x: [list(x)])
VALID = st.fixed_dictionaries(
    {"name": MODELS, "input": POLICY}, optional={"config": st.just({}) | st.just({"seed": 3})}
)
ODD = {"name": VALUES, "input": VECTORS | VALUES, "config": st.dictionaries(st.just("seed"), VALUES) | VALUES}
ODDITIES = st.fixed_dictionaries({}, optional={**ODD, "sens": VALUES})
OBJECTS = VALID | st.tuples(VALID, ODDITIES).map(lambda two: two[0] | two[1]) | ODDITIES
BODIES = st.one_of(
    VALID.map(lambda one: json.dumps(one).encode()),
    OBJECTS.map(lambda one: json.dumps(one).encode()),
    OBJECTS.map(lambda one: json.dumps(one).encode()[:-3]),
    VALUES.map(lambda one: json.dumps(one).encode("utf-8", "surrogatepass")),
    st.binary(max_size=200),
    OBJECTS.map(lambda one: gzip.compress(json.dumps(one).encode())),
)
LINE = st.text(st.characters(codec="latin-1", exclude_characters="\r\n"), max_size=40)
USUAL = [
    "application/json",
    "text/plain",
    "localhost",
    "127.0.0.1",
    "evil.example",
    "http://localhost",
    "chunked",
]
USUAL += [
    "gzip",
    "100-continue",
    "keep-alive",
    "close",
    "upgrade",
    "websocket",
    "5",
    "-1",
    "Bearer x",
    "identity",
]
NAMES = ["Host", "Origin", "Content-Type", "Content-Encoding", "Transfer-Encoding", "Expect", "Connection"]
NAMES += [
    "Upgrade",
    "Content-Length",
    "Authorization",
    "Sec-Fetch-Site",
    "Range",
    "X-Forwarded-Host",
    "Cookie",
]
HEADERS = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(USUAL)) | st.tuples(LINE, LINE), max_size=3
)
PATHS = [
    "/Info",
    "/Evaluate",
    "/ModelInfo",
    "/InputSizes",
    "/OutputSizes",
    "/Gradient",
    "/",
    "*",
    "/%00",
    "//",
    "/?a",
]
METHODS = ["GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "CONNECT", "TRACE", "get", ""]


@st.composite
def requests(draw):
    """The bytes of a request: mostly HTTP and JSON, with something odd here and there."""
    kind = draw(st.sampled_from(["body", "body", "head", "head", "both", "noise"]))
    if kind == "noise":
        return draw(st.binary(max_size=300)) + b"\r\n\r\n"
    body = draw(BODIES) if kind != "head" else json.dumps(draw(VALID)).encode()
    head = [("Host", "localhost"), ("Content-Type", "application/json"), ("Content-Length", f"{len(body)}")]
    line = "POST", draw(st.sampled_from(["/Evaluate"] * 4 + PATHS)), "1"
    if kind != "body":
        line = (
            draw(st.sampled_from(METHODS)),
            draw(st.sampled_from(PATHS) | LINE),
            draw(st.sampled_from("110")),
        )
        line = draw(st.sampled_from([line, ("POST", "/Evaluate", "1")]))
        head = [pair for pair in head if draw(st.sampled_from([True, True, True, False]))] + draw(HEADERS)
    lines = [f"{line[0]} {line[1]} HTTP/1.{line[2]}", *(f"{name}: {value}" for name, value in head)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + body


def exchange(port, request):
    """All that comes back for some bytes, until the server ends, or has answered and waits for more."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as wire:
        got = b""
        try:
            wire.sendall(request)
            while chunk := wire.recv(65536):
                got += chunk
                head, end, rest = got.partition(b"\r\n\r\n")
                length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
                if end and length and len(rest) >= int(length[0].split(b":")[1]):
                    break
                if end and request.startswith(b"HEAD "):
                    break
        except ConnectionError:
            pass  # ended amid what it did not want to read
    return got


def never_5xx(port, request):
    got = exchange(port, request)
    if not got or got.startswith(b"HTTP/1.1 101"):
        assert not got
        return
    while got.startswith(b"HTTP/1.1 100"):
        got = got.partition(b"\r\n\r\n")[2]
    if not got:
        return
    head, _, body = got.partition(b"\r\n\r\n")
    status = int(head.split()[1])
    assert status == 200 or 400 <= status < 500, got
    assert b"Traceback" not in got
    if body and not request.startswith(b"HEAD "):
        told = json.loads(body)
        assert (set(told) == {"error"}) == (status != 200) and (
            status == 200 or set(told["error"]) == {"type", "message"}
        )


def fuzz(count, seen, capfd):
    odd = settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    environment = FunctionEnvironment(outcomes, LEVERS, ["a", "b"])
    with serving(environment, port=0, caps=Caps(head_seconds=0.2, body_seconds=0.2)) as url:
        port = int(url.rpartition(":")[2])

        @odd
        @given(requests())
        def asked(request):
            seen.append(request)
            never_5xx(port, request)

        asked()
        with urllib.request.urlopen(f"{url}/Info") as answer:
            assert answer.status == 200
    assert capfd.readouterr() == ("", "")


def test_no_odd_request_is_answered_as_a_failure_of_the_server(capfd):
    seen = []
    fuzz(100, seen, capfd)
    assert len(seen) >= 100


@pytest.mark.slow
def test_ten_thousand_odd_requests_are_no_failure_of_the_server(capfd):
    seen = []
    fuzz(10_000, seen, capfd)
    assert len(seen) >= 10_000
