"""Another language is another file of words with the same keys: what it would have to have."""

import re
import tomllib
from importlib import resources
from pathlib import Path

import pytest

from scenarios.reporting import language
from scenarios.reporting.counting import COUNTS
from scenarios.reporting.language import Language
from scenarios.reporting.learning import COLUMNS

FOLDER = Path(str(resources.files("scenarios.reporting")))
CODE = "\n".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py"))
TEMPLATE = (FOLDER / "page.template").read_text(encoding="utf-8")
WORDS = (FOLDER / "words-en.toml").read_text(encoding="utf-8")


def known():
    return language._words("en")


def test_every_sentence_that_is_said_has_its_words():
    asked = set(re.findall(r'say\(\s*"([a-z_.]+\.[a-z_.]+)"', CODE + TEMPLATE))
    asked |= set(re.findall(r'"((?:advice|groups|doubts|question|number)\.[a-z_]+)"', CODE))
    assert len(asked) > 150
    assert asked - set(known()) == set()


def test_no_words_are_left_over():
    """A key is named in whole, or by its last part where the first ones are made."""
    made = {"minimize", "maximize", *COLUMNS, *COUNTS}
    for key in known():
        part = key.rpartition(".")[2]
        assert part in made or re.search(rf'[".{{}}]{part}\b', CODE + TEMPLATE), key


def test_another_language_speaks_its_own_words_and_numbers(monkeypatch):
    german = WORDS.replace('decimal = "."', 'decimal = ","').replace('thousands = ","', 'thousands = "."')
    german = german.replace('heading = "The question"', 'heading = "Die Frage"')
    words = dict(language._flat("", tomllib.loads(german)))
    monkeypatch.setattr(language, "_words", lambda code: words)
    spoken = Language("de")
    assert spoken.say("question.heading") == "Die Frage"
    assert spoken.number(12345.6, 6) == "12.345,6"
    assert spoken.percent(0.125, 3) == "12,5 %"


def test_text_of_others_is_never_a_format():
    assert Language().say("advice.averted", what="{0} {x}") == "{0} {x} averted"


@pytest.mark.parametrize(("unit", "said"), [("", "0.5"), ("sick days", "0.5 sick days")])
def test_a_number_has_a_space_before_its_unit_and_none_without(unit, said):
    assert f"0.5{Language().after(unit)}" == said
