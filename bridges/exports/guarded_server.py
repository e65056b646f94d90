"""A small HTTP server that strangers may find: every request is checked and bounded.

Its endpoints are functions of a request's body, and answer in JSON, or with `Content`, a page say. What a
client does wrong is answered 4xx with an error in JSON, `{"error": {"type": .., "message": ..}}`, which is
UM-Bridge's form; what fails behind an endpoint 500. Nothing is written to the terminal.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from bridges.extras import missing
from policyloop.http_guard import Guard, Refusal
from policyloop.messages import on_one_line

try:
    from aiohttp import web
except ModuleNotFoundError as error:
    raise missing(error, "a UM-Bridge server") from error

Endpoint = Callable[[bytes], Awaitable[Any]]
Endpoints = Mapping[tuple[str, str], Endpoint]  # by method and path

_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Server": "policyloop"}

_LONGEST_MESSAGE = 1000  # characters: what a client sent is not sent back whole

_quiet = logging.getLogger("policyloop.server")
_quiet.addHandler(logging.NullHandler())
_quiet.setLevel(logging.CRITICAL)
_quiet.propagate = False  # aiohttp logs tracebacks of what clients do


@dataclass(frozen=True)
class Content:
    """An answer that is no JSON: its bytes, their type, and headers besides those of every answer."""

    body: bytes
    type: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Caps:
    """What a server takes at most.

    Attributes
    ----------
    body : int, default 1 MiB
        Bytes of a request's body, which is never decompressed.
    line, fields : int
        Bytes of the request line and of one header; headers.
    connections : int, default 64
        At a time; more are closed at once.
    head_seconds : float, default 10
        For the first request's head, and between requests of a connection.
    body_seconds : float, default 30
        For a body.
    end_seconds : float, default 60
        For answers under way when the server ends.
    """

    body: int = 1024 * 1024
    line: int = 8190
    fields: int = 64
    connections: int = 64
    head_seconds: float = 10.0
    body_seconds: float = 30.0
    end_seconds: float = 60.0


class _Connection(web.RequestHandler):
    """A connection, which answers what is no HTTP in JSON."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The answer to a request that could not be read."""
        if request.writer.output_size > 0:
            raise ConnectionError("an answer has begun already")
        words = on_one_line(message or "").partition(":")[0] if status < 500 else "the server failed"
        answer = _error(status, HTTPStatus(status).phrase.replace(" ", ""), words or "no HTTP request")
        answer.force_close()
        return answer


class _Server(web.Server):
    """Counts connections, and ends those that ask nothing."""

    def __init__(self, answer: Any, caps: Caps) -> None:
        super().__init__(answer, handler_cancellation=True)  # who has left needs no step
        self._caps, self.heard = caps, set[web.RequestHandler]()

    def __call__(self) -> web.RequestHandler:
        caps = self._caps
        return _Connection(
            self,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=caps.head_seconds,
            lingering_time=1.0,
            max_line_size=caps.line,
            max_field_size=caps.line,
            max_headers=caps.fields,
            auto_decompress=False,
            access_log=_quiet,
            logger=_quiet,
        )

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        if len(self.connections) > self._caps.connections:
            transport.abort()
            return

        def silent() -> None:
            if handler not in self.heard and not transport.is_closing():
                transport.abort()

        asyncio.get_running_loop().call_later(self._caps.head_seconds, silent)

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        self.heard.discard(handler)
        super().connection_lost(handler, exc)


