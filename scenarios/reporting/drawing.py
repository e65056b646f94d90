"""A figure as part of a page: SVG whose ink is the page's own, in the light and in the dark.

Matplotlib's ids are the same in every figure, and its style sheet is meant for a file of its own: both would
reach into the rest of the page.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree as ET

import matplotlib
from markupsafe import Markup
from matplotlib.figure import Figure

from policyloop.plain_text import for_terminal
from scenarios.figures.drawing import STYLE

SVG, LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
INK, PAPER, GRID = "#000000", "#ffffff", "#e3e3e3"
ON_PAGE: Any = STYLE | {
    "svg.fonttype": "none",  # text stays text: small, and to be found and read aloud
    "font.family": "sans-serif",
    "savefig.transparent": True,
    "path.simplify_threshold": 0.5,
}


def inline(make: Callable[[], Figure], key: str, title: str, description: str) -> Markup:
    """Draw a figure for a page.

    Parameters
    ----------
    make : callable
        Draws the figure.
    key : str
        Before all its ids, unique on the page.
    title, description : str
        What readers hear who do not see it.

    Returns
    -------
    Markup
        An `<svg role="img">` element, as wide as there is room.
    """
    with matplotlib.rc_context(ON_PAGE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        figure = make()
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    root = ET.fromstring(text.getvalue())
    _clean(root)
    _own_ids(root, key)
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.set("role", "img")
    root.set("aria-labelledby", f"{key}-title {key}-description")
    # As wide as it was drawn, where there is room: type is then as large as the page's.
    root.set("style", f"max-width: {figure.get_size_inches()[0]:.3g}in")
    for place, (name, words) in enumerate((("title", title), ("desc", description))):
        element = ET.Element(f"{{{SVG}}}{name}", {"id": f"{key}-{'title' if place == 0 else 'description'}"})
        element.text = for_terminal(words)
        root.insert(place, element)
    ET.register_namespace("", SVG)
    ET.register_namespace("xlink", LINK)
    return Markup(_coloured(ET.tostring(root, encoding="unicode")))


def _clean(parent: ET.Element) -> None:
    """Without metadata, and without the style sheet, which would hold for the whole page."""
    for child in list(parent):
        if child.tag in (f"{{{SVG}}}metadata", f"{{{SVG}}}style"):
            parent.remove(child)
        else:
            _clean(child)


def _own_ids(root: ET.Element, key: str) -> None:
    """Ids that are used begin with the key; the others go."""
    used: set[str] = set()
    for element in root.iter():
        for value in element.attrib.values():
            used.update(re.findall(r"url\(#([^)]+)\)", value))
        used.add(element.get(f"{{{LINK}}}href", "").removeprefix("#"))
    for element in root.iter():
        for name, value in list(element.attrib.items()):
            if name == "id":
                if value in used:
                    element.set("id", f"{key}-{value}")
                else:
                    del element.attrib["id"]
            elif name == f"{{{LINK}}}href":
                if value.startswith("data:"):  # a picture inside, which is no id
                    continue
                element.set(name, f"#{key}-{value.removeprefix('#')}")
            elif "url(#" in value:
                element.set(name, re.sub(r"url\(#([^)]+)\)", rf"url(#{key}-\1)", value))


def _coloured(svg: str) -> str:
    """Black is the page's ink, white its paper, and the grid's grey its lines."""

    def own(match: re.Match[str]) -> str:
        style = match.group(0)
        for colour, variable in ((INK, "--ink"), (PAPER, "--paper"), (GRID, "--grid")):
            style = re.sub(colour, f"var({variable})", style, flags=re.IGNORECASE)
        return style

    svg = re.sub(r'style="[^"]*"', own, svg)
    # What has no colour of its own is black by default: letters, above all.
    return svg.replace("<svg ", '<svg fill="currentColor" ', 1)
