"""What MkDocs asks while it builds the site: the pages written from the code, and links that leave docs/."""

import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))

import pages

API = "reference/api/"
ROOT = Path(__file__).resolve().parents[2]


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill the section of the API, a page for each room that has public names."""
    by_package: dict[str, list[dict[str, str]]] = {}
    for package, room in pages.rooms():
        by_package.setdefault(package, []).append({room: f"{API}{package}/{room}.md"})
    reference = next(entry["Reference"] for entry in config.nav or [] if "Reference" in entry)
    reference[0] = {"API": [{package: rooms} for package, rooms in by_package.items()]}
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are written from the code."""
    for path, text in pages.written().items():
        files.append(File.generated(config, path, content=text))
    for name in ("site.css", "iframe-worker.js"):
        content = (Path(__file__).parent / name).read_text(encoding="utf-8")
        files.append(File.generated(config, f"_{name}", content=content))
    security = (ROOT / "SECURITY.md").read_text(encoding="utf-8").replace("](docs/", "](")
    files.append(File.generated(config, "security.md", content=security))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links to SECURITY.md, which stands above docs/, to its page."""
    return markdown.replace("](../../SECURITY.md", "](../security.md").replace(
        "](../SECURITY.md", "](security.md"
    )
