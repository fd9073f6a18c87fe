"""The pages load nothing from elsewhere, their links lead somewhere, old ones too; the Markdown is whole."""

import html
import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from urllib.parse import urljoin, urlsplit

import pytest

from service.http.route_table import ROUTES
from service.playground.files import FILES
from service.reference.document import groups, listed_types, operations
from service.reference.markdown import render_markdown
from service.reference.pages import HOME, NAMES, base_url, own_llms_txt, own_page, pages, search_index, written
from tests.conftest import ROOT

VOID = {"meta", "br", "link"}
HTML = {path: written(path).html for path in (HOME, *pages())}


class Outline(HTMLParser):
    """Every tag, id and link; a tag that is closed out of order is an error."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.attributes: set[str] = set()
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.links += [value for name, value in attrs if name in ("href", "src", "for") and value]
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, f"{tag} at {self.getpos()}"


OUTLINES = {path: Outline(page) for path, page in HTML.items()}


def lead(path: str, link: str) -> tuple[str, str]:
    """The path and the anchor that a link of a page means."""
    found = urlsplit(urljoin(f"http://x{path}", link))
    return found.path, found.fragment


def test_every_operation_is_on_the_page_of_its_group_under_its_summary() -> None:
    for name, _, some in groups():
        page = HTML[f"{HOME}/{name.lower()}"]
        for one in some:
            assert f">{html.escape(one['summary'])}</a></h2>" in page
            assert f"<code>{one['path']}</code>" in page
            assert one["path"] in HTML[HOME]


def test_the_pages_that_are_served_are_those_that_there_are() -> None:
    assert [f"{HOME}/{name}" for name in NAMES] == [*pages()]


def test_the_pages_load_nothing_from_elsewhere_and_have_nothing_inline() -> None:
    for path, outline in OUTLINES.items():
        assert not outline.tags & {"style", "img", "iframe", "object", "form"}
        assert not {name for name in outline.attributes if name.startswith("on") or name == "style"}
        assert [link for link in outline.links if ":" in link or link.startswith("//")] == []
        loaded = re.findall(r"<(?:link|script)[^>]* (?:href|src)=(\S+?)[ >]", HTML[path])
        assert len(loaded) == 4
        assert {lead(path, one)[0] for one in loaded} <= FILES.keys()
        assert re.findall(r"<script[^>]*>(.*?)</script>", HTML[path], re.DOTALL) == [""]


def test_ids_are_unique_and_links_lead_to_them() -> None:
    others = {route.path for route in ROUTES} | FILES.keys()
    for path, outline in OUTLINES.items():
        assert len(outline.ids) == len(set(outline.ids)), path
        for target, anchor in (lead(path, link) for link in outline.links):
            assert target in OUTLINES or target in others, (path, target)
            assert not anchor or anchor in OUTLINES[target].ids, (path, target, anchor)


def test_links_to_the_one_page_that_there_was_lead_to_lines_of_the_first_one() -> None:
    old = [one["operationId"].lower() for one in operations()] + [name.lower() for name in listed_types()]
    old += [name.lower() for name, *_ in groups()] + ["types", "error-codes", "limits"]
    assert set(old) <= set(OUTLINES[HOME].ids)


def test_the_search_has_every_field_and_leads_to_it() -> None:
    entries = json.loads(search_index())
    names = {title for title, *_ in entries}
    assert {"dimensions", "ImageUrl", "Vectors in OpenAI's form", "overloaded", "MAX_INPUTS"} <= names
    assert sum(page.count("<p class=field>") for page in HTML.values()) < len(entries)
    for _, where, address, _ in entries:
        path, anchor = lead("/docs", address)
        assert where
        assert anchor in OUTLINES[path].ids


def test_headings_go_down_by_one() -> None:
    for page in HTML.values():
        levels = [int(level) for level in re.findall(r"<h(\d)", page)]
        assert levels[0] == 1
        assert all(after - before <= 1 for before, after in pairwise(levels))


def test_the_pages_are_fit_for_a_phone() -> None:
    assert all("width=device-width" in page for page in HTML.values())


def test_links_of_the_markdown_lead_to_headings_and_files() -> None:
    text = re.sub(r"```.*?```", "", render_markdown(), flags=re.DOTALL)
    headings = [
        re.sub(r"[^\w -]", "", h).strip().lower().replace(" ", "-") for h in re.findall(r"^#+ (.+)$", text, re.M)
    ]
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert {link[1:] for link in links if link.startswith("#")} <= set(headings)
    named = [h for h in headings if not h.startswith(("body-", "answer-", "calls", "errors", "parameters"))]
    assert len(named) == len(set(named)), "two headings of one name: links would lead to the first"
    files = [link for link in links if not link.startswith("#")]
    assert files
    assert [link for link in files if not (ROOT / "docs" / link).is_file()] == []


def test_every_row_of_a_markdown_table_has_as_many_cells_as_its_head() -> None:
    tables = re.findall(r"(?:^\|.*\n)+", render_markdown(), re.M)
    assert len(tables) > 30
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1, table


@pytest.mark.parametrize(
    "host", ["", "<script>", "a'b", 'a"b', "a/b", "a b", "$(id)", "a:b", "x@y", "&amp;", "a\n", "[x]"]
)
def test_what_is_no_host_gets_into_no_page(host: str) -> None:
    """The connection refuses most of these already; the page does not rely on it."""
    assert base_url("http", host) == base_url("http", "127.0.0.1:8000")
    assert base_url("file", "x.example") == base_url("http", "127.0.0.1:8000")


@pytest.mark.parametrize("host", ["x.example", "x.example:8443", "10.0.0.1:80", "[::1]:8000", "localhost"])
def test_a_host_becomes_the_address_of_the_calls(host: str) -> None:
    assert base_url("https", host) == f"https://{host}"
    assert f"https://{host}/v1/embeddings" in own_page(f"{HOME}/embeddings", base_url("https", host), "")


def test_a_models_name_is_a_literal_in_the_page_whatever_it_holds() -> None:
    page = own_page(f"{HOME}/embeddings", "http://x", "a\"</script><xb>'$")
    assert '<span class=s>"a\\"&lt;/script&gt;&lt;xb&gt;\'$"</span>' in page
    assert "<xb>" not in page


def test_the_index_for_language_models_names_every_operation_and_both_documents() -> None:
    text = own_llms_txt("https://x.example")
    assert text.startswith("# Cenote\n\n> ")
    assert "Base URL: https://x.example\n" in text
    assert [route.path for route in ROUTES if f"- `{route.method} {route.path}`: {route.summary}\n" not in text] == []
    assert {"https://x.example/docs", "https://x.example/openapi.json"} <= set(re.findall(r"\]\((.+?)\)", text))
    assert "127.0.0.1" not in text
