"""Makes the figures of the tutorials anew, by running each in an empty folder: `make figures`.

A figure that a page shows is one that its own code has saved by that name; it is copied beside the page.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import run_page

FOLDER = Path(__file__).resolve().parents[1] / "tutorials"


def main(names: list[str]) -> None:
    """Make the figures of the tutorials of some names, or of all."""
    for page in sorted(FOLDER.glob("*.md")):
        if names and page.stem not in names:
            continue
        shown = run_page.images(page.read_text(encoding="utf-8"))
        print(f"{page.stem}: {', '.join(shown) or 'no figure'}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            words = [sys.executable, run_page.__file__, str(page), folder]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
            for name in shown:
                shutil.copyfile(Path(folder, name), page.parent / name)


if __name__ == "__main__":
    main(sys.argv[1:])
