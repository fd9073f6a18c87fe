"""Markdown of the reference as HTML: headings and fields that can be linked, code in colors, what the search finds."""

import html
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from markdown_it.token import Token

_STRING = r"(?P<s>\"(?:\\.|[^\"\\])*\"|'[^']*')"
_NUMBER = r"(?P<n>(?<![\w./:])\d+(?:\.\d+)?(?![\w./:]))"
_LANGUAGES = {
    "json": (r"(?P<c>\A\Z)", "true|false|null"),
    "sh": (r"(?P<c>\A\Z)", "curl"),
    "python": (r"(?P<c>#[^\n]*)", "import|from|for|in|print|True|False|None"),
    "ts": (r"(?P<c>//[^\n]*)", "const|await|if|throw|new|true|false|null"),
}
"""Comments and keywords of each language, as far as the snippets of the reference have them."""

_PATTERNS = {
    language: re.compile(rf"{_STRING}|{comment}|(?P<k>\b(?:{keywords})\b)|{_NUMBER}")
    for language, (comment, keywords) in _LANGUAGES.items()
}

_ABSENCE = {"required": "<b>required</b>", "yes": "", "no": "not always there", "": ""}


_FOLDED = {"Header": "Headers of the answer", "Status": "When, and with which codes"}
"""Tables that are much the same for all operations, by their first column."""


class Finding(NamedTuple):
    """Something that the search finds, in the order of `search.json`."""

    title: str
    where: str
    """What it belongs to: a path, an operation's summary, a type."""
    anchor: str
    text: str


class Heading(NamedTuple):
    """The last heading with an id."""

    anchor: str
    title: str


class HtmlWriter:
    """Turns the Markdown of one page into HTML.

    Args:
        address: from the anchor of an operation, a type or a table to what a link of this page has to say.
        titles: from a heading of the Markdown to what is shown; others are shown as they are.
    """

    def __init__(self, address: Callable[[str], str], titles: dict[str, str]) -> None:
        from markdown_it import MarkdownIt  # every front would import it at its start, for pages that few ask for

        options = {"html": True, "highlight": highlight}
        self._parser = MarkdownIt("commonmark", options).enable("table")
        self._address, self._titles = address, titles
        self._section, self._part = Heading("", ""), ""
        self.findings: list[Finding] = []

    def write(self, markdown: str) -> str:
        """The HTML; what it has to be found by is in `findings` afterwards."""
        out: list[str] = []
        tokens = self._parser.parse(markdown)
        while tokens:
            ends = {"heading_open": "heading_close", "table_open": "table_close"}.get(tokens[0].type)
            size = 1 + next((i for i, token in enumerate(tokens) if token.type == ends), 0)
            piece, tokens = tokens[:size], tokens[size:]
            self._lead(piece)
            write = {"heading_open": self._heading, "table_open": self._table}.get(piece[0].type, self._plain)
            out.append(write(piece))
        return "".join(out)

    def _lead(self, tokens: Sequence["Token"]) -> None:
        for link in (child for token in tokens for child in token.children or () if child.type == "link_open"):
            if (target := str(link.attrs["href"])).startswith("#"):
                link.attrSet("href", self._address(target[1:]))

    def _plain(self, tokens: Sequence["Token"]) -> str:
        return str(self._parser.renderer.render(tokens, self._parser.options, {}))

    def _inline(self, token: "Token") -> str:
        return str(self._parser.renderer.render([token], self._parser.options, {}))

    def _heading(self, tokens: Sequence["Token"]) -> str:
        """One level up, since a group has a page; an operation is called by its summary."""
        level, text = int(tokens[0].tag[1]) - 1, tokens[1].content
        title = self._titles.get(text, text)
        if level == 3:
            self._part = text.partition(":")[0].lower()
            return f"<h3>{self._inline(tokens[1])}</h3>\n"
        self._section, self._part = Heading(text.lower().replace(" ", "-"), title), ""
        anchor = self._section.anchor
        return f'<h{level} id="{anchor}"><a class=anchor href="#{anchor}">{html.escape(title)}</a></h{level}>\n'

    def _table(self, tokens: Sequence["Token"]) -> str:
        """Fields as a list, in which a description has the room of a line on any screen; all else as a table.

        What a request is made of is open; types and answers are opened when they are asked for, by hand or by a link.
        """
        rows: list[list[Token]] = []
        for token in tokens:
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "inline":
                rows[-1].append(token)
        head = [cell.content for cell in rows[0]]
        if head[0] == "Field":
            fields = f"<ul class=fields>{''.join(map(self._field, rows[1:]))}</ul>\n"
            is_asked = self._part in ("body", "parameters")
            return fields if is_asked else f"<details class=more><summary>Its fields</summary>{fields}</details>"
        titles = "".join(f"<th scope=col>{title}</th>" for title in head)
        body = "".join(self._row(row, is_named=head[0] in ("Code", "Limit")) for row in rows[1:])
        frame = f'class=scroll role=region tabindex=0 aria-label="{html.escape(f"{self._section.title}: {head[0]}")}"'
        table = f"<div {frame}><table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table></div>\n"
        folded = _FOLDED.get(head[0])
        return f"<details class=more><summary>{folded}</summary>{table}</details>" if folded else table

    def _row(self, cells: Sequence["Token"], *, is_named: bool) -> str:
        shown = "".join(f"<td>{self._inline(cell)}</td>" for cell in cells)
        if not is_named:
            return f"<tr>{shown}</tr>"
        anchor = self._remember(cells[0], cells[-1], self._section.anchor)
        return f'<tr id="{anchor}">{shown}</tr>'

    def _field(self, cells: Sequence["Token"]) -> str:
        name, kind, absent, about = cells
        scope = self._section.anchor if self._part in ("", "body") else f"{self._section.anchor}.{self._part}"
        anchor = self._remember(name, about, scope)
        absence = _ABSENCE.get(absent.content, f"if absent: {self._inline(absent)}")
        told = f" <span class=absent>{absence}</span>" if absence else ""
        link = f'<a class=anchor href="#{anchor}">{self._inline(name)}</a>'
        return (
            f'<li id="{anchor}"><p class=field>{link} <span class=type>{self._inline(kind)}</span>{told}</p>'
            f"<p>{self._inline(about)}</p></li>"
        )

    def _remember(self, name: "Token", about: "Token", scope: str) -> str:
        title = plain(name)
        anchor = f"{scope}.{title}".lower()
        where = f"{self._section.title} → {self._part}" if self._part else self._section.title
        self.findings.append(Finding(title, where, anchor, plain(about)))
        return anchor


def plain(token: "Token") -> str:
    """The words of a paragraph, without marks."""
    return "".join(child.content or " " * (child.type == "softbreak") for child in token.children or ())


def highlight(code: str, language: str, _attributes: str = "") -> str:
    """Code as HTML, with `<span class>` around strings (`s`), numbers (`n`), keywords (`k`) and comments (`c`)."""
    out, end = [], 0
    for found in _PATTERNS[language].finditer(code):
        out += [escape(code[end : found.start()]), f"<span class={found.lastgroup}>{escape(found[0])}</span>"]
        end = found.end()
    return "".join([*out, escape(code[end:])])


def escape(text: str) -> str:
    """Text as HTML, outside of attributes."""
    return html.escape(text, quote=False)