def _answering(endpoints: Endpoints, guard: Guard, caps: Caps, nothing: str) -> _Server:
    paths = {path for _, path in endpoints}
    nothing = nothing or f"there is nothing here; accepted: {', '.join(sorted(paths))}"

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        server.heard.add(request.protocol)
        try:
            if len(request.headers) > caps.fields:  # older versions of aiohttp do not count them
                raise Refusal(400, "BadRequest", f"there are more than {caps.fields} headers")
            guard.check(request.method, request.headers.items())
            endpoint = endpoints.get((request.method, request.path))
            if endpoint is None and request.path in paths:
                accepted = ", ".join(sorted(method for method, path in endpoints if path == request.path))
                raise Refusal(405, "MethodNotAllowed", f"accepted: {accepted}", {"Allow": accepted})
            if endpoint is None:
                raise Refusal(404, "NotFound", nothing)
            body = await _body(request, caps)
        except Refusal as refusal:
            said = _error(refusal.status, refusal.kind, refusal.message)
            said.headers.update(refusal.headers)
            said.force_close()  # what is left of the request is not read
            return said
        try:
            found = await endpoint(body)
            if isinstance(found, Content):
                headers = {**_HEADERS, **found.headers, "Content-Type": found.type}
                return web.Response(body=found.body, headers=headers)
            return _json(found)
        except Refusal as refusal:
            return _error(refusal.status, refusal.kind, refusal.message)
        except Exception as failure:  # behind an endpoint is a model, which may do anything
            return _error(500, type(failure).__name__, on_one_line(failure))

    server = _Server(answer, caps)
    return server


async def _body(request: web.BaseRequest, caps: Caps) -> bytes:
    """The body of a request, as long as it is not too long, nor too long in coming."""
    too_long = Refusal(413, "ContentTooLarge", f"the body is longer than {caps.body} bytes")
    if (request.content_length or 0) > caps.body:
        raise too_long
    match request.headers.get("Expect", "").lower():
        case "":
            pass
        case "100-continue":
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.writer.output_size = 0
        case _:
            raise Refusal(417, "ExpectationFailed", "accepted: 100-continue")
    body = bytearray()
    try:
        async with asyncio.timeout(caps.body_seconds):
            async for chunk in request.content.iter_any():
                body += chunk
                if len(body) > caps.body:
                    raise too_long
    except TimeoutError:
        raise Refusal(408, "RequestTimeout", f"the body took over {caps.body_seconds:g} s") from None
    except web.PayloadAccessError as error:
        raise Refusal(400, "BadRequest", "the body is cut off") from error
    except web.RequestPayloadError as error:
        raise Refusal(400, "BadRequest", "the body is no valid HTTP") from error
    return bytes(body)


def _error(status: int, kind: str, message: str) -> web.Response:
    short = message if len(message) <= _LONGEST_MESSAGE else f"{message[: _LONGEST_MESSAGE - 4]} ..."
    return _json({"error": {"type": kind, "message": short}}, status)


def _json(value: Any, status: int = 200) -> web.Response:
    text = json.dumps(value, allow_nan=False)  # nan is no JSON
    return web.json_response(text=text, status=status, headers=_HEADERS)


@contextmanager
def listening(
    endpoints: Endpoints,
    guard: Guard,
    host: str,
    port: int,
    caps: Caps | None = None,
    *,
    nothing: str = "",
) -> Iterator[str]:
    """Serve endpoints, in a thread of their own, while the context lasts; its value is the url.

    `nothing` is the answer where there is no endpoint, a list of them unless given. ValueError where nothing
    can listen there.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    caps = caps or Caps()

    async def begin() -> web.ServerRunner:
        server = _answering(endpoints, guard, caps, nothing)
        runner = web.ServerRunner(server, shutdown_timeout=caps.end_seconds)
        await runner.setup()
        try:
            await web.TCPSite(runner, host, port).start()
        except BaseException:
            await runner.cleanup()
            raise
        return runner

    try:
        try:
            runner = asyncio.run_coroutine_threadsafe(begin(), loop).result()
        except (OSError, OverflowError, UnicodeError) as refused:
            reason = getattr(refused, "strerror", None) or refused
            raise ValueError(f"host={host!r}, port={port}: cannot listen there: {reason}") from refused
        try:
            taken = runner.addresses[0]
            yield f"http://{f'[{taken[0]}]' if ':' in taken[0] else taken[0]}:{taken[1]}"
        finally:
            asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
