"""An answer of a weather service, fetched once into a file: what is read afterwards is the file.

Nothing is fetched unless an address is given. An address may hold a key of the user's, so that no message
repeats more of it than the host's name.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from policyloop.http_guard import is_loopback
from policyloop.messages import on_one_line
from scenarios.errors import UserError
from scenarios.outputs import whole_file
from scenarios.study.study import check_target

LARGEST = 2**26
"""Bytes of an answer."""

SECONDS = 30.0
"""Without a byte, after which an answer is given up."""

CHUNK = 2**16


def fetch(url: str, target: Path, *, force: bool = False) -> int:
    """Write what a GET of an address answers to a file; the number of its bytes.

    Parameters
    ----------
    url : str
        Of https, or of this machine.
    target : Path
    force : bool, default False
        Replace the file if it exists.

    Raises
    ------
    UserError
        Another address, the file exists, or the answer is an error, too late or too large: nothing is written
        then.
    """
    host = _checked(url)
    check_target(target, force)
    request = urllib.request.Request(url, headers={"User-Agent": "policyloop", "Accept": "*/*"})
    opener = urllib.request.build_opener(_Secure())
    try:
        with opener.open(request, timeout=SECONDS) as answer, whole_file(target) as partial:
            size = 0
            with partial.open("wb") as file:
                while chunk := answer.read(CHUNK):
                    size += len(chunk)
                    if size > LARGEST:
                        raise UserError(f"{host}: the answer is larger than {LARGEST >> 20} MiB")
                    file.write(chunk)
            if not size:
                raise UserError(f"{host}: the answer is empty")
    except urllib.error.HTTPError as error:
        raise UserError(f"{host}: answers {error.code} ({on_one_line(error.reason)})") from None
    except (urllib.error.URLError, HTTPException, OSError) as error:
        why = getattr(error, "reason", None) or error
        raise UserError(f"{host}: cannot be fetched: {on_one_line(why)}") from None
    return size


def _checked(url: str) -> str:
    """The host of an address; UserError where it is neither of https nor of this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        host, parts = "", urlsplit("")
    if not host or not (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))):
        raise UserError("command line: --fetch: accepted: an address that begins with https://")
    return host


class _Secure(urllib.request.HTTPRedirectHandler):
    """Follows to where `_checked` allows alone."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> Any:
        _checked(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)
