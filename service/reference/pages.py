"""The reference as pages: `/docs`, and below it one for each group of operations, for types, and for codes and limits.

They are the Markdown of the reference as HTML, and can be read without a script. Scripts of `page` add a search,
buttons that copy, and requests that are sent in place. A server's own address and model replace those of a first start.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple
from urllib.parse import quote

from service.reference.document import Node, document, groups, listed_types, operations, schemas
from service.reference.html import Finding, HtmlWriter, escape
from service.reference.markdown import calls, codes, folded, limits, operation_body, render_llms_txt, type_sections
from service.reference.snippets import BASE_URL

HOME = "/docs"
NAMES = ("embeddings", "scores", "tokens", "models", "probes", "pages", "types", "errors")
"""Of the pages below it, the document's groups first. It is made from the routes, which are made with these names."""

SEARCH = f"{HOME}/search.json"
"""Path of what the search looks through."""

_MODEL = re.compile(r'((?:"model"</span>: |model=)<span class=s>)"builtin"')
"""The model of a call, and of the answer to it, as `highlight` writes them."""

_HOST = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")
"""A name or an address, perhaps with a port: nothing that means something to HTML, a shell or a language."""


class Page(NamedTuple):
    """A page below `/docs`."""

    title: str
    about: str
    """What stands below the title, in Markdown."""
    operations: list[Node]
    """Those of a group; none of the other pages."""


class WrittenPage(NamedTuple):
    """A page with the address and the model of a first start."""

    html: str
    findings: list[Finding]
    """What the search finds on it."""


@cache
def pages() -> dict[str, Page]:
    """Every page but the first, by path, in reading order."""
    found = {f"{HOME}/{name.lower()}": Page(name, about, some) for name, about, some in groups()}
    found[f"{HOME}/types"] = Page("Types", "What fields hold, each type by its name.", [])
    found[f"{HOME}/errors"] = Page("Errors and limits", "What refusals say, and what is too much.", [])
    return found


def base_url(scheme: str, host: str) -> str:
    """The address of a server by the Host header that a client sent, or the reference's own where that is no host."""
    return f"{scheme}://{host}" if scheme in ("http", "https") and _HOST.fullmatch(host) else BASE_URL


def own_page(path: str, url: str, model: str) -> str:
    """A page with calls to the server at `url` (from `base_url`) and its model; empty while that is not known yet."""
    page = written(path).html
    if model:
        name = escape(json.dumps(model))
        page = _MODEL.sub(lambda found: found[1] + name, page)
        page = page.replace(f"{BASE_URL}/v1/models/builtin", f"{BASE_URL}/v1/models/{quote(model, safe='/:')}")
    return page.replace(BASE_URL, url)


def own_llms_txt(url: str) -> str:
    """The index for language models, with the address of the server."""
    return render_llms_txt().replace(BASE_URL, url)


@cache
def search_index() -> bytes:
    """What is found, as JSON: `[title, where, address, text]` each; addresses are relative to the server's."""
    found: list[Finding] = []
    for path, page in pages().items():
        place = path.removeprefix("/")
        findings = [_finding(one) for one in page.operations] + written(path).findings
        found += [one._replace(anchor=f"{place}#{one.anchor}") for one in findings]
        if path.endswith("types"):
            about = {name: schemas()[name].get("description", "") for name in listed_types()}
            found += [Finding(name, "type", f"{place}#{name.lower()}", text) for name, text in about.items()]
    return json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode()


def _finding(operation: Node) -> Finding:
    where = f"{operation['method']} {operation['path']}"
    return Finding(operation["summary"], where, operation["operationId"].lower(), operation["description"])


@cache
def written(path: str) -> WrittenPage:
    """One page.

    Raises:
        KeyError: there is no page of this path.
    """
    root = "" if path == HOME else "../"
    titles = {one["operationId"]: one["summary"] for one in operations()}
    writer = HtmlWriter(lambda anchor: _address(anchor, path, root), titles)
    page = Page(f"{document()['info']['title']} API", "", []) if path == HOME else pages()[path]
    text = "\n\n".join(_overview(root) if path == HOME else _text(path, page))
    title = page.title if path == HOME else f"{page.title} · {document()['info']['title']} API"
    return WrittenPage(
        "<!doctype html><html lang=en><head><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width, initial-scale=1'>"
        f"<title>{title}</title><link rel=icon href={root}playground/icon.svg type=image/svg+xml>"
        f"<link rel=stylesheet href={root}playground/tokens.css><link rel=stylesheet href={root}docs/docs.css>"
        f"<script type=module src={root}docs/main.js></script></head>"
        f"<body><a class=skip href=#content>Skip to the content</a>{_header(root)}"
        f"<div class=frame>{_navigation(path, root)}"
        f"<main id=content tabindex=-1><h1>{page.title}</h1>{writer.write(text)}</main></div></body></html>",
        writer.findings,
    )


