"""Who may ask a server of ours: the checks of a request's head, whatever serves it.

A server on this machine is reached by every page that its user's browser shows. Such a page may send a
request under its own name (`Origin`), or have its own name resolve to this machine (then `Host` is that
name); and a request of a plain form is sent without asking first. So names are checked, and content is JSON.
The functions need no HTTP library: they see a method and headers, and raise `Refusal`.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

TOKEN_VARIABLE = "POLICYLOOP_TOKEN"
"""The environment variable that may hold a server's token."""

FEWEST_TOKEN_CHARACTERS = 16

Headers = Iterable[tuple[str, str]]


class Refusal(Exception):
    """A request that is not answered: its status, and the kind and words of the error."""

    def __init__(self, status: int, kind: str, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.kind, self.message = status, kind, message
        self.headers = headers or {}


@dataclass(frozen=True)
class Guard:
    """What a request's head has to say before anything else of it is read.

    Attributes
    ----------
    hosts : frozenset of str
        Names under which the server may be asked, and pages come from, besides those of the loopback.
    token : str, optional
        What `Authorization: Bearer` has to hold; without one, none is asked for.
    """

    hosts: frozenset[str] = frozenset()
    token: str | None = None

    @classmethod
    def of(cls, address: str, allowed: Sequence[str] = (), token: str | None = None) -> Guard:
        """The guard of a server that listens at an address, which is among its names unless it means all.

        ValueError for a name that is no host's, such as one with a scheme or a port.
        """
        names = set()
        for name in allowed:
            if host_of(name) is None or host_of(f"{name}:1") is None:
                raise ValueError(f"--allow-host = {name!r}; accepted: the name of a host, without a port")
            names.add(host_of(name) or "")
        own = host_of(f"[{address}]" if ":" in address else address)
        if own not in (None, "0.0.0.0", "::"):
            names.add(own or "")
        return cls(frozenset(names), token)

    def check(self, method: str, headers: Headers) -> None:
        """Raise Refusal unless a request's head is that of a client that may ask.

        Checked are the names of `Host` and `Origin`, `Sec-Fetch-Site`, the token, and of a request with a
        body that it is JSON and not compressed.
        """
        given: dict[str, list[str]] = {}
        for name, value in headers:
            given.setdefault(name.lower(), []).append(value.strip())
        for name in ("host", "origin", "authorization", "content-type", "content-length"):
            if len(given.get(name, [])) > 1:
                raise Refusal(400, "BadRequest", f"the header {name} is there more than once")
        self._check_names(given)
        self._check_token(given)
        if method in ("POST", "PUT", "PATCH"):
            _check_content(given)

    def _check_names(self, given: dict[str, list[str]]) -> None:
        host = given.get("host", [""])[0]
        if not self._knows(host_of(host)):
            raise Refusal(
                403, "Forbidden", f"Host {_short(host)} is no name of this server; --allow-host adds one"
            )
        origin = given.get("origin", [None])[0]
        if origin is not None and not self._knows(_host_of_origin(origin)):
            raise Refusal(
                403, "Forbidden", f"pages of {_short(origin)} may not ask; --allow-host adds a name"
            )
        if given.get("sec-fetch-site", [""])[0].lower() == "cross-site" and origin is None:
            raise Refusal(403, "Forbidden", "pages of another site may not ask")

    def _knows(self, host: str | None) -> bool:
        return host is not None and (host in self.hosts or is_loopback(host))

    def _check_token(self, given: dict[str, list[str]]) -> None:
        if self.token is None:
            return
        scheme, _, told = given.get("authorization", [""])[0].partition(" ")
        # Compared in constant time, so that an answer's delay tells nothing of the token.
        same = hmac.compare_digest(told.strip().encode("utf-8", "replace"), self.token.encode())
        if scheme.lower() != "bearer" or not same:
            raise Refusal(
                401,
                "Unauthorized",
                "a token is asked for: Authorization: Bearer TOKEN",
                {"WWW-Authenticate": "Bearer"},
            )


def _check_content(given: dict[str, list[str]]) -> None:
    """Refuse a body that is compressed, which may be far larger than it looks, or not declared as JSON."""
    coding = ", ".join(given.get("content-encoding", [])).lower()
    if coding not in ("", "identity"):
        raise Refusal(415, "UnsupportedMediaType", f"Content-Encoding {_short(coding)}; accepted: none")
    kind = given.get("content-type", [None])[0]
    if kind is None:
        # UM-Bridge's client in Julia names no type. Nor need a page of a browser, but it says whose it is.
        if "origin" in given or any(name.startswith("sec-fetch-") for name in given):
            raise Refusal(415, "UnsupportedMediaType", "no Content-Type; accepted: application/json")
    elif kind.partition(";")[0].strip().lower() != "application/json":
        raise Refusal(415, "UnsupportedMediaType", f"Content-Type {_short(kind)}; accepted: application/json")


def host_of(text: str) -> str | None:
    """The host of `name`, `name:port` or `[address]:port`, in small letters; None where it is none."""
    if not text or any(not "!" <= sign <= "~" or sign in "/?#@\\%" for sign in text):
        return None
    try:
        parts = urlsplit(f"//{text}")
        _ = parts.port  # a ValueError where it is no number
        host = parts.hostname
    except ValueError:
        return None
    return host.removesuffix(".") or None if host else None


def _host_of_origin(origin: str) -> str | None:
    scheme, separator, host = origin.partition("://")
    return host_of(host) if separator and scheme.lower() in ("http", "https") else None


def is_loopback(host: str) -> bool:
    """Whether a host's name or address means this machine, and no resolver can make it mean another."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def token_of(file: Path | None) -> str | None:
    """The token of a file, or else of the environment variable POLICYLOOP_TOKEN; None where there is neither.

    ValueError where it cannot be read, or is shorter than 16 visible ASCII characters in one line.
    """
    if file is not None:
        where = f"--token-file {file}"
        try:
            token = file.read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            raise ValueError(
                f"{where}: cannot be read ({getattr(error, 'strerror', None) or error})"
            ) from None
    else:
        where = TOKEN_VARIABLE
        token = os.environ.get(TOKEN_VARIABLE, "").strip()
        if not token:
            return None
    if len(token) < FEWEST_TOKEN_CHARACTERS or any(not "!" <= sign <= "~" for sign in token):
        # The token itself is no text for a terminal or a log.
        raise ValueError(
            f"{where}: accepted: one line of {FEWEST_TOKEN_CHARACTERS} or more letters, digits and signs"
        )
    return token


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
