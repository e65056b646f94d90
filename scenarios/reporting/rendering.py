"""A report's document as one HTML file: all text is escaped, and nothing in it runs or is fetched."""

from __future__ import annotations

from importlib.resources import files

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from policyloop.plain_text import for_terminal
from scenarios.reporting.document import Document
from scenarios.reporting.language import Language


def _finished(value: object) -> object:
    """Text that was not made by us has no control characters."""
    return for_terminal(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def page(document: Document, language: Language) -> str:
    """The HTML of a document."""
    # Not a loader of files: the template is ours alone, and of no folder of the reader's.
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, finalize=_finished, trim_blocks=True, lstrip_blocks=True
    )
    folder = files(__package__)
    template = environment.from_string(folder.joinpath("page.template").read_text(encoding="utf-8"))
    style = folder.joinpath("style.template").read_text(encoding="utf-8")
    return template.render(document=document, language=language.code, say=language.say, style=Markup(style))
