"""Links to elsewhere have the form of one; whether they lead somewhere is `make links`, with a network."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def links(site_module):
    return site_module("links")


def test_every_address_of_a_page_has_the_form_of_one(links):
    found = {one: page for page in links.pages() for one in links.addresses(page.read_text(encoding="utf-8"))}
    assert len(found) > 10
    assert {one: links.fault(one) for one in found if links.fault(one)} == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see [the site](https://a.org/b).", ["https://a.org/b"]),
        ("(https://a.org/b_(c)) and <https://d.org>.", ["https://a.org/b_(c)", "https://d.org"]),
        ("https://a.org/x?y=1&z=2, or `http://b.org:80/`", ["https://a.org/x?y=1&z=2", "http://b.org:80/"]),
        ("no address: mailto:me@a.org, a.org", []),
    ],
)
def test_addresses_end_where_the_sentence_goes_on(links, text, found):
    assert links.addresses(text) == found


@pytest.mark.parametrize(
    ("address", "fault"),
    [
        ("https://a.org", ""),
        ("http://localhost:3000", ""),
        ("http://a.org", "is not https"),
        ("https:/a.org", "has no host"),
        ("https://a", "a is no name of a host"),
        ("https://a..org", "a..org is no name of a host"),
        ("https://me:secret@a.org", "has a name or password"),
        ("https://a.org:port", "Port could not be cast"),
    ],
)
def test_what_is_wrong_with_an_address_is_said(links, address, fault):
    assert links.fault(address).startswith(fault) and bool(links.fault(address)) == bool(fault)


def test_what_needs_a_key_or_is_on_this_machine_is_not_asked_for(links):
    assert links.asked_for("https://a.org/x")
    assert not links.asked_for("https://a.org/?token=YOUR_TOKEN") and not links.asked_for(
        "http://127.0.0.1:1"
    )


def test_an_answer_is_told_from_no_answer(links, monkeypatch):
    import http.server
    import threading

    class Server(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self):
            self.send_response({"/there": 200, "/asked": 405}.get(self.path, 404))
            self.end_headers()

        def do_GET(self):
            self.send_response(200)
            self.end_headers()

        def log_message(self, *words):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}"
        assert [links.answer(f"{base}/{one}") for one in ("there", "asked", "gone")] == [
            "",
            "",
            "answers 404",
        ]
        server.shutdown()
    assert links.answer(f"{base}/there").startswith("cannot be reached")
