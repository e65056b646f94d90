"""A report read as a browser reads it, and what holds of every one."""

import html.parser

VOID = {"meta", "br", "hr", "img", "input", "link"}


class Page(html.parser.HTMLParser):
    """The elements of a page, its tables cell by cell, and its text; elements nest, or it is no page."""

    def __init__(self, text):
        super().__init__()
        self.source, self.open, self.elements, self.tables, self.words = text, [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_data(self, data):
        if {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += data
        if not self.open or self.open[-1] != "style":
            self.words.append(data)

    def named(self, tag):
        """The attributes of all elements of a name."""
        return [attributes for name, attributes in self.elements if name == tag]

    def table(self, first, other):
        """The table whose first column has a name, and another one, too; as rows by their first cells."""
        found = next(one for one in self.tables if one[0][0] == first and other in one[0])
        return found[0], {row[0]: row for row in found[1:]}

    @property
    def text(self):
        """All text, on one line."""
        return " ".join(" ".join(self.words).split())


def check_sound(page):
    """Nothing runs or is fetched, ids differ, figures and tables are named, rows of a table are as long."""
    tags = {tag for tag, _ in page.elements}
    assert (
        tags & {"script", "img", "iframe", "object", "embed", "link", "base", "form", "foreignobject"}
        == set()
    )
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for attributes in page.named("svg"):
        assert attributes["role"] == "img"
        assert set(attributes["aria-labelledby"].split()) <= set(ids)
    for tag, attributes in page.elements:
        for name in ("href", "xlink:href"):
            target = attributes.get(name, "#main")
            inside = tag == "image" and target.startswith("data:image/png;base64,")
            assert inside or target.removeprefix("#") in ids
    assert len(page.named("table")) == len(page.named("caption"))
    assert all("scope" in attributes for attributes in page.named("th"))
    assert [len(page.named(tag)) for tag in ("main", "nav", "header", "footer", "h1")] == [1] * 5
    policy = next(one["content"] for one in page.named("meta") if "Content-Security-Policy" in one.values())
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    for table in page.tables:
        assert len({len(row) for row in table}) == 1
    assert not [one for one in page.source if not one.isprintable() and one != "\n"]
    assert "url(http" not in page.source and len(page.source.encode()) < 2_000_000
