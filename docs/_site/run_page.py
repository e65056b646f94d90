"""Runs a page of the documentation as a reader would, in an empty folder: `run_page.py PAGE FOLDER`.

From top to end: a block with a title (or a first line `# NAME.EXT`) is saved by that name, Python is executed
in one namespace, and lines of shell blocks that begin with `policyloop` are run. All else is only read.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"# (\S+\.\w+)\n")
IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)]+)\)")
"""What is said of an image, and its path from the page."""


class Block(NamedTuple):
    """A block of code on a page: its language, the name to save it by ("" for none), and its text."""

    language: str
    name: str
    text: str


def blocks(text: str) -> Iterator[Block]:
    """The blocks of code of a page, in order."""
    for language, title, inside in BLOCK.findall(text):
        named = NAMED.match(inside)
        yield Block(language, title or (named[1] if named else ""), inside)


def images(text: str) -> list[str]:
    """The images that a page shows, by their paths from the page."""
    return [path for _, path in IMAGE.findall(text)]


def run(page: Path, folder: Path) -> None:
    """Run a page in a folder; whatever fails is raised, with the block's place in the page."""
    import matplotlib

    matplotlib.use("Agg")
    from scenarios.cli import invoke
    from scenarios.commands import trust

    trust._agreed = lambda *asked: True  # as whoever follows the page would say
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    namespace = {"__name__": "__main__"}
    text = page.read_text(encoding="utf-8")
    for block in blocks(text):
        if block.name:
            Path(block.name).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            first = text[: text.index(block.text)].count("\n")
            exec(compile("\n" * first + block.text, str(page), "exec"), namespace)
        elif block.language == "sh":
            for line in block.text.splitlines():
                if line.startswith("policyloop "):
                    code = invoke(shlex.split(line, comments=True)[1:])
                    if code != 0:
                        raise SystemExit(f"{page.name}: {line}: exit code {code}")


if __name__ == "__main__":
    run(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