@cache
def _places() -> dict[str, str]:
    """The page on which an operation, a type or a table stands, by its anchor."""
    found: dict[str, str] = {
        one["operationId"].lower(): path for path, page in pages().items() for one in page.operations
    }
    found |= dict.fromkeys(map(str.lower, listed_types()), f"{HOME}/types")
    return {**found, "error-codes": f"{HOME}/errors", "limits": f"{HOME}/errors"}


def _address(anchor: str, path: str, root: str) -> str:
    page = _places()[anchor]
    return f"#{anchor}" if page == path else f"{root}{page[1:]}#{anchor}"


def _text(path: str, page: Page) -> Iterator[str]:
    yield page.about
    for operation in page.operations:
        yield f"### {operation['operationId']}"
        method, name = operation["method"], operation["operationId"]
        route = f"<span class='method {method.lower()}'>{method}</span> <code>{operation['path']}</code>"
        yield f"<p class=route>{route} <span class=soft>{name}</span></p>"
        yield operation["description"]
        yield from operation_body(operation, _calls(operation))
    if path.endswith("/types"):
        yield from type_sections()
    if path.endswith("/errors"):
        yield from (*codes("### "), *limits("### "))


def _calls(operation: Node) -> Iterator[str]:
    """The examples of a request, the first of them open; scripts make tabs of the languages and let it be sent."""
    for i, (key, title, code) in enumerate(calls(operation)):
        names = f"data-operation={operation['operationId']} data-example='{key}'"
        yield f"<details class=call {names}{' open' if i == 0 else ''}><summary>{title or 'Call'}</summary>"
        yield from (folded(one.title, one.language, one.code, is_open=j == 0) for j, one in enumerate(code))
        yield "</details>"


def _overview(root: str) -> Iterator[str]:
    """Everything that there is, in a line each, with the ids of the one page that `/docs` was: its links lead on."""
    yield document()["info"]["description"]
    files = f"[openapi.json]({root}openapi.json), [openapi-sdk.json]({root}openapi-sdk.json)"
    yield f"Servers with API keys expect one as `Authorization: Bearer KEY`. For programs: {files}."
    for path, page in pages().items():
        anchor, address = page.title.lower().replace(" ", "-"), f"{root}{path[1:]}"
        yield f"<section class=card><h2 id={anchor}><a href={address}>{page.title}</a></h2>"
        yield page.about
        if page.operations:
            lines = "".join(_operation_line(one, address) for one in page.operations)
            yield f"<ul class=operations>{lines}</ul></section>"
        else:
            names = listed_types() if path.endswith("types") else ["Error codes", "Limits"]
            ids = [(name, name.lower().replace(" ", "-")) for name in names]
            lines = "".join(f"<li id={id_}><a href={address}#{id_}>{name}</a></li>" for name, id_ in ids)
            yield f"<ul class=names>{lines}</ul></section>"


def _operation_line(operation: Node, address: str) -> str:
    anchor, method = operation["operationId"].lower(), operation["method"]
    return (
        f"<li id={anchor}><a href={address}#{anchor}>{escape(operation['summary'])}</a>"
        f"<span class='method {method.lower()}'>{method}</span><code>{operation['path']}</code></li>"
    )


def _header(root: str) -> str:
    title = document()["info"]["title"]
    return (
        f"<header><a class=brand href={root}docs>{title} <small>API reference</small></a><span id=tools></span>"
        f"<nav aria-label=Pages><a href={root or './'}>Playground</a><a href={root}openapi.json>openapi.json</a>"
        "<button type=button id=theme class=quiet hidden>Theme: system</button></nav></header>"
    )


def _navigation(path: str, root: str) -> str:
    """The pages, with what is on the one that is shown."""
    lines = [_line(f"{root}docs", "Overview", is_here=path == HOME)]
    for other, page in pages().items():
        listed = [(one["operationId"], one["summary"]) for one in page.operations]
        if other.endswith("types"):
            listed = [(name, name) for name in listed_types()]
        inside = "".join(f"<li><a href=#{id_.lower()}>{escape(title)}</a></li>" for id_, title in listed)
        below = f"<ul>{inside}</ul>" if other == path and inside else ""
        lines.append(_line(f"{root}{other[1:]}", page.title, below, is_here=other == path))
    return (
        "<nav class=contents aria-label=Contents><details open><summary>Contents</summary>"
        f"<ul>{''.join(lines)}</ul></details></nav>"
    )


def _line(address: str, title: str, below: str = "", *, is_here: bool) -> str:
    return f"<li><a href={address}{' aria-current=page' if is_here else ''}>{title}</a>{below}</li>"
