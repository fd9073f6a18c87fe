"""The reference as one page, `GET /docs`: the Markdown as HTML that needs no script, no other file and no other host.

The Content-Security-Policy lets the page load nothing, and allows its one style sheet by hash. A server's own address
and model replace those of a first start in every call.
"""

import base64
import hashlib
import html
import json
import re
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING
from urllib.parse import quote

from service.reference.document import document, groups, listed_types
from service.reference.markdown import render_llms_txt, sections
from service.reference.snippets import BASE_URL

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

_MODEL = re.compile(r'((?:"model"</span>: |model=)<span class=s>)"builtin"')
"""The model of a call, and of the answer to it, as `highlight` writes them."""

_HOST = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")
"""A name or an address, perhaps with a port: nothing that means something to HTML, a shell or a language."""


def base_url(scheme: str, host: str) -> str:
    """The address of a server by the Host header that a client sent, or the reference's own where that is no host."""
    return f"{scheme}://{host}" if scheme in ("http", "https") and _HOST.fullmatch(host) else BASE_URL


def own_page(url: str, model: str) -> str:
    """The page with calls to the server at `url` (from `base_url`) and its model; empty while that is not known yet."""
    page = render_page()
    if model:
        name = html.escape(json.dumps(model), quote=False)
        page = _MODEL.sub(lambda found: found[1] + name, page)
        page = page.replace(f"{BASE_URL}/v1/models/builtin", f"{BASE_URL}/v1/models/{quote(model, safe='/:')}")
    return page.replace(BASE_URL, url)


def own_llms_txt(url: str) -> str:
    """The index for language models, with the address of the server."""
    return render_llms_txt().replace(BASE_URL, url)


def policy() -> str:
    """The Content-Security-Policy of the page."""
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


@cache
def render_page() -> str:
    """The page with the address and the model of a first start."""
    info = document()["info"]
    title = f"{info['title']} API reference"
    files = "[openapi.json](/openapi.json), [openapi-sdk.json](/openapi-sdk.json)"
    text = "\n\n".join([f"# {title}", info["description"], files, *sections()])
    return (
        "<!doctype html><html lang=en><head><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width, initial-scale=1'>"
        f"<title>{html.escape(title)}</title><style>{_style()}</style></head>"
        "<body><a class=skip href=#content>Skip to the content</a>"
        f"<div class=frame>{_navigation()}<main id=content>{_html(text)}</main></div></body></html>"
    )


@cache
def _style() -> str:
    return (resources.files("service.reference") / "page.css").read_text("utf-8")


def _html(markdown: str) -> str:
    from markdown_it import MarkdownIt  # every front would import it at its start, for a page that few ask for

    parser = MarkdownIt("commonmark", {"html": True, "highlight": highlight}).enable("table")
    tokens = parser.parse(markdown)
    _name_headings(tokens)
    return str(parser.renderer.render(tokens, parser.options, {}))


def _name_headings(tokens: Sequence["Token"]) -> None:
    """Give headings the ids that the Markdown links to; those below an operation have none of their own."""
    for i, token in enumerate(tokens):
        if token.type == "heading_open" and token.tag in ("h2", "h3"):
            token.attrSet("id", tokens[i + 1].content.lower().replace(" ", "-"))


def _navigation() -> str:
    info = document()["info"]
    listed = "".join(
        f"<h2>{name}</h2><ul>"
        + "".join(
            f"<li><a href=#{o['operationId'].lower()}><span class='method {o['method'].lower()}'>{o['method']}</span>"
            f"<span>{o['path']}</span></a></li>"
            for o in operations
        )
        + "</ul>"
        for name, _, operations in groups()
    )
    types = "".join(f"<li><a href=#{name.lower()}>{name}</a></li>" for name in listed_types())
    tables = "<li><a href=#error-codes>Error codes</a></li><li><a href=#limits>Limits</a></li>"
    return (
        f"<nav aria-label=Contents><a class=brand href=/docs>{info['title']}<small>{info['version']}</small></a>"
        "<input type=checkbox id=menu aria-label='Show the contents'><label class=menu for=menu>Contents</label>"
        f"<div class=pages>{listed}<h2>Tables</h2><ul>{tables}</ul><h2>Types</h2><ul>{types}</ul></div></nav>"
    )


def highlight(code: str, language: str, _attributes: str = "") -> str:
    """Code as HTML, with `<span class>` around strings (`s`), numbers (`n`), keywords (`k`) and comments (`c`)."""
    out, end = [], 0
    for found in _PATTERNS[language].finditer(code):
        out += [_escape(code[end : found.start()]), f"<span class={found.lastgroup}>{_escape(found[0])}</span>"]
        end = found.end()
    return "".join([*out, _escape(code[end:])])


def _escape(text: str) -> str:
    return html.escape(text, quote=False)
