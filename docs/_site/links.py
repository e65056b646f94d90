"""Checks the links of pages to elsewhere: `make links`.

The form of each is checked always. Where there is a network each is asked for, too (HEAD, or GET where a
server does not know that), but for addresses of this machine and those that need a key. Ends with exit code 1
where a form is wrong or an address answers with an error; one that cannot be reached is told.
"""

from __future__ import annotations

import re
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = re.compile(r"https?:/[^\s<>\"'`()\]]*(?:\([^\s<>\"'`()]*\)[^\s<>\"'`()\]]*)*", re.IGNORECASE)
PLAIN_HTTP = ("bulk.openweathermap.org",)
"""Hosts that serve no https."""
HERE = ("localhost", "127.0.0.1")
SECONDS = 20.0


def pages() -> Iterator[Path]:
    """The pages that people read."""
    yield from (ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md", "CITATION.cff"))
    yield from sorted((ROOT / "docs").rglob("*.md"))


def addresses(text: str) -> list[str]:
    """The addresses in a text, without the sign that ends a sentence."""
    return [found.rstrip(".,;:!?") for found in ADDRESS.findall(text)]


def fault(address: str) -> str:
    """What is wrong with the form of an address; "" where nothing is."""
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname or "", parts.port
    except ValueError as error:
        return str(error)
    if not host:
        return "has no host"
    if host in HERE:
        return ""
    if not re.fullmatch(r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}", host):
        return f"{host} is no name of a host"
    if parts.scheme != "https" and host not in PLAIN_HTTP:
        return "is not https"
    if "@" in parts.netloc:
        return "has a name or password"
    return ""


def asked_for(address: str) -> bool:
    """Whether an address can be asked for as it stands."""
    return urlsplit(address).hostname not in HERE and "YOUR_" not in address


def answer(address: str) -> str:
    """What an address answers: "" if it is there, an error, or why it cannot be reached."""
    for method in ("HEAD", "GET"):
        request = urllib.request.Request(address, method=method, headers={"User-Agent": "policyloop-links"})
        try:
            with urllib.request.urlopen(request, timeout=SECONDS):
                return ""
        except urllib.error.HTTPError as error:
            if method == "GET" or error.code not in (403, 405, 501):
                return f"answers {error.code}"
        except (OSError, ValueError) as error:
            return f"cannot be reached ({getattr(error, 'reason', None) or error})"
    return ""


def main() -> int:
    """Check all; the exit code."""
    found = {one: page for page in pages() for one in addresses(page.read_text(encoding="utf-8"))}
    wrong = [f"{page.relative_to(ROOT)}: {one}: {fault(one)}" for one, page in found.items() if fault(one)]
    asked = [one for one in found if not fault(one) and asked_for(one)]
    print(f"{len(found)} addresses; asking {len(asked)} of them", flush=True)
    with ThreadPoolExecutor(8) as at_once:
        answers = dict(zip(asked, at_once.map(answer, asked), strict=True))
    for one, said in answers.items():
        if said.startswith("answers"):
            wrong.append(f"{found[one].relative_to(ROOT)}: {one} {said}")
    lost = [f"{one} {said}" for one, said in answers.items() if said.startswith("cannot")]
    if lost and len(lost) == len(asked):
        print("There is no network: only the form of the addresses was checked.")
    else:
        print("".join(f"{line}\n" for line in lost), end="")
    print("\n".join(wrong) or "No link to elsewhere is wrong.")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
