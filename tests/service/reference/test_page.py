"""The page stands alone, and its links lead somewhere; the Markdown is the committed file."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from service.http.route_table import ROUTES
from service.reference.markdown import render_markdown
from service.reference.page import base_url, own_llms_txt, own_page, policy, render_page
from tests.conftest import ROOT

VOID = {"meta", "input", "br", "link"}
PAGE = render_page()


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


def test_every_route_is_on_the_page() -> None:
    assert [route.path for route in ROUTES if route.path not in PAGE] == []


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    outline = Outline(PAGE)
    assert not outline.tags & {"script", "link", "img", "iframe", "object", "form"}
    assert not {name for name in outline.attributes if name.startswith("on")}
    assert "style" not in outline.attributes, "the policy allows no style but the one sheet"
    assert [link for link in outline.links if ":" in link or link.startswith("//")] == []


def test_the_policy_allows_the_style_sheet_of_the_page_and_no_other() -> None:
    (style,) = re.findall(r"<style>(.*?)</style>", PAGE, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in policy()
    assert policy().startswith("default-src 'none';")
    assert "unsafe" not in policy()
    assert "url(" not in style
    assert "@import" not in style


def test_ids_are_unique_and_links_lead_to_them() -> None:
    outline = Outline(PAGE)
    assert len(outline.ids) == len(set(outline.ids))
    inside = {link.rpartition("#")[2] for link in outline.links if "#" in link}
    assert inside
    assert inside <= set(outline.ids)
    assert {link for link in outline.links if link.startswith("/")} - {
        link for link in outline.links if "#" in link
    } <= {route.path for route in ROUTES}


def test_the_page_is_fit_for_a_phone_and_for_the_dark() -> None:
    assert "width=device-width" in PAGE
    assert "prefers-color-scheme: dark" in PAGE


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
    assert f"https://{host}/v1/embeddings" in own_page(base_url("https", host), "")


def test_a_models_name_is_a_literal_in_the_page_whatever_it_holds() -> None:
    page = own_page("http://x", "a\"</script><xb>'$")
    assert '<span class=s>"a\\"&lt;/script&gt;&lt;xb&gt;\'$"</span>' in page
    assert "<xb>" not in page


def test_the_index_for_language_models_names_every_operation_and_both_documents() -> None:
    text = own_llms_txt("https://x.example")
    assert text.startswith("# Cenote\n\n> ")
    assert "Base URL: https://x.example\n" in text
    assert [route.path for route in ROUTES if f"- `{route.method} {route.path}`: {route.summary}\n" not in text] == []
    assert {"https://x.example/docs", "https://x.example/openapi.json"} <= set(re.findall(r"\]\((.+?)\)", text))
    assert "127.0.0.1" not in text
