"""The page's server: on this machine alone, its files its own, its address known to who started it.

The page is plain HTML, CSS and JavaScript that asks this server for JSON. It holds no library and loads
nothing from elsewhere, so that its Content-Security-Policy can forbid all but its own files, and it works
without a network. There is no WebSocket: what would be pushed is asked for, each second, by a POST in JSON,
which a page of another origin cannot send without being asked first, and is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import sys
import threading
import webbrowser
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from importlib import resources
from typing import Any

from policyloop.http_guard import Guard, Refusal, is_loopback
from policyloop.messages import on_one_line
from policyloop.plain_text import for_terminal
from scenarios.errors import UserError
from scenarios.study.records import without_nan

INSTALL = "pip install 'policyloop[page]'"

POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

Call = Callable[[dict[str, Any], threading.Event], Any]
"""Takes what a page asks, and an event that is set once nobody waits for the answer; gives plain data."""


def show(
    page: str,
    calls: Mapping[str, Call],
    *,
    host: str,
    port: int,
    announce: Callable[[str], None],
    browser: bool,
) -> None:
    """Serve a page until Ctrl-C.

    Parameters
    ----------
    page : str
        The name of its HTML file.
    calls : mapping of str to Call
        What the page may ask, by name.
    host, port
        Where to listen, on this machine alone; port 0: any free one.
    announce : callable
        Is told the page's address as soon as it answers.
    browser : bool
        Whether to open it in the user's browser, where there is a screen.

    Raises
    ------
    UserError
        The host is not this machine, nothing can listen there, or aiohttp is not installed.
    """
    if not is_loopback(host):
        raise UserError(
            f"--host {host}; accepted: 127.0.0.1, ::1 or localhost: a page is for this machine alone"
        )
    try:
        import aiohttp  # noqa: F401
    except ModuleNotFoundError as error:
        raise UserError(f"a page needs {error.name}, which is not installed: {INSTALL}") from error
    from bridges.exports.guarded_server import Caps, listening

    # Other users of this machine reach its ports too: they do not know the key.
    key = secrets.token_urlsafe(12)
    nothing = "there is nothing here; open the address that policyloop watch has printed"
    try:
        caps = Caps(end_seconds=0.2)  # nobody waits for an answer of a page that ends
        with listening(endpoints(key, page, calls), Guard(), host, port, caps, nothing=nothing) as url:
            address = f"{url}/{key}/"
            announce(address)
            if browser and _has_screen():
                webbrowser.open(address)
            threading.Event().wait()
    except ValueError as error:
        raise UserError(on_one_line(error)) from error


def endpoints(key: str, page: str, calls: Mapping[str, Call]) -> dict[tuple[str, str], Any]:
    """The answers to all requests: the page's files by GET, its calls by POST, all of them below the key."""
    from bridges.exports.guarded_server import Content

    found: dict[tuple[str, str], Any] = {}

    async def file(content: Content, _: bytes) -> Content:
        return content

    for one in resources.files("scenarios.watching").joinpath("page").iterdir():
        kind = TYPES.get(os.path.splitext(one.name)[1])
        if kind is None:
            continue
        name = "" if one.name == page else one.name
        found["GET", f"/{key}/{name}"] = partial(file, Content(one.read_bytes(), kind, HEADERS))
    for name, call in calls.items():
        found["POST", f"/{key}/{name}"] = partial(_answer, call)
    return found


async def _answer(call: Call, body: bytes) -> Any:
    asked = _read(body)
    left = threading.Event()
    try:
        return plain(await beside(lambda: call(asked, left)))
    except UserError as error:
        raise Refusal(422, "UserError", on_one_line(error)) from error
    finally:
        left.set()


def _read(body: bytes) -> dict[str, Any]:
    try:
        asked = json.loads(body.decode())
    except (ValueError, RecursionError):
        asked = None
    if not isinstance(asked, dict):
        raise Refusal(400, "BadRequest", "the request must be a JSON object")
    return asked


def beside(work: Callable[[], Any]) -> Awaitable[Any]:
    """Work in a thread of its own, for which nobody waits when the program ends."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def settle(finish: Callable[[Any], None], value: Any) -> None:
        if not done.done():  # nobody waits any more
            finish(value)

    def run() -> None:
        try:
            finish, value = done.set_result, work()
        except BaseException as error:
            finish, value = done.set_exception, error
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, finish, value)

    threading.Thread(target=run, daemon=True).start()
    return done


def plain(value: Any) -> Any:
    """Plain data for a page: texts without characters that turn or hide others, and no nan.

    The page sets them as text, and never as HTML.
    """
    if isinstance(value, str):
        return for_terminal(value)
    if isinstance(value, Mapping):
        return {for_terminal(str(key)): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return without_nan(value)


def _has_screen() -> bool:
    """Whether a browser can show something: in a terminal alone, `webbrowser` would take the terminal."""
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
